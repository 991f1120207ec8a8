package kern

import (
	"context"
	"math"
)

// Band is A = Q·B·Qᵀ with Q orthogonal and B a band matrix, of which the systems (A + s·I)x = b of many s are solved
// at the cost of a narrow band each: nearly all of the n³ flops of a factor are made once.
//
// A is brought to the band by block reflections I − VTVᵀ, one for each panel of columns, so that all but a small part
// of the work is in products (Bischof, Lang & Sun, A framework for symmetric band reduction, ACM TOMS 2000; the first
// of their two stages, for a system needs no second one).
type Band struct {
	n       int
	vectors View[float64] // row k has the vector of column k, from the column on where the next block of B begins
	blocks  []float64     // of B: of each block row the lower triangle on the diagonal, and what is to its right
	factors []float64     // T of each panel
}

// bandWidth is the number of columns of a panel, and of entries of B beside its diagonal: a multiple of every mr.
const bandWidth = 48

// blockSize is the number of entries of a block of B.
const blockSize = bandWidth * bandWidth

// NewBand reduces the symmetric A of which it reads the lower triangle, and takes A's memory. Cost 4n³/3 flops. Once
// ctx is done it returns ctx.Err().
func NewBand(ctx context.Context, a View[float64]) (*Band, error) {
	if a.Rows != a.Cols || a.ColStride != 1 {
		panic("kern: Band of a matrix that is not square in row-major order")
	}
	n := a.Rows
	panels := (n + bandWidth - 1) / bandWidth
	s := &Band{n: n, vectors: a, blocks: make([]float64, 2*blockSize*panels), factors: make([]float64, blockSize*panels)}
	hold, room := borrow[float64](5 * bandWidth * n)
	defer hold.release()
	for k := 0; k < n; k += bandWidth {
		w, rest := min(bandWidth, n-k), max(0, n-k-bandWidth)
		inner, right := s.block(k)
		for i := range w {
			copy(inner.Row(i)[:i+1], a.Row(k + i)[k:])
		}
		if rest == 0 {
			break
		}
		behind := a.Slice(k+w, n, k+w, n)
		mirrorInto(a.Slice(k, k+w, k+w, n), a.Slice(k+w, n, k, k+w))
		tau := reflectRows(a.Slice(k, k+w, k+w, n), right)
		if err := s.reflect(ctx, k, tau, behind, room); err != nil {
			return nil, err
		}
	}
	return s, ctx.Err()
}

// block returns the two blocks of B that begin at row k: the one on the diagonal and the one to its right.
func (s *Band) block(k int) (inner, right View[float64]) {
	w, next := min(bandWidth, s.n-k), min(bandWidth, max(0, s.n-k-bandWidth))
	at := s.blocks[2*k*bandWidth:]
	return Dense(w, w, bandWidth, at), Dense(w, next, bandWidth, at[blockSize:])
}

// factor returns T of the panel that begins at row k.
func (s *Band) factor(k int) View[float64] {
	return Dense(bandWidth, bandWidth, bandWidth, s.factors[k*bandWidth:])
}

// mirrorInto writes the transpose of src to dst.
func mirrorInto(dst, src View[float64]) {
	transpose(dst.Data, dst.RowStride, src.Data, src.RowStride, 1, src.Rows, src.Cols)
}

// reflectRows makes the reflections that clear row i of p beyond its entry i, applies each to the rows below, writes
// what is left, a lower triangle, to left, and leaves the vectors in p.
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

// reflect applies the reflections of the panel at row k to the matrix behind it, of which the upper triangle is
// written as well.
func (s *Band) reflect(ctx context.Context, k int, tau [bandWidth]float64, behind View[float64], room []float64) error {
	m := behind.Rows
	v := s.vectors.Slice(k, k+bandWidth, k+bandWidth, s.n)
	t := s.factor(k)
	var hold [blockSize]float64
	inner := Dense(bandWidth, bandWidth, bandWidth, hold[:])
	Mul(inner, v, v.T(), false)
	triangleOf(t, inner, tau[:])
	// Rows of left are v and x, those of right x and v.
	left, right := Dense(2*bandWidth, m, m, room), Dense(2*bandWidth, m, m, room[2*bandWidth*m:])
	y, x := Dense(bandWidth, m, m, room[4*bandWidth*m:]), right.Slice(0, bandWidth, 0, m)
	MirrorLower(behind)
	if err := MulUntil(ctx, y, v, behind, false); err != nil {
		return err
	}
	Mul(x, t.T(), y, false) // W' of W = SVT
	var along, half [blockSize]float64
	g, h := Dense(bandWidth, bandWidth, bandWidth, along[:]), Dense(bandWidth, bandWidth, bandWidth, half[:])
	Mul(g, v, x.T(), false) // V'W
	Mul(h, t.T(), g, false) // T'V'W
	Scale(-0.5, half[:])
	Mul(x, h, v, true)
	for i := range bandWidth {
		copy(left.Row(i), v.Row(i))
		copy(left.Row(bandWidth+i), x.Row(i))
		copy(right.Row(bandWidth+i), v.Row(i))
	}
	p := product[float64]{c: behind, a: left.T(), b: right, finish: subtract, lower: true, ctx: ctx}
	return p.run()
}

// triangleOf writes to t the T of the reflections whose vectors have the given inner products (Schreiber & Van Loan
// 1989).
func triangleOf(t, inner View[float64], tau []float64) {
	for i, f := range tau {
		t.Set(i, i, f)
		for r := range i {
			sum := 0.0
			for q := r; q < i; q++ {
				sum += t.At(r, q) * inner.At(q, i)
			}
			t.Set(r, i, -f*sum)
		}
	}
}

// Turn overwrites x, n × any, with Qᵀx, or with Qx where back is true.
func (s *Band) Turn(x View[float64], back bool) {
	if x.Cols == 0 || s.n <= bandWidth {
		return
	}
	hold, room := borrow[float64](2 * bandWidth * x.Cols)
	defer hold.release()
	along, turned := Dense(bandWidth, x.Cols, x.Cols, room), Dense(bandWidth, x.Cols, x.Cols, room[bandWidth*x.Cols:])
	one := func(k int) {
		v, rows, t := s.vectors.Slice(k, k+bandWidth, k+bandWidth, s.n), x.Slice(k+bandWidth, s.n, 0, x.Cols), s.factor(k)
		if !back {
			t = t.T()
		}
		Mul(along, v, rows, false)
		Mul(turned, t, along, false)
		p := product[float64]{c: rows, a: v.T(), b: turned, finish: subtract}
		_ = p.run() // without a context
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

// BandFlops returns what a factor of a band matrix of n rows costs.
func BandFlops(n int) float64 { return 7.0 / 3 * float64(n) * bandWidth * bandWidth }

// Len returns how many numbers a factor of the band takes.
func (s *Band) Len() int { return len(s.blocks) }

// Factor writes the Cholesky factor of B + shift·I to dst, of Len numbers, and returns its smallest pivot, squared,
// and the smallest share of a pivot in the entry that it came from. ok is false where a pivot is no positive number.
func (s *Band) Factor(dst []float64, shift float64) (least, share float64, ok bool) {
	copy(dst, s.blocks)
	f, ctx := &Band{n: s.n, blocks: dst}, context.Background()
	least, share = math.Inf(1), math.Inf(1)
	for k := 0; k < s.n; k += bandWidth {
		inner, right := f.block(k)
		before, _ := s.block(k)
		for i := range inner.Rows {
			inner.Set(i, i, inner.At(i, i)+shift)
		}
		if _, ok, _ := Cholesky(ctx, inner); !ok {
			return 0, 0, false
		}
		for i := range inner.Rows {
			pivot := inner.At(i, i) * inner.At(i, i)
			least, share = min(least, pivot), min(share, pivot/(before.At(i, i)+shift))
		}
		if right.Cols == 0 {
			break
		}
		_ = SolveLower(ctx, inner, right) // an error is the context's
		next, _ := f.block(k + bandWidth)
		p := product[float64]{c: next, a: right.T(), b: right, finish: subtract, lower: true}
		_ = p.run()
	}
	return least, share, true
}

// Solve overwrites x, n × k, with (B + shift·I)⁻¹x by what Factor has written.
func (s *Band) Solve(factor []float64, x View[float64]) {
	f := &Band{n: s.n, blocks: factor}
	ctx := context.Background()
	last := (s.n - 1) / bandWidth * bandWidth
	for k := 0; k < s.n; k += bandWidth {
		inner, right := f.block(k)
		own := x.Slice(k, k+inner.Rows, 0, x.Cols)
		_ = SolveLower(ctx, inner, own) // an error is the context's
		if k < last {
			_ = subtractProduct(ctx, x.Slice(k+bandWidth, k+bandWidth+right.Cols, 0, x.Cols), right.T(), own)
		}
	}
	for k := last; k >= 0; k -= bandWidth {
		inner, right := f.block(k)
		own := x.Slice(k, k+inner.Rows, 0, x.Cols)
		if k < last {
			_ = subtractProduct(ctx, own, right, x.Slice(k+bandWidth, k+bandWidth+right.Cols, 0, x.Cols))
		}
		_ = SolveLowerT(ctx, inner, own)
	}
}
