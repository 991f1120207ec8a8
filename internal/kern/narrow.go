package kern

// FewVectors is a small set of vectors, packed for products with the rows of matrices. Unlike
// [Mul], these do not pack the rows, which would cost more than the products. It is safe for
// concurrent use.
type FewVectors[T Float] struct {
	w      View[T]
	widths []int // of the vectors, descending
	spans  []span[T]
}

// span is a range of columns and the number of leading vectors with elements there.
type span[T Float] struct {
	from, to, vectors int
	packed            []T // panels: [panel][element][column of the panel]
}

// maxSeparateVectors is the number of vectors up to which they are multiplied separately, because a
// panel would consist mostly of zeros.
const maxSeparateVectors = 2

// minSpanColumns is the smallest number of columns for which omitting shorter vectors pays.
const minSpanColumns = 64

// NewFewVectors packs the rows of w, k vectors of d elements. If widths is not nil, vector j has
// only the first widths[j] elements; widths must descend.
func NewFewVectors[T Float](w View[T], widths []int) *FewVectors[T] {
	v := &FewVectors[T]{w: w, widths: widths}
	if widths == nil {
		v.widths = make([]int, w.Rows)
		for j := range v.widths {
			v.widths[j] = w.Cols
		}
	}
	for j, width := range v.widths {
		if width > w.Cols || j > 0 && width > v.widths[j-1] || len(v.widths) != w.Rows {
			panic("kern: Narrow of widths that do not fit")
		}
	}
	if widths != nil && !v.packed() {
		v.w = Dense(w.Rows, w.Cols, w.Cols, make([]T, w.Rows*w.Cols))
		for j, width := range widths {
			for q := range width {
				v.w.Set(j, q, w.At(j, q))
			}
		}
	}
	for from := 0; from < w.Cols; {
		s := v.span(from)
		v.spans = append(v.spans, s)
		from = s.to
	}
	return v
}

// span packs the span that begins at a column. It ends where fewer panels suffice, if the spans are
// not too narrow.
func (v *FewVectors[T]) span(from int) span[T] {
	s := span[T]{from: from, to: v.w.Cols, vectors: v.vectorsFrom(from)}
	if from == 0 {
		s.vectors = v.w.Rows
	}
	for j := s.vectors - 1; j >= 0; j-- {
		to := v.widths[j]
		if to >= from+minSpanColumns && v.w.Cols >= to+minSpanColumns && padded[T](v.vectorsFrom(to)) < padded[T](s.vectors) {
			s.to = to
			break
		}
	}
	if !v.packed() {
		return s
	}
	depth := s.to - from
	s.packed = make([]T, padded[T](s.vectors)*depth)
	eachPanel[T](s.vectors, func(first, width int) {
		panel := s.packed[first*depth:]
		for j := first; j < min(first+width, s.vectors); j++ {
			for q := from; q < min(s.to, v.widths[j]); q++ {
				panel[(q-from)*width+j-first] = v.w.At(j, q)
			}
		}
	})
	return s
}

// vectorsFrom returns the number of vectors with elements at or after from.
func (v *FewVectors[T]) vectorsFrom(from int) int {
	n := 0
	for n < len(v.widths) && v.widths[n] > from {
		n++
	}
	return n
}

// packed reports whether the vectors are multiplied in panels.
func (v *FewVectors[T]) packed() bool { return isa != portable && v.w.Rows > maxSeparateVectors }

// padded returns the number of vectors, rounded up to full panels.
func padded[T Float](vectors int) int {
	n := 0
	eachPanel[T](vectors, func(first, width int) { n = first + width })
	return n
}

// eachPanel calls f with the first vector and the width of each panel: the largest kernel width,
// and the smallest sufficient one for the last panel.
func eachPanel[T Float](vectors int, f func(first, width int)) {
	nr := blockingOf[T]().nr
	least := lanesOf[T]() // width of the narrowest kernel, two vectors per row on arm64
	if isa == neon {
		least *= 2
	}
	for first := 0; first < vectors; first += nr {
		f(first, min(nr, roundUp(vectors-first, least)))
	}
}

// MaxTileRows is the largest tile of a [FusedPass].
const MaxTileRows = 128

// TileRows returns the recommended tile size: for few vectors, rows stay in the second-level cache
// between both products; for more, sums are not read too often.
func (v *FewVectors[T]) TileRows() int {
	size, bytes, least := 4, 1<<19, 64
	if is64[T]() {
		size = 8
	}
	if v.w.Rows <= maxSeparateVectors {
		bytes, least = 1<<18, 4
	}
	return min(max(bytes/(size*max(v.w.Cols, 1)), least), MaxTileRows)
}

// FusedPass processes rows tile by tile. It multiplies them by the vectors and, after the caller
// has replaced the scores by weights, sums the weighted rows:
//
//	scores[j,i] = Σ_q w[j,q]·a[i,q];   sums[j,q] += Σ_i weights[j,i]·a[i,q]
//
// Rows are not copied. If a tile fits into the second-level cache, it is read from memory once.
// Cost 4nkd flops for n rows, less for shorter vectors. Sums have a fixed order. One or two vectors
// are multiplied separately, as by [MulVec].
type FusedPass[T Float] struct {
	v      *FewVectors[T]
	scores []T // padded vectors × MaxTileRows
	part   []T // scores of a span
	sums   []T // padded to full tiles
	rows   int // of sums
	width  int // of sums
	left   []T // packed weights
	edge   []T // last columns of a tile
}

// NewPass returns a pass without rows.
func (v *FewVectors[T]) NewPass() *FusedPass[T] {
	f := &FusedPass[T]{v: v, rows: v.w.Rows, width: v.w.Cols}
	if v.packed() {
		bl := blockingOf[T]()
		f.rows, f.width = roundUp(f.rows, bl.mr), roundUp(f.width, bl.nr)
		f.left = make([]T, f.rows*MaxTileRows)
		f.edge = make([]T, max(bl.nr*MaxTileRows, bl.mr*v.w.Cols))
	}
	f.scores = make([]T, max(f.rows, padded[T](v.w.Rows))*MaxTileRows)
	if len(v.spans) > 1 {
		f.part = make([]T, len(f.scores))
	}
	f.sums = make([]T, f.rows*f.width)
	return f
}

// Scores returns the products of at most MaxTileRows rows with the vectors, k × n. The caller
// overwrites them with weights before Add.
func (f *FusedPass[T]) Scores(a View[T]) View[T] {
	w := f.v.w
	out := f.Weights(a.Rows)
	if a.Rows > MaxTileRows || a.Cols != w.Cols || a.ColStride != 1 {
		panic("kern: FusedPass of rows that do not fit")
	}
	if a.Rows == 0 || w.Rows == 0 {
		return out
	}
	if w.Rows <= maxSeparateVectors {
		for j, width := range f.v.widths {
			MulVec(out.Row(j), a.Slice(0, a.Rows, 0, width), w.Row(j)[:width], false)
		}
		return out
	}
	for k, s := range f.v.spans {
		if k == 0 {
			f.project(f.scores, a, s)
			continue
		}
		f.project(f.part, a, s)
		for j := range s.vectors {
			Axpy(1, f.part[j*MaxTileRows:][:a.Rows], out.Row(j))
		}
	}
	return out
}

// project writes the products of rows with the vectors of a span to scores.
func (f *FusedPass[T]) project(scores []T, a View[T], s span[T]) {
	rows := a.Slice(0, a.Rows, s.from, s.to)
	if !f.v.packed() {
		Mul(Dense(s.vectors, a.Rows, MaxTileRows, scores), f.v.w.Slice(0, s.vectors, s.from, s.to), rows.T(), false)
		return
	}
	mr, depth := blockingOf[T]().mr, s.to-s.from
	if a.Rows < mr { // pad with zero rows
		short := rows
		rows = Dense(mr, depth, depth, f.edge)
		clear(f.edge[:mr*depth])
		for i := range short.Rows {
			copy(rows.Row(i), short.Row(i))
		}
	}
	var tile [8 * 48]T
	for i := 0; i < a.Rows; i += mr {
		at := min(i, rows.Rows-mr) // the last tile overlaps the one before
		eachPanel[T](s.vectors, func(first, width int) {
			scoresAsm(width, depth, &rows.Data[at*rows.RowStride], rows.RowStride, &s.packed[first*depth], &tile[0])
			transpose(scores[first*MaxTileRows+at:], MaxTileRows, tile[:], width, 1, mr, width)
		})
	}
}

// Weights returns the matrix of weights of n rows, k × n, for Add without Scores.
func (f *FusedPass[T]) Weights(n int) View[T] { return Dense(f.v.w.Rows, n, MaxTileRows, f.scores) }

// Add adds the rows passed to Scores, multiplied by the weights that replaced the scores.
func (f *FusedPass[T]) Add(a View[T]) {
	w := f.v.w
	if a.Rows == 0 || w.Rows == 0 {
		return
	}
	if w.Rows <= maxSeparateVectors {
		for j, width := range f.v.widths {
			MulVecT(f.sums[j*f.width:][:width], a.Slice(0, a.Rows, 0, width), f.scores[j*MaxTileRows:][:a.Rows], true)
		}
		return
	}
	if !f.v.packed() {
		for _, s := range f.v.spans {
			Mul(Dense(s.vectors, s.to-s.from, f.width, f.sums[s.from:]), Dense(s.vectors, a.Rows, MaxTileRows, f.scores),
				a.Slice(0, a.Rows, s.from, s.to), true)
		}
		return
	}
	bl := blockingOf[T]()
	clear(f.scores[w.Rows*MaxTileRows:])
	packPanels(f.left, Dense(f.rows, a.Rows, MaxTileRows, f.scores), bl.mr, 0, f.rows, 0, a.Rows, nil)
	whole := w.Cols / bl.nr
	if rest := w.Cols - whole*bl.nr; rest > 0 {
		for i := range a.Rows {
			edge := f.edge[i*bl.nr : (i+1)*bl.nr]
			clear(edge[copy(edge, a.Row(i)[whole*bl.nr:]):])
		}
	}
	for i := 0; i < f.rows; i += bl.mr {
		left, sums, width := &f.left[i*a.Rows], f.sums[i*f.width:], f.v.widths[min(i, w.Rows-1)]
		if n := min(whole, (width+bl.nr-1)/bl.nr); n > 0 {
			weighAsm(n, a.Rows, left, &a.Data[0], a.RowStride, &sums[0], f.width)
		}
		if whole*bl.nr < width {
			weighAsm(1, a.Rows, left, &f.edge[0], bl.nr, &sums[whole*bl.nr], f.width)
		}
	}
}

// Sums returns the sums, k × d, to be read or cleared. Elements beyond the width of a vector are
// undefined.
func (f *FusedPass[T]) Sums() View[T] {
	return Dense(f.v.w.Rows, f.v.w.Cols, f.width, f.sums)
}
