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

// coordinateRun is a Coordinate at work.
type coordinateRun struct {
	Coordinate
	search       Search
	grid         axes
	perRound     int // values of all axes but one of each
	checked      []candidate
	visited      map[string]bool // keys of points
	current      point           // where the walk is: the best so far, or the start
	best         float64         // the mean score there, NaN where there is none
	previousBest float64         // best before this round
	round        int
	axis         int // the next one
	maxLeft      int // most candidates on the axes of this round behind the last one
}

// begin checks every value of the axes, and some corners of the grid, and goes to the start.
func (c Coordinate) begin(s Search, grid axes, _ int) (proposer, param.FieldErrors) {
	w := &coordinateRun{Coordinate: c, search: s, grid: grid, visited: map[string]bool{}, best: math.NaN(), previousBest: math.NaN()}
	for _, values := range grid {
		w.perRound += len(values) - 1
	}
	if w.perRound >= MaxCandidates {
		return nil, param.FieldErrors{{Path: "grid", Problem: fmt.Sprintf("the axes have more than %d values", MaxCandidates)}}
	}
	w.current = w.start()
	w.maxLeft = w.perRound
	points := []point{w.current}
	for k := range grid {
		points = append(points, w.axisPoints(k)...)
	}
	const corners = 100
	var faults param.FieldErrors
	w.checked, faults = s.candidates(grid, append(points, grid.coarsen(corners)...))
	return w, faults
}

func (w *coordinateRun) known() []candidate { return w.checked }

// start returns the point where the search begins.
func (w *coordinateRun) start() point {
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

// axisPoints returns the points with another value on axis k.
func (w *coordinateRun) axisPoints(k int) []point {
	var out []point
	for i := range w.grid[k] {
		if i != w.current[k] {
			p := slices.Clone(w.current)
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
func (w *coordinateRun) next(r *run) (p proposal, ok bool, err error) {
	w.update(r)
	var points []point
	start := r.round < 0
	if start {
		points = append(points, w.current)
	}
	for ; start || len(points) == 0; start = false {
		if w.axis == len(w.grid) && !start {
			if w.round++; w.round == w.Rounds || w.best == w.previousBest || math.IsNaN(w.best) {
				return p, false, nil
			}
			w.axis, w.previousBest, w.maxLeft = 0, w.best, w.perRound
		}
		if w.axis < len(w.grid) {
			w.maxLeft -= len(w.grid[w.axis]) - 1
			points = append(points, w.axisPoints(w.axis)...)
			points = slices.DeleteFunc(points, func(p point) bool { return w.visited[p.key()] })
			w.axis++
		}
	}
	for _, p := range points {
		w.visited[p.key()] = true
	}
	left := float64(w.maxLeft) + float64(w.Rounds-w.round-1)*float64(w.perRound)
	left = min(left, w.grid.size()-float64(len(w.visited)), MaxCandidates*float64(w.perRound))
	candidates, faults := w.search.candidates(w.grid, points)
	return proposal{candidates: candidates, number: len(candidates), left: int(left)}, true, faults.Err()
}

// update goes to the best of the candidates that were tried last, if it is better.
func (w *coordinateRun) update(r *run) {
	if r.planOnly {
		return
	}
	for i := r.firstNew; i < len(r.candidates); i++ {
		mean := r.candidate(r.candidates[i], r.outcomes[i]).Mean
		if finite(mean) && (math.IsNaN(w.best) || r.scorer.metrics[0].Better(mean, w.best)) {
			w.best, w.current = mean, r.candidates[i].point
		}
	}
}

func (w *coordinateRun) cut(*run) string {
	if len(w.grid) == 0 {
		return ""
	}
	return fmt.Sprintf("the budget ended at axis %s in round %d of at most %d", w.search.Grid[w.axis-1].Path, w.round+1, w.Rounds)
}
