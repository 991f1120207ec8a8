// Package bench_test contains end-to-end benchmarks of typical tasks:
//
//	go test -run '^$' -bench . -short ./bench                                small sizes, seconds
//	go test -run '^$' -bench 'RidgeFit/n=100000' -benchtime 1x ./bench       one at its full size
//
// -short skips the full size, 100,000 rows of 54 columns to 2,048 features. Every fit and map is
// measured in float64 and float32. bench/compare compares them with scikit-learn and writes the
// table of docs/performance.md.
package bench_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

var (
	optimum = flag.Bool("optimum", false,
		"solve logistic and SVM to a tight tolerance too, and report how far above that the fits end")
	scratch = flag.String("scratch", "", "folder to keep CSV files in; none for one that is removed")
)

var ctx = context.Background()

const (
	inputs = 54
	gamma  = 0.01
)

// size is the rows and the width of a map.
type size struct{ rows, features int }

func (s size) String() string { return fmt.Sprintf("n=%d/D=%d", s.rows, s.features) }

// sizes returns a small problem size and, without -short, the size used in the peers' table.
func sizes() []size {
	if testing.Short() {
		return []size{{5000, 256}}
	}
	return []size{{5000, 256}, {100_000, 2048}}
}

// eachSize runs a benchmark for every size and both precisions.
func eachSize(b *testing.B, run func(b *testing.B, s size, precision string)) {
	for _, s := range sizes() {
		eachPrecision(b, s.String()+"/", func(b *testing.B, precision string) { run(b, s, precision) })
	}
}

// eachPrecision runs a benchmark as <prefix>f64 and <prefix>f32.
func eachPrecision(b *testing.B, prefix string, run func(b *testing.B, precision string)) {
	for _, precision := range []string{"float64", "float32"} {
		b.Run(prefix+"f"+strings.TrimPrefix(precision, "float"), func(b *testing.B) { run(b, precision) })
	}
}

// regression draws n samples with d standard normal features and targets
//
//	y = sin x₀ + x₁x₂ + 0.1·ε
//
// from the same distribution as the peers' data.
func regression(n, d int) datasets.Set {
	rng := rand.New(rand.NewPCG(0, uint64(d)))
	x, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		y[i] = draw(rng, x.RawRowView(i))
	}
	return datasets.Set{X: x, Y: y}
}

// draw fills a row and returns its target.
func draw(rng *rand.Rand, row []float64) float64 {
	for j := range row {
		row[j] = rng.NormFloat64()
	}
	return math.Sin(row[0]) + row[1]*row[2] + 0.1*rng.NormFloat64()
}

// classification is [regression] with the sign of y as the class.
func classification(n, d int) datasets.Set {
	set := regression(n, d)
	for i, y := range set.Y {
		set.Y[i] = 0
		if y > 0 {
			set.Y[i] = 1
		}
	}
	return set
}

// fourier returns the random Fourier feature map that the peers use: sqrt(2/D)·cos(ω'x + b).
func fourier(features int) transformer.RFF {
	s := transformer.NewRFF()
	s.Gamma, s.Features, s.Map = kernel.FixedGamma(gamma), features, "phase"
	return s
}

// machine is a pipeline of Fourier features and a model, in a precision.
func machine(b *testing.B, precision string, features int, model estimator.Estimator) pipeline.Pipeline {
	b.Helper()
	p := pipeline.Steps(fourier(features)).Then(model)
	return inPrecision(b, p, precision)
}

// inPrecision sets the pipeline's precision, or skips where pipelines have none but float64.
func inPrecision(b *testing.B, p pipeline.Pipeline, precision string) pipeline.Pipeline {
	b.Helper()
	if _, err := param.Get(p, "precision"); err != nil {
		if precision != "float64" {
			b.Skip("pipelines have no parameter precision: all is float64")
		}
		return p
	}
	set, err := param.With(p, param.Setting{Path: "precision", Value: precision})
	if err != nil {
		b.Fatal(err)
	}
	return set.(pipeline.Pipeline)
}

// fit fits the spec until the benchmark ends and returns the last fit.
func fit(b *testing.B, spec estimator.Estimator, data datasets.Set) estimator.Predictor {
	b.Helper()
	var fitted estimator.Predictor
	for b.Loop() {
		var err error
		if fitted, err = spec.Fit(ctx, data); err != nil {
			b.Fatal(err)
		}
	}
	return fitted
}

// rate reports how many of a unit were done in a second, of count in each operation.
func rate(b *testing.B, count float64, unit string) {
	b.ReportMetric(count*float64(b.N)/b.Elapsed().Seconds(), unit)
}
