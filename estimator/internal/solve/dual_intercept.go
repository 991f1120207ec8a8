package solve

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Trivial returns the objective of w = 0 with the best intercept b, and b. It does not read Rows.
func (p *Dual) Trivial() (objective, b float64) { return p.trivial(make([]float64, len(p.Low))) }

// trivial is Trivial given a zero score per row.
func (p *Dual) trivial(zeros []float64) (objective, b float64) {
	if p.Intercept {
		b = p.bestIntercept(zeros)
	}
	return p.losses(zeros, b), b
}

// lossScale returns the sum of the losses at residuals of the magnitude of the targets; rounding
// errors scale with it.
func (p *Dual) lossScale() float64 {
	sum := 0.0
	for i := range p.Low {
		if p.Logistic {
			sum += p.loss(i, 0)
			continue
		}
		t := p.Target[i]
		distance := math.Abs(t) + 2*p.Epsilon
		sum += max(p.loss(i, t-distance), p.loss(i, t+distance))
	}
	return sum
}

// bestIntercept returns the b that minimizes Σ L_i(scores_i + b), or the midpoint of all
// minimizers. For absolute losses this is the weighted median of the residuals, for squares the
// mean. The derivative of the sum is piecewise linear and nondecreasing. Its root is found by
// quickselect over the breakpoints, in expected linear time.
func (p *Dual) bestIntercept(scores []float64) float64 {
	if p.Logistic {
		return p.logisticIntercept(scores)
	}
	s := piecewiseLinear{breakpoints: make([]breakpoint, 0, 2*len(scores))}
	for i, z := range scores {
		r, spread := p.Target[i]-z, p.diagonal(i)
		switch high, top := p.High[i], r-p.Epsilon; {
		case high == 0:
		case math.IsInf(high, 1):
			s.leftmost = s.leftmost.addScaled(lineThrough(top, 1/spread), 1)
			s.breakpoints = append(s.breakpoints, breakpoint{top, line{}.addScaled(lineThrough(top, 1/spread), -1)})
		default:
			s.leftmost.offset -= high
			s.addRamp(top-high*spread, high, spread)
		}
		if p.Low[i] < 0 {
			s.addRamp(r+p.Epsilon, -p.Low[i], spread)
		}
	}
	return s.root()
}

// line is the function offset + slope·b.
type line struct{ offset, slope float64 }

func lineThrough(place, rise float64) line { return line{-place * rise, rise} }

func (l line) at(b float64) float64 { return l.offset + l.slope*b }
func (l line) addScaled(m line, times float64) line {
	return line{l.offset + times*m.offset, l.slope + times*m.slope}
}

// breakpoint adds a line from b = at on.
type breakpoint struct {
	at    float64
	delta line
}

// piecewiseLinear is a nondecreasing piecewise linear function. It equals leftmost below all
// breakpoints.
type piecewiseLinear struct {
	leftmost    line
	breakpoints []breakpoint
}

// addRamp adds a ramp from 0 to bound that starts at from and has slope 1/spread, or a jump if
// spread is 0.
func (s *piecewiseLinear) addRamp(from, bound, spread float64) {
	if spread == 0 {
		s.breakpoints = append(s.breakpoints, breakpoint{from, line{offset: bound}})
		return
	}
	up := lineThrough(from, 1/spread)
	s.breakpoints = append(s.breakpoints, breakpoint{from, up})
	if !math.IsInf(bound, 1) {
		s.breakpoints = append(s.breakpoints, breakpoint{from + bound*spread, line{offset: bound}.addScaled(up, -1)})
	}
}

// root returns a root of the function. It partitions the breakpoints about a random pivot, drawn
// from a fixed seed, until few remain.
func (s *piecewiseLinear) root() float64 {
	const maxRemaining = 16
	rng := rand.New(rand.NewPCG(1961, 1))
	below, rest := s.leftmost, s.breakpoints
	first, last := math.Inf(-1), math.Inf(1) // the breakpoints next to the remaining ones
	for len(rest) > maxRemaining {
		place := rest[rng.IntN(len(rest))].at
		before, after := partition(rest, place)
		under := sumLines(below, rest[:before])
		over := sumLines(under, rest[before:after])
		switch {
		case under.at(place) >= 0:
			rest, last = rest[:before], place
		case over.at(place) <= 0:
			rest, below, first = rest[after:], over, place
		default:
			return place
		}
	}
	slices.SortFunc(rest, func(a, b breakpoint) int { return cmp.Compare(a.at, b.at) })
	for _, b := range rest {
		if below.at(b.at) >= 0 {
			return below.root(first, b.at)
		}
		below, first = below.addScaled(b.delta, 1), b.at
		if below.at(first) > 0 {
			return first
		}
	}
	return below.root(first, last)
}

// partition moves breakpoints below pivot to the front and those above it to the back, and returns
// the range of those equal to it.
func partition(bends []breakpoint, place float64) (before, after int) {
	after = len(bends)
	for k := 0; k < after; {
		switch at := bends[k].at; {
		case at < place:
			bends[before], bends[k] = bends[k], bends[before]
			before++
			k++
		case at > place:
			after--
			bends[after], bends[k] = bends[k], bends[after]
		default:
			k++
		}
	}
	return before, after
}

func sumLines(l line, bends []breakpoint) line {
	for _, b := range bends {
		l = l.addScaled(b.delta, 1)
	}
	return l
}

// root returns the root of the line in [first, last], of which one end may be infinite, or the
// midpoint if the line is 0.
func (l line) root(first, last float64) float64 {
	switch {
	case l.slope > 0:
		return min(max(-l.offset/l.slope, first), last)
	case math.IsInf(last, 1) && math.IsInf(first, -1):
		return 0
	case math.IsInf(last, 1):
		return first
	case math.IsInf(first, -1):
		return last
	}
	return first + (last-first)/2
}
