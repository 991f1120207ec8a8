package estimator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
)

// Fewer rows than columns: the dual way gives sparse rows, with values or a shared one, the model
// that it gives the same rows when they are dense, and so do leave-one-out predictions.
func TestDualKeepsSparseRows(t *testing.T) {
	ctx := context.Background()
	for name, values := range map[string]func(*rand.Rand) float64{
		"values": func(r *rand.Rand) float64 { return r.NormFloat64() },
		"shared": func(*rand.Rand) float64 { return 0.5 },
	} {
		r := rand.New(rand.NewPCG(3, 5))
		n, d := 40, 90
		X := mat.NewDense(n, d, nil)
		data := datasets.Set{X: X, Targets: mat.NewDense(n, 2, nil), Weights: make([]float64, n)}
		for i := range n {
			for range 6 {
				X.Set(i, r.IntN(d), values(r))
			}
			data.Targets.SetRow(i, []float64{r.NormFloat64() + 3, r.NormFloat64()})
			data.Weights[i] = float64(i % 4) // a quarter has none
		}
		slim := data
		slim.X = shrink(t, X, name == "shared")
		for _, intercept := range []bool{true, false} {
			spec := estimator.NewRidge()
			spec.Solver, spec.Intercept, spec.Alpha = "dual", intercept, 0.3
			want, got := fitLinear(t, spec, data), fitLinear(t, spec, slim)
			if gap := farthest(want.Coef(), got.Coef()); gap > 1e-12 {
				t.Errorf("%s, intercept %v: coefficients differ by %g", name, intercept, gap)
			}
			if a, b := want.Report().Objective, got.Report().Objective; math.Abs(a-b) > 1e-10*a {
				t.Errorf("%s, intercept %v: objectives %g and %g", name, intercept, a, b)
			}
			one, err := spec.LeaveOneOut(ctx, data, []float64{0.1, 10})
			if err != nil {
				t.Fatal(err)
			}
			two, err := spec.LeaveOneOut(ctx, slim, []float64{0.1, 10})
			if err != nil {
				t.Fatal(err)
			}
			for k := range one.Predictions {
				if gap := farthest(one.Predictions[k], two.Predictions[k]); gap > 1e-10 {
					t.Errorf("%s, intercept %v: left-out predictions differ by %g", name, intercept, gap)
				}
			}
		}
	}
}

func fitLinear(t *testing.T, spec estimator.Ridge, data datasets.Set) *estimator.FittedLinear {
	t.Helper()
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return fitted.(*estimator.FittedLinear)
}

// shrink returns X without its zeros, and with one value for all entries where shared.
func shrink(t *testing.T, X *mat.Dense, shared bool) *matrices.CSR {
	t.Helper()
	out := matrices.CSRFromDense(X)
	if !shared {
		return out
	}
	indptr, indices, values := out.Raw()
	n, d := out.Dims()
	out, err := matrices.NewSharedCSR(n, d, indptr, indices, values[0])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func farthest(a, b *mat.Dense) (gap float64) {
	n, d := a.Dims()
	for i := range n {
		for j := range d {
			gap = max(gap, math.Abs(a.At(i, j)-b.At(i, j)))
		}
	}
	return gap
}
