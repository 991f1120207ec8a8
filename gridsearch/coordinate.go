package gridsearch

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/param"
)

// Coordinate is the [Strategy] of coordinate descent: it optimizes one axis at a time, with all
// other axes fixed at their best values so far. It repeats this until a round improves nothing or
// all rounds are done. A round evaluates at most the sum of the axis lengths, where the whole grid
// has their product, so a grid may have an axis for each input, as [transformer.Scale] allows. No
// candidate is evaluated twice. The result is optimal along each axis; it is the optimum of the
// grid if the axes do not interact.
//
// The start is the best candidate of Search.Start, or else the value of the estimator if the axis
// contains it, else the middle value (the lower one of two). Ties go to the first candidate.
//
// Progress.Total is an upper bound of the number of fits, and their number at the end. The Result
// equals that of a [Search] of the same candidates. Search.Random must be 0.
//
// Use [NewCoordinate]: the zero value is invalid.
type Coordinate struct {
	Rounds int // maximum number of rounds over all axes
}

// NewCoordinate returns a Coordinate with at most three rounds.
func NewCoordinate() Coordinate { return Coordinate{Rounds: 3} }

// Params declares the number of rounds.
func (c *Coordinate) Params(l *param.List) {
	l.Int(&c.Rounds, "rounds", "maximum number of rounds over all axes", param.Between(1, 1000))
}

// coordinateRun is the state of a Coordinate search.
type coordinateRun struct {
	Coordinate
	search       Search
	grid         axes
	perRound     int // sum over the axes of their length − 1
	checked      []candidate
	visited      map[string]bool // keys of points
	current      point           // best point so far, or the start
	best         float64         // its mean score; NaN at the start
	previousBest float64         // best at the start of this round
	round        int
	axis         int // the next axis
	maxLeft      int // maximum number of candidates on the remaining axes of this round
}

// checkedCorners is the number of points of a grid that a search checks in addition to those known at its start.
const checkedCorners = 100

// begin checks all axis values and some corners of the grid, and sets the start.
func (c Coordinate) begin(s Search, grid axes, _ int) (proposer, param.FieldErrors) {
	w := &coordinateRun{Coordinate: c, search: s, grid: grid, visited: map[string]bool{}, best: math.NaN(),
		previousBest: math.NaN()}
	for _, values := range grid {
		w.perRound += len(values) - 1
	}
	if w.perRound >= MaxCandidates {
		return nil, param.FieldErrors{{Path: "grid", Problem: fmt.Sprintf("the axes have more than %d values",
			MaxCandidates)}}
	}
	starts, errs := s.startPoints(grid)
	if len(errs) > 0 {
		return nil, errs
	}
	if w.current = w.start(); starts != nil {
		w.current = starts[0]
	}
	w.maxLeft = w.perRound
	points := []point{w.current}
	for k := range grid {
		points = append(points, w.axisPoints(k)...)
	}
	w.checked, errs = s.candidates(grid, append(points, grid.coarsen(checkedCorners)...))
	return w, errs
}

func (w *coordinateRun) known() []candidate { return w.checked }

// start returns the initial point.
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

// axisPoints returns the points that differ from the current one on axis k only.
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

// key returns a unique key of a point.
func (p point) key() string {
	out := make([]byte, 0, 2*len(p))
	for _, v := range p {
		out = binary.AppendUvarint(out, uint64(v))
	}
	return string(out)
}

// next moves to the best point of the last axis and proposes the new points along the next one.
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
	candidates, errs := w.search.candidates(w.grid, points)
	return proposal{candidates: candidates, number: len(candidates), left: int(left)}, true, errs.Err()
}

// update moves to the best of the last candidates if it improves the score.
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
	return fmt.Sprintf("the budget ended at axis %s in round %d of at most %d", w.search.Grid[w.axis-1].Path, w.round+1,
		w.Rounds)
}
