package bench_test

import (
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/cputime"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkLogisticSearch selects γ, D and C of logistic regression on Fourier features of the
// adult data by 5-fold cross-validation, 5 × 4 × 5 candidates. It then fits one candidate of each γ
// and D separately to one fold, for each C, and reports the ratio of the extrapolated separate fits
// to the search, in wall time and CPU seconds.
func BenchmarkLogisticSearch(b *testing.B) {
	data, _, err := builtin.Load("adult")
	if err != nil {
		b.Fatal(err)
	}
	gammas, widths, cs := gridsearch.Log(1e-3, 1e-1, 5), []any{250, 500, 750, 1000}, gridsearch.Log(1e-2, 1e2, 5)
	if testing.Short() {
		data, gammas, widths = data.Slice(0, 2000), gammas[:2], widths[:2]
	}
	spec := gridsearch.NewSearch(adult(0.01, 500, 1), gridsearch.Axis{Path: "rff.gamma", Values: gammas},
		gridsearch.Axis{Path: "rff.features", Values: widths}, gridsearch.Axis{Path: "logistic.C", Values: cs})
	spec.Splitter = datasets.KFold{Folds: 5, Shuffle: true, Seed: 1}
	spec.Refit = gridsearch.RefitNone
	var result *gridsearch.Result
	worked := cputime.Time()
	for b.Loop() {
		if result, err = spec.Run(ctx, data); err != nil {
			b.Fatal(err)
		}
	}
	shared, work := b.Elapsed().Seconds()/float64(b.N), (cputime.Time()-worked).Seconds()/float64(b.N)
	folds, err := spec.Splitter.Split(data)
	if err != nil {
		b.Fatal(err)
	}
	start, fits := time.Now(), 0
	worked = cputime.Time()
	for g, gamma := range gammas {
		for w, width := range widths {
			fold := folds[(g+w)%len(folds)]
			fitted, err := adult(gamma.(float64), width.(int), cs[(g+2*w)%len(cs)].(float64)).Fit(ctx, data.Select(fold.Train))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := estimator.Predict(ctx, fitted, rowblock.Select(data.X, fold.Test), estimator.Request{}); err != nil {
				b.Fatal(err)
			}
			fits++
		}
	}
	all := float64(result.Fits) / float64(fits)
	rate(b, float64(result.Fits), "fits/s")
	b.ReportMetric(all*time.Since(start).Seconds()/shared, "×shared")
	b.ReportMetric(all*(cputime.Time()-worked).Seconds()/work, "×shared-work")
	b.ReportMetric(work, "cpu-s")
	b.ReportMetric(result.Best().Mean, "best-accuracy")
}

// adult is the pipeline of examples/adult.
func adult(gamma float64, features int, c float64) pipeline.Pipeline {
	fill, levels := transformer.NewImpute(), transformer.NewOneHot()
	fill.Strategy, levels.MinCount = "median", 20
	columns := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(fill, transformer.NewStandardize())},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(levels)})
	rff, logistic := transformer.NewRFF(), estimator.NewLogistic()
	rff.Gamma, rff.Features, logistic.C = kernel.FixedGamma(gamma), features, c
	return pipeline.Steps(columns, rff).Then(logistic)
}
