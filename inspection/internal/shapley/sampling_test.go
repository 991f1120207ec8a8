package shapley

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// With few background rows the errors are those that the standard errors state.
func TestSampleStdErrorsOfFewBackgroundRows(t *testing.T) {
	product := func(_ context.Context, X mat.Matrix) (*mat.Dense, error) {
		n, d := X.Dims()
		out := mat.NewDense(n, 1, nil)
		for i := range n {
			v := 1.0
			for j := range d {
				v *= 1 + X.At(i, j)
			}
			out.Set(i, 0, math.Log1p(v*v))
		}
		return out, nil
	}
	background := Background{X: mat.NewDense(2, 4, []float64{0.1, -0.4, 0.6, 0.2, -0.3, 0.5, 0.1, 0.9}),
		Weights: []float64{0.5, 0.5}}
	X, inputs := mat.NewDense(1, 4, []float64{2, -2, 0.5, 1.5}), Inputs{Of: []int{0, 1, 2, 3}, Count: 4}
	sample := func(o SampleOptions) Values {
		v, err := Sample(context.Background(), product, X, background, inputs, o)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	exact := sample(SampleOptions{Precision: 1e-9, MaxRounds: 10_000})
	const draws = 300
	squares, rows := 0.0, 0.0
	for seed := range uint64(draws) {
		v := sample(SampleOptions{Precision: 0.5, MaxRounds: 40, Seed: seed + 1})
		for j := range inputs.Count {
			z := (v.Inputs[0].At(0, j) - exact.Inputs[0].At(0, j)) / v.StdErrors[0].At(0, j)
			squares, rows = squares+z*z, rows+1
		}
	}
	if rms := math.Sqrt(squares / rows); !(rms < 1.2) || rms < 0.8 {
		t.Errorf("errors are %.2f standard errors in the root mean square, want 1", rms)
	}
}
