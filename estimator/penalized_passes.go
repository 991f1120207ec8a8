package estimator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
)

// newtonSums are the sums of Newton's method in a pass.
type newtonSums struct{ *newton.IncrementalNewton }

func (n newtonSums) add(ctx context.Context, first int, block datasets.Set) error {
	return n.Add(ctx, first, block)
}

func (n newtonSums) merge(ctx context.Context, other rowSums) error {
	return n.Merge(ctx, other.(newtonSums).IncrementalNewton)
}

func (n newtonSums) next(ctx context.Context) (rowSums, error) {
	next, err := n.Next(ctx)
	if err != nil || next == nil {
		return nil, err
	}
	return newtonSums{next}, nil
}

func (n newtonSums) state(s *model.State) { n.State(s) }

// newtonSpec is a penalized spec that can be fitted in passes by Newton's method.
type newtonSpec interface {
	penalized
	// solver returns the solver, the loss and, for classes, their weights.
	solver() (solver, loss string, by ClassWeight, numbers bool)
	// task returns the objective, given one row per class of the weight of the class.
	task(l *design.Labels) newton.Task
}

func (s Logistic) solver() (solver, loss string, by ClassWeight, numbers bool) {
	return s.Solver, "squared_", s.ClassWeight, false
}

func (s SVM) solver() (solver, loss string, by ClassWeight, numbers bool) {
	return s.Solver, s.Loss, s.ClassWeight, false
}

func (s SVR) solver() (solver, loss string, by ClassWeight, numbers bool) {
	return s.Solver, s.Loss, ClassWeight{}, true
}

func (s Logistic) task(l *design.Labels) newton.Task { return s.newton(l) }
func (s SVM) task(l *design.Labels) newton.Task      { return s.newton(l) }

// task uses the objective at zero as bound: that of the best intercept alone would require storing
// the targets.
func (s SVR) task(l *design.Labels) newton.Task {
	return newton.SquaredEpsilonInsensitive(l, s.Epsilon, s.Intercept, math.NaN())
}

// startPasses starts the counting pass, after which Newton's method starts from the weights of
// from, or from 0 if it is nil.
func startPasses(ctx context.Context, s newtonSpec, from Predictor, schema datasets.Schema, cols int) (datasets.Pass,
	error) {
	name := "estimator: " + s.name()
	if err := specs.CheckFit(s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	solver, loss, _, numbers := s.solver()
	if s.plain().Path != nil {
		return nil, fmt.Errorf("%s: %w: a penalty on absolute weights needs all rows at once", name, datasets.ErrNoPasses)
	}
	if !strings.HasPrefix(loss, "squared_") || solver == "dual" {
		return nil, fmt.Errorf("%s: %w: coordinate descent needs all rows at once; a squared loss goes by solver: newton",
			name, datasets.ErrNoPasses)
	}
	err := rejectLabels(schema)
	if numbers {
		err = rejectClassTarget(schema, s.name())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	shape := datasets.Shape{Cols: cols, Outputs: schema.Outputs(), Columns: schema.Columns}
	if err := checkMemory(s, shape); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var begun *warmStart
	if from != nil {
		var err error
		if begun, err = warmStartFrom(from, cols); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	start := newCounts(schema, numbers)
	if g, ok := s.(generalized); ok {
		start.mass, start.checkTarget = []float64{0, 0}, g.glm().checkTarget
	}
	sums := &counted{counts: start, begin: func(c *counts) (rowSums, error) {
		return newtonPasses(s, cols, begun, c)
	}}
	return newPassWithMark(ctx, name, s, begun.checksum(), schema, cols, sums)
}

// newtonPasses starts Newton's method on counted rows.
func newtonPasses(s newtonSpec, cols int, from *warmStart, c *counts) (rowSums, error) {
	_, _, by, numbers := s.solver()
	factors, err := c.factors(by)
	if err != nil {
		return nil, err
	}
	p := s.plain()
	l, factor := &design.Labels{}, p.C
	if g, ok := s.(generalized); ok {
		if l, factor, err = g.glm().summary(c); err != nil {
			return nil, err
		}
	}
	if !numbers {
		l.Classes, l.Absent = c.classes(), c.absent()
		for j, m := range c.mass {
			if factors != nil {
				m *= factors[j]
			}
			l.Y, l.Weights = append(l.Y, float64(j)), append(l.Weights, m*p.C)
		}
	}
	task := s.task(l)
	plan := newton.IncrementalOptions{Cols: cols, Rows: c.rows, Sparse: c.sparse, Float32: c.single, Tol: p.Tol,
		MaxIter: p.MaxIter}
	if plan.InitialWeights, err = from.variables(c, task.Outputs, cols, p.Intercept); err != nil {
		return nil, err
	}
	codes := task.EncodedTargets()
	plan.Block = func(first int, block datasets.Set) (y, weights []float64, err error) {
		return weighedBlock(first, block, c, codes, factors, factor)
	}
	begun, err := task.Begin(context.Background(), plan)
	if err != nil {
		return nil, err
	}
	return newtonSums{begun}, nil
}

// weighedBlock returns the targets of a block, by codes where these are classes, and its weights times factor.
func weighedBlock(first int, block datasets.Set, c *counts, codes, factors []float64, factor float64) (y,
	weights []float64, err error) {
	given, err := design.BlockWeights(first, block)
	if err != nil {
		return nil, nil, err
	}
	targets, count, err := design.BlockTargets(first, block)
	if err == nil && count != 1 {
		err = fmt.Errorf("must have one target, got %d", count)
	}
	if err != nil {
		return nil, nil, err
	}
	y, weights = make([]float64, len(targets)), make([]float64, len(targets))
	for i, t := range targets {
		y[i], weights[i] = t, 1
		if given != nil {
			weights[i] = given[i]
		}
		if c.numbers {
			continue
		}
		if err := c.checkCode(t); err != nil || int(t) >= len(codes) {
			return nil, nil, block.Locate(&datasets.RowError{Row: first + i,
				Err: fmt.Errorf("target: must be a class code from 0 to %[2]d, got %[1]v", t, len(codes)-1)}, first)
		}
		y[i] = codes[int(t)]
		if factors != nil {
			weights[i] *= factors[int(t)]
		}
	}
	kern.Scale(factor, weights)
	return y, weights, nil
}

// finishPasses returns the model of the last pass.
func finishPasses(ctx context.Context, s newtonSpec, last datasets.Pass) (Predictor, error) {
	name := "estimator: " + s.name()
	all, err := finishedSums[*counted](ctx, name, s, last)
	if err != nil {
		return nil, err
	}
	m, err := all.sums.(newtonSums).Solution(ctx)
	if err = contextErrorOr(ctx, err); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s.fitted(newLinear(m), all.counts.classes()), nil
}

// warmStart is the initial model of Newton's method.
type warmStart struct{ linear }

// warmStartFrom returns the linear model in a predictor.
func warmStartFrom(p Predictor, cols int) (*warmStart, error) {
	var f linearModel
	if !As(p, &f) {
		return nil, fmt.Errorf("a %T has no weights to begin at", p)
	}
	l := f.weights()
	if d := l.coef.RawMatrix().Cols; d != cols {
		return nil, fmt.Errorf("warm start: the model has %d columns, the rows have %d columns", d, cols)
	}
	return &warmStart{linear: *l}, nil
}

func (l *linear) weights() *linear { return l }

// checksum returns a checksum of the weights, "" for none: passes with different initial weights cannot
// be merged.
func (b *warmStart) checksum() string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%x %x", b.coef.RawMatrix().Data, b.intercept)))
}

// variables returns the weights, cols × outputs, and intercepts; nil for zeros.
func (b *warmStart) variables(c *counts, outputs, cols int, intercept bool) ([]float64, error) {
	if b == nil {
		return nil, nil
	}
	var rows []int // of the coefficients, for each output
	for j := range max(len(c.mass), 1) {
		if outputs == len(b.intercept) || c.mass[j] > 0 {
			rows = append(rows, j)
		}
	}
	if outputs < len(rows) {
		rows = rows[:outputs]
	}
	if len(rows) != outputs || rows[outputs-1] >= len(b.intercept) {
		return nil, fmt.Errorf("warm start: must have %[2]d outputs, got %[1]d", len(b.intercept), outputs)
	}
	x := make([]float64, 0, (cols+1)*outputs)
	for i := range cols {
		for _, j := range rows {
			x = append(x, b.coef.At(j, i))
		}
	}
	if intercept {
		for _, j := range rows {
			v := b.intercept[j]
			if v == design.AbsentIntercept { // a class that from does not have
				v = 0
			}
			x = append(x, v)
		}
	}
	return x, nil
}

// Start starts a pass that counts rows and classes. Each further pass is an evaluation of the
// objective or a Hessian product of Newton's method; there are ten to twenty. Solver dual does not
// support passes; auto means newton here. Equal blocks give the bits of a fit by newton.
func (s Logistic) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, nil, schema, cols)
}

// StartFrom is Start with a warm start from a fitted model, which saves passes if rows have been
// added since its fit. The solution is the same, to Tol.
func (s Logistic) StartFrom(ctx context.Context, from Predictor, schema datasets.Schema, cols int) (datasets.Pass,
	error) {
	return startPasses(ctx, s, from, schema, cols)
}

// Finish returns the *fittedLogistic of the last pass.
func (s Logistic) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	return finishPasses(ctx, s, last)
}

// Start starts the passes of Newton's method, as [Logistic.Start] does, for the squared hinge.
func (s SVM) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, nil, schema, cols)
}

// StartFrom is Start with a warm start from a fitted model, as [Logistic.StartFrom] is.
func (s SVM) StartFrom(ctx context.Context, from Predictor, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, from, schema, cols)
}

// Finish returns the [*FittedLinearClassifier] of the last pass.
func (s SVM) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	return finishPasses(ctx, s, last)
}

// Start starts the passes of Newton's method, as [Logistic.Start] does, for the squared loss.
func (s SVR) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, nil, schema, cols)
}

// StartFrom is Start with a warm start from a fitted model, as [Logistic.StartFrom] is.
func (s SVR) StartFrom(ctx context.Context, from Predictor, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, from, schema, cols)
}

// Finish returns the [*FittedLinear] of the last pass.
func (s SVR) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	return finishPasses(ctx, s, last)
}
