package shapley

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/bochner-ml/bochner/internal/kern"
)

// rules are Gauss–Legendre rules for the mean over [−1, 1], by the number of nodes. even has rules
// for even functions, with the nodes ≥ 0 only.
type rules struct{ full, even [][]kern.Node }

func newRules(inputs int) rules {
	most := (inputs+1)/2 + 1
	return rules{make([][]kern.Node, most), make([][]kern.Node, most)}
}

// of returns rule m of a list, which it fills.
func (r rules) of(list [][]kern.Node, m int) []kern.Node {
	if list[m] == nil && m > 0 {
		r.full[m], r.even[m] = newRule(m)
	}
	return list[m]
}

func newRule(m int) (full, even []kern.Node) {
	at, weight := make([]float64, m), make([]float64, m)
	quad.Legendre{}.FixedLocations(at, weight, -1, 1)
	for k, s := range at {
		full = append(full, kern.Node{At: s, Weight: weight[k] / 2})
		switch middle := m / 2; {
		case m%2 == 1 && k == middle:
			even = append(even, kern.Node{At: 0, Weight: weight[k] / 2})
		case k >= (m+1)/2:
			even = append(even, kern.Node{At: math.Abs(s), Weight: weight[k]})
		}
	}
	return full, even
}

// quadratureError is the accepted error of a quadrature with fewer nodes than an exact one, relative
// to a bound of the products.
const quadratureError = 1e-16

// ellipse is the Bernstein ellipse of ρ with half axes a and b: m nodes integrate a function with
// |f| ≤ exp(v) in it within [quadratureError] if m ≥ constant + v/per, as the error is at most
// 32/15·exp(v)·ρ^(−2m)/(1 − ρ^(−2)) for the mean over [−1, 1] (Trefethen, "Approximation Theory and
// Approximation Practice", theorem 19.3).
type ellipse struct{ a, b, per, constant float64 }

var ellipses = func() (out [10]ellipse) {
	rho := 1.5
	for k := range out {
		e := ellipse{a: (rho + 1/rho) / 2, b: (rho - 1/rho) / 2, per: 2 * math.Log(rho)}
		e.constant = (math.Log(32.0/15/quadratureError) - math.Log1p(-1/(rho*rho))) / e.per
		out[k] = e
		rho *= 1.5
	}
	return out
}()

// rotationNodes returns a sufficient number of nodes, at most ⌈d/2⌉, for the products of all d
// factors cos(θ_l/2) + i·s·sin(θ_l/2) but one. squares is at least Σ sin²(θ_l/2), and sines at least
// |Σ sin(θ_l)| without any one summand.
//
// The square of the modulus of a factor is 1 + (|s|²−1)·sin²(θ/2) − Im(s)·sin(θ), so that of their
// product is at most exp(b²·squares + b·sines) in an ellipse, as log(1+x) ≤ x.
func rotationNodes(d int, squares, sines float64) int {
	fewest := float64((d + 1) / 2)
	for k := range ellipses {
		e := &ellipses[k]
		if m := e.constant + (e.b*squares+sines)*e.b/2/e.per; m < fewest {
			fewest = m
		}
	}
	return int(math.Ceil(fewest))
}

// productNodes returns a sufficient number of nodes, at most ⌈d/2⌉, for the products of all d factors
// A + s·B but one. ratios is at least Σ |B|/(|A| + |B|): relative to their maximum |A| + |B| over
// [−1, 1], the moduli of the factors are at most 1 + (a−1)·|B|/(|A| + |B|) in an ellipse.
func productNodes(d int, ratios float64) int {
	fewest := float64((d + 1) / 2)
	for k := range ellipses {
		e := &ellipses[k]
		if m := e.constant + (e.a-1)*ratios/e.per; m < fewest {
			fewest = m
		}
	}
	return int(math.Ceil(fewest))
}
