package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// KernelRidgeClassifier is [KernelRidge] on codes ±1: −1 and +1 for the first and second of two classes; for
// more, one column for each class, +1 on its own rows and −1 elsewhere. All columns share one matrix, one
// preconditioner and its tiles. A row is of the class with the largest score.
// Use [NewKernelRidgeClassifier]: the zero value is invalid.
type KernelRidgeClassifier struct {
	Kernel         kernel.Name
	Gamma          kernel.Gamma
	Alpha          float64
	Nu             float64 // ν of the matern kernel
	Shape          float64 // a of the rational_quadratic kernel
	Exponent       float64 // p of the powered_exponential kernel
	Degree         int     // of the polynomial kernel
	Coef0          float64 // c₀ of the polynomial kernel
	Intercept      bool
	ClassWeight    ClassWeight
	Solver         string
	Preconditioner string
	Rank           int
	Tol            float64
	MaxIter        int
	Seed           uint64
}

// NewKernelRidgeClassifier returns a KernelRidgeClassifier with the defaults of [NewKernelRidge].
func NewKernelRidgeClassifier() KernelRidgeClassifier {
	r := NewKernelRidge()
	return KernelRidgeClassifier{Kernel: r.Kernel, Gamma: r.Gamma, Alpha: r.Alpha, Nu: r.Nu, Shape: r.Shape,
		Exponent: r.Exponent, Degree: r.Degree, Coef0: r.Coef0,
		Intercept: r.Intercept,
		Solver:    r.Solver, Preconditioner: r.Preconditioner, Tol: r.Tol, MaxIter: r.MaxIter}
}

// Params declares the hyperparameters.
func (s *KernelRidgeClassifier) Params(l *param.List) {
	kernelWidthParams(l, &s.Kernel, &s.Gamma)
	kernelPenaltyParams(l, &s.Alpha, &s.Intercept)
	kernelShapeParams(l, &s.Kernel, &s.Nu, &s.Shape, &s.Exponent, &s.Coef0, &s.Degree)
	l.Value(&s.ClassWeight, "class_weight", "weights of the classes; balanced: inverse to their frequency")
	kernelSolverParams(l, &s.Kernel, &s.Solver, &s.Preconditioner, &s.Rank, &s.Tol, &s.MaxIter, &s.Seed)
}

// regression returns the regression on the class codes.
func (s KernelRidgeClassifier) regression() KernelRidge {
	return KernelRidge{Kernel: s.Kernel, Gamma: s.Gamma, Alpha: s.Alpha, Nu: s.Nu, Shape: s.Shape,
		Exponent: s.Exponent, Degree: s.Degree, Coef0: s.Coef0, Intercept: s.Intercept,
		Solver: s.Solver, Preconditioner: s.Preconditioner, Rank: s.Rank, Tol: s.Tol, MaxIter: s.MaxIter, Seed: s.Seed}
}

// Fit fits the model to data in memory.
func (s KernelRidgeClassifier) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	m, classes, err := s.fit(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: kernel_ridge_classifier: %w", err)
	}
	return &fittedKernelRidgeClassifier{kernelClassifier{kernelModel{m}, classes}}, nil
}

func (s KernelRidgeClassifier) fit(ctx context.Context, data datasets.Set) (*kernelridge.Model, []string, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, nil, err
	}
	r, err := design.FromSet(data)
	if err != nil {
		return nil, nil, err
	}
	var classes []string
	m, err := s.regression().plain().Fit(ctx, r, func(ctx context.Context, r *design.Rows) (kernelridge.Data, error) {
		data, err := s.coded(ctx, r)
		if classes = data.Classes; err == nil {
			err = checkMemory(s, r.Shape(r.N, data.Targets))
		}
		return data, err
	})
	return m, classes, err
}

// coded reads the codes of the classes of rows in memory, and their weights.
func (s KernelRidgeClassifier) coded(ctx context.Context, r *design.Rows) (kernelridge.Data, error) {
	l, err := r.ReadClasses(ctx, s.ClassWeight.factors)
	if err != nil {
		return kernelridge.Data{}, err
	}
	t := l.Outputs()
	return kernelridge.Data{Rows: r, Y: l.Signs(make([]float64, r.N*t), 0), Targets: t, Weights: l.Weights,
		Classes: l.Classes}, nil
}

// Way returns the solver for n rows: that of the spec, or the one selected by auto.
func (s KernelRidgeClassifier) Way(rows int) string { return s.regression().Way(rows) }

// Cost estimates a fit to rows of a shape.
func (s KernelRidgeClassifier) Cost(shape datasets.Shape) datasets.Cost {
	return s.regression().Cost(shape)
}
