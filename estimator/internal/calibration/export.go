package calibration

import "github.com/bochner-ml/bochner/graph"

// Export adds to g the probabilities of the classes by their scores, and the calibrated scores.
func (m Map) Export(g *graph.Graph, scores graph.Value) (probabilities, calibrated graph.Value) {
	if m.classes > 2 {
		p := m.exportSeveral(g, scores)
		return p, p
	}
	switch m.method {
	case "isotonic":
		s := g.Sub(g.PiecewiseLinear(scores, m.knots, m.values), g.Scalar(0.5))
		second := g.Add(s, g.Scalar(0.5))
		return g.Concat(g.Sub(g.Scalar(1), second), second), s
	case "sigmoid":
		calibrated = m.exportOdds(g, scores)
	default:
		calibrated = g.Mul(scores, g.Scalar(m.beta))
	}
	return g.Logistic(calibrated), calibrated
}

// exportOdds returns −(a·s + b) of every score.
func (m Map) exportOdds(g *graph.Graph, scores graph.Value) graph.Value {
	return g.Neg(g.Add(g.Mul(scores, g.Row(m.a)), g.Row(m.b)))
}

// exportSeveral returns the probabilities of several classes.
func (m Map) exportSeveral(g *graph.Graph, scores graph.Value) (p graph.Value) {
	switch m.method {
	case "sigmoid":
		p = g.Sigmoid(m.exportOdds(g, scores))
	case "isotonic":
		p = g.PiecewiseLinear(scores, m.knots, m.values)
	default:
		p = g.Softmax(g.Mul(scores, g.Scalar(m.beta)))
	}
	there, even, present := make([]float64, m.classes), make([]float64, m.classes), 0.0
	for k, absent := range m.absent {
		if !absent {
			there[k] = 1
			present++
		}
	}
	for k, one := range there {
		even[k] = one / present
	}
	p = g.Mul(p, g.Row(there))
	sum := g.RowSum(p)
	return g.Where(g.Less(g.Scalar(0), sum), g.Div(p, sum), g.Row(even))
}
