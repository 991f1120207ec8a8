package bench_test

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
)

// BenchmarkLogisticFitClasses fits logistic regression with a large C for 26 classes, each of a few
// groups of rows that overlap with those of other classes.
func BenchmarkLogisticFitClasses(b *testing.B) {
	rows, features := 15_000, 1000
	if testing.Short() {
		rows, features = 2000, 200
	}
	data := letters(rows)
	eachPrecision(b, size{rows, features}.String()+"/", func(b *testing.B, precision string) {
		logistic, rff := estimator.NewLogistic(), fourier(features)
		logistic.C, rff.Gamma = 100, kernel.FixedGamma(0.1)
		fitted := fit(b, inPrecision(b, pipeline.Steps(rff).Then(logistic), precision), data)
		_, model := pipeline.Find(fitted).Model()
		report := model.(estimator.Reporter).Report()
		if !report.Converged {
			b.Errorf("not converged: %v", report.Warnings)
		}
		b.ReportMetric(float64(report.Iterations), "iterations")
		rate(b, float64(rows), "rows/s")
	})
}

// letters returns rows of 16 columns and 26 classes, each of four normal groups.
func letters(n int) datasets.Set {
	const cols, classes, groups = 16, 26, 4
	rng := rand.New(rand.NewPCG(26, 16))
	centers := mat.NewDense(classes*groups, cols, nil)
	for g := range classes * groups {
		for j := range cols {
			centers.Set(g, j, rng.NormFloat64())
		}
	}
	x, y := mat.NewDense(n, cols, nil), make([]float64, n)
	for i := range n {
		g := rng.IntN(classes * groups)
		y[i] = float64(g / groups)
		for j := range cols {
			x.Set(i, j, centers.At(g, j)+0.6*rng.NormFloat64())
		}
	}
	return datasets.Set{X: x, Y: y}
}
