package gridsearch

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/param"
)

// Coordinate is a search that goes along one axis of the grid after the other. It tries the values of an
// axis, with those of all others at the best so far, and keeps the best. After the last axis it begins
// another round, until a round has gained nothing or all rounds are done. A round tries no more candidates
// than the axes have values together, where the whole grid has their product: a grid may have an axis for
// the factor of each input, as [transformer.Scale] has them. No candidate is tried twice. What is found is
// the best along each axis, which is the best of the grid where the axes do not depend on each other.
//
// On each axis it starts with the value that the estimator has, if that is one of the axis, and else
// with the middle one, of two the earlier. Of candidates that are equally good the one tried first is kept.
//
// The axes of all rounds have one budget of time. Where it ends, the best by then is refitted.
// Progress.Total is the most fits that there can be, and at the end those that there were.
//
// The Result is that of a [Search] that tries the same candidates.
type Coordinate struct {
	Search Search // without Random; every turn at an axis with something to try has a journal, Journal with .0, .1, … added
	Rounds int    // the most rounds over all axes
}

// NewCoordinate returns a Coordinate of at most three rounds.
func NewCoordinate(search Search) Coordinate { return Coordinate{Search: search, Rounds: 3} }

var _ estimator.Estimator = Coordinate{}

// Params declares the parameters that make a difference to the result; those of the search are below
// "search".
func (c *Coordinate) Params(l *param.List) {
	l.Int(&c.Rounds, "rounds", "the most rounds over all axes", param.Between(1, 1000))
	l.Child("search", &c.Search)
}

// Task returns what the estimator says that it is for, [datasets.AnyTask] where it does not say.
func (c Coordinate) Task() datasets.Task { return c.Search.Task() }

// Fit runs the search and returns what [Search.Fit] returns. It fails where the search refits none.
func (c Coordinate) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if c.Search.Refit == RefitNone {
		return nil, errNoRefit
	}
	r, err := c.Run(ctx, data)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Run goes along the axes and refits the best candidate on all rows.
func (c Coordinate) Run(ctx context.Context, data datasets.Set) (*Result, error) {
	began := time.Now()
	w, err := c.begin(data)
	if err != nil {
		return nil, fmt.Errorf("gridsearch: %w", err)
	}
	if c.Search.Budget > 0 {
		w.all.search.ends = began.Add(c.Search.Budget)
	}
	if err := w.rounds(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, cause.Err(ctx)
		}
		return nil, fmt.Errorf("gridsearch: %w", err)
	}
	out, err := w.result()
	if err != nil {
		return nil, fmt.Errorf("gridsearch: %w", err)
	}
	out.Seconds = time.Since(began).Seconds()
	if err := c.Search.refit(ctx, w.all.rows, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Plan estimates the most that the search may take. The candidates of an axis are taken to have those
// values of the others that cost most.
func (c Coordinate) Plan(data datasets.Set) (Plan, error) { return added(c.plan(data)) }

func (c Coordinate) plan(data datasets.Set) (all Plan, refit float64, err error) {
	w, err := c.begin(data)
	if err != nil {
		return all, 0, err
	}
	all.Known = true
	add := func(points []point, times int) error {
		r, err := w.all.of(w.grid, points)
		if err != nil {
			return err
		}
		p, last := r.plan()
		p.times(float64(times))
		all.add(p)
		refit = max(refit, last)
		return nil
	}
	if err := add([]point{w.dearest}, 1); err != nil {
		return all, 0, err
	}
	for k := range w.grid {
		if points := w.dearestAlong(k); len(points) > 0 {
			if err := add(points, c.Rounds); err != nil {
				return all, 0, err
			}
		}
	}
	most := w.most()
	all.AtMost = most > 1+float64(w.perRound)
	all.times(most / (1 + float64(c.Rounds)*float64(w.perRound)))
	all.Candidates = int(min(most, math.MaxInt32))
	all.Fits = all.Candidates * all.Folds
	return all, refit, nil
}

// walk is a Coordinate at work.
type walk struct {
	Coordinate
	grid     axes
	perRound int // values of all axes but one of each
	dearest  point
	all      *run            // every candidate so far, in the order in which they were tried
	tried    map[string]bool // their keys
	at       point           // where the walk is: the best so far, or the start
	best     float64         // the mean score there, NaN where there is none
	turns    int             // turns at an axis that had something to try
	axis     string          // the axis of the last turn
	told     int             // the last total that was told
}

// begin checks c and the data, and every value of the axes, and goes to the start.
func (c Coordinate) begin(data datasets.Set) (*walk, error) {
	s := c.Search
	grid, faults := s.axes()
	if c.Rounds < 1 {
		faults = append(faults, param.Fault{Path: "rounds", Value: c.Rounds, Wanted: "a whole number ≥ 1"})
	}
	if s.Random > 0 {
		faults = append(faults, param.Fault{Path: "random", Problem: "a search along the axes draws no candidates"})
	}
	w := &walk{Coordinate: c, grid: grid, tried: map[string]bool{}, best: math.NaN()}
	for _, values := range grid {
		w.perRound += len(values) - 1
	}
	if w.perRound >= MaxCandidates {
		faults = append(faults, param.Fault{Path: "grid", Problem: fmt.Sprintf("the axes have more than %d values", MaxCandidates)})
	}
	if len(faults) > 0 {
		return nil, faults
	}
	w.at = w.start()
	s.only = []point{w.at}
	for k := range grid {
		s.only = append(s.only, w.along(k)...)
	}
	const corners = 100
	alone := len(s.only)
	s.only = append(s.only, grid.thin(corners)...)
	first, err := s.prepare(data, len(s.only))
	if err != nil {
		return nil, err
	}
	w.dearest = w.atMostCost(first, alone)
	w.all = first
	if _, err := first.of(grid, []point{w.dearest}); err != nil { // for the memory it takes
		return nil, err
	}
	first.candidates, first.outcomes, first.search.only = nil, nil, nil
	return w, nil
}

// start returns the point where the search begins.
func (w *walk) start() point {
	at := make(point, len(w.grid))
	for k, values := range w.grid {
		own, _ := param.Get(w.Search.Estimator, w.Search.Grid[k].Path)
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

// flops is what a candidate's fit costs, 0 where it does not say.
func (r *run) flops(c candidate) float64 {
	if coster, ok := c.spec.(datasets.Coster); ok {
		return coster.Cost(r.shape(r.trainRows())).Flops
	}
	return 0
}

// atMostCost returns the point with that value on each axis that costs most of the start and the points
// along the axes from there, which so many of the first candidates are.
func (w *walk) atMostCost(first *run, alone int) point {
	out := slices.Clone(w.at)
	most := slices.Repeat([]float64{first.flops(first.candidates[0])}, len(out))
	for _, c := range first.candidates[1:alone] {
		k := 0
		for c.at[k] == w.at[k] {
			k++
		}
		if flops := first.flops(c); flops > most[k] {
			most[k], out[k] = flops, c.at[k]
		}
	}
	return out
}

// dearestAlong returns the points along axis k that cost most: all but the cheapest, for a turn at the axis
// knows one of its values already.
func (w *walk) dearestAlong(k int) []point {
	here := &walk{grid: w.grid, at: w.dearest}
	points := append([]point{w.dearest}, here.along(k)...)
	r, err := w.all.of(w.grid, points)
	if err != nil {
		return points[1:]
	}
	cheapest := 0
	for i := range points {
		if r.flops(r.candidates[i]) < r.flops(r.candidates[cheapest]) {
			cheapest = i
		}
	}
	return slices.Delete(points, cheapest, cheapest+1)
}

// most is the most candidates that there can be.
func (w *walk) most() float64 {
	return min(w.grid.size(), 1+float64(w.Rounds)*float64(w.perRound))
}

// of returns a run of other candidates on the same rows and folds.
func (r *run) of(grid axes, points []point) (*run, error) {
	candidates, faults := r.search.combine(grid, points)
	if len(faults) > 0 {
		return nil, faults
	}
	out := &run{search: r.search, data: r.data, rows: r.rows, folds: r.folds, candidates: candidates, all: len(candidates), scorer: r.scorer}
	out.nothingDone()
	return out, out.fitsMemory()
}

// rounds goes along all axes until that gains nothing, or the budget ends.
func (w *walk) rounds(ctx context.Context) error {
	first := []point{w.at}
	if len(w.grid) == 0 {
		return w.turn(ctx, first, 0)
	}
	for round := range w.Rounds {
		before := w.best
		later := w.perRound
		for k, values := range w.grid {
			later -= len(values) - 1
			w.axis = fmt.Sprintf("%s in round %d of at most %d", w.Search.Grid[k].Path, round+1, w.Rounds)
			left := float64(later) + float64(w.Rounds-round-1)*float64(w.perRound)
			if err := w.turn(ctx, append(first, w.along(k)...), left); err != nil || w.all.late {
				return err
			}
			first = nil
		}
		if w.best == before || math.IsNaN(w.best) {
			break
		}
	}
	w.end()
	return nil
}

// turn scores those of the points that have not been tried, and goes to the best of them if it is better.
// After it there are at most so many candidates left to try.
func (w *walk) turn(ctx context.Context, points []point, left float64) error {
	points = slices.DeleteFunc(points, func(p point) bool { return w.tried[p.key()] })
	if len(points) == 0 {
		return nil
	}
	r, err := w.all.of(w.grid, points)
	if err != nil {
		return err
	}
	if r.search.Journal != "" {
		r.search.Journal += fmt.Sprintf(".%d", w.turns)
	}
	left = min(left, w.grid.size()-float64(len(w.all.candidates)+len(points)), MaxCandidates*float64(w.perRound))
	w.listen(r, int(left)*len(r.folds))
	if err := r.evaluate(ctx); err != nil {
		return err
	}
	w.turns++
	w.join(r)
	return nil
}

// key tells a point from others.
func (p point) key() string {
	out := make([]byte, 0, 2*len(p))
	for _, v := range p {
		out = binary.AppendUvarint(out, uint64(v))
	}
	return string(out)
}

// join takes in the candidates of a turn.
func (w *walk) join(r *run) {
	decides := r.scorer.metrics[0]
	for i, c := range r.candidates {
		w.tried[c.at.key()] = true
		mean := r.candidate(c, r.outcomes[i]).Mean
		if finite(mean) && (math.IsNaN(w.best) || decides.Better(mean, w.best)) {
			w.best, w.at = mean, c.at
		}
	}
	all := w.all
	all.candidates, all.outcomes = append(all.candidates, r.candidates...), append(all.outcomes, r.outcomes...)
	all.lead = all.lead.with(r.lead, decides)
	all.done, all.resumed, all.late, all.journal = all.done+r.done, all.resumed+r.resumed, r.late, r.journal
	all.share(r.shared)
}

// listen passes on the progress of a turn as that of the whole search, with at most so many fits after it.
func (w *walk) listen(r *run, left int) {
	if w.Search.Progress == nil {
		return
	}
	before, done, lead := len(w.all.candidates), w.all.done, w.all.lead
	r.search.Progress = func(p Progress) {
		switch {
		case p.Candidate >= 0:
			p.Candidate += before
		case before > 0:
			return // only the first turn begins the search
		}
		p.Done, p.Total = p.Done+done, p.Total+done+left
		decides := r.scorer.metrics[0]
		lead.with(r.lead, decides).tell(&p, decides)
		w.told = p.Total
		w.Search.Progress(p)
	}
}

// end tells that there are no more fits, where more could have been.
func (w *walk) end() {
	if done := w.all.done; w.Search.Progress != nil && w.told != done {
		p := Progress{Done: done, Total: done, Candidate: -1, Score: math.NaN()}
		w.all.lead.tell(&p, w.all.scorer.metrics[0])
		w.Search.Progress(p)
	}
}

// result makes the table of all candidates, in the order of the grid.
func (w *walk) result() (*Result, error) {
	r := w.all
	order := count(len(r.candidates))
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(r.candidates[a].at, r.candidates[b].at) })
	sorted := *r
	sorted.candidates, sorted.outcomes, sorted.best = nil, nil, w.at
	for _, i := range order {
		sorted.candidates, sorted.outcomes = append(sorted.candidates, r.candidates[i]), append(sorted.outcomes, r.outcomes[i])
	}
	out, err := sorted.result()
	if err == nil && r.late {
		out.Warnings = append(out.Warnings, "the budget ended at axis "+w.axis)
	}
	return out, err
}
