package newton

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// rowProblem is a problem on rows.
type rowProblem interface {
	solve.Problem
	// setRows sets the rows for evaluations and those for Hessian products.
	setRows(evaluations, products *design.Rows)
}

const minFloat32Tol = 0.99e-4 // relative gradient attainable with float32 sums

// minimizeMixed runs Newton from x. If float32 rows are available, it first minimizes on those and
// then polishes with a few passes over the float64 rows. Hessian products always use the float32
// rows, since search directions tolerate rounding. It falls back to float64 if float32 overflows.
func minimizeMixed(ctx context.Context, p rowProblem, rows *design.Rows, x []float64, columns int, tol float64,
	maxIter int) (solve.NewtonResult, error) {
	const steps = 50 // enough to converge, few if float32 does not
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
		p.Advance(math.MaxInt) // discard the preconditioner
		return solve.Newton(p, x, columns, nil, tol, maxIter)
	}
	p.setRows(rows, rows.Float32Rows)
	p.Advance(0) // keep the preconditioner
	result, err := solve.Newton(p, x, columns, approximate.Reference, tol, maxIter-approximate.Iterations)
	result.Iterations += approximate.Iterations
	return result, err
}
