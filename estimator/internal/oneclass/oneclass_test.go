package oneclass

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// features returns rows with a common direction, so that a hyperplane separates them from the
// origin.
func features(n, d int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	X := mat.NewDense(n, d, nil)
	X.Apply(func(_, j int, _ float64) float64 {
		if j%3 == 2 && rng.IntN(8) == 0 {
			return 0
		}
		return 2 + rng.NormFloat64()
	}, X)
	return X
}

// TestGapAndShares checks that more rows than a working set are solved to a small gap, that the
// share of rows outside is at most ν, and the share outside or on the boundary at least ν.
func TestGapAndShares(t *testing.T) {
	X := features(3000, 12)
	for _, nu := range []float64{0.02, 0.3, 0.9, 1} {
		p, err := Task{Nu: nu, Tol: 1e-8, MaxIter: 300}.Fit(context.Background(), X, nil)
		if err != nil || !p.Converged || p.Gap > 1e-8 {
			t.Fatalf("nu %v: %v, gap %v after %d steps", nu, err, p.Gap, p.Iterations)
		}
		g := make([]float64, 3000)
		if err := Margins(context.Background(), g, X, p.W); err != nil {
			t.Fatal(err)
		}
		outside, atMost := 0.0, 0.0
		primal := 0.0
		for _, v := range p.W {
			primal += v * v / 2
		}
		for _, v := range g {
			primal += max(0, p.Rho-v) / (nu * 3000)
			if v < p.Rho-1e-6 {
				outside++
			}
			if v < p.Rho+1e-6 {
				atMost++
			}
		}
		if primal -= p.Rho; math.Abs(primal-p.Objective) > 1e-6*math.Abs(primal) {
			t.Errorf("nu %v: objective %v, by hand %v", nu, p.Objective, primal)
		}
		if outside > nu*3000 || atMost < nu*3000 {
			t.Errorf("nu %v: %v rows outside, %v with those on the border", nu, outside, atMost)
		}
	}
}

// Any direction away from the plane is worse: the objective is convex, so that this is the least.
func TestOptimality(t *testing.T) {
	X := features(400, 5)
	const nu = 0.2
	p, err := Task{Nu: nu, Tol: 1e-10, MaxIter: 300}.Fit(context.Background(), X, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(w []float64, rho float64) float64 {
		sum := -rho
		for _, v := range w {
			sum += v * v / 2
		}
		for i := range 400 {
			g := 0.0
			for j, v := range w {
				g += v * X.At(i, j)
			}
			sum += max(0, rho-g) / (nu * 400)
		}
		return sum
	}
	best := at(p.W, p.Rho)
	rng := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		w := make([]float64, len(p.W))
		for j, v := range p.W {
			w[j] = v + 1e-3*rng.NormFloat64()
		}
		if other := at(w, p.Rho+1e-3*rng.NormFloat64()); other < best-1e-9 {
			t.Fatalf("%v at %v, %v nearby", best, p.W, other)
		}
	}
}

// Rows of any kind, and rows written as often as they weigh, give the same plane.
func TestKindsAndWeights(t *testing.T) {
	X := features(200, 6)
	X.Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, X)
	weights := make([]float64, 200)
	var rows []float64
	for i := range weights {
		weights[i] = float64(i % 3)
		for range i % 3 {
			rows = append(rows, X.RawRowView(i)...)
		}
	}
	task := Task{Nu: 0.15, Tol: 1e-12, MaxIter: 300}
	want, err := task.Fit(context.Background(), mat.NewDense(len(rows)/6, 6, rows), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, A := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X), "float32": matrices.CopyDense32(X)} {
		got, err := task.Fit(context.Background(), A, weights)
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range got.W {
			if math.Abs(v-want.W[j]) > 1e-6 || math.Abs(got.Rho-want.Rho) > 1e-6 {
				t.Fatalf("%s: %v, %v; want %v, %v", name, got.W, got.Rho, want.W, want.Rho)
			}
		}
	}
}

// Rows on all sides of the origin have no separating plane, which is reported after finitely many
// steps.
func TestFlat(t *testing.T) {
	X := features(500, 4)
	X.Apply(func(i, _ int, v float64) float64 { return v * float64(1-i%2*2) }, X)
	p, err := Task{Nu: 0.1, Tol: 1e-4, MaxIter: 50}.Fit(context.Background(), X, nil)
	if err != nil || !p.Flat || !p.Converged {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = (Task{Nu: 0.1, Tol: 1e-4, MaxIter: 50}).Fit(context.Background(), features(500, 4), nil); err != nil ||
		p.Flat {
		t.Errorf("%+v, %v", p, err)
	}
}

func BenchmarkFit(b *testing.B) {
	X := features(20000, 200)
	for b.Loop() {
		p, err := Task{Nu: 0.05, Tol: 1e-4, MaxIter: 300}.Fit(context.Background(), X, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.Iterations), "steps")
	}
}
