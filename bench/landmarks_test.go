package bench_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/cputime"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkNystroem maps tiles of 2048 rows by landmarks and adds up their Gram matrix, as a fit of
// a ridge does for all rows. It reports how much more processor time the best tile takes than its
// flops take in a product of large matrices of the same precision: map/flops, Gram/flops and
// both/flops, which should be below 1.5 for 4,000 landmarks.
//
//	go test -run '^$' -bench Nystroem -benchtime 5x ./bench
func BenchmarkNystroem(b *testing.B) {
	sizes := []int{500, 4000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, m := range sizes {
		eachPrecision(b, fmt.Sprintf("m=%d/", m), func(b *testing.B, precision string) { landmarked(b, m, precision) })
	}
}

func landmarked(b *testing.B, m int, precision string) {
	data := regression(max(tileRows, m), inputs)
	spec := transformer.NewNystroem()
	spec.Gamma, spec.Landmarks = kernel.FixedGamma(gamma), m
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		b.Fatal(err)
	}
	f := fitted.(*transformer.FittedNystroem)
	m = f.OutputWidth()
	X := data.X.(*mat.Dense).Slice(0, tileRows, 0, inputs)
	var mapTo, gram, product func() error
	if precision == "float32" {
		tile, sums := matrices.NewDense32(tileRows, m, nil), make([]float64, m*m)
		mapTo = func() error { return f.TransformSingle(ctx, tile, X) }
		gram = func() error { return kern.GramMixed(ctx, kern.Dense(m, m, m, sums), design.ViewFloat32(tile), nil) }
		product = square[float32](m)
	} else {
		tile, sums := mat.NewDense(tileRows, m, nil), make([]float64, m*m)
		mapTo = func() error { return f.TransformTo(ctx, tile, X) }
		gram = func() error { return kern.Gram(ctx, kern.Dense(m, m, m, sums), design.View(tile), nil) }
		product = square[float64](m)
	}
	best := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
	for b.Loop() {
		for i, run := range []func() error{mapTo, gram, product} {
			began := cputime.Time()
			if err := run(); err != nil {
				b.Fatal(err)
			}
			best[i] = min(best[i], (cputime.Time() - began).Seconds())
		}
	}
	flops := func(each int) float64 { return float64(tileRows) * float64(m) * float64(each) }
	speed := flops(2*m) / best[2]
	b.ReportMetric(best[0]*speed/flops(2*inputs+m), "map/flops")
	b.ReportMetric(best[1]*speed/flops(m), "Gram/flops")
	b.ReportMetric((best[0]+best[1])*speed/flops(2*inputs+2*m), "both/flops")
	b.ReportMetric(speed/1e9, "product-GFLOP/s")
}

// square multiplies a tile with a square matrix.
func square[T kern.Float](m int) func() error {
	a, s := kern.Dense(tileRows, m, m, make([]T, tileRows*m)), kern.Dense(m, m, m, make([]T, m*m))
	for i := range s.Data {
		s.Data[i] = T(i % 7)
	}
	for i := range a.Data {
		a.Data[i] = T(i % 5)
	}
	c := kern.Dense(tileRows, m, m, make([]T, tileRows*m))
	return func() error { return kern.MulContext(ctx, c, a, s, false) }
}
