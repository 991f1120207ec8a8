package gridsearch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// startCandidates is the number of candidates of Search.Start around which a search of the grid begins.
const startCandidates = 3

// checkStartScore returns an error unless the scores of Start are of the metric m.
func (s Search) checkStartScore(m metrics.Metric) param.FieldErrors {
	for _, c := range s.Start {
		if c.Name != "" && c.Name != m.Name {
			return param.FieldErrors{{Path: "start", Problem: fmt.Sprintf("the score must be %s, got %s", m.Name, c.Name)}}
		}
	}
	return nil
}

// startPaths returns an error unless the candidates of Start have the axes of the search.
func (s Search) startPaths() param.FieldErrors {
	list := func(paths []string) string {
		slices.Sort(paths)
		return cmp.Or(strings.Join(paths, ", "), "none")
	}
	var axes []string
	for _, a := range s.Grid {
		axes = append(axes, a.Path)
	}
	want := list(axes)
	for _, c := range s.Start {
		var own []string
		for _, one := range c.Settings {
			own = append(own, one.Path)
		}
		if got := list(own); got != want {
			return param.FieldErrors{{Path: "start", Problem: fmt.Sprintf("the axes must be %s, got %s", want, got)}}
		}
	}
	return nil
}

// startPoints returns the points of the grid that are nearest to the candidates of Start, the best one first and each
// once; nil without Start.
func (s Search) startPoints(grid axes) (points []point, errs param.FieldErrors) {
	if s.Start == nil {
		return nil, nil
	}
	list := slices.DeleteFunc(slices.Clone(s.Start), func(c Candidate) bool { return c.Failed != "" || !finite(c.Mean) })
	if len(list) == 0 {
		return nil, param.FieldErrors{{Path: "start", Problem: "no candidate has a score"}}
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return a.Rank - b.Rank })
	if errs := s.startPaths(); len(errs) > 0 {
		return nil, errs
	}
	seen := map[string]bool{}
	for _, c := range list {
		at, ok := make(point, len(grid)), true
		for k, values := range grid {
			i := slices.IndexFunc(c.Settings, func(own param.Setting) bool { return own.Path == s.Grid[k].Path })
			at[k] = nearest(values, c.Settings[i].Value)
			ok = ok && at[k] >= 0
		}
		if ok && !seen[at.key()] {
			seen[at.key()] = true
			points = append(points, at)
		}
	}
	if len(points) == 0 {
		return nil, param.FieldErrors{{Path: "start",
			Problem: "no candidate is on the grid; the best is " + list[0].String()}}
	}
	return points, nil
}

// nearest returns the index of the value of an axis that equals v, or of the number nearest to v: by the ratio if all
// are positive, else by the difference. It is −1 if there is none.
func nearest(axis []param.Setting, v any) int {
	text, positive := formatValue(v), true
	for i, s := range axis {
		if formatValue(s.Value) == text {
			return i
		}
		if x, ok := number(s.Value); ok && !(x > 0) {
			positive = false
		}
	}
	at, smallest := -1, math.Inf(1)
	y, isNumber := number(v)
	for i, s := range axis {
		x, ok := number(s.Value)
		distance := math.Abs(x - y)
		if positive && y > 0 {
			distance = max(x/y, y/x)
		}
		if ok && isNumber && distance < smallest {
			at, smallest = i, distance
		}
	}
	return at
}

// neighbors returns the points that differ from p on one axis: by the next smaller or larger number, or by any value if
// one of the two is not a number.
func (a axes) neighbors(p point) (out []point) {
	for k, values := range a {
		v, isNumber := number(values[p[k]].Value)
		below, above, low, high := -1, -1, math.Inf(-1), math.Inf(1)
		var steps []int
		for i, s := range values {
			x, ok := number(s.Value)
			switch {
			case i == p[k]:
			case !ok || !isNumber:
				steps = append(steps, i)
			case low < x && x < v:
				below, low = i, x
			case v < x && x < high:
				above, high = i, x
			}
		}
		for _, i := range append(steps, below, above) {
			if i >= 0 {
				next := slices.Clone(p)
				next[k] = i
				out = append(out, next)
			}
		}
	}
	return out
}

// aroundStart is the state of a search of the grid with Search.Start.
type aroundStart struct {
	search  Search
	grid    axes
	points  []point // of the first round
	checked []candidate
	visited map[string]bool // keys of points
}

// around returns the rounds of a search that begins with some points and their neighbors, and continues with the
// neighbors of the best candidate until all are evaluated. It checks some corners of the grid, too.
func (s Search) around(grid axes, starts []point) (proposer, param.FieldErrors) {
	w := &aroundStart{search: s, grid: grid, visited: map[string]bool{}}
	points := slices.Clone(starts)
	for _, p := range starts {
		points = append(points, grid.neighbors(p)...)
	}
	w.points = w.unvisited(points)
	var errs param.FieldErrors
	w.checked, errs = s.candidates(grid, append(slices.Clone(w.points), grid.coarsen(checkedCorners)...))
	return w, errs
}

// unvisited marks points as visited and returns the new ones in grid order.
func (w *aroundStart) unvisited(points []point) (out []point) {
	for _, p := range points {
		if key := p.key(); !w.visited[key] {
			w.visited[key] = true
			out = append(out, p)
		}
	}
	slices.SortFunc(out, slices.Compare[point])
	return out
}

func (w *aroundStart) known() []candidate { return w.checked }

func (w *aroundStart) next(r *run) (p proposal, ok bool, err error) {
	points := w.points
	if r.round >= 0 {
		if r.planOnly {
			return p, false, nil
		}
		list := r.ranked(r.stage)
		best := slices.IndexFunc(list, func(c Candidate) bool { return c.Rank == 1 && c.Failed == "" })
		if best < 0 {
			return p, false, nil
		}
		if points = w.unvisited(w.grid.neighbors(r.candidates[best].point)); len(points) == 0 {
			return p, false, nil
		}
	}
	candidates, errs := w.search.candidates(w.grid, points)
	left := min(w.grid.size()-float64(len(w.visited)), MaxCandidates)
	return proposal{candidates: candidates, number: len(candidates), left: int(left)}, true, errs.Err()
}

func (w *aroundStart) cut(*run) string {
	return "the budget ended before all neighbors of the best candidate had scores"
}

// firstRound sets the points of the first round from Search.Start: it skips the rounds that have more candidates than
// Start has points on the grid, at least one.
func (w *halvingRun) firstRound() {
	for {
		if w.shrink(); w.number <= len(w.starts) || w.resources == w.MaxResources {
			break
		}
	}
	w.number = min(w.number, len(w.starts))
	w.points = slices.Clone(w.starts[:w.number])
	slices.SortFunc(w.points, slices.Compare[point])
}
