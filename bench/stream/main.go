// Command stream fits kernel machines to rows that are generated as they are read: random Fourier
// features, followed by SGD, ridge, or logistic regression. The time grows with the number of rows;
// memory does not.
//
//	go run ./bench/stream -most 10000000
//	go run ./bench/stream -most 10000000 -features 1024 -model all -picture docs/stream-cost.svg
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/svg"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

const (
	inputs = 20
	block  = 4096
)

// endless is a stream of rows that are drawn in each pass from the seed of each block, without
// storing any.
type endless struct {
	first  uint64
	rows   int
	passes *int // counts passes; nil for no count
}

func (e endless) Schema() datasets.Schema {
	return datasets.Schema{Targets: []datasets.Column{{Name: "side", Kind: datasets.Categorical,
		Categories: []string{"below", "above"}}}}
}

func (e endless) Dims() (rows, cols int) { return e.rows, inputs }

// Blocks yields the rows in blocks that reuse the same arrays.
func (e endless) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	if e.passes != nil {
		*e.passes++
	}
	x, y := make([]float64, block*inputs), make([]float64, block)
	for lo := 0; lo < e.rows; lo += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(block, e.rows-lo)
		draw(e.first+uint64(lo), x[:n*inputs], y[:n])
		if err := yield(datasets.Set{X: mat.NewDense(n, inputs, x[:n*inputs]), Y: y[:n], Schema: e.Schema()}); err != nil {
			return err
		}
	}
	return nil
}

// draw fills x with normal numbers, and y with classes separated by a noisy nonlinear boundary in
// five of the inputs.
func draw(seed uint64, x, y []float64) {
	rng := rand.New(rand.NewPCG(seed, 13))
	for i := range y {
		row := x[i*inputs : (i+1)*inputs]
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		height := math.Sin(2*row[0]) + row[1]*row[2] + 0.5*(row[3]*row[3]-row[4]*row[4]) + 0.3*rng.NormFloat64()
		if y[i] = 0; height > 0 {
			y[i] = 1
		}
	}
}

func main() {
	most := flag.Int("most", 1_000_000, "the most rows")
	features := flag.Int("features", 500, "random features")
	model := flag.String("model", "sgd_classifier", strings.Join(names(), ", ")+", or all")
	picture := flag.String("picture", "", "file for a picture of the times")
	flag.Parse()
	if err := run(*most, *features, *model, *picture); err != nil {
		log.Fatal(err)
	}
}

// learner is an estimator that can be fitted to a stream.
type learner struct {
	name string
	spec func() estimator.Estimator
}

var learners = []learner{
	{"sgd_classifier", func() estimator.Estimator {
		s := estimator.NewSGDClassifier()
		s.Loss, s.Epochs, s.Alpha = "log_loss", 1, 1e-6
		return s
	}},
	{"ridge_classifier", func() estimator.Estimator { return estimator.NewRidgeClassifier() }},
	{"logistic", func() estimator.Estimator { return estimator.NewLogistic() }},
}

func names() (out []string) {
	for _, l := range learners {
		out = append(out, l.name)
	}
	return out
}

func run(most, features int, model, picture string) error {
	some := slices.DeleteFunc(slices.Clone(learners), func(l learner) bool { return model != "all" && model != l.name })
	if len(some) == 0 {
		return fmt.Errorf("there is no model %q, only %s", model, strings.Join(names(), ", "))
	}
	ctx := context.Background()
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma = features, kernel.FixedGamma(0.03)
	test, err := datasets.ReadAll(ctx, endless{first: 1 << 40, rows: 20_000})
	if err != nil {
		return err
	}
	product, pass, err := rates(ctx, features)
	if err != nil {
		return err
	}
	fmt.Printf("a million rows: %.1f CPU seconds for the products of ridge alone, %.1f to make them\n\n", 1e6*product,
		1e6*pass)
	fmt.Printf("%-16s %10s %10s %12s %9s %11s %9s\n", "model", "rows", "seconds", "CPU seconds", "passes", "memory, MB",
		"accuracy")
	plot := svg.Plot{Title: fmt.Sprintf("Rows generated on the fly, D = %d", features), X: svg.Axis{Name: "rows", Log: true},
		Y: svg.Axis{Name: "CPU seconds", Log: true}}
	for k, l := range some {
		series := svg.Series{Name: l.name, Color: k, Line: true, Dots: true}
		for n := min(100_000, most); ; n = min(10*n, most) {
			passes := 0
			began, used := time.Now(), cpuSeconds()
			fitted, err := pipeline.Steps(rff).Then(l.spec()).FitSource(ctx, endless{rows: n, passes: &passes})
			if err != nil {
				return err
			}
			seconds, cpu := time.Since(began).Seconds(), cpuSeconds()-used
			accuracy, err := accuracy(ctx, fitted, test)
			if err != nil {
				return err
			}
			fmt.Printf("%-16s %10d %10.1f %12.1f %9d %11d %9.4f\n",
				l.name, n, seconds, cpu, passes, systemMemory()>>20, accuracy)
			series.X, series.Y = append(series.X, float64(n)), append(series.Y, cmp.Or(cpu, seconds))
			if n == most {
				break
			}
		}
		plot.Series = append(plot.Series, series)
	}
	if picture == "" {
		return nil
	}
	all := plot.Series[0].X
	plot.Series = append(plot.Series, svg.Series{Name: "products of ridge", Color: svg.Reference, Line: true, Dashed: true,
		X: all, Y: times(product, all)})
	return os.WriteFile(picture, []byte(plot.SVG()), 0o644)
}

func times(c float64, x []float64) []float64 {
	out := make([]float64, len(x))
	for i := range out {
		out[i] = c * x[i]
	}
	return out
}

// rates measures how many seconds of processors a row takes: in the product Z'Z of its features
// with themselves, at best, and to be made.
func rates(ctx context.Context, features int) (product, pass float64, err error) {
	const rows, tries = 8192, 5
	z, c := kern.Dense(rows, features, features, make([]float64, rows*features)),
		kern.Dense(features, features, features, make([]float64, features*features))
	for i := range z.Data {
		z.Data[i] = math.Cos(float64(i))
	}
	product = math.Inf(1)
	for range tries {
		used := cpuSeconds()
		if err := kern.Gram(ctx, c, z, nil); err != nil {
			return 0, 0, err
		}
		product = min(product, (cpuSeconds()-used)/rows)
	}
	used := cpuSeconds()
	err = endless{rows: 16 * rows}.Blocks(ctx, func(datasets.Set) error { return nil })
	return product, (cpuSeconds() - used) / (16 * rows), err
}

// accuracy returns the share of rows with the correct class.
func accuracy(ctx context.Context, p estimator.Predictor, data datasets.Set) (float64, error) {
	values, err := p.Predict(ctx, data.X)
	right := 0
	for i, v := range values {
		if v == data.Y[i] {
			right++
		}
	}
	return float64(right) / float64(len(values)), err
}

// systemMemory returns the memory that the program has obtained from the system, in bytes.
func systemMemory() uint64 {
	list := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(list)
	return list[0].Value.Uint64()
}
