package auto

import (
	"cmp"
	"math"

	"github.com/bochner-ml/bochner/metrics"
)

// space is the search space, a lattice of γ and penalties for each recipe, with the metric.
type space struct {
	table      []recipe
	transforms []string // of the targets, see [sample.tails]
	metric     metrics.Metric
}

// mapped reports whether the recipe of a point has a γ.
func (r *space) mapped(p point) bool { return r.table[p.recipe].rule != "" }

// neighborhood returns the grid points around p, with the given numbers and sizes of steps in γ and the
// penalty.
func (r *space) neighborhood(p point, gammas, gammaStep, penalties, penaltyStep int) []point {
	if !r.mapped(p) {
		gammas = 0
	}
	var out []point
	for g := -gammas; g <= gammas; g++ {
		for a := -penalties; a <= penalties; a++ {
			q := p
			q.gamma, q.penalty = p.gamma+g*gammaStep, p.penalty+a*penaltyStep
			if r.allowed(q) {
				out = append(out, q)
			}
		}
	}
	return out
}

// allowed reports whether a point lies within the limits of extended grids.
func (r *space) allowed(p point) bool {
	_, _, floor, most := r.table[p.recipe].penalties()
	return p.gamma >= -maxGamma && p.gamma <= maxGamma && p.penalty >= floor && p.penalty <= most
}

// pointsBeyondEdge returns the points beyond the edge of a grid on which its best point lies. There are
// none if the best point is inside the grid or at the limits of extended grids.
func (r *space) pointsBeyondEdge(tried map[point]bool, best point, gammaStep, penaltyStep int) []point {
	seen := func(q point) bool { return tried[q] }
	var out []point
	for _, move := range []point{{gamma: gammaStep}, {gamma: -gammaStep}, {penalty: penaltyStep},
		{penalty: -penaltyStep}} {
		if move.gamma != 0 && !r.mapped(best) {
			continue
		}
		edge := true
		for q := range tried {
			if q.recipe == best.recipe && (move.gamma != 0 && (q.gamma-best.gamma)*move.gamma > 0 || move.penalty != 0 &&
				(q.penalty-best.penalty)*move.penalty > 0) {
				edge = false
			}
		}
		if !edge {
			continue
		}
		for k := -1; k <= 1; k++ { // the three points next to the best one
			q := best
			q.gamma += move.gamma
			q.penalty += move.penalty
			if move.gamma != 0 {
				q.penalty += k * penaltyStep
			} else if r.mapped(best) {
				q.gamma += k * gammaStep
			}
			if r.allowed(q) && !seen(q) {
				out = append(out, q)
			}
			if move.penalty != 0 && !r.mapped(best) {
				break
			}
		}
	}
	return unique(out)
}

// compare orders candidates by score, best first, and candidates without a score last. Ties within
// a recipe go to the stronger penalty, which needs fewer iterations and less precision.
func (r *space) compare(a, b scored) int {
	switch {
	case math.IsNaN(a.mean) || math.IsNaN(b.mean):
		if c := cmp.Compare(missing(a.mean), missing(b.mean)); c != 0 {
			return c
		}
	case r.metric.Better(a.mean, b.mean):
		return -1
	case r.metric.Better(b.mean, a.mean):
		return 1
	}
	p, q := a.point, b.point
	weaker := cmp.Compare(p.penalty, q.penalty)
	if r.table[p.recipe].penalty == "alpha" { // C decreases the penalty
		weaker = -weaker
	}
	return cmp.Or(cmp.Compare(p.recipe, q.recipe), cmp.Compare(p.size, q.size), cmp.Compare(p.effort, q.effort),
		weaker, cmp.Compare(p.gamma, q.gamma), cmp.Compare(p.target, q.target))
}

func missing(v float64) int {
	if math.IsNaN(v) {
		return 1
	}
	return 0
}

// rank orders candidates by their number of rows, descending, then by score: scores on different
// rows are not comparable. It does not depend on the order of evaluation.
func (r *space) rank(a, b scored) int { return cmp.Or(cmp.Compare(b.on, a.on), r.compare(a, b)) }

// ranksBefore reports whether a ranks before b.
func (r *space) ranksBefore(a, b scored) bool { return r.rank(a, b) < 0 }

// withinError reports whether the mean of s is within the given multiple of the leader's spread of the
// leader's mean, or better.
func (r *space) withinError(s, leader scored, times float64) bool {
	margin := times * leader.spread
	if r.metric.GreaterIsBetter {
		return s.mean >= leader.mean-margin
	}
	return s.mean <= leader.mean+margin
}

// bestOf returns the index of the best candidate, −1 if none has a score.
func (r *space) bestOf(out []scored) int {
	best := -1
	for i, s := range out {
		if !math.IsNaN(s.mean) && (best < 0 || r.compare(s, out[best]) < 0) {
			best = i
		}
	}
	return best
}
