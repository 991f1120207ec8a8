package kernelridge

import (
	"context"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// FullMatrix returns the kernel matrix, rows × rows. Only the lower triangle and the tiles on the
// diagonal are filled.
func FullMatrix(ctx context.Context, k Kernel) (kern.View[float64], error) {
	n := k.Rows()
	out := kern.Dense(n, n, n, make([]float64, n*n))
	blocks := blocksOf(n)
	for i := range blocks {
		lo, hi := i*tileRows, min((i+1)*tileRows, n)
		kern.Parallel(i+1, 1, func(from, to int) {
			for j := from; j < to && ctx.Err() == nil; j++ {
				k.Tile(out.Slice(lo, hi, j*tileRows, min((j+1)*tileRows, n)), lo, j*tileRows)
			}
		})
		if err := ctxerr.Check(ctx); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Factor is the Cholesky factor of K + diag(ridge), an exact preconditioner up to rounding.
type Factor struct {
	lower       kern.View[float64] // K is retained above the diagonal
	diagonal    []float64          // of K
	regularized bool               // whether more than ridge was added to the diagonal
}

// epsilon is the spacing of float64 at 1.
const epsilon = 0x1p-52

// NewFactor factorizes a kernel matrix with ridge added to its diagonal, in place (rows³/3 flops).
// If rounding makes it indefinite, it adds a multiple of the rounding error to the diagonal and
// retries. whole returns the full matrix and is called once per attempt.
func NewFactor(ctx context.Context, ridge []float64, whole func() (kern.View[float64], error)) (*Factor, error) {
	lift := 0.0
	for range 2 {
		k, err := whole()
		if err != nil {
			return nil, err
		}
		kern.MirrorLower(k)
		trace := 0.0
		diagonal := make([]float64, len(ridge))
		for i, r := range ridge {
			diagonal[i] = k.At(i, i)
			trace += k.At(i, i)
			k.Set(i, i, k.At(i, i)+r+lift)
		}
		_, ok, err := kern.Cholesky(ctx, k)
		if ok || err != nil {
			return &Factor{k, diagonal, lift > 0}, err
		}
		lift = 16 * epsilon * trace
	}
	return nil, solve.ErrRounding
}

// Solve overwrites v with (K + diag(ridge))⁻¹v.
func (f *Factor) Solve(ctx context.Context, v []float64, columns int) error {
	return kern.SolveCholesky(ctx, f.lower, kern.Dense(f.lower.Rows, columns, columns, v))
}

// Rows returns the number of rows.
func (f *Factor) Rows() int { return len(f.diagonal) }

// Tile writes the entries of K for rows from i on and rows from j on, so that a Factor is also a
// Kernel.
func (f *Factor) Tile(dst kern.View[float64], i, j int) { copyTile(f, dst, i, j) }

// TileFloat32 is Tile in float32.
func (f *Factor) TileFloat32(dst kern.View[float32], i, j int) { copyTile(f, dst, i, j) }

// copyTile copies a tile of K from above the diagonal, in cache-resident squares.
func copyTile[T kern.Float](f *Factor, dst kern.View[T], i, j int) {
	const side = 32
	for a := 0; a < dst.Rows; a += side {
		for b := 0; b < dst.Cols; b += side {
			square := dst.Slice(a, min(a+side, dst.Rows), b, min(b+side, dst.Cols))
			switch row, col := i+a, j+b; {
			case row+square.Rows <= col:
				copyAbove(f, square, row, col)
			case col+square.Cols <= row:
				copyAbove(f, square.T(), col, row)
			default:
				for r := range square.Rows {
					for c := range square.Cols {
						square.Set(r, c, T(f.entry(row+r, col+c)))
					}
				}
			}
		}
	}
}

// copyAbove copies a square above the diagonal; dst may be transposed.
func copyAbove[T kern.Float](f *Factor, dst kern.View[T], i, j int) {
	for r := range dst.Rows {
		from, at := f.lower.Row(i + r)[j:j+dst.Cols], r*dst.RowStride
		if dst.ColStride == 1 {
			to := dst.Row(r)
			for c, v := range from {
				to[c] = T(v)
			}
			continue
		}
		for _, v := range from {
			dst.Data[at] = T(v)
			at += dst.ColStride
		}
	}
}

// entry returns an entry of K.
func (f *Factor) entry(i, j int) float64 {
	if i == j {
		return f.diagonal[i]
	}
	return f.lower.At(min(i, j), max(i, j))
}

// LeaveOneOut returns the leave-one-out residuals, rows × columns, of the solution a, and for each
// row the divisor M_ii:
//
//	y_i − ŷ₋ᵢ = a_i / M_ii,  M = (K + ridge)⁻¹, with an intercept M = (K + ridge)⁻¹ − uu'/1'u, u = (K + ridge)⁻¹1
//
// Cost: rows³ flops.
func (f *Factor) LeaveOneOut(ctx context.Context, a []float64, columns int, centered bool) (residual, slack []float64,
	err error) {
	n := f.lower.Rows
	if f.regularized {
		return nil, nil, solve.ErrRounding
	}
	slack, err = f.inverseDiagonal(ctx)
	if err != nil {
		return nil, nil, err
	}
	if centered {
		u := make([]float64, n)
		for i := range u {
			u[i] = 1
		}
		if err := f.Solve(ctx, u, 1); err != nil {
			return nil, nil, err
		}
		sum := kern.Sum(u)
		for i, v := range u {
			rest := slack[i] - v*v/sum
			if rest <= 1e-12*slack[i] {
				return nil, nil, fmt.Errorf("row %d has leverage 1, so its leave-one-out prediction is undefined; increase alpha",
					i)
			}
			slack[i] = rest
		}
	}
	residual = make([]float64, len(a))
	for at, v := range a {
		residual[at] = v / slack[at/columns]
		if math.IsNaN(residual[at]) || math.IsInf(residual[at], 0) {
			return nil, nil, solve.ErrRounding
		}
	}
	return residual, slack, nil
}

// inverseDiagonal returns the diagonal of (LLᵀ)⁻¹, the column sums of squares of L⁻¹, computed in
// column blocks.
func (f *Factor) inverseDiagonal(ctx context.Context) ([]float64, error) {
	n := f.lower.Rows
	const step = 512
	out := make([]float64, n)
	buf := make([]float64, n*min(n, step))
	for lo := 0; lo < n; lo += step {
		hi := min(lo+step, n)
		clear(buf)
		part := kern.Dense(n-lo, hi-lo, hi-lo, buf)
		for i := range hi - lo {
			part.Set(i, i, 1)
		}
		if err := kern.SolveLower(ctx, f.lower.Slice(lo, n, lo, n), part); err != nil {
			return nil, err
		}
		for i := range n - lo {
			for j, v := range part.Row(i) {
				out[lo+j] += v * v
			}
		}
	}
	return out, nil
}
