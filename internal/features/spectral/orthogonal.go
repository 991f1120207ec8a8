package spectral

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Normals returns a d×m matrix of independent standard normal numbers. Column j depends on the seed
// and j only. The error is that of the context.
func Normals(ctx context.Context, seed uint64, d, m int) (*mat.Dense, error) {
	out, rng, column := mat.NewDense(d, m, nil), NewStream(), make([]float64, d)
	for j := range m {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		rng.At(seed, Frequencies, j)
		Normal(rng.Rand, 1, column)
		out.SetCol(j, column)
	}
	return out, nil
}

// Orthogonal returns a d×m matrix of standard normal columns that are orthogonal in blocks of d
// columns; the last block may be smaller:
//
//	G = [g₁ … g_d],  G = Q·R with R_jj > 0,  columns  ‖g_j‖·q_j
//
// Each column is normally distributed, because Q is uniform among the orthogonal matrices (Haar)
// and independent of the lengths of the columns of G. Column g_j depends on the seed and j only: it
// is the draw of [Normal] on the stream Frequencies, so column j of the result does not depend on
// m. Cost: 4·d²·m flops, d·m numbers. The error is that of the context.
//
// Source: Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, "Orthogonal random features", NIPS
// 2016.
func Orthogonal(ctx context.Context, seed uint64, d, m int) (*mat.Dense, error) {
	out := mat.NewDense(d, m, nil)
	rng, block := NewStream(), kern.Dense(min(d, m), d, d, make([]float64, min(d, m)*d))
	lengths := make([]float64, block.Rows)
	for first := 0; first < m; first += d {
		rows := block.Slice(0, min(d, m-first), 0, d)
		for i := range rows.Rows {
			rng.At(seed, Frequencies, first+i)
			Normal(rng.Rand, 1, rows.Row(i))
			lengths[i] = length(rows.Row(i))
		}
		if err := orthonormalize(ctx, rows); err != nil {
			return nil, err
		}
		for i := range rows.Rows {
			kern.Scale(lengths[i], rows.Row(i))
			out.SetCol(first+i, rows.Row(i))
		}
	}
	return out, nil
}

// orthonormalize orthonormalizes the rows by block Gram–Schmidt with reorthogonalization, which is
// accurate to rounding (Giraud, Langou and Rozložník, 2005).
func orthonormalize(ctx context.Context, rows kern.View[float64]) error {
	const blockRows = 32
	buffer := make([]float64, blockRows*rows.Rows)
	for lo := 0; lo < rows.Rows; lo += blockRows {
		block, previous := rows.Slice(lo, min(lo+blockRows, rows.Rows), 0, rows.Cols), rows.Slice(0, lo, 0, rows.Cols)
		shares := kern.Dense(block.Rows, lo, lo, buffer[:block.Rows*lo])
		for range 2 {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			kern.Mul(shares, block, previous.T(), false)
			kern.Scale(-1, shares.Data)
			kern.Mul(block, shares, previous, true)
			for i := range block.Rows {
				row := block.Row(i)
				for k := range i {
					kern.Axpy(-kern.Dot(row, block.Row(k)), block.Row(k), row)
				}
				kern.Scale(1/length(row), row)
			}
		}
	}
	return nil
}

func length(x []float64) float64 { return math.Sqrt(kern.Dot(x, x)) }
