package experiment

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// Many training rows are scored by some, from all of the file.
func TestSpread(t *testing.T) {
	x := mat.NewDense(25, 1, nil)
	for i := range 25 {
		x.Set(i, 0, float64(i))
	}
	set := datasets.Set{X: x, Y: make([]float64, 25)}
	if spread(set, 25) != nil {
		t.Error("a part of all rows")
	}
	some, err := datasets.Gather(t.Context(), spread(set, 10))
	if err != nil || some.Rows() != 10 {
		t.Fatal(some.Rows(), err)
	}
	for i := range 10 {
		if got := some.X.At(i, 0); got != float64(i*25/10) {
			t.Errorf("row %d is row %v", i, got)
		}
	}
}
