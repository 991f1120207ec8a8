package agop

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// exact is ridge regression with the kernel itself, by Cholesky factors.
type exact struct {
	kernel Kernel
	held   int
	rounds int
	y      kern.View[float32] // n×t, centred
	alpha  float64

	u     points    // of all rows
	model expansion // of the last score
}

// scored is how many rows, at most, the machine is fitted to whose errors are compared.
const scored = 3000

// mostSlopes is how many rows, at most, gradients are averaged over.
const mostSlopes = 8000

func (e *exact) score(ctx context.Context, u points) (least, alpha float64, err error) {
	e.u = u
	n := u.rows.Rows
	rows := min(scored, n-e.held)
	lower := kern.Dense(rows, rows, rows, make([]float32, rows*rows))
	centres := u.slice(e.held, e.held+rows)
	if err := e.kernel.matrix(ctx, lower, centres); err != nil {
		return 0, 0, err
	}
	across := kern.Dense(e.held, rows, rows, make([]float32, e.held*rows))
	e.kernel.values(across, u.slice(0, e.held), centres)
	factor := kern.Dense(rows, rows, rows, make([]float32, rows*rows))
	t := e.y.Cols
	predicted := kern.Dense(e.held, t, t, make([]float32, e.held*t))
	least = math.Inf(1)
	_, e.alpha, err = walk(e.alpha, func(alpha float64) (float64, error) {
		copy(factor.Data, lower.Data)
		weights, ok, err := e.solve(ctx, factor, alpha)
		if err != nil || !ok {
			return math.Inf(1), err
		}
		kern.Mul(predicted, across, weights, false)
		l := loss(predicted, e.y.Slice(0, e.held, 0, t))
		if l < least {
			least, e.model = l, expansion{e.kernel, centres, weights}
		}
		return l, nil
	})
	return least, e.alpha, err
}

// solve returns the weights of the first training rows, as many as the kernel matrix has, whose memory it
// takes; ok is false where rounding makes it singular.
func (e *exact) solve(ctx context.Context, lower kern.View[float32], alpha float64) (weights kern.View[float32], ok bool, err error) {
	n, t := lower.Rows, e.y.Cols
	for i := range n {
		lower.Set(i, i, float32(1+alpha))
	}
	if _, ok, err = kern.Cholesky(ctx, lower); err != nil || !ok {
		return weights, false, err
	}
	weights = kern.Dense(n, t, t, make([]float32, n*t))
	copy(weights.Data, e.y.Data[e.held*t:])
	return weights, true, kern.SolveCholesky(ctx, lower, weights)
}

func (e *exact) gradients(ctx context.Context, p *products, round int) error {
	n := e.u.rows.Rows
	rows := max(scored, (n-e.held)>>max(0, e.rounds-1-round))
	if rows = min(rows, n-e.held); rows > e.model.weights.Rows {
		if err := e.fit(ctx, rows); err != nil {
			return err
		}
	}
	return e.model.add(ctx, p, e.model.centres.slice(0, min(rows, mostSlopes)))
}

// fit fits the machine to the first training rows, with a larger penalty where rounding asks for it.
func (e *exact) fit(ctx context.Context, rows int) error {
	centres := e.u.slice(e.held, e.held+rows)
	lower := kern.Dense(rows, rows, rows, make([]float32, rows*rows))
	for alpha := e.alpha; ; alpha *= alphaStep {
		if err := e.kernel.matrix(ctx, lower, centres); err != nil {
			return err
		}
		weights, ok, err := e.solve(ctx, lower, alpha)
		if err != nil {
			return err
		}
		if ok {
			e.model = expansion{e.kernel, centres, weights}
			return nil
		}
	}
}
