package gridsearch

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// simplestCandidate returns the simplest candidate whose mean is within one standard error of the best
// one's: the standard deviation of its folds' scores (divided by their number less one) over the
// square root of their number. Of several equally simple ones it is the one with the best mean, and
// the earliest of these. (Breiman, Friedman, Olshen & Stone, Classification and Regression Trees,
// 1984, section 3.4.3.)
func (s Search) simplestCandidate(candidates []Candidate, top int, m metrics.Metric) int {
	best := candidates[top]
	limit := best.Mean
	if folds := float64(len(best.Folds)); folds > 1 {
		se := best.Std / math.Sqrt(folds-1) // Std·√(K/(K-1))/√K
		if m.GreaterIsBetter {
			limit -= se
		} else {
			limit += se
		}
	}
	compare := s.complexity()
	chosen := top
	for i, c := range candidates {
		if c.Failed != "" || m.Better(limit, c.Mean) {
			continue
		}
		if d := compare(c, candidates[chosen]); d < 0 || d == 0 && m.Better(c.Mean, candidates[chosen].Mean) {
			chosen = i
		}
	}
	return chosen
}

// complexity compares two candidates, the simpler one first.
func (s Search) complexity() func(a, b Candidate) int {
	type key struct {
		axis int
		param.Complexity
	}
	var keys []key
	for _, p := range param.All(s.Estimator) {
		axis := slices.IndexFunc(s.Grid, func(a Axis) bool { return a.Path == p.Path })
		if p.Complexity.Order > 0 && axis >= 0 {
			keys = append(keys, key{axis, p.Complexity})
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(a.Order-b.Order, a.axis-b.axis) })
	return func(a, b Candidate) int {
		for _, k := range keys {
			x, y := sortKey(k.Complexity, a.Settings[k.axis].Value), sortKey(k.Complexity, b.Settings[k.axis].Value)
			if d := cmp.Compare(x, y); d != 0 {
				return d
			}
		}
		return 0
	}
}

// sortKey returns a number that is greater for a less simple value.
func sortKey(t param.Complexity, plain any) float64 {
	v, ok := number(plain)
	switch {
	case !ok:
		return math.Inf(1)
	case t.Simpler:
		return -v
	}
	return v
}
