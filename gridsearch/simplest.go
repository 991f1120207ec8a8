package gridsearch

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// complexityRule ranks the values of a parameter by the complexity of the model.
type complexityRule struct {
	class  int  // units, penalty or roughness: the order in which they decide
	larger bool // whether larger is simpler
}

// complexityRules maps the declared complexity of a parameter to its rule.
var complexityRules = map[param.Complexity]complexityRule{
	param.MoreUnits:   {0, false},
	param.FewerUnits:  {0, true},
	param.MorePenalty: {1, true},
	param.LessPenalty: {1, false},
	param.Rougher:     {2, false},
}

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
		complexityRule
	}
	var keys []key
	for _, p := range param.All(s.Estimator) {
		axis := slices.IndexFunc(s.Grid, func(a Axis) bool { return a.Path == p.Path })
		if t, ok := complexityRules[p.Complexity]; ok && axis >= 0 {
			keys = append(keys, key{axis, t})
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(a.class-b.class, a.axis-b.axis) })
	return func(a, b Candidate) int {
		for _, k := range keys {
			x, y := k.sortKey(a.Settings[k.axis].Value), k.sortKey(b.Settings[k.axis].Value)
			if d := cmp.Compare(x, y); d != 0 {
				return d
			}
		}
		return 0
	}
}

// sortKey returns a number that is greater for a less simple value.
func (t complexityRule) sortKey(plain any) float64 {
	v, ok := number(plain)
	switch {
	case !ok:
		return math.Inf(1)
	case t.larger:
		return -v
	}
	return v
}
