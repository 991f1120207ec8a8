package estimator_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
)

// exactKernels are kernels by their definitions, for γ = 0.6 and the default parameters, exponent 1.4.
var exactKernels = map[kernel.Name]func(x, y []float64) float64{
	kernel.PoweredExponential: func(x, y []float64) float64 {
		return math.Exp(-math.Pow(0.6*math.Sqrt(sumOf(x, y, func(a, b float64) float64 { return (a - b) * (a - b) })), 1.4))
	},
	kernel.Polynomial: func(x, y []float64) float64 { return math.Pow(0.6*sumOf(x, y, product)+1, 3) },
	kernel.Cosine: func(x, y []float64) float64 {
		return sumOf(x, y, product) / math.Sqrt(sumOf(x, x, product)*sumOf(y, y, product))
	},
	kernel.Chi2: func(x, y []float64) float64 {
		return math.Exp(-0.6 * sumOf(x, y, func(a, b float64) float64 { return (a - b) * (a - b) / (a + b) }))
	},
}

func product(a, b float64) float64 { return a * b }

func sumOf(x, y []float64, term func(a, b float64) float64) (sum float64) {
	for j := range x {
		sum += term(x[j], y[j])
	}
	return sum
}

// kernelMatrixOf returns k of all rows of X and Y.
func kernelMatrixOf(k func(x, y []float64) float64, X, Y *mat.Dense) *mat.Dense {
	n, _ := X.Dims()
	m, _ := Y.Dims()
	out := mat.NewDense(n, m, nil)
	out.Apply(func(i, j int, _ float64) float64 { return k(X.RawRowView(i), Y.RawRowView(j)) }, out)
	return out
}

// positiveRows are rows of positive inputs with targets.
func positiveRows(n int) (X *mat.Dense, y []float64) {
	rng := rand.New(rand.NewPCG(5, 5))
	X, y = mat.NewDense(n, 3, nil), make([]float64, n)
	for i := range n {
		X.SetRow(i, []float64{rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64()})
		y[i] = math.Sin(2*X.At(i, 0)) + X.At(i, 1)*X.At(i, 2) + 0.1*rng.NormFloat64()
	}
	return X, y
}

// Kernel ridge regression is the dense solution of (K + alpha)a = y.
func TestKernelRidgeWithExactKernels(t *testing.T) {
	X, y := positiveRows(80)
	query, _ := positiveRows(20)
	for name, k := range exactKernels {
		A, want := kernelMatrixOf(k, X, X), mat.NewVecDense(20, nil)
		for i := range y {
			A.Set(i, i, A.At(i, i)+0.3)
		}
		var a mat.VecDense
		if err := a.SolveVec(A, mat.NewVecDense(80, y)); err != nil {
			t.Fatal(err)
		}
		want.MulVec(kernelMatrixOf(k, query, X), &a)
		s := estimator.NewKernelRidge()
		s.Kernel, s.Gamma, s.Exponent, s.Alpha, s.Intercept = name, kernel.FixedGamma(0.6), 1.4, 0.3, false
		solvers := []string{"auto", "cholesky"}
		if name != kernel.Polynomial {
			solvers = append(solvers, "cg")
		}
		for _, s.Solver = range solvers {
			f := fit(t, s, datasets.Set{X: X, Y: y})
			got, err := f.Predict(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			near(t, string(name)+" "+s.Solver, got, want.RawVector().Data, 1e-5)
		}
	}
}

// Support vector machines satisfy the optimality conditions of the dual problem, whose matrix is
// that of the definition, and predictions are sums of kernels.
func TestKernelMachinesWithExactKernels(t *testing.T) {
	const C, tol = 2.0, 1e-4
	X, y := positiveRows(90)
	classes := make([]float64, len(y))
	for i, v := range y {
		if v > 1 {
			classes[i] = 1
		}
	}
	for name, k := range exactKernels {
		s, r := estimator.NewKernelSVM(), estimator.NewKernelSVR()
		s.Kernel, s.Gamma, s.Exponent, s.C, s.Tol = name, kernel.FixedGamma(0.6), 1.4, C, tol
		r.Kernel, r.Gamma, r.Exponent, r.C, r.Epsilon, r.Tol = name, s.Gamma, 1.4, C, 0.2, tol
		data := datasets.Set{X: X, Y: classes}
		data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
		svm := fit(t, s, data).(vectorMachine)
		svr := fit(t, r, datasets.Set{X: X, Y: y}).(vectorMachine)
		scores := func(support mat.Matrix, dual *mat.Dense, intercept float64) (f, beta []float64) {
			rows := mat.DenseCopyOf(support)
			var out mat.Dense
			out.Mul(kernelMatrixOf(k, X, rows), dual)
			f, beta = out.RawMatrix().Data, make([]float64, len(y))
			for i := range f {
				f[i] += intercept
				for p := range dual.RawMatrix().Rows {
					if mat.Equal(rows.RowView(p), X.RowView(i)) {
						beta[i] = dual.At(p, 0)
					}
				}
			}
			return f, beta
		}
		f, beta := scores(svm.SupportVectors(), svm.Dual(), svm.Intercept()[0])
		for i, b := range beta {
			sign := 2*classes[i] - 1
			checkMargin(t, name, sign*f[i]-1, sign*b, C)
		}
		f, beta = scores(svr.SupportVectors(), svr.Dual(), svr.Intercept()[0])
		for i, b := range beta {
			if residual := y[i] - f[i]; b < 0 || b == 0 && residual < 0 {
				checkMargin(t, name, residual+0.2, -b, C)
			} else {
				checkMargin(t, name, 0.2-residual, b, C)
			}
		}
		got, err := svr.Predict(t.Context(), X)
		if err != nil {
			t.Fatal(err)
		}
		near(t, string(name), got, f, 1e-9)
	}
}

// checkMargin checks that a row has weight 0 beyond the margin, C within it, and else lies on it.
func checkMargin(t *testing.T, name kernel.Name, margin, weight, C float64) {
	t.Helper()
	const tolerance = 2e-3
	if weight < 0 || weight > C*(1+1e-9) || weight < C && margin < -tolerance || weight > 0 && margin > tolerance {
		t.Errorf("%s: weight %v at margin %v", name, weight, margin)
	}
}

// Inputs below 0 are errors of the chi2 kernel in fits and predictions; cg refuses polynomials.
func TestExactKernelsRefuse(t *testing.T) {
	X, y := positiveRows(10)
	bad := mat.DenseCopyOf(X)
	bad.Set(3, 1, -2)
	s, ridge := estimator.NewKernelSVR(), estimator.NewKernelRidge()
	s.Kernel = kernel.Chi2
	_, err := s.Fit(t.Context(), datasets.Set{X: bad, Y: y})
	f := fit(t, s, datasets.Set{X: X, Y: y})
	_, predict := f.Predict(t.Context(), bad)
	for _, err := range []error{err, predict} {
		if err == nil || !strings.Contains(err.Error(), "row 3, column x1: must be ≥ 0 for kernel: chi2, got -2") {
			t.Errorf("%v", err)
		}
	}
	ridge.Kernel, ridge.Solver = kernel.Polynomial, "cg"
	_, err = ridge.Fit(t.Context(), datasets.Set{X: X, Y: y})
	if err == nil || !strings.Contains(err.Error(), "cholesky") {
		t.Errorf("%v", err)
	}
}

// A search over kernels, exponents and penalties shares work and predicts what separate fits predict.
func TestExactKernelBatchesAreSeparateFits(t *testing.T) {
	X, y := positiveRows(90)
	data := datasets.Set{X: X, Y: y}
	var machines, ridges []estimator.Estimator
	for name := range exactKernels {
		for _, exponent := range []float64{0.8, 1.4} {
			for _, penalty := range []float64{0.5, 3} {
				s, r := estimator.NewKernelSVR(), estimator.NewKernelRidge()
				s.Kernel, s.Gamma, s.Exponent, s.C, s.Tol = name, kernel.FixedGamma(0.6), exponent, penalty/50, 1e-9
				r.Kernel, r.Gamma, r.Exponent, r.Alpha, r.Tol = name, s.Gamma, exponent, penalty, 1e-10
				machines, ridges = append(machines, s), append(ridges, r)
			}
		}
	}
	for _, specs := range [][]estimator.Estimator{machines, ridges} {
		got, _ := fitBatch(t, data, foldsOf(90, 3), specs)
		equalsNaive(t, data, foldsOf(90, 3), specs, got)
	}
}
