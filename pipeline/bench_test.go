package pipeline_test

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkPredictRow is one row through a fitted kernel machine, as a server does it.
func BenchmarkPredictRow(b *testing.B) {
	data := numbers(2000, 50)
	for _, features := range []int{256, 2048} {
		b.Run(fmt.Sprintf("D=%d", features), func(b *testing.B) {
			f, err := pipeline.Steps(transformer.NewStandardize(), fourier(features)).Then(estimator.NewRidge()).Fit(ctx, data)
			if err != nil {
				b.Fatal(err)
			}
			row := mat.DenseCopyOf(rowblock.Slice(data.X, 0, 1))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Predict(ctx, row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRidgePipeline fits ridge regression on Fourier features that are never stored.
func BenchmarkRidgePipeline(b *testing.B) {
	data := numbers(20_000, 51)
	p := pipeline.Steps(transformer.NewStandardize(), fourier(512)).Then(estimator.NewRidge())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Fit(ctx, data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSweep searches 3 γ × 4 C on 3 folds after a fitted prefix, compared with separate fits.
func BenchmarkSweep(b *testing.B) {
	data := people(2000, 52)
	folds := thirds(2000)
	base := pipeline.Steps(encoder(), fourier(100)).Then(estimator.NewLogistic())
	var settings []estimator.Estimator
	for _, gamma := range []float64{0.05, 0.1, 0.2} {
		for _, c := range []float64{0.1, 1, 10, 100} {
			s, err := param.With(base, param.Setting{Path: "rff.gamma", Value: gamma},
				param.Setting{Path: "logistic.C", Value: c})
			if err != nil {
				b.Fatal(err)
			}
			settings = append(settings, s.(estimator.Estimator))
		}
	}
	b.Run("shared", func(b *testing.B) {
		for b.Loop() {
			if _, err := fitAll(ctx, base, data, folds, settings, func(int, int, batch.Outcome) error {
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("separately", func(b *testing.B) {
		for b.Loop() {
			for _, fold := range folds {
				train, test := data.Select(fold.Train), data.Select(fold.Test)
				for _, s := range settings {
					f, err := s.Fit(ctx, train)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := estimator.Predict(ctx, f, test.X, estimator.Request{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	})
}
