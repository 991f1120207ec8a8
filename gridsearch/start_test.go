package gridsearch

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/param"
)

// moved is separable with another optimum of the first axis.
func moved(x []float64) float64 { return separable([]float64{x[0] + 2, x[1], x[2], x[3]}) }

// inWhole checks that the candidates are in the order of the whole grid and have its scores, bit for bit.
func inWhole(t *testing.T, name string, r, whole *Result) {
	t.Helper()
	at := -1
	for _, c := range r.Candidates {
		next := slices.IndexFunc(whole.Candidates, func(w Candidate) bool { return w.String() == c.String() })
		if next <= at || !reflect.DeepEqual(whole.Candidates[next].Folds, c.Folds) {
			t.Errorf("%s: %s is number %d of the grid, after %d", name, c, next, at)
		}
		at = next
	}
}

// A search of the grid from an earlier result evaluates the best candidates and their neighbors, and moves on to the
// optimum of the changed rows.
func TestStartOfTheGrid(t *testing.T) {
	s, data := bowlSearch(separable, nil)
	s.Strategy = nil
	earlier := mustRun(t, s, data)
	s.Estimator = bowl{bottom: moved}
	whole := mustRun(t, s, data)
	s.Start = earlier.Candidates
	r := mustRun(t, s, data)
	inWhole(t, "moved", r, whole)
	if !r.Started || whole.Started || r.GridSize != 6*6*6*6 || len(r.Candidates) > 60 || r.Fits != 2*len(r.Candidates) ||
		r.Best().String() != whole.Best().String() || r.Model == nil || r.Best().String() == earlier.Best().String() {
		t.Errorf("%d of %v candidates, the best is %s, that of the grid %s", len(r.Candidates), r.GridSize, r.Best(),
			whole.Best())
	}
	if text := r.String(); !strings.Contains(text, " of 1296 candidates on 2 folds, started from those of an earlier") {
		t.Errorf("the result is shown as %s", text)
	}
	grid, _ := s.axes()
	for _, p := range grid.neighbors(point{2, 3, 2, 1}) {
		c, errs := s.candidates(grid, []point{p})
		if len(errs) > 0 || !slices.ContainsFunc(r.Candidates,
			func(one Candidate) bool { return one.String() == formatSettings(c[0].settings) }) {
			t.Errorf("%v next to the best is not evaluated", p)
		}
	}
	lines := lineSearch(nil)
	first := mustRun(t, lines, quantities(60))
	lines.Start = first.Candidates
	changed := quantities(66)
	around := mustRun(t, lines, changed)
	lines.Start = nil
	inWhole(t, "line", around, mustRun(t, lines, changed))
	if around.Best().String() != first.Best().String() {
		t.Errorf("the best is %s, and was %s", around.Best(), first.Best())
	}
}

// Values that are no numbers are neighbors of all others; numbers are neighbors by their size, in any order.
func TestNeighbors(t *testing.T) {
	axis := func(values ...any) (out []param.Setting) {
		for _, v := range values {
			out = append(out, param.Setting{Path: "p", Value: v})
		}
		return out
	}
	grid := axes{axis(3.0, 1.0, 10.0, 0.5), axis("a", "b", "c"), axis("scale", 1, 2, 4), axis(7.0)}
	got := grid.neighbors(point{1, 2, 1, 0})
	if want := []point{{3, 2, 1, 0}, {0, 2, 1, 0}, {1, 0, 1, 0}, {1, 1, 1, 0}, {1, 2, 0, 0}, {1, 2, 2, 0}}; !reflect.
		DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, c := range []struct {
		axis []param.Setting
		v    any
		want int
	}{
		{grid[0], 1, 1}, {grid[0], 5.0, 0}, {grid[0], 6.0, 2}, {grid[0], 1e9, 2}, {grid[0], 0.1, 3}, {grid[0], "a", -1},
		{axis(0.0, 1.0, 4.0), 0.3, 0}, {grid[1], "b", 1}, {grid[1], 1.0, -1}, {grid[2], "scale", 0}, {grid[2], 3.0, 3},
		{grid[2], math.NaN(), -1}, {axis(true, false), "false", 1}, {axis([]any{1, 2}), "[1,2]", 0},
	} {
		if got := nearest(c.axis, c.v); got != c.want {
			t.Errorf("%v on %v is at %d, want %d", c.v, c.axis, got, c.want)
		}
	}
}

// A coordinate search from an earlier result equals that of an estimator with its best values, also on a finer grid.
func TestStartOfCoordinate(t *testing.T) {
	s, data := bowlSearch(separable, nil)
	s.Start = mustRun(t, s, data).Candidates
	s.Estimator = bowl{bottom: valley}
	s.Grid[3].Values = Lin(0, 6, 13)
	got := mustRun(t, s, data)
	s.Start = nil
	s.Estimator = bowl{bottom: valley, x: [4]float64{4, 3, 2, 1}}
	if want := mustRun(t, s, data); table(got) != table(want) || !got.Started {
		t.Errorf("from the best candidate:\n%s\nfrom the same values:\n%s", table(got), table(want))
	}
}

// A halving from an earlier result skips the rounds that are decided: a third of all candidates of a search, or those
// of the last round of a halving, remain.
func TestStartOfHalving(t *testing.T) {
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e4, 18)})
	s.Score, s.Splitter = "mse", datasets.KFold{Folds: 4}
	earlier := mustRun(t, s, quantities(240))
	data := quantities(244)
	whole := mustRun(t, s, data)
	s.Strategy = NewHalving(20)
	halved := mustRun(t, s, quantities(240))
	some := earlier.Candidates[3:8]
	for name, c := range map[string]struct {
		start      []Candidate
		rows, kept []int
	}{
		"all": {earlier.Candidates, []int{60, 180, 183}, []int{6, 2, 1}}, "halving": {halved.Candidates, []int{180, 183},
			[]int{2, 1}}, "five": {some, []int{180, 183}, []int{2, 1}}, "one": {earlier.Candidates[9:10], []int{183}, []int{1}},
	} {
		s.Start = c.start
		r := mustRun(t, s, data)
		var rows, kept []int
		for _, round := range r.Rounds {
			rows, kept = append(rows, round.Resource), append(kept, len(round.Candidates))
		}
		if !slices.Equal(rows, c.rows) || !slices.Equal(kept, c.kept) || !r.Started || r.GridSize != 18 ||
			!strings.Contains(r.String(), " of 18 candidates on 4 folds, started") {
			t.Errorf("%s: rounds of %v rows and %v candidates; %s", name, rows, kept, r)
		}
		inWhole(t, name, r, whole)
		for _, one := range r.Rounds[0].Candidates {
			at := slices.IndexFunc(c.start, func(e Candidate) bool { return e.String() == one.String() })
			better := 0
			for _, e := range c.start {
				if at >= 0 && e.Rank < c.start[at].Rank {
					better++
				}
			}
			if at < 0 || better >= c.kept[0] {
				t.Errorf("%s: %s is not among the %d best candidates", name, one, c.kept[0])
			}
		}
		if p, err := s.Plan(data); err != nil || p.Fits != r.Fits || p.Candidates != c.kept[0] {
			t.Errorf("%s: planned %+v, %v; %d fits", name, p, err, r.Fits)
		}
	}
	s.Start, s.Strategy = earlier.Candidates, NewHalving(183) // of one round
	if r := mustRun(t, s, data); len(r.Rounds) != 1 || len(r.Candidates) != 6 {
		t.Errorf("%d rounds, the last of %d candidates", len(r.Rounds), len(r.Candidates))
	}
}

// All errors of a start are reported at once, before any fit.
func TestStartErrors(t *testing.T) {
	scored := func(mean float64, settings ...param.Setting) Candidate {
		return Candidate{Settings: settings, Summary: Summary{Name: "mean_squared_error", Mean: mean}}
	}
	shrink, shift := param.Setting{Path: "shrink", Value: 1.0}, param.Setting{Path: "shift", Value: 1}
	other := scored(1, shrink)
	other.Name = "r2"
	failed := scored(math.NaN(), shrink, shift)
	failed.Failed = "no"
	for _, strategy := range []Strategy{nil, NewCoordinate(), NewHalving(10)} {
		for _, c := range []struct {
			start []Candidate
			want  []string
		}{
			{[]Candidate{}, []string{"start: no candidate has a score"}},
			{[]Candidate{failed}, []string{"start: no candidate has a score"}},
			{[]Candidate{other}, []string{"start: the axes must be shift, shrink, got shrink",
				"start: the score must be mean_squared_error, got r2"}},
			{[]Candidate{scored(1)}, []string{"start: the axes must be shift, shrink, got none"}},
			{[]Candidate{scored(1, shift, param.Setting{Path: "shrink", Value: "auto"})},
				[]string{"start: no candidate is on the grid; the best is shift=1 shrink=auto"}},
		} {
			p := &probe{}
			s := lineSearch(p)
			s.Strategy, s.Start = strategy, c.start
			_, err := s.Run(context.Background(), quantities(60))
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) || p.fits > 0 {
					t.Errorf("%T: %v after %d fits, want %s", strategy, err, p.fits, want)
				}
				if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%T: the check has %v, want %s", strategy, err, want)
				}
			}
		}
	}
	s := lineSearch(nil)
	s.Start, s.Journal = []Candidate{scored(1, shrink, shift)}, filepath.Join(t.TempDir(), "journal")
	if err := s.RunShard(context.Background(), quantities(60), 0, 2); err == nil ||
		!strings.Contains(err.Error(), "a search with a start") {
		t.Errorf("a shard: %v", err)
	}
	s.Grid[0].Values = []any{0.5, 7.0} // of which one corner is refused
	s.Grid[1].Values = []any{0, 1, 2, 3, 7}
	if _, err := s.Run(context.Background(), quantities(60)); err == nil ||
		!strings.Contains(err.Error(), "anything but 7") {
		t.Errorf("a corner: %v", err)
	}
}

// An interrupted search resumes in any round, and only with the same start.
func TestStartJournal(t *testing.T) {
	s, data := bowlSearch(separable, nil)
	whole := mustRun(t, s, data)
	for _, strategy := range []Strategy{nil, NewCoordinate()} {
		started := func(p *probe) Search {
			s, _ := bowlSearch(moved, p)
			s.Strategy, s.Start, s.Workers = strategy, whole.Candidates, 1
			s.Journal = filepath.Join(t.TempDir(), "journal")
			return s
		}
		want := mustRun(t, started(nil), data)
		for _, after := range []int{1, 20, want.Fits - 1} {
			ctx, cancel := context.WithCancel(context.Background())
			p := &probe{after: after, then: cancel}
			c := started(p)
			if _, err := c.Run(ctx, data); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			p.after = -1
			if again := mustRun(t, c, data); table(again) != table(want) || again.Resumed != after-1 {
				t.Errorf("%T canceled in fit %d: %d resumed\n%swant\n%s", strategy, after, again.Resumed, table(again),
					table(want))
			}
			for _, start := range [][]Candidate{nil, whole.Candidates[:3]} {
				c.Start = start
				if _, err := c.Run(context.Background(), data); !errors.Is(err, journal.ErrOther) {
					t.Errorf("%T with another start: %v", strategy, err)
				}
			}
		}
	}
	s = NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: []any{1.0}}) // of one candidate in all rounds
	s.Strategy, s.Journal = NewHalving(10), filepath.Join(t.TempDir(), "journal")
	s.Start = mustRun(t, s, quantities(60)).Candidates
	if _, err := s.Run(context.Background(), quantities(60)); !errors.Is(err, journal.ErrOther) {
		t.Errorf("a start of a halving: %v", err)
	}
}

// A streamed search continues, too.
func TestStartOfAStream(t *testing.T) {
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e3, 30)})
	s.Splitter = datasets.HashKFold{Folds: 3}
	data := quantities(90)
	earlier := mustRun(t, s, data)
	s.Start = earlier.Candidates
	r, err := s.RunSource(context.Background(), data.Source())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Best().String(); got != earlier.Best().String() || len(r.Candidates) > 8 || !r.Started {
		t.Errorf("%d candidates, the best is %s, and was %s", len(r.Candidates), got, earlier.Best())
	}
}
