package estimator

import (
	"cmp"
	"context"
	"fmt"
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

var (
	_ BatchFitter = SVM{}
	_ BatchFitter = SVR{}
	_ BatchFitter = Logistic{}
)

// FitBatch on rows as they are prepares the training rows of a fold once for all candidates that are solved
// by coordinate descent, and walks those that differ in C from the smallest to the largest: a solution is
// where the next one begins. Each is solved to its own Tol, so that what is predicted agrees with a fit by
// itself to that tolerance. Candidates for newton are fitted by themselves. Folds go in parallel. A path
// is walked from its beginning, whatever is wanted of it.
//
// On related maps it shares as [Logistic.FitBatch] does, for losses that go by newton.
func (s SVM) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	if b.OneOut {
		return nil, errNotOneOut
	}
	if b.Mapped() {
		return sweepNewton(ctx, b, newtonSVM)
	}
	return sweepDual(ctx, b, func(e Estimator) (dualSetting, bool) {
		s, ok := e.(SVM)
		return dualSetting{name: "svm", key: fmt.Sprint(s.Loss, s.Intercept, s.Tol, s.MaxIter, s.ClassWeight.Plain()), C: s.C, task: s.dualTask,
			labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) {
				return r.ReadClasses(ctx, s.ClassWeight.factors)
			},
			byDual: func(r *design.Rows, _ *design.Labels) bool { return !byNewton(s.Solver, s.Loss, wide(r)) },
			dress: func(m linear, classes []string) Predictor {
				return &FittedLinearClassifier{linear: m, classes: classes}
			}}, ok
	})
}

// BatchCost takes a batch on rows as they are, and one on related maps where the solver is newton.
func (s SVM) BatchCost(b Batch) (datasets.Cost, []string, error) {
	return pathCost(b, byNewton(s.Solver, s.Loss, false))
}

// FitBatch on rows as they are shares work as [SVM.FitBatch] does.
//
// On related maps it maps the rows once for all candidates on a map and walks, for each fold, from few
// features to many and from small C to large: a solution is where the next one begins, with zeros for
// features that are new. Every problem is solved to its own tolerance, relative to the gradient at 0 as in
// Fit, so that results agree with those of Fit to that tolerance. A path is always walked from its
// beginning: where a solution begins does not depend on what is wanted. Rows of all folds are read where
// they are; none are copied. Folds go in parallel.
func (s Logistic) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	if b.OneOut {
		return nil, errNotOneOut
	}
	if b.Mapped() {
		return sweepNewton(ctx, b, newtonLogistic)
	}
	return sweepDual(ctx, b, func(e Estimator) (dualSetting, bool) {
		s, ok := e.(Logistic)
		return dualSetting{name: "logistic", key: fmt.Sprint(s.Intercept, s.Tol, s.MaxIter, s.ClassWeight.Plain()), C: s.C, task: s.dualTask,
			labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) {
				return r.ReadClasses(ctx, s.ClassWeight.factors)
			},
			byDual: s.byDual,
			dress: func(m linear, classes []string) Predictor {
				return &FittedLogistic{FittedLinearClassifier{linear: m, classes: classes}}
			}}, ok
	})
}

// BatchCost is [SVM.BatchCost].
func (s Logistic) BatchCost(b Batch) (datasets.Cost, []string, error) {
	return pathCost(b, s.Solver != "dual")
}

// FitBatch shares work as [SVM.FitBatch] does on rows as they are, between candidates of the same Epsilon.
func (s SVR) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	switch {
	case b.OneOut:
		return nil, errNotOneOut
	case b.Mapped():
		return nil, errNotMapped
	}
	return sweepDual(ctx, b, func(e Estimator) (dualSetting, bool) {
		s, ok := e.(SVR)
		return dualSetting{name: "svr", key: fmt.Sprint(s.Loss, s.Epsilon, s.Intercept, s.Tol, s.MaxIter), C: s.C, task: s.dualTask,
			labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) { return readNumbers(ctx, r, "svr") },
			byDual: func(r *design.Rows, _ *design.Labels) bool { return !byNewton(s.Solver, s.Loss, wide(r)) },
			dress:  func(m linear, _ []string) Predictor { return &FittedLinear{m} }}, ok
	})
}

// BatchCost takes a batch on rows as they are.
func (s SVR) BatchCost(b Batch) (datasets.Cost, []string, error) { return pathCost(b, false) }

// pathCost is the cost of a batch: on related maps, where newton takes them, that of
// the paths, else that of fits one by one, which it is not told how much less the paths are.
func pathCost(b Batch, newton bool) (sum datasets.Cost, shared []string, err error) {
	switch {
	case b.OneOut:
		return sum, nil, errNotOneOut
	case b.Mapped() && !newton:
		return sum, nil, errNotMapped
	case b.Mapped():
		sum, shared = newtonFamilyCost(b.Shape, len(b.Folds), b.Candidates)
		return sum, shared, nil
	}
	return loneCost(b), nil, nil
}

// loneCost is that of fitting candidates on rows as they are one by one.
func loneCost(b Batch) (sum datasets.Cost) {
	for _, c := range b.Candidates {
		coster, ok := c.Estimator.(datasets.Coster)
		for _, fold := range b.Folds {
			if !ok {
				break
			}
			shape := b.Shape
			shape.Rows = len(fold.Train)
			cost := coster.Cost(shape)
			sum.Flops += cost.Flops
			sum.Bytes = max(sum.Bytes, cost.Bytes)
		}
	}
	return sum
}

// dualSetting is a setting of a sweep as coordinate descent takes it.
type dualSetting struct {
	Estimator
	name   string
	key    string // all but C
	C      float64
	labels func(ctx context.Context, r *design.Rows) (*design.Labels, error)
	byDual func(r *design.Rows, l *design.Labels) bool
	task   func(l *design.Labels) dualTask
	dress  func(m linear, classes []string) Predictor
}

// dualSweep is one batch on rows as they are.
type dualSweep struct {
	Batch
	settings []dualSetting
	paths    [][]int    // numbers of settings that differ in C, which ascends
	wants    [][]bool   // settings × folds
	mu       sync.Mutex // held while a result is handed over
	failed   error
	walked   bool // whether a solution was where another began
}

func sweepDual(ctx context.Context, b Batch, of func(Estimator) (dualSetting, bool)) (shared []string, err error) {
	s := &dualSweep{Batch: b}
	paths := map[string]int{}
	for i, e := range b.specs() {
		one, ok := of(e)
		if !ok {
			return nil, fmt.Errorf("estimator: %s: setting %d is a %T", one.name, i, e)
		}
		one.Estimator = e
		s.settings = append(s.settings, one)
		wants := make([]bool, len(b.Folds))
		for f := range wants {
			wants[f] = b.Wants(i, f)
		}
		s.wants = append(s.wants, wants)
		if param.Check(e) != nil {
			s.paths = append(s.paths, []int{i})
			continue
		}
		at, known := paths[one.key]
		if !known {
			at = len(s.paths)
			paths[one.key] = at
			s.paths = append(s.paths, nil)
		}
		s.paths[at] = append(s.paths[at], i)
	}
	for _, path := range s.paths {
		slices.SortStableFunc(path, func(a, b int) int { return cmp.Compare(s.settings[a].C, s.settings[b].C) })
	}
	kern.Parallel(len(b.Folds), 1, func(lo, hi int) {
		for f := lo; f < hi; f++ {
			s.fold(ctx, f)
		}
	})
	if s.failed == nil {
		s.failed = ctx.Err()
	}
	if s.walked {
		shared = []string{"path"}
	}
	return shared, s.failed
}

// give hands a result over, unless an earlier one was refused.
func (s *dualSweep) give(ctx context.Context, setting, fold int, out Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && ctx.Err() == nil && s.wants[setting][fold] {
		s.failed = s.Yield(setting, fold, out)
	}
}

func (s *dualSweep) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// fold walks every path on one fold.
func (s *dualSweep) fold(ctx context.Context, f int) {
	fold := s.Folds[f]
	if !slices.ContainsFunc(s.paths, func(path []int) bool { return s.last(path, f) >= 0 }) {
		return
	}
	d := &dualFold{dualSweep: s, number: f, train: selectRows(s.Data, fold.Train), test: datasets.SelectRows(s.Data.X, fold.Test)}
	for _, path := range s.paths {
		d.walk(ctx, path[:s.last(path, f)+1])
	}
}

// last returns the place of the last setting of a path that is wanted, -1 for none.
func (s *dualSweep) last(path []int, fold int) int {
	for k := len(path) - 1; k >= 0; k-- {
		if s.wants[path[k]][fold] {
			return k
		}
	}
	return -1
}

// selectRows is Select without a copy of rows that follow each other.
func selectRows(data datasets.Set, list []int) datasets.Set {
	for k, i := range list {
		if i != list[0]+k {
			return data.Select(list)
		}
	}
	if len(list) == 0 {
		return data.Select(list)
	}
	return data.Slice(list[0], list[0]+len(list))
}

// dualFold is the work on one fold.
type dualFold struct {
	*dualSweep
	number int
	train  datasets.Set
	test   mat.Matrix
	inputs dualRows // of the training rows, once they are wanted
}

// walk solves the settings of a path, each from the solution of the one before.
func (d *dualFold) walk(ctx context.Context, path []int) {
	var from []solve.DualResult
	for _, i := range path {
		if d.over() || ctx.Err() != nil {
			return
		}
		start := time.Now()
		s := d.settings[i]
		var fitted Predictor
		results, l, err := d.solve(ctx, s, from)
		switch {
		case err != nil:
			err = fmt.Errorf("estimator: %s: %w", s.name, err)
		case results == nil:
			fitted, err = s.Fit(ctx, d.train)
		default:
			if from != nil {
				d.mu.Lock()
				d.walked = true
				d.mu.Unlock()
			}
			from = results
			var m solve.Linear
			if m, err = dualModel(d.inputs, results, s.task(l).tol); err == nil {
				fitted = s.dress(newLinear(m), l.Classes)
			}
		}
		out := Outcome{Err: err}
		if err == nil {
			out.Prediction, err = Predict(ctx, fitted, d.test)
			out.Err = d.Data.AtRows(err, d.Folds[d.number].Test)
			out.Report = fitted.(Reporter).Report()
		}
		out.Seconds = time.Since(start).Seconds()
		d.give(ctx, i, d.number, out)
	}
}

// solve returns the solution of a setting, nil where it is not for coordinate descent.
func (d *dualFold) solve(ctx context.Context, s dualSetting, from []solve.DualResult) ([]solve.DualResult, *design.Labels, error) {
	if err := param.Check(s.Estimator); err != nil {
		return nil, nil, err
	}
	r, err := design.OfSet(d.train)
	if err != nil {
		return nil, nil, err
	}
	l, err := s.labels(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if !s.byDual(r, l) {
		return nil, nil, nil
	}
	if d.inputs == nil {
		if d.inputs, err = newDualRows(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	results, err := s.task(l).descend(ctx, d.inputs, from)
	return results, l, err
}
