package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
)

// bowl is a spec whose squared error for targets of 0 is Bottom(x).
type bowl struct {
	x      [4]float64
	bottom func(x []float64) float64
	probe  *probe
}

func (s *bowl) Params(l *param.List) {
	for k := range s.x {
		l.Float(&s.x[k], fmt.Sprintf("x%d", k), "a number", param.Any())
	}
}

func (s bowl) Cost(shape datasets.Shape) datasets.Cost {
	return datasets.Cost{Flops: float64(shape.Rows) * (10 + s.x[0])}
}

func (s bowl) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	defer s.probe.enter(0)()
	if err := s.probe.wait(ctx); err != nil {
		return nil, err
	}
	v := s.bottom(s.x[:])
	if v < 0 {
		return nil, errors.New("below the bottom")
	}
	return constant(math.Sqrt(v)), nil
}

// constant predicts one number for every row.
type constant float64

func (c constant) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	return slices.Repeat([]float64{float64(c)}, n), nil
}

// separable is a sum of terms of one axis each, whose bottom is at 4, 3, 2 and 1.
func separable(x []float64) float64 {
	sum := 1.0
	for k, v := range x {
		sum += (v - float64(4-k)) * (v - float64(4-k))
	}
	return sum
}

// valley has its bottom at 5, 5, 0, 0, where the axes lead by small steps that go uphill in between.
func valley(x []float64) float64 {
	return 1 + 10*(x[0]-x[1])*(x[0]-x[1]) + 0.1*(10-x[0]-x[1])*(10-x[0]-x[1]) + x[2]*x[2] + x[3]*x[3]
}

func bowlSearch(bottom func([]float64) float64, p *probe) (Search, datasets.Set) {
	s := NewSearch(bowl{bottom: bottom, probe: p})
	for k := range 4 {
		s.Grid = append(s.Grid, Axis{Path: fmt.Sprintf("x%d", k), Values: Lin(0, 5, 6)})
	}
	s.Splitter, s.Score = datasets.KFold{Folds: 2}, "mse"
	s.Strategy = NewCoordinate()
	return s, datasets.Set{X: mat.NewDense(6, 1, nil), Y: make([]float64, 6)}
}

// alongAxes is a search with the strategy Coordinate.
func alongAxes(s Search) Search {
	s.Strategy = NewCoordinate()
	return s
}

// TestCoordinateAgainstTheWholeGrid checks that for separable axes the coordinate search finds the
// optimum of the whole grid, with equal scores, without repeated candidates and in the order of the
// grid; and that it ends for other objectives.
func TestCoordinateAgainstTheWholeGrid(t *testing.T) {
	for name, bottom := range map[string]func([]float64) float64{"separable": separable, "valley": valley} {
		c, data := bowlSearch(bottom, nil)
		c.Strategy = nil
		whole := mustRun(t, c, data)
		c.Strategy = Coordinate{Rounds: 1000}
		r := mustRun(t, c, data)
		if name == "separable" {
			if !reflect.DeepEqual(r.Best().Settings, whole.Best().Settings) || r.Best().Rank != 1 {
				t.Errorf("the best is %s, that of the grid %s", r.Best(), whole.Best())
			}
			if n := 1 + 4*5 + 4*5; len(r.Candidates) > n { // the second round does not improve
				t.Errorf("%d candidates", len(r.Candidates))
			}
		}
		at := -1
		for _, one := range r.Candidates {
			next := slices.IndexFunc(whole.Candidates, func(w Candidate) bool {
				return reflect.DeepEqual(w.Settings, one.Settings)
			})
			if next <= at || !reflect.DeepEqual(whole.Candidates[next].Folds, one.Folds) {
				t.Errorf("%s: %s is number %d of the grid, after %d", name, one, next, at)
			}
			at = next
		}
		if r.Fits != 2*len(r.Candidates) || r.Model == nil || len(r.Candidates) >= len(whole.Candidates) {
			t.Errorf("%s: %d fits of %d candidates", name, r.Fits, len(r.Candidates))
		}
		for k := range c.Grid { // no neighbor along an axis is better
			for _, w := range whole.Candidates {
				others := 0
				for i := range w.Settings {
					if i != k && w.Settings[i] != r.Best().Settings[i] {
						others++
					}
				}
				if others == 0 && w.Mean < r.Best().Mean {
					t.Errorf("%s: %s is better than %s", name, w, r.Best())
				}
			}
		}
	}
}

// TestCoordinateStart checks that the search starts at the values of the estimator, or in the
// middle of an axis without them, and that rounds limit it.
func TestCoordinateStart(t *testing.T) {
	c, data := bowlSearch(func(x []float64) float64 { return 1 + math.Abs(x[0]-x[3]) }, nil)
	spec := c.Estimator.(bowl)
	spec.x = [4]float64{5, 0.5, 0, 5}
	c.Estimator = spec
	if got := mustRun(t, c, data).Best().String(); got != "x0=5 x1=2 x2=0 x3=5" {
		t.Errorf("it ends at %s, though the start is as good as any", got)
	}
	c, data = bowlSearch(valley, nil)
	c.Strategy = Coordinate{Rounds: 1}
	if n := len(mustRun(t, c, data).Candidates); n > 21 {
		t.Errorf("%d candidates in one round", n)
	}
}

// The result does not depend on workers or repetition, and the plan has an upper bound of the fits.
func TestCoordinateIsDeterministic(t *testing.T) {
	c, data := bowlSearch(valley, &probe{delay: 200 * time.Microsecond})
	c.Workers = 1
	want := mustRun(t, c, data)
	for workers := range 4 {
		c.Workers = workers
		if got := mustRun(t, c, data); table(got) != table(want) {
			t.Errorf("with %d workers:\n%s\nwant\n%s", workers, table(got), table(want))
		}
	}
	p, err := c.Plan(data)
	if err != nil || !p.MayStopEarly || p.Candidates != 1+3*4*5 || p.Fits != 2*p.Candidates || p.Fits < want.Fits {
		t.Errorf("planned %+v, %v, done %d fits", p, err, want.Fits)
	}
	c.Grid = c.Grid[:1]
	if p, err := c.Plan(data); err != nil || p.MayStopEarly || p.Candidates != 6 {
		t.Errorf("of one axis planned %+v, %v", p, err)
	}
	c.Grid = nil
	if p, err := c.Plan(data); err != nil || p.Candidates != 1 || len(mustRun(t, c, data).Candidates) != 1 {
		t.Errorf("of no axis planned %+v, %v", p, err)
	}
}

// An interrupted search resumes at any round.
func TestCoordinateJournal(t *testing.T) {
	c, data := bowlSearch(valley, nil)
	want := mustRun(t, c, data)
	for _, after := range []int{1, 7, 20, want.Fits - 1} {
		ctx, cancel := context.WithCancel(context.Background())
		p := &probe{after: after, then: cancel}
		c, data := bowlSearch(valley, p)
		c.Workers = 1
		c.Journal = filepath.Join(t.TempDir(), "journal")
		if _, err := c.Run(ctx, data); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		p.fits, p.after = 0, -1
		again := mustRun(t, c, data)
		if table(again) != table(want) || again.Resumed != after-1 || p.fits != want.Fits-after+1+1 { // and the refit
			t.Errorf("cancelled in fit %d: %d resumed, %d fits more", after, again.Resumed, p.fits)
		}
		if again := mustRun(t, c, data); again.Resumed != want.Fits || table(again) != table(want) {
			t.Errorf("a third time %d of %d are resumed", again.Resumed, want.Fits)
		}
	}
}

// A budget that ends within a round leaves the best candidate so far, and the next run resumes.
func TestCoordinateBudget(t *testing.T) {
	c, data := bowlSearch(valley, nil)
	want := mustRun(t, c, data)
	p := &probe{hangAfter: 21, hangUntil: 22}
	c, data = bowlSearch(valley, p)
	c.Workers, c.Budget = 1, 300*time.Millisecond
	c.Journal = filepath.Join(t.TempDir(), "journal")
	r := mustRun(t, c, data)
	if r.Unreached == 0 || r.Unreached > 10 || r.Model == nil || r.Best().Failed != "" ||
		!strings.Contains(strings.Join(r.Warnings, "\n"), "the budget ended at axis x1 in round 1 of at most 3") {
		t.Errorf("%d of %d fits unreached, warnings %q", r.Unreached, r.Fits, r.Warnings)
	}
	c.Budget = time.Hour
	if again := mustRun(t, c, data); again.Resumed != 21 || table(again) != table(want) {
		t.Errorf("%d resumed, %s\nwant %s", again.Resumed, table(again), table(want))
	}
	c, data = bowlSearch(valley, &probe{delay: 60 * time.Millisecond}) // no turn takes that long, all of them do
	c.Workers, c.Budget = 1, 600*time.Millisecond
	if r := mustRun(t, c, data); r.Unreached == 0 {
		t.Error("every turn has had a budget of its own")
	}
	c.Budget, c.Journal = time.Nanosecond, ""
	if _, err := c.Run(context.Background(), data); !errors.Is(err, ErrBudget) {
		t.Errorf("within a nanosecond: %v", err)
	}
}

// TestCoordinateProgress checks that progress starts at 0, counts every fit once, has a decreasing
// total, and ends complete.
func TestCoordinateProgress(t *testing.T) {
	c, data := bowlSearch(valley, nil)
	var reported []Progress
	c.Progress = func(p Progress) { reported = append(reported, p) }
	r := mustRun(t, c, data)
	first, last := reported[0], reported[len(reported)-1]
	if first.Candidate != -1 || first.Done != 0 || first.Total != 2*(1+3*20) || last.Done != r.Fits ||
		last.Total != r.Fits || len(reported) != r.Fits+2 {
		t.Errorf("%d reports of %d fits, from %+v to %+v", len(reported), r.Fits, first, last)
	}
	for i := range reported[1:] {
		p := reported[i+1]
		if p.Total > reported[i].Total || p.Done != min(i+1, r.Fits) || p.Candidate >= len(r.Candidates) ||
			p.Done == p.Total && i+2 < len(reported) {
			t.Errorf("%+v after %+v", p, reported[i])
		}
	}
}

// Candidates that fail are passed by, also where the start is one of them.
func TestCoordinateFailures(t *testing.T) {
	c, data := bowlSearch(func(x []float64) float64 {
		if x[0] == 0 || x[3] == 2 {
			return -1
		}
		return separable(x)
	}, nil)
	r := mustRun(t, c, data)
	if r.Best().String() != "x0=4 x1=3 x2=2 x3=1" {
		t.Errorf("the best is %s", r.Best())
	}
	c, data = bowlSearch(func([]float64) float64 { return -1 }, nil)
	if _, err := c.Run(context.Background(), data); err == nil ||
		!strings.Contains(err.Error(), "every candidate failed") {
		t.Errorf("all fail, and the error is %v", err)
	}
	s := lineSearch(nil) // of which one corner is refused, which no axis through the start has
	s.Grid = []Axis{{Path: "shrink", Values: []any{0.5, 1.0, 7.0}}, {Path: "shift", Values: []any{0, 7}}}
	if _, err := alongAxes(s).Run(context.Background(), quantities(30)); err == nil ||
		!strings.Contains(err.Error(), "anything but 7") {
		t.Errorf("the error is %v", err)
	}
	s = lineSearch(nil)
	s.Random = 3
	s.Grid[0].Path = "shrnk"
	s.Strategy = Coordinate{}
	if _, err := s.Run(context.Background(), quantities(30)); err == nil ||
		!strings.Contains(err.Error(), "did you mean shrink") || !strings.Contains(err.Error(),
		"rounds: must be an integer from 1 to 1000, got 0") || !strings.Contains(err.Error(), "random: ") {
		t.Errorf("the error is %v", err)
	}
}

// A batch fitter gets one axis at a time; leave-one-out and the one-standard-error rule work as in
// a search.
func TestCoordinateOfRidge(t *testing.T) {
	data := quantities(60)
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e3, 9)},
		Axis{Path: "intercept", Values: []any{true, false}})
	s.Splitter = LeaveOneOut{}
	whole, r := mustRun(t, s, data), mustRun(t, alongAxes(s), data)
	if !reflect.DeepEqual(r.Best().Settings, whole.Best().Settings) || r.Best().Mean != whole.Best().Mean ||
		!slices.Contains(r.Shared, "rows") {
		t.Errorf("%s, want %s; shared %q", r.Best(), whole.Best(), r.Shared)
	}
	s.Splitter, s.Refit = nil, RefitOneStdError
	c := alongAxes(s)
	best := mustRun(t, c, data)
	if best.Best().Rank == 1 || best.Model == nil {
		t.Errorf("the simplest is %s, of rank %d", best.Best(), best.Best().Rank)
	}
	s.Refit = RefitNone
	if r := mustRun(t, alongAxes(s), data); r.Model != nil {
		t.Error("it has refitted")
	}
	if p, err := alongAxes(s).Fit(context.Background(), data); p != nil || err == nil {
		t.Errorf("fit gives %v, %v", p, err)
	}
	outer := mustRun(t, NewSearch(c, Axis{Path: "strategy.rounds", Values: []any{1, 2}}), data)
	if outer.Fits != 10 || outer.Best().Failed != "" {
		t.Errorf("a search of it: %+v", outer)
	}
}

// TestPartOfLargeGrid checks that a part of a grid with more points than an int can count can be
// searched.
func TestPartOfLargeGrid(t *testing.T) {
	grid := make(axes, 3000)
	for k := range grid {
		grid[k] = make([]param.Setting, 2)
	}
	if points := grid.coarsen(100); len(points) == 0 || len(points) > 100 {
		t.Errorf("%d points", len(points))
	}
}

// TestNoEdgeAtABound checks that a factor of 0 is not reported as the edge of a grid, because there
// are no smaller values.
func TestNoEdgeAtABound(t *testing.T) {
	s := lineSearch(nil)
	s.Grid = []Axis{{Path: "shrink", Values: []any{0.0, 5.0, 9.0}}}
	if r := mustRun(t, s, quantities(60)); r.Best().String() != "shrink=0" || len(r.OnGridEdge) > 0 {
		t.Errorf("%s is on the edge of %q", r.Best(), r.OnGridEdge)
	}
	s.Grid = []Axis{{Path: "shift", Values: []any{0, 5, 9}}} // may be negative
	if r := mustRun(t, s, quantities(60)); !slices.Equal(r.OnGridEdge, []string{"shift"}) {
		t.Errorf("%s is on the edge of %q", r.Best(), r.OnGridEdge)
	}
}

// TestHeatMapOfAPart checks that a heat map has its values in the order of the grid, whatever the
// order of the candidates.
func TestHeatMapOfAPart(t *testing.T) {
	c, data := bowlSearch(separable, nil)
	r := mustRun(t, c, data)
	if got := r.values(1); !slices.Equal(got, []string{"0", "1", "2", "3", "4", "5"}) {
		t.Errorf("values %v", got)
	}
	if picture := r.SVG(); strings.Count(picture, "#d1495b") != 1 {
		t.Errorf("no candidate is framed: %s", picture)
	}
	if curve, err := r.Curve("x2"); err != nil || len(curve) != 6 {
		t.Errorf("curve %v, %v", curve, err)
	}
}
