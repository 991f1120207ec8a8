package bench_test

import (
	"testing"

	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkLearnScales learns a scale for each of many inputs from 3000 rows, as ard does with its defaults. The flops
// counted are those of the products that make the evidence and its slope.
func BenchmarkLearnScales(b *testing.B) {
	for _, objective := range []string{"evidence", "press"} {
		b.Run(objective, func(b *testing.B) {
			s := transformer.NewARD()
			s.Objective = objective
			data := regression(s.Rows, inputs)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Fit(ctx, data); err != nil {
					b.Fatal(err)
				}
			}
			n, D := float64(s.Rows), float64(s.Features)
			rate(b, 3*n*D*D*float64(s.Steps)/1e9, "GFLOP/s")
		})
	}
}
