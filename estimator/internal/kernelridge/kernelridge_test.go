package kernelridge

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// plain is a kernel matrix in memory.
type plain struct{ *mat.SymDense }

func (p plain) Rows() int { n, _ := p.Dims(); return n }

func (p plain) Tile(dst kern.View[float64], i, j int) { write(dst, p, i, j) }

func (p plain) TileFloat32(dst kern.View[float32], i, j int) { write(dst, p, i, j) }

func write[T kern.Float](dst kern.View[T], p plain, i, j int) {
	for a := range dst.Rows {
		for b := range dst.Cols {
			dst.Set(a, b, T(p.At(i+a, j+b)))
		}
	}
}

// gaussian is the kernel matrix of n rows of three inputs, so wide that most eigenvalues are small.
func gaussian(n int, gamma float64) plain {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([][3]float64, n)
	for i := range x {
		for j := range x[i] {
			x[i][j] = rng.NormFloat64()
		}
	}
	k := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for q, v := range x[i] {
				sum += (v - x[j][q]) * (v - x[j][q])
			}
			k.SetSym(i, j, math.Exp(-gamma*sum))
		}
	}
	return plain{k}
}

// leading returns the factor for the leading columns of k: F = K_nm·L⁻ᵀ with LL' = K_mm.
func leading(k plain, rank int) kern.View[float64] {
	n := k.Rows()
	head, f := kern.Dense(rank, rank, rank, make([]float64, rank*rank)), kern.Dense(n, rank, rank, make([]float64, n*rank))
	k.Tile(head, 0, 0)
	k.Tile(f, 0, 0)
	for i := range rank {
		head.Set(i, i, 1+1e-10)
	}
	kern.Cholesky(ctx, head)
	kern.SolveLower(ctx, head, f.T())
	return f
}

// bordered solves the system of one right side densely, and returns the intercept too.
func bordered(k plain, ridge, y []float64, columns int, centered bool) (*mat.Dense, []float64) {
	n := k.Rows()
	size := n
	if centered {
		size++
	}
	a, b := mat.NewDense(size, size, nil), mat.NewDense(size, columns, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, k.At(i, j))
		}
		a.Set(i, i, a.At(i, i)+ridge[i])
		if centered {
			a.Set(i, n, 1)
			a.Set(n, i, 1)
		}
		for j := range columns {
			b.Set(i, j, y[i*columns+j])
		}
	}
	var x mat.Dense
	if err := x.Solve(a, b); err != nil {
		panic(err)
	}
	intercept := make([]float64, columns)
	if centered {
		copy(intercept, x.RawRowView(n))
	}
	return mat.DenseCopyOf(x.Slice(0, n, 0, columns)), intercept
}

func problem(n, columns int) (weights, y []float64) {
	rng := rand.New(rand.NewPCG(2, 3))
	weights, y = make([]float64, n), make([]float64, n*columns)
	for i := range weights {
		weights[i] = 0.5 + 2*rng.Float64()
	}
	for i := range y {
		y[i] = 3 + rng.NormFloat64()
	}
	return weights, y
}

var ctx = context.Background()

var one = []float64{1}

// lowRankOf is the preconditioner of a factor, for α = 1.
func lowRankOf(factor kern.View[float64], ridge []float64) (solve.Preconditioner, error) {
	p, err := solve.NewLowRankFactor(ctx, factor, ridge)
	if err != nil {
		return nil, err
	}
	return solve.LowRank(ctx, p, one)
}

func differ(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	size, largest := 0.0, 0.0
	for i, v := range want {
		size, largest = max(size, math.Abs(v)), max(largest, math.Abs(got[i]-v))
	}
	if !(largest <= tolerance*size) {
		t.Errorf("%s differs by %.2g of %.2g", what, largest, size)
	}
}

func TestSolveIsTheDenseSolution(t *testing.T) {
	for _, n := range []int{2, 7, 512, 600} {
		for _, columns := range []int{1, 3} {
			for _, centered := range []bool{false, true} {
				k := gaussian(n, 0.5)
				weights, y := problem(n, columns)
				ridge := DiagonalPenalty(n, 0.1, weights)
				want, intercept := bordered(k, ridge, y, columns, centered)
				factor, err := NewFactor(ctx, ridge, func() (kern.View[float64], error) { return FullMatrix(ctx, k) })
				if err != nil {
					t.Fatal(err)
				}
				low, err := lowRankOf(leading(k, min(n, 60)), ridge)
				if err != nil {
					t.Fatal(err)
				}
				for name, p := range map[string]solve.Preconditioner{"factor": factor, "low rank": low,
					"diagonal": solve.Diagonal(ridge, one)} {
					s := NewSystem(k, ridge, centered, 3*tileRows*tileRows*4)
					x := make([]float64, len(y))
					r, err := s.Solve(ctx, p, x, y, columns, 1e-11, 2000)
					if err != nil || !r.Converged {
						t.Fatalf("%s, n %d: %+v, %v", name, n, r, err)
					}
					differ(t, name, x, want.RawMatrix().Data, 1e-9)
					differ(t, name+"'s intercept", r.Intercept, intercept, 1e-9)
				}
			}
		}
	}
}

// TestSolveFallsBackToFloat64 checks that a system too ill-conditioned for float32 tiles is
// solved with float64 tiles.
func TestSolveFallsBackToFloat64(t *testing.T) {
	k := gaussian(300, 0.05)
	weights, y := problem(300, 1)
	ridge := DiagonalPenalty(300, 1e-6, weights)
	factor, err := NewFactor(ctx, DiagonalPenalty(300, 1e-5, weights),
		func() (kern.View[float64], error) { return FullMatrix(ctx, k) })
	if err != nil {
		t.Fatal(err)
	}
	s := NewSystem(k, ridge, true, 0)
	near := struct{ solve.Preconditioner }{factor} // no longer known as a factor
	x := make([]float64, 300)
	r, err := s.Solve(ctx, near, x, y, 1, 1e-8, 5000)
	if err != nil || !r.Converged {
		t.Errorf("%+v, %v", r, err)
	}
	s.product64 = nil
	defer func() {
		if recover() == nil {
			t.Error("solved without double precision")
		}
	}()
	s.Solve(ctx, near, x, y, 1, 1e-8, 5000)
}

// TestSolveHasTheSameBits checks that columns do not depend on each other or on the cache, bit for
// bit.
func TestSolveHasTheSameBits(t *testing.T) {
	k := gaussian(1200, 0.3)
	_, y := problem(1200, 2)
	ridge := DiagonalPenalty(1200, 0.3, nil)
	p, err := lowRankOf(leading(k, 100), ridge)
	if err != nil {
		t.Fatal(err)
	}
	var first []float64
	for _, memory := range []int64{0, 2 * tileRows * tileRows * 4, 1 << 30} {
		x := make([]float64, len(y))
		s := NewSystem(k, ridge, true, memory)
		for range 2 { // the second time with a full cache
			clear(x)
			if _, err := s.Solve(ctx, p, x, y, 2, 1e-6, 1000); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = append(first, x...)
			}
			for i, v := range x {
				if v != first[i] {
					t.Fatalf("with %d bytes of tiles, number %d is %v, was %v", memory, i, v, first[i])
				}
			}
		}
	}
}

// TestSolveWarmStart checks that a warm start from another penalty saves steps, and that
// a solution is returned unchanged.
func TestSolveWarmStart(t *testing.T) {
	k := gaussian(700, 0.3)
	_, y := problem(700, 1)
	x := make([]float64, len(y))
	s := NewSystem(k, DiagonalPenalty(700, 1, nil), true, 0)
	first, err := s.Solve(ctx, solve.Diagonal(s.ridge, one), x, y, 1, 1e-6, 1000)
	if err != nil || first.Iterations == 0 {
		t.Fatal(first, err)
	}
	again, err := s.Solve(ctx, solve.Diagonal(s.ridge, one), x, y, 1, 1e-6, 1000)
	if err != nil || again.Iterations != 0 || !again.Converged {
		t.Error(again, err)
	}
	next := s.WithAlphas([]float64{1})
	next.ridge = DiagonalPenalty(700, 0.9, nil)
	warm, err := next.Solve(ctx, solve.Diagonal(next.ridge, one), x, y, 1, 1e-6, 1000)
	if err != nil {
		t.Fatal(err)
	}
	clear(x)
	cold, err := next.Solve(ctx, solve.Diagonal(next.ridge, one), x, y, 1, 1e-6, 1000)
	if err != nil || warm.Iterations >= cold.Iterations {
		t.Errorf("%d steps from the last solution, %d from 0 (%v)", warm.Iterations, cold.Iterations, err)
	}
}

func TestSolveReportsNonConvergence(t *testing.T) {
	k := gaussian(400, 0.3)
	_, y := problem(400, 1)
	s := NewSystem(k, DiagonalPenalty(400, 1e-3, nil), false, 0)
	r, err := s.Solve(ctx, solve.Diagonal(s.ridge, one), make([]float64, 400), y, 1, 1e-6, 5)
	if err != nil || r.Converged || r.Iterations != 5 || !(r.Residual > 1e-6) {
		t.Error(r, err)
	}
}

// watched counts tiles in double precision.
type watched struct {
	plain
	wide *atomic.Int64
}

func (w watched) Tile(dst kern.View[float64], i, j int) {
	w.wide.Add(1)
	w.plain.Tile(dst, i, j)
}

// A residual that float32 resolves is not computed in float64, and is accurate.
func TestResidualInSinglePrecision(t *testing.T) {
	const n, columns = 700, 2
	_, y := problem(n, columns)
	for _, c := range []struct {
		alpha, tol float64
		wide       bool
	}{{1, 1e-2, false}, {1, 1e-3, false}, {1, 1e-6, true}, {1e-3, 1e-3, true}} {
		k := watched{gaussian(n, 0.3), new(atomic.Int64)}
		s := NewSystem(k, DiagonalPenalty(n, c.alpha, nil), true, 0)
		x := make([]float64, n*columns)
		r, err := s.Solve(ctx, solve.Diagonal(s.ridge, one), x, y, columns, c.tol, 1000)
		if err != nil || !r.Converged {
			t.Fatal(r, err)
		}
		if wide := k.wide.Load() > 0; wide != c.wide {
			t.Errorf("alpha %g, tol %g: tiles in double precision: %v", c.alpha, c.tol, wide)
		}
		for j := range columns {
			var left, first, mean float64
			for i := range n {
				mean += y[i*columns+j] / n
			}
			for i := range n {
				e := y[i*columns+j] - r.Intercept[j] - c.alpha*x[i*columns+j]
				for q := range n {
					e -= k.At(i, q) * x[q*columns+j]
				}
				left, first = left+e*e, first+(y[i*columns+j]-mean)*(y[i*columns+j]-mean)
			}
			if want := math.Sqrt(left / first); math.Abs(r.Columns[j].Residual-want) > 0.1*c.tol {
				t.Errorf("alpha %g, tol %g: the residual is %.3g, not %.3g", c.alpha, c.tol, want, r.Columns[j].Residual)
			}
		}
	}
}

// Once it is late, it ends as it does with the steps it has made for the most.
func TestSolveEndsWhenItIsLate(t *testing.T) {
	const columns = 3
	k := gaussian(700, 0.3)
	_, y := problem(700, columns)
	s := NewSystem(k, DiagonalPenalty(700, 1e-3, nil), true, 0)
	solved := func(ctx context.Context, most int) ([]float64, Result) {
		x := make([]float64, len(y))
		r, err := s.Solve(ctx, solve.Diagonal(s.ridge, one), x, y, columns, 1e-6, most)
		if err != nil {
			t.Fatal(err)
		}
		return x, r
	}
	for _, wait := range []time.Duration{0, time.Millisecond, time.Hour} {
		x, r := solved(ctxerr.WithSoftDeadline(ctx, time.Now().Add(wait)), 1000)
		if wait == 0 && r.Iterations != 1 || wait == time.Hour && !r.Converged {
			t.Errorf("late after %v: %d steps, converged: %v", wait, r.Iterations, r.Converged)
		}
		if want, _ := solved(ctx, r.Iterations); !slices.Equal(x, want) {
			t.Errorf("late after %v: not the solution of %d steps", wait, r.Iterations)
		}
	}
}

// TestLeaveOneOutEqualsRefits checks that leave-one-out predictions equal those of the systems
// without each row.
func TestLeaveOneOutEqualsRefits(t *testing.T) {
	const n, columns = 40, 2
	k := gaussian(n, 0.4)
	weights, y := problem(n, columns)
	for _, centered := range []bool{false, true} {
		ridge := DiagonalPenalty(n, 0.05, weights)
		f, err := NewFactor(ctx, ridge, func() (kern.View[float64], error) { return FullMatrix(ctx, k) })
		if err != nil {
			t.Fatal(err)
		}
		a, _ := bordered(k, ridge, y, columns, centered)
		residual, _, err := f.LeaveOneOut(ctx, a.RawMatrix().Data, columns, centered)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, n*columns)
		for out := range n {
			rest := mat.NewSymDense(n-1, nil)
			at := func(i int) int {
				if i >= out {
					i++
				}
				return i
			}
			var left, targets []float64
			for i := range n - 1 {
				for j := range i + 1 {
					rest.SetSym(i, j, k.At(at(i), at(j)))
				}
				left = append(left, ridge[at(i)])
				targets = append(targets, y[at(i)*columns:(at(i)+1)*columns]...)
			}
			b, intercept := bordered(plain{rest}, left, targets, columns, centered)
			for c := range columns {
				sum := intercept[c]
				for i := range n - 1 {
					sum += b.At(i, c) * k.At(at(i), out)
				}
				want[out*columns+c] = y[out*columns+c] - sum
			}
		}
		differ(t, "residual", residual, want, 1e-10)
	}
}

// A penalty that is lost in rounding is made up for by steps, and leaves no row out.
func TestFactorOfALostPenalty(t *testing.T) {
	k := gaussian(300, 0.01)
	_, y := problem(300, 1)
	ridge := DiagonalPenalty(300, 1e-16, nil)
	f, err := NewFactor(ctx, ridge, func() (kern.View[float64], error) { return FullMatrix(ctx, k) })
	if err != nil || !f.regularized {
		t.Fatal(err)
	}
	s := NewSystem(k, ridge, false, 0)
	x := make([]float64, 300)
	if r, err := s.Solve(ctx, f, x, y, 1, 1e-6, 20); err != nil || r.Converged {
		t.Error(r, err)
	}
	if _, _, err := f.LeaveOneOut(ctx, x, 1, false); err == nil {
		t.Error("leave-one-out of a damaged factor")
	}
}

func TestSolveCancel(t *testing.T) {
	k := gaussian(1100, 0.3)
	_, y := problem(1100, 1)
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	s := NewSystem(k, DiagonalPenalty(1100, 1, nil), true, 0)
	if _, err := s.Solve(stopped, solve.Diagonal(s.ridge, one), make([]float64, 1100), y, 1, 1e-6,
		1000); err != context.Canceled {
		t.Error(err)
	}
	if _, err := FullMatrix(stopped, k); err != context.Canceled {
		t.Error(err)
	}
}
