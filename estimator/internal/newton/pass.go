package newton

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// A scoreUpdate replaces the scores of rows [lo, hi) of a block by f(scores) and adds to values.
type scoreUpdate func(values, scores []float64, lo, hi int)

// pass computes X̃ᵀf(X̃x) over rows X. X̃ is X, with a column of ones if there is an intercept.
type pass struct {
	cols, outputs        int
	intercept            bool
	x, out, values       []float64
	product32, product64 design.FusedProduct // sums of dense rows, nil before the first
	sparseScores         []float64           // scores of sparse rows
}

// start begins a pass that multiplies rows by x and adds to out and values.
func (p *pass) start(x, out, values []float64) {
	p.x, p.out, p.values = x, out, values
	p.product32, p.product64 = nil, nil
}

// add adds the rows of a block.
func (p *pass) add(X mat.Matrix, f scoreUpdate) {
	switch m := X.(type) {
	case *sparse.CSR:
		p.addSparse(m, p.x, p.out, p.values, f)
	case *single.Dense:
		if p.product32 == nil {
			p.product32 = p.newProduct(true)
		}
		p.product32.Add(m, 0, p.rowMajor(f))
	case *mat.Dense:
		if p.product64 == nil {
			p.product64 = p.newProduct(false)
		}
		p.product64.Add(m, 0, p.rowMajor(f))
	}
}

// newProduct returns the sums of dense rows.
func (p *pass) newProduct(short bool) design.FusedProduct {
	size := p.cols * p.outputs
	w, offsets := make([]float64, size), make([]float64, p.outputs)
	design.Transpose(w, p.x[:size], p.outputs)
	copy(offsets, p.x[size:])
	return design.NewFusedProduct(short, w, offsets, nil, len(p.values))
}

// rowMajor adapts f, which takes rows × outputs, to scores of outputs × rows.
func (p *pass) rowMajor(f scoreUpdate) design.ScoreFunc {
	return func(place *design.Accumulator, scores kern.View[float64], first int) {
		k, n := scores.Rows, scores.Cols
		if k == 1 {
			f(place.Values, scores.Row(0), first, first+n)
			return
		}
		turned := design.Borrow[float64](k * n)
		defer turned.Release()
		for j := range k {
			for i, v := range scores.Row(j) {
				turned.Data[i*k+j] = v
			}
		}
		f(place.Values, turned.Data, first, first+n)
		for j := range k {
			row := scores.Row(j)
			for i := range row {
				row[i] = turned.Data[i*k+j]
			}
		}
	}
}

// finite reports whether all sums are finite.
func (p *pass) finite() bool {
	for _, t := range []design.FusedProduct{p.product32, p.product64} {
		if t != nil && !t.Sums().Finite() {
			return false
		}
	}
	return kern.AllFinite(p.values) && kern.AllFinite(p.out)
}

// end adds the sums of dense rows to out and values.
func (p *pass) end() {
	size := p.cols * p.outputs
	for _, t := range []design.FusedProduct{p.product32, p.product64} {
		if t == nil {
			continue
		}
		sums := t.Sums()
		design.AddTransposed(p.out[:size], sums.Rows, p.outputs)
		if p.intercept {
			kern.Axpy(1, sums.Totals, p.out[size:])
		}
		kern.Axpy(1, sums.Values, p.values)
	}
	p.product32, p.product64 = nil, nil
}

// addIntercept adds the intercept to scores.
func (p *pass) addIntercept(scores, x []float64) {
	if !p.intercept {
		return
	}
	k := p.outputs
	b := x[p.cols*k:]
	for i := 0; i < len(scores); i += k {
		for j, v := range b {
			scores[i+j] += v
		}
	}
}

// addTotals adds the column sums of scores to the intercept part of out.
func (p *pass) addTotals(out, scores []float64) {
	if !p.intercept {
		return
	}
	k := p.outputs
	b := out[p.cols*k:]
	for i := 0; i < len(scores); i += k {
		for j := range b {
			b[j] += scores[i+j]
		}
	}
}

func (p *pass) addSparse(X *sparse.CSR, x, out, values []float64, f scoreUpdate) {
	n, d := X.Dims()
	k := p.outputs
	if len(p.sparseScores) < n*k {
		p.sparseScores = make([]float64, n*k)
	}
	scores := p.sparseScores[:n*k]
	m := design.SparseView(X)
	if k == 1 {
		kern.SparseMulVec(scores, m, x[:d], false)
	} else {
		kern.SparseMul(kern.Dense(n, k, k, scores), m, kern.Dense(d, k, k, x), false)
	}
	p.addIntercept(scores, x)
	const chunk = 4096
	slots := len(values)
	partial := make([]float64, (n+chunk-1)/chunk*slots)
	kern.Parallel(n, chunk, func(lo, hi int) {
		f(partial[lo/chunk*slots:][:slots], scores[lo*k:hi*k], lo, hi)
	})
	for i, v := range partial {
		values[i%slots] += v
	}
	kern.SparseMulT(kern.Dense(d, k, k, out), m, kern.Dense(n, k, k, scores), true)
	p.addTotals(out, scores)
}
