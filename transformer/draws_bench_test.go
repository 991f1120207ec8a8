package transformer

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/cputime"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// BenchmarkStructured alternates a dense and a structured projection and reports the processor time
// per feature of each and the median of their ratios. A ratio above 1 means that the structured
// projection is faster.
func BenchmarkStructured(b *testing.B) {
	for _, d := range []int{16, 32, 64, 128, 256, 512, 784, 1024, 2048, 4096} {
		for _, D := range []int{512, 2048, 8192} {
			for _, precision := range []string{"float64", "float32"} {
				b.Run(fmt.Sprintf("d=%d/D=%d/%s", d, D, precision), func(b *testing.B) {
					compareDraws(b, d, D, precision == "float32")
				})
			}
		}
	}
}

func compareDraws(b *testing.B, d, D int, narrow bool) {
	const rows = 512
	X := uniform(rows, d)
	run := map[string]func(){}
	for _, draw := range []string{"iid", "structured"} {
		s := NewRFF()
		s.Features, s.Gamma, s.Draw = D, kernel.FixedGamma(1), draw
		f := mustFit(b, s, datasets.Set{X: X}).(*FittedRFF)
		double, half := mat.NewDense(rows, D, nil), matrices.NewDense32(rows, D, nil)
		run[draw] = func() {
			var err error
			if narrow {
				err = f.TransformSingle(context.Background(), half, X)
			} else {
				err = f.TransformTo(context.Background(), double, X)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		run[draw]()
	}
	var dense, fast, ratio []float64
	for b.Loop() {
		for range 5 {
			a, c := spent(run["iid"]), spent(run["structured"])
			dense, fast, ratio = append(dense, a/rows/float64(D)), append(fast, c/rows/float64(D)), append(ratio, a/c)
		}
	}
	for name, list := range map[string][]float64{"dense-cpu-ns/feature": dense, "structured-cpu-ns/feature": fast,
		"dense/structured": ratio} {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
	b.ReportMetric(0, "ns/op")
}

// spent is the processor time, in nanoseconds, that f takes.
func spent(f func()) float64 {
	start := cputime.Time()
	f()
	return float64(cputime.Time() - start)
}
