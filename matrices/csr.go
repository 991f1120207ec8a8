// Package matrices implements matrices that gonum does not have: sparse rows and dense float32 rows.
//
// Both are gonum mat.Matrix values. [CSR.Row] returns the stored entries of a sparse row. If all
// entries are equal, as in one-hot and binning features, a [CSR] stores a single value. A [Dense32]
// takes half the memory of a mat.Dense and doubles the SIMD throughput.
package matrices

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// CSR is an immutable matrix in compressed sparse row format; matrices may share arrays.
//
// Row i consists of the entries indptr[i] to indptr[i+1] of indices and values, with ascending
// column indices. If values is nil, all stored entries equal scale.
type CSR struct {
	rows, cols int
	indptr     []int
	indices    []uint32
	values     []float64
	scale      float64
}

var _ mat.Matrix = (*CSR)(nil)

// NewCSR returns a rows×cols matrix that uses the given arrays without copying. It returns an error
// unless len(indptr) is rows+1 and the column indices of each row are ascending and below cols.
func NewCSR(rows, cols int, indptr []int, indices []uint32, values []float64) (*CSR, error) {
	if values == nil {
		values = []float64{}
	}
	m := &CSR{rows: rows, cols: cols, indptr: indptr, indices: indices, values: values}
	if len(values) != len(indices) {
		return nil, fmt.Errorf("matrices: values must have length %d, as indices, got %d", len(indices), len(values))
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// NewSharedCSR returns a rows×cols matrix whose stored entries all equal scale.
func NewSharedCSR(rows, cols int, indptr []int, indices []uint32, scale float64) (*CSR, error) {
	m := &CSR{rows: rows, cols: cols, indptr: indptr, indices: indices, scale: scale}
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return nil, fmt.Errorf("matrices: scale must be finite, got %v", scale)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check validates the structure of m.
func (m *CSR) check() error {
	if m.rows < 0 || m.cols < 0 || int64(m.cols) > math.MaxUint32 {
		return fmt.Errorf("matrices: invalid dimensions %d×%d", m.rows, m.cols)
	}
	if len(m.indptr) != m.rows+1 || m.indptr[0] != 0 || m.indptr[m.rows] != len(m.indices) {
		return fmt.Errorf("matrices: indptr must describe %d rows and %d entries", m.rows, len(m.indices))
	}
	for i := range m.rows {
		lo, hi := m.indptr[i], m.indptr[i+1]
		if lo > hi || hi > len(m.indices) {
			return fmt.Errorf("matrices: indptr of row %d must ascend, got %d and %d", i, lo, hi)
		}
		row := m.indices[lo:hi]
		for k, j := range row {
			if int(j) >= m.cols {
				return fmt.Errorf("matrices: row %d: columns must be below %d, got %d", i, m.cols, j)
			}
			if k > 0 && row[k-1] >= j {
				return fmt.Errorf("matrices: row %d: columns must ascend, got %d after %d", i, j, row[k-1])
			}
		}
	}
	return nil
}

// CSRFromDense returns the non-zero entries of m; NaN counts as non-zero.
func CSRFromDense(m mat.Matrix) *CSR {
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

// At returns entry (i, j) by binary search; use [CSR.Row] to access whole rows. It panics if the
// indices are out of range.
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

// Shared returns the value of all stored entries; ok is false if they are stored individually.
func (m *CSR) Shared() (value float64, ok bool) { return m.scale, m.values == nil }

// Row returns the column indices and values of row i, which must not be modified. Values is nil if
// they are [CSR.Shared].
func (m *CSR) Row(i int) (columns []uint32, values []float64) {
	lo, hi := m.indptr[i], m.indptr[i+1]
	if m.values == nil {
		return m.indices[lo:hi:hi], nil
	}
	return m.indices[lo:hi:hi], m.values[lo:hi:hi]
}

// RowTo writes the dense row i to dst, whose length is the number of columns.
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

// Raw returns the row pointers, column indices and values, which must not be modified. Values is
// nil if they are [CSR.Shared].
func (m *CSR) Raw() (indptr []int, indices []uint32, values []float64) {
	return m.indptr, m.indices, m.values
}

// Slice returns rows i to k, k excluded; it shares the arrays of m.
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

// Select returns a copy of the given rows in the given order.
func (m *CSR) Select(rows []int) *CSR {
	n := 0
	for _, i := range rows {
		n += m.indptr[i+1] - m.indptr[i]
	}
	out := &CSR{rows: len(rows), cols: m.cols, indptr: make([]int, 1, len(rows)+1), indices: make([]uint32, 0, n),
		scale: m.scale}
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

// Append returns a new matrix of the rows of m and of more matrices of the same width. Values stay shared if all parts
// share the same value.
func (m *CSR) Append(more ...*CSR) *CSR {
	parts := append([]*CSR{m}, more...)
	out := &CSR{cols: m.cols, scale: m.scale}
	n, isShared := 0, true
	for _, p := range parts {
		out.rows += p.rows
		n += len(p.indices)
		isShared = isShared && p.values == nil && p.scale == out.scale
	}
	out.indptr = make([]int, 1, out.rows+1)
	out.indices = make([]uint32, 0, n)
	if !isShared {
		out.values = make([]float64, 0, n)
	}
	for _, p := range parts {
		base := len(out.indices)
		for _, end := range p.indptr[1:] {
			out.indptr = append(out.indptr, base+end)
		}
		out.indices = append(out.indices, p.indices...)
		if isShared {
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
