package bench_test

import (
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
)

// BenchmarkGridSearch chooses γ and α of ridge regression on Fourier features by 5-fold
// cross-validation, 5 × 10 candidates, and their number D too, 4 × 5 × 10.
func BenchmarkGridSearch(b *testing.B) {
	all := []size{{2000, 100}, {20_000, 1000}}
	if testing.Short() {
		all = all[:1]
	}
	for _, s := range all {
		b.Run(s.String(), func(b *testing.B) {
			eachPrecision(b, "gamma×alpha/", func(b *testing.B, precision string) { search(b, s, precision) })
			D := s.features
			eachPrecision(b, "D×gamma×alpha/", func(b *testing.B, precision string) {
				search(b, s, precision, gridsearch.Axis{Path: "rff.features", Values: []any{D / 4, D / 2, 3 * D / 4, D}})
			})
		})
	}
}

func search(b *testing.B, s size, precision string, more ...gridsearch.Axis) {
	data := regression(s.rows, 20)
	grid := append(more,
		gridsearch.Axis{Path: "rff.gamma", Values: gridsearch.Log(1e-3, 1, 5)},
		gridsearch.Axis{Path: "ridge.alpha", Values: gridsearch.Log(1e-6, 1e3, 10)})
	spec := gridsearch.NewSearch(machine(b, precision, s.features, estimator.NewRidge()), grid...)
	spec.Splitter = datasets.KFold{Folds: 5}
	var result *gridsearch.Result
	for b.Loop() {
		var err error
		if result, err = spec.Run(ctx, data); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, float64(result.Fits), "fits/s")
	b.ReportMetric(float64(result.Fits), "fits")
	b.ReportMetric(result.Best().Mean, "best-R2")
}
