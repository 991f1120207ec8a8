package shapley

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/bochner-ml/bochner/internal/kern"
)

var rules sync.Map // by [ruleKey]

type ruleKey struct {
	nodes int
	even  bool
}

// fullRule returns the Gauss–Legendre rule with m nodes for the mean over [−1, 1].
func fullRule(m int) []kern.Node { return ruleOf(ruleKey{m, false}) }

// evenRule returns the rule with m nodes for even functions, which has the nodes ≥ 0 only.
func evenRule(m int) []kern.Node { return ruleOf(ruleKey{m, true}) }

func ruleOf(key ruleKey) []kern.Node {
	if r, ok := rules.Load(key); ok {
		return r.([]kern.Node)
	}
	m := key.nodes
	if m == 0 {
		return nil
	}
	at, weight := make([]float64, m), make([]float64, m)
	quad.Legendre{}.FixedLocations(at, weight, -1, 1)
	var r []kern.Node
	for k, s := range at {
		middle := m%2 == 1 && k == m/2
		switch {
		case !key.even:
			r = append(r, kern.Node{At: s, Weight: weight[k] / 2})
		case middle:
			r = append(r, kern.Node{At: 0, Weight: weight[k] / 2})
		case k >= (m+1)/2:
			r = append(r, kern.Node{At: math.Abs(s), Weight: weight[k]})
		}
	}
	rules.Store(key, r)
	return r
}

// quadratureError is the accepted error of a quadrature with fewer nodes than an exact one, for
// factors of modulus at most 1.
const quadratureError = 1e-13

// ellipses are bounds of the number of nodes, constant + squares·Σ sin²(θ/2) + sines·|Σ sin(θ)|, by
// the Bernstein ellipses of some ρ; see [nodesFor].
var ellipses = func() (out [10]struct{ constant, squares, sines float64 }) {
	rho := 1.5
	for k := range out {
		b, per := (rho-1/rho)/2, 2*math.Log(rho)
		out[k].constant = (math.Log(32.0/15/quadratureError) - math.Log1p(-1/(rho*rho))) / per
		out[k].squares, out[k].sines = b*b/2/per, b/2/per
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
		fewest = min(fewest, e.constant+e.squares*squares+e.sines*sines)
	}
	return max(1, int(math.Ceil(fewest)))
}
