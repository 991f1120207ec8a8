package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/model"
)

// FitSource fits spec to a stream if it is a [BlockEstimator].
func FitSource(ctx context.Context, spec Estimator, src datasets.Source) (Predictor, error) {
	b, ok := spec.(BlockEstimator)
	if !ok {
		return nil, fmt.Errorf("%T learns from rows in memory only", spec)
	}
	return guard.Call(spec, "FitSource", func() (Predictor, error) { return b.FitSource(ctx, src) })
}

// streamed is a job on a stream.
type streamed struct {
	batch.Job
	names   []string     // of the shared work
	bytes   int64        // memory of the current passes
	waiting []*passGroup // groups whose next passes do not fit in memory
}

// passGroup is a group of candidates that have the same sums, with their state on each fold. The
// sums of the first pass are those of the test rows of a fold, later ones those of its training
// rows.
type passGroup struct {
	members []int
	owner   int             // candidate whose passes they are
	bytes   int64           // memory of the passes
	passes  []datasets.Pass // by fold; nil before the first pass and for finished folds
	first   bool
	err     error // of the current pass
}

// streamFit is a model of a candidate, or the error of its fit.
type streamFit struct {
	candidate, fold int
	model           Predictor
	batch.Outcome
}

// fitStream fits a job whose rows are streamed. Candidates that learn by passes share each pass, as
// many as fit in memory; the others are fitted sequentially.
func fitStream(ctx context.Context, j batch.Job) (shared []string, err error) {
	s := &streamed{Job: j}
	groups, separate := s.groups(ctx)
	for len(groups) > 0 && err == nil {
		n := 0
		for s.bytes = 0; n < len(groups) && (n == 0 || s.bytes+groups[n].bytes <= s.MemoryLimit()); n++ {
			s.bytes += groups[n].bytes
		}
		err = s.fitGroups(ctx, groups[:n])
		groups, s.waiting = append(s.waiting, groups[n:]...), nil
	}
	for _, i := range separate {
		if err == nil {
			err = s.fitSeparately(ctx, i)
		}
	}
	return s.names, err
}

// groups groups the candidates that learn by passes and have the same sums, and lists the others.
func (s *streamed) groups(ctx context.Context) (groups []*passGroup, separate []int) {
	at, keys := map[int]*passGroup{}, s.SharedKeys()
	for i, c := range s.Candidates {
		if !s.IncludesAny(i) {
			continue
		}
		spec, ok := c.Estimator.(PassEstimator)
		if ok {
			_, err := s.start(ctx, spec)
			ok = !errors.Is(err, datasets.ErrNoPasses)
		}
		switch g := at[keys[i]]; {
		case !ok:
			separate = append(separate, i)
		case g != nil:
			g.members = append(g.members, i)
		default:
			g = &passGroup{members: []int{i}, owner: i}
			if estimate, ok := spec.(datasets.CostEstimator); ok {
				g.bytes = estimate.Cost(s.Shape).Bytes * int64(2*len(s.Folds)+1)
			}
			at[keys[i]], groups = g, append(groups, g)
		}
	}
	return groups, separate
}

func (s *streamed) start(ctx context.Context, spec PassEstimator) (datasets.Pass, error) {
	_, cols := s.Stream.Source.Dims()
	return guard.Call(spec, "Start", func() (datasets.Pass, error) {
		return spec.Start(ctx, s.Stream.Source.Schema(), cols)
	})
}

// spec returns the spec of the passes.
func (s *streamed) spec(g *passGroup) PassEstimator {
	return s.Candidates[g.owner].Estimator.(PassEstimator)
}

// fitGroups fits groups of candidates concurrently and yields their outcomes.
func (s *streamed) fitGroups(ctx context.Context, groups []*passGroup) error {
	began := time.Now()
	var fits []*streamFit
	for {
		var next []*passGroup
		for _, g := range groups {
			still, done, err := s.advance(ctx, g)
			if err != nil {
				still, done = nil, s.failed(g, err)
			}
			next, fits = append(next, still...), append(fits, done...)
		}
		if groups = next; len(groups) == 0 || ctx.Err() != nil {
			break
		}
		s.share("readings")
		err := s.eachBlock(ctx, s.Stream.Fold, func(fold int, block datasets.Set) error {
			for _, g := range groups {
				if g.err == nil {
					g.err = block.Locate(guard.Do(s.spec(g), "Add", func() error { return g.add(ctx, fold, block) }), 0)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, f := range fits {
		f.Seconds = time.Since(began).Seconds() / float64(len(fits))
	}
	return s.yield(ctx, fits)
}

// share adds the name of shared work.
func (s *streamed) share(name string) {
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// failed returns the outcomes of a group whose fits have failed.
func (s *streamed) failed(g *passGroup, err error) (fits []*streamFit) {
	for _, i := range g.members {
		for f := range s.Folds {
			fits = append(fits, &streamFit{candidate: i, fold: f, Outcome: batch.Outcome{Err: err}})
		}
	}
	return fits
}

// advance starts the first or the next passes and returns the models that are complete. Members
// continue separately once their passes depend on the parameters in which they differ, up to the
// limit of memory.
func (s *streamed) advance(ctx context.Context, g *passGroup) (still []*passGroup, fits []*streamFit, err error) {
	switch {
	case g.err != nil:
		return nil, nil, g.err
	case g.passes == nil:
		g.first = true
		g.passes, err = s.startFolds(ctx, g)
		if len(g.members) > 1 {
			s.share("alpha")
		}
		s.share("folds")
		return []*passGroup{g}, nil, err
	case g.first:
		if err := guard.Do(s.spec(g), "Merge", func() error { return s.combineFolds(ctx, g) }); err != nil {
			return nil, nil, err
		}
	}
	if len(g.members) == 1 && g.members[0] == g.owner || g.fitsStep() {
		return s.next(ctx, g)
	}
	s.bytes -= g.bytes
	for k, i := range g.members {
		own := &passGroup{members: []int{i}, owner: i, bytes: g.bytes}
		more, done, err := []*passGroup(nil), []*streamFit(nil), error(nil)
		if own.passes, err = s.startFolds(ctx, own); err != nil {
			return nil, nil, err
		}
		for f, last := range g.passes {
			state, err := model.Record(last)
			if err != nil {
				return nil, nil, err
			}
			state.ReplaceSpecs() // they differ in parameters that do not affect the sums
			if err := model.Restore(state, own.passes[f]); err != nil {
				return nil, nil, err
			}
		}
		if more, done, err = s.next(ctx, own); err != nil {
			done = s.failed(own, err)
		}
		still, fits = append(still, more...), append(fits, done...)
		if s.bytes += g.bytes * int64(len(more)); s.bytes > s.MemoryLimit() && k+1 < len(g.members) {
			s.waiting = append(s.waiting, &passGroup{members: g.members[k+1:], owner: g.owner, bytes: g.bytes, passes: g.passes})
			break
		}
	}
	return still, fits, nil
}

// startFolds starts a pass for each fold.
func (s *streamed) startFolds(ctx context.Context, g *passGroup) (passes []datasets.Pass, err error) {
	passes = make([]datasets.Pass, len(s.Folds))
	for f := range passes {
		if passes[f], err = s.start(ctx, s.spec(g)); err != nil {
			return nil, err
		}
	}
	return passes, nil
}

// add adds test rows of a fold.
func (g *passGroup) add(ctx context.Context, fold int, block datasets.Set) error {
	for f, p := range g.passes {
		if p != nil && (f == fold) == g.first {
			if err := p.Add(ctx, block); err != nil {
				return err
			}
		}
	}
	return nil
}

// combineFolds replaces the passes over the test rows by those over the training rows: that of each
// fold merges those of the other folds in order.
func (s *streamed) combineFolds(ctx context.Context, g *passGroup) error {
	train, err := s.startFolds(ctx, g)
	if err != nil {
		return err
	}
	for f := range train {
		for other, sums := range g.passes {
			if other != f {
				if err := train[f].Merge(ctx, sums); err != nil {
					return err
				}
			}
		}
	}
	g.passes, g.first = train, false
	return nil
}

// fitsStep reports whether the passes of all folds fit a step of a pipeline.
func (g *passGroup) fitsStep() bool {
	return !slices.ContainsFunc(g.passes, func(p datasets.Pass) bool {
		_, step := pass.Stage(p)
		return !step
	})
}

// next starts the next pass of each fold and returns the models of folds without one.
func (s *streamed) next(ctx context.Context, g *passGroup) (still []*passGroup, fits []*streamFit, _ error) {
	spec := s.spec(g)
	for f, last := range g.passes {
		if last == nil {
			continue
		}
		err := guard.Do(spec, "Next", func() (err error) {
			g.passes[f], err = last.Next(ctx)
			return err
		})
		switch {
		case err != nil:
			return nil, nil, err
		case g.passes[f] != nil:
			still = []*passGroup{g}
		default:
			fit := &streamFit{candidate: g.owner, fold: f}
			fit.model, fit.Err = guard.Call(spec, "Finish", func() (Predictor, error) { return spec.Finish(ctx, last) })
			fits = append(fits, fit)
		}
	}
	return still, fits, nil
}

// fitSeparately fits a candidate to each fold with its own passes.
func (s *streamed) fitSeparately(ctx context.Context, i int) error {
	var fits []*streamFit
	for f := range s.Folds {
		began, fit := time.Now(), &streamFit{candidate: i, fold: f}
		train := rowsource.Filter(s.Stream.Source, func(row int) bool { return s.Stream.Fold(row) != f })
		fit.model, fit.Err = FitSource(ctx, s.Candidates[i].Estimator.(Estimator), train)
		fit.Seconds = time.Since(began).Seconds()
		fits = append(fits, fit)
	}
	return s.yield(ctx, fits)
}

// yield predicts the test rows of the models, as many candidates per pass as fit in memory, and
// yields the outcomes.
func (s *streamed) yield(ctx context.Context, fits []*streamFit) error {
	slices.SortStableFunc(fits, func(a, b *streamFit) int {
		return cmp.Or(a.candidate-b.candidate, a.fold-b.fold)
	})
	each := int64(8 * max(s.Shape.Outputs, 1))
	for _, n := range s.Stream.Rows {
		each += int64(8*n) * int64(max(s.Shape.Outputs, 1))
	}
	for list := range slices.Chunk(fits, int(max(1, min(s.MemoryLimit()/each, int64(len(fits)))))*len(s.Folds)) {
		if err := cmp.Or(ctxerr.Check(ctx), s.predict(ctx, list)); err != nil {
			return err
		}
		for _, f := range list {
			if !s.Includes(f.candidate, f.fold) {
				continue
			}
			var r Reporter
			if f.Err == nil && As(f.model, &r) {
				f.Report = r.Report()
			}
			if err := s.Yield(f.candidate, f.fold, f.Outcome); err != nil {
				return err
			}
			f.Prediction = Prediction{}
		}
	}
	return ctxerr.Check(ctx)
}

// predict makes the predictions of models for the test rows of their folds in one pass.
func (s *streamed) predict(ctx context.Context, fits []*streamFit) error {
	byFold := make([][]*streamFit, len(s.Folds))
	for _, f := range fits {
		if f.Err == nil {
			byFold[f.fold] = append(byFold[f.fold], f)
		}
	}
	if !slices.ContainsFunc(byFold, func(list []*streamFit) bool { return len(list) > 0 }) {
		return nil
	}
	of := func(row int) int {
		if f := s.Stream.Fold(row); len(byFold[f]) > 0 {
			return f
		}
		return -1
	}
	return s.eachBlock(ctx, of, func(fold int, block datasets.Set) error {
		for _, f := range byFold[fold] {
			if f.Err != nil {
				continue
			}
			var output Prediction
			if output, f.Err = predictFor(ctx, s.Job, f.model, block.X); f.Err == nil {
				f.Prediction = f.Prediction.Append(output, s.Stream.Rows[fold])
			}
		}
		return nil
	})
}

// eachBlock reads the rows once and calls f with blocks of the rows that test a fold.
func (s *streamed) eachBlock(ctx context.Context, fold func(row int) int,
	f func(fold int, block datasets.Set) error) error {
	return rowsource.Partition(ctx, s.Stream.Source, len(s.Folds), fold, func(fold int, block datasets.Set) error {
		return cmp.Or(f(fold, block), ctxerr.Check(ctx))
	})
}

// predictFor returns the outputs of a model that a job reads.
func predictFor(ctx context.Context, j batch.Job, model Predictor, X mat.Matrix) (Prediction, error) {
	if j.Predict != nil {
		return j.Predict(ctx, model, X)
	}
	return Predict(ctx, model, X, Request{})
}
