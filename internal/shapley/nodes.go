package shapley

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
)

// rule is a Gauss–Legendre rule on [−1, 1] for the mean over the interval: weights sum to 1.
type rule struct{ at, weight []float64 }

var rules sync.Map // by the number of nodes and symmetric

// fullRule returns the rule with m nodes.
func fullRule(m int) rule { return ruleOf(m, false) }

// evenRule returns the rule with m nodes for even functions, which has the nodes ≥ 0 only.
func evenRule(m int) rule { return ruleOf(m, true) }

func ruleOf(m int, even bool) rule {
	type key struct {
		m    int
		even bool
	}
	if r, ok := rules.Load(key{m, even}); ok {
		return r.(rule)
	}
	at, weight := make([]float64, m), make([]float64, m)
	quad.Legendre{}.FixedLocations(at, weight, -1, 1)
	r := rule{}
	for k, s := range at {
		middle := m%2 == 1 && k == m/2
		switch {
		case !even:
			r.at, r.weight = append(r.at, s), append(r.weight, weight[k]/2)
		case middle:
			r.at, r.weight = append(r.at, 0), append(r.weight, weight[k]/2)
		case k >= (m+1)/2:
			r.at, r.weight = append(r.at, math.Abs(s)), append(r.weight, weight[k])
		}
	}
	rules.Store(key{m, even}, r)
	return r
}

// quadratureError is the accepted error of a quadrature with fewer nodes than an exact one, for
// factors of modulus at most 1.
const quadratureError = 1e-13

// ellipses are Bernstein ellipses: log(ρ) and b = (ρ − 1/ρ)/2 for some ρ.
var ellipses = func() (out [12]struct{ log, b float64 }) {
	rho := 1.5
	for k := range out {
		out[k].log, out[k].b = math.Log(rho), (rho-1/rho)/2
		rho *= 1.5
	}
	return out
}()

// nodesFor returns a number of nodes, at most ⌈d/2⌉, that integrates the products of all d factors
// cos(θ_l/2) + i·s·sin(θ_l/2) but one within [quadratureError]. squares is at least Σ sin²(θ_l/2),
// and sines at least |Σ sin(θ_l)| without any one summand.
//
// On the Bernstein ellipse of ρ, with half axes a and b, the square of the modulus of a factor is
// 1 + (|s|²−1)·sin²(θ/2) − Im(s)·sin(θ), so that of their product is at most
// M² = exp(b²·squares + b·sines), as log(1+x) ≤ x. The error of m nodes is at most
// 64/15·M·ρ^(−2m)/(1 − ρ^(−2)), and half of that for the mean (Trefethen, "Approximation Theory and
// Approximation Practice", theorem 19.3).
func nodesFor(d int, squares, sines float64) int {
	exact := (d + 1) / 2
	if exact <= 2 {
		return exact
	}
	fewest := float64(exact)
	for _, e := range ellipses {
		constant := math.Log(32.0/15/quadratureError) - math.Log1p(-math.Exp(-2*e.log))
		m := (constant + (e.b*e.b*squares+e.b*sines)/2) / (2 * e.log)
		fewest = min(fewest, math.Ceil(m))
	}
	return max(1, int(fewest))
}
