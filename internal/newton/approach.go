package newton

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// reader is a problem on rows.
type reader interface {
	solve.Problem
	// read has values and gradients of some rows from now on, and products with the Hessian of others.
	read(evaluations, products *design.Rows)
	// share returns what the rows of some numbers add to the gradient at x, where r is just these.
	share(r *design.Rows, list []int, x []float64) ([]float64, error)
}

const near = 0.99e-4 // of the gradient, which sums in single precision reach

// minimise runs Newton from x, and where the rows can be had in single precision, first on those: it leads near the
// minimum. Where a sample shows that what rounding does to the gradient is nothing beside the tolerance, that is all. From
// elsewhere the rows themselves are read once or a few times. All products with the Hessian are made with the
// rounded rows, for directions need not be right. Rows that single precision cannot hold are left alone.
func minimise(ctx context.Context, p reader, rows *design.Rows, x []float64, columns int, reference []float64, tol float64, maxIter int) (solve.NewtonResult, error) {
	const steps = 50 // enough to be near, and few where they do not lead there
	if rows.Rounded == nil || rows.Rounded.Sparse {
		return solve.Newton(p, x, columns, reference, tol, maxIter)
	}
	start := append([]float64(nil), x...)
	p.read(rows.Rounded, rows.Rounded)
	roughly, err := solve.Newton(p, x, columns, reference, max(0.99*tol, near), min(maxIter, steps))
	settled := false
	if err == nil && roughly.Converged && 0.99*tol >= near && rows.Sample != nil && rows.N > 0 {
		settled, err = agree(ctx, p, rows, x, roughly, tol)
	}
	switch {
	case ctx.Err() != nil:
		return roughly, cause.Err(ctx)
	case err != nil:
		copy(x, start)
		p.read(rows, rows)
		p.Advance(math.MaxInt) // the preconditioner is of no use
		return solve.Newton(p, x, columns, reference, tol, maxIter)
	case settled:
		return roughly, nil
	}
	p.read(rows, rows.Rounded)
	p.Advance(0) // it serves on
	result, err := solve.Newton(p, x, columns, roughly.Reference, tol, maxIter-roughly.Iterations)
	result.Iterations += roughly.Iterations
	return result, err
}

// agree reports whether the gradients of the rows and of the rounded ones, at x where a run on the latter has ended, differ by so
// little that the run has converged on both: what a sample says of the difference, several times over, leaves the gradient there
// within the tolerance, and M⁻¹ times the difference would change the values by next to nothing beside it. Most of the difference is
// the rounding of weights, the same for all rows.
func agree(ctx context.Context, p reader, rows *design.Rows, x []float64, run solve.NewtonResult, tol float64) (bool, error) {
	const every, times, ofValue = 32, 4, 2e-5
	list := spread(rows.N, every)
	part, err := rows.Sample(ctx, list)
	if err != nil {
		return false, err
	}
	apart, err := p.share(part, list, x)
	if err != nil {
		return false, err
	}
	rounded, err := p.share(part.Rounded, list, x)
	if err != nil {
		return false, err
	}
	kern.Axpy(-1, rounded, apart)
	kern.Scale(float64(rows.N)/float64(len(list)), apart)
	step := make([]float64, len(x))
	if err := p.Precondition(step, apart); err != nil {
		return false, err
	}
	columns := len(run.Values)
	norms, values := make([]float64, columns), make([]float64, columns)
	for i, v := range apart {
		norms[i%columns] += v * v
		values[i%columns] += v * step[i] / 2
	}
	for j := range columns {
		if !(run.Gradient*run.Reference[j]+times*math.Sqrt(norms[j]) <= tol*run.Reference[j]) || !(values[j] <= ofValue*tol*run.Values[j]) {
			return false, nil
		}
	}
	return true, nil
}

// spread returns one of every so many rows of n, at places that do not repeat themselves.
func spread(n, every int) []int {
	var list []int
	for lo := 0; lo < n; lo += every {
		_, at := math.Modf(golden * float64(lo))
		list = append(list, min(n-1, lo+int(at*float64(every))))
	}
	return list
}
