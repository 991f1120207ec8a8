package inspection

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// StdError estimates the deviation over samples of rows, which the deviation over repeats
// underestimates.
func TestStdErrorCoversRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) datasets.Set {
		X, y := mat.NewDense(n, 2, nil), make([]float64, n)
		for i := range y {
			a := rng.NormFloat64()
			X.SetRow(i, []float64{a, rng.NormFloat64()})
			y[i] = a * (1 + rng.ExpFloat64())
		}
		return datasets.Set{X: X, Y: y}
	}
	ctx := context.Background()
	model, err := estimator.NewRidge().Fit(ctx, draw(2000))
	if err != nil {
		t.Fatal(err)
	}
	var means []float64
	claimed, overRepeats := 0.0, 0.0
	const draws = 60
	for seed := range draws {
		found, err := Permutation(ctx, model, draw(200), Options{Metric: "mean_squared_error", Seed: uint64(seed)})
		if err != nil {
			t.Fatal(err)
		}
		if first := found.Inputs[0]; first.Column == 0 {
			means = append(means, first.Mean)
			claimed += first.StdError / draws
			overRepeats += first.Std / math.Sqrt(defaultRepeats) / draws
		}
	}
	_, actual := meanStd(means)
	if len(means) != draws || claimed < 0.7*actual || claimed > 1.4*actual {
		t.Errorf("standard error %.3g on average, the deviation over draws is %.3g", claimed, actual)
	}
	if overRepeats > 0.7*actual {
		t.Errorf("the deviation over repeats, %.3g, hardly differs from %.3g: the test shows nothing", overRepeats, actual)
	}
}
