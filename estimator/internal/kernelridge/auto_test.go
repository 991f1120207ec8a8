package kernelridge

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
)

// With a small penalty, which conjugate gradients do not get to, auto ends converged by a factor.
func TestAutoConverges(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("a factor of 4,500 rows takes a second")
	}
	const n = 4500
	rng := rand.New(rand.NewPCG(1, 2))
	X, y := mat.NewDense(n, 5, nil), make([]float64, n)
	for i := range y {
		for j := range 5 {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = math.Sin(2*X.At(i, 0)) + 0.1*rng.NormFloat64()
	}
	r, err := design.FromSet(datasets.Set{X: X, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	s := Spec{Kernel: "gaussian", Gamma: kernel.FixedGamma(0.3), Alpha: 1e-6, Intercept: true, Solver: "auto",
		Preconditioner: "rpcholesky", Tol: 1e-6, MaxIter: 1000, Nu: 1.5, Shape: 1}
	m, err := s.Fit(context.Background(), r, NumericTargets)
	if err != nil || !m.Report.Converged || m.Report.Solver != "cholesky" || m.Report.Gradient > 1e-7 {
		t.Errorf("%+v, %v", m.Report, err)
	}
	s.Alpha = 1
	m, err = s.Fit(context.Background(), r, NumericTargets)
	if err != nil || !m.Report.Converged || m.Report.Solver != "cg" {
		t.Errorf("alpha 1: %+v, %v", m.Report, err)
	}
}
