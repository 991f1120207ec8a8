package design

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Native returns X if its type is supported by the solvers, otherwise a dense copy.
func Native(X mat.Matrix) mat.Matrix {
	switch X.(type) {
	case *mat.Dense, *matrices.Dense32, *matrices.CSR:
		return X
	}
	return mat.DenseCopyOf(X)
}

// WithFloat64 calls f with X converted to float64 in a pooled buffer.
func WithFloat64(X mat.Matrix, f func(mat.Matrix) error) error {
	m, ok := X.(*matrices.Dense32)
	if !ok {
		return f(X)
	}
	n, d := m.Dims()
	hold := Borrow[float64](n * d)
	defer hold.Release()
	out := mat.NewDense(n, d, hold.Data)
	widenDense(out, m)
	return f(out)
}

// ToFloat64 returns a float64 copy of float32 rows, and other rows unchanged.
func ToFloat64(X mat.Matrix) mat.Matrix {
	m, ok := X.(*matrices.Dense32)
	if !ok {
		return X
	}
	n, d := m.Dims()
	out := mat.NewDense(n, d, nil)
	widenDense(out, m)
	return out
}

func widenDense(dst *mat.Dense, m *matrices.Dense32) {
	n, d := m.Dims()
	kern.Parallel(n, max(1, 1<<15/d), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			Widen(dst.RawRowView(i), m.Row(i))
		}
	})
}

// Widen converts float32 values to float64.
func Widen(dst []float64, row []float32) {
	for j, v := range row {
		dst[j] = float64(v)
	}
}

// Round converts float64 values to T.
func Round[T kern.Float](dst []T, list []float64) {
	for i, v := range list {
		dst[i] = T(v)
	}
}

// LeadingColumns returns a view of the first columns of dense rows. Rows with that width may be
// sparse.
func LeadingColumns(X mat.Matrix, cols int) mat.Matrix {
	n, d := X.Dims()
	if d == cols {
		return X
	}
	if m, ok := X.(*matrices.Dense32); ok {
		return m.Leading(cols)
	}
	return X.(*mat.Dense).Slice(0, n, 0, cols)
}

// View returns the kern view of a dense matrix.
func View(m *mat.Dense) kern.View[float64] {
	raw := m.RawMatrix()
	return kern.Dense(raw.Rows, raw.Cols, raw.Stride, raw.Data)
}

// ViewFloat32 returns the kern view of a float32 matrix.
func ViewFloat32(m *matrices.Dense32) kern.View[float32] {
	n, d := m.Dims()
	data, stride := m.Raw()
	return kern.Dense(n, d, stride, data)
}

// SparseView returns the kern view of a sparse matrix.
func SparseView(m *matrices.CSR) kern.Sparse[float64] {
	n, d := m.Dims()
	indptr, indices, values := m.Raw()
	scale, shared := m.Shared()
	if !shared {
		scale = 1
	}
	return kern.Sparse[float64]{Rows: n, Cols: d, Indptr: indptr, Indices: indices, Values: values, Scale: scale}
}

// DenseData returns the elements of m in row-major order with stride Cols.
func DenseData(m *mat.Dense) []float64 {
	if raw := m.RawMatrix(); raw.Stride == raw.Cols {
		return raw.Data[:raw.Rows*raw.Cols]
	}
	return mat.DenseCopyOf(m).RawMatrix().Data
}

// WriteRow converts row i of X to float64 and writes it to dst.
func WriteRow(dst []float64, X mat.Matrix, i int) {
	switch x := X.(type) {
	case *mat.Dense:
		copy(dst, x.RawRowView(i))
	case *matrices.Dense32:
		Widen(dst, x.Row(i))
	case *matrices.CSR:
		x.RowTo(dst, i)
	default:
		for j := range dst {
			dst[j] = X.At(i, j)
		}
	}
}

// Row returns row i of X in float64, read-only: a view of a *mat.Dense, otherwise a copy in buffer.
func Row(X mat.Matrix, i int, buffer []float64) []float64 {
	if m, ok := X.(*mat.Dense); ok {
		return m.RawRowView(i)
	}
	WriteRow(buffer, X, i)
	return buffer
}

// MapEntries returns m with every stored entry v of column j replaced by value(j, v).
func MapEntries(ctx context.Context, m *matrices.CSR, value func(j int, v float64) float64) (mat.Matrix, error) {
	rows, cols := m.Dims()
	indptr, indices, values := m.Raw()
	shared, _ := m.Shared()
	out, zeros := make([]float64, len(indices)), 0
	for k, j := range indices {
		if k%(1<<20) == 0 && ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		v := shared
		if values != nil {
			v = values[k]
		}
		if out[k] = value(int(j), v); out[k] == 0 {
			zeros++
		}
	}
	if zeros == 0 {
		return matrices.NewCSR(rows, cols, indptr, indices, out)
	}
	starts, columns, kept := make([]int, rows+1), make([]uint32, 0, len(out)-zeros), out[:0]
	for i := range rows {
		for k := indptr[i]; k < indptr[i+1]; k++ {
			if v := out[k]; v != 0 {
				columns, kept = append(columns, indices[k]), append(kept, v)
			}
		}
		starts[i+1] = len(kept)
	}
	return matrices.NewCSR(rows, cols, starts, columns, kept)
}
