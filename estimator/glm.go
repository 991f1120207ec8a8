package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// generalized is the spec of a generalized linear model: [Poisson], [GammaRegression] or [Tweedie].
type generalized interface {
	newtonSpec
	glm() glm
}

// glm is a generalized linear model with a log link and a Tweedie deviance.
type glm struct {
	name         string
	power, alpha float64
	intercept    bool
	tol          float64
	maxIter      int
}

// glmParams declares the common hyper-parameters.
func glmParams(l *param.List, alpha *float64, intercept *bool, tol *float64, maxIter *int) {
	l.Float(alpha, "alpha", "penalty on the squared weights, relative to the mean deviance", param.AtLeast(0))
	l.MorePenalty("alpha")
	l.Bool(intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Float(tol, "tol", "tolerance: norm of the gradient, relative to that of the constant model", param.Positive())
	l.Int(maxIter, "max_iter", "maximum number of Newton steps", param.AtLeast(1))
}

func glmSolver() (solver, loss string, by ClassWeight, numbers bool) {
	return "newton", "squared_", ClassWeight{}, true
}

// plain returns the spec for package joint.
func (g glm) plain(invalid error) joint.PenalizedLoss {
	return joint.PenalizedLoss{C: g.c(),
		Tol: g.tol, MaxIter: g.maxIter, Intercept: g.intercept, Invalid: invalid, Labels: g.labels,
		Newton: g.newton}
}

// c is the factor of the loss for the penalty ½‖w‖², or for none.
func (g glm) c() float64 {
	if g.alpha == 0 {
		return 1
	}
	return 1 / g.alpha
}

func (g glm) newton(l *design.Labels) newton.Task {
	return newton.Tweedie(l, g.power, g.alpha, g.intercept, g.tol)
}

// task has the bound of zeros: l is one row for all.
func (g glm) task(l *design.Labels) newton.Task {
	t := g.newton(l)
	t.ObjectiveBound = math.NaN()
	return t
}

// checkTarget returns an error for a target outside the support of the distribution.
func (g glm) checkTarget(y float64) error {
	switch {
	case y < 0:
		return fmt.Errorf("target must be ≥ 0 for %s, got %v", g.name, y)
	case y == 0 && g.power == 2:
		return fmt.Errorf("target must be > 0 for %s, got 0", g.name)
	}
	return nil
}

// tags returns the tags of a spec whose deviance has the given metrics.
func (g glm) tags(metrics ...string) datasets.Tags {
	return datasets.Tags{SharedMaps: true, CheckTarget: g.checkTarget, LossMetrics: metrics}
}

// checkMean returns an error if the best intercept is not finite.
func (g glm) checkMean(mean float64) error {
	if g.intercept && mean == 0 {
		return errors.New("every target is 0, and the logarithm of their mean is not finite")
	}
	return nil
}

// labels reads targets and relative weights.
func (g glm) labels(ctx context.Context, r *design.Rows) (*design.Labels, error) {
	l, err := readNumbers(ctx, r, g.name)
	if err != nil {
		return nil, err
	}
	for i, y := range l.Y {
		if err := g.checkTarget(y); err != nil {
			return nil, &datasets.RowError{Row: i, Err: err}
		}
	}
	kern.Scale(newton.TweedieWeight(len(l.Y), g.alpha)/kern.Sum(l.Weights), l.Weights)
	return l, g.checkMean(kern.Dot(l.Y, l.Weights))
}

// summary returns one row with the mean target and the weight of all rows, and the factor of the weights of rows.
func (g glm) summary(c *counts) (*design.Labels, float64, error) {
	if c.rows == 0 {
		return &design.Labels{Y: []float64{1}, Weights: []float64{1}}, 1, nil
	}
	weight := g.c() * newton.TweedieWeight(c.rows, g.alpha)
	mean := c.mass[1] / c.mass[0]
	return &design.Labels{Y: []float64{mean}, Weights: []float64{weight}}, weight / c.mass[0], g.checkMean(mean)
}

// fittedGLM is a fitted [Poisson], [GammaRegression] or [Tweedie]: a generalized linear model with
// log link, exp(X·coefᵀ + intercept).
type fittedGLM struct{ linear }

// Predict returns the mean of the target of each row of X. It fails with [ErrTooLarge] if a mean
// overflows.
func (f *fittedGLM) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	out := make([]float64, n)
	if err := f.score(ctx, out, X); err != nil {
		return nil, err
	}
	return means(out)
}

// means replaces scores by the means, their exponentials.
func means(scores []float64) ([]float64, error) {
	for i, z := range scores {
		if scores[i] = math.Exp(z); math.IsInf(scores[i], 1) {
			return nil, errTooLarge
		}
	}
	return scores, nil
}

// Outputs returns values.
func (f *fittedGLM) Outputs() Outputs { return Outputs{Has: OutputValues} }

// PredictFull returns the mean of the target of each row of X.
func (f *fittedGLM) PredictFull(ctx context.Context, X mat.Matrix, _ Request) (Prediction, error) {
	values, err := f.Predict(ctx, X)
	return Prediction{Values: values}, err
}

func (f *fittedGLM) read(scores *mat.Dense, err error, _ Request) (Prediction, error) {
	if err != nil {
		return Prediction{}, err
	}
	values, err := means(firstColumn(scores))
	return Prediction{Values: values}, err
}

// State serializes the model.
func (f *fittedGLM) State(s *model.State) {
	f.state(s)
	s.Require(len(f.intercept) == 1, "the model must have one output")
}

// ExportModel adds to g the means.
func (f *fittedGLM) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	return g.Regression(g.Exp(f.export(g, rows))), nil
}
