package bench_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
)

// ridge returns a ridge regression with the peers' penalty.
func ridge() estimator.Ridge {
	s := estimator.NewRidge()
	s.Alpha = 1e-3
	return s
}

// BenchmarkRidgeFit fits Fourier features and ridge regression on them. The flops count the matrix
// products: the map, one triangle of the Gram matrix, and its factor.
func BenchmarkRidgeFit(b *testing.B) {
	eachSize(b, func(b *testing.B, s size, precision string) {
		data := regression(s.rows, inputs)
		fit(b, machine(b, precision, s.features, ridge()), data)
		n, d, D := float64(s.rows), float64(inputs), float64(s.features)
		rate(b, (n*D*(2*d+D)+D*D*D/3)/1e9, "GFLOP/s")
		rate(b, n, "rows/s")
	})
}

// BenchmarkRidgeFitFile is BenchmarkRidgeFit with rows streamed from a CSV file. Its memory use
// does not depend on the number of rows.
func BenchmarkRidgeFitFile(b *testing.B) {
	all := append(sizes(), size{1_000_000, 2048})
	if testing.Short() {
		all = sizes()
	}
	for _, s := range all {
		eachPrecision(b, s.String()+"/", func(b *testing.B, precision string) {
			p := machine(b, precision, s.features, ridge())
			path := table(b, s.rows)
			for b.Loop() {
				src, err := csv.Options{Roles: datasets.Roles{Target: []string{"y"}}}.Open(ctx, path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.FitSource(ctx, src); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, float64(s.rows), "rows/s")
		})
	}
}

// BenchmarkLogisticFit fits Fourier features and a logistic regression on them.
func BenchmarkLogisticFit(b *testing.B) {
	s, tight := estimator.NewLogistic(), estimator.NewLogistic()
	tight.Tol, tight.MaxIter = 1e-9, 1000
	benchmarkClassifier(b, s, tight, func(m float64) float64 {
		return max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m)))
	})
}

// BenchmarkSVMFit fits Fourier features and a linear support vector machine with the squared hinge
// loss on them.
func BenchmarkSVMFit(b *testing.B) {
	s, tight := estimator.NewSVM(), estimator.NewSVM()
	tight.Tol = 1e-9
	benchmarkClassifier(b, s, tight, func(m float64) float64 { return max(0, 1-m) * max(0, 1-m) })
}

// benchmarkClassifier times fits with C = 1. With -optimum it reports by how many parts in a million
// the objective, in double precision, is above that of the tight spec.
func benchmarkClassifier(b *testing.B, spec, tight estimator.Estimator, loss func(margin float64) float64) {
	best := map[size]float64{}
	eachSize(b, func(b *testing.B, s size, precision string) {
		data := classification(s.rows, inputs)
		fitted := fit(b, machine(b, precision, s.features, spec), data)
		rate(b, float64(s.rows), "rows/s")
		_, model := pipeline.Find(fitted).Model()
		report := model.(estimator.Reporter).Report()
		if !report.Converged {
			b.Errorf("not converged: %v", report.Warnings)
		}
		b.ReportMetric(float64(report.Iterations), "iterations")
		if !*optimum {
			return
		}
		if _, known := best[s]; !known {
			exact, err := machine(b, "float64", s.features, tight).Fit(ctx, data)
			if err != nil {
				b.Fatal(err)
			}
			best[s] = objective(b, pipeline.Find(exact), data, loss)
		}
		b.ReportMetric(1e6*(objective(b, pipeline.Find(fitted), data, loss)/best[s]-1), "ppm-above-optimum")
	})
}

// objective returns Σ loss(t_i(w'z_i + b)) + ½‖w‖² in float64, whatever the precision of the fit.
func objective(b *testing.B, p *pipeline.FittedPipeline, data datasets.Set, loss func(margin float64) float64) float64 {
	b.Helper()
	_, features := p.Chain().Step(0)
	_, model := p.Model()
	linear := model.(interface {
		Coef() *mat.Dense
		Intercept() []float64
	})
	w, at := linear.Coef().RowView(0), linear.Intercept()[0]
	sum := mat.Dot(w, w) / 2
	err := data.Source().Blocks(ctx, func(block datasets.Set) error {
		Z, err := features.Transform(ctx, block.X)
		if err != nil {
			return err
		}
		var scores mat.VecDense
		scores.MulVec(Z, w)
		for i, class := range block.Y {
			sum += loss((2*class - 1) * (scores.AtVec(i) + at))
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum
}
