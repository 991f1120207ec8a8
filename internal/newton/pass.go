package newton

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// A change takes the scores of rows lo to hi of a block, leaves something of the same shape in their
// place, and adds to values.
type change func(values, scores []float64, lo, hi int)

// pass is one reading of rows by an objective: of so many columns and outputs, with or without an intercept.
type pass struct {
	cols, outputs int
	intercept     bool
	hold          []float64 // partial sums
}

// add adds X̃'·f(X̃·x) over the rows of a block to out, X̃ being X with a column of ones for the
// intercept. Dense rows are used twice while they are in the cache. Products with rows in single
// precision and sums over a tile of them are in single precision, scores and sums over tiles in
// double precision.
func (p *pass) add(X mat.Matrix, x, out, values []float64, f change) {
	switch m := X.(type) {
	case *sparse.CSR:
		p.addSparse(m, x, out, values, f)
	case *single.Dense:
		addDense(p, design.ViewFloat32(m), x, out, values, f)
	case *mat.Dense:
		addDense(p, design.View(m), x, out, values, f)
	}
}

// tileRows is how many dense rows of d entries are used together.
func tileRows(d int) int { return min(256, max(16, 1<<16/d)) }

// partialRows is how many dense rows of d entries have partial sums of their own, size numbers.
func partialRows(d int, size float64) int { return max(tileRows(d), int(min(256, 1<<22/size))) }

// addDense is add of dense rows. Weights, and the partial sums over rows, stand output by output,
// outputs × cols.
func addDense[T kern.Float](p *pass, X kern.View[T], x, out, values []float64, f change) {
	n, d, k := X.Rows, X.Cols, p.outputs
	w := design.Borrow[T](d * k)
	defer w.Release()
	design.Transpose(w.List, x[:d*k], k)
	size, slots := len(out), len(values)
	tile := tileRows(d)
	chunk := partialRows(d, float64(size))
	chunks := (n + chunk - 1) / chunk
	if need := chunks * (size + slots); len(p.hold) < need {
		p.hold = make([]float64, need)
	}
	hold := p.hold[:chunks*(size+slots)]
	clear(hold)
	kern.Parallel(n, chunk, func(lo, hi int) {
		mine := hold[lo/chunk*(size+slots):][:size+slots]
		scores, own := design.Borrow[float64](tile*k), design.Borrow[T](tile*k+d*k)
		defer scores.Release()
		defer own.Release()
		for i := lo; i < hi; i += tile {
			end := min(i+tile, hi)
			part, rows := scores.List[:(end-i)*k], X.Slice(i, end, 0, d)
			design.Project(part, rows, w.List, own.List)
			p.shift(part, x)
			f(mine[size:], part, i, end)
			design.Collect(mine[:d*k], rows, part, own.List)
			p.total(mine[:size], part)
		}
	})
	for c := range chunks {
		mine := hold[c*(size+slots):]
		design.AddTransposed(out[:d*k], mine[:d*k], k)
		kern.Axpy(1, mine[d*k:size], out[d*k:])
		kern.Axpy(1, mine[size:size+slots], values)
	}
}

// shift adds the intercept to scores.
func (p *pass) shift(scores, x []float64) {
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

// total adds the sums of scores to the intercept's part of out.
func (p *pass) total(out, scores []float64) {
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

func (p *pass) addSparse(X *sparse.CSR, x, out, values []float64, f change) {
	n, d := X.Dims()
	k := p.outputs
	if len(p.hold) < n*k {
		p.hold = make([]float64, n*k)
	}
	scores := p.hold[:n*k]
	m := design.Compressed(X)
	if k == 1 {
		kern.SparseMulVec(scores, m, x[:d], false)
	} else {
		kern.SparseMul(kern.Dense(n, k, k, scores), m, kern.Dense(d, k, k, x), false)
	}
	p.shift(scores, x)
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
	p.total(out, scores)
}
