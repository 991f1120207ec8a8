package graph

// Prediction is what a model predicts; what it has not is the zero Value.
type Prediction struct {
	Values        Value // width 1: the number, or the code of the class, cluster or anomaly
	Targets       Value // one column for each of several targets
	Scores        Value // of classes, as in estimator.Prediction
	Probabilities Value // one column for each class
	Std           Value // width 1, or one column for each target
	Lower, Upper  Value // ends of intervals, width 1, or one column for each target
	Sets          Value // one column for each class: 1 for those of a set that the class is to be in, else 0
	Anomaly       Value // width 1: anomaly score
}

// Regression returns the prediction of a regression, one column for each target.
func (g *Graph) Regression(targets Value) Prediction {
	if g.Width(targets) == 1 {
		return Prediction{Values: targets}
	}
	return Prediction{Values: g.Columns(targets, []int{0}), Targets: targets}
}

// PointPredictions returns all targets, of one target the values.
func (p Prediction) PointPredictions() Value {
	if p.Targets.None() {
		return p.Values
	}
	return p.Targets
}

// ClassFromScores returns the prediction of a classifier by its scores: the class of the largest,
// or, of one column, the second class where it is above 0, else the first.
func (g *Graph) ClassFromScores(scores Value) Prediction {
	if g.Width(scores) == 1 {
		return Prediction{Values: g.Less(g.Scalar(0), scores), Scores: scores}
	}
	return Prediction{Values: g.ArgMax(scores), Scores: scores}
}

// Logistic returns the probabilities of classes by their scores: of one column, the logarithm of the odds of the second
// class, of more, logarithms up to a shift.
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
