package bench_test

import (
	"testing"

	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkLearnScales learns a scale for each of many inputs from 3000 rows, as ard does with its defaults. The flops
// counted are those that are needed: of the Gram matrix n·D² and of the slope 2·n·D², and of the leave-one-out error
// that much again; of the factor and the inverse D³, of the angles and of what goes back through them 2·n·d·D.
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
