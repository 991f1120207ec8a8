package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// thinRows are sparse rows, fewer than their columns, with several targets and weights, some of
// them 0.
func thinRows(t *testing.T, shared bool) *design.Rows {
	t.Helper()
	const n, d = 60, 300
	rng := rand.New(rand.NewPCG(3, 8))
	X := mat.NewDense(n, d, nil)
	data := datasets.Set{Targets: mat.NewDense(n, 2, nil), Weights: make([]float64, n)}
	for i := range n {
		for range 20 {
			v := 0.25
			if !shared {
				v = rng.NormFloat64()
			}
			X.Set(i, int(d*math.Pow(rng.Float64(), 3)), v)
		}
		data.Weights[i] = float64(i%4) / 2
		data.Targets.SetRow(i, []float64{X.At(i, 0) + rng.NormFloat64(), 7 + X.At(i, 1)})
	}
	thin := matrices.CSRFromDense(X)
	if shared {
		indptr, indices, _ := thin.Raw()
		var err error
		if thin, err = matrices.NewSharedCSR(n, d, indptr, indices, 0.25); err != nil {
			t.Fatal(err)
		}
	}
	data.X = thin
	rows, err := design.FromSet(data)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func thinProblem(t *testing.T, shared, intercept bool) *Problem {
	s := Ridge{Intercept: intercept, Solver: "auto", Tol: 1e-12, MaxIter: 1000}
	return NewProblem(s, thinRows(t, shared), design.BlockTargetsAndWeights)
}

// rowKernel agrees with the dense kernel and its trace.
func TestRowKernelAgainstTheKernel(t *testing.T) {
	ctx := context.Background()
	for _, shared := range []bool{true, false} {
		for _, intercept := range []bool{true, false} {
			d, err := thinProblem(t, shared, intercept).readCentered(ctx)
			if err != nil {
				t.Fatal(err)
			}
			lower, err := d.kernel(ctx)
			if err != nil {
				t.Fatal(err)
			}
			K := mat.NewSymDense(d.n, nil)
			for i := range d.n {
				for j := range i + 1 {
					K.SetSym(i, j, lower[i*d.n+j])
				}
			}
			if got, want := d.traceOfKernel(), mat.Trace(K); math.Abs(got-want) > 1e-9*want {
				t.Errorf("trace %v, want %v", got, want)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			for _, targets := range []int{1, 3} {
				d.targets = targets
				k := newRowKernel(d, intercept)
				v := mat.NewDense(d.n, targets, nil)
				for i := range v.RawMatrix().Data {
					v.RawMatrix().Data[i] = rng.NormFloat64()
				}
				var want mat.Dense
				want.Mul(K, v)
				got := make([]float64, d.n*targets)
				k.apply(got, transpose(v.RawMatrix().Data, targets))
				for i, x := range got {
					if w := want.At(i%d.n, i/d.n); math.Abs(x-w) > 1e-10*mat.Norm(&want, 2) {
						t.Fatalf("shared %v, intercept %v, %d targets: entry %d is %v, want %v", shared, intercept, targets, i, x, w)
					}
				}
			}
		}
	}
}

// SolveAlphas agrees with factors. Unwanted alphas do not change the bits of others, and
// unconverged ones are nil.
func TestAlphasAgainstFactors(t *testing.T) {
	ctx := context.Background()
	alphas := []float64{0.1, 1e-4, 30, 0.1}
	all := []bool{true, true, true, true}
	for _, shared := range []bool{true, false} {
		for _, intercept := range []bool{true, false} {
			p := thinProblem(t, shared, intercept)
			models, err := p.SolveAlphas(ctx, alphas, all)
			if err != nil {
				t.Fatal(err)
			}
			some, err := p.SolveAlphas(ctx, alphas, []bool{true, false, true, false})
			if err != nil {
				t.Fatal(err)
			}
			for i, alpha := range alphas {
				one := *p
				one.Alpha, one.Solver = alpha, "dual"
				want, err := one.Solve(ctx)
				if err != nil {
					t.Fatal(err)
				}
				got := models[i]
				if got == nil || !got.Report.Converged || got.Report.Iterations == 0 {
					t.Fatalf("alpha %v has no model", alpha)
				}
				size := 0.0
				for _, v := range want.Weights {
					size = max(size, math.Abs(v))
				}
				for j, v := range want.Weights {
					if math.Abs(got.Weights[j]-v) > 1e-8*size {
						t.Fatalf("alpha %v: weight %d is %v, by factors %v", alpha, j, got.Weights[j], v)
					}
				}
				for j, v := range want.Intercept {
					if math.Abs(got.Intercept[j]-v) > 1e-8*(1+math.Abs(v)) {
						t.Errorf("alpha %v: intercept %v, by factors %v", alpha, got.Intercept, want.Intercept)
					}
				}
				if a, b := got.Report.Objective, want.Report.Objective; math.Abs(a-b) > 1e-8*b {
					t.Errorf("alpha %v: objective %v, by factors %v", alpha, a, b)
				}
				if i%2 == 1 && some[i] != nil {
					t.Errorf("alpha %v was not requested and has a model", alpha)
				}
				for j, v := range got.Weights {
					if i%2 == 0 && some[i].Weights[j] != v {
						t.Fatalf("alpha %v: weight %d is %v if others are not requested, else %v", alpha, j, some[i].Weights[j], v)
					}
				}
			}
			p.MaxIter = 5
			if models, err = p.SolveAlphas(ctx, alphas, all); err != nil || models[1] != nil {
				t.Errorf("five steps: error %v, or a model that is not got to", err)
			}
		}
	}
}
