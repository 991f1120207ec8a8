package smo

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
)

// LIBSVM, whose values testdata/large_c.py computes, takes up to 10 million steps for these problems.
func TestLargeC(t *testing.T) {
	var golden struct {
		X       [][]float64
		Targets []float64
		Cases   []struct {
			Kernel                string
			Gamma, C, Dual        float64
			Regression, Converged bool
		}
	}
	data, err := os.ReadFile("testdata/large_c.json")
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	X := mat.NewDense(len(golden.X), len(golden.X[0]), nil)
	signs := make([]float64, len(golden.X))
	for i, row := range golden.X {
		X.SetRow(i, row)
		signs[i] = sign(golden.Targets[i] > 0)
	}
	for _, c := range golden.Cases {
		t.Run(fmt.Sprint(c.Kernel, c.Gamma, c.C, c.Regression), func(t *testing.T) {
			C := slices.Repeat([]float64{c.C}, len(signs))
			p := Classification(signs, C)
			if c.Regression {
				p = Regression(golden.Targets, C, 0.2)
			}
			// With a tolerance of 1e-3, rounding changes the objective by more than 1e-4.
			if p.Tol, p.MaxSteps = 1e-4, 1_000_000; c.Kernel == "polynomial" {
				p.Tol = 1e-3
			}
			for _, whole := range []bool{false, true} {
				k, _ := pairwise.NewKernel(c.Kernel, spectral.Shape{Degree: 3, Coef0: 1})
				gamma := slices.Repeat([]float64{c.Gamma}, len(golden.X[0]))
				f := k.Frame(k.Factors(gamma), X)
				m := mustMatrix(NewMatrix(k, f, X, 1<<24))
				if whole {
					distances := kern.Dense(len(signs), len(signs), len(signs), make([]float32, len(signs)*len(signs)))
					if err := Distances(t.Context(), distances, k.Metric, f, X); err != nil {
						t.Fatal(err)
					}
					if err := m.Fill(t.Context(), distances, distances, 1); err != nil {
						t.Fatal(err)
					}
				}
				r := solved(t, m, p, nil)
				checkOptimal(t, m, p, r)
				if r.Dual < c.Dual*(1-1e-4) || c.Converged && math.Abs(r.Dual-c.Dual) > 2e-3*c.Dual {
					t.Errorf("whole matrix %v: objective %g, want %g", whole, r.Dual, c.Dual)
				}
			}
		})
	}
}
