package kernelridge

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// SolveAll solves for the penalties of specs that differ only in alpha. A failed spec has a nil
// model and an error. Right-hand sides are solved jointly in batches, so that kernel values are
// read once:
//   - cholesky: a float32 factor per penalty as preconditioner, and float64 products with the full
//     matrix. Penalties too small for float32 use a float64 factor.
//   - cg: one low-rank factor.
//
// A solution does not depend on the other penalties, except the smallest, which determines the
// rank.
func (t *Training) SolveAll(ctx context.Context, specs []Spec) (models []*Model, errs []error, err error) {
	for step := t.batchSize(specs); len(specs) > 0 && err == nil; {
		batch := specs[:min(step, len(specs))]
		specs = specs[len(batch):]
		var m []*Model
		var f []error
		if m, f, err = t.solveBatch(ctx, batch); err == nil {
			models, errs = append(models, m...), append(errs, f...)
		}
	}
	return models, errs, err
}

const (
	maxBatchColumns     = 64      // right-hand sides per batch
	maxBatchFactorBytes = 1 << 28 // bytes of float32 factors per batch, for more than two
	maxFactorSteps      = 40      // steps before a float32 factor is abandoned
)

// batchSize returns the number of penalties per batch.
func (t *Training) batchSize(specs []Spec) int {
	n := len(t.rowIndex)
	step := max(1, maxBatchColumns/t.targets)
	if len(specs) > 0 && specs[0].SolverFor(n) == "cholesky" {
		step = min(step, max(2, maxBatchFactorBytes/(4*n*n)))
	}
	return step
}

// solveBatch solves one batch. A single penalty is padded with zero columns, because a single
// column would be summed in a different order.
func (t *Training) solveBatch(ctx context.Context, specs []Spec) ([]*Model, []error, error) {
	b := &penaltyBatch{Training: t, ctx: ctx, spec: specs[0], way: specs[0].SolverFor(len(t.rowIndex))}
	for _, s := range specs {
		b.alphas = append(b.alphas, s.Alpha)
	}
	if len(specs) == 1 {
		b.alphas = append(b.alphas, specs[0].Alpha)
	}
	result, err := b.solve(len(specs))
	if ctx.Err() != nil {
		return nil, nil, ctxerr.Check(ctx)
	}
	models, errs := make([]*Model, len(specs)), make([]error, len(specs))
	for g, s := range specs {
		part := result.group(g, t.targets)
		switch {
		case err != nil:
			errs[g] = err
		case !(part.Residual <= s.Tol) && (b.way == "cholesky" || s.Solver == "auto" && t.factorFitsMemory() &&
			!ctxerr.SoftDeadlinePassed(ctx)):
			models[g], errs[g] = t.Solve(ctx, s)
		default:
			models[g], errs[g] = t.newModel(s, b.way, b.column(g), part)
		}
		if ctx.Err() != nil {
			return nil, nil, ctxerr.Check(ctx)
		}
	}
	return models, errs, nil
}

// group returns the result of the columns of one penalty.
func (r Result) group(group, columns int) (part Result) {
	if r.Columns == nil {
		return Result{Residual: math.Inf(1)}
	}
	part.Columns = r.Columns[group*columns : (group+1)*columns]
	part.Intercept = append(part.Intercept, r.Intercept[group*columns:(group+1)*columns]...)
	for _, c := range part.Columns {
		part.Iterations = max(part.Iterations, c.Iterations)
		if c.Residual > part.Residual || c.Residual != c.Residual {
			part.Residual = c.Residual
		}
	}
	return part
}

// penaltyBatch holds the right-hand sides of several penalties.
type penaltyBatch struct {
	*Training
	ctx    context.Context
	spec   Spec
	way    string
	alphas []float64
	x      []float64 // rows × penalties·targets
}

// solve solves for the first penalties; the others have zero right-hand sides.
func (b *penaltyBatch) solve(first int) (Result, error) {
	columns := len(b.alphas) * b.targets
	b.x = make([]float64, len(b.rowIndex)*columns)
	y := make([]float64, len(b.x))
	for i := range b.rowIndex {
		for g := range first {
			copy(y[i*columns+g*b.targets:], b.y[i*b.targets:(i+1)*b.targets])
		}
	}
	if b.way == "cg" {
		p, err := b.preconditioner(b.ctx, b.spec, b.alphas)
		if err != nil {
			return Result{}, err
		}
		return b.cgSystem(b.ctx, b.spec).WithAlphas(b.alphas).Solve(b.ctx, p, b.x, y, columns, b.spec.Tol, b.spec.MaxIter)
	}
	whole, err := b.fullMatrix(b.ctx)
	if err != nil {
		return Result{}, err
	}
	p, err := newFactorsFloat32(b.ctx, whole, b.inverse, b.alphas[:first])
	if err != nil {
		return Result{}, err
	}
	for g, f := range p {
		if f.Rows > 0 {
			continue
		}
		for at := g * b.targets; at < len(y); at += columns { // solved later by a float64 factor
			clear(y[at : at+b.targets])
		}
	}
	s := &System{rows: len(b.rowIndex), ridge: b.inverse, alphas: b.alphas, centered: b.spec.Intercept,
		product64: &product[float64]{rows: len(b.rowIndex), full: whole}}
	result, err := s.Solve(b.ctx, p, b.x, y, columns, b.spec.Tol, maxFactorSteps)
	for g, f := range p {
		if f.Rows == 0 && err == nil {
			result.Columns[g*b.targets].Residual = math.Inf(1)
		}
	}
	return result, err
}

// column returns the dual weights of one penalty.
func (b *penaltyBatch) column(g int) []float64 {
	t := b.targets
	out := make([]float64, 0, len(b.rowIndex)*t)
	for at := g * t; at < len(b.x); at += len(b.alphas) * t {
		out = append(out, b.x[at:at+t]...)
	}
	return out
}

// factorsFloat32 are float32 Cholesky factors of K + α·diag(ridge), one per α. A factor without
// rows stands for the identity.
type factorsFloat32 []kern.View[float32]

// newFactorsFloat32 factorizes a full kernel matrix (rows³/3 flops per α). If rounding makes it
// indefinite, the factor is empty.
func newFactorsFloat32(ctx context.Context, whole kern.View[float64], ridge, alphas []float64) (factorsFloat32, error) {
	n := whole.Rows
	var out factorsFloat32
	for _, alpha := range alphas {
		f := kern.Dense(n, n, n, make([]float32, n*n))
		kern.Parallel(n, 64, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				row := f.Row(i)
				for j, v := range whole.Row(i)[:i+1] {
					row[j] = float32(v)
				}
				row[i] = float32(whole.At(i, i) + alpha*ridge[i])
			}
		})
		_, ok, err := kern.Cholesky(ctx, f)
		if err != nil {
			return nil, err
		}
		if !ok {
			f = kern.View[float32]{}
		}
		out = append(out, f)
	}
	return out, nil
}

// Solve overwrites v with (K + α·diag(ridge))⁻¹v in float32.
func (f factorsFloat32) Solve(ctx context.Context, v []float64, columns int) error {
	groups := max(2, len(f)) // a single factor is padded to two groups
	each := columns / groups
	kern.Parallel(len(f), 1, func(lo, hi int) {
		for g := lo; g < hi; g++ {
			if n := f[g].Rows; n > 0 && ctx.Err() == nil {
				solve.CholeskyFloat32(ctx, f[g], kern.View[float64]{Rows: n, Cols: each, RowStride: columns, ColStride: 1, Data: v[g*each:]})
			}
		}
	})
	return ctxerr.Check(ctx)
}
