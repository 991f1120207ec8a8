package transformer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// svdSums are a pass of the block Lanczos method for the largest singular values of sparse rows X: the product X'XB
// with the last block B of an orthonormal basis of d×w blocks. The next block is what the product adds to the space
// that the basis spans; the first one is random.
//
// A pass costs 4·w flops for each nonzero and 4·d·w·p at its end, where p is the width of the basis, which takes 8·d·p
// bytes. Source: Musco and Musco, "Randomized block Krylov methods for stronger and faster approximate singular value
// decomposition", NIPS 2015.
type svdSums struct {
	cols, count int
	basis       [][]float64 // blocks, row-major
	gram        []float64   // B'X'XB of the basis without its last block
	product     []float64   // X'X times the last block
	squares     float64     // sum of the squares of all entries
	projected   []float64   // tile of X times the last block
}

const (
	svdOversampling = 10   // columns of a block beyond the number of components
	svdPasses       = 8    // maximum number of blocks
	svdTol          = 1e-3 // of the residual ‖X'Xv − λv‖, relative to λ
	svdBasisFloats  = 1 << 27
)

// truncatesSVD reports whether sparse rows are decomposed by [svdSums]: the basis must be a small part of all columns.
func truncatesSVD(cols, count int) bool {
	return count > 0 && cols > 512 && cols >= 8*(count+svdOversampling)
}

// newSVDSums returns the first pass.
func newSVDSums(cols, count int) (*svdSums, error) {
	width := count + svdOversampling
	if err := memory.Check(8 * int64(cols) * int64(width) * 5); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(uint64(cols), uint64(count)))
	start := make([]float64, cols*width)
	for i := range start {
		start[i] = rng.NormFloat64()
	}
	p := &svdSums{cols: cols, count: count, product: start}
	return p.extended(start, nil)
}

// extended returns the pass with an orthonormal basis of the columns of a d×w block as the next block; nil if the
// columns are in the space of the basis already, up to rounding errors.
func (p *svdSums) extended(block, gram []float64) (*svdSums, error) {
	for range 2 { // the second time removes rounding errors of the first one
		w := len(block) / p.cols
		B := kern.Dense(p.cols, w, w, block)
		if len(p.basis) > 0 {
			p.removeBasis(B)
		}
		square := make([]float64, w*w)
		G := kern.Dense(w, w, w, square)
		ctx := context.Background() // the products take less time than a block of rows
		if err := kern.Gram(ctx, G, B, nil); err != nil {
			return nil, err
		}
		eigen, err := kern.NewEigen(ctx, G, true)
		if err != nil {
			return nil, err
		}
		const independent = 1e-12 // of the largest square
		first, _ := slices.BinarySearch(eigen.Values, max(independent*eigen.Values[w-1], math.SmallestNonzeroFloat64))
		if first == w {
			return nil, nil
		}
		vectors, err := eigen.Vectors(ctx, first, w)
		if err != nil {
			return nil, err
		}
		for k := range w - first {
			kern.Scale(1/math.Sqrt(eigen.Values[first+k]), vectors[k*w:(k+1)*w])
		}
		block = make([]float64, p.cols*(w-first))
		kern.Mul(kern.Dense(p.cols, w-first, w-first, block), B, kern.Dense(w-first, w, w, vectors).T(), false)
	}
	return &svdSums{cols: p.cols, count: p.count, basis: append(slices.Clone(p.basis), block), gram: gram,
		product: make([]float64, len(block))}, nil
}

// block returns block k of the basis.
func (p *svdSums) block(k int) kern.View[float64] {
	w := len(p.basis[k]) / p.cols
	return kern.Dense(p.cols, w, w, p.basis[k])
}

// last returns the product with the last block.
func (p *svdSums) last() kern.View[float64] {
	w := len(p.product) / p.cols
	return kern.Dense(p.cols, w, w, p.product)
}

// removeBasis subtracts from the columns of a block their projections on the basis, and returns the coefficients.
func (p *svdSums) removeBasis(to kern.View[float64]) (coefficients []float64) {
	for k := range p.basis {
		B := p.block(k)
		c := make([]float64, B.Cols*to.Cols)
		C := kern.Dense(B.Cols, to.Cols, to.Cols, c)
		kern.Mul(C, B.T(), to, false)
		coefficients = append(coefficients, c...)
		negative := slices.Clone(c)
		kern.Scale(-1, negative)
		kern.Mul(to, B, kern.Dense(B.Cols, to.Cols, to.Cols, negative), true)
	}
	return coefficients
}

func (p *svdSums) add(ctx context.Context, X mat.Matrix) error {
	m, ok := X.(*matrices.CSR)
	if !ok {
		return errOtherRows
	}
	n, _ := m.Dims()
	B, W := p.block(len(p.basis)-1), p.last()
	for lo := 0; lo < n; lo += tileRows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		rows := m.Slice(lo, min(lo+tileRows, n))
		x := design.SparseView(rows)
		p.projected = slices.Grow(p.projected[:0], x.Rows*B.Cols)[:x.Rows*B.Cols]
		T := kern.Dense(x.Rows, B.Cols, B.Cols, p.projected)
		kern.SparseMul(T, x, B, false)
		kern.Parallel(B.Cols, 32, func(lo, hi int) {
			kern.SparseMulT(W.Slice(0, p.cols, lo, hi), x, T.Slice(0, x.Rows, lo, hi), true)
		})
		for i := range x.Rows {
			_, values := rows.Row(i)
			for _, v := range values {
				p.squares += v * v
			}
		}
	}
	return nil
}

func (p *svdSums) merge(o *svdSums) error {
	if !slices.EqualFunc(p.basis, o.basis, slices.Equal) {
		return errOtherRows
	}
	kern.Axpy(1, o.product, p.product)
	p.squares += o.squares
	return nil
}

// ritz are the approximate eigenvalues of X'X in the space of the basis.
type ritz struct {
	gram     []float64 // B'X'XB
	values   []float64 // descending
	vectors  []float64 // in terms of the basis, a row each
	left     []float64 // what the last product adds to the basis, d×w
	residual float64   // maximum of ‖X'Xv − λv‖/λ over the components
}

// solve returns the eigenvalues and eigenvectors of the projection on the basis.
func (p *svdSums) solve(ctx context.Context) (*ritz, error) {
	r := &ritz{left: slices.Clone(p.product)}
	W := kern.Dense(p.cols, p.last().Cols, p.last().Cols, r.left)
	column := p.removeBasis(W) // of the projection, for the last block
	all := len(column) / W.Cols
	known := all - W.Cols
	r.gram = make([]float64, all*all)
	for i := range known {
		copy(r.gram[i*all:], p.gram[i*known:(i+1)*known])
	}
	for i := range all {
		for j := range W.Cols {
			r.gram[i*all+known+j], r.gram[(known+j)*all+i] = column[i*W.Cols+j], column[i*W.Cols+j]
		}
	}
	eigen, err := kern.NewEigen(ctx, kern.Dense(all, all, all, slices.Clone(r.gram)), true)
	if err != nil {
		return nil, err
	}
	keep := min(p.count, all)
	if r.vectors, err = eigen.Vectors(ctx, all-keep, all); err != nil {
		return nil, err
	}
	square := make([]float64, W.Cols*W.Cols)
	G := kern.Dense(W.Cols, W.Cols, W.Cols, square)
	if err := kern.Gram(ctx, G, W, nil); err != nil {
		return nil, err
	}
	kern.MirrorLower(G)
	slices.Reverse(eigen.Values)
	r.values = eigen.Values[:keep]
	for k, value := range r.values {
		v := r.vectors[(keep-1-k)*all+known : (keep-k)*all]
		sum := 0.0
		for i, x := range v {
			sum += x * kern.Dot(G.Row(i), v)
		}
		r.residual = max(r.residual, math.Sqrt(max(sum, 0))/max(value, math.SmallestNonzeroFloat64))
	}
	return r, nil
}

// next returns the pass with one more block, nil if the components are exact enough.
func (p *svdSums) next(ctx context.Context) (*svdSums, error) {
	r, err := p.solve(ctx)
	if err != nil {
		return nil, err
	}
	limit := max(3, min(svdPasses, svdBasisFloats/len(p.basis[0])))
	if len(p.basis) >= limit || len(r.values) == p.count && r.residual <= svdTol {
		return nil, nil
	}
	return p.extended(r.left, r.gram)
}

// decompose fills in the components.
func (p *svdSums) decompose(ctx context.Context, s PCA, f *FittedPCA, rows int) error {
	if !(p.squares < math.MaxFloat64) {
		return errVarianceOverflows
	}
	r, err := p.solve(ctx)
	if err != nil {
		return fmt.Errorf("transformer: pca: singular vectors: %w", err)
	}
	kern.Scale(1/float64(rows-1), r.values)
	keep, err := s.keep(f, r.values, p.squares/float64(rows-1), rows, min(rows, len(r.values)))
	if err != nil {
		return err
	}
	all := len(r.vectors) / len(r.values)
	S := kern.Dense(len(r.values), all, all, r.vectors).Slice(len(r.values)-keep, len(r.values), 0, all)
	vectors := make([]float64, keep*p.cols)
	first := 0
	for k := range p.basis {
		B := p.block(k)
		kern.Mul(kern.Dense(keep, p.cols, p.cols, vectors), S.Slice(0, keep, first, first+B.Cols), B.T(), k > 0)
		first += B.Cols
	}
	f.setComponents(vectors)
	return nil
}

// state serializes the pass; it restores into one of the same shape.
func (p *svdSums) state(s *model.State) {
	blocks := len(p.basis)
	s.Count("blocks", &blocks)
	if s.Restoring() {
		p.basis = make([][]float64, blocks)
	}
	widths := 0 // of the blocks but the last
	for k := range p.basis {
		name := "block" + strconv.Itoa(k)
		width := len(p.basis[k]) / p.cols
		s.Count(name+"_width", &width)
		if s.Require(width >= 1 && width <= p.count+svdOversampling, "a block has no width"); s.Err() != nil {
			return
		}
		pass.Floats(s, name, &p.basis[k], p.cols*width, pass.Finite)
		if k+1 < blocks {
			widths += width
		}
	}
	if s.Require(blocks >= 1, "there are no blocks"); s.Err() != nil {
		return
	}
	pass.Floats(s, "gram", &p.gram, widths*widths, pass.Finite)
	pass.Floats(s, "product", &p.product, len(p.basis[blocks-1]), nil)
	s.Float("squares", &p.squares)
}
