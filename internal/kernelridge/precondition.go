package kernelridge

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Preconditioner is a positive definite M that is near to K + α·diag(ridge), for each of a list of α.
type Preconditioner interface {
	// Solve overwrites v, rows × columns, with M⁻¹v. There are as many columns for each α as for the next.
	Solve(ctx context.Context, v []float64, columns int) error
}

// diagonal is M = diag(1 + α·ridge), 1 being the diagonal of K.
type diagonal struct{ ridge, alphas []float64 }

// Diagonal is the preconditioner that only knows the diagonal.
func Diagonal(ridge, alphas []float64) Preconditioner { return diagonal{ridge, alphas} }

func (d diagonal) Solve(_ context.Context, v []float64, columns int) error {
	each := columns / len(d.alphas)
	for i, r := range d.ridge {
		for g, alpha := range d.alphas {
			at := i*columns + g*each
			kern.Scale(1/(1+alpha*r), v[at:at+each])
		}
	}
	return nil
}

// lowRank is M = FF' + α·diag(ridge), solved by Woodbury's identity
//
//	M⁻¹ = D⁻¹ − D⁻¹F(I + F'D⁻¹F)⁻¹F'D⁻¹,  D = α·diag(ridge).
type lowRank struct {
	factor kern.View[float64] // F
	ridge  []float64
	alphas []float64
	inner  []kern.View[float64] // the Cholesky factors of I + F'D⁻¹F, by α
}

// errRounding is a system of which rounding leaves nothing.
var errRounding = errors.New("the penalty is lost beside the kernel's values in rounding; use a larger alpha")

// GramOf returns F'·diag(ridge)⁻¹·F, its lower triangle, which serves every α: rows·rank² flops.
func GramOf(ctx context.Context, factor kern.View[float64], ridge []float64) (kern.View[float64], error) {
	inverse := make([]float64, len(ridge))
	for i, r := range ridge {
		inverse[i] = 1 / r
	}
	rank := factor.Cols
	gram := kern.Dense(rank, rank, rank, make([]float64, rank*rank))
	return gram, kern.Gram(ctx, gram, factor, inverse)
}

// LowRank is the preconditioner M = FF' + α·diag(ridge), F rows × rank with FF' near to K, given [GramOf] F. It costs
// rank³/3 flops for each α, and 4·rows·rank for a solution.
func LowRank(ctx context.Context, factor, gram kern.View[float64], ridge, alphas []float64) (Preconditioner, error) {
	m := &lowRank{factor: factor, ridge: ridge, alphas: alphas}
	rank := factor.Cols
	for _, alpha := range alphas {
		inner := kern.Dense(rank, rank, rank, make([]float64, rank*rank))
		for i := range rank {
			kern.Axpy(1/alpha, gram.Row(i)[:i+1], inner.Row(i)[:i+1])
			inner.Set(i, i, inner.At(i, i)+1)
		}
		_, ok, err := kern.Cholesky(ctx, inner)
		if err == nil && !ok {
			err = errRounding
		}
		if err != nil {
			return nil, err
		}
		m.inner = append(m.inner, inner)
	}
	return m, nil
}

func (m *lowRank) Solve(ctx context.Context, v []float64, columns int) error {
	n, rank := m.factor.Rows, m.factor.Cols
	each := columns / len(m.alphas)
	m.divide(v, columns)
	in := kern.Dense(rank, columns, columns, make([]float64, rank*columns))
	times(in, m.factor, kern.Dense(n, columns, columns, v), true)
	for g, inner := range m.inner {
		if err := kern.SolveCholesky(ctx, inner, in.Slice(0, rank, g*each, (g+1)*each)); err != nil {
			return err
		}
	}
	out := kern.Dense(n, columns, columns, make([]float64, n*columns))
	times(out, m.factor, in, false)
	m.divide(out.Data, columns)
	kern.Axpy(-1, out.Data, v)
	return ctx.Err()
}

// divide divides the rows of v by α·ridge.
func (m *lowRank) divide(v []float64, columns int) {
	each := columns / len(m.alphas)
	for i, r := range m.ridge {
		for g, alpha := range m.alphas {
			at := i*columns + g*each
			kern.Scale(1/(alpha*r), v[at:at+each])
		}
	}
}
