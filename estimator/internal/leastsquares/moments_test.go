package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/matrices"
)

// far returns rows whose first column has a large mean relative to its deviation.
func far(seed uint64, n int) (x *mat.Dense, y, weights []float64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	x, y, weights = mat.NewDense(n, 4, nil), make([]float64, 2*n), make([]float64, n)
	for i := range n {
		x.SetRow(i, []float64{1e6 + rng.NormFloat64(), rng.NormFloat64(), float64(rng.IntN(2)), 7})
		y[2*i], y[2*i+1] = 1e5+x.At(i, 0)-1e6+x.At(i, 1)+0.1*rng.NormFloat64(), rng.NormFloat64()
		weights[i] = rng.Float64() * 2
	}
	return x, y, weights
}

func sums(x mat.Matrix, y, weights []float64, lo, hi int) *Moments {
	m := NewMoments(4, 2, true)
	if err := m.Add(context.Background(), x.(*mat.Dense).Slice(lo, hi, 0, 4), y[2*lo:2*hi], weights[lo:hi]); err != nil {
		panic(err)
	}
	return m
}

func solved(m *Moments, alpha float64) (solve.Linear, error) {
	return (&Problem{Ridge: Ridge{Alpha: alpha}}).SolveMoments(context.Background(), m)
}

// sameSolution compares the ridge solutions of two moments.
func sameSolution(t *testing.T, what string, got, want *Moments, tol float64) {
	t.Helper()
	a, err := solved(got, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	b, err := solved(want, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range a.Weights {
		if w := b.Weights[i]; math.Abs(v-w) > tol*math.Max(1, math.Abs(w)) {
			t.Errorf("%s: coefficient %d is %.12g, want %.12g", what, i, v, w)
		}
	}
	for i, v := range a.Intercept {
		if w := b.Intercept[i]; math.Abs(v-w) > 1e7*tol {
			t.Errorf("%s: intercept %d is %.12g, want %.12g", what, i, v, w)
		}
	}
	if math.Abs(a.Report.Objective-b.Report.Objective) > 1e3*tol*b.Report.Objective {
		t.Errorf("%s: objective %.12g, want %.12g", what, a.Report.Objective, b.Report.Objective)
	}
}

// Merging and subtracting parts with different shifts is consistent.
func TestMomentsMergeAndSubtract(t *testing.T) {
	x, y, w := far(1, 60)
	whole, head, tail := sums(x, y, w, 0, 60), sums(x, y, w, 0, 25), sums(x, y, w, 25, 60)
	merged := NewMoments(4, 2, true)
	merged.merge(head)
	merged.merge(tail)
	sameSolution(t, "merged", merged, whole, 1e-9)
	if merged.rows != 60 || head.rows != 25 {
		t.Errorf("%d rows merged, %d in the part", merged.rows, head.rows)
	}
	rest := NewMoments(4, 2, true)
	rest.merge(whole)
	rest.subtract(head)
	sameSolution(t, "subtracted", rest, tail, 1e-9)
	if head.shift[0] == tail.shift[0] {
		t.Error("the parts have the same shift: the test shows nothing")
	}
}

// Centering is accurate for columns far from 0: the solution agrees with that of rows moved to the
// origin.
func TestMomentsCenterCarefully(t *testing.T) {
	x, y, w := far(2, 80)
	near := mat.DenseCopyOf(x)
	for i := range 80 {
		near.Set(i, 0, x.At(i, 0)-1e6)
		near.Set(i, 3, 0)
	}
	a, err := solved(sums(x, y, w, 0, 80), 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := solved(sums(near, y, w, 0, 80), 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Weights {
		if got, want := a.Weights[i], b.Weights[i]; math.Abs(got-want) > 1e-9 {
			t.Errorf("coefficient %d is %.15g, want %.15g", i, got, want)
		}
	}
}

func TestMomentsOfSparseRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	x, y, w := mat.NewDense(30, 4, nil), make([]float64, 60), make([]float64, 30)
	for i := range 30 {
		x.Set(i, rng.IntN(4), rng.NormFloat64())
		x.Set(i, rng.IntN(4), 1)
		y[2*i], y[2*i+1], w[i] = rng.NormFloat64(), rng.NormFloat64(), rng.Float64()
	}
	thin := NewMoments(4, 2, true)
	if err := thin.Add(context.Background(), matrices.CSRFromDense(x), y, w); err != nil {
		t.Fatal(err)
	}
	sameSolution(t, "sparse", thin, sums(x, y, w, 0, 30), 1e-10)
}

func TestLeastNormSolvesWithinTheRange(t *testing.T) {
	// A = diag(4, 0) rotated by 30°, b in its range.
	c, s := math.Cos(math.Pi/6), math.Sin(math.Pi/6)
	b := []float64{4 * c, 4 * s}
	rank, err := minNormSolve(context.Background(), []float64{4 * c * c, 0, 4 * s * c, 4 * s * s}, 2, b, 1)
	if err != nil || rank != 1 || math.Abs(b[0]-c) > 1e-14 || math.Abs(b[1]-s) > 1e-14 {
		t.Errorf("rank %d, x = %v, %v", rank, b, err)
	}
}
