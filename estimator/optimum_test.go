package estimator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
)

// noisy returns rows of two overlapping, unbalanced classes far from the origin, so that the
// intercept matters, and targets that depend on the same direction.
func noisy(seed uint64, n, d int) (x *mat.Dense, codes, targets, weights []float64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	x = mat.NewDense(n, d, nil)
	codes, targets, weights = make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		row := x.RawRowView(i)
		z := -2.0
		for j := range row {
			row[j] = rng.NormFloat64() + float64(j)
			z += row[j] / (1 + float64(j))
		}
		if z+rng.NormFloat64() > 1 {
			codes[i] = 1
		}
		targets[i] = 5 + z + rng.NormFloat64()
		weights[i] = float64(rng.IntN(3))
	}
	return x, codes, targets, weights
}

// objectiveAt is C·Σ s·loss(score, target) + ½‖w‖², straight from its definition.
func objectiveAt(x *mat.Dense, y, weights, w []float64, b, c float64, loss func(z, y float64) float64) float64 {
	sum := 0.0
	for _, v := range w {
		sum += v * v / 2
	}
	n, _ := x.Dims()
	for i := range n {
		z := b
		for j, v := range x.RawRowView(i) {
			z += v * w[j]
		}
		sum += c * weights[i] * loss(z, y[i])
	}
	return sum
}

func hinge(z, y float64) float64 { return max(0, 1-(2*y-1)*z) }

func square(f func(z, y float64) float64) func(z, y float64) float64 {
	return func(z, y float64) float64 { v := f(z, y); return v * v }
}

func tube(width float64) func(z, y float64) float64 {
	return func(z, y float64) float64 { return max(0, math.Abs(z-y)-width) }
}

// optimal fails where some small change of (w, b), the intercept alone included, lowers the
// objective by more than the tolerance. The objectives are convex, so a minimum nearby is the
// minimum.
func optimal(t *testing.T, w []float64, b float64, f func(w []float64, b float64) float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 11))
	at := f(w, b)
	trial := make([]float64, len(w))
	for k := range 3000 {
		size := math.Pow(10, -4*rng.Float64())
		for j := range trial {
			trial[j] = w[j]
			if k%3 > 0 {
				trial[j] += size * rng.NormFloat64()
			}
		}
		shifted := b + size*rng.NormFloat64()
		if k%3 == 1 {
			shifted = b
		}
		if v := f(trial, shifted); v < at*(1-1e-6) {
			t.Fatalf("the objective is %.10g at the solution and %.10g at distance %.2g from it", at, v, size)
		}
	}
}

func TestSVMReachesTheOptimumOfTheUnpenalizedIntercept(t *testing.T) {
	for _, name := range []string{"hinge", "squared_hinge"} {
		for seed := range uint64(4) {
			x, y, _, weights := noisy(seed, 80, 3)
			loss := hinge
			if name == "squared_hinge" {
				loss = square(hinge)
			}
			s := estimator.NewSVM()
			s.C, s.Loss, s.Tol, s.MaxIter = 0.7, name, 1e-7, 200_000
			for k, X := range []mat.Matrix{x, matrices.CSRFromDense(x), x} {
				s.Solver = []string{"auto", "auto", "dual"}[k]
				f := fit(t, s, datasets.Set{X: X, Y: y, Weights: weights}).(*estimator.FittedLinearClassifier)
				w, b := f.Coef().RawRowView(0), f.Intercept()[0]
				value := objectiveAt(x, y, weights, w, b, s.C, loss)
				near(t, "reported objective", []float64{f.Report().Objective}, []float64{value}, 1e-9)
				optimal(t, w, b, func(w []float64, b float64) float64 {
					return objectiveAt(x, y, weights, w, b, s.C, loss)
				})
			}
		}
	}
}

func TestSVRReachesTheOptimumOfTheUnpenalizedIntercept(t *testing.T) {
	for _, name := range []string{"epsilon_insensitive", "squared_epsilon_insensitive"} {
		for seed := range uint64(4) {
			x, _, y, weights := noisy(seed, 80, 3)
			loss := tube(0.2)
			if name == "squared_epsilon_insensitive" {
				loss = square(loss)
			}
			s := estimator.NewSVR()
			s.C, s.Epsilon, s.Loss, s.Tol, s.MaxIter = 0.7, 0.2, name, 1e-7, 200_000
			for k, X := range []mat.Matrix{x, matrices.CSRFromDense(x), x} {
				s.Solver = []string{"auto", "auto", "dual"}[k]
				f := fit(t, s, datasets.Set{X: X, Y: y, Weights: weights}).(*estimator.FittedLinear)
				w, b := f.Coef().RawRowView(0), f.Intercept()[0]
				optimal(t, w, b, func(w []float64, b float64) float64 {
					return objectiveAt(x, y, weights, w, b, s.C, loss)
				})
			}
		}
	}
}

func TestLogisticSatisfiesTheOptimalityConditions(t *testing.T) {
	x, y, _, weights := noisy(5, 200, 4)
	s := estimator.NewLogistic()
	s.C, s.Tol = 3, 1e-10
	f := fit(t, s, datasets.Set{X: x, Y: y, Weights: weights}).(linearModel)
	w, b := f.Coef().RawRowView(0), f.Intercept()[0]
	gradient, intercept := append([]float64(nil), w...), 0.0
	for i := range y {
		z := b
		for j, v := range x.RawRowView(i) {
			z += v * w[j]
		}
		r := s.C * weights[i] * (1/(1+math.Exp(-z)) - y[i])
		intercept += r
		for j, v := range x.RawRowView(i) {
			gradient[j] += r * v
		}
	}
	for j, g := range append(gradient, intercept) {
		if math.Abs(g) > 1e-7 {
			t.Errorf("derivative %d is %g", j, g)
		}
	}
}

// The same data give the same bits on any number of cores.
func TestFitsDoNotDependOnTheNumberOfCores(t *testing.T) {
	data, classes := fourierSet(5000, 80)
	three := classes
	three.Y = make([]float64, len(data.Y))
	for i, v := range data.Y {
		three.Y[i] = math.Floor(max(0, min(2, v+1.5)))
	}
	index := binned(20_000, 10, 30)
	hinge := estimator.NewSVM()
	hinge.Loss, hinge.Tol = "hinge", 1e-2
	cg := estimator.NewRidgeClassifier()
	cg.Solver = "cg"
	interior := estimator.NewSVR()
	interior.C = 100
	for _, c := range []struct {
		name string
		spec estimator.Estimator
		data datasets.Set
	}{{"ridge", estimator.NewRidge(), data}, {"logistic", estimator.NewLogistic(), classes},
		{"softmax", estimator.NewLogistic(), three},
		{"svm", estimator.NewSVM(), three}, {"hinge", hinge, three}, {"svr", estimator.NewSVR(), data.Slice(0, 500)},
		{"svr of a large C", interior, data.Slice(0, 1500)},
		{"binned logistic", estimator.NewLogistic(), index}, {"binned cg", cg, index}} {
		var first []float64
		for _, cores := range []int{1, 2, 5} {
			before := runtime.GOMAXPROCS(cores)
			p, err := c.spec.Fit(context.Background(), c.data)
			runtime.GOMAXPROCS(before)
			if err != nil {
				t.Fatal(err)
			}
			w := p.(interface{ Coef() *mat.Dense }).Coef().RawMatrix().Data
			if first == nil {
				first = w
			}
			near(t, c.name, w, first, 0)
		}
	}
}

// TestSinglePrecisionRowsAreTheRowsRounded checks that every estimator gives the same results for
// float32 rows as for these rows in float64, up to float32 products.
func TestSinglePrecisionRowsAreTheRowsRounded(t *testing.T) {
	x, codes, y, weights := noisy(51, 300, 6)
	narrow := matrices.CopyDense32(x)
	wide := mat.DenseCopyOf(narrow)
	ctx := context.Background()
	hinge, svr, cg, dual := estimator.NewSVM(), estimator.NewSVR(), estimator.NewRidge(), estimator.NewRidge()
	hinge.Loss, svr.Loss, cg.Solver, dual.Solver = "hinge", "squared_epsilon_insensitive", "cg", "dual"
	logistic, svm := estimator.NewLogistic(), estimator.NewSVM()
	logistic.Tol, svm.Tol, svr.Tol = 1e-6, 1e-6, 1e-6
	for k, s := range []estimator.Estimator{estimator.NewRidge(), cg, dual, svr, estimator.NewRidgeClassifier(), logistic,
		svm, hinge} {
		target := codes
		if k < 4 {
			target = y
		}
		for _, w := range [][]float64{nil, weights} {
			a := fit(t, s, datasets.Set{X: narrow, Y: target, Weights: w})
			b := fit(t, s, datasets.Set{X: wide, Y: target, Weights: w})
			want := b.(interface{ Coef() *mat.Dense }).Coef().RawMatrix().Data
			near(t, fmt.Sprintf("%T: coef", s), a.(interface{ Coef() *mat.Dense }).Coef().RawMatrix().Data, want, 1e-4)
			p, err := estimator.Predict(ctx, b, narrow, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			q, err := estimator.Predict(ctx, b, wide, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("%T: prediction", s), p.Values, q.Values, 1e-6)
		}
	}
	loo, err := estimator.NewRidge().LeaveOneOut(ctx, datasets.Set{X: narrow, Y: y}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	same, err := estimator.NewRidge().LeaveOneOut(ctx, datasets.Set{X: wide, Y: y}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "leave-one-out", loo.Errors, same.Errors, 1e-5)
	bad := matrices.CopyDense32(x)
	bad.Row(3)[2] = float32(math.NaN())
	for _, s := range []estimator.Estimator{estimator.NewRidge(), estimator.NewLogistic(), hinge} {
		if _, err := s.Fit(ctx, datasets.Set{X: bad, Y: codes}); err == nil ||
			!strings.Contains(err.Error(), "row 3, column x2") {
			t.Errorf("%T: %v", s, err)
		}
	}
}
