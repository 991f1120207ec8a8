package newton

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// A scoreUpdate replaces the scores of some rows, outputs × rows, by f(scores) and adds to values.
// The first of the rows has the given number.
type scoreUpdate func(values []float64, scores kern.View[float64], first int)

// pass computes X̃ᵀf(X̃x) over rows X. X̃ is X, with a column of ones if there is an intercept.
type pass struct {
	cols, outputs        int
	active, widths       []int // outputs of dense rows that take part, by descending width, and their columns
	intercept            bool
	x, out, values       []float64
	product32, product64 solve.FusedProduct // sums of dense rows, nil before the first
}

// start begins a pass that multiplies rows by x and adds to out and values.
func (p *pass) start(x, out, values []float64) {
	p.x, p.out, p.values = x, out, values
	p.product32, p.product64 = nil, nil
}

// add adds the rows of a block whose first row has number first.
func (p *pass) add(X mat.Matrix, first int, f scoreUpdate) {
	switch m := X.(type) {
	case *matrices.CSR:
		p.addSparse(m, first, f)
	case *matrices.Dense32:
		p.addDense(&p.product32, m, first, f)
	case *mat.Dense:
		p.addDense(&p.product64, m, first, f)
	}
}

func (p *pass) addDense(to *solve.FusedProduct, X mat.Matrix, first int, f scoreUpdate) {
	if *to == nil {
		w, offsets := make([]float64, len(p.active)*p.cols), make([]float64, len(p.active))
		for q, j := range p.active {
			for i := range p.widths[q] {
				w[q*p.cols+i] = p.x[i*p.outputs+j]
			}
			if p.intercept {
				offsets[q] = p.x[p.cols*p.outputs+j]
			}
		}
		*to = solve.NewFusedProduct(to == &p.product32, w, offsets, p.widths, len(p.values))
	}
	(*to).Add(X, first, func(place *solve.Accumulator, scores kern.View[float64], first int) {
		f(place.Values, scores, first)
	})
}

// finite reports whether all sums are finite.
func (p *pass) finite() bool {
	for _, t := range []solve.FusedProduct{p.product32, p.product64} {
		if t != nil && !t.Sums().Finite() {
			return false
		}
	}
	return kern.AllFinite(p.values) && kern.AllFinite(p.out)
}

// end adds the sums of dense rows to out and values.
func (p *pass) end() {
	for _, t := range []solve.FusedProduct{p.product32, p.product64} {
		if t == nil {
			continue
		}
		sums := t.Sums()
		for q, j := range p.active {
			for i, v := range sums.Rows[q*p.cols:][:p.widths[q]] {
				p.out[i*p.outputs+j] += v
			}
			if p.intercept {
				p.out[p.cols*p.outputs+j] += sums.Totals[q]
			}
		}
		kern.Axpy(1, sums.Values, p.values)
	}
	p.product32, p.product64 = nil, nil
}

func (p *pass) addSparse(X *matrices.CSR, first int, f scoreUpdate) {
	n, d := X.Dims()
	k := p.outputs
	buffer := design.Borrow[float64](n * k)
	defer buffer.Release()
	scores, m := buffer.Data, design.SparseView(X)
	if k == 1 {
		kern.SparseMulVec(scores, m, p.x[:d], false)
	} else {
		kern.SparseMul(kern.Dense(n, k, k, scores), m, kern.Dense(d, k, k, p.x), false)
	}
	if p.intercept {
		for i := 0; i < len(scores); i += k {
			for j, b := range p.x[d*k:] {
				scores[i+j] += b
			}
		}
	}
	const chunk = 4096
	slots := len(p.values)
	partial := make([]float64, (n+chunk-1)/chunk*slots)
	kern.Parallel(n, chunk, func(lo, hi int) {
		f(partial[lo/chunk*slots:][:slots], kern.Dense(hi-lo, k, k, scores[lo*k:hi*k]).T(), first+lo)
	})
	for i, v := range partial {
		p.values[i%slots] += v
	}
	kern.SparseMulT(kern.Dense(d, k, k, p.out), m, kern.Dense(n, k, k, scores), true)
	if p.intercept {
		totals := p.out[d*k:]
		for i := 0; i < len(scores); i += k {
			for j := range totals {
				totals[j] += scores[i+j]
			}
		}
	}
}
