package kernelridge

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Preconditioner is a positive definite M that is near to K + diag(ridge).
type Preconditioner interface {
	// Solve overwrites v, rows × columns, with M⁻¹v.
	Solve(ctx context.Context, v []float64, columns int) error
}

// diagonal is M = diag(1 + ridge), 1 being the diagonal of K.
type diagonal []float64

// Diagonal is the preconditioner that only knows the diagonal.
func Diagonal(ridge []float64) Preconditioner { return diagonal(ridge) }

func (d diagonal) Solve(_ context.Context, v []float64, columns int) error {
	for i, r := range d {
		kern.Scale(1/(1+r), v[i*columns:(i+1)*columns])
	}
	return nil
}

// lowRank is M = FF' + diag(ridge), solved by Woodbury's identity
//
//	M⁻¹ = D⁻¹ − D⁻¹F(I + F'D⁻¹F)⁻¹F'D⁻¹,  D = diag(ridge).
type lowRank struct {
	factor kern.View[float64] // F
	ridge  []float64
	inner  kern.View[float64] // the Cholesky factor of I + F'D⁻¹F
}

// errRounding is a system of which rounding leaves nothing.
var errRounding = errors.New("the penalty is lost beside the kernel's values in rounding; use a larger alpha")

// LowRank is the preconditioner M = FF' + diag(ridge), F rows × rank with FF' near to K. It costs
// rows·rank² flops, and 4·rows·rank for a solution.
func LowRank(ctx context.Context, factor kern.View[float64], ridge []float64) (Preconditioner, error) {
	m := &lowRank{factor: factor, ridge: ridge}
	rank := factor.Cols
	m.inner = kern.Dense(rank, rank, rank, make([]float64, rank*rank))
	inverse := make([]float64, len(ridge))
	for i, r := range ridge {
		inverse[i] = 1 / r
	}
	if err := kern.Gram(ctx, m.inner, factor, inverse); err != nil {
		return nil, err
	}
	for i := range rank {
		m.inner.Set(i, i, m.inner.At(i, i)+1)
	}
	_, ok, err := kern.Cholesky(ctx, m.inner)
	if err == nil && !ok {
		err = errRounding
	}
	return m, err
}

func (m *lowRank) Solve(ctx context.Context, v []float64, columns int) error {
	n, rank := m.factor.Rows, m.factor.Cols
	for i, r := range m.ridge {
		kern.Scale(1/r, v[i*columns:(i+1)*columns])
	}
	in := kern.Dense(rank, columns, columns, make([]float64, rank*columns))
	times(in, m.factor, kern.Dense(n, columns, columns, v), true)
	if err := kern.SolveCholesky(ctx, m.inner, in); err != nil {
		return err
	}
	out := kern.Dense(n, columns, columns, make([]float64, n*columns))
	times(out, m.factor, in, false)
	for i, r := range m.ridge {
		kern.Axpy(-1/r, out.Row(i), v[i*columns:(i+1)*columns])
	}
	return ctx.Err()
}
