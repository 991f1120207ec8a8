package transformer_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

// TestFrequenciesMakeTheFeatures checks that the features are cosines and sines of the m
// frequencies returned by a fitted map, and that the returned frequencies are a copy.
func TestFrequenciesMakeTheFeatures(t *testing.T) {
	spec := transformer.NewRFF()
	spec.Features, spec.Gamma = 12, kernel.FixedGamma(0.7)
	X := mat.NewDense(1, 3, []float64{0.3, -1, 2})
	f, err := spec.Fit(context.Background(), datasets.Set{X: X})
	if err != nil {
		t.Fatal(err)
	}
	rff := f.(*transformer.FittedRFF)
	rff.Frequencies().Zero()
	omega := rff.Frequencies()
	if d, m := omega.Dims(); d != 3 || m != 6 || m != rff.NumFrequencies() {
		t.Fatalf("%d×%d frequencies, NumFrequencies is %d", d, m, rff.NumFrequencies())
	}
	Z, err := f.Transform(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	squares := 0.0
	for j := range 6 {
		angle := mat.Dot(omega.ColView(j), X.RowView(0))
		squares += math.Pow(Z.At(0, 2*j)*math.Sqrt(6)-math.Cos(angle),
			2) + math.Pow(Z.At(0, 2*j+1)*math.Sqrt(6)-math.Sin(angle), 2)
	}
	if squares > 1e-20 {
		t.Errorf("the features are not those of the frequencies: %v", mat.Formatted(Z))
	}
}
