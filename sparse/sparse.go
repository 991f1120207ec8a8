// Package sparse holds matrices of which few entries are not zero, row by row.
//
// A [CSR] is a gonum mat.Matrix, so it goes wherever a matrix goes; code that knows it reads whole
// rows with [CSR.Row] and never looks at the zeros. Where every stored entry has the same value, as
// in one-hot and binning features, the matrix keeps that one value and no array of values.
package sparse

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// CSR is a matrix in compressed sparse row form. It is immutable by convention: nobody writes into
// a CSR that somebody else can see, so rows may be shared between matrices.
//
// Row i holds the entries indptr[i] to indptr[i+1] of indices and values. Columns ascend within a
// row. With values nil every stored entry is scale.
type CSR struct {
	rows, cols int
	indptr     []int
	indices    []uint32
	values     []float64
	scale      float64
}

var _ mat.Matrix = (*CSR)(nil)

// New returns a rows×cols matrix over the given arrays, which it keeps: len(indptr) is rows+1,
// columns are below cols and ascend within each row. It returns an error where they do not.
func New(rows, cols int, indptr []int, indices []uint32, values []float64) (*CSR, error) {
	if values == nil {
		values = []float64{}
	}
	m := &CSR{rows: rows, cols: cols, indptr: indptr, indices: indices, values: values}
	if len(values) != len(indices) {
		return nil, fmt.Errorf("sparse: %d values for %d column numbers", len(values), len(indices))
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// NewShared returns a rows×cols matrix in which every stored entry has the value scale.
func NewShared(rows, cols int, indptr []int, indices []uint32, scale float64) (*CSR, error) {
	m := &CSR{rows: rows, cols: cols, indptr: indptr, indices: indices, scale: scale}
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return nil, fmt.Errorf("sparse: the shared value is %v", scale)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check finds what would make a later access go wrong.
func (m *CSR) check() error {
	if m.rows < 0 || m.cols < 0 || int64(m.cols) > math.MaxUint32 {
		return fmt.Errorf("sparse: %d×%d is not a size", m.rows, m.cols)
	}
	if len(m.indptr) != m.rows+1 || m.indptr[0] != 0 || m.indptr[m.rows] != len(m.indices) {
		return fmt.Errorf("sparse: row starts do not fit %d rows and %d entries", m.rows, len(m.indices))
	}
	for i := range m.rows {
		lo, hi := m.indptr[i], m.indptr[i+1]
		if lo > hi || hi > len(m.indices) {
			return fmt.Errorf("sparse: row %d starts at %d and ends at %d", i, lo, hi)
		}
		row := m.indices[lo:hi]
		for k, j := range row {
			if int(j) >= m.cols {
				return fmt.Errorf("sparse: row %d has column %d of %d", i, j, m.cols)
			}
			if k > 0 && row[k-1] >= j {
				return fmt.Errorf("sparse: row %d: column %d follows column %d", i, j, row[k-1])
			}
		}
	}
	return nil
}

// FromDense returns m's non-zero entries as a CSR. A NaN is an entry.
func FromDense(m mat.Matrix) *CSR {
	rows, cols := m.Dims()
	out := &CSR{rows: rows, cols: cols, indptr: make([]int, rows+1), values: []float64{}}
	for i := range rows {
		for j := range cols {
			if v := m.At(i, j); v != 0 {
				out.indices = append(out.indices, uint32(j))
				out.values = append(out.values, v)
			}
		}
		out.indptr[i+1] = len(out.indices)
	}
	return out
}

// Dims returns the number of rows and columns.
func (m *CSR) Dims() (rows, cols int) { return m.rows, m.cols }

// At returns entry (i, j), found by bisection; read rows with [CSR.Row] where speed matters.
// Like every mat.Matrix it panics outside the matrix.
func (m *CSR) At(i, j int) float64 {
	if uint(i) >= uint(m.rows) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(m.cols) {
		panic(mat.ErrColAccess)
	}
	lo, hi := m.indptr[i], m.indptr[i+1]
	k, ok := slices.BinarySearch(m.indices[lo:hi], uint32(j))
	switch {
	case !ok:
		return 0
	case m.values == nil:
		return m.scale
	}
	return m.values[lo+k]
}

// T returns the transpose as a view.
func (m *CSR) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// NNZ returns the number of stored entries.
func (m *CSR) NNZ() int { return len(m.indices) }

// Shared reports the one value of all stored entries, where the matrix keeps only that.
func (m *CSR) Shared() (value float64, ok bool) { return m.scale, m.values == nil }

// Row returns the columns and values of row i, to be read only. Values is nil when they are
// [CSR.Shared].
func (m *CSR) Row(i int) (columns []uint32, values []float64) {
	lo, hi := m.indptr[i], m.indptr[i+1]
	if m.values == nil {
		return m.indices[lo:hi:hi], nil
	}
	return m.indices[lo:hi:hi], m.values[lo:hi:hi]
}

// RowTo writes row i, zeros included, to dst, as long as the matrix is wide.
func (m *CSR) RowTo(dst []float64, i int) {
	clear(dst)
	columns, values := m.Row(i)
	if values == nil {
		for _, j := range columns {
			dst[j] = m.scale
		}
		return
	}
	for k, j := range columns {
		dst[j] = values[k]
	}
}

// Raw returns the arrays behind the matrix, to be read only: row starts, columns, and values (nil
// when they are [CSR.Shared]).
func (m *CSR) Raw() (indptr []int, indices []uint32, values []float64) {
	return m.indptr, m.indices, m.values
}

// Slice returns rows i to k (k excluded) as a matrix that shares m's columns and values.
func (m *CSR) Slice(i, k int) *CSR {
	lo, hi := m.indptr[i], m.indptr[k]
	indptr := m.indptr[i : k+1]
	if lo != 0 {
		indptr = make([]int, k-i+1)
		for r := range indptr {
			indptr[r] = m.indptr[i+r] - lo
		}
	}
	out := &CSR{rows: k - i, cols: m.cols, indptr: indptr, indices: m.indices[lo:hi:hi], scale: m.scale}
	if m.values != nil {
		out.values = m.values[lo:hi:hi]
	}
	return out
}

// Select returns the named rows, in that order, as a matrix of its own.
func (m *CSR) Select(rows []int) *CSR {
	n := 0
	for _, i := range rows {
		n += m.indptr[i+1] - m.indptr[i]
	}
	out := &CSR{rows: len(rows), cols: m.cols, indptr: make([]int, 1, len(rows)+1), indices: make([]uint32, 0, n), scale: m.scale}
	if m.values != nil {
		out.values = make([]float64, 0, n)
	}
	for _, i := range rows {
		columns, values := m.Row(i)
		out.indices = append(out.indices, columns...)
		if values != nil {
			out.values = append(out.values, values...)
		}
		out.indptr = append(out.indptr, len(out.indices))
	}
	return out
}

// Dense returns a dense copy.
func (m *CSR) Dense() *mat.Dense {
	if m.rows == 0 || m.cols == 0 {
		return &mat.Dense{}
	}
	out := mat.NewDense(m.rows, m.cols, nil)
	for i := range m.rows {
		m.RowTo(out.RawRowView(i), i)
	}
	return out
}

// Stack returns the rows of all parts, which are equally wide, one after the other. Values stay
// shared where every part shares the same one.
func Stack(parts []*CSR) *CSR {
	out := &CSR{cols: parts[0].cols, scale: parts[0].scale}
	n, shared := 0, true
	for _, p := range parts {
		out.rows += p.rows
		n += len(p.indices)
		shared = shared && p.values == nil && p.scale == out.scale
	}
	out.indptr = make([]int, 1, out.rows+1)
	out.indices = make([]uint32, 0, n)
	if !shared {
		out.values = make([]float64, 0, n)
	}
	for _, p := range parts {
		base := len(out.indices)
		for _, end := range p.indptr[1:] {
			out.indptr = append(out.indptr, base+end)
		}
		out.indices = append(out.indices, p.indices...)
		if shared {
			continue
		}
		if p.values != nil {
			out.values = append(out.values, p.values...)
			continue
		}
		for range p.indices {
			out.values = append(out.values, p.scale)
		}
	}
	return out
}
