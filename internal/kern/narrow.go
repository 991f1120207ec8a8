package kern

// Narrow is a few vectors, packed for products with the rows of matrices: so few that packing the
// rows as [Mul] does would cost more than the products. It is safe for concurrent use.
type Narrow[T Float] struct {
	w      View[T]
	packed []T // panels of columns: [panel][element][column of the panel]
}

// fewVectors is up to how many vectors are multiplied one after the other: a panel of them would be zeros for the most part.
const fewVectors = 2

// NewNarrow packs the rows of w, k vectors of d elements.
func NewNarrow[T Float](w View[T]) *Narrow[T] {
	v := &Narrow[T]{w: w}
	if !v.inPanels() {
		return v
	}
	v.packed = make([]T, v.padded()*w.Cols)
	v.panels(func(first, width int) {
		panel := v.packed[first*w.Cols:]
		for j := first; j < min(first+width, w.Rows); j++ {
			for q := range w.Cols {
				panel[q*width+j-first] = w.At(j, q)
			}
		}
	})
	return v
}

// inPanels reports whether the vectors are multiplied in panels.
func (v *Narrow[T]) inPanels() bool { return isa != portable && v.w.Rows > fewVectors }

// padded is the number of vectors with zero ones added up to whole panels.
func (v *Narrow[T]) padded() int {
	n := 0
	v.panels(func(first, width int) { n = first + width })
	return n
}

// panels calls f for each panel with its first vector and its width: as wide as the kernels go, the
// last one as narrow as they do.
func (v *Narrow[T]) panels(f func(first, width int)) {
	nr := blockingOf[T]().nr
	least := lanesOf[T]() // width of the narrowest kernel, which on arm64 has two vectors a row
	if isa == neon {
		least *= 2
	}
	for first := 0; first < v.w.Rows; first += nr {
		f(first, min(nr, roundUp(v.w.Rows-first, least)))
	}
}

// NarrowTile is the most rows that a [NarrowPass] takes at once.
const NarrowTile = 128

// TileRows is how many rows a pass had best be given at once: of few vectors, such that they stay in the second-level cache
// between both products; of more, so many that the sums are not read too often.
func (v *Narrow[T]) TileRows() int {
	size, bytes, least := 4, 1<<19, 64
	if is64[T]() {
		size = 8
	}
	if v.w.Rows <= fewVectors {
		bytes, least = 1<<18, 4
	}
	return min(max(bytes/(size*max(v.w.Cols, 1)), least), NarrowTile)
}

// NarrowPass reads rows tile by tile: it multiplies them with the vectors, and once the caller has
// turned these scores into weights, adds up the rows times the weights.
//
//	scores[j,i] = Σ_q w[j,q]·a[i,q];   sums[j,q] += Σ_i weights[j,i]·a[i,q]
//
// Rows are used where they are. A tile should fit into the second-level cache, which then is read
// from memory once. Cost 4nkd flops for n rows. The sums over q and i have a fixed order.
// One or two vectors are multiplied one after the other, as [MulVec] does.
type NarrowPass[T Float] struct {
	v      *Narrow[T]
	scores []T // padded vectors × NarrowTile
	sums   []T // padded to whole tiles
	rows   int // of sums
	width  int // of sums
	left   []T // packed weights
	edge   []T // the last columns of a tile
}

// NewPass returns a pass that has seen no rows.
func (v *Narrow[T]) NewPass() *NarrowPass[T] {
	f := &NarrowPass[T]{v: v, rows: v.w.Rows, width: v.w.Cols}
	if v.inPanels() {
		bl := blockingOf[T]()
		f.rows, f.width = roundUp(f.rows, bl.mr), roundUp(f.width, bl.nr)
		f.left = make([]T, f.rows*NarrowTile)
		f.edge = make([]T, max(bl.nr*NarrowTile, bl.mr*v.w.Cols))
	}
	f.scores = make([]T, max(f.rows, v.padded())*NarrowTile)
	f.sums = make([]T, f.rows*f.width)
	return f
}

// Scores returns the products of at most NarrowTile rows with the vectors, k × n, for the caller to
// overwrite with weights before Add.
func (f *NarrowPass[T]) Scores(a View[T]) View[T] {
	w := f.v.w
	out := f.Weights(a.Rows)
	if a.Rows > NarrowTile || a.Cols != w.Cols || a.ColStride != 1 {
		panic("kern: NarrowPass of rows that do not fit")
	}
	if a.Rows == 0 || w.Rows == 0 {
		return out
	}
	if w.Rows <= fewVectors {
		for j := range w.Rows {
			MulVec(out.Row(j), a, w.Row(j), false)
		}
		return out
	}
	if !f.v.inPanels() {
		Mul(out, w, a.T(), false)
		return out
	}
	mr := blockingOf[T]().mr
	rows := a
	if a.Rows < mr { // padded by rows of zeros
		rows = Dense(mr, a.Cols, a.Cols, f.edge)
		clear(f.edge[:mr*a.Cols])
		for i := range a.Rows {
			copy(rows.Row(i), a.Row(i))
		}
	}
	var tile [8 * 48]T
	for i := 0; i < a.Rows; i += mr {
		at := min(i, rows.Rows-mr) // the last ones are made twice
		f.v.panels(func(first, width int) {
			scoresAsm(width, a.Cols, &rows.Data[at*rows.RowStride], rows.RowStride, &f.v.packed[first*w.Cols], &tile[0])
			transpose(f.scores[first*NarrowTile+at:], NarrowTile, tile[:], width, 1, mr, width)
		})
	}
	return out
}

// Weights returns the place of the weights of n rows, k × n, for Add without Scores.
func (f *NarrowPass[T]) Weights(n int) View[T] { return Dense(f.v.w.Rows, n, NarrowTile, f.scores) }

// Add adds up the rows that Scores was given times the weights that are now in its place.
func (f *NarrowPass[T]) Add(a View[T]) {
	w := f.v.w
	if a.Rows == 0 || w.Rows == 0 {
		return
	}
	if w.Rows <= fewVectors {
		for j := range w.Rows {
			MulVecT(f.sums[j*f.width:][:w.Cols], a, f.scores[j*NarrowTile:][:a.Rows], true)
		}
		return
	}
	if !f.v.inPanels() {
		Mul(Dense(w.Rows, w.Cols, f.width, f.sums), Dense(w.Rows, a.Rows, NarrowTile, f.scores), a, true)
		return
	}
	bl := blockingOf[T]()
	clear(f.scores[w.Rows*NarrowTile:])
	packPanels(f.left, Dense(f.rows, a.Rows, NarrowTile, f.scores), bl.mr, 0, f.rows, 0, a.Rows, nil)
	whole := w.Cols / bl.nr
	if rest := w.Cols - whole*bl.nr; rest > 0 {
		for i := range a.Rows {
			edge := f.edge[i*bl.nr : (i+1)*bl.nr]
			clear(edge[copy(edge, a.Row(i)[whole*bl.nr:]):])
		}
	}
	for i := 0; i < f.rows; i += bl.mr {
		left, sums := &f.left[i*a.Rows], f.sums[i*f.width:]
		if whole > 0 {
			weighAsm(whole, a.Rows, left, &a.Data[0], a.RowStride, &sums[0], f.width)
		}
		if whole*bl.nr < w.Cols {
			weighAsm(1, a.Rows, left, &f.edge[0], bl.nr, &sums[whole*bl.nr], f.width)
		}
	}
}

// Sums returns what has been added up, k × d, to be read or cleared.
func (f *NarrowPass[T]) Sums() View[T] {
	return Dense(f.v.w.Rows, f.v.w.Cols, f.width, f.sums)
}
