package gridsearch_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// countedSource counts the passes over a source.
type countedSource struct {
	datasets.Source
	passes *int
}

func (c countedSource) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	*c.passes++
	return c.Source.Blocks(ctx, yield)
}

// TestStreamSharesPasses checks that candidates on a stream that differ in the penalty only share the
// passes that do not depend on it, also after a step that learns from the rows; and that the memory
// limit changes the number of passes, but no score.
func TestStreamSharesPasses(t *testing.T) {
	const rows = 900
	rng := rand.New(rand.NewPCG(3, 1))
	X, y, label := mat.NewDense(rows, 2, nil), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		X.SetRow(i, []float64{a, b})
		if y[i] = math.Sin(a) + b + 0.3*rng.NormFloat64(); y[i] > 0 {
			label[i] = 1
		}
	}
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma = 20, kernel.FixedGamma(0.3)
	steps := pipeline.Steps(transformer.NewStandardize(), rff)
	for name, c := range map[string]struct {
		spec   estimator.Estimator
		axis   gridsearch.Axis
		y      []float64
		passes int // of targets, steps, sums and predictions
	}{
		"ridge": {steps.Then(estimator.NewRidge()), gridsearch.Axis{Path: "ridge.alpha", Values: []any{0.1, 1.0, 10.0}},
			y, 4},
		"logistic": {steps.Then(estimator.NewLogistic()), gridsearch.Axis{Path: "logistic.C", Values: []any{0.1, 10.0}},
			label, 0},
	} {
		search := gridsearch.NewSearch(c.spec, c.axis)
		search.Splitter, search.Refit = datasets.HashKFold{Folds: 3}, gridsearch.RefitNone
		run := func(memory int64) (*gridsearch.Result, int) {
			passes := 0
			search.Memory = memory
			source := countedSource{datasets.Set{X: X, Y: c.y}.Source(), &passes}
			result, err := search.RunSource(t.Context(), source)
			if err != nil {
				t.Fatal(name, err)
			}
			return result, passes
		}
		want, passes := run(0)
		if c.passes > 0 && passes != c.passes || !slices.Contains(want.Shared, "alpha") {
			t.Errorf("%s: %d passes, shared %v; want %d", name, passes, want.Shared, c.passes)
		}
		got, more := run(1)
		if more <= passes {
			t.Errorf("%s: %d passes in little memory, %d in much", name, more, passes)
		}
		for i, candidate := range got.Candidates {
			if candidate.Failed != "" || !slices.Equal(candidate.Folds, want.Candidates[i].Folds) {
				t.Errorf("%s: %v of %v in little memory, want %v", name, candidate.Folds, candidate, want.Candidates[i].Folds)
			}
		}
	}
}
