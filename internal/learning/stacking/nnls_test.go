package stacking

import (
	"math"
	"math/rand/v2"
	"testing"
)

// products returns AᵀA, Aᵀb and (A − b1ᵀ)ᵀ(A − b1ᵀ) of a random n×m matrix A with similar columns.
func products(n, m int, alike float64, rng *rand.Rand) (G, c, Q []float64) {
	A, b := make([]float64, n*m), make([]float64, n)
	for i := range n {
		truth := rng.NormFloat64()
		b[i] = truth + 0.2*rng.NormFloat64()
		for j := range m {
			A[i*m+j] = alike*truth + (1-alike)*rng.NormFloat64()
		}
	}
	G, c, Q = make([]float64, m*m), make([]float64, m), make([]float64, m*m)
	for i := range n {
		for j := range m {
			c[j] += A[i*m+j] * b[i]
			for k := range m {
				G[j*m+k] += A[i*m+j] * A[i*m+k]
				Q[j*m+k] += (A[i*m+j] - b[i]) * (A[i*m+k] - b[i])
			}
		}
	}
	return G, c, Q
}

func quadratic(G, c, u []float64) (value float64) {
	m := len(c)
	for j := range m {
		value -= c[j] * u[j]
		for k := range m {
			value += 0.5 * u[j] * G[j*m+k] * u[k]
		}
	}
	return value
}

// The solution satisfies the Karush-Kuhn-Tucker conditions.
func TestNonNegativeIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	bound := 0
	for trial := range 300 {
		m := 1 + rng.IntN(12)
		G, c, _ := products(30, m, float64(trial%10)/10, rng)
		u := NNLS(G, c)
		for j := range m {
			gradient := c[j]
			for k := range m {
				gradient -= G[j*m+k] * u[k]
			}
			if u[j] < 0 || gradient > 1e-8 || u[j] > 0 && math.Abs(gradient) > 1e-8 {
				t.Fatalf("trial %d: weight %d is %v with the gradient %v", trial, j, u[j], gradient)
			}
			if u[j] == 0 {
				bound++
			}
		}
	}
	if bound < 100 {
		t.Errorf("only %d weights were 0: the test tests little", bound)
	}
}

// The solution is the best nonnegative one among the unconstrained solutions of all subsets.
func TestNonNegativeIsBestOfAllSubsets(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	for range 40 {
		const m = 5
		G, c, _ := products(12, m, 0.5, rng)
		best := 0.0
		for set := 1; set < 1<<m; set++ {
			p := &nnls{G: G, c: c}
			for j := range m {
				if set>>j&1 == 1 {
					p.passive = append(p.passive, j)
				}
			}
			z, ok := p.solve()
			u := make([]float64, m)
			for i, j := range p.passive {
				if ok = ok && z[i] >= 0; ok {
					u[j] = z[i]
				}
			}
			if ok {
				best = min(best, quadratic(G, c, u))
			}
		}
		if got := quadratic(G, c, NNLS(G, c)); math.Abs(got-best) > 1e-9*math.Abs(best) {
			t.Fatalf("objective %v, the best subset has %v", got, best)
		}
	}
}

// Duplicate and zero columns are harmless.
func TestNonNegativeOfDependentColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 3))
	G, c, _ := products(20, 2, 0.6, rng)
	const m = 5 // columns 0, 1, 0, none, 1
	of := []int{0, 1, 0, -1, 1}
	wide, right := make([]float64, m*m), make([]float64, m)
	for j, a := range of {
		for k, b := range of {
			if a >= 0 && b >= 0 {
				wide[j*m+k] = G[a*2+b]
			}
		}
		if a >= 0 {
			right[j] = c[a]
		}
	}
	u, want := NNLS(wide, right), NNLS(G, c)
	if got := []float64{u[0] + u[2], u[1] + u[4]}; math.Abs(got[0]-want[0])+math.Abs(got[1]-want[1]) > 1e-9 || u[3] != 0 {
		t.Errorf("%v, want %v in all", u, want)
	}
	if zero := NNLS(G, []float64{-1, -2}); zero[0] != 0 || zero[1] != 0 {
		t.Errorf("weights %v of columns that point away", zero)
	}
}

// On the simplex no transfer of weight between two columns lowers the objective.
func TestOnSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 4))
	for trial := range 200 {
		m := 1 + rng.IntN(8)
		_, _, Q := products(25, m, float64(trial%10)/10, rng)
		u, sum := SimplexLeastSquares(Q, m), 0.0
		gradient := make([]float64, m)
		for j := range m {
			sum += u[j]
			for k := range m {
				gradient[j] += Q[j*m+k] * u[k]
			}
		}
		for j := range m {
			for k := range m {
				if u[j] < 0 || math.Abs(sum-1) > 1e-12 || u[k] > 0 && gradient[j] < gradient[k]-1e-7*Q[k*m+k] {
					t.Fatalf("trial %d: weights %v, gradient %v", trial, u, gradient)
				}
			}
		}
	}
	if u := SimplexLeastSquares(make([]float64, 4), 2); math.Abs(u[0]+u[1]-1) > 1e-12 {
		t.Errorf("weights %v of columns that are never wrong", u)
	}
}
