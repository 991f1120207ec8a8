package monotone

import (
	"maps"
	"math"
	"slices"
)

// Residuals summarizes a stream of residuals of transformed numbers in bounded memory, for
// [Transform.Smear]. The zero value is empty. The summary depends on the order of the stream.
type Residuals struct {
	all  group
	peak float64 // largest residual
	exps float64 // Σ w·exp(e − peak)

	// width is that of the intervals of values whose residuals are one group; 0 means equal values.
	width  float64
	groups map[float64]group // by number of the interval, or by value
}

// group is the mean and the weight of residuals.
type group struct{ mean, weight float64 }

func (g group) merge(o group) group {
	total := g.weight + o.weight
	return group{g.mean + o.weight/total*(o.mean-g.mean), total}
}

// Add adds a residual with a weight above 0.
func (r *Residuals) Add(e, weight float64) {
	if r.groups == nil {
		r.groups, r.peak = map[float64]group{}, e
	}
	if e > r.peak {
		r.exps, r.peak = r.exps*math.Exp(r.peak-e), e
	}
	r.exps += weight * math.Exp(e-r.peak)
	one := group{e, weight}
	r.all = r.all.merge(one)
	key := e
	if r.width > 0 {
		key = math.Floor(e / r.width)
	}
	r.groups[key] = r.groups[key].merge(one)
	for len(r.groups) > maxResiduals {
		r.widen()
	}
}

// widen doubles the width of the intervals. Widths are powers of two, so that each interval is half
// of one of the next width.
func (r *Residuals) widen() {
	if r.width *= 2; r.width == 0 {
		largest := 0.0
		for key := range r.groups {
			largest = max(largest, math.Abs(key))
		}
		_, exponent := math.Frexp(largest)
		r.width = max(math.Ldexp(1, exponent-53), math.SmallestNonzeroFloat64)
	}
	next := make(map[float64]group, len(r.groups))
	for _, key := range slices.Sorted(maps.Keys(r.groups)) { // in a fixed order, for the same bits
		g := r.groups[key]
		k := math.Floor(g.mean / r.width)
		next[k] = next[k].merge(g)
	}
	r.groups = next
}

// logMeanExp returns the logarithm of the mean of exp e.
func (r *Residuals) logMeanExp() float64 { return r.peak + math.Log(r.exps/r.all.weight) }

// spread returns the means of the groups in ascending order, with their fractions of the weight.
func (r *Residuals) spread() (values, shares []float64) {
	for _, key := range slices.Sorted(maps.Keys(r.groups)) {
		g := r.groups[key]
		values, shares = append(values, g.mean), append(shares, g.weight/r.all.weight)
	}
	return values, shares
}
