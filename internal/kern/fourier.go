package kern

import "unsafe"

// CosMap computes a tile of random Fourier features with random phases:
//
//	dst[i,j] = scale·cos(Σ_k x[i,k]·w[k,j] + b[j])
//
// X is n × d with any strides, W is d × m, b has m elements or is nil for zeros, dst is n × m,
// row-major. The features of a row do not depend on the other rows, bit for bit. A few rows are
// processed without goroutines and allocation, in one pass over W in place, whose rows should be
// contiguous. Cost: 2nmd flops and nm cosines; the angles stay in the first-level cache.
func CosMap[T Float](dst, x, w View[T], b []T, scale T) {
	if b != nil && len(b) != w.Cols {
		panic("kern: CosMap needs one phase per frequency")
	}
	m := fourierMap[T]{dst: dst, x: x, w: w, phases: b, scale: scale}
	m.run()
}

// SinCosMap computes a tile of paired random Fourier features, cosine and sine
// of a frequency next to each other:
//
//	dst[i,2j]   = scale·cos(Σ_k x[i,k]·w[k,j])
//	dst[i,2j+1] = scale·sin(Σ_k x[i,k]·w[k,j])
//
// X is n × d with any strides, W is d × m, dst is n × 2m, row-major; see
// CosMap for the rest.
func SinCosMap[T Float](dst, x, w View[T], scale T) {
	m := fourierMap[T]{dst: dst, x: x, w: w, scale: scale, paired: true}
	m.run()
}

// fourierMap is one call of CosMap or SinCosMap. It multiplies like product, but to full depth at
// once, and converts each tile of sums to features while it is in the first-level cache.
type fourierMap[T Float] struct {
	dst, x, w View[T]
	phases    []T
	scale     T
	paired    bool
}

// mapRows is the number of rows of a tile of sums, a multiple of every mr. It is small because rows
// of dst at power-of-two distances share cache sets.
const mapRows = 24

// maxUnpackedRows is the largest number of rows for which W is not packed.
const maxUnpackedRows = 4

func (m *fourierMap[T]) run() {
	width := m.w.Cols
	if m.paired {
		width *= 2
	}
	if m.x.Cols != m.w.Rows || m.dst.Rows != m.x.Rows || m.dst.Cols != width {
		panic("kern: Fourier map of shapes that do not fit")
	}
	if m.dst.ColStride != 1 {
		panic("kern: Fourier map into rows that are not contiguous")
	}
	if m.x.Rows == 0 || m.w.Cols == 0 {
		return
	}
	bl := blockingOf[T]()
	if m.x.Rows <= maxUnpackedRows && m.w.ColStride == 1 && m.w.Cols >= bl.nr {
		for i := range m.x.Rows {
			m.row(bl, i)
		}
		return
	}
	// Limit the packed W to a few megabytes.
	columns := bl.nr * max(1, 1<<20/(bl.nr*(m.x.Cols+1)))
	depth := m.x.Cols
	hold, packed := borrow[T](roundUp(min(columns, m.w.Cols), bl.nr)*depth + 1)
	defer hold.release()
	for j := 0; j < m.w.Cols; j += columns {
		nj := min(columns, m.w.Cols-j)
		m.pack(packed, bl, j, nj)
		m.stripes(packed, bl, j, nj)
	}
}

func (m *fourierMap[T]) pack(packed []T, bl blocking, j, nj int) {
	if m.x.Rows <= maxUnpackedRows {
		packPanels(packed, m.w.T(), bl.nr, j, nj, 0, m.w.Rows, nil)
		return
	}
	p := product[T]{b: m.w}
	p.packRight(packed, bl, 0, m.w.Rows, j, nj)
}

// stripes computes all rows of columns [j, j+nj).
func (m *fourierMap[T]) stripes(packed []T, bl blocking, j, nj int) {
	rows := m.x.Rows
	if rows <= mapRows || rows*nj*(m.x.Cols+16) < 1<<18 {
		m.stripe(packed, bl, j, nj, 0, rows)
		return
	}
	q := *m // m itself stays off the heap
	Parallel(rows, 2*mapRows, func(lo, hi int) { q.stripe(packed, bl, j, nj, lo, hi) })
}

// stripe computes rows [lo, hi) of columns [j, j+nj).
func (m *fourierMap[T]) stripe(packed []T, bl blocking, j, nj, lo, hi int) {
	depth := m.x.Cols
	hold, left := borrow[T](mapRows * (depth + bl.nr))
	defer hold.release()
	sums, left := left[:mapRows*bl.nr], left[mapRows*bl.nr:]
	for i := lo; i < hi; i += mapRows {
		ni := min(mapRows, hi-i)
		packPanels(left, m.x, bl.mr, i, ni, 0, depth, nil)
		for jr := 0; jr < nj; jr += bl.nr {
			tiles((ni+bl.mr-1)/bl.mr, depth, left, packed[jr*depth:], sums, bl.nr, set)
			m.finish(sums, bl.nr, i, j+jr, ni, min(bl.nr, nj-jr))
		}
	}
}

// rowColumns is the number of columns of a row summed before conversion to features: small enough
// for the first-level cache, large enough for long reads of W, a multiple of every nr.
const rowColumns = 480

// row computes row i from the unpacked W. The last block of columns may overlap the one before;
// both results are equal.
func (m *fourierMap[T]) row(bl blocking, i int) {
	depth := m.x.Cols
	hold, sums := borrow[T](rowColumns + depth)
	defer hold.release()
	sums, x := sums[:rowColumns], sums[rowColumns:]
	for k := range x {
		x[k] = m.x.At(i, k)
	}
	for done := 0; done < m.w.Cols; {
		n := min(rowColumns, m.w.Cols/bl.nr*bl.nr, roundUp(m.w.Cols-done, bl.nr))
		j := min(done, m.w.Cols-n)
		clear(sums)
		combineRows(sums[:n], m.w, x, 0, depth, j)
		m.finishRow(bl, sums[:n], i, j)
		done = j + n
	}
}

// finishRow converts the sums of row i from frequency j on to features. It treats its panels as the
// rows of a tile and adds the phases first.
func (m *fourierMap[T]) finishRow(bl blocking, sums []T, i, j int) {
	width, data := bl.nr, m.dst.Data[i*m.dst.RowStride:]
	if m.paired {
		width *= 2
		data = data[2*j:]
	} else {
		data = data[j:]
	}
	if m.phases != nil {
		Axpy(1, m.phases[j:j+len(sums)], sums)
	}
	panels := len(sums) / bl.nr
	tile := fourierMap[T]{dst: Dense(panels, width, width, data), scale: m.scale, paired: m.paired}
	tile.finish(sums, bl.nr, 0, 0, panels, bl.nr)
}

// finish converts ni × nj sums, with row stride nr, to the features of rows i… and frequencies j….
func (m *fourierMap[T]) finish(sums []T, nr, i, j, ni, nj int) {
	if isa == portable {
		m.finishPortable(sums, nr, i, j, ni, nj)
		return
	}
	if nj < nr {
		m.finishEdge(sums, nr, i, j, ni, nj)
		return
	}
	var ok bool
	if m.paired {
		ok = sinCosTileAsm(&m.dst.Data[i*m.dst.RowStride+2*j], m.dst.RowStride, &sums[0], m.scale, ni)
	} else {
		phases := &noPhases[T]()[0]
		if m.phases != nil {
			phases = &m.phases[j]
		}
		ok = cosTileAsm(&m.dst.Data[i*m.dst.RowStride+j], m.dst.RowStride, &sums[0], phases, m.scale, ni)
	}
	if !ok {
		m.finishPatched(sums, nr, i, j, ni, nj)
	}
}

// finishEdge is finish for a tile narrower than that of the assembly; it uses a temporary full
// tile.
func (m *fourierMap[T]) finishEdge(sums []T, nr, i, j, ni, nj int) {
	var phases [maxTileColumns]T
	if m.phases != nil {
		copy(phases[:], m.phases[j:j+nj])
	}
	each := 1
	if m.paired {
		each = 2
	}
	hold, out := borrow[T](ni * each * nr)
	defer hold.release()
	whole := fourierMap[T]{dst: Dense(ni, each*nr, each*nr, out), phases: phases[:], scale: m.scale, paired: m.paired}
	whole.finish(sums, nr, 0, 0, ni, nr)
	for r := range ni {
		copy(m.dst.Row(i + r)[each*j:each*(j+nj)], out[r*each*nr:])
	}
}

// finishPatched is finish for a tile with arguments outside the range of the assembly.
func (m *fourierMap[T]) finishPatched(sums []T, nr, i, j, ni, nj int) {
	hold, tame := borrow[T](ni * nr)
	defer hold.release()
	clear(tame)
	for r := range ni {
		for s := range nj {
			if angle := m.angle(sums, nr, r, j, s); inRange(angle) {
				tame[r*nr+s] = angle
			}
		}
	}
	calm := *m
	calm.phases = nil
	calm.finish(tame, nr, i, j, ni, nj)
	for r := range ni {
		for s := range nj {
			if angle := m.angle(sums, nr, r, j, s); !inRange(angle) {
				m.feature(i+r, j+s, angle)
			}
		}
	}
}

func (m *fourierMap[T]) finishPortable(sums []T, nr, i, j, ni, nj int) {
	for r := range ni {
		for s := range nj {
			m.feature(i+r, j+s, m.angle(sums, nr, r, j, s))
		}
	}
}

// angle returns element (r, s) of a tile of sums that starts at frequency j, plus its phase.
func (m *fourierMap[T]) angle(sums []T, nr, r, j, s int) T {
	if m.phases == nil {
		return sums[r*nr+s]
	}
	return sums[r*nr+s] + m.phases[j+s]
}

// feature stores the feature of frequency j in row i for an angle.
func (m *fourierMap[T]) feature(i, j int, angle T) {
	row := m.dst.Data[i*m.dst.RowStride:]
	if m.paired {
		s, c := sinCos(float64(angle))
		row[2*j], row[2*j+1] = m.scale*T(c), m.scale*T(s)
		return
	}
	_, c := sinCos(float64(angle))
	row[j] = m.scale * T(c)
}

// noPhases returns zero phases for a tile.
func noPhases[T Float]() *[maxTileColumns]T { return (*[maxTileColumns]T)(unsafe.Pointer(&zeros)) }

var zeros [maxTileColumns]float64

// maxTileColumns is the largest nr.
const maxTileColumns = 48
