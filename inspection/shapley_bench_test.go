package inspection_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkShapley explains 1,000 rows by 100 background rows, for a ridge regression on 1,000
// random Fourier features of standardized inputs.
func BenchmarkShapley(b *testing.B) {
	const rows = 1000
	for _, d := range []int{13, 54} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			X, y := mat.NewDense(rows, d, nil), make([]float64, rows)
			for i := range rows {
				for j := range d {
					X.Set(i, j, rng.NormFloat64())
				}
				y[i] = X.At(i, 0)*X.At(i, 1) + X.At(i, 2)
			}
			data := datasets.Set{X: X, Y: y}
			model, err := pipeline.Steps(transformer.NewStandardize(),
				transformer.NewRFF()).Then(estimator.NewRidge()).Fit(context.Background(), data)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				found, err := inspection.Shapley(context.Background(), model, data, data, inspection.ShapleyOptions{})
				if err != nil || found.Method != inspection.MethodExact {
					b.Fatal(err, found.Reason)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N*rows)*1e3, "ms/row")
		})
	}
}
