package bins

import (
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// tile stores rows for binning: mostly-zero columns, such as one-hot encoded inputs, as lists of
// nonzero entries, others by rows. A grid costs a few operations per nonzero entry. For grids of a
// few columns the dense columns are stored by column, so that unused ones cost nothing.
type tile struct {
	rows, stride int
	full         []int     // columns stored by row or by column
	data         []float64 // rows×full, a row every stride numbers; or full×rows
	own, turned  []float64 // memory for data that is copied, row by row and column by column
	rare         []int     // the other columns that are not 0 everywhere
	ends         []int     // of each rare column in the lists
	at           []int32   // rows of the entries of rare columns
	values       []float64
	// index of each column, in column storage: among the dense ones, from −2 down among the sparse
	// ones, or none
	place []int
}

// nowhere is the place of a column that is 0 in all rows of a tile.
const nowhere = -1

// tileRows is the number of rows in a tile.
const tileRows = 2048

// hashRows is the number of rows binned per task.
const hashRows = 256

// binRows is the number of rows binned between two checks of the context.
const binRows = 1 << 13

// work is the workspace of a goroutine.
type work struct {
	hashes         [tileRows]uint64
	inverse, shift []float64 // of a tile's full columns in a grid
	multipliers    []uint64
}

var workPool = sync.Pool{New: func() any { return new(work) }}

// rarely is the reciprocal of the maximum fraction of nonzero entries of a sparse column.
const rarely = 6

var tilePool = sync.Pool{New: func() any { return new(tile) }}

// read takes rows lo to hi of X, a *mat.Dense or *matrices.CSR, for the grids of m.
func (t *tile) read(m *Map, X mat.Matrix, lo, hi int) {
	t.readRows(X, lo, hi)
	if m.Inputs != nil {
		t.turn(len(m.Gamma))
	}
}

// turn stores the dense ones of d columns by column.
func (t *tile) turn(d int) {
	width := len(t.full)
	if need := t.rows * width; cap(t.turned) < need {
		t.turned = make([]float64, need)
	}
	columns := t.turned[:t.rows*width]
	for i := range t.rows {
		for k, v := range t.data[i*t.stride:][:width] {
			columns[k*t.rows+i] = v
		}
	}
	t.data, t.stride = columns, t.rows
	t.place = slices.Grow(t.place[:0], d)[:d]
	for j := range t.place {
		t.place[j] = nowhere
	}
	for k, j := range t.full {
		t.place[j] = k
	}
	for k, j := range t.rare {
		t.place[j] = nowhere - 1 - k
	}
}

func (t *tile) readRows(X mat.Matrix, lo, hi int) {
	_, d := X.Dims()
	t.rows, t.stride, t.data = hi-lo, 0, nil
	t.full, t.rare, t.ends = t.full[:0], t.rare[:0], t.ends[:0]
	if rows, ok := X.(*matrices.CSR); ok {
		t.readSparse(rows, lo, hi, d)
		return
	}
	raw := X.(*mat.Dense).RawMatrix()
	counts := make([]int, d)
	for i := lo; i < hi; i++ {
		for j, v := range raw.Data[i*raw.Stride:][:d] {
			if v != 0 {
				counts[j]++
			}
		}
	}
	entries := t.sort(counts, t.rows/rarely)
	if len(t.full) == d {
		t.data, t.stride = raw.Data[lo*raw.Stride:], raw.Stride
		return
	}
	t.grow(entries)
	t.stride = len(t.full)
	if need := t.rows * t.stride; cap(t.own) < need {
		t.own = make([]float64, need)
	}
	t.data = t.own[:t.rows*t.stride]
	for i := range t.rows {
		row, to := raw.Data[(lo+i)*raw.Stride:][:d], t.data[i*t.stride:(i+1)*t.stride]
		for k, j := range t.full {
			to[k] = row[j]
		}
		for k, j := range t.rare {
			if v := row[j]; v != 0 {
				t.put(k, i, v)
			}
		}
	}
}

// readSparse takes all columns for rare.
func (t *tile) readSparse(rows *matrices.CSR, lo, hi, d int) {
	counts := make([]int, d)
	for i := lo; i < hi; i++ {
		columns, _ := rows.Row(i)
		for _, j := range columns {
			counts[j]++
		}
	}
	t.grow(t.sort(counts, t.rows))
	place := counts // of a column among the rare ones
	for k, j := range t.rare {
		place[j] = k
	}
	shared, _ := rows.Shared()
	for i := lo; i < hi; i++ {
		columns, values := rows.Row(i)
		for k, j := range columns {
			v := shared
			if values != nil {
				v = values[k]
			}
			t.put(place[j], i-lo, v)
		}
	}
}

// sort divides the columns by their numbers of entries, and returns the total number of entries of
// rare columns. It sets the ends of rare columns to their starts.
func (t *tile) sort(counts []int, most int) (entries int) {
	for j, n := range counts {
		switch {
		case n > most:
			t.full = append(t.full, j)
		case n > 0:
			t.rare, t.ends = append(t.rare, j), append(t.ends, entries)
			entries += n
		}
	}
	return entries
}

func (t *tile) grow(entries int) {
	if cap(t.at) < entries {
		t.at, t.values = make([]int32, entries), make([]float64, entries)
	}
	t.at, t.values = t.at[:entries], t.values[:entries]
}

func (t *tile) put(k, row int, v float64) {
	at := t.ends[k]
	t.at[at], t.values[at] = int32(row), v
	t.ends[k]++
}

// hash returns the hashes of all rows of t in grid p, in w.
func (m *Map) hash(w *work, t *tile, p int) []uint64 {
	hashes := w.hashes[:t.rows]
	if m.Inputs != nil {
		m.hashFew(hashes, t, p)
		return hashes
	}
	d := len(m.Gamma)
	inverse, shift := m.inverse[p*d:(p+1)*d], m.Shift[p*d:(p+1)*d]
	start := m.origin[p]
	w.inverse, w.shift, w.multipliers = w.inverse[:0], w.shift[:0], w.multipliers[:0]
	for _, j := range t.full {
		w.inverse, w.shift = append(w.inverse, inverse[j]), append(w.shift, shift[j])
		w.multipliers = append(w.multipliers, m.Multipliers[j])
		start -= m.Multipliers[j] * bin(0, inverse[j], shift[j])
	}
	w.addFull(hashes, t, start)
	from := 0
	for k, j := range t.rare {
		v, u, a := inverse[j], shift[j], m.Multipliers[j]
		zero, values := bin(0, v, u), t.values[from:t.ends[k]]
		for q, i := range t.at[from:t.ends[k]] {
			hashes[i] += a * (bin(values[q], v, u) - zero)
		}
		from = t.ends[k]
	}
	for i, sum := range hashes {
		hashes[i] = settleHash(sum, p)
	}
	return hashes
}

// hashFew is hash for a grid of a few inputs.
func (m *Map) hashFew(hashes []uint64, t *tile, p int) {
	start := m.origin[p]
	lo, hi := m.span(p)
	for s := lo; s < hi; s++ {
		if j := m.columns[s]; t.place[j] >= 0 {
			start -= m.Multipliers[j] * bin(0, m.inverse[s], m.Shift[s])
		}
	}
	for i := range hashes {
		hashes[i] = start
	}
	for s := lo; s < hi; s++ {
		j := m.columns[s]
		v, u, a := m.inverse[s], m.Shift[s], m.Multipliers[j]
		switch k := t.place[j]; {
		case k >= 0:
			for i, x := range t.data[k*t.rows:][:len(hashes)] {
				hashes[i] += a * bin(x, v, u)
			}
		case k < nowhere:
			k, from := nowhere-1-k, 0
			if k > 0 {
				from = t.ends[k-1]
			}
			zero := bin(0, v, u)
			for q, i := range t.at[from:t.ends[k]] {
				hashes[i] += a * (bin(t.values[from+q], v, u) - zero)
			}
		}
	}
	for i, sum := range hashes {
		hashes[i] = settleHash(sum, p)
	}
}

// addFull sets the hashes to start plus the contributions of full columns, four rows at a time.
func (w *work) addFull(hashes []uint64, t *tile, start uint64) {
	width := len(t.full)
	inverse, shift, multipliers := w.inverse[:width], w.shift[:width], w.multipliers[:width]
	row := func(i int) []float64 { return t.data[i*t.stride:][:width] }
	i := 0
	for ; i+4 <= len(hashes); i += 4 {
		x0, x1, x2, x3 := row(i), row(i+1), row(i+2), row(i+3)
		s0, s1, s2, s3 := start, start, start, start
		for j, a := range multipliers {
			v, u := inverse[j], shift[j]
			s0 += a * bin(x0[j], v, u)
			s1 += a * bin(x1[j], v, u)
			s2 += a * bin(x2[j], v, u)
			s3 += a * bin(x3[j], v, u)
		}
		hashes[i], hashes[i+1], hashes[i+2], hashes[i+3] = s0, s1, s2, s3
	}
	for ; i < len(hashes); i++ {
		sum := start
		for j, x := range row(i) {
			sum += multipliers[j] * bin(x, inverse[j], shift[j])
		}
		hashes[i] = sum
	}
}

// hashRow computes the hash of one row in grid p.
func (m *Map) hashRow(X mat.Matrix, i, p int) uint64 {
	if m.Inputs != nil {
		sum := uint64(0)
		lo, hi := m.span(p)
		for s := lo; s < hi; s++ {
			j := m.columns[s]
			sum += m.Multipliers[j] * bin(X.At(i, j), m.inverse[s], m.Shift[s])
		}
		return settleHash(sum, p)
	}
	d := len(m.Gamma)
	inverse, shift := m.inverse[p*d:(p+1)*d], m.Shift[p*d:(p+1)*d]
	rows, ok := X.(*matrices.CSR)
	if !ok {
		sum := uint64(0)
		for j, x := range X.(*mat.Dense).RawRowView(i) {
			sum += m.Multipliers[j] * bin(x, inverse[j], shift[j])
		}
		return settleHash(sum, p)
	}
	shared, _ := rows.Shared()
	columns, values := rows.Row(i)
	sum := m.origin[p]
	for k, j := range columns {
		v := shared
		if values != nil {
			v = values[k]
		}
		sum += m.Multipliers[j] * (bin(v, inverse[j], shift[j]) - bin(0, inverse[j], shift[j]))
	}
	return settleHash(sum, p)
}
