package matrices

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Dense32 is a rows×cols matrix of float32 in row-major order.
type Dense32 struct {
	rows, cols, stride int
	data               []float32
}

var _ mat.Matrix = (*Dense32)(nil)

// NewDense32 returns a rows×cols matrix backed by data, or by a new slice if data is nil. It panics if
// len(data) is not rows·cols.
func NewDense32(rows, cols int, data []float32) *Dense32 {
	if data == nil {
		data = make([]float32, rows*cols)
	}
	if len(data) != rows*cols || rows < 0 || cols < 0 {
		panic(fmt.Sprintf("matrices: a %d×%d matrix must have %d elements, got %d", rows, cols, rows*cols, len(data)))
	}
	return &Dense32{rows: rows, cols: cols, stride: cols, data: data}
}

// CopyDense32 returns m rounded to float32.
func CopyDense32(m mat.Matrix) *Dense32 {
	rows, cols := m.Dims()
	out := NewDense32(rows, cols, nil)
	dense, isDense := m.(*mat.Dense)
	for i := range rows {
		row := out.Row(i)
		if isDense {
			for j, v := range dense.RawRowView(i) {
				row[j] = float32(v)
			}
			continue
		}
		for j := range row {
			row[j] = float32(m.At(i, j))
		}
	}
	return out
}

// Dims returns the number of rows and columns.
func (m *Dense32) Dims() (rows, cols int) { return m.rows, m.cols }

// At returns entry (i, j). It panics if the indices are out of range.
func (m *Dense32) At(i, j int) float64 {
	if uint(i) >= uint(m.rows) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(m.cols) {
		panic(mat.ErrColAccess)
	}
	return float64(m.data[i*m.stride+j])
}

// T returns the transpose as a view.
func (m *Dense32) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// Row returns a view of row i.
func (m *Dense32) Row(i int) []float32 {
	at := i * m.stride
	return m.data[at : at+m.cols : at+m.cols]
}

// Raw returns the backing slice and its stride.
func (m *Dense32) Raw() (data []float32, stride int) { return m.data, m.stride }

// Slice returns a view of rows lo to hi, hi excluded.
func (m *Dense32) Slice(lo, hi int) *Dense32 {
	out := *m
	out.rows = hi - lo
	out.data = m.data[lo*m.stride : hi*m.stride : hi*m.stride]
	return &out
}

// Leading returns a view of the first cols columns.
func (m *Dense32) Leading(cols int) *Dense32 {
	if cols < 0 || cols > m.cols {
		panic(mat.ErrColAccess)
	}
	out := *m
	out.cols = cols
	return &out
}

// Select returns a copy of the given rows in the given order.
func (m *Dense32) Select(rows []int) *Dense32 {
	out := NewDense32(len(rows), m.cols, nil)
	for k, i := range rows {
		copy(out.Row(k), m.Row(i))
	}
	return out
}
