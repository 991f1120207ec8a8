// Command stream learns a kernel machine from rows that are made as they are read: random Fourier features and
// a classifier by stochastic gradient descent, in one reading. Time grows as the rows do; memory does not.
//
//	go run ./examples/stream -most 10000000
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"runtime/metrics"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

const (
	inputs = 20
	block  = 4096
)

// endless is rows that are drawn afresh at each reading, from the seed of each block: nothing is kept.
type endless struct{ first, rows int }

func (e endless) Schema() datasets.Schema {
	return datasets.Schema{Targets: []datasets.Column{{Name: "side", Kind: datasets.Categorical, Levels: []string{"below", "above"}}}}
}

func (e endless) Dims() (rows, cols int) { return e.rows, inputs }

// Blocks hands out the rows in arrays that are used again.
func (e endless) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	x, y := make([]float64, block*inputs), make([]float64, block)
	for lo := 0; lo < e.rows; lo += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(block, e.rows-lo)
		draw(uint64(e.first+lo), x[:n*inputs], y[:n])
		if err := yield(datasets.Set{X: mat.NewDense(n, inputs, x[:n*inputs]), Y: y[:n], Schema: e.Schema()}); err != nil {
			return err
		}
	}
	return nil
}

// draw makes rows of normal numbers, and classes by a curved border that is blurred: five of the inputs matter.
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
	flag.Parse()
	if err := run(*most, *features); err != nil {
		log.Fatal(err)
	}
}

func run(most, features int) error {
	ctx := context.Background()
	rff, model := transformer.NewRFF(), estimator.NewSGDClassifier()
	rff.Features, rff.Gamma = features, transformer.FixedGamma(0.03)
	model.Loss, model.Epochs, model.Alpha = "log_loss", 1, 1e-6
	spec := pipeline.Steps(rff).Then(model)
	test, err := datasets.Gather(ctx, endless{first: 1 << 40, rows: 20_000})
	if err != nil {
		return err
	}
	fmt.Printf("%12s %12s %12s %12s %10s\n", "rows", "seconds", "CPU seconds", "memory, MB", "accuracy")
	for n := min(100_000, most); ; n = min(10*n, most) {
		began, used := time.Now(), processor()
		fitted, err := spec.FitSource(ctx, endless{rows: n})
		if err != nil {
			return err
		}
		seconds, cpu := time.Since(began).Seconds(), processor()-used
		accuracy, err := share(ctx, fitted, test)
		if err != nil {
			return err
		}
		fmt.Printf("%12d %12.1f %12.1f %12d %10.4f\n", n, seconds, cpu, held()>>20, accuracy)
		if n == most {
			return nil
		}
	}
}

// share is that of rows whose class is predicted.
func share(ctx context.Context, p estimator.Predictor, data datasets.Set) (float64, error) {
	values, err := p.Predict(ctx, data.X)
	right := 0
	for i, v := range values {
		if v == data.Y[i] {
			right++
		}
	}
	return float64(right) / float64(len(values)), err
}

// held is how much memory the program has had from the system.
func held() uint64 {
	list := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(list)
	return list[0].Value.Uint64()
}
