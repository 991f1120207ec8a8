package estimator

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// RidgeClassifier is [Ridge] on codes ±1: −1 and +1 for the first and second of two classes; for
// more, one column for each class, +1 on its own rows and −1 elsewhere. All columns share one Gram
// matrix. A row is of the class with the largest score. Several labels (see [datasets.Tags]) have a
// column each, without class weights; a row has those with a positive score. It is the least-squares classifier of
// Rahimi & Recht (NIPS 2007). Use [NewRidgeClassifier]: the zero value is invalid.
type RidgeClassifier struct {
	Alpha       float64
	Intercept   bool
	ClassWeight ClassWeight
	Solver      string
	Tol         float64
	MaxIter     int
}

// NewRidgeClassifier returns a RidgeClassifier with Alpha 1 and an intercept.
func NewRidgeClassifier() RidgeClassifier {
	r := NewRidge()
	return RidgeClassifier{Alpha: r.Alpha, Intercept: r.Intercept, Solver: r.Solver, Tol: r.Tol, MaxIter: r.MaxIter}
}

// Params declares the hyperparameters.
func (s *RidgeClassifier) Params(l *param.List) {
	l.Float(&s.Alpha, "alpha", "penalty on the squared weights", param.AtLeast(0))
	l.MorePenalty("alpha")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Value(&s.ClassWeight, "class_weight", "weights of the classes; balanced: inverse to their frequency")
	l.Choice(&s.Solver, "solver",
		"algorithm that solves for the weights; auto selects it by the shape of the rows", "auto", "cholesky", "dual", "cg")
	l.Float(&s.Tol, "tol", "tolerance of cg: residual, relative to the initial one", param.Positive())
	l.Int(&s.MaxIter, "max_iter", "maximum number of iterations of cg", param.AtLeast(1))
}

// Fit fits the model to data in memory; the result is a [*FittedLinearClassifier].
func (s RidgeClassifier) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := design.FromSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge_classifier: %w", err)
	}
	return s.fit(ctx, r)
}

// FitSource fits the model to a stream; the result is a [*FittedLinearClassifier].
func (s RidgeClassifier) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := design.FromSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge_classifier: %w", err)
	}
	return s.fit(ctx, r)
}

func (s RidgeClassifier) ridge() Ridge {
	return Ridge{Alpha: s.Alpha, Intercept: s.Intercept, Solver: s.Solver, Tol: s.Tol, MaxIter: s.MaxIter}
}

func (s RidgeClassifier) fit(ctx context.Context, r *design.Rows) (Predictor, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, fmt.Errorf("estimator: ridge_classifier: %w", err)
	}
	solve, labels := s.solve, r.LabelNames()
	if labels != nil {
		solve = s.solveLabels
	}
	model, classes, err := solve(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge_classifier: %w", err)
	}
	return &FittedLinearClassifier{linear: newLinear(model), classes: classes, labels: labels}, nil
}

// solveLabels solves for several labels, which share the Gram matrix.
func (s RidgeClassifier) solveLabels(ctx context.Context, r *design.Rows) (solve.Linear, []string, error) {
	if s.ClassWeight.Balanced || s.ClassWeight.Weights != nil {
		return solve.Linear{}, nil, errors.New("class_weight must be none for several labels, which share a Gram matrix; " +
			"use logistic or svm")
	}
	if err := checkMemory(s, r.Shape(r.N, len(r.LabelNames()))); err != nil {
		return solve.Linear{}, nil, err
	}
	model, err := s.labelProblem(r).Solve(ctx)
	return model, nil, err
}

// labelProblem returns the regression on the codes ±1 of several labels.
func (s RidgeClassifier) labelProblem(r *design.Rows) *leastsquares.Problem {
	return leastsquares.NewProblem(leastsquares.Ridge(s.ridge()), r, design.BlockSigns)
}

func (s RidgeClassifier) solve(ctx context.Context, r *design.Rows) (solve.Linear, []string, error) {
	if known := r.Schema.Classes(); r.Set == nil && len(known) > 0 && !s.ClassWeight.Balanced {
		return s.solveOnce(ctx, r, known)
	}
	l, err := r.ReadClasses(ctx, s.ClassWeight.factors)
	if err == nil {
		err = checkMemory(s, r.Shape(len(l.Y), l.Outputs()))
	}
	if err != nil {
		return solve.Linear{}, nil, err
	}
	coded := func(first int, block datasets.Set) ([]float64, int, []float64, error) {
		n := block.Rows()
		return l.Signs(make([]float64, n*l.Outputs()), first), l.Outputs(), l.Weights[first : first+n], nil
	}
	model, err := leastsquares.NewProblem(leastsquares.Ridge(s.ridge()), r.WithRowCount(len(l.Y)), coded).Solve(ctx)
	return model, l.Classes, err
}

// solveOnce computes codes and weights of each block as it is read.
func (s RidgeClassifier) solveOnce(ctx context.Context, r *design.Rows, classes []string) (solve.Linear, []string,
	error) {
	if err := checkMemory(s, r.Shape(r.N, r.Schema.Outputs())); err != nil {
		return solve.Linear{}, nil, err
	}
	p, mass, err := s.coded(r, classes)
	if err != nil {
		return solve.Linear{}, nil, err
	}
	model, err := p.Solve(ctx)
	if err != nil {
		return solve.Linear{}, nil, err
	}
	return model, classes, design.CheckClassCount(classes, mass)
}

// coded returns the regression on the class codes for class weights that are not balanced, and the
// array that accumulates the weight of each class.
func (s RidgeClassifier) coded(r *design.Rows, classes []string) (p *leastsquares.Problem, mass []float64, err error) {
	mass = make([]float64, len(classes))
	factors, err := s.ClassWeight.factors(classes, mass, len(classes))
	if err != nil {
		return nil, nil, err
	}
	return leastsquares.NewProblem(leastsquares.Ridge(s.ridge()), r, codedBlocks(classes, factors, mass)), mass, nil
}

// Cost is [Ridge.Cost] and that of the classes' codes. Balanced weights need the classes of all rows first:
// another pass.
func (s RidgeClassifier) Cost(shape datasets.Shape) datasets.Cost {
	cost := leastsquares.Ridge(s.ridge()).Cost(shape, float64(min(shape.Rows, design.SparseBlock)))
	if s.ClassWeight.Balanced {
		cost.Passes = 0
	}
	return cost
}

// Tags returns that the model is a classifier, also of several labels, which share the sums of a single pass.
func (s RidgeClassifier) Tags() datasets.Tags {
	out := s.ridge().Tags()
	out.Task, out.MultiLabel, out.LinearInTargets = datasets.Classification, true, false
	if s.ClassWeight.Balanced {
		out.SharedMaps, out.NoLeaveOneOut = false, joint.ErrLOOClassWeights
	}
	return out
}
