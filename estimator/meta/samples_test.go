package meta_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Specs, rows and fits shared by the tests.

func target(transform string, of estimator.Estimator) meta.Target {
	s := meta.NewTarget(of)
	s.Transform = transform
	return s
}

func calibrated(method string, folds int, of estimator.Estimator) meta.Calibrated {
	s := meta.NewCalibrated(of)
	s.Method, s.Folds = method, folds
	return s
}

// fourier is a pipeline on random features.
func fourier(gamma float64, model estimator.Estimator) pipeline.Pipeline {
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features, rff.Seed = kernel.FixedGamma(gamma), 24, 5
	return pipeline.Steps(rff).Then(model)
}

func weakRidge(alpha float64) estimator.Ridge {
	s := estimator.NewRidge()
	s.Alpha = alpha
	return s
}

// ensemble combines models that are called a, b, c …
func ensemble(models ...estimator.Estimator) meta.Ensemble {
	s := meta.NewEnsemble()
	for k, m := range models {
		s.Members = append(s.Members, meta.Member{Name: string(rune('a' + k)), Estimator: m})
	}
	return s
}

// amounts is rows with one or several positive targets, of which inputs explain the logarithms.
func amounts(n, targets int) datasets.Set {
	rng := rand.New(rand.NewPCG(6, 6))
	X, Y := mat.NewDense(n, 3, nil), mat.NewDense(n, targets, nil)
	for i := range n {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
		for j := range targets {
			Y.Set(i, j, math.Exp(X.At(i, 0)-0.5*X.At(i, 1)+float64(j)*X.At(i, 2)+0.5*rng.NormFloat64()))
		}
	}
	if targets == 1 {
		return datasets.Set{X: X, Y: mat.Col(nil, 0, Y)}
	}
	return datasets.Set{X: X, Targets: Y}
}

// overlapping returns rows of two overlapping classes.
func overlapping(seed uint64, n int) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 9))
	X, y := mat.NewDense(n, 4, nil), make([]float64, n)
	for i := range y {
		sum := 0.0
		for j := range 4 {
			v := rng.NormFloat64()
			X.Set(i, j, v)
			sum += v
		}
		if rng.Float64() < 1/(1+math.Exp(-sum)) {
			y[i] = 1
		}
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "y",
		Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}}
}

// curve is rows of two inputs with one or two targets that are no line in them.
func curve(seed uint64, n, targets int) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 3))
	X, Y := mat.NewDense(n, 2, nil), mat.NewDense(n, targets, nil)
	for i := range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		X.SetRow(i, []float64{a, b})
		for j := range targets {
			Y.Set(i, j, math.Pow(1000, float64(j))*(2+math.Sin(2*a)+0.5*b+0.1*rng.NormFloat64()))
		}
	}
	if targets == 1 {
		return datasets.Set{X: X, Y: mat.Col(nil, 0, Y), Schema: datasets.Schema{Targets: []datasets.Column{{Name: "y"}}}}
	}
	return datasets.Set{X: X, Targets: Y, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "a"}, {Name: "b"}}}}
}

func predicted(t *testing.T, spec estimator.Estimator, data datasets.Set, X mat.Matrix) estimator.Prediction {
	t.Helper()
	p, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	all, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func alike(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tolerance*max(1, math.Abs(want[i]))) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, v, want[i])
		}
	}
}

// together fits specs of one type to k folds, and returns the shared work and the predictions by
// candidate and fold.
func together(t *testing.T, data datasets.Set, k int, specs ...estimator.Estimator) (shared []string,
	out [][]batch.Outcome) {
	t.Helper()
	folds, err := datasets.KFold{Folds: k}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	out = make([][]batch.Outcome, len(specs))
	for i := range out {
		out[i] = make([]batch.Outcome, k)
	}
	shared, err = specs[0].(batch.Fitter).FitBatch(context.Background(),
		batch.Job{Data: data, Shape: data.Shape(), Folds: folds,
			Candidates: batch.Candidates(specs...),
			Yield:      func(i, fold int, o batch.Outcome) error { out[i][fold] = o; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return shared, out
}
