package graph

// Prediction is the set of outputs of a model; outputs that it does not have are the zero Value.
type Prediction struct {
	Values        Value // width 1: the predicted number, the code of the class or cluster, or 1 for an anomaly
	Targets       Value // one column for each of several targets
	Scores        Value // decision scores of classes, as in estimator.Prediction
	Probabilities Value // one column for each class
	Std           Value // width 1, or one column for each target
	Lower, Upper  Value // ends of intervals, width 1, or one column for each target
	Sets          Value // one column for each class: 1 for the classes of the prediction set, else 0
	Anomaly       Value // width 1: anomaly score
}

// Regression returns the prediction of a regression whose targets are the columns of a value.
func (g *Graph) Regression(targets Value) Prediction {
	if g.Width(targets) == 1 {
		return Prediction{Values: targets}
	}
	return Prediction{Values: g.Columns(targets, []int{0}), Targets: targets}
}

// PointPredictions returns Targets, or Values if there is one target.
func (p Prediction) PointPredictions() Value {
	if p.Targets.None() {
		return p.Values
	}
	return p.Targets
}

// ClassFromScores returns the prediction of a classifier with the given scores: the class with the
// largest score. A single column is the score of the second class, which is predicted if it is
// positive.
func (g *Graph) ClassFromScores(scores Value) Prediction {
	if g.Width(scores) == 1 {
		return Prediction{Values: g.Less(g.Scalar(0), scores), Scores: scores}
	}
	return Prediction{Values: g.ArgMax(scores), Scores: scores}
}

// LabelsFromScores returns the prediction of several labels with the given scores: those with a
// positive score.
func (g *Graph) LabelsFromScores(scores Value) Prediction {
	out := g.Regression(g.Less(g.Scalar(0), scores))
	out.Scores = scores
	return out
}

// Logistic returns class probabilities from scores: the sigmoid of a single column, which is the
// log-odds of the second class, or the softmax of several columns.
func (g *Graph) Logistic(scores Value) Value {
	if g.Width(scores) == 1 {
		return g.Concat(g.Sigmoid(g.Neg(scores)), g.Sigmoid(scores))
	}
	return g.Softmax(scores)
}

// WithIntervals returns p with the intervals center ± factor·Std.
func (p Prediction) WithIntervals(g *Graph, factor float64) Prediction {
	halfWidth := g.Mul(p.Std, g.Scalar(factor))
	p.Lower, p.Upper = g.Sub(p.PointPredictions(), halfWidth), g.Add(p.PointPredictions(), halfWidth)
	return p
}
