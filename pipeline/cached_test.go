package pipeline_test

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// hot are rows of a number and two columns of many levels.
func hot(n int) datasets.Set {
	levels := make([]string, 20)
	for i := range levels {
		levels[i] = string(rune('a' + i))
	}
	data := datasets.Set{X: mat.NewDense(n, 3, nil), Y: make([]float64, n), Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "x"}, {Name: "u", Kind: datasets.Categorical, Categories: levels},
			{Name: "v", Kind: datasets.Categorical, Categories: levels}},
		Targets: []datasets.Column{{Name: "y"}}}}
	for i := range n {
		u, v := (7*i)%20, (i*i/3)%20
		data.X.(*mat.Dense).SetRow(i, []float64{float64(i%11) / 11, float64(u), float64(v)})
		data.Y[i] = float64(u-v)/10 + float64(i%11)/11
	}
	return data
}

// TestMostlyZeroRowsAreCachedSparse checks that mostly zero rows are cached sparse between two steps,
// that predictions equal those of a fit from a stream, which caches nothing, and that the output of
// fitted steps is dense.
func TestMostlyZeroRowsAreCachedSparse(t *testing.T) {
	data := hot(600)
	encoder := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewMinMax())},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())})
	rff := fourier(32)
	rff.Gamma = kernel.FixedGamma(0.5)
	p := pipeline.Steps(encoder, rff).Then(estimator.NewRidge())
	kept, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	streamed, err := p.FitSource(ctx, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	a, b := mustPredict(t, kept, data.X), mustPredict(t, streamed, data.X)
	close(t, "kept rows", mat.NewDense(600, 1, a), mat.NewDense(600, 1, b), 1e-9)
	_, first := pipeline.Find(kept).Chain().Step(0)
	Z, err := first.Transform(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	if _, isSparse := Z.(*matrices.CSR); isSparse {
		t.Error("the fitted step makes sparse rows")
	}
	settings := grid(t, p, param.Setting{Path: "rff.gamma", Value: []any{0.2, 0.7}},
		param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})
	folds := thirds(600)
	got, _ := sweep(t, p, data, folds, settings)
	naive(t, data, folds, settings, got, 1e-8)
}

func mustPredict(t *testing.T, p estimator.Predictor, X mat.Matrix) []float64 {
	t.Helper()
	y, err := p.Predict(ctx, X)
	if err != nil {
		t.Fatal(err)
	}
	return y
}
