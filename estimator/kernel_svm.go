package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/kernelsvm"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// KernelSVM is the support vector machine with an exact kernel k: what [SVM] with the hinge loss on
// random features of the kernel approximates. With row weights s and t_i = ±1 it minimizes
//
//	C·Σ s_i·max(0, 1 − t_i·f(x_i)) + ½‖f‖²,  f(x) = Σ β_i k(x, x_i) + b,  ‖f‖² = β'Kβ
//
// for two classes. The intercept b is not penalized. Several classes are one-vs-rest: one f for
// each class against the others, and a row is of the class with the largest. All of them share the
// kernel values, the scores of classes are comparable, as [meta.Calibrated] needs it, and an export
// is one product; LIBSVM trains one-vs-one, whose accuracy is the same (Rifkin & Klautau, JMLR
// 2004). Kernels are those of [KernelRidge].
//
// Sequential minimal optimization solves the dual problem, over working sets of 1,024 to 4,096 rows with second-order
// selection of pairs. It stops when the optimality conditions of all pairs of rows are violated by at most Tol. Cache
// bounds the kernel rows in memory, in megabytes; 0 is all, up to 2 GiB. The cost grows as rows² to
// rows³ and with C. The model stores the support vectors, the rows with β_i ≠ 0: those within or on the wrong side of
// the margin. Reaching MaxIter steps first is not an error: the report has Converged false and a warning.
//
// Fit returns an error for a categorical column, a missing or infinite value, fewer than two classes, and a list of γ
// that is not as long as there are columns. scikit-learn: SVC(C, kernel, gamma, class_weight, tol), of which the
// objective, Tol and the scores for two classes are the same. (Fan, Chen & Lin, JMLR 2005.)
//
// [meta.Calibrated]: https://pkg.go.dev/github.com/bochner-ml/bochner/estimator/meta#Calibrated
// Use [NewKernelSVM]: the zero value is invalid.
type KernelSVM struct {
	C           float64
	Kernel      kernel.Name
	Gamma       kernel.Gamma
	Nu          float64 // ν of the matern kernel
	Shape       float64 // a of the rational_quadratic kernel
	Exponent    float64 // p of the powered_exponential kernel
	Degree      int     // of the polynomial kernel
	Coef0       float64 // c₀ of the polynomial kernel
	ClassWeight ClassWeight
	Tol         float64
	Cache       int
	MaxIter     int
	Seed        uint64
}

// NewKernelSVM returns a KernelSVM with C 1, the gaussian kernel, γ by [kernel.GammaScale] and tolerance 1e-3.
func NewKernelSVM() KernelSVM {
	return KernelSVM{C: 1, Kernel: "gaussian", Gamma: kernel.GammaScale(), Nu: 1.5, Shape: 1, Exponent: 1, Degree: 3,
		Coef0: 1, Tol: 1e-3, MaxIter: 1e8}
}

// Params declares the hyperparameters.
func (s *KernelSVM) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss relative to the penalty; larger values fit more closely", param.Positive())
	l.LessPenalty("C")
	kernelWidthParams(l, &s.Kernel, &s.Gamma, "sigmoid")
	kernelShapeParams(l, &s.Kernel, &s.Nu, &s.Shape, &s.Exponent, &s.Coef0, &s.Degree)
	l.Value(&s.ClassWeight, "class_weight", "weights of the classes; balanced: inverse to their frequency")
	smoParams(l, &s.Tol, &s.Cache, &s.MaxIter, &s.Seed)
}

// smoParams declares how a machine is solved.
func smoParams(l *param.List, tol *float64, cache, maxIter *int, seed *uint64) {
	l.Float(tol, "tol", "tolerance: violation of the optimality conditions, relative to the margin or to the "+
		"standard deviation of the target", param.Positive())
	l.Int(cache, "cache", "megabytes for cached kernel rows; 0: all rows, up to 2 GiB", param.Between(0, 1<<20))
	l.Int(maxIter, "max_iter", "maximum number of iterations; each updates a pair of rows", param.AtLeast(1))
	l.Seed(seed, "seed", "seed of the sample for gamma: median")
}

// plain is the spec as estimator/internal/kernelsvm takes it.
func (s KernelSVM) plain() kernelsvm.Spec {
	return kernelsvm.Spec{Kernel: s.Kernel, Gamma: s.Gamma, C: s.C, Tol: s.Tol, Cache: s.Cache, MaxIter: s.MaxIter,
		Shape: spectral.Shape{Nu: s.Nu, Alpha: s.Shape, Exponent: s.Exponent, Degree: s.Degree, Coef0: s.Coef0},
		Seed:  s.Seed}
}

// Fit learns from data in memory; the result has the methods SupportVectors, Dual, Gamma
// and Intercept.
func (s KernelSVM) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	m, l, err := fitKernelSVM(ctx, s, s.plain(), data, s.labels)
	if err != nil {
		return nil, fmt.Errorf("estimator: kernel_svm: %w", err)
	}
	return &fittedKernelSVM{kernelClassifier{kernelModel{m}, l.Classes}}, nil
}

// labels reads the classes and weights of rows.
func (s KernelSVM) labels(ctx context.Context, r *design.Rows) (*design.Labels, error) {
	return r.ReadClasses(ctx, s.ClassWeight.factors)
}

// fitKernelSVM fits a kernel machine to data in memory.
func fitKernelSVM(ctx context.Context, spec datasets.CostEstimator, s kernelsvm.Spec, data datasets.Set,
	read func(context.Context, *design.Rows) (*design.Labels, error)) (*kernelridge.Model, *design.Labels, error) {
	if err := specs.CheckFit(spec); err != nil {
		return nil, nil, err
	}
	r, err := design.FromSet(data)
	if err != nil {
		return nil, nil, err
	}
	l, err := read(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if err := checkMemory(spec, r.Shape(r.N, l.Outputs())); err != nil {
		return nil, nil, err
	}
	m, err := s.Fit(ctx, r, l)
	return m, l, err
}

// Cost estimates a fit to rows of a shape.
func (s KernelSVM) Cost(shape datasets.Shape) datasets.Cost { return s.plain().Cost(shape) }
