package smo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
)

// rows returns n rows of three inputs, some of them twice, with a target.
func rows(n int) (X *mat.Dense, y []float64) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	X = mat.NewDense(n, 3, nil)
	for i := range n {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
		if i%10 == 9 {
			X.SetRow(i, X.RawRowView(i-1))
		}
		y = append(y, math.Sin(2*X.At(i, 0))+X.At(i, 1)*X.At(i, 2)+0.3*rng.NormFloat64())
	}
	return X, y
}

// matrixOf returns the kernel matrix with γ = 0.3.
func matrixOf(t *testing.T, name string, X *mat.Dense, cacheBytes int64) *Matrix {
	t.Helper()
	k, ok := pairwise.NewKernel(name, spectral.Shape{Nu: 1.5, Alpha: 1})
	if !ok {
		t.Fatalf("no kernel %s", name)
	}
	_, d := X.Dims()
	f := k.Frame(k.Factors(slices.Repeat([]float64{0.3}, d)), X)
	return mustMatrix(NewMatrix(k, f, X, cacheBytes))
}

func mustMatrix(m *Matrix, err error) *Matrix {
	if err != nil {
		panic(err)
	}
	return m
}

// problems returns a classification and a regression with a C of each row, some of them 0.
func problems(y []float64, C, tol float64) []Problem {
	rng := rand.New(rand.NewPCG(2, 2))
	signs, weights := make([]float64, len(y)), make([]float64, len(y))
	for i, v := range y {
		signs[i] = math.Copysign(1, v)
		if weights[i] = C * (0.5 + rng.Float64()); i%17 == 0 {
			weights[i] = 0
		}
	}
	list := []Problem{Classification(signs, weights), Regression(y, weights, 0.2), Regression(y, weights, 0)}
	for i := range list {
		list[i].Tol, list[i].MaxSteps = tol, 1_000_000
	}
	return list
}

func solved(t *testing.T, m *Matrix, p Problem, from *Result) Result {
	t.Helper()
	r, err := Solve(context.Background(), m, p, from)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Converged || r.Violation > p.Tol {
		t.Fatalf("not converged: violation %g after %d steps in %d rounds", r.Violation, r.Steps, r.Rounds)
	}
	return r
}

// checkOptimal fails unless the conditions of a minimum hold, with kernel values of float64.
func checkOptimal(t *testing.T, m *Matrix, p Problem, r Result) {
	t.Helper()
	f := make([]float64, len(p.Y))
	if err := m.Multiply(context.Background(), f, r.Beta); err != nil {
		t.Fatal(err)
	}
	sum, largest := 0.0, 0.0
	for i, b := range r.Beta {
		sum, largest = sum+b, max(largest, p.Upper[i], -p.Lower[i])
		if !(p.Lower[i] <= b && b <= p.Upper[i]) {
			t.Fatalf("β[%d] = %g is not in [%g, %g]", i, b, p.Lower[i], p.Upper[i])
		}
		residual := p.Y[i] - f[i] - r.Intercept
		// C_i·loss has the slopes −C_i for residuals above ε, 0 below ε, and each in between at ε.
		tol := 1.01 * p.Tol
		if b < p.Upper[i] && residual > tol+p.Epsilon*sign(b >= 0) ||
			b > p.Lower[i] && residual < -tol+p.Epsilon*sign(b > 0) {
			t.Fatalf("β[%d] = %g in [%g, %g] has the residual %g", i, b, p.Lower[i], p.Upper[i], residual)
		}
	}
	if math.Abs(sum) > 1e-12*largest*float64(len(f)) {
		t.Fatalf("Σβ = %g", sum)
	}
	if gap := r.Primal - r.Dual; gap < -1e-9*r.Primal || gap > p.Tol*largest*float64(len(f)) {
		t.Fatalf("primal %g, dual %g", r.Primal, r.Dual)
	}
}

func sign(positive bool) float64 {
	if positive {
		return 1
	}
	return -1
}

func TestSolutionsAreOptimal(t *testing.T) {
	for _, n := range []int{2, 7, 60, 1500} {
		X, y := rows(n)
		for _, name := range []string{"gaussian", "laplacian", "cauchy", "matern"} {
			for _, C := range []float64{0.1, 10, 1e4} {
				if n == 1500 && (name != "gaussian" || C != 10) {
					continue
				}
				for i, p := range problems(y, C, 1e-7) {
					t.Run(fmt.Sprint(n, name, C, i), func(t *testing.T) {
						m := matrixOf(t, name, X, 1<<24)
						checkOptimal(t, m, p, solved(t, m, p, nil))
					})
				}
			}
		}
	}
}

// With a cache of few rows working sets are small, rows are evicted, and the solution is the same.
func TestSmallCaches(t *testing.T) {
	X, y := rows(300)
	for _, p := range problems(y, 1, 1e-6) {
		want := solved(t, matrixOf(t, "gaussian", X, 1<<24), p, nil)
		for _, cached := range []int64{1, 9, 100} {
			m := matrixOf(t, "gaussian", X, cached*4*300)
			r := solved(t, m, p, nil)
			checkOptimal(t, m, p, r)
			if m.count > m.capacity {
				t.Errorf("%d rows cached, want at most %d", m.count, m.capacity)
			}
			if math.Abs(r.Dual-want.Dual) > 1e-6*want.Dual {
				t.Errorf("%d rows cached: objective %g, want %g", cached, r.Dual, want.Dual)
			}
		}
	}
}

// wholeMatrixOf is matrixOf with all its rows computed, from distances in another frame.
func wholeMatrixOf(t *testing.T, name string, X *mat.Dense) *Matrix {
	t.Helper()
	m := matrixOf(t, name, X, 0)
	n, d := X.Dims()
	distances, dst := kern.Dense(n, n, n, make([]float32, n*n)), kern.Dense(n, n, n, make([]float32, n*n))
	f := m.kernel.Frame(slices.Repeat([]float64{1}, d), X)
	if err := Distances(t.Context(), distances, m.kernel.Metric, f, X); err != nil {
		t.Fatal(err)
	}
	if err := m.Fill(t.Context(), dst, distances, m.kernel.Scale(0.3)); err != nil {
		t.Fatal(err)
	}
	return m
}

// On a whole matrix, folds are rows whose bounds are 0, and Product has the predictions of all rows.
func TestWholeMatrices(t *testing.T) {
	for _, n := range []int{2, 60, 1500} {
		X, y := rows(n)
		for _, C := range []float64{0.1, 10, 1e3} {
			if n == 1500 && C != 10 {
				continue
			}
			for i, p := range problems(y, C, 1e-6) {
				m, other := wholeMatrixOf(t, "gaussian", X), matrixOf(t, "gaussian", X, 1<<24)
				var from *Result
				for fold := range 2 {
					q := p
					q.Lower, q.Upper = slices.Clone(p.Lower), slices.Clone(p.Upper)
					for k := fold; k < n; k += 5 {
						q.Lower[k], q.Upper[k] = 0, 0
					}
					r := solved(t, m, q, from)
					checkOptimal(t, m, q, r)
					from = &r
					want := solved(t, other, q, nil)
					if math.Abs(r.Dual-want.Dual) > 1e-6*want.Dual {
						t.Errorf("%d rows, C %g, problem %d: objective %g, want %g", n, C, i, r.Dual, want.Dual)
					}
					for k, v := range r.Product {
						if math.Abs(v+r.Intercept-want.Product[k]-want.Intercept) > 1e-2 {
							t.Fatalf("%d rows, C %g, problem %d: score %d is %g, want %g", n, C, i, k, v+r.Intercept,
								want.Product[k]+want.Intercept)
						}
					}
				}
			}
		}
	}
}

func TestSolutionsDoNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	X, y := rows(1500)
	for _, p := range problems(y, 30, 1e-3) {
		var want [2]Result
		for _, cores := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(cores)
			for i, m := range []*Matrix{matrixOf(t, "matern", X, 1<<24), wholeMatrixOf(t, "matern", X)} {
				r := solved(t, m, p, nil)
				if cores > 1 && (!slices.Equal(r.Beta, want[i].Beta) || r.Intercept != want[i].Intercept) {
					t.Errorf("matrix %d, %d cores: another solution", i, cores)
				}
				want[i] = r
			}
		}
	}
}

func TestWarmStarts(t *testing.T) {
	X, y := rows(1500)
	steps, stepsFrom0 := 0, 0
	for i, p := range problems(y, 1, 1e-5) {
		m := matrixOf(t, "gaussian", X, 1<<24)
		cold := solved(t, m, p, nil)
		again := solved(t, m, p, &cold)
		if again.Steps > cold.Steps/20 {
			t.Errorf("problem %d: %d steps from the solution, %d from 0", i, again.Steps, cold.Steps)
		}
		before := slices.Clone(cold.Beta)
		for _, C := range []float64{3, 0.1} { // the bounds grow or shrink
			q := problems(y, C, 1e-5)[i]
			warm, want := solved(t, m, q, &cold), solved(t, m, q, nil)
			checkOptimal(t, m, q, warm)
			if math.Abs(warm.Dual-want.Dual) > 1e-6*want.Dual {
				t.Errorf("problem %d: C %g: objective %g, want %g", i, C, warm.Dual, want.Dual)
			}
			steps, stepsFrom0 = steps+warm.Steps, stepsFrom0+want.Steps
		}
		if !slices.Equal(cold.Beta, before) {
			t.Error("a warm start has changed where it began")
		}
	}
	if steps >= stepsFrom0 {
		t.Errorf("%d steps from other solutions, %d from 0", steps, stepsFrom0)
	}
}

func TestLimits(t *testing.T) {
	X, y := rows(1500)
	p := problems(y, 10, 1e-6)[0]
	m := matrixOf(t, "gaussian", X, 1<<24)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Solve(ctx, m, p, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	p.MaxSteps = 50
	r, err := Solve(context.Background(), m, p, nil)
	if err != nil || r.Converged || r.Steps != 50 || !(r.Violation > p.Tol) {
		t.Errorf("50 steps: %d, converged %v, %v", r.Steps, r.Converged, err)
	}
	// Of one class there is no pair of rows.
	for i := range p.Y {
		p.Y[i] = -1
	}
	p = Classification(p.Y, slices.Repeat([]float64{1}, len(p.Y)))
	p.Tol, p.MaxSteps = 1e-3, 100
	r = solved(t, m, p, nil)
	if r.Intercept != -1 || slices.Max(r.Beta) != 0 || slices.Min(r.Beta) != 0 {
		t.Errorf("one class: intercept %g", r.Intercept)
	}
}

func TestSmallest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := range 80 {
		for range 10 {
			var list []candidate
			for i := range n {
				list = append(list, candidate{float64(rng.IntN(7)), i})
			}
			k := rng.IntN(n + 2)
			want := slices.SortedFunc(slices.Values(list), candidate.compare)[:min(k, n)]
			if got := smallest(list, k); !slices.Equal(got, want) {
				t.Fatalf("%d of %d: %v, want %v", k, n, got, want)
			}
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	X, y := rows(4000)
	for i, name := range []string{"classes", "numbers"} {
		b.Run(name, func(b *testing.B) {
			p := problems(y, 1, 1e-3)[i]
			for b.Loop() {
				k, _ := pairwise.NewKernel("gaussian", spectral.Shape{Nu: 1.5, Alpha: 1})
				m := mustMatrix(NewMatrix(k, k.Frame(k.Factors([]float64{0.3, 0.3, 0.3}), X), X, 1<<28))
				if _, err := Solve(context.Background(), m, p, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
