package estimator

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Logistic is logistic regression with a penalty on the squared weights. With row weights s it
// minimises
//
//	C·Σ s_i·log(1 + exp(−t_i(w'x_i + b))) + ½‖w‖²,  t_i = ±1
//
// for two classes, and for k > 2 the multinomial (softmax) loss of k×d weights,
//
//	C·Σ s_i·(log Σ_c exp(w_c'x_i + b_c) − w_y'x_i − b_y) + ½‖W‖²
//
// The intercepts are not penalised; those of several classes are shifted to sum to 0.
//
// Solver newton takes truncated Newton steps, each of a few passes over the blocks of rows, with
// conjugate gradients preconditioned by the Cholesky factor of the Hessian of a sample of the rows
// (for wide or sparse inputs, by its diagonal). The first step, from 0, is a ridge regression. No
// n×d array is made and sparse rows stay sparse; a stream is read once for each pass.
//
// It stops when the norm of the gradient is at most Tol times that at 0 and the objective, as far as
// the preconditioner can tell, within Tol of its least value.
//
// Solver dual, for two classes only (more go by newton), goes by coordinate descent on the dual with all rows in memory, and
// stops when the duality gap is at most Tol of the objective (Yu, Huang & Lin, Machine Learning 2011).
// Solver auto takes it where rows are sparse and of more than 512 columns, as those of random binning
// are, and newton otherwise. Reaching MaxIter steps or passes first is not an
// error: the report has Converged false and a warning.
type Logistic struct {
	C           float64
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

var (
	_ BlockEstimator  = Logistic{}
	_ Estimator       = Logistic{}
	_ datasets.Coster = Logistic{}
	_ param.Declarer  = (*Logistic)(nil)
)

// Params declares the hyper-parameters.
func (s *Logistic) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss against the penalty", param.Positive)
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalised")
	l.Value(&s.ClassWeight, "class_weight", "factor on the weights of each class's rows")
	l.Choice(&s.Solver, "solver", "how to solve", "auto", "newton", "dual")
	l.Float(&s.Tol, "tol", "gradient or duality gap, relative, at which to stop", param.Positive)
	l.Int(&s.MaxIter, "max_iter", "most Newton steps, or passes of coordinate descent", param.AtLeast(1))
}

// Fit learns from data in memory; the result is a [*FittedLogistic].
func (s Logistic) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := design.OfSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: logistic: %w", err)
	}
	return s.fit(ctx, r)
}

// FitSource learns from a stream; the result is a [*FittedLogistic].
func (s Logistic) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := design.OfSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: logistic: %w", err)
	}
	return s.fit(ctx, r)
}

func (s Logistic) fit(ctx context.Context, r *design.Rows) (Predictor, error) {
	if err := param.CheckFit(s); err != nil {
		return nil, fmt.Errorf("estimator: logistic: %w", err)
	}
	model, classes, err := s.solve(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("estimator: logistic: %w", err)
	}
	return &FittedLogistic{FittedLinearClassifier{linear: newLinear(model), classes: classes}}, nil
}

func (s Logistic) solve(ctx context.Context, r *design.Rows) (solve.Linear, []string, error) {
	l, err := r.ReadClasses(ctx, s.ClassWeight.factors)
	if err == nil {
		err = room(s, r.Shape(len(l.Y), l.Outputs()))
	}
	if err != nil {
		return solve.Linear{}, nil, err
	}
	if s.byDual(r, l) {
		model, err := s.dualTask(l).fit(ctx, r, len(l.Y))
		return model, l.Classes, err
	}
	kern.Scale(s.C, l.Weights)
	t := s.task(l)
	w, b, report, err := newObjective(ctx, r, t.loss, t.outputs, t.groups, s.Intercept, t.y, l.Weights).minimise(s.Tol, s.MaxIter)
	if err == nil {
		err = report.Better(t.bar)
	}
	if err != nil {
		return solve.Linear{}, nil, err
	}
	model, err := t.finish(w, b, report)
	return model, l.Classes, err
}

// task is what Newton's method is to minimise.
func (s Logistic) task(l *design.Labels) newtonTask {
	t := newtonTask{loss: logisticLoss{}, outputs: 1, groups: 1, y: l.Y, finish: solve.NewLinear}
	if len(l.Classes) != 2 {
		t = multinomial(l)
	}
	t.bar = logisticBar(l, s.Intercept, s.Tol)
	return t
}

// newtonTask is a loss with its targets, and what makes a model of the solution.
type newtonTask struct {
	loss            loss
	outputs, groups int
	y               []float64
	bar             float64 // that C = 1 gives: an objective above it is an error
	finish          func(w, intercept []float64, report solve.Report) (solve.Linear, error)
}

// absentIntercept makes a class that no training row has as good as impossible.
const absentIntercept = -1e4

// multinomial is the task of the classes that training rows have; the others get no weights and an
// intercept that makes them impossible.
func multinomial(l *design.Labels) newtonTask {
	position := make([]int, len(l.Classes))
	var present []int
	for c, absent := range l.Absent {
		if !absent {
			position[c] = len(present)
			present = append(present, c)
		}
	}
	y := make([]float64, len(l.Y))
	for i, c := range l.Y {
		y[i] = float64(position[int(c)])
	}
	k := len(present)
	return newtonTask{loss: softmaxLoss{k}, outputs: k, groups: 1, y: y, finish: func(w, b []float64, report solve.Report) (solve.Linear, error) {
		cols := len(w) / k
		mean := kern.Sum(b) / float64(k)
		full, intercept := make([]float64, cols*len(l.Classes)), make([]float64, len(l.Classes))
		for c := range intercept {
			intercept[c] = absentIntercept
		}
		for at, c := range present {
			intercept[c] = b[at] - mean
			for i := range cols {
				full[i*len(l.Classes)+c] = w[i*k+at]
			}
		}
		return solve.NewLinear(full, intercept, report)
	}}
}

// Cost estimates a fit to rows of a shape.
func (s Logistic) Cost(shape datasets.Shape) datasets.Cost { return newtonCost(shape) }

// FittedLogistic is a fitted logistic regression: a linear classifier that knows probabilities.
type FittedLogistic struct{ FittedLinearClassifier }

var (
	_ Classifier     = (*FittedLogistic)(nil)
	_ Probabilistic  = (*FittedLogistic)(nil)
	_ Reporter       = (*FittedLogistic)(nil)
	_ model.Stateful = (*FittedLogistic)(nil)
)

// Probabilities returns the probability of each class, rows × classes.
func (f *FittedLogistic) Probabilities(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	scores, err := f.scores(ctx, X)
	if err != nil || scores.IsEmpty() {
		return scores, err
	}
	n, k := scores.Dims()
	if k == 1 {
		out := mat.NewDense(n, 2, nil)
		for i := range n {
			row, z := out.RawRowView(i), scores.At(i, 0)
			small := math.Exp(-math.Abs(z))
			row[0], row[1] = small/(1+small), 1/(1+small)
			if z < 0 {
				row[0], row[1] = row[1], row[0]
			}
		}
		return out, nil
	}
	for i := range n {
		row := scores.RawRowView(i)
		top := row[largest(row)]
		for j := range row {
			row[j] = math.Exp(row[j] - top)
		}
		kern.Scale(1/kern.Sum(row), row)
	}
	return scores, nil
}
