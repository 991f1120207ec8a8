package leastsquares

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
)

// dualSolution solves by a Cholesky factor of the kernel. It refactors and refines as needed, like
// solution in the primal.
func (p *Problem) dualSolution(ctx context.Context, d *centeredRows) (w []float64, report solve.Report, err error) {
	n, t := d.n, d.targets
	report = solve.Report{Solver: "dual", Converged: true}
	kernel, err := d.kernel(ctx)
	if err != nil {
		return nil, report, err
	}
	f := &Factor{cols: n, Lower: slices.Clone(kernel)}
	addDiagonal(f.Lower, n, p.Alpha)
	a, ok := slices.Clone(d.y), cholesky(ctx, f.Lower, n)
	if ok {
		var size float64
		f.Solve(ctx, a, t)
		if size, f.contraction = d.roundingBound(a, kernel, f); size <= visibleTol {
			return d.primalWeights(a), report, nil
		}
	}
	if !ok && p.Alpha == 0 {
		return p.dualSingular(ctx, d, kernel)
	}
	if !ok || f.contraction >= maxContraction {
		if f, err = d.refactor(ctx, kernel, p.Alpha, p.Intercept); err != nil {
			return nil, report, err
		}
		if f == nil {
			return p.dualSingular(ctx, d, kernel)
		}
		a = slices.Clone(d.y)
		f.Solve(ctx, a, t)
	}
	w = d.primalWeights(a)
	remaining := d.refine(ctx, f, a, w, p.Alpha, math.Sqrt(trace(kernel, n)))
	floor := 0.0
	if n <= d.cols { // otherwise the rows determine the weights
		floor = epsilon * trace(kernel, n) * relativeNorm(a, d.sumSquares())
	}
	warnRounding(&report, p.Alpha, remaining, floor, visibleTol)
	return w, report, nil
}

// dualSingular solves with a singular kernel.
func (p *Problem) dualSingular(ctx context.Context, d *centeredRows, kernel []float64) (w []float64,
	report solve.Report, err error) {
	addDiagonal(kernel, d.n, p.Alpha)
	a := slices.Clone(d.y)
	rank, err := minNormSolve(ctx, kernel, d.n, a, d.targets)
	if err != nil {
		return nil, report, err
	}
	if p.Intercept {
		rank = min(rank, d.n-1)
	}
	report = solve.Report{Solver: "eigenvectors", Converged: true, Warnings: []string{singularWarning(p.Alpha, rank, d.n)}}
	return d.primalWeights(a), report, nil
}

// roundingBound bounds the relative prediction error of the solution a of a kernel system, for
// training and new rows, and the contraction factor of refinement.
func (d *centeredRows) roundingBound(a, kernel []float64, f *Factor) (size, contraction float64) {
	trace := trace(kernel, d.n)
	size, contraction = precisionOf(false).roundingBound(a, d.sumSquares(), trace, minPivot(f.Lower, d.n))
	return size * math.Sqrt(trace), contraction
}

// sumSquares returns Σ ỹ² of each target.
func (d *centeredRows) sumSquares() []float64 {
	out := make([]float64, d.targets)
	for at, v := range d.y {
		out[at%d.targets] += v * v
	}
	return out
}

// refactor returns the factor of kernel + alpha·I by shifted Cholesky QR, nil if singular.
func (d *centeredRows) refactor(ctx context.Context, kernel []float64, alpha float64, centered bool) (*Factor, error) {
	kernel = slices.Clone(kernel)
	tau := d.liftNullspace(kernel, centered)
	return shiftedCholeskyQR(ctx, kernel, d.n, alpha, d.columnTiles(ctx, tau))
}

// refine updates w = X̃ᵀa by steps X̃ᵀ(K + alpha·I)⁻¹(ỹ − X̃w − alpha·a). norm bounds the norm of
// an input row. It returns a bound of the remaining relative prediction error.
func (d *centeredRows) refine(ctx context.Context, f *Factor, a, w []float64, alpha, norm float64) (remaining float64) {
	spreads := d.sumSquares()
	for range MaxRefinements {
		right := d.residuals(w)
		kern.Axpy(-alpha, a, right)
		step := slices.Clone(right)
		f.Solve(ctx, step, d.targets)
		kern.Axpy(1, step, a)
		kern.Axpy(1, d.primalWeights(step), w)
		if remaining = f.contraction * predictionChange(right, step, spreads) * norm; negligible(remaining, visibleTol) {
			return remaining
		}
	}
	return remaining
}

// dual solves by K = S^½(X−x̄)(X−x̄)ᵀS^½: w = (X−x̄)ᵀS^½(K + alpha·I)⁻¹S^½(y−ȳ).
func (p *Problem) dual(ctx context.Context) (solve.Linear, error) {
	d, err := p.readCentered(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	w, report, err := p.dualSolution(ctx, d)
	if err != nil {
		return solve.Linear{}, err
	}
	if p.rows.Float32 {
		warnFeatureRounding(&report, p.Alpha, featureRounding(w, d.meanSquares(), d.sumSquares(), d.total))
	}
	residual := d.residuals(w)
	report.Objective = kern.Dot(residual, residual) + p.Alpha*kern.Dot(w, w)
	return solve.NewLinear(w, intercepts(w, d.mean, d.targetMean), report)
}
