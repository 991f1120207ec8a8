package rows

import (
	"fmt"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// Leading returns the first width columns of Z, multiplied by scale.
func Leading(Z mat.Matrix, width int, scale float64) (mat.Matrix, error) {
	n, cols := Z.Dims()
	if width < 1 || width > cols {
		return nil, fmt.Errorf("%d columns of %d", width, cols)
	}
	m, ok := Z.(*matrices.CSR)
	switch {
	case ok:
		return leadingEntries(m, width, scale)
	case width == cols && scale == 1:
		return Z, nil
	}
	out := mat.NewDense(n, width, nil)
	if d, ok := Z.(*mat.Dense); ok {
		Z = d.Slice(0, n, 0, width)
	}
	Fill(out, Z, scale)
	return out, nil
}

// leadingRows is the number of rows per task.
const leadingRows = 256

func leadingEntries(m *matrices.CSR, width int, scale float64) (*matrices.CSR, error) {
	n, cols := m.Dims()
	indptr, indices, values := m.Raw()
	shared, isShared := m.Shared()
	if width < cols {
		short := make([]int, n+1)
		for i := range n {
			columns := indices[indptr[i]:indptr[i+1]]
			short[i+1] = short[i] + sort.Search(len(columns), func(k int) bool { return int(columns[k]) >= width })
		}
		kept := make([]uint32, short[n])
		kern.Parallel(n, leadingRows, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				copy(kept[short[i]:short[i+1]], indices[indptr[i]:])
			}
		})
		indptr, indices = short, kept
	}
	if isShared {
		return matrices.NewSharedCSR(n, width, indptr, indices, scale*shared)
	}
	own := values
	if width < cols || scale != 1 {
		own = make([]float64, len(indices))
		full, _, _ := m.Raw()
		kern.Parallel(n, leadingRows, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				for k := range own[indptr[i]:indptr[i+1]] {
					own[indptr[i]+k] = scale * values[full[i]+k]
				}
			}
		})
	}
	return matrices.NewCSR(n, width, indptr, indices, own)
}
