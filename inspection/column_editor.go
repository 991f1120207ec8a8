package inspection

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/matrices"
)

// columnEditor replaces single columns of a matrix.
type columnEditor struct {
	original mat.Matrix       // with numbers of strings in text columns
	text     *textrows.Matrix // rows with text columns, else nil
	dense    *mat.Dense       // copy of dense rows
	sparse   *matrices.CSR    // sparse rows
	edited   *matrices.CSR    // sparse rows with one column replaced
	column   []float64        // of one column
}

func newColumnEditor(X mat.Matrix) *columnEditor {
	n, _ := X.Dims()
	text := textrows.Of(X)
	if text != nil {
		X = text.Dense()
	}
	v := &columnEditor{original: X, text: text, column: make([]float64, n)}
	if m, ok := X.(*matrices.CSR); ok {
		v.sparse, v.edited = m, m
	} else {
		v.dense = mat.DenseCopyOf(X)
	}
	return v
}

// matrix returns the rows with the current replacement.
func (v *columnEditor) matrix() mat.Matrix {
	if v.sparse != nil {
		return v.edited
	}
	if v.text != nil {
		return v.text.WithDense(v.dense)
	}
	return v.dense
}

// values returns the original values of a column, valid until the next call.
func (v *columnEditor) values(j int) []float64 {
	for i := range v.column {
		v.column[i] = v.original.At(i, j)
	}
	return v.column
}

// isConstant reports whether all values of a column are equal, NaN included.
func (v *columnEditor) isConstant(j int) bool {
	values := v.values(j)
	first := values[0]
	return !slices.ContainsFunc(values, func(x float64) bool {
		return x != first && !(math.IsNaN(x) &&
			math.IsNaN(first))
	})
}

// permute sets row i of a column to the value of row order[i].
func (v *columnEditor) permute(j int, order []int) {
	values := v.values(j)
	v.set(j, func(i int) float64 { return values[order[i]] })
}

// fill sets all rows of a column to one value.
func (v *columnEditor) fill(j int, value float64) { v.set(j, func(int) float64 { return value }) }

// restore restores the original values of a column.
func (v *columnEditor) restore(j int) {
	if v.sparse != nil {
		v.edited = v.sparse
		return
	}
	values := v.values(j)
	v.set(j, func(i int) float64 { return values[i] })
}

func (v *columnEditor) set(j int, value func(i int) float64) {
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
	m, err := matrices.NewCSR(n, d, indptr, indices, values)
	if err != nil {
		panic("inspection: " + err.Error()) // columns ascend as in the original
	}
	v.edited = m
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
