package batch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/solve"
)

// familyTile is the number of rows mapped at once.
const familyTile = 1024

// ridgeFamily is one batch on related maps.
type ridgeFamily struct {
	Batch
	ctx      context.Context
	settings []Ridge
	parts    [][]int // rows that are trained on by the same folds
	trains   [][]int // numbers of the parts that a fold trains on
	groups   []*ridgeGroup
	shared   map[string]bool
	scratch  []float64 // a path's Gram matrix
}

// ridgeGroup is settings with the same sums on the same map.
type ridgeGroup struct {
	members []int
	which   int // map
	width   int
	problem *leastsquares.Problem
	sums    []*leastsquares.Moments // by part
	seconds float64                 // spent on the sums
	models  [][]familyModel         // by fold, of the members that are wanted
}

// familyModel is a setting fitted on a fold.
type familyModel struct {
	setting int
	width   int
	weights []float64 // width × targets, on the wide map
	offset  []float64
	alpha   float64 // on the wide map
	rough   bool    // whether the weights are to be refined
	column  int     // of its first target among those of rough models
	report  solve.Report
	scores  *mat.Dense // test rows × targets
	seconds float64
	err     error
}

// RidgesMapped fits ridge regressions on related maps, with one pass over the rows for the sums of all and one for
// their predictions. The rows are cut into parts such that each fold trains on some of the parts.
func RidgesMapped(ctx context.Context, b Batch, settings []Ridge) ([]string, error) {
	s := &ridgeFamily{Batch: b, ctx: ctx, settings: settings, shared: map[string]bool{}}
	alone := s.plan(b.Data.Rows())
	for len(s.groups) > 0 {
		n := s.batch()
		failed, err := s.sweep(s.groups[:n])
		if err != nil {
			return nil, err
		}
		alone = append(alone, failed...)
		s.groups = s.groups[n:]
	}
	for _, i := range alone {
		for fold := range b.Folds {
			if err := s.Single(ctx, i, fold, nil); err != nil {
				return nil, err
			}
		}
	}
	return slices.Sorted(maps.Keys(s.shared)), nil
}

// plan groups the settings and returns those that have to be fitted alone.
func (s *ridgeFamily) plan(rows int) (alone []int) {
	parts, trains, ok := s.divide()
	s.parts, s.trains = parts, trains
	least := rows // on which a fold trains
	for _, fold := range s.Folds {
		least = min(least, len(fold.Train))
	}
	for i, setting := range s.settings {
		f := s.Features[i]
		sums := 8 * int64(f.Width) * int64(f.Width) * int64(len(s.parts)+4)
		if !ok || setting.Alone || setting.Invalid != nil || sums > s.Memory ||
			setting.Way(least, f.Width, false) != "cholesky" {
			alone = append(alone, i)
			continue
		}
		at := slices.IndexFunc(s.groups, func(g *ridgeGroup) bool {
			return g.which == f.Map && s.settings[g.members[0]].Key == setting.Key
		})
		if at < 0 {
			at = len(s.groups)
			s.groups = append(s.groups, &ridgeGroup{which: f.Map, models: make([][]familyModel, len(s.Folds))})
		}
		g := s.groups[at]
		g.members, g.width = append(g.members, i), max(g.width, f.Width)
	}
	s.groups = slices.DeleteFunc(s.groups, func(g *ridgeGroup) bool { // done before, all of it
		for _, i := range g.members {
			for fold := range s.Folds {
				if s.Wants(i, fold) {
					return false
				}
			}
		}
		return true
	})
	return alone
}

// batch returns how many groups' sums the memory holds at once.
func (s *ridgeFamily) batch() int {
	bytes := int64(0)
	for n, g := range s.groups {
		bytes += 8 * int64(g.width) * int64(g.width) * int64(len(s.parts)+4)
		if bytes > s.Memory {
			return max(n, 1)
		}
	}
	return len(s.groups)
}

// sweep does some groups at once. It returns the settings that cannot be summed up.
func (s *ridgeFamily) sweep(groups []*ridgeGroup) (alone []int, err error) {
	if err := s.sum(groups); err != nil {
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		for _, g := range groups {
			alone = append(alone, g.members...)
		}
		return alone, nil // each says for itself what is wrong
	}
	for _, g := range groups {
		if err := s.solve(g); err != nil {
			return nil, err
		}
		if err := s.refine(g); err != nil {
			return nil, err
		}
		g.sums = nil
	}
	return nil, s.predict(groups)
}

// sum adds up every part for each of the groups.
func (s *ridgeFamily) sum(groups []*ridgeGroup) error {
	start := time.Now()
	for _, g := range groups {
		var err error
		if g.problem, err = s.settings[g.members[0]].Problem(nil); err != nil {
			return err
		}
		g.sums = make([]*leastsquares.Moments, len(s.parts))
	}
	for p, list := range s.parts {
		for lo := 0; lo < len(list); lo += familyTile {
			block := s.Data.Select(list[lo:min(lo+familyTile, len(list))])
			err := s.each(groups, block.X, func(k int, Z *mat.Dense) error {
				return groups[k].add(s.ctx, p, Z, block)
			})
			if err != nil {
				return block.Locate(err, 0)
			}
		}
	}
	for _, g := range groups {
		g.seconds = time.Since(start).Seconds() / float64(len(groups))
	}
	return nil
}

// each maps a tile of rows for the groups.
func (s *ridgeFamily) each(groups []*ridgeGroup, X mat.Matrix, f func(k int, Z *mat.Dense) error) error {
	var which []int
	for _, g := range groups {
		if !slices.Contains(which, g.which) {
			which = append(which, g.which)
		}
	}
	return s.Maps.Each(s.ctx, X, which, func(m int, Z *mat.Dense) error {
		n, _ := Z.Dims()
		for k, g := range groups {
			if g.which == m {
				if err := f(k, Z.Slice(0, n, 0, g.width).(*mat.Dense)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// add adds the mapped rows of a block to a part.
func (g *ridgeGroup) add(ctx context.Context, part int, Z *mat.Dense, block datasets.Set) error {
	y, count, weights, err := g.problem.Block(0, block)
	if err != nil {
		return err
	}
	if g.sums[part] == nil {
		if part == 0 {
			g.sums[part] = leastsquares.NewMoments(g.width, count, g.problem.Intercept)
		} else {
			g.sums[part] = g.sums[0].Beside()
		}
	}
	return g.sums[part].Add(ctx, Z, y, weights)
}

// solve fits the members of a group on every fold.
func (s *ridgeFamily) solve(g *ridgeGroup) error {
	s.tell(g)
	wide := &leastsquares.Moments{}
	for fold := range s.Folds {
		var todo []int
		for _, i := range g.members {
			if s.Wants(i, fold) {
				todo = append(todo, i)
			}
		}
		if len(todo) == 0 {
			continue
		}
		start := time.Now()
		s.train(wide, g, fold)
		failed := error(nil)
		if wide.Weight == 0 {
			failed = errors.New("every weight is 0")
		}
		if check := s.settings[g.members[0]].Check; failed == nil && check != nil {
			failed = check(s.Folds[fold].Train)
		}
		seconds := time.Since(start).Seconds()/float64(len(todo)) + g.seconds/float64(len(g.members)*len(s.Folds))
		models := make([]familyModel, len(todo))
		for k, i := range todo {
			models[k] = familyModel{setting: i, width: s.Features[i].Width, err: failed, seconds: seconds}
		}
		if failed == nil {
			if err := s.paths(models, wide); err != nil {
				return err
			}
		}
		g.models[fold] = models
	}
	return nil
}

// tell notes what the settings of a group share.
func (s *ridgeFamily) tell(g *ridgeGroup) {
	widths := map[int]int{}
	for _, i := range g.members {
		widths[s.Features[i].Width]++
	}
	most := slices.Max(slices.Collect(maps.Values(widths)))
	for name, is := range map[string]bool{"columns": len(widths) > 1, "alpha": most > 1, "folds": len(s.Folds) > 1, "features": len(g.members) > 1} {
		if is {
			s.shared[name] = true
		}
	}
}

// train makes wide the sums of a fold's training rows.
func (s *ridgeFamily) train(wide *leastsquares.Moments, g *ridgeGroup, fold int) {
	var parts []*leastsquares.Moments
	for _, p := range s.trains[fold] {
		parts = append(parts, g.sums[p])
	}
	wide.SetSum(g.sums[0], parts)
}

// paths fits settings on the same sums: those of one width have one system, but for alpha.
func (s *ridgeFamily) paths(models []familyModel, wide *leastsquares.Moments) error {
	return s.byWidth(models, wide, func(p *leastsquares.Path, m *familyModel) {
		// Z = c·Ψ: ridge with alpha on Z is ridge with alpha/c² on Ψ, with weights c·w.
		c := s.Features[m.setting].Scale
		m.alpha = s.settings[m.setting].Alpha / (c * c)
		m.weights, m.rough = p.Solve(m.alpha)
		if m.weights != nil && s.Features[m.setting].Float32 && p.Blurred(m.weights) {
			m.weights, m.rough = nil, false
		}
		if m.weights != nil {
			m.finish(p)
		}
	})
}

// byWidth calls f for models on the same sums, several at once, with the path of each one's width.
func (s *ridgeFamily) byWidth(models []familyModel, wide *leastsquares.Moments, f func(*leastsquares.Path, *familyModel)) error {
	byWidth := map[int][]int{}
	for k, m := range models {
		byWidth[m.width] = append(byWidth[m.width], k)
	}
	for _, width := range slices.Sorted(maps.Keys(byWidth)) {
		if s.ctx.Err() != nil {
			break
		}
		list := byWidth[width]
		if cap(s.scratch) < width*width {
			s.scratch = make([]float64, width*width)
		}
		p := leastsquares.NewPath(s.ctx, wide, width, s.scratch[:width*width])
		kern.Parallel(len(list), 1, func(lo, hi int) {
			for _, k := range list[lo:hi] {
				start := time.Now()
				f(p, &models[k])
				models[k].seconds += time.Since(start).Seconds()
			}
		})
	}
	return s.ctx.Err()
}

// finish makes the rest of a model of its weights.
func (m *familyModel) finish(p *leastsquares.Path) {
	model := p.Model(m.weights)
	m.offset, m.report = model.Intercept, model.Report
}

// predict scores the test rows of every fold for all of its models.
func (s *ridgeFamily) predict(groups []*ridgeGroup) error {
	for fold := range s.Folds {
		start := time.Now()
		count, err := s.score(groups, fold)
		if err != nil {
			return err
		}
		seconds := time.Since(start).Seconds() / float64(max(count, 1))
		for _, g := range groups {
			for k := range g.models[fold] {
				if err := s.hold(&g.models[fold][k], fold, seconds); err != nil {
					return err
				}
			}
			g.models[fold] = nil
		}
	}
	return nil
}

// score writes the scores of a fold's models and returns the number of models that have any.
func (s *ridgeFamily) score(groups []*ridgeGroup, fold int) (count int, err error) {
	test := s.Folds[fold].Test
	blocks := make([][]*scoreBlock, len(groups))
	var active []*ridgeGroup
	var of []int
	for k, g := range groups {
		if blocks[k] = scoreBlocks(g.models[fold], len(test)); blocks[k] != nil {
			active, of = append(active, g), append(of, k)
			for _, b := range blocks[k] {
				count += len(b.models)
			}
		}
	}
	if len(active) == 0 {
		return 0, nil
	}
	for lo := 0; lo < len(test); lo += familyTile {
		hi := min(lo+familyTile, len(test))
		X := datasets.SelectRows(s.Data.X, test[lo:hi])
		err := s.each(active, X, func(k int, Z *mat.Dense) error {
			for _, b := range blocks[of[k]] {
				b.score(Z, lo)
			}
			return nil
		})
		if err != nil {
			return 0, s.Data.AtRows(err, test[lo:hi])
		}
	}
	for k := range groups {
		for _, b := range blocks[k] {
			b.spread()
		}
	}
	return count, nil
}

// scoreBlock is the models of one width of a fold, whose scores are made in one product.
type scoreBlock struct {
	models  []*familyModel
	weights []float64 // width × columns
	scores  []float64 // rows × columns
	width   int
	columns int
	rows    int
}

func scoreBlocks(models []familyModel, rows int) (blocks []*scoreBlock) {
	for k := range models {
		m := &models[k]
		if m.weights == nil {
			continue
		}
		at := slices.IndexFunc(blocks, func(b *scoreBlock) bool { return b.width == m.width })
		if at < 0 {
			at = len(blocks)
			blocks = append(blocks, &scoreBlock{width: m.width, rows: rows})
		}
		b := blocks[at]
		b.models = append(b.models, m)
		b.columns += len(m.offset)
	}
	for _, b := range blocks {
		b.weights = make([]float64, b.width*b.columns)
		b.scores = make([]float64, rows*b.columns)
		at := 0
		for _, m := range b.models {
			t := len(m.offset)
			for i := range b.width {
				copy(b.weights[i*b.columns+at:i*b.columns+at+t], m.weights[i*t:(i+1)*t])
			}
			at += t
		}
	}
	return blocks
}

// score scores a tile of rows that begins at row first.
func (b *scoreBlock) score(Z *mat.Dense, first int) {
	n, _ := Z.Dims()
	z := design.View(Z).Slice(0, n, 0, b.width)
	out := kern.Dense(n, b.columns, b.columns, b.scores[first*b.columns:])
	kern.Mul(out, z, kern.Dense(b.width, b.columns, b.columns, b.weights), false)
}

// spread gives every model its scores, the intercepts added.
func (b *scoreBlock) spread() {
	at := 0
	for _, m := range b.models {
		t := len(m.offset)
		m.scores = mat.NewDense(b.rows, t, nil)
		for i := range b.rows {
			row := m.scores.RawRowView(i)
			copy(row, b.scores[i*b.columns+at:])
			kern.Axpy(1, m.offset, row)
		}
		at += t
	}
}

// hold hands over what a model predicts.
func (s *ridgeFamily) hold(m *familyModel, fold int, seconds float64) error {
	if m.err == nil && (m.scores == nil || !kern.Finite(m.scores.RawMatrix().Data)) {
		return s.Single(s.ctx, m.setting, fold, nil)
	}
	out := Result{Scores: m.scores, Report: m.report, Seconds: m.seconds + seconds, Err: m.err}
	m.scores, m.weights = nil, nil
	return s.Yield(m.setting, fold, out)
}
