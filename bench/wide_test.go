package bench_test

import (
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
)

// wideSizes are maps that one fits at the end of a search, and without them a small one that goes the same way.
func wideSizes() []size {
	if testing.Short() {
		return []size{{9000, 8320}}
	}
	return []size{{20_000, 16384}, {20_000, 32768}, {100_000, 16384}, {100_000, 32768}}
}

// BenchmarkRidgeFitWide fits ridge regression to enough features for preconditioned conjugate
// gradients.
func BenchmarkRidgeFitWide(b *testing.B) {
	benchmarkWide(b, regression, estimator.NewRidge())
}

// BenchmarkRidgeClassifierFitWide is the same with ten classes, which share the preconditioner and
// the passes.
func BenchmarkRidgeClassifierFitWide(b *testing.B) {
	benchmarkWide(b, tenths, estimator.NewRidgeClassifier())
}

// tenths is [regression] with the tenth part of the targets in which y is as the class.
func tenths(n, d int) datasets.Set {
	set := regression(n, d)
	for i, y := range set.Y {
		set.Y[i] = float64(min(9, max(0, int(2*(y+2.5)))))
	}
	return set
}

func benchmarkWide(b *testing.B, rows func(n, d int) datasets.Set, model estimator.Estimator) {
	for _, s := range wideSizes() {
		eachPrecision(b, s.String()+"/", func(b *testing.B, precision string) {
			fitted := fit(b, machine(b, precision, s.features, model), rows(s.rows, inputs))
			_, linear := pipeline.Find(fitted).Model()
			report := linear.(estimator.Reporter).Report()
			if !report.Converged {
				b.Errorf("not converged: %v", report.Warnings)
			}
			b.ReportMetric(float64(report.Iterations), "iterations")
			rate(b, float64(s.rows), "rows/s")
		})
	}
}
