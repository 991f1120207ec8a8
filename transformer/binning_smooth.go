package transformer

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/sparse"
)

// bump is the weight of an input at t in its bin, −½ ≤ t ≤ ½ from edge to edge: ∫ bump² = 1 and
//
//	(bump∗bump)(s) = 1 − 5s² + 5|s|³ − |s|⁵,  |s| ≤ 1
//
// which is twice differentiable at 0, unlike 1 − |s|, which a weight of 1 leads to.
func bump(t float64) float64 { return bumpTop * (1 - 4*t*t) }

// bumpTop is bump(0), sqrt(30)/4.
const bumpTop = 1.36930639376291528364

// smoothExact is ∫ (bump∗bump)(Δ/δ)·δ⁵·exp(−δ)/5! dδ over δ > Δ.
func smoothExact(delta float64) float64 {
	t := math.Abs(delta)
	return math.Exp(-t) * (1 + t + t*t/4)
}

// mostSmooth is the number of inputs up to which products of bumps are finite and mean something.
const mostSmooth = 1000

// checkSmooth refuses more.
func (f *FittedBinning) checkSmooth() error {
	if d := len(f.gamma); f.kernel.smooth && d > mostSmooth {
		return fmt.Errorf("transformer: binning: the smooth kernel of %d columns, wanted at most %d", d, mostSmooth)
	}
	return nil
}

// weigh returns Π_j bump(t_j)/sqrt(P) of each row and grid, a row after the other.
func (f *FittedBinning) weigh(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, d := X.Dims()
	values := make([]float64, n*f.grids)
	for lo := 0; lo < n; lo += binRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		kern.Parallel(min(binRows, n-lo), hashRows, func(from, to int) {
			if ctx.Err() != nil {
				return
			}
			row := make([]float64, d)
			for i := lo + from; i < lo+to; i++ {
				f.weighRow(values[i*f.grids:(i+1)*f.grids], rowOf(X, i, row))
			}
		})
	}
	return values, ctx.Err()
}

func (f *FittedBinning) weighRow(values, row []float64) {
	const roundOff = 3 << 51 // as in bin
	d := len(row)
	scale := 1 / math.Sqrt(float64(f.grids))
	for p := range values {
		inverse, shift := f.inverse[p*d:(p+1)*d], f.shift[p*d:(p+1)*d]
		product := scale
		for j, x := range row {
			v := float64(x*inverse[j]) - shift[j]
			product *= bump(v - (v + roundOff - roundOff))
		}
		values[p] = product
	}
}

// rowOf returns row i of X, written to row where X is sparse.
func rowOf(X mat.Matrix, i int, row []float64) []float64 {
	m, ok := X.(*sparse.CSR)
	if !ok {
		return X.(*mat.Dense).RawRowView(i)
	}
	clear(row)
	columns, values := m.Row(i)
	shared, _ := m.Shared()
	for k, j := range columns {
		row[j] = shared
		if values != nil {
			row[j] = values[k]
		}
	}
	return row
}
