package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// TestStandardizeOfAnyUnit checks that standardization does not depend on the unit of a column,
// even if squares of its values underflow or overflow.
func TestStandardizeOfAnyUnit(t *testing.T) {
	const n = 30
	units := []float64{1, 1e-200, 1e-300, 1e200}
	rng := rand.New(rand.NewPCG(1, 9))
	X := mat.NewDense(n, len(units), nil)
	for i := range n {
		v := rng.NormFloat64()
		for j, unit := range units {
			X.Set(i, j, v*unit)
		}
	}
	f, err := NewStandardize().Fit(context.Background(), datasets.Set{X: X})
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Transform(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j, unit := range units {
			if got, want := out.At(i, j), out.At(i, 0); math.Abs(got-want) > 1e-13 {
				t.Fatalf("row %d in units of %g: %v, want %v", i, unit, got, want)
			}
		}
	}
}
