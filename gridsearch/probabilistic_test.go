package gridsearch

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
)

// noisy is ridge regression with a known standard deviation.
type noisy struct{ Noise float64 }

func (s *noisy) Params(l *param.List) {
	l.Float(&s.Noise, "noise", "variance of the noise", param.Positive())
}

func (s noisy) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	ridge := estimator.NewGaussianProcess()
	ridge.Kernel, ridge.Optimize = "linear", nil
	ridge.Noise, ridge.Amplitude = estimator.Variance(s.Noise), estimator.Variance(s.Noise/0.1)
	return ridge.Fit(ctx, data)
}

// TestSearchByUncertainty checks that a search by predictive density finds the true
// noise, which metrics of predictions cannot, and that metrics of coverage and width use intervals
// of level 0.9.
func TestSearchByUncertainty(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	data := datasets.Set{X: mat.NewDense(200, 2, nil), Y: make([]float64, 200)}
	for i := range data.Y {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		data.X.(*mat.Dense).SetRow(i, []float64{a, b})
		data.Y[i] = a - 2*b + 0.5*rng.NormFloat64()
	}
	for score, want := range map[string]float64{"nlpd": 0.25, "coverage": 25, "mean_width": 0.0025, "r2": 0.0025} {
		s := NewSearch(noisy{1}, Axis{Path: "noise", Values: []any{0.0025, 0.25, 25.0}})
		s.Score, s.Scores = score, []string{"nlpd", "coverage", "mean_width"}
		found, err := s.Run(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		if best := found.Best().Settings[0].Value; best != want {
			t.Errorf("by %s: noise %v, want %v", score, best, want)
		}
		if score != "nlpd" {
			continue
		}
		best := found.Best()
		if math.Abs(best.Mean-(0.5*math.Log(2*math.Pi*0.25)+0.5)) > 0.1 {
			t.Errorf("nlpd %v, that of the noise is %v", best.Mean, 0.5*math.Log(2*math.Pi*0.25)+0.5)
		}
		for _, other := range best.OtherScores {
			if width := 2 * 1.645 * 0.5; other.Name == "coverage" && math.Abs(other.Mean-0.9) > 0.06 ||
				other.Name == "mean_width" && math.Abs(other.Mean-width) > 0.05*width {
				t.Errorf("%s %v", other.Name, other.Mean)
			}
		}
	}
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: []any{1.0}})
	s.Score = "nlpd"
	if _, err := s.Run(context.Background(), data); err == nil ||
		!strings.Contains(err.Error(), "nlpd needs standard deviations, which the model does not give") {
		t.Errorf("nlpd of ridge: %v", err)
	}
}

// TestLastTakesThePlaceOfTheBest checks that the refit may use another spec than the candidates,
// which are scored without it.
func TestLastTakesThePlaceOfTheBest(t *testing.T) {
	data := datasets.Set{X: mat.NewDense(12, 1, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
		Y: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: []any{0.001, 1000.0}})
	s.RefitEstimator = func(best estimator.Estimator) estimator.Estimator {
		if best.(estimator.Ridge).Alpha != 0.001 {
			t.Errorf("the best is %+v", best)
		}
		return noisy{0.5}
	}
	for _, s.Strategy = range []Strategy{nil, Coordinate{Rounds: 1}, NewHalving(5)} {
		found := mustRun(t, s, data)
		var posterior *estimator.FittedGaussianProcess
		if !estimator.As(found.Model, &posterior) {
			t.Errorf("%T: the model is a %T", s.Strategy, found.Model)
		}
	}
}
