package auto_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/datasets"
)

// waves returns rows whose target is a smooth function of two of their inputs, with noise.
func waves(n, d int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = math.Sin(2*X.At(i, 0)) + X.At(i, 1)*X.At(i, 1)/2 + 0.1*rng.NormFloat64()
	}
	return datasets.Set{X: X, Y: y}
}

func TestLook(t *testing.T) {
	o := auto.NewOptions()
	o.Budget = 20 * time.Second
	o.Progress = func(p auto.Progress) {}
	result, err := auto.Fit(context.Background(), waves(3000, 4, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Leaderboard[:10] {
		t.Log(e.Rank, e.Recipe, e.Parameters(), e.Score, e.StdError, e.Rows, e.Chosen)
	}
	for _, r := range result.Rounds {
		t.Log(r.Rows, r.Size, r.Recipes, r.Candidates, r.Best.Recipe, r.Best.Score, r.Seconds)
	}
	t.Log(result.Pipeline, result.Ended, result.Seconds, result.Tried)
}
