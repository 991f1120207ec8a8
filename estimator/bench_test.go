package estimator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/kern"
)

// fourierSet makes n rows of random Fourier features of a smooth regression problem with 54 inputs,
// that of the peers' benchmark; class 1 is where its target is positive.
func fourierSet(n, features int) (regression, classification datasets.Set) {
	const d, gamma = 54, 0.01
	rng := rand.New(rand.NewPCG(7, 7))
	omega, phase := mat.NewDense(d, features, nil), make([]float64, features)
	for i := range d {
		for j := range features {
			omega.Set(i, j, math.Sqrt(2*gamma)*rng.NormFloat64())
		}
	}
	for j := range phase {
		phase[j] = 2 * math.Pi * rng.Float64()
	}
	x, y, codes := mat.NewDense(n, d, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		y[i] = math.Sin(row[0]) + row[1]*row[2] + 0.1*rng.NormFloat64()
		if y[i] > 0 {
			codes[i] = 1
		}
	}
	z := mat.NewDense(n, features, nil)
	kern.Mul(dense(z), dense(x), dense(omega), false)
	kern.Parallel(n, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := z.RawRowView(i)
			kern.Axpy(1, phase, row)
			kern.Cos(row, row)
			kern.Scale(math.Sqrt(2/float64(features)), row)
		}
	})
	return datasets.Set{X: z, Y: y}, datasets.Set{X: z, Y: codes}
}

func dense(m *mat.Dense) kern.View[float64] {
	raw := m.RawMatrix()
	return kern.Dense(raw.Rows, raw.Cols, raw.Stride, raw.Data)
}

// sizes are those of the benchmarks; the large one, of the peers' table, needs 2 GiB and
// BOCHNER_LARGE=1.
func sizes() [][2]int {
	if os.Getenv("BOCHNER_LARGE") != "" {
		return [][2]int{{100_000, 2048}}
	}
	return [][2]int{{5_000, 256}, {20_000, 512}}
}

func benchmarkFit(b *testing.B, s estimator.Estimator, classify bool) {
	for _, size := range sizes() {
		b.Run(fmt.Sprintf("n=%d/D=%d", size[0], size[1]), func(b *testing.B) {
			data, classes := fourierSet(size[0], size[1])
			if classify {
				data = classes
			}
			for b.Loop() {
				p, err := s.Fit(context.Background(), data)
				if err != nil {
					b.Fatal(err)
				}
				r := p.(estimator.Reporter).Report()
				b.ReportMetric(float64(r.Iterations), "iterations")
				b.ReportMetric(r.Objective, "objective")
			}
		})
	}
}

func BenchmarkRidge(b *testing.B) {
	s := estimator.NewRidge()
	s.Alpha = 1e-3
	benchmarkFit(b, s, false)
}

func BenchmarkLogistic(b *testing.B) { benchmarkFit(b, estimator.NewLogistic(), true) }
