package rowblock

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/matrices"
)

// Picker selects columns of rows. It reuses its memory from one block to the next.
type Picker struct {
	dense   mat.Dense
	data    []float64
	inverse []int32
}

// Columns returns the columns of X with the given numbers, nil for all. A dense result is valid until the next call.
func (p *Picker) Columns(X mat.Matrix, index []int) mat.Matrix {
	if index == nil {
		return X
	}
	if m, ok := X.(*matrices.CSR); ok {
		return p.sparse(m, index)
	}
	if m := textrows.Of(X); m != nil {
		dense, ok := p.Columns(m.Dense(), index).(*mat.Dense)
		if !ok || dense.IsEmpty() {
			return &mat.Dense{}
		}
		return m.Columns(dense, index)
	}
	n, _ := X.Dims()
	if n == 0 || len(index) == 0 {
		return &mat.Dense{}
	}
	out := p.shape(n, len(index))
	m, isDense := X.(*mat.Dense)
	for i := range n {
		row := out.RawRowView(i)
		if !isDense {
			for k, j := range index {
				row[k] = X.At(i, j)
			}
			continue
		}
		from := m.RawRowView(i)
		for k, j := range index {
			row[k] = from[j]
		}
	}
	return out
}

const absent = math.MaxInt32

// positions returns a function from a column to its position in index, or −1. Its table is bounded,
// because a model file may claim any number of sparse columns.
func (p *Picker) positions(cols int, index []int) func(column uint32) int32 {
	const most = 1 << 20
	if cols > most {
		at := make(map[uint32]int32, len(index))
		for k, j := range index {
			at[uint32(j)] = int32(k)
		}
		return func(column uint32) int32 {
			if k, ok := at[column]; ok {
				return k
			}
			return absent
		}
	}
	p.inverse = slices.Grow(p.inverse[:0], cols)[:cols]
	for j := range p.inverse {
		p.inverse[j] = absent
	}
	for k, j := range index {
		p.inverse[j] = int32(k)
	}
	return func(column uint32) int32 { return p.inverse[column] }
}

// sparse returns the selected columns of m as a new matrix.
func (p *Picker) sparse(m *matrices.CSR, index []int) mat.Matrix {
	n, cols := m.Dims()
	position := p.positions(cols, index)
	shared, isShared := m.Shared()
	indptr, indices := make([]int, 1, n+1), []uint32{}
	var values []float64
	for i := range n {
		columns, own := m.Row(i)
		for q, j := range columns {
			if k := position(j); k != absent {
				indices = append(indices, uint32(k))
				if !isShared {
					values = append(values, own[q])
				}
			}
		}
		indptr = append(indptr, len(indices))
	}
	if !slices.IsSorted(index) {
		for i := range n {
			lo, hi := indptr[i], indptr[i+1]
			e := entries{indices[lo:hi], nil}
			if !isShared {
				e.values = values[lo:hi]
			}
			sort.Sort(e)
		}
	}
	var out *matrices.CSR
	if isShared {
		out, _ = matrices.NewSharedCSR(n, len(index), indptr, indices, shared)
	} else {
		out, _ = matrices.NewCSR(n, len(index), indptr, indices, values)
	}
	return out
}

// entries contains the entries of a sparse row, sorted by column.
type entries struct {
	columns []uint32
	values  []float64
}

func (e entries) Len() int           { return len(e.columns) }
func (e entries) Less(i, j int) bool { return e.columns[i] < e.columns[j] }
func (e entries) Swap(i, j int) {
	e.columns[i], e.columns[j] = e.columns[j], e.columns[i]
	if e.values != nil {
		e.values[i], e.values[j] = e.values[j], e.values[i]
	}
}

// shape returns the dense matrix with that many rows and columns and arbitrary contents.
func (p *Picker) shape(rows, cols int) *mat.Dense {
	if cap(p.data) < rows*cols {
		p.data = make([]float64, rows*cols)
	}
	p.dense.SetRawMatrix(blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: p.data[:rows*cols]})
	return &p.dense
}
