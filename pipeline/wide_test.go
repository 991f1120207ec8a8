package pipeline_test

import (
	"context"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestRidgeOnWideMaps checks that ridge regression on a wide map by conjugate gradients agrees with
// the Cholesky solution, whether features are cached, recomputed in every iteration, kept in single
// precision, or streamed.
func TestRidgeOnWideMaps(t *testing.T) {
	const n, features = 1100, 1030
	ctx := context.Background()
	data, err := synthetic.Friedman1(n, 6, 0.1, 3)
	if err != nil {
		t.Fatal(err)
	}
	of := func(solver, precision string, memory int64) pipeline.Pipeline {
		rff, ridge := transformer.NewRFF(), estimator.NewRidge()
		rff.Features, rff.Gamma = features, kernel.FixedGamma(0.5)
		ridge.Alpha, ridge.Solver = 0.01, solver
		p := pipeline.Steps(transformer.NewStandardize(), rff).Then(ridge)
		p.Precision, p.Memory = precision, memory
		return p
	}
	for _, precision := range []string{pipeline.Float64, pipeline.Float32} {
		exact, err := of("cholesky", precision, 0).Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		want, err := exact.Predict(ctx, data.X)
		if err != nil {
			t.Fatal(err)
		}
		tolerance := 1e-7
		if precision == pipeline.Float32 {
			tolerance = 1e-3 // error of float32 sums
		}
		for name, memory := range map[string]int64{"cached": 1 << 30, "kept": 6 * n * features, "mapped again": 1 << 20} {
			for _, stream := range []bool{false, true} {
				if stream && name != "mapped again" {
					continue
				}
				p := of("cg", precision, memory)
				var fitted estimator.Predictor
				if stream {
					fitted, err = p.FitSource(ctx, data.Source())
				} else {
					fitted, err = p.Fit(ctx, data)
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := fitted.Predict(ctx, data.X)
				if err != nil {
					t.Fatal(err)
				}
				off := 0.0
				for i := range n {
					off = math.Max(off, math.Abs(got[i]-want[i]))
				}
				_, model := pipeline.Find(fitted).Model()
				report := model.(estimator.Reporter).Report()
				// the spread is about 5
				if off > 5*tolerance || !report.Converged || report.Solver != "cg" || report.Gradient > 1e-8 {
					t.Errorf("%s, %s, stream %v: off by %.2g; %+v", precision, name, stream, off, report)
				}
			}
		}
	}
}

// The cost of features that do not fit in the memory of a pipeline is planned for every pass.
func TestPlanOfRecomputedFeatures(t *testing.T) {
	rff, ridge := transformer.NewRFF(), estimator.NewRidge()
	rff.Features, rff.Gamma = 32768, kernel.FixedGamma(0.01)
	p := pipeline.Steps(rff).Then(ridge)
	shape := datasets.Shape{Rows: 100_000, Cols: 54, Outputs: 1}
	cost, once := p.Cost(shape), rff.Cost(shape)
	if cost.Flops < 10*once.Flops {
		t.Errorf("%+v, where making the features once is %+v", cost, once)
	}
	p.Memory = 64 << 30
	if roomy := p.Cost(shape); roomy.Flops > cost.Flops-9*once.Flops {
		t.Errorf("with cache %+v, without %+v", roomy, cost)
	}
}
