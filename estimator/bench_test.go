package estimator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// fourierSet returns n rows of random Fourier features of the smooth regression problem with 54
// inputs used in the peers' benchmark. Class 1 holds the rows with positive targets.
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

// sizes returns the sizes of the benchmarks; the large one, of the table of baselines, needs 2 GiB
// and BOCHNER_LARGE=1.
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

func BenchmarkRidgeClassifier(b *testing.B) {
	benchmarkFit(b, estimator.NewRidgeClassifier(), true)
}

func BenchmarkSVM(b *testing.B) {
	s := estimator.NewSVM()
	b.Run("squared_hinge", func(b *testing.B) { benchmarkFit(b, s, true) })
	s.Loss = "hinge"
	b.Run("hinge", func(b *testing.B) { benchmarkFit(b, s, true) })
}

// binned makes index-only rows as random binning does: one entry in each of many grids, whose
// bins are hit unevenly.
func binned(n, grids, bins int) datasets.Set {
	rng := rand.New(rand.NewPCG(5, 5))
	indptr, indices, y := make([]int, n+1), make([]uint32, 0, n*grids), make([]float64, n)
	effect := make([]float64, grids*bins)
	for j := range effect {
		effect[j] = rng.NormFloat64()
	}
	for i := range n {
		z := 0.0
		for g := range grids {
			u := rng.Float64()
			j := g*bins + int(u*u*float64(bins))
			indices = append(indices, uint32(j))
			z += effect[j]
		}
		indptr[i+1] = len(indices)
		if z+3*rng.NormFloat64() > 0 {
			y[i] = 1
		}
	}
	x, err := matrices.NewSharedCSR(n, grids*bins, indptr, indices, 1/math.Sqrt(float64(grids)))
	if err != nil {
		panic(err)
	}
	return datasets.Set{X: x, Y: y}
}

// BenchmarkBinned fits to rows of binning features, 80,000 × 50 grids.
func BenchmarkBinned(b *testing.B) {
	data := binned(80_000, 50, 400)
	hinge := estimator.NewSVM()
	hinge.Loss = "hinge"
	for _, s := range []struct {
		name string
		spec estimator.Estimator
	}{{"ridge_classifier", estimator.NewRidgeClassifier()}, {"logistic", estimator.NewLogistic()},
		{"squared_hinge", estimator.NewSVM()}, {"hinge", hinge}} {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				p, err := s.spec.Fit(context.Background(), data)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(p.(estimator.Reporter).Report().Iterations), "iterations")
			}
		})
	}
}

// BenchmarkPredictOne is one row of 2048 features.
func BenchmarkPredictOne(b *testing.B) {
	data, classes := fourierSet(3000, 2048)
	one := data.X.(*mat.Dense).Slice(7, 8, 0, 2048)
	for _, s := range []struct {
		name string
		spec estimator.Estimator
		data datasets.Set
	}{{"ridge", estimator.NewRidge(), data}, {"logistic", estimator.NewLogistic(), classes}} {
		p, err := s.spec.Fit(context.Background(), s.data)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Predict(context.Background(), one); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRidgeBatch fits a grid of 10 alphas × 5 folds on existing features, n=20,000 × 1000.
func BenchmarkRidgeBatch(b *testing.B) {
	data, _ := fourierSet(20_000, 1000)
	var specs []estimator.Estimator
	for k := range 10 {
		s := estimator.NewRidge()
		s.Alpha = math.Pow(10, float64(k-6))
		specs = append(specs, s)
	}
	folds := foldsOf(20_000, 5)
	for b.Loop() {
		_, err := estimator.NewRidge().FitBatch(context.Background(),
			jobOf(data, folds, specs, func(candidate, fold int, one batch.Outcome) error { return one.Err }))
		if err != nil {
			b.Fatal(err)
		}
	}
}
