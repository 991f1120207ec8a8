package kern

import (
	"context"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Band is A = Q·B·Qᵀ with orthogonal Q and a band matrix B. Systems (A + s·I)x = b for many shifts
// s then cost a band factor each; most of the n³ flops are spent once.
//
// A is reduced by block reflections I − VTVᵀ, one per panel of columns, so that nearly all work is
// in products (Bischof, Lang & Sun, A framework for symmetric band reduction, ACM TOMS 2000;
// systems do not need their second stage).
type Band struct {
	n       int
	vectors View[float64] // row k contains the vector of column k, starting at the column of the next block of B
	blocks  []float64     // block rows of B: the upper triangle of the diagonal block, and the block to its right
	factors []float64     // T of each panel
}

// bandWidth is the number of columns of a panel and of off-diagonals of B, a multiple of every mr
// and nr.
const bandWidth = 48

// blockSize is the number of entries of a block of B.
const blockSize = bandWidth * bandWidth

// NewBand reduces a symmetric A, given by its lower triangle, and retains its memory. Cost 4n³/3
// flops. Once ctx is done it returns ctxerr.Check(ctx).
func NewBand(ctx context.Context, a View[float64]) (*Band, error) {
	if a.Rows != a.Cols || a.ColStride != 1 {
		panic("kern: Band of a matrix that is not square in row-major order")
	}
	n := a.Rows
	panels := (n + bandWidth - 1) / bandWidth
	s := &Band{n: n, vectors: a, blocks: make([]float64, 2*blockSize*panels), factors: make([]float64, blockSize*panels)}
	hold, buf := borrow[float64](bandWidth*panels*bandWidth*panels + 7*bandWidth*bandWidth*panels + 3*blockSize)
	defer hold.release()
	r := newReduction(a, buf)
	for k := 0; k < n; k += bandWidth {
		rows := blockRows(s.blocks, k)
		r.read(rows.Slice(0, bandWidth, 0, bandWidth), k, k)
		if k+bandWidth >= n {
			break
		}
		v := r.begin(k + bandWidth)
		r.read(v, k, k+bandWidth)
		tau := reflectRows(v, rows.Slice(0, bandWidth, bandWidth, 2*bandWidth))
		for i := range bandWidth {
			copy(a.Row(k + i)[k+bandWidth:], v.Row(i))
		}
		if err := r.reflect(ctx, s.factor(k), tau); err != nil {
			return nil, err
		}
	}
	return s, ctxerr.Check(ctx)
}

// blockRows returns the rows of B, or of its factor, from row k on, a multiple of bandWidth: the
// diagonal block, of which the upper triangle is used, and the block to its right.
func blockRows(blocks []float64, k int) View[float64] {
	return Dense(bandWidth, 2*bandWidth, 2*bandWidth, blocks[2*k*bandWidth:])
}

// factor returns T of the panel that starts at row k.
func (s *Band) factor(k int) View[float64] {
	return Dense(bandWidth, bandWidth, bandWidth, s.factors[k*bandWidth:])
}

// reflectRows computes the reflections that clear row i of p beyond its entry i and applies each to
// the rows below. It writes the remaining lower triangle to left and the vectors to p.
func reflectRows(p, left View[float64]) (tau [bandWidth]float64) {
	for i := range p.Rows {
		row := p.Row(i)
		copy(left.Row(i), row[:min(i, p.Cols)])
		if i >= p.Cols {
			clear(row)
			continue
		}
		v := row[i:]
		tau[i] = reflector(v, &left.Row(i)[i])
		clear(row[:i])
		if tau[i] == 0 {
			continue
		}
		for j := i + 1; j < p.Rows; j++ {
			to := p.Row(j)[i:]
			Axpy(-tau[i]*Dot(v, to), v, to)
		}
	}
	return tau
}

// triangleOf computes T from the inner products of reflection vectors (Schreiber & Van Loan 1989).
func triangleOf(t, inner View[float64], tau []float64) {
	for i, f := range tau {
		t.Set(i, i, f)
		for r := range i {
			t.Set(r, i, -f*Dot(t.Row(r)[r:i], inner.Row(i)[r:i]))
		}
	}
}

// ApplyQ overwrites x, with n rows, with Qᵀx, or with Qx if back is true.
func (s *Band) ApplyQ(x View[float64], back bool) {
	if x.Cols == 0 || s.n <= bandWidth {
		return
	}
	hold, buf := borrow[float64](2 * bandWidth * x.Cols)
	defer hold.release()
	products := Dense(bandWidth, x.Cols, x.Cols, buf)
	transformed := Dense(bandWidth, x.Cols, x.Cols, buf[bandWidth*x.Cols:])
	one := func(k int) {
		v, rows, t := s.vectors.Slice(k, k+bandWidth, k+bandWidth, s.n), x.Slice(k+bandWidth, s.n, 0, x.Cols), s.factor(k)
		if !back {
			t = t.T()
		}
		Mul(products, v, rows, false)
		Mul(transformed, t, products, false)
		p := product[float64]{c: rows, a: v.T(), b: transformed, store: subtract}
		_ = p.run() // without a context it cannot fail
	}
	last := (s.n - 1) / bandWidth * bandWidth
	for k := 0; k < last; k += bandWidth {
		if back {
			one(last - bandWidth - k)
		} else {
			one(k)
		}
	}
}
