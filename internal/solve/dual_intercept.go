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

// reach is the sum of losses as large as the numbers that residuals are made of.
func (p *Dual) reach() float64 {
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
	s := slope{bends: make([]bend, 0, 2*len(scores))}
	for i, z := range scores {
		r, spread := p.Target[i]-z, p.diagonal(i)
		switch high, top := p.High[i], r-p.Epsilon; {
		case high == 0:
		case math.IsInf(high, 1):
			s.far = s.far.plus(through(top, 1/spread), 1)
			s.bends = append(s.bends, bend{top, line{}.plus(through(top, 1/spread), -1)})
		default:
			s.far.level -= high
			s.rise(top-high*spread, high, spread)
		}
		if p.Low[i] < 0 {
			s.rise(r+p.Epsilon, -p.Low[i], spread)
		}
	}
	return s.root()
}

// line is the function level + rise·b.
type line struct{ level, rise float64 }

func through(place, rise float64) line { return line{-place * rise, rise} }

func (l line) at(b float64) float64 { return l.level + l.rise*b }
func (l line) plus(m line, times float64) line {
	return line{l.level + times*m.level, l.rise + times*m.rise}
}

// bend is a place from which on a line is added.
type bend struct {
	place float64
	more  line
}

// slope is a function made of lines that never falls: far below all bends.
type slope struct {
	far   line
	bends []bend
}

// rise lets the slope rise from a place on, by 1/spread until it has by bound, or at once.
func (s *slope) rise(from, bound, spread float64) {
	if spread == 0 {
		s.bends = append(s.bends, bend{from, line{level: bound}})
		return
	}
	up := through(from, 1/spread)
	s.bends = append(s.bends, bend{from, up})
	if !math.IsInf(bound, 1) {
		s.bends = append(s.bends, bend{from + bound*spread, line{level: bound}.plus(up, -1)})
	}
}

// root returns where the slope is 0. Bends are divided about one of them, drawn from a fixed seed, and
// those on the side that the root is not on are left, until few remain.
func (s *slope) root() float64 {
	const few = 16
	rng := rand.New(rand.NewPCG(1961, 1))
	below, rest := s.far, s.bends
	first, last := math.Inf(-1), math.Inf(1) // the bends next to those that remain
	for len(rest) > few {
		place := rest[rng.IntN(len(rest))].place
		before, after := divide(rest, place)
		under := add(below, rest[:before])
		over := add(under, rest[before:after])
		switch {
		case under.at(place) >= 0:
			rest, last = rest[:before], place
		case over.at(place) <= 0:
			rest, below, first = rest[after:], over, place
		default:
			return place
		}
	}
	slices.SortFunc(rest, func(a, b bend) int { return cmp.Compare(a.place, b.place) })
	for _, b := range rest {
		if below.at(b.place) >= 0 {
			return below.root(first, b.place)
		}
		below, first = below.plus(b.more, 1), b.place
		if below.at(first) > 0 {
			return first
		}
	}
	return below.root(first, last)
}

// divide puts the bends below a place first and those above it last, and returns where those at the
// place begin and end.
func divide(bends []bend, place float64) (before, after int) {
	after = len(bends)
	for k := 0; k < after; {
		switch at := bends[k].place; {
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

func add(l line, bends []bend) line {
	for _, b := range bends {
		l = l.plus(b.more, 1)
	}
	return l
}

// root returns where the line is 0 between first and last, of which one may be infinite: the middle
// where it is so all along.
func (l line) root(first, last float64) float64 {
	switch {
	case l.rise > 0:
		return min(max(-l.level/l.rise, first), last)
	case math.IsInf(last, 1) && math.IsInf(first, -1):
		return 0
	case math.IsInf(last, 1):
		return first
	case math.IsInf(first, -1):
		return last
	}
	return first + (last-first)/2
}
