package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
)

// ridgeSums are the sums of a ridge regression in a pass.
type ridgeSums struct {
	*leastsquares.Sums
	classes []string  // whose codes are the targets; nil for a regression
	mass    []float64 // weight of each class, summed in the first pass; nil if known before
}

func (r *ridgeSums) add(ctx context.Context, first int, block datasets.Set) error {
	if r.mass != nil && r.First() {
		c := &counts{named: r.classes, mass: r.mass}
		if err := c.add(first, block); err != nil {
			return err
		}
	}
	return r.Add(ctx, first, block)
}

func (r *ridgeSums) merge(ctx context.Context, other rowSums) error {
	o := other.(*ridgeSums)
	if err := r.Merge(ctx, o.Sums); err != nil {
		return err
	}
	if r.mass != nil && r.First() {
		kern.Axpy(1, o.mass, r.mass)
	}
	return nil
}

func (r *ridgeSums) next(ctx context.Context) (rowSums, error) {
	if r.mass != nil {
		if err := design.CheckClassCount(r.classes, r.mass); err != nil {
			return nil, err
		}
	}
	next, err := r.Next(ctx)
	if err != nil || next == nil {
		return nil, err
	}
	return &ridgeSums{Sums: next, classes: r.classes, mass: r.mass}, nil
}

func (r *ridgeSums) state(s *model.State) {
	if r.mass != nil {
		pass.Floats(s, "mass", &r.mass, len(r.mass), pass.NonNegative)
	}
	r.State(s)
	want := len(r.classes)
	if want == 2 {
		want = 1
	}
	if want > 0 && s.Restoring() && s.Err() == nil {
		s.Require(r.Targets() < 0 || r.Targets() == want, "the targets are not the classes")
	}
}

// checkPasses returns the errors of spec, or an error for a solver that does not support passes of
// sums.
func (s Ridge) checkPasses(name string, spec any, schema datasets.Schema, cols int) error {
	if err := specs.CheckFit(spec); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if way := leastsquares.Ridge(s).SolverFor(-1, cols, false); way != "cholesky" {
		return fmt.Errorf("%s: %w: solver %s goes by %s for %d columns, which needs all rows at once; set solver: cholesky",
			name, datasets.ErrNoPasses, s.Solver, way, cols)
	}
	shape := datasets.Shape{Rows: 0, Cols: cols, Outputs: schema.Outputs(), Columns: schema.Columns}
	if err := checkMemory(Ridge{Alpha: s.Alpha, Intercept: s.Intercept, Solver: "cholesky"}, shape); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Start starts the pass of sums, for solver cholesky or, up to 16384 columns, auto. Further passes
// follow only if the solution has to be refined. More rows can be added to the first pass at any
// time, at the cost of their products: up to rounding, the result is the model of all rows.
func (s Ridge) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	const name = "estimator: ridge"
	if err := s.checkPasses(name, s, schema, cols); err != nil {
		return nil, err
	}
	if err := rejectClassTarget(schema, "ridge"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return newPass(ctx, name, s, schema, cols, &ridgeSums{Sums: leastsquares.NewSums(leastsquares.Ridge(s), cols,
		design.BlockTargetsAndWeights)})
}

// Finish returns the [*FittedLinear] that solves for the sums.
func (s Ridge) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	const name = "estimator: ridge"
	sums, err := finishedSums[*ridgeSums](ctx, name, s, last)
	if err != nil {
		return nil, err
	}
	model, err := sums.Solution(ctx)
	if err = contextErrorOr(ctx, err); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &FittedLinear{newLinear(model)}, nil
}
