package monotone

import (
	"math"

	"github.com/bochner-ml/bochner/graph"
)

// ExportInverse adds the inverse of every entry of z to g. For quantile, Φ is approximated by
// polynomials with an error of about 1e-15.
func (t *Transform) ExportInverse(g *graph.Graph, z graph.Value) graph.Value {
	switch t.kind {
	case "log":
		return g.Exp(z)
	case "signed_log":
		size := g.Expm1(g.Abs(z))
		return g.Where(g.Less(z, g.Scalar(0)), g.Neg(size), size)
	case "sqrt":
		return g.Mul(z, g.Abs(z))
	case "power":
		size := g.Exp(g.Mul(g.Log(g.Abs(z)), g.Scalar(1/t.scale))) // 0 at 0, whose logarithm is −∞
		return g.Where(g.Less(z, g.Scalar(0)), g.Neg(size), size)
	case "quantile":
		const reach, pieces = 9, 72 // Φ rounds to 0 or 1 outside ±reach
		share := g.ChebyshevApprox(z, -reach, reach, pieces,
			func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) })
		return g.PiecewiseLinear(share, [][]float64{t.ranks}, [][]float64{t.values})
	}
	return g.Add(g.Mul(z, g.Scalar(t.scale)), g.Scalar(t.shift))
}

// ExportValue adds [Transform.Value] to g, for z of width 1.
func (t *Transform) ExportValue(g *graph.Graph, z graph.Value) graph.Value {
	v := t.exportUnlimited(g, z)
	if t.limits != nil {
		v = g.Min(g.Max(v, g.Scalar(t.limits[0])), g.Scalar(t.limits[1]))
	}
	return v
}

func (t *Transform) exportUnlimited(g *graph.Graph, z graph.Value) graph.Value {
	if len(t.residuals) == 0 {
		return t.ExportInverse(g, z)
	}
	return g.RowSum(g.Mul(t.ExportInverse(g, g.Add(z, g.Row(t.residuals))), g.Row(t.shares)))
}

// ExportDeviation adds [Transform.Deviation] to g, for z and std of width 1.
func (t *Transform) ExportDeviation(g *graph.Graph, z, std graph.Value) graph.Value {
	switch t.kind {
	case "none", "standardize":
		return g.Mul(std, g.Scalar(t.scale))
	case "log":
		v := g.Square(std)
		return g.Mul(g.Exp(g.Add(z, g.Mul(v, g.Scalar(0.5)))), g.Sqrt(g.Expm1(v)))
	}
	const steps = 256 // as in Deviation
	places, weights, total := make([]float64, steps), make([]float64, steps), 0.0
	for k := range places {
		places[k] = 16*(float64(k)+0.5)/steps - 8
		weights[k] = math.Exp(-places[k] * places[k] / 2)
		total += weights[k]
	}
	for k := range weights {
		weights[k] /= total
	}
	y := t.ExportInverse(g, g.Add(z, g.Mul(std, g.Row(places))))
	mean, square := g.RowSum(g.Mul(y, g.Row(weights))), g.RowSum(g.Mul(g.Square(y), g.Row(weights)))
	return g.Sqrt(g.Max(g.Sub(square, g.Square(mean)), g.Scalar(0)))
}
