package datasets

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// SliceRows returns rows lo to hi (hi excluded) of X as a view.
func SliceRows(X mat.Matrix, lo, hi int) mat.Matrix {
	if lo == hi {
		return &mat.Dense{}
	}
	switch m := X.(type) {
	case *mat.Dense:
		_, d := m.Dims()
		return m.Slice(lo, hi, 0, d)
	case *sparse.CSR:
		return m.Slice(lo, hi)
	case *single.Dense:
		return m.Slice(lo, hi)
	}
	rows := make([]int, hi-lo)
	for i := range rows {
		rows[i] = lo + i
	}
	return SelectRows(X, rows)
}

// SelectRows returns a copy of the named rows of X, a matrix of its type where that is a CSR or a
// dense one, else a mat.Dense.
func SelectRows(X mat.Matrix, rows []int) mat.Matrix {
	switch m := X.(type) {
	case *sparse.CSR:
		return m.Select(rows)
	case *single.Dense:
		return m.Select(rows)
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

func pick[T any](list []T, rows []int) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = list[i]
	}
	return out
}
