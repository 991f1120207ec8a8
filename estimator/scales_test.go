package estimator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
)

// scales are the golden values of testdata/scales.py.
type scales struct {
	X                       [][]float64
	Number, Count, Positive []float64
	Quantiles, Pinball      []float64
	Poisson, Gamma, Tweedie []float64
	Huber                   []float64
}

func readScales(t *testing.T) (s scales) {
	t.Helper()
	data, err := os.ReadFile("testdata/scales.json")
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scaled returns the inputs in units whose ratio is the given one, dense and sparse.
func (s scales) scaled(ratio float64) map[string]mat.Matrix {
	X := matrix(s.X)
	units := []float64{math.Sqrt(ratio), 1 / math.Sqrt(ratio), 1, 3}
	X.Apply(func(_, j int, v float64) float64 { return units[j] * v }, X)
	return map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X)}
}

// eachScale calls f for ratios of the scales of columns up to 1e9.
func (s scales) eachScale(f func(name string, X mat.Matrix)) {
	for _, ratio := range []float64{1, 1e3, 1e5, 1e7, 1e9} {
		for kind, X := range s.scaled(ratio) {
			f(fmt.Sprintf("%s columns of ratio %.0e", kind, ratio), X)
		}
	}
}

func TestQuantileRegressionDoesNotDependOnScales(t *testing.T) {
	golden := readScales(t)
	golden.eachScale(func(name string, X mat.Matrix) {
		data := datasets.Set{X: X, Y: golden.Number}
		for i, q := range golden.Quantiles {
			s := estimator.QuantileRegression{Quantile: q, Intercept: true, Tol: 1e-8, MaxIter: 100}
			f := fit(t, s, data).(*estimator.FittedLinear)
			loss := quantileObjective(data, s, f.Coef().RawRowView(0), f.Intercept()[0])
			near(t, fmt.Sprintf("loss of quantile %v, %s", q, name), []float64{loss, f.Report().Objective},
				[]float64{golden.Pinball[i], golden.Pinball[i]}, 1e-8)
		}
	})
}

func TestUnpenalizedModelsDoNotDependOnScales(t *testing.T) {
	golden := readScales(t)
	poisson, gamma, tweedie := estimator.NewPoisson(), estimator.NewGammaRegression(), estimator.NewTweedie()
	huber := estimator.NewHuber()
	poisson.Alpha, gamma.Alpha, tweedie.Alpha, huber.Alpha = 0, 0, 0, 0
	golden.eachScale(func(name string, X mat.Matrix) {
		for _, c := range []struct {
			spec    estimator.Estimator
			y, want []float64
		}{{poisson, golden.Count, golden.Poisson}, {gamma, golden.Positive, golden.Gamma},
			{tweedie, golden.Count, golden.Tweedie}, {huber, golden.Number, golden.Huber}} {
			got, err := fit(t, c.spec, datasets.Set{X: X, Y: c.y}).Predict(context.Background(), X)
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("%T of %s", c.spec, name), got, c.want, 1e-3)
		}
	})
}

// A loss above the optimum is not reported as one, however close columns are to dependent ones.
func TestQuantileRegressionOfNearlyDependentColumns(t *testing.T) {
	golden := readScales(t)
	for _, distance := range []float64{1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9} {
		X := matrix(golden.X)
		for i := range golden.X {
			X.Set(i, 1, 1e3*(X.At(i, 0)+distance*X.At(i, 1)))
		}
		for i, q := range golden.Quantiles {
			s := estimator.QuantileRegression{Quantile: q, Intercept: true, Tol: 1e-8, MaxIter: 100}
			p, err := s.Fit(context.Background(), datasets.Set{X: X, Y: golden.Number})
			if err != nil {
				t.Fatal(err)
			}
			r := p.(estimator.Reporter).Report()
			excess := r.Objective/golden.Pinball[i] - 1
			if r.Converged && excess > s.Tol || !r.Converged && (distance > 2e-5 || len(r.Warnings) == 0) {
				t.Errorf("quantile %v, distance %v: %.2g above the optimum, %+v", q, distance, excess, r)
			}
		}
	}
}
