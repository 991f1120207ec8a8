package transformer

import (
	"context"
	"fmt"
	"math"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/sparse"
)

// Nested is a Fitter whose maps are nested: that of one spec is, up to a factor, the leading features
// of the map of another that has more. A search over the number fits the map with the most, once.
type Nested interface {
	Fitter
	// Within reports whether the receiver's map, fitted to the same rows, is part of wide's, which
	// may be equal to it.
	Within(wide Fitter) bool
	// Part returns the receiver's map, given that of a wide spec it is within, and its features of
	// rows that the wide map has made Z of.
	Part(ctx context.Context, wide Transformer, Z mat.Matrix) (Transformer, mat.Matrix, error)
}

var _ Nested = Binning{}

// Within reports whether wide lays the same grids, or more of them, and has exact columns: hashed
// ones are another number for each grid.
func (s Binning) Within(wide Fitter) bool {
	w, ok := wide.(Binning)
	if !ok || s.Grids > w.Grids || !s.Columns.exact {
		return false
	}
	w.Grids = s.Grids
	return reflect.DeepEqual(s, w)
}

// Part copies the columns of the first grids, 4 bytes for each row and grid. It is what Fit and
// Transform make to the bit, but for the smooth kernel, whose values are rounded once more.
func (s Binning) Part(ctx context.Context, wide Transformer, Z mat.Matrix) (Transformer, mat.Matrix, error) {
	w, ok := wide.(*FittedBinning)
	if !ok {
		return nil, nil, fmt.Errorf("transformer: binning: a part of a %T", wide)
	}
	f, err := w.WithGrids(s.Grids)
	if err != nil {
		return nil, nil, err
	}
	if err := f.place(s.MinCount); err != nil {
		return nil, nil, err
	}
	rows, ok := Z.(*sparse.CSR)
	if !ok {
		return nil, nil, fmt.Errorf("transformer: binning: features in a %T", Z)
	}
	part, err := f.leading(rows, math.Sqrt(float64(w.grids)/float64(s.Grids)))
	return f, part, err
}

// leading returns the features in f's grids, given those in more of them.
func (f *FittedBinning) leading(Z *sparse.CSR, scale float64) (*sparse.CSR, error) {
	n, _ := Z.Dims()
	width := f.OutputWidth()
	indptr := make([]int, n+1)
	for i := range n {
		columns, _ := Z.Row(i)
		k := min(f.grids, len(columns))
		for k > 0 && int(columns[k-1]) >= width {
			k--
		}
		indptr[i+1] = indptr[i] + k
	}
	columns := make([]uint32, indptr[n])
	var values []float64
	if f.kernel.smooth {
		values = make([]float64, indptr[n])
	}
	kern.Parallel(n, tileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			all, own := Z.Row(i)
			copy(columns[indptr[i]:indptr[i+1]], all)
			for k := range values[min(indptr[i], len(values)):min(indptr[i+1], len(values))] {
				values[indptr[i]+k] = scale * own[k]
			}
		}
	})
	if values != nil {
		return sparse.New(n, width, indptr, columns, values)
	}
	return sparse.NewShared(n, width, indptr, columns, 1/math.Sqrt(float64(f.grids)))
}
