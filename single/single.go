// Package single holds dense matrices of float32: half the memory of a mat.Dense, and
// twice the numbers in every load and product.
//
// A [Dense] is a gonum mat.Matrix, so it goes wherever a matrix goes; code that knows it reads
// whole rows with [Dense.Row].
package single

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Dense is a rows×cols matrix of float32 in row-major order.
type Dense struct {
	rows, cols, stride int
	data               []float32
}

var _ mat.Matrix = (*Dense)(nil)

// New returns a rows×cols matrix over data, which it keeps, or over a slice of its own where data
// is nil. It panics, as mat.NewDense does, where data has another length.
func New(rows, cols int, data []float32) *Dense {
	if data == nil {
		data = make([]float32, rows*cols)
	}
	if len(data) != rows*cols || rows < 0 || cols < 0 {
		panic(fmt.Sprintf("single: %d numbers for a %d×%d matrix", len(data), rows, cols))
	}
	return &Dense{rows: rows, cols: cols, stride: cols, data: data}
}

// Copy returns m rounded to single precision.
func Copy(m mat.Matrix) *Dense {
	rows, cols := m.Dims()
	out := New(rows, cols, nil)
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
func (m *Dense) Dims() (rows, cols int) { return m.rows, m.cols }

// At returns entry (i, j). Like every mat.Matrix it panics outside the matrix.
func (m *Dense) At(i, j int) float64 {
	if uint(i) >= uint(m.rows) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(m.cols) {
		panic(mat.ErrColAccess)
	}
	return float64(m.data[i*m.stride+j])
}

// T returns the transpose as a view.
func (m *Dense) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// Row returns row i, a view.
func (m *Dense) Row(i int) []float32 {
	at := i * m.stride
	return m.data[at : at+m.cols : at+m.cols]
}

// Raw returns the numbers behind the matrix, row i beginning at i times stride.
func (m *Dense) Raw() (data []float32, stride int) { return m.data, m.stride }

// Slice returns rows lo to hi (hi excluded) as a view.
func (m *Dense) Slice(lo, hi int) *Dense {
	out := *m
	out.rows = hi - lo
	out.data = m.data[lo*m.stride : hi*m.stride : hi*m.stride]
	return &out
}

// Leading returns the first columns as a view.
func (m *Dense) Leading(cols int) *Dense {
	if cols < 0 || cols > m.cols {
		panic(mat.ErrColAccess)
	}
	out := *m
	out.cols = cols
	return &out
}

// Select returns a copy of the named rows, in that order.
func (m *Dense) Select(rows []int) *Dense {
	out := New(len(rows), m.cols, nil)
	for k, i := range rows {
		copy(out.Row(k), m.Row(i))
	}
	return out
}
