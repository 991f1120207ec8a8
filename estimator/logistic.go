package estimator

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/lasso"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/param"
)

// Logistic is logistic regression with a penalty on the squared weights. With row weights s it
// minimizes
//
//	C·Σ s_i·log(1 + exp(−t_i(w'x_i + b))) + ½‖w‖²,  t_i = ±1
//
// for two classes, and for k > 2 the multinomial (softmax) loss of k×d weights,
//
//	C·Σ s_i·(log Σ_c exp(w_c'x_i + b_c) − w_y'x_i − b_y) + ½‖W‖²
//
// With an L1Ratio, the penalty is L1Ratio·‖W‖₁ + ½(1 − L1Ratio)·‖W‖², which sets most weights to 0 if
// C is small. Then Solver auto takes proximal Newton steps by coordinate descent, with all rows in
// memory, until the duality gap is at most Tol of the loss of the best constant; Newton's method and
// the dual cannot.
//
// The intercepts are not penalized; those of several classes are shifted to sum to 0. Several labels
// (see [datasets.Tags]) have a loss of two classes each; dense rows are read for all of them at once.
//
// Solver newton takes truncated Newton steps, each of a few passes over the blocks of rows, with
// conjugate gradients preconditioned by the Cholesky factor of the Hessian of a sample of the rows
// (for wide or sparse inputs, by its diagonal; for several classes with many rows each, if steps
// become long, by a factor for each class). The first step, from 0, is a ridge regression. No n×d
// array is stored and sparse rows stay sparse; a stream is read once for each pass.
//
// It stops when the norm of the gradient is at most Tol times that at 0, and the objective is
// within Tol of its minimum as estimated by the preconditioner.
//
// Solver dual, for two classes only (more classes use newton), is coordinate descent on the dual
// with all rows in memory. It stops when the duality gap is at most Tol of the objective (Yu, Huang
// & Lin, Machine Learning 2011). Solver auto is dual for sparse rows of more than 512 columns, such
// as those of random binning, and newton otherwise. Reaching MaxIter steps or passes first is not
// an error: the report has Converged false and a warning.
// Use [NewLogistic]: the zero value is invalid.
type Logistic struct {
	C           float64
	L1Ratio     float64
	Intercept   bool
	ClassWeight ClassWeight
	Solver      string
	Tol         float64
	MaxIter     int
}

// NewLogistic returns a Logistic with C 1, an intercept and tolerance 1e-4.
func NewLogistic() Logistic {
	return Logistic{C: 1, Intercept: true, Solver: "auto", Tol: 1e-4, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *Logistic) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss relative to the penalty; larger values fit more closely", param.Positive())
	l.LessPenalty("C")
	l.Float(&s.L1Ratio, "l1_ratio", "share of the penalty on absolute weights; the rest is on half the squared weights",
		param.Range{Low: 0, High: 1})
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Value(&s.ClassWeight, "class_weight", "weights of the classes; balanced: inverse to their frequency")
	penalizedSolverParams(l, &s.Solver, &s.Tol, &s.MaxIter)
	l.Check("solver", func() error {
		if s.L1Ratio > 0 && s.Solver != "auto" {
			return errors.New("auto, which an l1_ratio needs")
		}
		return nil
	})
}

// Fit fits the model to data in memory; the result is a *fittedLogistic.
func (s Logistic) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream; the result is a *fittedLogistic.
func (s Logistic) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

func (s Logistic) name() string { return "logistic" }

func (s Logistic) fitted(m linear, classes []string) Predictor {
	return &fittedLogistic{FittedLinearClassifier{linear: m, classes: classes}}
}

func (s Logistic) fittedLabels(f FittedLinearClassifier) Predictor { return &fittedLogistic{f} }

// plain returns the spec for package joint.
func (s Logistic) plain() joint.PenalizedLoss {
	p := joint.PenalizedLoss{C: s.C, Tol: s.Tol,
		MaxIter:   s.MaxIter,
		Intercept: s.Intercept, Invalid: param.Check(s),
		Labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) {
			return r.ReadClasses(ctx, s.ClassWeight.factors)
		},
		UsesDescent: s.byDescent,
		Descent:     s.descent, Newton: s.newton}
	if s.L1Ratio > 0 {
		p.Path = func(ctx context.Context, r *design.Rows, l *design.Labels, _ int) (joint.Next, error) {
			path, err := lasso.NewLogisticPath(ctx, r, l, s.Intercept, lasso.Options{L1Ratio: s.L1Ratio, Tol: s.Tol,
				MaxIter: s.MaxIter})
			if err != nil {
				return nil, err
			}
			return path.Solve, nil
		}
	}
	return p
}

// newton returns the objective of Newton's method.
func (s Logistic) newton(l *design.Labels) newton.Task { return newton.Logistic(l, s.Intercept, s.Tol) }

// Cost estimates a fit to rows of a shape.
func (s Logistic) Cost(shape datasets.Shape) datasets.Cost {
	if s.L1Ratio > 0 {
		return lasso.LogisticCost(shape)
	}
	if shape.Outputs <= 2 && s.dual(newton.ShapeExceedsFactorLimit(shape)) {
		return descent.LogisticCost(shape)
	}
	return newton.LogisticCost(shape)
}

// Tags returns that the model is a classifier, also of several labels.
func (s Logistic) Tags() datasets.Tags {
	return datasets.Tags{Task: datasets.Classification, MultiLabel: true, SharedMaps: s.Solver != "dual" && s.L1Ratio == 0}
}

// fittedLogistic is a fitted logistic regression: a linear classifier with probabilities.
type fittedLogistic struct{ FittedLinearClassifier }

// Outputs returns values, scores and probabilities.
func (f *fittedLogistic) Outputs() Outputs {
	return f.withLabels(OutputValues | OutputScores | OutputProbabilities)
}

// PredictFull returns class, scores and probabilities of each row of X.
func (f *fittedLogistic) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	scores, err := f.scores(ctx, X)
	return f.read(scores, err, want)
}

func (f *fittedLogistic) read(scores *mat.Dense, err error, want Request) (Prediction, error) {
	if f.labels != nil {
		return predictLabels(scores, err, want, true)
	}
	return predictClasses(scores, err, want, probabilitiesOf)
}

// probabilitiesOf returns the class probabilities, rows × classes, for scores: the log odds of the second class, or
// unnormalized log probabilities of each class.
func probabilitiesOf(scores *mat.Dense) *mat.Dense {
	if scores.IsEmpty() {
		return scores
	}
	n, k := scores.Dims()
	if k == 1 {
		out := mat.NewDense(n, 2, nil)
		for i := range n {
			row := out.RawRowView(i)
			row[0], row[1] = logistic(scores.At(i, 0))
		}
		return out
	}
	out := mat.NewDense(n, k, nil)
	for i := range n {
		from, row := scores.RawRowView(i), out.RawRowView(i)
		top := from[kern.ArgMax(from)]
		for j, z := range from {
			row[j] = math.Exp(z - top)
		}
		kern.Scale(1/kern.Sum(row), row)
	}
	return out
}

// logistic returns 1/(1 + exp(z)) and 1/(1 + exp(−z)).
func logistic(z float64) (p0, p1 float64) {
	small := math.Exp(-math.Abs(z))
	p0, p1 = small/(1+small), 1/(1+small)
	if z < 0 {
		p0, p1 = p1, p0
	}
	return p0, p1
}

// byDescent reports whether the solver is, or auto chooses, dual: auto does on rows that are sparse and
// too wide for Newton's preconditioner. The softmax of more than two classes has another dual.
func (s Logistic) byDescent(r *design.Rows, l *design.Labels) bool {
	return len(l.Classes) == 2 && s.dual(newton.ExceedsFactorLimit(r))
}

// dual reports whether coordinate descent solves for two classes.
func (s Logistic) dual(wide bool) bool { return s.Solver == "dual" || s.Solver == "auto" && wide }

// descent is the problem for coordinate descent.
func (s Logistic) descent(l *design.Labels) descent.Task {
	return descent.Logistic(l, s.C, s.Intercept, s.Tol, s.MaxIter)
}
