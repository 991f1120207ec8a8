package leastsquares

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// fusedProduct sums XᵀS(Xw + offset) over dense rows X with weights S, for all outputs together.
type fusedProduct struct {
	wT, offset           []float64          // wᵀ, outputs × cols, and offset by output
	product32, product64 solve.FusedProduct // by precision of the rows, nil before the first
}

// newFusedProduct takes w as cols × outputs.
func newFusedProduct(w, offset []float64) *fusedProduct {
	b := &fusedProduct{wT: make([]float64, len(w)), offset: offset}
	kern.Transpose(b.wT, w, len(offset))
	return b
}

// add adds rows; nil weights are ones.
func (b *fusedProduct) add(X mat.Matrix, weights []float64) {
	product := &b.product64
	_, isFloat32 := X.(*matrices.Dense32)
	if isFloat32 {
		product = &b.product32
	}
	if *product == nil {
		*product = solve.NewFusedProduct(isFloat32, b.wT, b.offset, nil, 0)
	}
	(*product).Add(X, 0, func(_ *solve.Accumulator, scores kern.View[float64], first int) {
		for j := 0; j < scores.Rows && weights != nil; j++ {
			row := scores.Row(j)
			kern.MulElem(row, row, weights[first:first+len(row)])
		}
	})
}

// centeredTo writes X̃ᵀS(Xw + offset) to dst, cols × outputs, where X̃ is X minus the mean.
func (b *fusedProduct) centeredTo(dst, mean []float64) {
	k := len(b.offset)
	total := make([]float64, k)
	clear(dst)
	for _, pass := range []solve.FusedProduct{b.product32, b.product64} {
		if pass == nil {
			continue
		}
		design.AddTransposed(dst, pass.Sums().Rows, k)
		kern.Axpy(1, pass.Sums().Totals, total)
	}
	for j, m := range mean {
		kern.Axpy(-m, total, dst[j*k:(j+1)*k])
	}
}
