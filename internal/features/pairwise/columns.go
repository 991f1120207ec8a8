package pairwise

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// productKernel is a product of kernels of columns with a weight.
type productKernel struct {
	weight float64
	terms  []termKernel
}

// termKernel is the kernel of some columns.
type termKernel struct {
	kernel *Kernel
	index  []int     // numbers of the columns; nil for all
	factor []float64 // of the columns in a frame, or one for all
}

// newColumnKernel returns a kernel of columns. One that is not resolved has no columns.
func newColumnKernel(list []kernel.Summand) (*Kernel, bool) {
	of, ok := spectral.FourierKernel(string(kernel.Sum(list...)), spectral.Shape{})
	if !ok {
		return nil, false
	}
	k, total := &Kernel{Metric: Columns, shape: columnKernel, spectral: of}, 0.0
	for _, s := range list {
		total += s.Weight
	}
	for _, s := range list {
		p := productKernel{weight: s.Weight / total}
		for _, t := range s.Product {
			of, ok := NewKernel(string(t.Kernel), spectral.ShapeOfTerm(t))
			if !ok {
				return nil, false
			}
			p.add(termKernel{kernel: of, index: t.Index, factor: of.Factors(t.Gamma.Fixed())})
		}
		k.products = append(k.products, p)
	}
	return k, true
}

// add appends a term, or joins it with a term of the same kernel: a product of these is one such kernel
// of all their columns.
func (p *productKernel) add(t termKernel) {
	for i, o := range p.terms {
		if separable(t.kernel) && o.kernel.shape == t.kernel.shape {
			o.factor = append(o.factors(), t.factors()...)
			o.index = append(slices.Clone(o.index), t.index...)
			p.terms[i] = o
			return
		}
	}
	p.terms = append(p.terms, t)
}

// factors returns the factor of each column.
func (t termKernel) factors() []float64 {
	if len(t.factor) == 1 {
		return slices.Repeat(t.factor, len(t.index))
	}
	return slices.Clone(t.factor)
}

// blocks are the terms of a kernel of columns in a frame: dense and sparse columns of a term are
// separate blocks.
type blocks struct {
	products []productKernel
	first    []int   // index of the first block of each product, and their number
	frames   []Frame // of the blocks
	sparse   []bool  // whether a block stays sparse
	flat     []termKernel
}

// newBlocks returns the blocks of a kernel, given the common factor of all columns, and centers the dense
// ones on the rows of X.
func newBlocks(k *Kernel, common []float64, X mat.Matrix) *blocks {
	b := &blocks{products: k.products}
	n, d := X.Dims()
	dense := denseColumns(X)
	for _, p := range k.products {
		b.first = append(b.first, len(b.flat))
		for _, t := range p.terms {
			if t.index == nil {
				for j := range d {
					t.index = append(t.index, j)
				}
			}
			factors := t.factors()
			for _, isSparse := range []bool{false, true} {
				part := termKernel{kernel: t.kernel}
				for i, j := range t.index {
					if (dense != nil && !dense[j]) == isSparse || !separable(t.kernel) && !isSparse {
						part.index, part.factor = append(part.index, j), append(part.factor, factors[i]*common[j])
					}
				}
				if len(part.index) == 0 || isSparse && !separable(t.kernel) {
					continue
				}
				f := Frame{Factor: part.factor}
				if !isSparse && n > 0 {
					f = t.kernel.Frame(part.factor, selectDense(X, part.index))
				}
				b.flat, b.frames, b.sparse = append(b.flat, part), append(b.frames, f), append(b.sparse, isSparse)
			}
		}
	}
	b.first = append(b.first, len(b.flat))
	return b
}

// separable reports whether a kernel of some columns is the product of those of two parts of them.
func separable(k *Kernel) bool {
	return k.shape == gaussian || k.shape == laplacian || k.shape == cauchyKernel
}

// denseColumns reports which columns of sparse rows have at least a quarter of all entries, nil for
// dense rows.
func denseColumns(X mat.Matrix) []bool {
	m, ok := X.(*matrices.CSR)
	if !ok {
		return nil
	}
	n, d := m.Dims()
	counts, out := make([]int, d), make([]bool, d)
	_, indices, _ := m.Raw()
	for _, j := range indices {
		counts[j]++
	}
	for j, c := range counts {
		out[j] = 4*c >= n
	}
	return out
}

// selectDense returns some columns of X as a dense matrix.
func selectDense(X mat.Matrix, index []int) mat.Matrix {
	X = new(rowblock.Picker).Columns(X, index)
	if m, ok := X.(*matrices.CSR); ok {
		return m.Dense()
	}
	return X
}

// prepareBlocks makes r the rows lo to hi of X in the frames of the blocks.
func (r *Rows[T]) prepareBlocks(b *blocks, X mat.Matrix, lo, hi int) {
	if r.of != b {
		r.of, r.blocks = b, make([]Rows[T], len(b.flat))
	}
	X = rowblock.Slice(X, lo, hi)
	var picker rowblock.Picker
	for i := range r.blocks {
		if r.n == 0 {
			r.blocks[i] = Rows[T]{d: len(b.frames[i].Factor)}
			continue
		}
		own := picker.Columns(X, b.flat[i].index)
		if m, ok := own.(*matrices.CSR); ok && !b.sparse[i] {
			own = m.Dense()
		}
		r.blocks[i].Prepare(b.frames[i], own, 0, r.n)
	}
}

// columnValues writes the values of a kernel of columns.
func columnValues[T kern.Float](dst kern.View[T], x, y Rows[T]) {
	hold := design.Borrow[T](2 * dst.Rows * dst.Cols)
	defer hold.Release()
	size := dst.Rows * dst.Cols
	term := kern.Dense(dst.Rows, dst.Cols, dst.Cols, hold.Data[:size])
	product := kern.Dense(dst.Rows, dst.Cols, dst.Cols, hold.Data[size:2*size])
	for s, p := range x.of.products {
		out := product
		if s == 0 {
			out = dst
		}
		for i := x.of.first[s]; i < x.of.first[s+1]; i++ {
			to, k := term, x.of.flat[i].kernel
			if i == x.of.first[s] {
				to = out
			}
			Distances(to, x.blocks[i], y.blocks[i], k.Metric)
			Values(k, 1, to)
			for r := 0; i > x.of.first[s] && r < to.Rows; r++ {
				kern.MulElem(out.Row(r), out.Row(r), to.Row(r))
			}
		}
		for r := range dst.Rows {
			if p.weight != 1 {
				kern.Scale(T(p.weight), out.Row(r))
			}
			if s > 0 {
				kern.Axpy(1, out.Row(r), dst.Row(r))
			}
		}
	}
}
