package bins

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Transform returns the bins of the rows of X, a *mat.Dense or *matrices.CSR without values beyond
// the limit.
func (m *Map) Transform(ctx context.Context, X mat.Matrix) (*matrices.CSR, error) {
	n, _ := X.Dims()
	columns := make([]uint32, n*m.Grids)
	for lo := 0; lo < n; lo += binRows {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		m.fill(ctx, columns[lo*m.Grids:], X, lo, min(lo+binRows, n))
	}
	return m.Features(ctx, X, columns)
}

// Features returns the features of rows by their columns, which it spoils; an error where ctx is done,
// and columns are half found.
func (m *Map) Features(ctx context.Context, X mat.Matrix, columns []uint32) (*matrices.CSR, error) {
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	if m.Smooth {
		values, err := m.weigh(ctx, X)
		if err != nil {
			return nil, err
		}
		values = keepPresent(values, columns)
		indptr, columns := dropAbsent(columns, n, m.Grids)
		return matrices.NewCSR(n, m.Width(), indptr, columns, values)
	}
	indptr, columns := dropAbsent(columns, n, m.Grids)
	return matrices.NewSharedCSR(n, m.Width(), indptr, columns, 1/math.Sqrt(float64(m.Grids)))
}

// smallBlock is the number of rows that are hashed individually.
const smallBlock = 8

// fill writes the columns of rows lo to hi, notThere for bins without one, row by row.
func (m *Map) fill(ctx context.Context, columns []uint32, X mat.Matrix, lo, hi int) {
	if hi-lo <= hashRows {
		m.fillRows(columns, X, lo, hi)
		return
	}
	kern.Parallel(hi-lo, hashRows, func(from, to int) {
		if ctx.Err() != nil {
			return
		}
		m.fillRows(columns[from*m.Grids:], X, lo+from, lo+to)
	})
}

func (m *Map) fillRows(columns []uint32, X mat.Matrix, lo, hi int) {
	w := workPool.Get().(*work)
	defer workPool.Put(w)
	if hi-lo < smallBlock {
		for p := range m.Grids {
			some := w.hashes[:hi-lo]
			for i := range some {
				some[i] = m.hashRow(X, lo+i, p)
			}
			m.look(columns, some, p)
		}
		return
	}
	t := tilePool.Get().(*tile)
	defer tilePool.Put(t)
	t.read(m, X, lo, hi)
	for p := range m.Grids {
		m.look(columns, m.hash(w, t, p), p)
	}
}

// look writes the columns of bins in grid p by their hashes, which it spoils.
func (m *Map) look(columns []uint32, hashes []uint64, p int) {
	first := uint32(m.First[p])
	if m.Hashed > 0 {
		size := uint64(m.Hashed / m.Grids)
		for i, h := range hashes {
			column, _ := bits.Mul64(h, size)
			columns[i*m.Grids+p] = first + uint32(column)
		}
		return
	}
	m.tables[p].find(hashes)
	for i, number := range hashes {
		column := uint32(number)
		if column != missingBin {
			column += first
		}
		columns[i*m.Grids+p] = column
	}
}

// keepPresent removes the values whose bins have no column.
func keepPresent(values []float64, columns []uint32) []float64 {
	end := 0
	for k, c := range columns {
		if c != missingBin {
			values[end] = values[k]
			end++
		}
	}
	return values[:end]
}

// dropAbsent removes bins without a column and returns the row pointers.
func dropAbsent(columns []uint32, rows, grids int) ([]int, []uint32) {
	indptr := make([]int, rows+1)
	end := 0
	for i := range rows {
		for _, c := range columns[i*grids : (i+1)*grids] {
			if c != missingBin {
				columns[end] = c
				end++
			}
		}
		indptr[i+1] = end
	}
	if end < len(columns)/2 {
		return indptr, slices.Clone(columns[:end])
	}
	return indptr, columns[:end:end]
}
