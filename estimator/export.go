package estimator

import (
	"fmt"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/model"
)

// Export adds all outputs of p (see [Predict]) for the rows to g. The predictor, or the one that it
// wraps, as the result of a search does, must be a [graph.ModelExporter].
func Export(g *graph.Graph, p Predictor, rows graph.Value) (graph.Prediction, error) {
	none := graph.Prediction{}
	e, ok := p.(graph.ModelExporter)
	if !ok {
		within, same := unwrapStateless(p)
		if !same {
			return none, fmt.Errorf("%T cannot be exported: it has no method ExportModel", p)
		}
		return Export(g, within, rows)
	}
	out, err := e.ExportModel(g, rows)
	switch {
	case err != nil:
		return none, err
	case g.Err() != nil:
		return none, g.Err()
	case out.Values.None():
		return none, fmt.Errorf("the ExportModel of %T returns no values", p)
	case !out.Std.None() && out.Lower.None():
		out = out.WithIntervals(g, coverage.Deviations(coverage.DefaultLevel))
	}
	return out, nil
}

// unwrapStateless returns the inner model of a wrapper without state of its own, which predicts the same.
func unwrapStateless(p Predictor) (within Predictor, ok bool) {
	w, wraps := p.(Wrapper)
	if _, keeps := p.(model.Stateful); !wraps || keeps {
		return nil, false
	}
	within, same := w.Unwrap()
	return within, same && within != nil
}

// ExportModel adds to g the targets.
func (f *FittedLinear) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	return g.Regression(f.export(g, rows)), nil
}

// ExportModel adds to g class and scores, or the labels and their scores.
func (f *FittedLinearClassifier) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	if f.labels != nil {
		return g.LabelsFromScores(f.export(g, rows)), nil
	}
	return g.ClassFromScores(f.export(g, rows)), nil
}

// ExportModel adds to g class, scores and probabilities, or labels with theirs.
func (f *fittedLogistic) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	if f.labels != nil {
		out := g.LabelsFromScores(f.export(g, rows))
		out.Probabilities = g.Sigmoid(out.Scores)
		return out, nil
	}
	out := g.ClassFromScores(f.export(g, rows))
	out.Probabilities = g.Logistic(out.Scores)
	return out, nil
}

// ExportModel adds to g class, scores and probabilities.
func (f *fittedSGDProbabilistic) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out := g.ClassFromScores(f.export(g, rows))
	scores := out.Scores
	if g.Width(scores) == 1 {
		scores = g.Concat(g.Neg(scores), scores)
	}
	one := g.Scalar(1)
	p := g.Sigmoid(scores)
	if f.loss == "modified_huber" {
		p = g.Mul(g.Add(g.Min(g.Max(scores, g.Scalar(-1)), one), one), g.Scalar(0.5))
	}
	if len(f.classes) > 2 {
		sum := g.RowSum(p)
		p = g.Where(g.Less(g.Scalar(0), sum), g.Div(p, sum), g.Scalar(1/float64(len(f.classes))))
	}
	out.Probabilities = p
	return out, nil
}

// export adds to g X·coefᵀ + intercept.
func (l *linear) export(g *graph.Graph, rows graph.Value) graph.Value {
	return g.Affine(rows, g.Matrix(l.coef.T()), g.Row(l.intercept))
}
