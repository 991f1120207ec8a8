package rows

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// Tile is a dense matrix in either precision whose memory is reused for each block of rows.
type Tile struct {
	m      mat.Dense
	data   []float64
	narrow *matrices.Dense32
	short  []float32
}

// Shape returns the tile as a rows×cols matrix with arbitrary contents. Both must be positive.
func (t *Tile) Shape(rows, cols int) *mat.Dense {
	if cap(t.data) < rows*cols {
		t.data = make([]float64, rows*cols)
	}
	t.m.SetRawMatrix(blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: t.data[:rows*cols]})
	return &t.m
}

// ShapeSingle is Shape in float32.
func (t *Tile) ShapeSingle(rows, cols int) *matrices.Dense32 {
	if t.narrow != nil {
		if r, c := t.narrow.Dims(); r == rows && c == cols {
			return t.narrow
		}
	}
	if cap(t.short) < rows*cols {
		t.short = make([]float32, rows*cols)
	}
	t.narrow = matrices.NewDense32(rows, cols, t.short[:rows*cols])
	return t.narrow
}

// CopyOf returns a copy of Z and true if Z is this tile, else nil and false.
func (t *Tile) CopyOf(Z mat.Matrix) (mat.Matrix, bool) {
	switch m := Z.(type) {
	case *mat.Dense:
		if m == &t.m {
			return mat.DenseCopyOf(m), true
		}
	case *matrices.Dense32:
		if m == t.narrow {
			return m.Select(Range(0, rowsIn(m))), true
		}
	}
	return nil, false
}

func rowsIn(X mat.Matrix) int {
	n, _ := X.Dims()
	return n
}

// Window makes header a view of cols columns of m, beginning at column from.
func Window(header, m *mat.Dense, from, cols int) *mat.Dense {
	raw := m.RawMatrix()
	raw.Cols, raw.Data = cols, raw.Data[from:(raw.Rows-1)*raw.Stride+from+cols]
	header.SetRawMatrix(raw)
	return header
}

// Fill overwrites dst with scale·X, which has its shape.
func Fill(dst *mat.Dense, X mat.Matrix, scale float64) {
	rows, _ := dst.Dims()
	for i := range rows {
		row := dst.RawRowView(i)
		design.WriteRow(row, X, i)
		ScaleRow(row, scale)
	}
}

// ScaleRow multiplies a row by scale.
func ScaleRow(row []float64, scale float64) {
	if scale == 1 {
		return
	}
	for j := range row {
		row[j] *= scale
	}
}

// round overwrites dst with X, rounded to float32.
func round(dst *matrices.Dense32, X *mat.Dense) {
	rows, _ := dst.Dims()
	for i := range rows {
		row := dst.Row(i)
		for j, v := range X.RawRowView(i) {
			row[j] = float32(v)
		}
	}
}

// Range returns the integers in [from, to).
func Range(from, to int) []int {
	list := make([]int, to-from)
	for i := range list {
		list[i] = from + i
	}
	return list
}
