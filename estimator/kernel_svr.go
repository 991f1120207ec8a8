package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelsvm"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// KernelSVR is support vector regression with an exact kernel k: what [SVR] on random features of the kernel
// approximates. With row weights s it minimizes
//
//	C·Σ s_i·max(0, |y_i − f(x_i)| − Epsilon) + ½‖f‖²,  f(x) = Σ β_i k(x, x_i) + b,  ‖f‖² = β'Kβ
//
// The intercept b is not penalized. C and Epsilon are in units of the target: standardize it, for
// instance by the target wrapper, or choose them accordingly. Tol is relative to the standard
// deviation of the target. Kernels, the solver, its cost and its errors are those of [KernelSVM];
// the support vectors are the rows whose residuals are at least Epsilon.
//
// scikit-learn: SVR(C, epsilon, kernel, gamma, tol), of which the objective is the same, and tol is in units of the
// target. Use [NewKernelSVR]: the zero value is invalid.
type KernelSVR struct {
	C        float64
	Epsilon  float64
	Kernel   kernel.Name
	Gamma    kernel.Gamma
	Nu       float64 // ν of the matern kernel
	Shape    float64 // a of the rational_quadratic kernel
	Exponent float64 // p of the powered_exponential kernel
	Degree   int     // of the polynomial kernel
	Coef0    float64 // c₀ of the polynomial kernel
	Tol      float64
	Cache    int
	MaxIter  int
	Seed     uint64
}

// NewKernelSVR returns a KernelSVR with C 1, a tube of half-width 0.1, the gaussian kernel, γ by
// [kernel.GammaScale] and tolerance 1e-3.
func NewKernelSVR() KernelSVR {
	s := NewKernelSVM()
	return KernelSVR{C: s.C, Epsilon: 0.1, Kernel: s.Kernel, Gamma: s.Gamma, Nu: s.Nu, Shape: s.Shape,
		Exponent: s.Exponent, Degree: s.Degree, Coef0: s.Coef0, Tol: s.Tol, MaxIter: s.MaxIter}
}

// Params declares the hyperparameters.
func (s *KernelSVR) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss relative to the penalty; larger values fit more closely", param.Positive())
	l.LessPenalty("C")
	l.Float(&s.Epsilon, "epsilon", "residuals up to this size have no loss", param.AtLeast(0))
	l.MorePenalty("epsilon")
	kernelWidthParams(l, &s.Kernel, &s.Gamma, "sigmoid")
	kernelShapeParams(l, &s.Kernel, &s.Nu, &s.Shape, &s.Exponent, &s.Coef0, &s.Degree)
	smoParams(l, &s.Tol, &s.Cache, &s.MaxIter, &s.Seed)
}

// plain is the spec as estimator/internal/kernelsvm takes it.
func (s KernelSVR) plain() kernelsvm.Spec {
	return kernelsvm.Spec{Kernel: s.Kernel, Gamma: s.Gamma, C: s.C, Epsilon: s.Epsilon, Tol: s.Tol, Cache: s.Cache,
		Shape:   spectral.Shape{Nu: s.Nu, Alpha: s.Shape, Exponent: s.Exponent, Degree: s.Degree, Coef0: s.Coef0},
		MaxIter: s.MaxIter, Seed: s.Seed}
}

// Fit learns from data in memory; the result has the methods SupportVectors, Dual, Gamma
// and Intercept.
func (s KernelSVR) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	m, _, err := fitKernelSVM(ctx, s, s.plain(), data, s.labels)
	if err != nil {
		return nil, fmt.Errorf("estimator: kernel_svr: %w", err)
	}
	return &fittedKernelSVR{kernelRegressor{kernelModel{m}}}, nil
}

// labels reads the targets and weights of rows.
func (s KernelSVR) labels(ctx context.Context, r *design.Rows) (*design.Labels, error) {
	return readNumbers(ctx, r, "kernel_svr")
}

// Cost estimates a fit to rows of a shape.
func (s KernelSVR) Cost(shape datasets.Shape) datasets.Cost { return s.plain().Cost(shape) }
