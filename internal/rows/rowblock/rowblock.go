// Package rowblock slices and selects rows of matrices, and defines how many rows a block has.
package rowblock

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/matrices"
)

// Size is the number of rows of a block of a source; the last block may have fewer.
const Size = 2048

// maxBytes bounds a block of a source with many dense columns.
const maxBytes = 64 << 20

// SizeForWidth returns the number of rows of a block of a dense source with the given number of
// columns: [Size], or fewer if these would take more than 64 MiB.
func SizeForWidth(cols int) int {
	return max(1, min(Size, maxBytes/8/max(cols, 1)))
}

// SizeFor returns the number of rows of a block of X.
func SizeFor(X mat.Matrix) int {
	if _, ok := X.(*matrices.CSR); ok || X == nil {
		return Size
	}
	_, cols := X.Dims()
	return SizeForWidth(cols)
}

// Slice returns rows lo to hi−1 of X, as a view unless X is of a foreign type.
func Slice(X mat.Matrix, lo, hi int) mat.Matrix {
	if lo == hi {
		return &mat.Dense{}
	}
	switch m := X.(type) {
	case *mat.Dense:
		_, d := m.Dims()
		return m.Slice(lo, hi, 0, d)
	case *matrices.CSR:
		return m.Slice(lo, hi)
	case *matrices.Dense32:
		return m.Slice(lo, hi)
	case *textrows.Matrix:
		return m.WithDense(Slice(m.Dense(), lo, hi).(*mat.Dense))
	}
	rows := make([]int, hi-lo)
	for i := range rows {
		rows[i] = lo + i
	}
	return Select(X, rows)
}

// Select returns a copy of the given rows of X: a *matrices.CSR, *matrices.Dense32 or *textrows.Matrix if X is one, else
// a *mat.Dense. Text rows share their strings.
func Select(X mat.Matrix, rows []int) mat.Matrix {
	switch m := X.(type) {
	case *matrices.CSR:
		return m.Select(rows)
	case *matrices.Dense32:
		return m.Select(rows)
	case *textrows.Matrix:
		return m.WithDense(Select(m.Dense(), rows).(*mat.Dense))
	}
	_, d := X.Dims()
	if len(rows) == 0 || d == 0 {
		return &mat.Dense{}
	}
	out := mat.NewDense(len(rows), d, nil)
	for k, i := range rows {
		if m, ok := X.(*mat.Dense); ok {
			copy(out.RawRowView(k), m.RawRowView(i))
			continue
		}
		row := out.RawRowView(k)
		for j := range row {
			row[j] = X.At(i, j)
		}
	}
	return out
}

// EvenlySpaced returns at most maxRows of the row numbers 0 to n−1, evenly spaced and ascending.
func EvenlySpaced(n, maxRows int) []int {
	out := make([]int, min(n, maxRows))
	for i := range out {
		out[i] = int(int64(i) * int64(n) / int64(len(out)))
	}
	return out
}

// ConcatColumns concatenates sparse blocks of n rows by column, each multiplied by its scale.
func ConcatColumns(n int, blocks []*matrices.CSR, scales []float64) (*matrices.CSR, error) {
	width, nnz, shared, common := 0, 0, true, 0.0
	for k, b := range blocks {
		_, cols := b.Dims()
		width, nnz = width+cols, nnz+b.NNZ()
		if b.NNZ() == 0 {
			continue
		}
		v, ok := b.Shared()
		v *= scales[k]
		if common == 0 {
			common = v
		}
		shared = shared && ok && v == common
	}
	indptr, indices := make([]int, 1, n+1), make([]uint32, 0, nnz)
	var values []float64
	if !shared {
		values = make([]float64, 0, nnz)
	}
	for i := range n {
		first := uint32(0)
		for k, b := range blocks {
			columns, own := b.Row(i)
			one, _ := b.Shared()
			for q, j := range columns {
				indices = append(indices, first+j)
				switch {
				case shared:
				case own == nil:
					values = append(values, one*scales[k])
				default:
					values = append(values, own[q]*scales[k])
				}
			}
			_, cols := b.Dims()
			first += uint32(cols)
		}
		indptr = append(indptr, len(indices))
	}
	if shared {
		return matrices.NewSharedCSR(n, width, indptr, indices, common)
	}
	return matrices.NewCSR(n, width, indptr, indices, values)
}
