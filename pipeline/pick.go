package pipeline

import (
	"context"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/sparse"
)

// columns returns the rows with only the named columns, nil for all.
func (r rows) columns(index []int) rows {
	if index == nil {
		return r
	}
	r.sample = new(desk).pick(r.sample, index)
	if r.src != nil {
		r.src = narrowed{base: r.src, index: index, schema: pickSchema(r.src.Schema(), index)}
		return r
	}
	r.set.X = new(desk).pick(r.set.X, index)
	r.set.Schema = pickSchema(r.set.Schema, index)
	return r
}

// narrowed is a source with only some columns of another.
type narrowed struct {
	base   datasets.Source
	index  []int
	schema datasets.Schema
}

func (s narrowed) Schema() datasets.Schema { return s.schema }

func (s narrowed) Dims() (n, cols int) {
	n, _ = s.base.Dims()
	return n, len(s.index)
}

func (s narrowed) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	var d desk
	return s.base.Blocks(ctx, func(block datasets.Set) error {
		block.X, block.Schema = d.pick(block.X, s.index), s.schema
		return yield(block)
	})
}

func pickSchema(in datasets.Schema, index []int) datasets.Schema {
	if index == nil {
		return in
	}
	columns := make([]datasets.Column, len(index))
	for k, j := range index {
		columns[k] = in.Column(j)
	}
	return in.WithColumns(columns)
}

// pick returns the named columns of X, nil for all. A dense result is valid until the next pick.
func (d *desk) pick(X mat.Matrix, index []int) mat.Matrix {
	if index == nil {
		return X
	}
	if m, ok := X.(*sparse.CSR); ok {
		return d.pickSparse(m, index)
	}
	n, _ := X.Dims()
	if n == 0 || len(index) == 0 {
		return &mat.Dense{}
	}
	out := d.picked.shape(n, len(index))
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

// positions returns where in index a column stands. The memory it takes does not grow with columns
// without bounds, for a model file may claim any number of sparse ones.
func (d *desk) positions(cols int, index []int) func(column uint32) int32 {
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
	d.inverse = slices.Grow(d.inverse[:0], cols)[:cols]
	for j := range d.inverse {
		d.inverse[j] = absent
	}
	for k, j := range index {
		d.inverse[j] = int32(k)
	}
	return func(column uint32) int32 { return d.inverse[column] }
}

// pickSparse returns the named columns of m as a matrix of its own.
func (d *desk) pickSparse(m *sparse.CSR, index []int) mat.Matrix {
	n, cols := m.Dims()
	position := d.positions(cols, index)
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
	var out *sparse.CSR
	if isShared {
		out, _ = sparse.NewShared(n, len(index), indptr, indices, shared)
	} else {
		out, _ = sparse.New(n, len(index), indptr, indices, values)
	}
	return out
}

// entries are those of a sparse row, sorted by column.
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
