package graph

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// smoothTerms is the number of coefficients of each polynomial of [Graph.ChebyshevApprox].
const smoothTerms = 13

// ChebyshevApprox approximates f elementwise, for functions without an operation of their own. It
// divides [lo, hi] into pieces equal intervals and interpolates f at the Chebyshev points of each.
// Values outside [lo, hi] are clipped. For analytic f and short intervals the error is a few
// rounding errors.
func (g *Graph) ChebyshevApprox(v Value, lo, hi float64, pieces int, f func(float64) float64) Value {
	if g.err != nil {
		return Value{}
	}
	if !(lo < hi) || pieces < 1 || math.IsInf(hi-lo, 0) {
		return g.fail(fmt.Errorf("chebyshevapprox: must have lo < hi and at least 1 piece, got %g, %g and "+
			"%d", lo, hi, pieces))
	}
	length := (hi - lo) / float64(pieces)
	coefficients := make([]*mat.VecDense, smoothTerms)
	for i := range coefficients {
		coefficients[i] = mat.NewVecDense(pieces, nil)
	}
	for p := range pieces {
		middle := lo + length*(float64(p)+0.5)
		for i, c := range polynomial(func(x float64) float64 { return f(middle + x*length/2) }) {
			if c-c != 0 {
				return g.fail(fmt.Errorf("chebyshevapprox: f must be finite from %g to %g", lo, hi))
			}
			coefficients[i].SetVec(p, c)
		}
	}
	v = g.Min(g.Max(v, g.Scalar(lo)), g.Scalar(hi))
	place := g.Div(g.Sub(v, g.Scalar(lo)), g.Scalar(length))
	piece := g.Min(g.Floor(place), g.Scalar(float64(pieces-1)))
	x := g.Sub(g.Mul(g.Sub(place, piece), g.Scalar(2)), g.Scalar(1))
	sum := g.Lookup(g.Matrix(coefficients[smoothTerms-1]), piece)
	for i := smoothTerms - 2; i >= 0; i-- {
		sum = g.Add(g.Mul(sum, x), g.Lookup(g.Matrix(coefficients[i]), piece))
	}
	return sum
}

// polynomial returns the coefficients of the polynomial that interpolates f at the Chebyshev points
// of [−1, 1]: Σ_j c_j·T_j with T_0 = 1, T_1 = x, T_(j+1) = 2x·T_j − T_(j−1), and c_j a sum over the
// points.
func polynomial(f func(x float64) float64) (out [smoothTerms]float64) {
	const n = smoothTerms
	var values [n]float64
	for k := range values {
		values[k] = f(math.Cos(math.Pi * (float64(k) + 0.5) / n))
	}
	var previous, current [n]float64 // T_(j−1) and T_j
	current[0] = 1
	for j := range n {
		c := 0.0
		for k, v := range values {
			c += v * math.Cos(float64(j)*math.Pi*(float64(k)+0.5)/n) * 2 / n
		}
		factor := 2.0
		if j == 0 {
			c, factor = c/2, 1
		}
		var next [n]float64
		for i := range n {
			out[i] += c * current[i]
			if i > 0 {
				next[i] = factor * current[i-1]
			}
			next[i] -= previous[i]
		}
		previous, current = current, next
	}
	return out
}
