package leastsquares

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/matrices"
)

// waves returns n rows of d cosines of a few inputs, with a decaying spectrum and nonzero means,
// and the given targets.
func waves(seed uint64, n, d, targets int) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 3))
	const inputs = 4
	frequencies, phases := make([]float64, d*inputs), make([]float64, d)
	for i := range frequencies {
		frequencies[i] = 0.5 * rng.NormFloat64()
	}
	for i := range phases {
		phases[i] = 2 * math.Pi * rng.Float64()
	}
	x, y := mat.NewDense(n, d, nil), mat.NewDense(n, targets, nil)
	weights := make([]float64, n)
	for i := range n {
		var at [inputs]float64
		for k := range at {
			at[k] = rng.NormFloat64()
		}
		row := x.RawRowView(i)
		for j := range row {
			angle := phases[j]
			for k, v := range at {
				angle += v * frequencies[j*inputs+k]
			}
			row[j] = math.Sqrt(2/float64(d)) * math.Cos(angle)
		}
		for c := range targets {
			y.Set(i, c, 5+math.Sin(float64(c+1)*at[0])+at[1]*at[2]+0.1*rng.NormFloat64())
		}
		weights[i] = float64(rng.IntN(4)) / 2
	}
	return datasets.Set{X: x, Targets: y, Weights: weights}
}

// shifted returns rows with every tenth column shifted.
func shifted(X *mat.Dense, by float64) *mat.Dense {
	out := mat.DenseCopyOf(X)
	n, d := X.Dims()
	for i := range n {
		for j := 0; j < d; j += 10 {
			out.Set(i, j, out.At(i, j)+by)
		}
	}
	return out
}

// blocks is a source of dense rows in either precision with an unknown number of rows.
type blocks struct {
	datasets.Set
	short bool
}

func (s blocks) Schema() datasets.Schema { return s.Set.Schema }
func (s blocks) Dims() (rows, cols int)  { return -1, s.Cols() }

func (s blocks) Blocks(_ context.Context, yield func(datasets.Set) error) error {
	for lo := 0; lo < s.Rows(); lo += 100 {
		block := s.Slice(lo, min(lo+100, s.Rows()))
		if s.short {
			block.X = matrices.CopyDense32(block.X)
		}
		if err := yield(block); err != nil {
			return err
		}
	}
	return nil
}

// both also has its rows in float32.
type both struct{ blocks }

func (s both) Float32() datasets.Source { return blocks{s.Set, true} }

func bothOf(data datasets.Set) both { return both{blocks{data, false}} }

func problemOf(t testing.TB, s Ridge, src datasets.Source) *Problem {
	t.Helper()
	r, err := design.FromSource(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return NewProblem(s, r, design.BlockTargetsAndWeights)
}

// predictions returns the predictions of a model for rows.
func predictions(w, intercept []float64, X mat.Matrix) []float64 {
	n, d := X.Dims()
	k := len(intercept)
	out := mat.NewDense(n, k, nil)
	out.Mul(design.ToFloat64(X), mat.NewDense(d, k, w))
	for i := range n {
		for j, b := range intercept {
			out.Set(i, j, out.At(i, j)+b)
		}
	}
	return out.RawMatrix().Data
}

// Preconditioned CG predicts like Cholesky within the tolerance, for any penalty, storage and
// source.
func TestPreconditionedEqualsFactor(t *testing.T) {
	const n, d = 1100, 1030
	ctx := context.Background()
	for _, targets := range []int{1, 3} {
		data := waves(7, n, d, targets)
		for _, alpha := range []float64{1e-6 * n, 1e-3 * n, n} {
			for _, intercept := range []bool{true, false} {
				if targets == 3 && (alpha != 1e-3*n || !intercept) || targets == 1 && !intercept && alpha == n {
					continue
				}
				s := Ridge{Alpha: alpha, Intercept: intercept, Solver: "cholesky", Tol: 1e-8, MaxIter: 1000}
				var want solve.Linear
				for _, kind := range []string{"double", "both", "single", "far from 0"} {
					if kind == "far from 0" && !intercept {
						continue
					}
					set := data
					if kind == "far from 0" {
						set.X = shifted(data.X.(*mat.Dense), 20)
					}
					if kind == "single" {
						set.X = matrices.CopyDense32(data.X)
					}
					src := set.Source()
					if kind == "both" {
						src = bothOf(set)
					}
					if set.X != data.X || kind == "double" {
						exact := set
						exact.X = design.ToFloat64(set.X)
						var err error
						if want, err = problemOf(t, s, exact.Source()).Solve(ctx); err != nil {
							t.Fatal(err)
						}
					}
					by := s
					by.Solver = "cg"
					got, err := problemOf(t, by, src).Solve(ctx)
					if err != nil {
						t.Fatal(err)
					}
					at := fmt.Sprintf("%d targets, alpha %v, intercept %v, %s", targets, alpha, intercept, kind)
					if r := got.Report; !r.Converged || len(r.Warnings) > 0 || r.Gradient > by.Tol || r.Iterations == 0 {
						t.Errorf("%s: %+v", at, r)
					}
					a, b := predictions(got.Weights, got.Intercept, set.X), predictions(want.Weights, want.Intercept, set.X)
					off, spread := 0.0, 0.0
					for i, v := range a {
						off += (v - b[i]) * (v - b[i]) * data.Weights[i/targets]
						e := data.Targets.At(i/targets, i%targets)
						if intercept {
							e -= 5.5
						}
						spread += e * e * data.Weights[i/targets]
					}
					if off = math.Sqrt(off / spread); off > 1.5e-8 {
						t.Errorf("%s: off by %.2g of the spread", at, off)
					}
					if a, b := got.Report.Objective, want.Report.Objective; math.Abs(a-b) > 1e-7*b {
						t.Errorf("%s: objective %.12g, want %.12g", at, a, b)
					}
				}
			}
		}
	}
}

// The bits are the same on any number of cores.
func TestPreconditionedOnAnyNumberOfCores(t *testing.T) {
	data := waves(3, 1300, 1050, 2)
	s := Ridge{Alpha: 0.01, Intercept: true, Solver: "cg", Tol: 1e-8, MaxIter: 1000}
	var first []float64
	for _, cores := range []int{1, 2, 3} {
		before := runtime.GOMAXPROCS(cores)
		m, err := problemOf(t, s, bothOf(data)).Solve(context.Background())
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = m.Weights
		}
		if !slices.Equal(first, m.Weights) {
			t.Errorf("%d cores: other weights", cores)
		}
	}
}

// Exhausted steps give a warning with the error; a canceled fit stops.
func TestPreconditionedErrors(t *testing.T) {
	data := waves(5, 1200, 1040, 1)
	s := Ridge{Alpha: 1e-3, Intercept: true, Solver: "cg", Tol: 1e-8, MaxIter: 3}
	src := bothOf(data)
	m, err := problemOf(t, s, src).Solve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Report; r.Converged || r.Iterations != 3 || len(r.Warnings) == 0 ||
		!strings.Contains(r.Warnings[0], "not converged after 3 iterations") || !(r.Gradient > s.Tol) {
		t.Errorf("after 3 iterations: %+v", r)
	}
	err = canceltest.Check(func(ctx context.Context) (bool, error) {
		s.MaxIter = 2
		m, err := problemOf(t, s, src).Solve(ctx)
		return m.Weights != nil, err
	})
	if err != nil {
		t.Error(err)
	}
	data.X.(*mat.Dense).Set(1100, 17, math.NaN())
	if _, err = problemOf(t, s, src).Solve(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "row 1100") {
		t.Errorf("a missing input: %v", err)
	}
}

// TestPreconditionedWithHardlyAPenalty checks that with a negligible penalty the solution is
// accurate or has a warning.
func TestPreconditionedWithHardlyAPenalty(t *testing.T) {
	data := waves(5, 1200, 1040, 1)
	data.X = shifted(data.X.(*mat.Dense), 20)
	for _, alpha := range []float64{1e-12, 1e-6, 1e-2} {
		s := Ridge{Alpha: alpha, Solver: "cg", Tol: 1e-8, MaxIter: 20}
		m, err := problemOf(t, s, data.Source()).Solve(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r := m.Report; r.Converged || len(r.Warnings) == 0 || r.Iterations > s.MaxIter {
			t.Errorf("alpha %v: %+v", alpha, r)
		}
	}
}

// TestPreconditionedConstantTarget checks that a constant target has zero weights, alone or with
// others.
func TestPreconditionedConstantTarget(t *testing.T) {
	data := waves(5, 1200, 1040, 2)
	for i := range data.Rows() {
		data.Targets.Set(i, 1, 5.1)
	}
	m, err := problemOf(t, Ridge{Alpha: 1, Intercept: true, Solver: "cg", Tol: 1e-8, MaxIter: 100},
		data.Source()).Solve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !m.Report.Converged || len(m.Report.Warnings) > 0 || math.Abs(m.Intercept[1]-5.1) > 1e-12 {
		t.Errorf("%+v with intercept %v", m.Report, m.Intercept)
	}
	for i := 1; i < len(m.Weights); i += 2 {
		if m.Weights[i] != 0 {
			t.Fatalf("weight %v", m.Weights[i])
		}
	}
}

// With many rows and columns auto uses CG if it is cheaper, and estimates a fraction of the memory.
func TestWideRowsGoStepByStep(t *testing.T) {
	ridge := func(alpha float64) Ridge { return Ridge{Alpha: alpha, Solver: "auto", Tol: 1e-8, MaxIter: 1000} }
	for _, c := range []struct {
		alpha float64
		n, d  int
		want  string
	}{
		{1, 20_000, 16384, "cg"}, {1, 100_000, 16384, "cg"}, {1, 100_000, 32768, "cg"},
		{1, 20_000, 4096, "cg"}, {1, 20_000, 8192, "cg"}, {1, 100_000, 8192, "cg"}, {1, 20_000, 2048, "cholesky"},
		{1e-4, 20_000, 8192, "cholesky"}, {1, 5000, 8192, "dual"},
		{1, 100_000, 4096, "cholesky"}, {1e-6, 100_000, 16384, "cholesky"}, {0, 100_000, 16384, "cholesky"},
		{0, 100_000, 32768, "cg"}, {1, 5000, 16384, "dual"}, {1, -1, 16384, "cholesky"},
	} {
		if got := ridge(c.alpha).SolverFor(c.n, c.d, false); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if got := ridge(c.alpha).SharedSolverFor(c.n, c.d, false); got != c.want && !(got == "cholesky" && c.d <= 8192) ||
			got == "cg" && c.d <= 8192 {
			t.Errorf("%+v: %s together with other candidates", c, got)
		}
	}
	shape := datasets.Shape{Rows: 100_000, Cols: 16384, Outputs: 1}
	steps, gram := ridge(1).Cost(shape, 0), Ridge{Alpha: 1, Solver: "cholesky"}.Cost(shape, 0)
	if steps.Bytes > gram.Bytes/10 || steps.Flops > gram.Flops/2 || steps.Passes < 2 {
		t.Errorf("steps cost %+v, a Gram matrix %+v", steps, gram)
	}
}

// If rows are longer or steps more than estimated, a CG fit falls back to the Gram matrix with the
// same bits; otherwise predictions agree within the tolerance.
func TestStepsAreLeftWhereTheyAreMoreWork(t *testing.T) {
	const n, d, alpha = 1100, 1024, 10
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		length float64
		tol    float64
		solver string
	}{
		{"as expected", 1, 1e-8, "cg"}, {"long rows", 30, 1e-8, "cholesky"}, {"many steps", 1, 1e-17, "cholesky"},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		x, y := mat.NewDense(n, d, nil), make([]float64, n)
		for i := range n {
			for j := range d {
				x.Set(i, j, c.length*rng.NormFloat64()/math.Sqrt(d))
			}
			y[i] = x.At(i, 0) + x.At(i, 1) + 0.1*rng.NormFloat64()
		}
		data := datasets.Set{X: x, Y: y}
		spec := Ridge{Alpha: alpha, Intercept: true, Solver: "auto", Tol: c.tol, MaxIter: 1000}
		if way := spec.SolverFor(n, d, false); way != "cg" {
			t.Fatalf("%s: %s, the test shows nothing", c.name, way)
		}
		got, err := problemOf(t, spec, data.Source()).Solve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		spec.Solver = "cholesky"
		want, err := problemOf(t, spec, data.Source()).Solve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got.Report.Solver != c.solver || !got.Report.Converged || len(got.Report.Warnings) > 0 {
			t.Errorf("%s: %+v", c.name, got.Report)
		}
		square, spread := 0.0, 0.0
		for i := range n {
			off := got.Intercept[0] - want.Intercept[0]
			for j, v := range x.RawRowView(i) {
				off += v * (got.Weights[j] - want.Weights[j])
			}
			square, spread = square+off*off, spread+y[i]*y[i]
		}
		if !(square <= spread*1e-16) || c.solver == "cholesky" && square != 0 {
			t.Errorf("%s: predictions are off by %.2g", c.name, math.Sqrt(square/spread))
		}
	}
}
