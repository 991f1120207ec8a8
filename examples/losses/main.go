// Losses fits models with several losses to rows of one input, and plots them: quantiles and an interval
// of conformalized quantile regression where the noise grows, and the mean of counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/inspection/plot"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func main() {
	out := flag.String("out", "", "directory for quantiles.svg and counts.svg")
	flag.Parse()
	for name, picture := range map[string]func(context.Context) (*plot.Plot, error){
		"quantiles": quantiles, "counts": counts} {
		p, err := picture(context.Background())
		if err == nil && *out != "" {
			err = os.WriteFile(filepath.Join(*out, name+".svg"), []byte(p.SVG()), 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// draw returns rows of one input in [0, 10] with the targets that y draws.
func draw(n int, seed uint64, y func(x float64, source rand.Source) float64) datasets.Set {
	source := rand.NewPCG(seed, 0)
	rng := rand.New(source)
	X, targets := mat.NewDense(n, 1, nil), make([]float64, n)
	for i := range n {
		x := 10 * rng.Float64()
		X.Set(i, 0, x)
		targets[i] = y(x, source)
	}
	return datasets.New(X, "x").WithTarget("y", targets)
}

// grid returns inputs from 0 to 10, as numbers and as a matrix.
func grid() ([]float64, *mat.Dense) {
	x := make([]float64, 201)
	for i := range x {
		x[i] = float64(i) / 20
	}
	return x, mat.NewDense(len(x), 1, x)
}

// machine puts random features before a model.
func machine(model estimator.Estimator) pipeline.Pipeline {
	features := transformer.NewRFF()
	features.Features, features.Gamma, features.Seed = 200, kernel.FixedGamma(0.3), 1
	return pipeline.Steps(features).Then(model)
}

// quantiles are those of a sine with noise that grows with the input.
func quantiles(ctx context.Context) (*plot.Plot, error) {
	growing := func(x float64, source rand.Source) float64 {
		return math.Sin(x) + (0.1+0.1*x)*distuv.Normal{Sigma: 1, Src: source}.Rand()
	}
	data, fresh := draw(500, 1, growing), draw(2000, 2, growing)
	x, X := grid()
	p := plot.New("Quantiles 0.05, 0.5 and 0.95").
		Points(data.X.(*mat.Dense).RawMatrix().Data, data.Y, make([]float64, 500))
	for _, q := range []float64{0.05, 0.5, 0.95} {
		model := estimator.NewQuantileRegression()
		model.Quantile, model.Alpha = q, 1e-3
		fitted, err := machine(model).Fit(ctx, data)
		if err != nil {
			return nil, err
		}
		y, err := fitted.Predict(ctx, X)
		if err != nil {
			return nil, err
		}
		p.Curve(fmt.Sprint(q), x, y)
	}
	for _, method := range []string{"split", "cqr"} {
		share, width, err := coverage(ctx, method, data, fresh)
		if err != nil {
			return nil, err
		}
		fmt.Printf("%s: %.3f of 2000 new rows within the 90 %% interval; mean width %.2f\n", method, share, width)
	}
	return p, nil
}

// coverage returns the share of rows within the interval of level 0.9, and its mean width.
func coverage(ctx context.Context, method string, train, test datasets.Set) (share, width float64, err error) {
	var spec meta.Intervals
	if method == "cqr" {
		spec = meta.NewIntervals(machine(estimator.NewQuantileRegression()))
	} else {
		spec = meta.NewIntervals(machine(estimator.NewRidge()))
	}
	spec.Method, spec.Level = method, 0.9
	fitted, err := spec.Fit(ctx, train)
	if err != nil {
		return 0, 0, err
	}
	got, err := estimator.Predict(ctx, fitted, test.X, estimator.Request{Outputs: estimator.OutputIntervals, Level: 0.9})
	if err != nil {
		return 0, 0, err
	}
	n := float64(test.Rows())
	for i, y := range test.Y {
		if y >= got.Lower[i] && y <= got.Upper[i] {
			share += 1 / n
		}
		width += (got.Upper[i] - got.Lower[i]) / n
	}
	return share, width, nil
}

// counts are Poisson, with a mean of one peak.
func counts(ctx context.Context) (*plot.Plot, error) {
	mean := func(x float64) float64 { return 0.3 + 8*math.Exp(-(x-6)*(x-6)/2) }
	data := draw(500, 3, func(x float64, source rand.Source) float64 {
		return distuv.Poisson{Lambda: mean(x), Src: source}.Rand()
	})
	x, X := grid()
	truth := make([]float64, len(x))
	for i := range x {
		truth[i] = mean(x[i])
	}
	p := plot.New("Counts and their mean").Points(data.X.(*mat.Dense).RawMatrix().Data, data.Y, make([]float64, 500))
	fitted, err := machine(estimator.NewPoisson()).Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	y, err := fitted.Predict(ctx, X)
	if err != nil {
		return nil, err
	}
	return p.Curve("poisson", x, y).Curve("true mean", x, truth), nil
}
