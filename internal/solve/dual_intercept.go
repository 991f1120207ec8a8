package solve

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Trivial returns the objective of w = 0 with the best b, and that b. It needs no rows.
func (p *Dual) Trivial() (objective, b float64) { return p.trivial(make([]float64, len(p.Low))) }

// trivial is Trivial; zeros are as many as there are rows.
func (p *Dual) trivial(zeros []float64) (objective, b float64) {
	if p.Intercept {
		b = p.bestIntercept(zeros)
	}
	return p.losses(zeros, b), b
}

// lossScale is the sum of losses as large as the numbers that residuals are made of.
func (p *Dual) lossScale() float64 {
	sum := 0.0
	for i := range p.Low {
		if p.Logistic {
			sum += p.loss(i, 0)
			continue
		}
		t := p.Target[i]
		far := math.Abs(t) + 2*p.Epsilon
		sum += max(p.loss(i, t-far), p.loss(i, t+far))
	}
	return sum
}

// bestIntercept returns the b that minimises Σ L_i(scores_i + b), and the middle where many do: of
// absolute losses the weighted median of the residuals, of squares their mean. The slope of the sum
// is made of straight pieces and never falls; the piece where it crosses 0 is found as a median is
// selected, in a time that goes with the number of rows.
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

// line is the function level + rise·b.
type line struct{ offset, slope float64 }

func lineThrough(place, rise float64) line { return line{-place * rise, rise} }

func (l line) at(b float64) float64 { return l.offset + l.slope*b }
func (l line) addScaled(m line, times float64) line {
	return line{l.offset + times*m.offset, l.slope + times*m.slope}
}

// breakpoint is a place from which on a line is added.
type breakpoint struct {
	at    float64
	delta line
}

// piecewiseLinear is a function made of lines that never falls: far below all bends.
type piecewiseLinear struct {
	leftmost    line
	breakpoints []breakpoint
}

// addRamp lets the slope rise from a place on, by 1/spread until it has by bound, or at once.
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

// root returns where the slope is 0. Bends are divided about one of them, drawn from a fixed seed, and
// those on the side that the root is not on are left, until few remain.
func (s *piecewiseLinear) root() float64 {
	const few = 16
	rng := rand.New(rand.NewPCG(1961, 1))
	below, rest := s.leftmost, s.breakpoints
	first, last := math.Inf(-1), math.Inf(1) // the bends next to those that remain
	for len(rest) > few {
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

// partition puts the bends below a place first and those above it last, and returns where those at the
// place begin and end.
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

// root returns where the line is 0 between first and last, of which one may be infinite: the middle
// where it is so all along.
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
