package estimator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/param"
)

// newtonLogistic is a logistic regression as a setting of a batch on related maps.
func newtonLogistic(e Estimator) (newtonSetting, error) {
	l, ok := e.(Logistic)
	if !ok {
		return newtonSetting{}, fmt.Errorf("estimator: logistic: a setting is a %T", e)
	}
	return newtonSetting{name: "logistic", C: l.C, tol: l.Tol, maxIter: l.MaxIter, intercept: l.Intercept, classWeight: l.ClassWeight,
		key: fmt.Sprint(l.Intercept, l.Tol, l.MaxIter, l.ClassWeight.Plain()), task: l.task,
		dress: func(m linear, classes []string) Predictor {
			return &FittedLogistic{FittedLinearClassifier{linear: m, classes: classes}}
		}}, nil
}

// newtonSVM is a support vector machine as a setting of a batch on related maps.
func newtonSVM(e Estimator) (newtonSetting, error) {
	l, ok := e.(SVM)
	if !ok {
		return newtonSetting{}, fmt.Errorf("estimator: svm: a setting is a %T", e)
	}
	return newtonSetting{name: "svm", C: l.C, tol: l.Tol, maxIter: l.MaxIter, intercept: l.Intercept, classWeight: l.ClassWeight,
		key: fmt.Sprint(l.Intercept, l.Tol, l.MaxIter, l.ClassWeight.Plain()), task: l.task,
		dress: func(m linear, classes []string) Predictor {
			return &FittedLinearClassifier{linear: m, classes: classes}
		}}, nil
}

// newtonSetting is a setting of a family that is solved by Newton's method.
type newtonSetting struct {
	name        string
	key         string // all but C
	C, tol      float64
	maxIter     int
	intercept   bool
	classWeight ClassWeight
	task        func(l *design.Labels) newtonTask
	dress       func(m linear, classes []string) Predictor
}

// newtonFamily is one batch on related maps.
type newtonFamily struct {
	Batch
	settings []newtonSetting
	parts    [][]int
	trains   [][]int
	mu       sync.Mutex // held while a result is handed over
	failed   error
}

func sweepNewton(ctx context.Context, f Batch, of func(Estimator) (newtonSetting, error)) ([]string, error) {
	s := &newtonFamily{Batch: f, settings: make([]newtonSetting, len(f.Candidates))}
	var ok bool
	s.parts, s.trains, ok = f.divide()
	groups := map[string][]int{}
	byMap := map[int][]string{}
	for i, e := range f.Candidates {
		var err error
		if s.settings[i], err = of(e.Estimator); err != nil {
			return nil, err
		}
		if !ok || param.Check(e.Estimator) != nil {
			for fold := range f.Folds {
				if err := s.alone(ctx, i, fold); err != nil {
					return nil, err
				}
			}
			continue
		}
		key := fmt.Sprint(e.Map, " ", s.settings[i].key)
		if groups[key] == nil {
			byMap[e.Map] = append(byMap[e.Map], key)
		}
		groups[key] = append(groups[key], i)
	}
	shared := map[string]bool{}
	for _, which := range slices.Sorted(maps.Keys(byMap)) {
		var paths [][]int
		for _, key := range byMap[which] {
			path := groups[key]
			slices.SortStableFunc(path, func(a, b int) int {
				return cmp.Or(cmp.Compare(f.Candidates[a].Width, f.Candidates[b].Width), cmp.Compare(s.settings[a].C, s.settings[b].C))
			})
			paths = append(paths, path)
			shared["features"] = shared["features"] || len(path)*len(f.Folds) > 1
			shared["path"] = shared["path"] || len(path) > 1
		}
		if err := s.walk(ctx, which, paths); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(shared, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(shared)), nil
}

// alone leaves one setting on one fold to the caller.
func (s *newtonFamily) alone(ctx context.Context, setting, fold int) error {
	if !s.Wants(setting, fold) {
		return nil
	}
	return s.give(ctx, setting, fold, s.Lone(ctx, setting, fold))
}

func (s *newtonFamily) give(ctx context.Context, setting, fold int, out Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && ctx.Err() == nil {
		s.failed = s.Yield(setting, fold, out)
	}
	return cmp.Or(s.failed, ctx.Err())
}

// job is a path on a fold.
type job struct {
	path []int // as far as anything is wanted
	fold int
}

// walk does all paths on a map: those whose problems can be solved together first.
func (s *newtonFamily) walk(ctx context.Context, which int, paths [][]int) error {
	if !slices.ContainsFunc(paths, func(path []int) bool { return len(s.jobs(path)) > 0 }) {
		return nil
	}
	start := time.Now()
	m, err := s.prepare(ctx, which)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	seconds := time.Since(start).Seconds()
	var jobs []job
	for _, path := range paths {
		var units []*unit
		if err == nil {
			units = s.units(ctx, m, path)
		}
		if units == nil {
			jobs = append(jobs, s.jobs(path)...)
			continue
		}
		for _, u := range units {
			if !u.wanted() {
				continue
			}
			if err := u.solve(ctx, m); err != nil {
				return err
			}
		}
	}
	return s.sideBySide(jobs, func(j job) error {
		if err != nil { // each says for itself what is wrong with the rows
			return s.aloneAll(ctx, j.path, j.fold)
		}
		return s.path(ctx, m, j.path, j.fold, seconds/float64(len(jobs)*len(j.path)))
	})
}

// jobs returns what is wanted of a path.
func (s *newtonFamily) jobs(path []int) (jobs []job) {
	for fold := range s.Folds {
		for n := len(path); n > 0; n-- {
			if s.Wants(path[n-1], fold) {
				jobs = append(jobs, job{path[:n], fold})
				break
			}
		}
	}
	return jobs
}

// sideBySide does jobs on all cores and returns the first of their errors.
func (s *newtonFamily) sideBySide(jobs []job, do func(job) error) error {
	next := make(chan job)
	errs := make(chan error, len(jobs))
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		workers.Go(func() {
			for j := range next {
				errs <- do(j)
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	workers.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *newtonFamily) aloneAll(ctx context.Context, settings []int, fold int) error {
	for _, i := range settings {
		if err := s.alone(ctx, i, fold); err != nil {
			return err
		}
	}
	return nil
}

// mappedRows is the rows of the parts, one part after the other, on one map: held in memory where
// there is room, else mapped whenever they are read.
type mappedRows struct {
	family *newtonFamily
	which  int
	starts []int // of the parts
	Z      *mat.Dense
}

func (s *newtonFamily) prepare(ctx context.Context, which int) (*mappedRows, error) {
	m := &mappedRows{family: s, which: which}
	n, width := 0, s.Maps.Widths()[which]
	for _, part := range s.parts {
		m.starts = append(m.starts, n)
		n += len(part)
	}
	if 8*int64(n)*int64(width) > s.memory() {
		return m, nil
	}
	Z := mat.NewDense(n, width, nil)
	for p, part := range s.parts {
		err := s.tiles(ctx, which, part, func(first int, tile *mat.Dense) error {
			k, _ := tile.Dims()
			Z.Slice(m.starts[p]+first, m.starts[p]+first+k, 0, width).(*mat.Dense).Copy(tile)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	m.Z = Z
	return m, nil
}

// tiles maps rows, so many at a time.
func (s *newtonFamily) tiles(ctx context.Context, which int, list []int, yield func(first int, Z *mat.Dense) error) error {
	for lo := 0; lo < len(list); lo += familyTile {
		part := list[lo:min(lo+familyTile, len(list))]
		X := datasets.SelectRows(s.Data.X, part)
		if err := s.Maps.Each(ctx, X, []int{which}, func(_ int, Z *mat.Dense) error { return yield(lo, Z) }); err != nil {
			return s.Data.AtRows(err, part)
		}
	}
	return nil
}

// all returns the rows of all parts.
func (m *mappedRows) all(width int) *design.Rows {
	list := make([]int, len(m.starts))
	for p := range list {
		list[p] = p
	}
	return m.rows(list, width)
}

// rows returns the rows of some parts, one after the other, as wide as asked.
func (m *mappedRows) rows(parts []int, width int) *design.Rows {
	s := m.family
	r := &design.Rows{Cols: width}
	for _, p := range parts {
		r.N += len(s.parts[p])
	}
	r.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		first := 0
		for _, p := range parts {
			n := len(s.parts[p])
			if m.Z == nil {
				err := s.tiles(ctx, m.which, s.parts[p], func(lo int, Z *mat.Dense) error {
					k, _ := Z.Dims()
					return yield(first+lo, datasets.Set{X: Z.Slice(0, k, 0, width)})
				})
				if err != nil {
					return err
				}
			} else {
				for lo := 0; lo < n; lo += datasets.BlockRows {
					if err := ctx.Err(); err != nil {
						return err
					}
					at, end := m.starts[p]+lo, m.starts[p]+min(lo+datasets.BlockRows, n)
					if err := yield(first+lo, datasets.Set{X: m.Z.Slice(at, end, 0, width)}); err != nil {
						return err
					}
				}
			}
			first += n
		}
		return nil
	}
	return r
}

// labels returns the classes and weights of a fold's training rows, in the order of rows.
func (s *newtonFamily) labels(ctx context.Context, by ClassWeight, fold int) (*design.Labels, error) {
	var order []int
	for _, p := range s.trains[fold] {
		order = append(order, s.parts[p]...)
	}
	r, err := design.OfSet(s.Data.Select(order))
	if err != nil {
		return nil, err
	}
	return r.ReadClasses(ctx, by.factors)
}

// path solves settings of the same kind on a fold, one after the other.
func (s *newtonFamily) path(ctx context.Context, m *mappedRows, settings []int, fold int, seconds float64) error {
	w, err := s.begin(ctx, m, settings[0], fold)
	if err != nil {
		return s.aloneAll(ctx, settings, fold)
	}
	models := make([]familyModel, len(settings))
	for k, i := range settings {
		start := time.Now()
		models[k] = familyModel{setting: i, width: s.Candidates[i].Width}
		if models[k].err = w.step(&models[k]); ctx.Err() != nil {
			return ctx.Err()
		}
		models[k].seconds = time.Since(start).Seconds() + seconds
	}
	return s.score(ctx, m, models, w.labels.Classes, fold)
}

// score hands over what models predict for the test rows of a fold, which are mapped once for all.
func (s *newtonFamily) score(ctx context.Context, m *mappedRows, models []familyModel, classes []string, fold int) error {
	start := time.Now()
	blocks := scoreBlocks(models, len(s.Folds[fold].Test))
	err := s.tiles(ctx, m.which, s.Folds[fold].Test, func(first int, Z *mat.Dense) error {
		for _, b := range blocks {
			b.score(Z, first)
		}
		return nil
	})
	if err != nil {
		for _, f := range models {
			if err := s.alone(ctx, f.setting, fold); err != nil {
				return err
			}
		}
		return nil
	}
	for _, b := range blocks {
		b.spread()
	}
	seconds := time.Since(start).Seconds() / float64(len(models))
	for k := range models {
		if err := s.hold(ctx, &models[k], classes, fold, seconds); err != nil {
			return err
		}
	}
	return nil
}

// hold hands over what a model predicts.
func (s *newtonFamily) hold(ctx context.Context, m *familyModel, classes []string, fold int, seconds float64) error {
	if !s.Wants(m.setting, fold) {
		return nil
	}
	if m.err != nil || m.scores == nil || !kern.Finite(m.scores.RawMatrix().Data) {
		return s.alone(ctx, m.setting, fold)
	}
	setting := s.settings[m.setting]
	out := Outcome{Report: Report(m.report), Seconds: m.seconds + seconds}
	_, t := m.scores.Dims()
	var err error
	if out.Prediction, err = Predict(ctx, setting.dress(passOn(t), classes), m.scores); err != nil {
		out.Err = fmt.Errorf("estimator: %s: %w", setting.name, err)
	}
	return s.give(ctx, m.setting, fold, out)
}

// walker is on one path.
type walker struct {
	*newtonFamily
	ctx     context.Context
	rows    *mappedRows
	fold    int
	labels  *design.Labels
	task    newtonTask
	origin  []float64 // gradient at 0 for C = 1, on all features of the map
	width   int       // of the last solution, 0 before the first
	factor  float64   // of the weights in the last problem
	x       []float64 // the last solution: features × outputs, intercepts
	front   []float64 // the first solution of that width
	problem *objective
}

// begin returns a walker before its first step.
func (s *newtonFamily) begin(ctx context.Context, m *mappedRows, setting, fold int) (*walker, error) {
	first := s.settings[setting]
	l, err := s.labels(ctx, first.classWeight, fold)
	if err != nil {
		return nil, err
	}
	w := &walker{newtonFamily: s, ctx: ctx, rows: m, fold: fold, labels: l, task: first.task(l)}
	o := w.objective(first, s.Maps.Widths()[m.which], 1)
	o.renew = false
	w.origin = make([]float64, o.size())
	return w, o.Evaluate(make([]float64, o.groups), w.origin, make([]float64, o.size()))
}

// objective returns the problem on the leading features with weights times a factor.
func (w *walker) objective(s newtonSetting, width int, factor float64) *objective {
	weights := slices.Clone(w.labels.Weights)
	kern.Scale(factor, weights)
	return newObjective(w.ctx, w.rows.rows(w.trains[w.fold], width), w.task.loss, w.task.outputs, w.task.groups, s.intercept, w.task.y, weights)
}

// step solves the next problem. On features Ψ with Z = c·Ψ, C on Z is C·c² on Ψ, of c² times the
// objective.
func (w *walker) step(m *familyModel) error {
	s, f := w.settings[m.setting], w.Candidates[m.setting]
	factor := s.C * f.Scale * f.Scale
	o := w.objective(s, f.Width, factor)
	x := w.start(o, f.Width, factor)
	result, err := solve.Newton(o, x, o.groups, w.reference(o, factor), s.tol, s.maxIter)
	if err != nil {
		return err
	}
	if w.width != f.Width {
		w.front = slices.Clone(x)
	}
	w.width, w.factor, w.x, w.problem = f.Width, factor, x, o
	report := newtonReport(result, s.tol)
	report.Objective /= f.Scale * f.Scale
	if err := report.Better(s.C * w.task.bar); err != nil {
		return err
	}
	k := o.outputs
	offset := make([]float64, k)
	copy(offset, x[f.Width*k:])
	model, err := w.task.finish(slices.Clone(x[:f.Width*k]), offset, report)
	if err != nil {
		return err
	}
	m.report, m.offset, m.weights = report, model.Intercept, model.Weights
	return nil
}

// start returns where the next problem begins: at the last solution where the features are the same,
// whose preconditioner then serves, with other weights; else at the first of the width before; else
// at 0.
func (w *walker) start(o *objective, width int, factor float64) []float64 {
	k := o.outputs
	switch {
	case w.width == width:
		if w.problem.gram != nil {
			o.gram, o.renew = w.problem.gram, false
			o.gram.Scale(factor / w.factor)
			o.factorise()
		}
		return slices.Clone(w.x)
	case w.width > 0:
		x := make([]float64, o.size())
		copy(x, w.front[:w.width*k])
		copy(x[width*k:], w.front[w.width*k:])
		return x
	}
	return make([]float64, o.size())
}

// reference returns the norms of the gradient at 0.
func (w *walker) reference(o *objective, factor float64) []float64 {
	norms := make([]float64, o.groups)
	features := o.rows.Cols * o.outputs
	all := len(w.origin) - (o.size() - features)
	for i, g := range w.origin {
		if i < features || i >= all {
			norms[i%o.groups] += g * g
		}
	}
	for j, v := range norms {
		norms[j] = factor * math.Sqrt(v)
	}
	return norms
}
