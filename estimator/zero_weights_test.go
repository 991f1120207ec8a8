package estimator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
)

// TestRulesExcludeRowsOfWeightZero checks that rows of weight 0 do not change γ by a rule, nor the model.
func TestRulesExcludeRowsOfWeightZero(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 60
	X := mat.NewDense(n, 3, nil)
	numbers := datasets.Set{X: X, Y: make([]float64, n), Weights: make([]float64, n)}
	labels := make([]float64, n)
	var rows []int
	for i := range n {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
		numbers.Y[i] = X.At(i, 0) + 0.1*rng.NormFloat64()
		if X.At(i, 0)*X.At(i, 1) > 0 {
			labels[i] = 1
		}
		if i%3 == 0 {
			X.Set(i, i%2, 1000)
			continue
		}
		numbers.Weights[i] = 1
		rows = append(rows, i)
	}
	classes := numbers
	classes.Y, classes.Schema = labels, datasets.Schema{Targets: []datasets.Column{
		{Name: "y", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}}
	term, rest := kernel.NewTerm(kernel.Gaussian, "x0"), kernel.NewTerm(kernel.Gaussian, "rest")
	for _, gamma := range []kernel.Gamma{kernel.GammaScale(), kernel.GammaMedian()} {
		term.Gamma, rest.Gamma = gamma, gamma
		for _, name := range []kernel.Name{kernel.Gaussian, kernel.Product(term, rest)} {
			ridge, svr, svm, process := estimator.NewKernelRidge(), estimator.NewKernelSVR(), estimator.NewKernelSVM(),
				estimator.NewGaussianProcess()
			ridge.Kernel, svr.Kernel, svm.Kernel, process.Kernel = name, name, name, name
			ridge.Gamma, svr.Gamma, svm.Gamma, process.Gamma = gamma, gamma, gamma, gamma
			process.Features, process.Optimize = 40, []string{"noise", "amplitude"}
			for _, c := range []struct {
				spec estimator.Estimator
				data datasets.Set
			}{{ridge, numbers}, {svr, numbers}, {svm, classes}, {process, numbers}} {
				var got [2][]float64
				for i, data := range []datasets.Set{c.data, c.data.Select(rows)} {
					model, err := c.spec.Fit(ctx, data)
					if err != nil {
						t.Fatalf("%T: %v", c.spec, err)
					}
					if got[i], err = model.Predict(ctx, X); err != nil {
						t.Fatal(err)
					}
				}
				if !floats.EqualApprox(got[0], got[1], 1e-9) {
					t.Errorf("%T, %s, %s: rows of weight 0 change the predictions", c.spec, gamma.Rule(), fmt.Sprint(name))
				}
			}
		}
	}
}
