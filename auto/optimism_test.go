package auto_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// noisyTable returns rows of one of many tables, whose target has as much noise as signal, so that many candidates
// are equally good. Sets of a table with different numbers of rows are independent.
func noisyTable(table uint64, n, k int) datasets.Set {
	const d = 6
	draw := rand.New(rand.NewPCG(table, 77))
	a, b, c := [d]float64{}, [d]float64{}, [d]float64{}
	for j := range d {
		a[j], b[j], c[j] = draw.NormFloat64(), draw.NormFloat64(), draw.NormFloat64()
	}
	rng := rand.New(rand.NewPCG(table, uint64(n)))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		p, q, s := 0.0, 0.0, 0.0
		for j := range d {
			v := rng.NormFloat64()
			X.Set(i, j, v)
			v /= math.Sqrt(d)
			p, q, s = p+a[j]*v, q+b[j]*v, s+c[j]*v
		}
		y[i] = p + math.Sin(2*q) + 0.5*s*s + rng.NormFloat64()
	}
	data := datasets.Set{X: X, Y: y}
	if k > 0 {
		data = classes(data, k)
	}
	return data
}

// Over 40 tables the estimate of the chosen candidate is the score of the model of all rows on new rows, up to two
// standard errors on average.
func TestOptimismOfSearches(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("searches on 80 tables")
	}
	const tables = 40
	total := 0.0
	for _, metric := range []string{"root_mean_squared_error", "r2", "accuracy"} {
		k := 0
		if metric == "accuracy" {
			k = 2
		}
		var raw, estimated []float64
		for table := range uint64(tables) {
			n := 300 + 100*int(table%2)
			train, test := noisyTable(table, n, k), noisyTable(table, 2000, k)
			o := auto.NewOptions()
			o.Candidates, o.Seed, o.Score = 24, table, metric
			for _, model := range []string{"ridge", "ridge_classifier"} {
				o.Recipes = append(o.Recipes, "zscores linear "+model)
				for _, kernel := range []string{"zscores exact gaussian", "zscores exact exponential", "unit exact gaussian",
					"ranks exact gaussian"} {
					o.Recipes = append(o.Recipes, kernel+" kernel_"+model)
				}
			}
			r := fit(t, train, o)
			predicted, err := r.Model.Predict(context.Background(), test.X)
			if err != nil {
				t.Fatal(err)
			}
			got, sign := score(test.Y, predicted, k), 1.0
			if metric == "root_mean_squared_error" {
				sign = -1
				square := 0.0
				for i, y := range test.Y {
					square += (y - predicted[i]) * (y - predicted[i]) / float64(len(test.Y))
				}
				got = math.Sqrt(square)
			}
			raw = append(raw, sign*(r.Chosen.Score-got))
			estimated = append(estimated, sign*(r.Chosen.Estimate-got))
		}
		rawMean, rawErr := meanAndError(raw)
		mean, stdErr := meanAndError(estimated)
		t.Logf("%s: the score is too good by %.4f ± %.4f, the estimate by %.4f ± %.4f", metric, rawMean, rawErr, mean, stdErr)
		if math.Abs(mean) > 2*stdErr {
			t.Errorf("%s: the estimate is too good by %.4f ± %.4f", metric, mean, stdErr)
		}
		total += math.Abs(mean)/stdErr - math.Abs(rawMean)/rawErr
	}
	if total > 0 {
		t.Errorf("the estimates are worse than the scores, by %.2f standard errors", total)
	}
}

// meanAndError returns the mean of values and its standard error.
func meanAndError(values []float64) (mean, stdErr float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		stdErr += (v - mean) * (v - mean) / (n - 1) / n
	}
	return mean, math.Sqrt(stdErr)
}
