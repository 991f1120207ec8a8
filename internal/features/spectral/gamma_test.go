package spectral

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// Distances do not depend on how rows are stored.
func TestDistancesOfDenseAndSparseRows(t *testing.T) {
	X := mat.NewDense(2, 5, []float64{0, 1, 0, -2, 3, 4, 1, 0, 0, -1})
	S := matrices.CSRFromDense(X)
	for _, c := range []struct {
		l1   bool
		want float64
	}{{true, 10}, {false, 6}} {
		for _, pair := range [][2]mat.Matrix{{X, X}, {X, S}, {S, X}, {S, S}} {
			if got := pointOf(pair[0], 0).distance(pointOf(pair[1], 1), c.l1); got != c.want {
				t.Errorf("distance of a %T and a %T row is %v, want %v", pair[0], pair[1], got, c.want)
			}
		}
	}
}
