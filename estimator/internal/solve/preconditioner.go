package solve

import (
	"context"
	"errors"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Preconditioner is a positive definite approximation M of K + α·diag(ridge), for each of a list of
// α, K being a kernel matrix or another positive semidefinite one.
type Preconditioner interface {
	// Solve overwrites v, rows × columns, with M⁻¹v. Each α has the same number of columns.
	Solve(ctx context.Context, v []float64, columns int) error
}

// diagonal is M = diag(1 + α·ridge); K has unit diagonal.
type diagonal struct{ ridge, alphas []float64 }

// Diagonal returns the diagonal preconditioner.
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

// LowRankFactor is F, rows × rank, with FFᵀ ≈ K, and the terms that all α share.
type LowRankFactor struct {
	factor64 kern.View[float64] // F, in one of the precisions
	factor32 kern.View[float32]
	gram     kern.View[float64] // lower triangle of Fᵀ·diag(ridge)⁻¹·F
	ridge    []float64
}

// MinFloat32Penalty is the smallest penalty, per row, for a float32 factor. Rounding is amplified
// by the largest eigenvalue of K, at most the number of rows, over the penalty.
const MinFloat32Penalty = 1e-6

// Float32FactorSuffices reports whether a float32 factor suffices for all α ≥ least.
func Float32FactorSuffices(ridge []float64, minAlpha float64) bool {
	return minAlpha*slices.Min(ridge) >= MinFloat32Penalty*float64(len(ridge))
}

// NewLowRankFactor prepares F, which it retains: rows·rank² flops.
func NewLowRankFactor[T kern.Float](ctx context.Context, factor kern.View[T], ridge []float64) (*LowRankFactor, error) {
	rank := factor.Cols
	p := &LowRankFactor{ridge: ridge, gram: kern.Dense(rank, rank, rank, make([]float64, rank*rank))}
	inverse := make([]T, len(ridge))
	for i, r := range ridge {
		inverse[i] = T(1 / r)
	}
	switch f := any(factor).(type) {
	case kern.View[float32]:
		p.factor32 = f
		return p, kern.GramMixed(ctx, p.gram, f, any(inverse).([]float32))
	case kern.View[float64]:
		p.factor64 = f
		return p, kern.Gram(ctx, p.gram, f, any(inverse).([]float64))
	}
	panic("solve: unknown precision")
}

// Rank returns the number of columns of F.
func (p *LowRankFactor) Rank() int { return p.gram.Rows }

// lowRank is M = FFᵀ + α·diag(ridge), solved by Woodbury's identity
//
//	M⁻¹ = D⁻¹ − D⁻¹F(I + F'D⁻¹F)⁻¹F'D⁻¹,  D = α·diag(ridge).
type lowRank struct {
	*LowRankFactor
	alphas []float64
	inner  []kern.View[float64] // Cholesky factors of I + FᵀD⁻¹F, by α
}

// ErrRounding reports a system that is singular up to rounding.
var ErrRounding = errors.New("the penalty is below the rounding error of the matrix; increase alpha")

// LowRank returns the preconditioner M = FFᵀ + α·diag(ridge): rank³/3 flops per α, and 4·rows·rank
// per solution.
func LowRank(ctx context.Context, p *LowRankFactor, alphas []float64) (Preconditioner, error) {
	m := &lowRank{LowRankFactor: p, alphas: alphas}
	rank := p.Rank()
	for _, alpha := range alphas {
		inner := kern.Dense(rank, rank, rank, make([]float64, rank*rank))
		for i := range rank {
			kern.Axpy(1/alpha, p.gram.Row(i)[:i+1], inner.Row(i)[:i+1])
			inner.Set(i, i, inner.At(i, i)+1)
		}
		_, ok, err := kern.Cholesky(ctx, inner)
		if err == nil && !ok {
			err = ErrRounding
		}
		if err != nil {
			return nil, err
		}
		m.inner = append(m.inner, inner)
	}
	return m, nil
}

func (m *lowRank) Solve(ctx context.Context, v []float64, columns int) error {
	n, rank := len(m.ridge), m.Rank()
	each := columns / len(m.alphas)
	m.divideRidge(v, columns)
	in := kern.Dense(rank, columns, columns, make([]float64, rank*columns))
	if m.factor32.Rows > 0 {
		m.applyTranspose(ctx, in.Data, v, columns)
	} else {
		kern.MulThin(in, m.factor64, kern.Dense(n, columns, columns, v), true)
	}
	for g, inner := range m.inner {
		if err := kern.SolveCholesky(ctx, inner, in.Slice(0, rank, g*each, (g+1)*each)); err != nil {
			return err
		}
	}
	out := kern.Dense(n, columns, columns, make([]float64, n*columns))
	if m.factor32.Rows > 0 {
		m.apply(ctx, out.Data, in.Data, columns)
	} else {
		kern.MulThin(out, m.factor64, in, false)
	}
	m.divideRidge(out.Data, columns)
	kern.Axpy(-1, out.Data, v)
	return ctxerr.Check(ctx)
}

// stripeRows is the number of rows summed in float32.
const stripeRows = 256

// eachStripe calls f for stripes of rows of F, in parallel.
func (m *lowRank) eachStripe(ctx context.Context, f func(k, lo, hi int)) {
	n := m.factor32.Rows
	kern.Parallel((n+stripeRows-1)/stripeRows, 1, func(from, to int) {
		for k := from; k < to && ctx.Err() == nil; k++ {
			f(k, k*stripeRows, min((k+1)*stripeRows, n))
		}
	})
}

// applyTranspose computes Fᵀv.
func (m *lowRank) applyTranspose(ctx context.Context, dst, v []float64, columns int) {
	n, rank := m.factor32.Rows, m.factor32.Cols
	size := rank * columns
	parts := make([]float32, (n+stripeRows-1)/stripeRows*size)
	m.eachStripe(ctx, func(k, lo, hi int) {
		right := make([]float32, (hi-lo)*columns)
		kern.Transpose(right, v[lo*columns:hi*columns], columns)
		part := kern.Dense(columns, rank, rank, parts[k*size:])
		kern.MulThin(part.T(), m.factor32.Slice(lo, hi, 0, rank), kern.Dense(columns, hi-lo, hi-lo, right).T(), true)
	})
	sums := make([]float64, size)
	for k := 0; k < len(parts); k += size {
		for i, x := range parts[k : k+size] {
			sums[i] += float64(x)
		}
	}
	kern.Transpose(dst, sums, rank)
}

// apply computes F·v.
func (m *lowRank) apply(ctx context.Context, dst, v []float64, columns int) {
	rank := m.factor32.Cols
	right := kern.Dense(columns, rank, rank, make([]float32, rank*columns))
	kern.Transpose(right.Data, v, columns)
	m.eachStripe(ctx, func(_, lo, hi int) {
		part := kern.Dense(columns, hi-lo, hi-lo, make([]float32, (hi-lo)*columns))
		kern.MulThin(part.T(), m.factor32.Slice(lo, hi, 0, rank), right.T(), false)
		for j := range columns {
			for i, x := range part.Row(j) {
				dst[(lo+i)*columns+j] = float64(x)
			}
		}
	})
}

// divideRidge divides the rows of v by α·ridge.
func (m *lowRank) divideRidge(v []float64, columns int) {
	each := columns / len(m.alphas)
	for i, r := range m.ridge {
		for g, alpha := range m.alphas {
			at := i*columns + g*each
			kern.Scale(1/(alpha*r), v[at:at+each])
		}
	}
}
