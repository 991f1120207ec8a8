package inspection

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/sparse"
)

// varied is rows of which one column is changed at a time.
type varied struct {
	original mat.Matrix
	dense    *mat.Dense  // a copy, of dense rows
	sparse   *sparse.CSR // the rows, of sparse ones
	changed  *sparse.CSR // these with a column changed
	column   []float64   // room for one
}

func newVaried(X mat.Matrix) *varied {
	n, _ := X.Dims()
	v := &varied{original: X, column: make([]float64, n)}
	if m, ok := X.(*sparse.CSR); ok {
		v.sparse, v.changed = m, m
	} else {
		v.dense = mat.DenseCopyOf(X)
	}
	return v
}

// rows are those to predict for.
func (v *varied) rows() mat.Matrix {
	if v.sparse != nil {
		return v.changed
	}
	return v.dense
}

// values puts the original values of a column into room that is used again.
func (v *varied) values(j int) []float64 {
	for i := range v.column {
		v.column[i] = v.original.At(i, j)
	}
	return v.column
}

// constant reports whether all rows have the same in a column, so that nothing changes where it is permuted.
func (v *varied) constant(j int) bool {
	values := v.values(j)
	first := values[0]
	return !slices.ContainsFunc(values, func(x float64) bool { return x != first && !(math.IsNaN(x) && math.IsNaN(first)) })
}

// permute gives row i the value of row order[i] in a column.
func (v *varied) permute(j int, order []int) {
	values := v.values(j)
	v.put(j, func(i int) float64 { return values[order[i]] })
}

// fill gives every row the same value in a column.
func (v *varied) fill(j int, value float64) { v.put(j, func(int) float64 { return value }) }

// restore gives a column its own values back.
func (v *varied) restore(j int) {
	if v.sparse != nil {
		v.changed = v.sparse
		return
	}
	values := v.values(j)
	v.put(j, func(i int) float64 { return values[i] })
}

func (v *varied) put(j int, value func(i int) float64) {
	if v.dense != nil {
		n, _ := v.dense.Dims()
		for i := range n {
			v.dense.Set(i, j, value(i))
		}
		return
	}
	n, d := v.sparse.Dims()
	indptr := make([]int, 1, n+1)
	indices, values := make([]uint32, 0, v.sparse.NNZ()+n), make([]float64, 0, v.sparse.NNZ()+n)
	shared, isShared := v.sparse.Shared()
	for i := range n {
		columns, own := v.sparse.Row(i)
		at, found := slices.BinarySearch(columns, uint32(j))
		of := func(k int) float64 {
			if isShared {
				return shared
			}
			return own[k]
		}
		for k := range at {
			indices, values = append(indices, columns[k]), append(values, of(k))
		}
		if x := value(i); x != 0 {
			indices, values = append(indices, uint32(j)), append(values, x)
		}
		if found {
			at++
		}
		for k := at; k < len(columns); k++ {
			indices, values = append(indices, columns[k]), append(values, of(k))
		}
		indptr = append(indptr, len(indices))
	}
	m, err := sparse.New(n, d, indptr, indices, values)
	if err != nil {
		panic("importance: " + err.Error()) // columns ascend, as those of the rows do
	}
	v.changed = m
}

// meanStd returns the mean and the standard deviation √(Σ(x−mean)²/n).
func meanStd(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(std)
}
