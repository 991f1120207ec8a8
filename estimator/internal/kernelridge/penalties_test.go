package kernelridge

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/kernel"
)

// trained prepares n rows of three inputs and some targets, weighted.
func trained(t *testing.T, s Spec, n, targets int) *Training {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	x := mat.NewDense(n, 3, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.NormFloat64()
	}
	r, err := design.FromSet(datasets.Set{X: x, Y: make([]float64, n)})
	if err != nil {
		t.Fatal(err)
	}
	weights, y := problem(n, targets)
	out, err := NewTraining(ctx, s, Data{Rows: r, Y: y, Targets: targets, Weights: weights}, true)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func someSpecs(solver string) []Spec {
	var out []Spec
	for _, alpha := range []float64{1, 0.1, 1e-3, 1e-6} {
		out = append(out, Spec{Kernel: "gaussian", Gamma: kernel.FixedGamma(0.4), Alpha: alpha, Intercept: true,
			Solver:         solver,
			Preconditioner: "rpcholesky", Rank: 40, Tol: 1e-8, MaxIter: 3000})
	}
	return out
}

// Jointly solved penalties have the solutions of separate fits, including the smallest, which
// exceeds float32.
func TestSolveAllIsToSolveEach(t *testing.T) {
	for _, solver := range []string{"cholesky", "cg"} {
		for _, targets := range []int{1, 3} {
			specs := someSpecs(solver)
			if solver == "cg" {
				specs = specs[:3]
			}
			models, errs, err := trained(t, specs[2], 300, targets).SolveAll(ctx, specs)
			if err != nil {
				t.Fatal(err)
			}
			for g, s := range specs {
				alone, err := trained(t, s, 300, targets).Solve(ctx, s)
				if err != nil || errs[g] != nil {
					t.Fatal(err, errs[g])
				}
				if r := models[g].Report; !r.Converged || r.Solver != solver || r.Gradient > s.Tol {
					t.Errorf("%s, alpha %g: %+v", solver, s.Alpha, r)
				}
				scores := make([][]float64, 2)
				for k, m := range []*Model{models[g], alone} {
					if err := m.Prepare(); err != nil {
						t.Fatal(err)
					}
					scores[k] = make([]float64, 300*targets)
					if err := m.Scores(ctx, scores[k], m.X); err != nil {
						t.Fatal(err)
					}
				}
				differ(t, solver, scores[0], scores[1], 1e-6)
			}
		}
	}
}

// TestSolveAllHasTheSameBits checks that the bits for a penalty do not depend on the others in the
// batch.
func TestSolveAllHasTheSameBits(t *testing.T) {
	for _, solver := range []string{"cholesky", "cg"} {
		for _, targets := range []int{1, 5} {
			specs := someSpecs(solver)[:3]
			all, _, err := trained(t, specs[2], 530, targets).SolveAll(ctx, specs)
			if err != nil {
				t.Fatal(err)
			}
			for g, s := range specs {
				one, _, err := trained(t, specs[2], 530, targets).SolveAll(ctx, []Spec{s})
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range all[g].Dual {
					if one[0].Dual[i] != v {
						t.Fatalf("%s, %d targets, alpha %g: number %d is %v alone and %v with others", solver, targets, s.Alpha, i,
							one[0].Dual[i], v)
					}
				}
			}
		}
	}
}

// TestSolveAllByFactorsInSinglePrecision checks that few rows are solved by float32 factors, and by
// float64 factors for a penalty that float32 does not resolve.
func TestSolveAllByFactorsInSinglePrecision(t *testing.T) {
	whole, err := FullMatrix(ctx, gaussian(300, 0.05))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newFactorsFloat32(ctx, whole, DiagonalPenalty(300, 1, nil), []float64{1, 1e-12})
	if err != nil || p[0].Rows != 300 || p[1].Rows != 0 {
		t.Error(len(p), err)
	}
	specs := someSpecs("cholesky")
	models, _, err := trained(t, specs[3], 300, 1).SolveAll(ctx, specs)
	if err != nil {
		t.Fatal(err)
	}
	if r := models[0].Report; r.Iterations == 0 || r.Iterations > 10 || r.Gradient < 1e-13 {
		t.Errorf("not by a factor in single precision: %+v", r)
	}
}

// The rank grows as the penalty decreases, within bounds, and is fixed if given.
func TestRankFollowsThePenalty(t *testing.T) {
	const rows = 3000
	last := 0
	for _, alpha := range []float64{10, 0.1, 1e-3} {
		s := Spec{Kernel: "gaussian", Gamma: kernel.FixedGamma(2), Alpha: alpha, Preconditioner: "rpcholesky", Tol: 1e-6,
			Seed: 1}
		tr := trained(t, s, rows, 1)
		if _, err := tr.preconditioner(ctx, s, []float64{alpha}); err != nil {
			t.Fatal(err)
		}
		rank := tr.lowRank.Rank()
		if most, _ := s.rank(rows); rank > most || rank < last || rank < 100 {
			t.Errorf("alpha %g: rank %d, was %d", alpha, rank, last)
		}
		last = rank
	}
	if first, _ := (Spec{Alpha: 10}).rank(rows); last == 0 || first == 0 {
		t.Error(first, last)
	}
	if most, enough := (Spec{Rank: 70, Alpha: 1}).rank(rows); most != 70 || enough != nil {
		t.Error(most)
	}
}

// Kernel values that are made of shared distances are those of the rows, for every kernel and γ, which make each
// distance once.
func TestSharedDistancesMakeTheSameValues(t *testing.T) {
	const rows = 530
	all := &DistanceCache{}
	for _, name := range []string{"gaussian", "laplacian", "exponential", "rational_quadratic"} {
		for _, gamma := range []float64{0.1, 0.7} {
			s := Spec{Kernel: kernel.Name(name), Gamma: kernel.FixedGamma(gamma), Alpha: 0.1, Shape: 2}
			alone, shared := trained(t, s, rows, 1), trained(t, s, rows, 1)
			shared.ShareDistances(all)
			want, err := FullMatrix(ctx, alone.points)
			if err != nil {
				t.Fatal(err)
			}
			got, err := FullMatrix(ctx, shared.points)
			if err != nil {
				t.Fatal(err)
			}
			differ(t, name, got.Data, want.Data, 1e-9)
			a, b := make([]float32, 18*tileRows), make([]float32, 18*tileRows)
			alone.points.TileFloat32(kern.Dense(18, tileRows, tileRows, a), tileRows, 0)
			shared.points.TileFloat32(kern.Dense(18, tileRows, tileRows, b), tileRows, 0)
			for i, v := range a {
				if math.Abs(float64(v-b[i])) > 1e-5 {
					t.Fatalf("%s: %v, want %v", name, b[i], v)
				}
			}
		}
	}
	if len(all.list) != 2 {
		t.Errorf("%d metrics, want those of the squared distance and of the sum", len(all.list))
	}
	few := trained(t, Spec{Kernel: "gaussian", Gamma: kernel.FixedGamma(1), Alpha: 1}, 40, 1)
	if few.ShareDistances(all); len(all.list) != 3 {
		t.Error("rows share the distances of others")
	}
	for _, s := range []Spec{{Kernel: "cauchy", Gamma: kernel.FixedGamma(1)},
		{Kernel: "gaussian", Gamma: kernel.FixedGamma(1, 2)}} {
		if s.SharesDistances(100, 50) {
			t.Errorf("%s shares distances", s.Kernel)
		}
	}
	wide := Spec{Kernel: "gaussian", Gamma: kernel.GammaScale()}
	if !wide.SharesDistances(100, 50) || wide.SharesDistances(100, 3) || wide.SharesDistances(maxCachedRows+1, 50) {
		t.Error("not where it is worth it")
	}
}

// The float32 preconditioner approximates the float64 one, and both are accurate inverses.
func TestLowRankIsTheInverse(t *testing.T) {
	const n, rank, columns = 700, 60, 3
	k := gaussian(n, 0.5)
	weights, y := problem(n, columns)
	ridge, alphas := DiagonalPenalty(n, 1, weights), []float64{0.01, 0.5, 2}
	f := leading(k, rank)
	rounded := kern.Dense(n, rank, rank, make([]float32, n*rank))
	for i, v := range f.Data {
		rounded.Data[i] = float32(v)
	}
	wide, err := solve.NewLowRankFactor(ctx, f, ridge)
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := solve.NewLowRankFactor(ctx, rounded, ridge)
	if err != nil {
		t.Fatal(err)
	}
	if !solve.Float32FactorSuffices(ridge, 0.01) || solve.Float32FactorSuffices(ridge, 1e-9) {
		t.Error("single precision is not where the penalty allows it")
	}
	for p, tolerance := range map[*solve.LowRankFactor]float64{wide: 1e-9, narrow: 5e-3} {
		m, err := solve.LowRank(ctx, p, alphas)
		if err != nil {
			t.Fatal(err)
		}
		got := append([]float64(nil), y...)
		if err := m.Solve(ctx, got, columns); err != nil {
			t.Fatal(err)
		}
		in, back := kern.Dense(rank, columns, columns, make([]float64, rank*columns)), make([]float64, len(y))
		kern.Mul(in, f.T(), kern.Dense(n, columns, columns, got), false)
		kern.Mul(kern.Dense(n, columns, columns, back), f, in, false)
		for at, v := range got {
			back[at] += alphas[at%columns] * ridge[at/columns] * v
		}
		differ(t, "M·M⁻¹v", back, y, tolerance)
	}
}
