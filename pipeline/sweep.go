package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

var _ estimator.BatchFitter = Pipeline{}

// FitBatch fits every candidate on every fold and shares what candidates have in common:
//   - steps that are equal from the first on are fitted and applied once for each fold, and once for
//     all folds where none of them looks at the rows ([transformer.Rowless]);
//   - steps of one feature family ([transformer.FamilyFitter]), which make their maps from the same
//     draws, share that: dense features of the last step are made together, a tile of rows at a time,
//     for estimators that learn from related maps ([estimator.BatchFitter]); sparse ones are made once
//     by the widest map, as that with the most grids, and narrower ones are its leading columns;
//   - other estimators behind the same steps are left to their own FitBatch where they have one.
//
// What would exceed the memory of the pipeline is not shared but done for each candidate by itself.
// Features that candidates share as a family are in double precision, whatever theirs is; ridge's in single
// precision whose rounding would show are fitted by themselves, in their own.
//
// It returns the names of what was shared: "prefix" where fitted steps, "features" where mapped rows,
// "projection" where one product with the rows served several candidates or folds, "grids" where the
// widest of nested maps served narrower ones, and what the estimators shared. Folds and groups of
// candidates go in parallel as far as memory allows; what is yielded does not depend on that, only the
// order is. The work is divided as if all were wanted, and what nothing wanted needs is left out.
//
// Leaving one out maps the rows once for all candidates with the same steps, which learn nothing from the
// rows, and leaves the rest to the estimators; the mapped rows are held in memory.
func (p Pipeline) FitBatch(ctx context.Context, b estimator.Batch) (shared []string, err error) {
	if err := b.Data.Check(); err != nil {
		return nil, here(err)
	}
	if b.Mapped() {
		return nil, here(errMapped)
	}
	if err := checkFolds(b.Folds, b.Data.Rows()); err != nil {
		return nil, here(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := p.newSweep(b)
	s.data, s.rows, s.cols, s.shape, s.cancel = b.Data, b.Data.Rows(), b.Data.Cols(), b.Data.Shape(), cancel
	for i, c := range b.Candidates {
		setting, ok := c.Estimator.(Pipeline)
		if !ok {
			return nil, here(fmt.Errorf("setting %d is a %T, wanted a Pipeline", i, c.Estimator))
		}
		s.settings = append(s.settings, setting)
	}
	if b.OneOut {
		s.runOneOut(ctx, b.GCV)
	} else {
		s.run(ctx)
	}
	return slices.Sorted(maps.Keys(s.shared)), context.Cause(ctx)
}

// errMapped is the error of a batch on related maps, which are made by steps.
var errMapped = errors.New("a pipeline takes rows as they are, and makes related maps of them itself")

// newSweep returns the sweep of a batch, before it has rows and settings.
func (p Pipeline) newSweep(b estimator.Batch) *sweep {
	return &sweep{folds: b.Folds, memory: p.memory(), wanted: b.Wants, yield: b.Yield, shared: map[string]bool{}}
}

func checkFolds(folds []datasets.Fold, n int) error {
	for f, fold := range folds {
		if len(fold.Train) == 0 || len(fold.Test) == 0 {
			return fmt.Errorf("fold %d has %d rows to train on and %d to test on", f, len(fold.Train), len(fold.Test))
		}
		for _, i := range slices.Concat(fold.Train, fold.Test) {
			if i < 0 || i >= n {
				return fmt.Errorf("fold %d has row %d of %d", f, i, n)
			}
		}
	}
	return nil
}

// sweep is one batch.
type sweep struct {
	data       datasets.Set
	rows, cols int // of data
	shape      datasets.Shape
	folds      []datasets.Fold
	settings   []Pipeline
	memory     int64
	workers    int // how many tasks go on at once
	inner      int // how many folds one task may work on at once
	wanted     func(setting, fold int) bool
	cancel     context.CancelCauseFunc

	mu     sync.Mutex
	yield  func(setting, fold int, out estimator.Outcome) error
	shared map[string]bool
}

// branch is steps that settings have in common, as a tree.
type branch struct {
	step     Step
	next     []*branch
	settings []int // all that pass here
	ends     []int // those without further steps
}

// grow adds setting number i with the given steps.
func (b *branch) grow(i int, steps []Step) {
	b.settings = append(b.settings, i)
	if len(steps) == 0 {
		b.ends = append(b.ends, i)
		return
	}
	for _, n := range b.next {
		if n.step.Path() == steps[0].Path() && reflect.DeepEqual(n.step.Fitter, steps[0].Fitter) {
			n.grow(i, steps[1:])
			return
		}
	}
	n := &branch{step: steps[0]}
	n.grow(i, steps[1:])
	b.next = append(b.next, n)
}

// takers returns the steps that rows go to which the step of b has mapped, nil for an estimator.
func (b *branch) takers() (next []transformer.Fitter) {
	if len(b.ends) > 0 {
		next = append(next, nil)
	}
	for _, n := range b.next {
		next = append(next, n.step.Fitter)
	}
	return next
}

// run divides the work into tasks and does them.
func (s *sweep) run(ctx context.Context) {
	all, rowless := s.plant(func(i int, err error) {
		for f := range s.folds {
			s.give(ctx, i, f, estimator.Outcome{Err: here(err)})
		}
	})
	var tasks []func()
	s.rowlessTasks(ctx, rowless, nil, &tasks)
	families, others := s.families(all.next, 1)
	for f := range s.folds {
		for _, family := range families {
			tasks = append(tasks, func() { s.familyOfFold(ctx, family, s.division(f), 0) })
		}
		for _, top := range relatives(others) {
			tasks = append(tasks, func() { s.relatives(ctx, top, s.division(f), 0) })
		}
	}
	s.workers = s.atOnce()
	s.inner = max(1, s.workers/max(len(tasks), 1))
	parallel(ctx, s.workers, len(tasks), func(i int) { tasks[i]() })
}

// rowlessTasks makes a task of every end of the tree, and of every family, which serve all folds.
func (s *sweep) rowlessTasks(ctx context.Context, b *branch, steps []Step, tasks *[]func()) {
	if len(b.ends) > 0 {
		*tasks = append(*tasks, func() { s.everyFold(ctx, steps, b.ends) })
	}
	families, others := s.families(b.next, len(s.folds))
	for _, family := range families {
		*tasks = append(*tasks, func() { s.familyOfAllFolds(ctx, family, steps) })
	}
	for _, n := range others {
		s.rowlessTasks(ctx, n, append(slices.Clone(steps), n.step), tasks)
	}
}

// wants reports whether any of the settings is wanted on fold f.
func (s *sweep) wants(settings []int, f int) bool {
	return slices.ContainsFunc(settings, func(i int) bool { return s.wanted(i, f) })
}

// wantsAny reports whether any of the settings is wanted on any fold.
func (s *sweep) wantsAny(settings []int) bool {
	for f := range s.folds {
		if s.wants(settings, f) {
			return true
		}
	}
	return false
}

// plant divides the settings into those whose steps serve all folds at once and the others, each as
// a tree. It hands specs that cannot be fitted to refuse.
func (s *sweep) plant(refuse func(i int, err error)) (all, rowless *branch) {
	all, rowless = &branch{}, &branch{}
	for i, p := range s.settings {
		if err := p.check(); err != nil {
			refuse(i, err)
			continue
		}
		if len(p.Steps) == 0 || stepsFitWithoutRows(p.Steps) && s.kept(p) <= s.memory {
			rowless.grow(i, p.Steps)
		} else {
			all.grow(i, p.Steps)
		}
	}
	return all, rowless
}

// bytes estimates what the mapped rows of a setting take, where they take most.
func (s *sweep) bytes(p Pipeline) int64 {
	most, shape := 8*int64(s.rows)*int64(s.cols), s.shape
	for _, step := range p.Steps {
		most = max(most, featureBytes(step, shape))
		shape = shape.After(costOf(step.Fitter, shape))
	}
	return most
}

// kept estimates what the rows take that serve all folds: a family's last step is mapped in tiles.
func (s *sweep) kept(p Pipeline) int64 {
	if isFamilyStep(p) {
		p.Steps = p.Steps[:len(p.Steps)-1]
	}
	return s.bytes(p)
}

// atOnce is how many tasks go on at once: one for each core, fewer where they would together take
// more than twice the memory.
func (s *sweep) atOnce() int {
	most := int64(1)
	for _, p := range s.settings {
		if p.Estimator != nil {
			most = max(most, s.held(p))
		}
	}
	return int(min(max(2*s.memory/most, 1), int64(runtime.GOMAXPROCS(0))))
}

// held estimates what a task holds: its fold's rows, these mapped, and perhaps a copy of that.
func (s *sweep) held(p Pipeline) int64 {
	return 8*int64(s.rows)*int64(s.cols) + 2*min(s.kept(p), s.memory)
}

// parallel calls f for 0 … n−1, at most workers at once, until the context ends.
func parallel(ctx context.Context, workers, n int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	var others sync.WaitGroup
	for range min(workers, n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// give hands a result to the caller, one at a time, and ends the sweep where the caller wants that.
// What a cancelled setting says is of no interest.
func (s *sweep) give(ctx context.Context, setting, fold int, out estimator.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || !s.wanted(setting, fold) {
		return
	}
	if err := s.yield(setting, fold, out); err != nil {
		s.cancel(err)
	}
}

func (s *sweep) share(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.shared[name] = true
	}
}

// division is the rows of one fold at one place of the tree: those to train on, then those held out.
type division struct {
	set     datasets.Set
	train   int // rows to train on
	fold    int
	seconds float64 // of shared work, for each setting
}

func (d division) trainSet() datasets.Set { return d.set.Slice(0, d.train) }
func (d division) heldOut() datasets.Set  { return d.set.Slice(d.train, d.set.Rows()) }
func (d division) testX() mat.Matrix      { return d.heldOut().X }

// divide returns the rows of fold f.
func divide(data datasets.Set, fold datasets.Fold, f int) division {
	return division{set: data.Select(slices.Concat(fold.Train, fold.Test)), train: len(fold.Train), fold: f}
}

func (s *sweep) division(f int) division { return divide(s.data, s.folds[f], f) }

// descend fits the step of b to the rows, which depth steps have mapped, and goes on.
func (s *sweep) descend(ctx context.Context, b *branch, d division, depth int) {
	if !s.wants(b.settings, d.fold) {
		return
	}
	if len(b.settings) == 1 {
		s.alone(ctx, b.settings[0], d, depth)
		return
	}
	start := time.Now()
	mapped, fit, err := s.through(ctx, b, d)
	if err != nil {
		s.refuse(ctx, b, d, err)
		return
	}
	if fit == nil {
		for _, i := range b.settings {
			s.alone(ctx, i, d, depth)
		}
		return
	}
	mapped.seconds += time.Since(start).Seconds() / float64(len(b.settings))
	s.below(ctx, b, mapped, depth)
}

// below does the settings of b with the rows that its step has mapped.
func (s *sweep) below(ctx context.Context, b *branch, mapped division, depth int) {
	if len(b.settings) > 1 {
		s.share("prefix")
	}
	if len(b.ends) > 0 {
		s.estimate(ctx, b.ends, mapped)
	}
	families, others := s.families(b.next, 1)
	for _, family := range families {
		s.familyOfFold(ctx, family, mapped, depth+1)
	}
	for _, family := range relatives(others) {
		if ctx.Err() == nil {
			s.relatives(ctx, family, mapped, depth+1)
		}
	}
}

// through fits the step of b to the rows to train on and maps all of them. It returns the fitted step, nil
// where the mapped rows would not fit into memory.
func (s *sweep) through(ctx context.Context, b *branch, d division) (division, transformer.Transformer, error) {
	step := b.step
	r, err := rowsOf(d.trainSet(), s.memory)
	if err != nil {
		return d, nil, err
	}
	fitted := &fittedStep{name: step.Path()}
	if both, ok := step.Fitter.(transformer.FitTransformer); ok {
		if both.FeatureBytes(d.set.Rows(), d.set.Cols()) > s.memory {
			return d, nil, nil
		}
		if r, err = r.atOnce(ctx, both, fitted); err != nil {
			return d, nil, err
		}
		held, err := mapAll(ctx, fitted, d.testX())
		if err != nil {
			return d, nil, d.heldOut().Locate(err, 0)
		}
		d.set.Schema = r.set.Schema
		d.set.X = stacked(r.set.X, held)
		return d, fitted.fit, nil
	}
	if fitted.fit, err = r.fit(ctx, step.Fitter); err != nil {
		return d, nil, err
	}
	sample, err := fitted.learn(ctx, r.sample)
	if err != nil || bytesOf(sample)*int64(d.set.Rows()) > s.memory {
		return d, nil, err
	}
	d.set.X, err = fitted.mapKept(ctx, d.set.X, b.takers()...)
	d.set.Schema = describe(fitted.fit, d.set.Schema)
	return d, fitted.fit, err
}

// alone fits what is left of a setting after depth steps, and shares nothing.
func (s *sweep) alone(ctx context.Context, i int, d division, depth int) {
	if s.wanted(i, d.fold) {
		s.give(ctx, i, d.fold, s.fitAlone(ctx, s.settings[i], d, depth))
	}
}

// fitAlone fits what is left of p after depth steps and judges it.
func (s *sweep) fitAlone(ctx context.Context, p Pipeline, d division, depth int) estimator.Outcome {
	start := time.Now()
	p.Steps, p.Name, p.Memory = p.Steps[depth:], p.path(), s.memory
	fitted, err := p.Fit(ctx, d.trainSet())
	return judge(ctx, fitted, err, d, start)
}

// judge predicts the rows held out.
func judge(ctx context.Context, fitted estimator.Predictor, err error, d division, start time.Time) estimator.Outcome {
	out := estimator.Outcome{Err: d.set.Locate(err, 0)}
	if err == nil {
		out.Prediction, out.Err = predictAll(ctx, fitted, d.testX())
		out.Err = d.heldOut().Locate(out.Err, 0)
		var r estimator.Reporter
		if estimator.As(fitted, &r) {
			out.Report = r.Report()
		}
	}
	out.Seconds = time.Since(start).Seconds() + d.seconds
	return out
}

// predictAll returns all that a predictor says, block by block where it does not see to that itself.
func predictAll(ctx context.Context, fitted estimator.Predictor, X mat.Matrix) (estimator.Prediction, error) {
	if _, ok := fitted.(estimator.WholePredictor); !ok {
		_, cols := X.Dims()
		fitted = &FittedPipeline{chain: newFittedChain(cols), name: "estimator", model: fitted}
	}
	return estimator.Predict(ctx, fitted, X)
}

// estimate fits the estimators of the settings to rows that are mapped for all of them.
func (s *sweep) estimate(ctx context.Context, settings []int, d division) {
	if len(settings) > 1 {
		s.share("features")
	}
	fold := datasets.Fold{Train: count(0, d.train), Test: count(d.train, d.set.Rows())}
	s.byKind(settings, func(same []int) {
		if fitter, ok := s.settings[same[0]].Estimator.(estimator.BatchFitter); ok {
			s.fitEstimators(ctx, fitter, same, d.set, []datasets.Fold{fold}, func(int) int { return d.fold }, d.seconds)
			return
		}
		for _, i := range same {
			if ctx.Err() == nil {
				s.fitEstimator(ctx, i, d)
			}
		}
	})
}

func (s *sweep) fitEstimator(ctx context.Context, i int, d division) {
	if !s.wanted(i, d.fold) {
		return
	}
	start := time.Now()
	p := s.settings[i]
	fitted, err := p.Estimator.Fit(ctx, d.trainSet())
	s.give(ctx, i, d.fold, judge(ctx, fitted, at("step", p.path(), err), d, start))
}

// byKind calls f for the settings with each type of estimator.
func (s *sweep) byKind(settings []int, f func(same []int)) {
	var kinds []reflect.Type
	groups := map[reflect.Type][]int{}
	for _, i := range settings {
		kind := reflect.TypeOf(s.settings[i].Estimator)
		if groups[kind] == nil {
			kinds = append(kinds, kind)
		}
		groups[kind] = append(groups[kind], i)
	}
	for _, kind := range kinds {
		f(groups[kind])
	}
}

// fitEstimators leaves the estimators of the settings to their own FitBatch.
func (s *sweep) fitEstimators(ctx context.Context, fitter estimator.BatchFitter, settings []int, data datasets.Set,
	folds []datasets.Fold, fold func(int) int, seconds float64) {
	names, err := fitter.FitBatch(ctx, estimator.Batch{Data: data, Shape: data.Shape(), Folds: folds, Candidates: s.candidates(settings),
		Wanted: func(k, f int) bool { return s.wanted(settings[k], fold(f)) },
		Yield: func(k, f int, out estimator.Outcome) error {
			out.Err = data.Locate(at("step", s.settings[settings[k]].path(), out.Err), 0)
			out.Seconds += seconds
			s.give(ctx, settings[k], fold(f), out)
			return ctx.Err()
		}})
	if err != nil && ctx.Err() == nil {
		s.cancel(data.Locate(at("step", s.settings[settings[0]].path(), err), 0))
	}
	s.share(names...)
}

// candidates returns the estimators of some settings.
func (s *sweep) candidates(settings []int) []estimator.Candidate {
	out := make([]estimator.Candidate, len(settings))
	for k, i := range settings {
		out[k].Estimator = s.settings[i].Estimator
	}
	return out
}

// everyFold does settings with the same steps, which learn nothing from the rows, for all folds.
func (s *sweep) everyFold(ctx context.Context, steps []Step, settings []int) {
	if !s.wantsAny(settings) {
		return
	}
	if s.bytes(s.settings[settings[0]]) > s.memory { // one setting of a family on one fold
		for f := range s.folds {
			for _, i := range settings {
				s.alone(ctx, i, s.division(f), 0)
			}
		}
		return
	}
	start := time.Now()
	data, err := s.mapOnce(ctx, steps)
	if err != nil {
		for _, i := range settings {
			for f := range s.folds {
				s.give(ctx, i, f, estimator.Outcome{Err: err})
			}
		}
		return
	}
	seconds := time.Since(start).Seconds() / float64(len(settings)*max(len(s.folds), 1))
	if len(steps) > 0 && len(settings)*len(s.folds) > 1 {
		s.share("prefix", "features")
	}
	s.byKind(settings, func(same []int) {
		if fitter, ok := s.settings[same[0]].Estimator.(estimator.BatchFitter); ok {
			s.fitEstimators(ctx, fitter, same, data, s.folds, func(f int) int { return f }, seconds)
			return
		}
		parallel(ctx, s.inner, len(s.folds), func(f int) {
			d := divide(data, s.folds[f], f)
			d.seconds = seconds
			for _, i := range same {
				if ctx.Err() == nil {
					s.fitEstimator(ctx, i, d)
				}
			}
		})
	})
}

// mapOnce returns all rows mapped by steps that learn nothing from them.
func (s *sweep) mapOnce(ctx context.Context, steps []Step) (datasets.Set, error) {
	r, err := rowsOf(s.data, s.memory)
	if err != nil {
		return datasets.Set{}, here(err)
	}
	_, out, err := fitSteps(ctx, steps, r, s.data.Cols(), func(int) bool { return true })
	if err != nil {
		return datasets.Set{}, err
	}
	return out.gather(ctx)
}

func count(from, to int) []int {
	list := make([]int, to-from)
	for i := range list {
		list[i] = from + i
	}
	return list
}
