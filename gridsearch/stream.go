package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/model"
)

// stream does fits on rows that are not stored.
type stream struct {
	*run
	source   datasets.Source
	hash     datasets.HashKFold
	foldRows []int // of each fold
}

// RunSource is Run for streamed rows: it makes several passes and stores no inputs, only the
// targets and the predictions of the current candidates, 8 bytes per row and output. Folds are
// those of a [datasets.HashKFold], which Splitter must be; nil means DefaultFolds folds.
//
// Candidates that learn by passes ([estimator.PassEstimator]) share each pass, as many as fit in
// Memory, or half of the available memory. If a pass does not depend on earlier ones, its sums are
// computed once per fold and combined to those of the training rows, at the cost of one fit.
// Candidates that differ only in parameters that do not affect the statistics of a pass share its
// sums. A grid over the penalties of ridge regression on random features thus costs one product Z'Z
// for each setting of the features, and two passes. After a step that learns from the rows, each
// fold has its own features, and each candidate costs one fit per fold.
//
// Other estimators must be an [estimator.BlockEstimator]; they are fitted sequentially, each with
// its own passes.
//
// Scores equal those of Run with the same folds, up to the order of summation. Unsupervised tasks
// are not supported, nor is a [Halving] whose resource is the number of rows.
func (s Search) RunSource(ctx context.Context, src datasets.Source) (*Result, error) {
	r, err := s.prepareStream(ctx, src)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return r.complete(ctx)
}

// fitSource fits a spec to a stream.
func fitSource(ctx context.Context, spec estimator.Estimator, src datasets.Source) (estimator.Predictor, error) {
	b, ok := spec.(estimator.BlockEstimator)
	if !ok {
		return nil, fmt.Errorf("%T learns from rows in memory only", spec)
	}
	return guard.Call(spec, "FitSource", func() (estimator.Predictor, error) { return b.FitSource(ctx, src) })
}

// prepareStream checks the search and reads the targets.
func (s Search) prepareStream(ctx context.Context, src datasets.Source) (*stream, error) {
	r := &stream{source: src, hash: datasets.HashKFold{Folds: DefaultFolds}}
	switch f := s.Splitter.(type) {
	case nil:
	case datasets.HashKFold:
		r.hash = f
	default:
		return nil, fmt.Errorf("folds of %T need rows in memory; a stream has those of a datasets.HashKFold", f)
	}
	if r.hash.Folds < 2 {
		return nil, fmt.Errorf("number of folds must be 2 or more, got %d", r.hash.Folds)
	}
	if own := datasets.TagsOf(s.Estimator).Task; own.Unsupervised() {
		return nil, fmt.Errorf("candidates for %s are scored on all rows in memory; streams are not supported", own)
	}
	truth, err := r.readTargets(ctx)
	if err != nil {
		return nil, err
	}
	data := truth[0]
	var list []metrics.Metric
	if r.run, list, err = s.newRun(data, MaxCandidates); err != nil {
		return nil, err
	}
	r.fitter, r.data, r.fullFolds = r, datasets.Set{Schema: src.Schema()}, make([]datasets.Fold, r.hash.Folds)
	r.scorer = &scorer{metrics: list}
	for _, known := range truth {
		r.scorer.truth = append(r.scorer.truth, metricinput.FromSet(known, list[0].Task))
	}
	r.scorer.setCosts(metricinput.Costs(s.Estimator, r.data.Schema.Classes()))
	if m := slices.IndexFunc(list,
		func(m metrics.Metric) bool { return !m.IsSupervised() }); m >= 0 {
		return nil, fmt.Errorf("score %s requires the rows in memory; streams are not supported", list[m].Name)
	}
	return r, nil
}

// readTargets returns the targets and weights of each fold.
func (r *stream) readTargets(ctx context.Context) ([]datasets.Set, error) {
	k := r.hash.Folds
	truth, several := make([]datasets.Set, k), make([][]float64, k)
	r.foldRows = make([]int, k)
	targets := 0
	row := 0
	err := r.source.Blocks(ctx, func(block datasets.Set) error {
		for i := range block.Rows() {
			f := r.hash.Of(row)
			row++
			r.foldRows[f]++
			if block.Y != nil {
				truth[f].Y = append(truth[f].Y, block.Y[i])
			}
			if block.Weights != nil {
				truth[f].Weights = append(truth[f].Weights, block.Weights[i])
			}
			if block.Targets != nil {
				_, targets = block.Targets.Dims()
				several[f] = append(several[f], block.Targets.RawRowView(i)...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for f, rows := range r.foldRows {
		if rows == 0 {
			return nil, fmt.Errorf("fold %d of %d has no rows; there are %d in all", f, k, row)
		}
		truth[f].Schema = r.source.Schema()
		if targets > 0 {
			truth[f].Targets = mat.NewDense(rows, targets, several[f])
		}
	}
	return truth, nil
}

func (r *stream) identify(sums map[string]string) {
	sums["folds"] = journal.Sum(func(w hash.Hash) { fmt.Fprintf(w, "hash %d %d", r.hash.Folds, r.hash.Seed) })
	sums["data"] = journal.Sum(func(w hash.Hash) {
		fmt.Fprintf(w, "%v\n", r.source.Schema())
		for _, t := range r.scorer.truth {
			for _, list := range [][]float64{t.YTrue, t.Weights} {
				for _, v := range list {
					fmt.Fprintf(w, "%x ", math.Float64bits(v))
				}
			}
			if t.YTrueTargets != nil {
				fmt.Fprintf(w, "%x ", t.YTrueTargets.RawMatrix().Data)
			}
		}
	})
}

// shape returns the shape of the training rows of a fold.
func (r *stream) shape(schema datasets.Schema) datasets.Shape {
	_, cols := r.source.Dims()
	all := 0
	for _, n := range r.foldRows {
		all += n
	}
	return datasets.Shape{Rows: all - slices.Min(r.foldRows), Cols: cols, Outputs: schema.Outputs(),
		Columns: schema.Columns}
}

func (r *stream) refit(ctx context.Context, spec estimator.Estimator) (estimator.Predictor, error) {
	return fitSource(ctx, spec, r.source)
}

// refuse never refuses: if memory is short, groups are fitted sequentially.
func (r *stream) refuse([]candidate) error { return nil }

// passGroup is a group of candidates that share sums, with their state on each fold.
type passGroup struct {
	members []int
	spec    estimator.PassEstimator
	start   func(ctx context.Context) (datasets.Pass, error) // starts the first pass
	bytes   int64
	train   []datasets.Pass // by fold, on its training rows; nil before the first pass
	heldOut []datasets.Pass // by fold, on its test rows; nil if the folds start from different states
}

func (r *stream) newGroup(spec estimator.PassEstimator) *passGroup {
	_, cols := r.source.Dims()
	return &passGroup{spec: spec, start: func(ctx context.Context) (datasets.Pass, error) {
		return spec.Start(ctx, r.source.Schema(), cols)
	}}
}

// fit fits candidates concurrently, as many as fit in memory.
func (r *stream) fit(ctx context.Context) error {
	groups, alone := r.groupCandidates(ctx)
	limit := r.search.Memory
	if limit == 0 {
		limit = memory.Available() / 2
	}
	for len(groups) > 0 {
		n, bytes := 0, int64(0)
		for n < len(groups) && (n == 0 || bytes+groups[n].bytes <= limit) {
			bytes += groups[n].bytes
			n++
		}
		if err := r.fitGroups(ctx, groups[:n]); err != nil {
			return err
		}
		groups = groups[n:]
	}
	for _, c := range alone {
		if err := r.fitSeparately(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// groupCandidates groups the candidates that learn by passes and have the same sums, and lists the
// others.
func (r *stream) groupCandidates(ctx context.Context) (groups []*passGroup, alone []int) {
	schema := r.source.Schema()
	_, cols := r.source.Dims()
	shape := r.shape(schema)
	at, summed := map[int]*passGroup{}, make([]any, len(r.candidates)-r.firstNew)
	for k, c := range r.candidates[r.firstNew:] {
		if s, shares := c.spec.(batch.Sharer); shares && datasets.TagsOf(c.spec).SinglePass {
			summed[k] = s.Shared()
		}
	}
	keys := batch.Keys(summed)
	for i := r.firstNew; i < len(r.candidates); i++ {
		c := r.candidates[i]
		if !r.hasPending(i) {
			continue
		}
		spec, ok := c.spec.(estimator.PassEstimator)
		if ok {
			_, err := spec.Start(ctx, schema, cols)
			ok = !errors.Is(err, datasets.ErrNoPasses)
		}
		if !ok {
			alone = append(alone, i)
			continue
		}
		key := keys[i-r.firstNew]
		g := at[key]
		if g == nil {
			g = r.newGroup(spec)
			if coster, ok := c.spec.(datasets.CostEstimator); ok {
				g.bytes = coster.Cost(shape).Bytes * int64(2*r.hash.Folds+1)
			}
			at[key], groups = g, append(groups, g)
		}
		g.members = append(g.members, i)
	}
	return groups, alone
}

// fitted is the model of a candidate on a fold, or the error of its fit.
type fitted struct {
	candidate, fold int
	model           estimator.Predictor
	err             error
	seconds         float64
	predictions     estimator.Prediction
}

// fitGroups fits groups of candidates concurrently and scores them.
func (r *stream) fitGroups(ctx context.Context, groups []*passGroup) error {
	began := time.Now()
	var all []*fitted
	failed := func(g *passGroup, err error) {
		for _, c := range g.members {
			for f := range r.folds {
				all = append(all, &fitted{candidate: c, fold: f, err: err})
			}
		}
	}
	open := groups[:0:0]
	for _, g := range groups {
		if err := guard.Do(g.spec, "Start", func() error { return r.begin(ctx, g) }); err != nil {
			failed(g, err)
			continue
		}
		open = append(open, g)
	}
	r.addShared([]string{"readings"})
	for len(open) > 0 {
		bad, err := r.addPass(ctx, open)
		if err != nil {
			return err
		}
		still := open[:0:0]
		for k, g := range open {
			if bad[k] == nil {
				bad[k] = guard.Do(g.spec, "Merge", func() error { return g.combineFolds(ctx) })
			}
			if bad[k] != nil {
				failed(g, bad[k])
				continue
			}
			var next []*passGroup
			var models []*fitted
			err := guard.Do(g.spec, "Next", func() (err error) {
				next, models, err = r.advance(ctx, g)
				return err
			})
			if err != nil {
				failed(g, err)
				continue
			}
			all = append(all, models...)
			still = append(still, next...)
		}
		if open = still; ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
	}
	seconds := time.Since(began).Seconds() / float64(max(len(all), 1))
	for _, f := range all {
		f.seconds = seconds
	}
	return r.scoreAll(ctx, all)
}

// begin starts the first pass.
func (r *stream) begin(ctx context.Context, g *passGroup) error {
	g.heldOut = make([]datasets.Pass, r.hash.Folds)
	for f := range g.heldOut {
		var err error
		if g.heldOut[f], err = g.start(ctx); err != nil {
			return err
		}
	}
	if len(g.members) > 1 {
		r.addShared([]string{"alpha"})
	}
	r.addShared([]string{"folds"})
	return nil
}

// addPass adds all rows to the passes of the groups. bad contains the error of each group.
func (r *stream) addPass(ctx context.Context, groups []*passGroup) (bad []error, err error) {
	bad = make([]error, len(groups))
	err = rowsource.Partition(ctx, r.source, r.hash.Folds, r.hash.Of, func(fold int, block datasets.Set) error {
		for k, g := range groups {
			if bad[k] == nil {
				err := guard.Do(g.spec, "Add", func() error { return g.add(ctx, fold, block) })
				bad[k] = block.Locate(err, 0)
			}
		}
		return ctxerr.Check(ctx)
	})
	return bad, err
}

// add adds test rows of a fold.
func (g *passGroup) add(ctx context.Context, fold int, block datasets.Set) error {
	if g.heldOut != nil {
		return g.heldOut[fold].Add(ctx, block)
	}
	for f, pass := range g.train {
		if f == fold || pass == nil {
			continue
		}
		if err := pass.Add(ctx, block); err != nil {
			return err
		}
	}
	return nil
}

// combineFolds computes the passes over the training rows from those over the test rows, if these
// were summed: the pass of each fold merges those of the other folds in order.
func (g *passGroup) combineFolds(ctx context.Context) error {
	if g.heldOut == nil {
		return nil
	}
	g.train = make([]datasets.Pass, len(g.heldOut))
	for f := range g.train {
		for other, sums := range g.heldOut {
			if other == f {
				continue
			}
			if g.train[f] == nil {
				state, err := model.Record(sums)
				if err != nil {
					return err
				}
				if g.train[f], err = g.start(ctx); err == nil {
					err = model.Restore(cloneArchive(state), g.train[f])
				}
				if err != nil {
					return err
				}
				continue
			}
			if err := g.train[f].Merge(ctx, sums); err != nil {
				return err
			}
		}
	}
	g.heldOut = nil
	return nil
}

// cloneArchive returns a deep copy of an archive.
func cloneArchive(a *model.Archive) *model.Archive {
	out := &model.Archive{Scalars: a.Scalars, Arrays: make(map[string]model.Array, len(a.Arrays))}
	for name, array := range a.Arrays {
		array.Floats, array.Ints, array.Uint32s = slices.Clone(array.Floats), slices.Clone(array.Ints),
			slices.Clone(array.Uint32s)
		out.Arrays[name] = array
	}
	return out
}

// advance runs the next passes and returns the models that are complete.
func (r *stream) advance(ctx context.Context, g *passGroup) (still []*passGroup, models []*fitted, err error) {
	if len(g.members) > 1 {
		return r.splitGroup(ctx, g)
	}
	left := false
	for f, last := range g.train {
		if last == nil {
			continue
		}
		next, err := last.Next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if g.train[f] = next; next != nil {
			left = true
			continue
		}
		fit, err := guard.Call(g.spec, "Finish", func() (estimator.Predictor, error) { return g.spec.Finish(ctx, last) })
		models = append(models, &fitted{candidate: g.members[0], fold: f, model: fit, err: err})
	}
	if left {
		still = append(still, g)
	}
	return still, models, nil
}

// splitGroup continues with separate candidates once their passes depend on the parameters in which
// they differ.
func (r *stream) splitGroup(ctx context.Context, g *passGroup) (still []*passGroup, models []*fitted, err error) {
	if _, step := pass.Stage(g.train[0]); step {
		for f, last := range g.train {
			if g.train[f], err = last.Next(ctx); err != nil {
				return nil, nil, err
			}
		}
		return []*passGroup{g}, nil, nil
	}
	for _, c := range g.members {
		own := r.newGroup(r.candidates[c].spec.(estimator.PassEstimator))
		own.members, own.train = []int{c}, make([]datasets.Pass, len(g.train))
		for f, last := range g.train {
			if own.train[f], err = own.start(ctx); err == nil {
				err = pass.Adopt(own.train[f], last)
			}
			if err != nil {
				return nil, nil, err
			}
		}
		more, done, err := r.advance(ctx, own)
		if err != nil {
			for f := range own.train {
				done = append(done, &fitted{candidate: c, fold: f, err: err})
			}
		}
		still, models = append(still, more...), append(models, done...)
	}
	return still, models, nil
}

// fitSeparately fits a candidate to each fold with its own passes.
func (r *stream) fitSeparately(ctx context.Context, c int) error {
	var all []*fitted
	for f := range r.folds {
		began := time.Now()
		train := rowsource.Filter(r.source, func(row int) bool { return r.hash.Of(row) != f })
		fit, err := fitSource(ctx, r.candidates[c].spec, train)
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		all = append(all, &fitted{candidate: c, fold: f, model: fit, err: err, seconds: time.Since(began).Seconds()})
	}
	return r.scoreAll(ctx, all)
}

// scoreAll scores models on the test rows of their folds, as many candidates per pass as fit in
// memory.
func (r *stream) scoreAll(ctx context.Context, all []*fitted) error {
	slices.SortStableFunc(all, func(a, b *fitted) int {
		return slices.Compare([]int{a.candidate, a.fold}, []int{b.candidate, b.fold})
	})
	limit := r.search.Memory
	if limit == 0 {
		limit = memory.Available() / 2
	}
	rows := 0
	for _, n := range r.foldRows {
		rows += n
	}
	each := int64(8*rows) * int64(max(r.data.Schema.Outputs(), 1)) * int64(len(r.scorer.metrics))
	most := int(max(1, min(limit/max(each, 1), int64(len(r.candidates))))) * len(r.folds)
	for len(all) > 0 {
		n := min(most, len(all))
		if err := r.scorePass(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

func (r *stream) scorePass(ctx context.Context, all []*fitted) error {
	byFold := make([][]*fitted, len(r.folds))
	for _, f := range all {
		if f.err == nil {
			byFold[f.fold] = append(byFold[f.fold], f)
		}
	}
	of := func(row int) int {
		if f := r.hash.Of(row); len(byFold[f]) > 0 {
			return f
		}
		return -1
	}
	if slices.ContainsFunc(byFold, func(list []*fitted) bool { return len(list) > 0 }) {
		err := rowsource.Partition(ctx, r.source, r.hash.Folds, of, func(fold int, block datasets.Set) error {
			for _, f := range byFold[fold] {
				if f.err != nil {
					continue
				}
				output, err := r.scorer.predict(ctx, f.model, block.X)
				if f.err = err; err == nil {
					f.predictions = f.predictions.Append(output, r.foldRows[fold])
				}
			}
			return ctxerr.Check(ctx)
		})
		if err != nil {
			return err
		}
	}
	for _, f := range all {
		if !r.pending(f.candidate, f.fold) {
			continue
		}
		out := batch.Outcome{Prediction: f.predictions, Err: f.err, Seconds: f.seconds}
		var m estimator.Reporter
		if f.err == nil && estimator.As(f.model, &m) {
			out.Report = m.Report()
		}
		if r.fatal = r.record(f.candidate, f.fold, out); r.fatal != nil {
			return r.fatal
		}
		f.predictions = estimator.Prediction{}
	}
	return nil
}
