package bench_test

import (
	"testing"

	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkLearnScales learns a scale for each of many inputs from 3000 rows, with the defaults of
// ard. The flops count the necessary operations: n·D² for the Gram matrix, 2·n·D² for the gradient,
// as much again for the leave-one-out error, D³ for the factor and the inverse, 2·n·d·D for the
// angles and backpropagation.
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
			n, d, D := float64(s.Rows), float64(inputs), float64(s.Features)
			step := 3*n*D*D + D*D*D + 2*n*d*D
			if objective == "press" {
				step += 3 * n * D * D
			}
			rate(b, step*float64(s.Steps+1)/1e9, "GFLOP/s")
		})
	}
}
