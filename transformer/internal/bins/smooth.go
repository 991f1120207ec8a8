package bins

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// bump is the weight of an input at t in its bin, −½ ≤ t ≤ ½ from edge to edge: ∫ bump² = 1 and
//
//	(bump∗bump)(s) = 1 − 5s² + 5|s|³ − |s|⁵,  |s| ≤ 1
//
// which is twice differentiable at 0, unlike 1 − |s|, which a weight of 1 leads to.
func bump(t float64) float64 { return bumpTop * (1 - 4*t*t) }

// bumpTop is bump(0), sqrt(30)/4.
const bumpTop = 1.36930639376291528364

// MostSmooth is the maximum number of inputs for which products of bumps are finite and meaningful.
const MostSmooth = 1000

// weigh returns Π_j bump(t_j)/sqrt(P) of each row and grid, in row-major order.
func (m *Map) weigh(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, d := X.Dims()
	values := make([]float64, n*m.Grids)
	for lo := 0; lo < n; lo += binRows {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		kern.Parallel(min(binRows, n-lo), hashRows, func(from, to int) {
			if ctx.Err() != nil {
				return
			}
			row := make([]float64, d)
			for i := lo + from; i < lo+to; i++ {
				m.weighRow(values[i*m.Grids:(i+1)*m.Grids], design.Row(X, i, row))
			}
		})
	}
	return values, ctxerr.Check(ctx)
}

func (m *Map) weighRow(values, row []float64) {
	const roundOff = 3 << 51 // as in bin
	scale := 1 / math.Sqrt(float64(m.Grids))
	var few []float64
	for p := range values {
		lo, hi := m.span(p)
		inverse, shift := m.inverse[lo:hi], m.Shift[lo:hi]
		product, seen := scale, row
		if m.columns != nil {
			few = few[:0]
			for _, j := range m.columns[lo:hi] {
				few = append(few, row[j])
			}
			seen = few
		}
		for j, x := range seen {
			v := float64(x*inverse[j]) - shift[j]
			product *= bump(v - (v + roundOff - roundOff))
		}
		values[p] = product
	}
}
