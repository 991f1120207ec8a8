package pairwise

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/sparse"
)

// ownSpectral is the spectral kernel of one without γ: every γ is 1, and a rule needs no rows.
var ownSpectral = spectral.Kernel{Power: 0, Columns: true}

// ownKernel returns a registered kernel, or one of precomputed values.
func ownKernel(name string) (*Kernel, bool) {
	if name == string(kernel.Precomputed) {
		return &Kernel{Metric: Precomputed, shape: ownShape, spectral: ownSpectral}, true
	}
	f := kernel.Name(name).Func()
	return &Kernel{Metric: Function, shape: ownShape, spectral: ownSpectral, function: f, name: name}, f != nil
}

// WithGram returns the kernel of precomputed values for rows of which row i of gram has the values, and
// for new rows. Rows that the values are of are unit vectors: ids[i] is the column of row i.
func (k *Kernel) WithGram(gram *mat.Dense, ids []int) *Kernel {
	out := *k
	out.gram = make(map[int][]float64, len(ids))
	for i, id := range ids {
		out.gram[id] = gram.RawRowView(i)
	}
	return &out
}

// Units returns unit vectors of d columns: rows that a kernel of precomputed values knows by their number.
func Units(ids []int, d int) *sparse.CSR {
	indptr, indices := make([]int, len(ids)+1), make([]uint32, len(ids))
	for i, id := range ids {
		indptr[i+1], indices[i] = i+1, uint32(id)
	}
	out, err := sparse.NewShared(len(ids), d, indptr, indices, 1)
	if err != nil {
		panic(err) // of numbers that are not below d
	}
	return out
}

// IsUnits reports whether X are unit vectors.
func IsUnits(X mat.Matrix) bool {
	m, ok := X.(*sparse.CSR)
	if !ok {
		return false
	}
	n, _ := m.Dims()
	if v, shared := m.Shared(); !shared || v != 1 {
		return false
	}
	for i := range n {
		if columns, _ := m.Row(i); len(columns) != 1 {
			return false
		}
	}
	return true
}

// CheckExport returns an error if a graph cannot compute the kernel of that name.
func (k *Kernel) CheckExport(name string) error {
	switch k.Metric {
	case Precomputed:
		return errors.New("cannot export kernel precomputed: its values are computed outside of the model; use predict")
	case Function:
		return fmt.Errorf("cannot export kernel %s: it is a function of a Go program; use the model file in the program", name)
	}
	return nil
}

// ownRows are rows of a kernel without a frame.
type ownRows struct {
	function kernel.Func
	values   [][]float64 // inputs of the function, or precomputed values
	units    []int       // number of each row among the training rows; nil for new rows
}

// prepareOwn makes r the rows lo to hi of X. Values of new rows are copied.
func (r *Rows[T]) prepareOwn(k *Kernel, X mat.Matrix, lo, hi int) {
	own := &ownRows{function: k.function, values: make([][]float64, 0, hi-lo)}
	r.own, r.norms = own, nil
	if m, ok := X.(*sparse.CSR); ok && k.Metric == Precomputed {
		own.units = make([]int, 0, hi-lo)
		for i := lo; i < hi; i++ {
			columns, _ := m.Row(i)
			own.units = append(own.units, int(columns[0]))
			own.values = append(own.values, k.gram[int(columns[0])])
		}
		return
	}
	buffer := make([]float64, (hi-lo)*r.d)
	for i := lo; i < hi; i++ {
		row := buffer[(i-lo)*r.d : (i-lo+1)*r.d : (i-lo+1)*r.d]
		design.WriteRow(row, X, i)
		own.values = append(own.values, row)
	}
}

func (o *ownRows) slice(lo, hi int) *ownRows {
	out := &ownRows{function: o.function, values: o.values[lo:hi]}
	if o.units != nil {
		out.units = o.units[lo:hi]
	}
	return out
}

func (o *ownRows) pick(list []int) *ownRows {
	out := &ownRows{function: o.function, values: make([][]float64, len(list))}
	if o.units != nil {
		out.units = make([]int, len(list))
	}
	for i, at := range list {
		if out.values[i] = o.values[at]; o.units != nil {
			out.units[i] = o.units[at]
		}
	}
	return out
}

// value returns the kernel value of row i of o and row j of p, of which one is a training row.
func (o *ownRows) value(i int, p *ownRows, j int) float64 {
	switch {
	case o.function != nil:
		return o.function(o.values[i], p.values[j])
	case p.units != nil:
		return o.values[i][p.units[j]]
	}
	return p.values[j][o.units[i]]
}

// ownValues writes the kernel values of all pairs.
func ownValues[T kern.Float](dst kern.View[T], x, y *ownRows) {
	for i := range dst.Rows {
		row := dst.Row(i)
		for j := range row {
			row[j] = T(x.value(i, y, j))
		}
	}
}
