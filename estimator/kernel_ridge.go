package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kernelridge"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// KernelRidge is ridge regression with a kernel k, exact: what [Ridge] on random features of the kernel comes
// near to. With row weights s it minimizes
//
//	Σ s_i (y_i − f(x_i))² + Alpha·‖f‖²,  f(x) = Σ a_i k(x, x_i) + b,  ‖f‖² = a'Ka
//
// independently for each target; the intercept b is not penalized. The solution is that of
//
//	(K + Alpha·S⁻¹)a + b·1 = y,  1'a = 0
//
// and without an intercept that of scikit-learn's KernelRidge, (K + Alpha·S⁻¹)a = y. Kernels are those of
// transformer.RFF, of the same gamma:
//
//	gaussian            exp(−γ‖Δ‖₂²)
//	laplacian           exp(−γ‖Δ‖₁)
//	cauchy              Π 1/(1 + γ²Δ_j²)
//	exponential         exp(−γ‖Δ‖₂)
//	matern              Matérn(ν = Nu, ℓ = 1/γ)
//	rational_quadratic  (1 + γ‖Δ‖₂²/a)^−a, a = Shape
//
// Solver selects the algorithm:
//   - cholesky factorizes the n×n matrix: n³/3 flops, n² numbers held;
//   - cg goes by conjugate gradients with kernel values made in tiles: it holds as many of these, in single
//     precision, as a third of the memory takes, and makes the others again for each step. Preconditioner
//     rpcholesky is the approximation of K by Rank of its columns, those of rows that randomly pivoted
//     Cholesky chooses with the seed (0 for as many as pay, the more the smaller Alpha is, up to 16·√n): n·Rank² flops and
//     n·Rank numbers; none is the diagonal.
//     Residuals are those of the system in float64, or in single where Tol times the least penalty of a row is so
//     large that they show in that. It stops where they are at most Tol of the
//     spread of the targets, when the predictions of the training rows are right to that, too, and warns where
//     MaxIter steps do not get there;
//   - auto takes cholesky up to 4096 rows. With more it takes cg, and cholesky where cg has not converged
//     after as many steps as take the time of a factor, and memory holds one.
//
// All targets are solved for together. The model keeps the rows of positive weight: a prediction takes as many
// kernel values. Fit returns an error for a categorical column, a missing or infinite value, no rows, and a list of γ
// that is not as long as there are columns. (Saunders, Gammerman & Vovk, ICML 1998; Díaz, Epperly, Frangella,
// Tropp & Webber, arXiv 2304.12465, for the preconditioner.)
type KernelRidge struct {
	Kernel         kernel.Name
	Gamma          kernel.Gamma
	Alpha          float64
	Nu             float64 // ν of the matern kernel
	Shape          float64 // a of the rational_quadratic kernel
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
	return KernelRidge{Kernel: "gaussian", Gamma: kernel.GammaScale, Alpha: 1, Nu: 1.5, Shape: 1, Intercept: true,
		Solver: "auto", Preconditioner: "rpcholesky", Tol: 1e-6, MaxIter: 1000}
}

var (
	_ Estimator              = KernelRidge{}
	_ datasets.CostEstimator = KernelRidge{}
	_ param.Declarer         = (*KernelRidge)(nil)
)

// Params declares the hyperparameters.
func (s *KernelRidge) Params(l *param.List) {
	kernelParams(l, (*string)(&s.Kernel), &s.Gamma, &s.Alpha, &s.Nu, &s.Shape, &s.Intercept)
	kernelSolverParams(l, &s.Solver, &s.Preconditioner, &s.Rank, &s.Tol, &s.MaxIter, &s.Seed)
}

// kernelParams declares what kernel ridge regression and its classifier minimize.
func kernelParams(l *param.List, name *string, gamma *kernel.Gamma, alpha, nu, shape *float64, intercept *bool) {
	kernelWidthParams(l, name, gamma)
	l.Float(alpha, "alpha", "penalty on the squared norm of the function", param.Positive)
	l.Complexity("alpha", param.MorePenalty)
	kernelShapeParams(l, nu, shape)
	l.Bool(intercept, "intercept", "whether to fit an intercept, which is not penalised")
}

// kernelWidthParams declares a kernel and its width.
func kernelWidthParams(l *param.List, name *string, gamma *kernel.Gamma) {
	l.Choice(name, "kernel", "kernel", spectral.FourierKernels...)
	l.Value(gamma, "gamma", "width parameter of the kernel, the larger the narrower")
	l.Complexity("gamma", param.Rougher)
}

// kernelShapeParams declares the numbers of the kernels that have one.
func kernelShapeParams(l *param.List, nu, shape *float64) {
	l.Float(nu, "nu", "smoothness ν of the matern kernel", param.Positive)
	l.Float(shape, "shape", "shape of the rational_quadratic kernel", param.Positive)
}

// kernelSolverParams declares how both are solved.
func kernelSolverParams(l *param.List, solver, preconditioner *string, rank *int, tol *float64, maxIter *int,
	seed *uint64) {
	l.Choice(solver, "solver", "how to solve", "auto", "cholesky", "cg")
	l.Choice(preconditioner, "preconditioner", "what makes cg take few steps", "rpcholesky", "none")
	l.Int(rank, "rank", "rank of the preconditioner, 0 for one that grows with the rows", param.Between(0, 1<<20))
	l.Float(tol, "tol", "residual, relative to the spread of the targets, at which cg stops", param.Positive)
	l.Int(maxIter, "max_iter", "most steps of cg", param.AtLeast(1))
	l.Seed(seed, "seed", "seed of the preconditioner and of the sample for gamma: median")
}

func (s KernelRidge) plain() kernelridge.Spec { return kernelridge.Spec(s) }

// Fit learns from data in memory; the result is a [*FittedKernelRidge].
func (s KernelRidge) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	m, err := s.fit(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: kernel_ridge: %w", err)
	}
	return &FittedKernelRidge{kernelRegressor{kernelModel{m}}}, nil
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

// SolverFor is the solver for n rows: that of the spec, or what auto takes.
func (s KernelRidge) Way(rows int) string { return s.plain().SolverFor(rows) }

// Cost estimates a fit to rows of a shape.
func (s KernelRidge) Cost(shape datasets.Shape) datasets.Cost { return s.plain().Cost(shape) }
