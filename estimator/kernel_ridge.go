package estimator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// KernelRidge is exact kernel ridge regression with a kernel k, which [Ridge] on random features
// approximates. With row weights s it minimizes
//
//	Σ s_i (y_i − f(x_i))² + Alpha·‖f‖²,  f(x) = Σ a_i k(x, x_i) + b,  ‖f‖² = a'Ka
//
// independently for each target; the intercept b is not penalized. The solution satisfies
//
//	(K + Alpha·S⁻¹)a + b·1 = y,  1'a = 0
//
// Without an intercept it is that of scikit-learn's KernelRidge, (K + Alpha·S⁻¹)a = y. Kernels and
// their gamma are those of transformer.RFF, and three that are not shift-invariant:
//
//	gaussian            exp(−γ‖Δ‖₂²)
//	laplacian           exp(−γ‖Δ‖₁)
//	cauchy              Π 1/(1 + γ²Δ_j²)
//	exponential         exp(−γ‖Δ‖₂)
//	matern              Matérn(ν = Nu, ℓ = 1/γ)
//	rational_quadratic  (1 + γ‖Δ‖₂²/a)^−a, a = Shape
//	powered_exponential exp(−(γ‖Δ‖₂)^p), p = Exponent, 0 < p ≤ 2
//	polynomial          (γ·x'y + c₀)^p, c₀ = Coef0, p = Degree
//	cosine              x'y/(‖x‖₂·‖y‖₂), 0 if one of them is 0; γ has no effect
//	chi2                exp(−γ·Σ (x_j − y_j)²/(x_j + y_j)), for inputs ≥ 0
//
// The polynomial kernel is solved by cholesky only.
//
// Solver selects the algorithm:
//   - cholesky factorizes the n×n matrix: n³/3 flops, n² numbers in memory;
//   - cg is the preconditioned conjugate gradient method. It computes kernel values in tiles, caches
//     as many in float32 as fit in a third of the memory, and recomputes the others in each step.
//     Preconditioner rpcholesky is a low-rank approximation of K by Rank columns, selected by randomly
//     pivoted Cholesky with the seed: n·Rank² flops, n·Rank numbers. Rank 0 selects the rank by cost,
//     up to 16·√n; smaller Alpha gives a larger rank. Preconditioner none is the diagonal. Residuals
//     are computed in float64, or in float32 if that resolves them. It stops when they are at most Tol
//     times the spread of the targets, which bounds the relative error of the training predictions,
//     and warns after MaxIter steps;
//   - auto is cholesky for up to 4096 rows, else cg; it switches to cholesky if cg has not converged
//     after the steps that cost as much as a factorization, and memory permits.
//
// All targets are solved jointly. The model stores the rows of positive weight, and a prediction
// computes as many kernel values. Fit returns an error for a categorical column, a missing or
// infinite value, no rows, and a list of γ whose length is not the number of columns. (Saunders,
// Gammerman & Vovk, ICML 1998; Díaz, Epperly, Frangella, Tropp & Webber, arXiv 2304.12465, for the
// preconditioner.) Use [NewKernelRidge]: the zero value is invalid.
type KernelRidge struct {
	Kernel         kernel.Name
	Gamma          kernel.Gamma
	Alpha          float64
	Nu             float64 // ν of the matern kernel
	Shape          float64 // a of the rational_quadratic kernel
	Exponent       float64 // p of the powered_exponential kernel
	Degree         int     // of the polynomial kernel
	Coef0          float64 // c₀ of the polynomial kernel
	Intercept      bool
	Solver         string
	Preconditioner string
	Rank           int
	Tol            float64
	MaxIter        int
	Seed           uint64
}

// NewKernelRidge returns a KernelRidge with the gaussian kernel, γ by [kernel.GammaScale], Alpha 1 and an
// intercept.
func NewKernelRidge() KernelRidge {
	return KernelRidge{Kernel: "gaussian", Gamma: kernel.GammaScale(), Alpha: 1, Nu: 1.5, Shape: 1, Exponent: 1,
		Degree: 3, Coef0: 1, Intercept: true,
		Solver: "auto", Preconditioner: "rpcholesky", Tol: 1e-6, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *KernelRidge) Params(l *param.List) {
	kernelWidthParams(l, &s.Kernel, &s.Gamma)
	kernelPenaltyParams(l, &s.Alpha, &s.Intercept)
	kernelShapeParams(l, &s.Kernel, &s.Nu, &s.Shape, &s.Exponent, &s.Coef0, &s.Degree)
	kernelSolverParams(l, &s.Kernel, &s.Solver, &s.Preconditioner, &s.Rank, &s.Tol, &s.MaxIter, &s.Seed)
}

// kernelPenaltyParams declares the penalty and intercept of kernel ridge regression and its classifier.
func kernelPenaltyParams(l *param.List, alpha *float64, intercept *bool) {
	l.Float(alpha, "alpha", "penalty on the squared norm of the function", param.Positive())
	l.MorePenalty("alpha")
	l.Bool(intercept, "intercept", "whether to fit an intercept, which is not penalized")
}

// kernelWidthParams declares a kernel, one of [pairwise.Kernels] or more, and its width.
func kernelWidthParams(l *param.List, name *kernel.Name, gamma *kernel.Gamma, more ...string) {
	name.Declare(l, "kernel", slices.Concat(pairwise.Kernels, more)...)
	l.Value(gamma, "gamma", "scale γ of the kernel; larger values make it narrower")
	l.Rougher("gamma")
}

// kernelShapeParams declares the numbers of the kernels that have one.
func kernelShapeParams(l *param.List, name *kernel.Name, nu, shape, exponent, coef0 *float64, degree *int) {
	l.Float(nu, "nu", "smoothness ν of the matern kernel", param.Positive())
	l.Float(shape, "shape", "shape of the rational_quadratic kernel", param.Positive())
	l.Float(exponent, "exponent", "exponent p of the powered_exponential kernel", exponents)
	l.Int(degree, "degree", "degree of the polynomial kernel", degrees)
	l.Float(coef0, "coef0", "constant c₀ of a kernel of products x'y, ≥ 0 for polynomial", param.Any())
	l.Check("coef0", func() error {
		if *name == kernel.Polynomial && *coef0 < 0 {
			return errors.New("a number ≥ 0 for kernel: polynomial")
		}
		return nil
	})
}

// Ranges of the parameters of kernels: powered exponential kernels of a larger exponent are not
// positive definite.
var (
	exponents = param.Range{High: 2, LowOpen: true}
	degrees   = param.Between(1, 64)
)

// kernelSolverParams declares how both are solved.
func kernelSolverParams(l *param.List, name *kernel.Name, solver, preconditioner *string, rank *int, tol *float64,
	maxIter *int, seed *uint64) {
	l.Choice(solver, "solver",
		"algorithm that solves for the weights; auto selects it by the shape of the rows", "auto", "cholesky", "cg")
	l.Check("solver", func() error {
		if *solver == "cg" && !kernelridge.UnitDiagonal(*name) {
			return fmt.Errorf("auto or cholesky for kernel: %s", *name)
		}
		return nil
	})
	l.Choice(preconditioner, "preconditioner",
		"preconditioner of cg, which reduces the number of iterations", "rpcholesky", "none")
	l.Int(rank, "rank", "rank of the preconditioner; 0 selects it by the number of rows", param.Between(0, 1<<20))
	l.Float(tol, "tol", "tolerance of cg: residual, relative to the standard deviation of the targets", param.Positive())
	l.Int(maxIter, "max_iter", "maximum number of iterations of cg", param.AtLeast(1))
	l.Seed(seed, "seed", "seed of the preconditioner and of the sample for gamma: median")
}

func (s KernelRidge) plain() kernelridge.Spec { return kernelridge.Spec(s) }

// Fit fits the model to data in memory.
func (s KernelRidge) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	m, err := s.fit(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: kernel_ridge: %w", err)
	}
	return &fittedKernelRidge{kernelRegressor{kernelModel{m}}}, nil
}

func (s KernelRidge) fit(ctx context.Context, data datasets.Set) (*kernelridge.Model, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	r, err := design.FromSet(data)
	if err != nil {
		return nil, err
	}
	if err := rejectClassTarget(r.Schema, "kernel_ridge"); err != nil {
		return nil, err
	}
	if err := checkMemory(s, r.Shape(r.N, r.TargetCount())); err != nil {
		return nil, err
	}
	return s.plain().Fit(ctx, r, kernelridge.NumericTargets)
}

// Way returns the solver for n rows: that of the spec, or the one selected by auto.
func (s KernelRidge) Way(rows int) string { return s.plain().SolverFor(rows) }

// Cost estimates a fit to rows of a shape.
func (s KernelRidge) Cost(shape datasets.Shape) datasets.Cost { return s.plain().Cost(shape) }
