package newton

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/solve"
)

// rowProblem is a problem on rows.
type rowProblem interface {
	solve.Problem
	// setRows has values and gradients of some rows from now on, and products with the Hessian of others.
	setRows(evaluations, products *design.Rows)
}

const minFloat32Tol = 0.99e-4 // of the gradient, which sums in single precision reach

// minimizeMixed runs Newton from x, and where the rows can be had in single precision, first on those: it leads near the
// minimum. From there the rows themselves are read once or a few times. All products with the Hessian are made with the
// rounded rows, for directions need not be right. Rows that single precision cannot hold are left alone.
func minimizeMixed(ctx context.Context, p rowProblem, rows *design.Rows, x []float64, columns int, tol float64, maxIter int) (solve.NewtonResult, error) {
	const steps = 50 // enough to be near, and few where they do not lead there
	if rows.Float32Rows == nil || rows.Float32Rows.Sparse {
		return solve.Newton(p, x, columns, nil, tol, maxIter)
	}
	start := append([]float64(nil), x...)
	p.setRows(rows.Float32Rows, rows.Float32Rows)
	approximate, err := solve.Newton(p, x, columns, nil, max(0.99*tol, minFloat32Tol), min(maxIter, steps))
	switch {
	case ctx.Err() != nil:
		return approximate, ctxerr.Check(ctx)
	case err != nil:
		copy(x, start)
		p.setRows(rows, rows)
		p.Advance(math.MaxInt) // the preconditioner is of no use
		return solve.Newton(p, x, columns, nil, tol, maxIter)
	}
	p.setRows(rows, rows.Float32Rows)
	p.Advance(0) // it serves on
	result, err := solve.Newton(p, x, columns, approximate.Reference, tol, maxIter-approximate.Iterations)
	result.Iterations += approximate.Iterations
	return result, err
}
