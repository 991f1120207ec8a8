package estimator

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/sparse"
)

// scattered returns rows with a third of the entries.
func scattered(seed uint64, n, d int) datasets.Set {
	data := gaussians(seed, n, d)
	rng := rand.New(rand.NewPCG(seed, 2))
	x := data.X.(*mat.Dense)
	for i := range n {
		for j := range d {
			if rng.IntN(3) > 0 {
				x.Set(i, j, 0)
			}
		}
	}
	return data
}

func TestProbeSolvers(t *testing.T) {
	ctx := context.Background()
	for name, data := range map[string]datasets.Set{"tall": gaussians(1, 60, 8), "wide": gaussians(2, 12, 40), "square": gaussians(3, 20, 20),
		"powers": powers(60, 12), "powers wide": powers(14, 20), "sparse tall": scattered(4, 60, 12), "sparse wide": scattered(5, 14, 50), "alike": withAlike(gaussians(1, 14, 20))} {
		for _, intercept := range []bool{true, false} {
			if intercept {
				rng := rand.New(rand.NewPCG(9, 9))
				data.Weights = make([]float64, data.Rows())
				for i := range data.Weights {
					data.Weights[i] = 0.1 + 3*rng.Float64()
				}
			} else {
				data.Weights = nil
			}
			for _, alpha := range []float64{1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3} {
				line := ""
				exact := newExactRidge(t, data, alpha, intercept)
				n, d := data.X.Dims()
				for _, solver := range []string{"cholesky", "dual", "cg"} {
					for _, X := range []mat.Matrix{data.X, sparse.FromDense(data.X)} {
						set := data
						set.X = X
						s := Ridge{Alpha: alpha, Intercept: intercept, Solver: solver, Tol: 1e-8, MaxIter: 1000}
						f, err := s.Fit(ctx, set)
						if err != nil {
							line += err.Error()
							continue
						}
						got, _ := f.Predict(ctx, X)
						off := 0.0
						for i := range n {
							off = max(off, math.Abs(got[i]-exact.predict(data, i)))
						}
						up, down := 0.0, 0.0
						for j := range d {
							w, _ := exact.coef[j].Float64()
							up += math.Pow(f.(*FittedLinear).coef.At(0, j)-w, 2)
							down += w * w
						}
						r := f.(*FittedLinear).Report()
						mark := ""
						if !r.Converged {
							mark = "!"
						}
						if len(r.Warnings) > 0 {
							mark += "w"
						}
						line += fmt.Sprintf(" %.0e/%.0e%s", off/spreadOf(data.Y), math.Sqrt(up/down), mark)
						if solver == "cg" {
							line += fmt.Sprintf("(%d)", r.Iterations)
						}
					}
				}
				t.Logf("%-11s %5v %5.0e: %s", name, intercept, alpha, line)
			}
		}
	}
}
