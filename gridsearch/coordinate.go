package gridsearch

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/param"
)

// Coordinate is the [Strategy] that goes along one axis of the grid after the other. It tries the values of an
// axis, with those of all others at the best so far, and keeps the best. After the last axis it begins
// another round, until a round has gained nothing or all rounds are done. A round tries no more candidates
// than the axes have values together, where the whole grid has their product: a grid may have an axis for
// the factor of each input, as [transformer.Scale] has them. No candidate is tried twice. What is found is
// the best along each axis, which is the best of the grid where the axes do not depend on each other.
//
// On each axis it starts with the value that the estimator has, if that is one of the axis, and else
// with the middle one, of two the earlier. Of candidates that are equally good the one tried first is kept.
//
// Progress.Total is the most fits that there can be, and at the end those that there were. The Result is that of
// a [Search] that tries the same candidates. Search.Random is to be 0.
type Coordinate struct {
	Rounds int // the most rounds over all axes
}

// NewCoordinate returns a Coordinate of at most three rounds.
func NewCoordinate() Coordinate { return Coordinate{Rounds: 3} }

// Params declares the number of rounds.
func (c *Coordinate) Params(l *param.List) {
	l.Int(&c.Rounds, "rounds", "the most rounds over all axes", param.Between(1, 1000))
}

// walk is a Coordinate at work.
type walk struct {
	Coordinate
	search   Search
	grid     axes
	perRound int // values of all axes but one of each
	checked  []candidate
	tried    map[string]bool // keys of points
	at       point           // where the walk is: the best so far, or the start
	best     float64         // the mean score there, NaN where there is none
	before   float64         // best before this round
	round    int
	axis     int // the next one
	later    int // most candidates on the axes of this round behind the last one
}

// begin checks every value of the axes, and some corners of the grid, and goes to the start.
func (c Coordinate) begin(s Search, grid axes, _ int) (proposer, param.FieldErrors) {
	w := &walk{Coordinate: c, search: s, grid: grid, tried: map[string]bool{}, best: math.NaN(), before: math.NaN()}
	for _, values := range grid {
		w.perRound += len(values) - 1
	}
	if w.perRound >= MaxCandidates {
		return nil, param.FieldErrors{{Path: "grid", Problem: fmt.Sprintf("the axes have more than %d values", MaxCandidates)}}
	}
	w.at = w.start()
	w.later = w.perRound
	points := []point{w.at}
	for k := range grid {
		points = append(points, w.along(k)...)
	}
	const corners = 100
	var faults param.FieldErrors
	w.checked, faults = s.combine(grid, append(points, grid.thin(corners)...))
	return w, faults
}

func (w *walk) known() []candidate { return w.checked }

// start returns the point where the search begins.
func (w *walk) start() point {
	at := make(point, len(w.grid))
	for k, values := range w.grid {
		own, _ := param.Get(w.search.Estimator, w.search.Grid[k].Path)
		same := func(s param.Setting) bool { return fmt.Sprintf("%#v", s.Value) == fmt.Sprintf("%#v", own) }
		if at[k] = slices.IndexFunc(values, same); at[k] < 0 {
			at[k] = (len(values) - 1) / 2
		}
	}
	return at
}

// along returns the points with another value on axis k.
func (w *walk) along(k int) []point {
	var out []point
	for i := range w.grid[k] {
		if i != w.at[k] {
			p := slices.Clone(w.at)
			p[k] = i
			out = append(out, p)
		}
	}
	return out
}

// key tells a point from others.
func (p point) key() string {
	out := make([]byte, 0, 2*len(p))
	for _, v := range p {
		out = binary.AppendUvarint(out, uint64(v))
	}
	return string(out)
}

// next goes to the best point of the last axis and proposes those along the next one that were not tried.
func (w *walk) next(r *run) (p proposal, ok bool, err error) {
	w.move(r)
	var points []point
	start := r.round < 0
	if start {
		points = append(points, w.at)
	}
	for ; start || len(points) == 0; start = false {
		if w.axis == len(w.grid) && !start {
			if w.round++; w.round == w.Rounds || w.best == w.before || math.IsNaN(w.best) {
				return p, false, nil
			}
			w.axis, w.before, w.later = 0, w.best, w.perRound
		}
		if w.axis < len(w.grid) {
			w.later -= len(w.grid[w.axis]) - 1
			points = append(points, w.along(w.axis)...)
			points = slices.DeleteFunc(points, func(p point) bool { return w.tried[p.key()] })
			w.axis++
		}
	}
	for _, p := range points {
		w.tried[p.key()] = true
	}
	left := float64(w.later) + float64(w.Rounds-w.round-1)*float64(w.perRound)
	left = min(left, w.grid.size()-float64(len(w.tried)), MaxCandidates*float64(w.perRound))
	candidates, faults := w.search.combine(w.grid, points)
	return proposal{candidates: candidates, number: len(candidates), left: int(left)}, true, faults.Err()
}

// move goes to the best of the candidates that were tried last, if it is better.
func (w *walk) move(r *run) {
	if r.planned {
		return
	}
	for i := r.first; i < len(r.candidates); i++ {
		mean := r.candidate(r.candidates[i], r.outcomes[i]).Mean
		if finite(mean) && (math.IsNaN(w.best) || r.scorer.metrics[0].Better(mean, w.best)) {
			w.best, w.at = mean, r.candidates[i].at
		}
	}
}

func (w *walk) cut(*run) string {
	if len(w.grid) == 0 {
		return ""
	}
	return fmt.Sprintf("the budget ended at axis %s in round %d of at most %d", w.search.Grid[w.axis-1].Path, w.round+1, w.Rounds)
}
