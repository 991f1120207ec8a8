package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/param"
)

// TestRandomSearch checks that a random search evaluates a subset of the grid, with the scores of
// the full search.
func TestRandomSearch(t *testing.T) {
	data := quantities(60)
	whole := mustRun(t, lineSearch(nil), data)
	s := lineSearch(nil)
	s.Random, s.Seed = 5, 3
	some := mustRun(t, s, data)
	if len(some.Candidates) != 5 || some.Fits != 15 {
		t.Fatalf("%d candidates, %d fits", len(some.Candidates), some.Fits)
	}
	at := -1
	for _, c := range some.Candidates {
		next := slices.IndexFunc(whole.Candidates, func(w Candidate) bool {
			return reflect.DeepEqual(w.Settings, c.Settings)
		})
		if next <= at || !reflect.DeepEqual(whole.Candidates[next].Folds, c.Folds) {
			t.Errorf("%s is number %d of the grid, after %d", c, next, at)
		}
		at = next
	}
	again := mustRun(t, s, data)
	s.Seed = 4
	other := mustRun(t, s, data)
	if table(again) != table(some) || table(other) == table(some) {
		t.Error("the candidates are not those of the seed")
	}
	s.Random = -1
	if _, err := s.Run(context.Background(), data); err == nil ||
		!strings.Contains(err.Error(), "random: must be a number of candidates ≥ 0, got -1") {
		t.Errorf("error is %v", err)
	}
}

// TestBudgetOfRidge checks that with a budget a batch is requested in parts, with the same table.
func TestBudgetOfRidge(t *testing.T) {
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e3, 9)})
	want := table(mustRun(t, s, quantities(60)))
	s.Budget = time.Hour
	if r := mustRun(t, s, quantities(60)); table(r) != want || len(r.Warnings) > 0 {
		t.Errorf("the table differs, or %q", r.Warnings)
	}
}

// Each round of a halving is the search of its candidates on its rows; the last has all rows.
func TestHalving(t *testing.T) {
	data := quantities(240)
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e4, 18)})
	s.Score, s.Splitter = "mse", datasets.KFold{Folds: 4}
	s.Journal = filepath.Join(t.TempDir(), "journal")
	whole := s
	s.Strategy = NewHalving(20)
	r := mustRun(t, s, data)
	var rows, kept []int
	for _, round := range r.Rounds {
		rows, kept = append(rows, round.Resource), append(kept, len(round.Candidates))
	}
	if !slices.Equal(rows, []int{20, 60, 180}) || !slices.Equal(kept, []int{18, 6, 2}) || r.Fits != 4*26 {
		t.Errorf("rounds of %v rows and %v candidates, %d fits", rows, kept, r.Fits)
	}
	all := mustRun(t, unnoted(whole), data)
	for k, round := range r.Rounds { // the best candidates survive
		for _, c := range round.Candidates {
			same := func(o Candidate) bool { return o.String() == c.String() }
			if k > 0 {
				before := r.Rounds[k-1].Candidates
				if at := slices.IndexFunc(before, same); at < 0 || before[at].Rank > len(round.Candidates) {
					t.Errorf("%s goes on to round %d", c, k)
				}
			}
			if at := slices.IndexFunc(all.Candidates, same); k == 2 && !reflect.DeepEqual(c.Folds, all.Candidates[at].Folds) {
				t.Errorf("%s has other scores in the search of all", c)
			}
		}
	}
	if last := r.Rounds[2]; r.Model == nil || last.Best().String() != r.Best().String() ||
		!reflect.DeepEqual(last.Candidates, r.Candidates) {
		t.Errorf("the best is %s", r.Best())
	}
	if again := mustRun(t, s, data); again.Resumed != r.Fits || table(again) != table(r) {
		t.Errorf("%d of %d fits are resumed", again.Resumed, r.Fits)
	}
}

// unnoted is a search without a journal.
func unnoted(s Search) Search {
	s.Journal = ""
	return s
}

// TestHalvingOfAParameter checks that a parameter can be the resource.
func TestHalvingOfAParameter(t *testing.T) {
	s := NewSearch(estimator.NewLogistic(), Axis{Path: "C", Values: Log(1e-3, 1e2, 6)})
	s.Strategy = Halving{Resource: "max_iter", MinResources: 1, MaxResources: 50, Factor: 4}
	r := mustRun(t, s, labels(80))
	if len(r.Rounds) != 4 || r.Rounds[3].Resource != 50 || len(r.Rounds[1].Candidates) != 2 || len(r.Candidates) != 1 {
		t.Fatalf("rounds %+v", r.Rounds)
	}
	for _, c := range []struct {
		h    Halving
		want string
	}{
		{Halving{Resource: "max_iter", MinResources: 5, MaxResources: 4, Factor: 2},
			"halving: min_resources must be at least 1 and at most max_resources, got 5 and 4 of max_iter"},
		{Halving{Resource: "rows", MinResources: 5, Factor: 1}, "factor: must be an integer ≥ 2, got 1"},
		{Halving{Resource: "rank", MinResources: 5, MaxResources: 9, Factor: 2}, "rank"},
		{Halving{Resource: "rows", MinResources: 5, MaxResources: 1e9, Factor: 2},
			"max_resources: must be at most 64, the rows that a fold trains on, got 1000000000"},
		{Halving{Resource: "rows", MinResources: 1e9, Factor: 2},
			"halving: min_resources must be at least 1 and at most max_resources, got 1000000000 and 64 of rows"},
		{Halving{Resource: "rows", MinResources: -5, Factor: 2}, "min_resources: must be an integer ≥ 0, got -5"},
		{Halving{Resource: "rows", Factor: 2},
			"halving: min_resources must be at least 1 and at most max_resources, got 0 and 64 of rows"},
	} {
		s.Strategy = c.h
		if _, err := s.Run(context.Background(), labels(80)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestHalvingByALargeFactor checks that with a large factor the next round has the full resource
// and at least one candidate.
func TestHalvingByALargeFactor(t *testing.T) {
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e4, 5)})
	s.Strategy = Halving{Resource: "rows", MinResources: 10, Factor: math.MaxInt32}
	r := mustRun(t, s, quantities(60))
	if len(r.Rounds) != 2 || r.Rounds[1].Resource != 48 || len(r.Candidates) != 1 {
		t.Fatalf("%+v", r)
	}
	if p, err := s.Plan(quantities(60)); err != nil || p.Fits != 5*(5+1) {
		t.Errorf("%+v, %v", p, err)
	}
}

// A halving whose last round does not fit in memory fails before its first fit.
func TestHalvingLooksAtTheLastRoundFirst(t *testing.T) {
	p := &probe{}
	s := lineSearch(p)
	s.Grid = s.Grid[:1]
	s.Memory = 40_000
	s.Strategy = Halving{Resource: "shift", MinResources: 1, MaxResources: 1000, Factor: 10}
	if _, err := s.Run(context.Background(), quantities(60)); err == nil ||
		!strings.Contains(err.Error(), "more memory than the bound") || p.fits > 0 {
		t.Errorf("%v after %d fits", err, p.fits)
	}
}

// A random search of a grid of more points than can be counted tries different ones, in the order of the
// grid, the same for the same seed, and every value as often as any other.
func TestRandomSearchOfAFineGrid(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("thousands of candidates")
	}
	for _, axes := range []int{13, 18, 60} {
		s := NewSearch(&many{})
		for k := range axes {
			s.Grid = append(s.Grid, Axis{Path: fmt.Sprintf("x%d", k), Values: []any{0.25, 1.0, 4.0}})
		}
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "random tries some of them") {
			t.Errorf("all of it: %v", err)
		}
		s.Random, s.Seed = 3000, 7
		all := tried(t, s)
		if len(all) != 3000 {
			t.Fatal(len(all))
		}
		times := make([][3]float64, axes)
		for i, c := range all {
			if i > 0 && slices.Compare(all[i-1].point, c.point) >= 0 {
				t.Fatalf("candidate %d is at %v, the one before at %v", i, c.point, all[i-1].point)
			}
			for k, v := range c.point {
				times[k][v]++
				if c.spec.(*many).x[k] != s.Grid[k].Values[v] {
					t.Fatalf("candidate %d at %v is %v", i, c.point, c.spec)
				}
			}
		}
		for k := range times {
			for _, n := range times[k] {
				if math.Abs(n-1000) > 5*math.Sqrt(3000*2./9) {
					t.Errorf("values of axis %d are drawn %v times", k, times[k])
				}
			}
		}
		again := tried(t, s)
		s.Seed = 8
		other := tried(t, s)
		same := func(a, b candidate) bool { return slices.Equal(a.point, b.point) }
		if !slices.EqualFunc(all, again, same) || slices.EqualFunc(all, other, same) {
			t.Error("the candidates are not those of the seed")
		}
	}
}

// TestDrawingEveryPoint checks that all points of a grid can be drawn.
func TestDrawingEveryPoint(t *testing.T) {
	grid := make(axes, 3)
	for k := range grid {
		grid[k] = make([]param.Setting, 5+k)
	}
	points := grid.sampleDistinct(5*6*7, rand.New(rand.NewPCG(1, 1)))
	if !slices.EqualFunc(points, grid.all(), slices.Equal[point]) {
		t.Errorf("the points are %v", points)
	}
}

// A plan of a million candidates samples them.
func TestPlanOfManyCandidates(t *testing.T) {
	p := &probe{}
	s := lineSearch(p)
	s.Grid = []Axis{{Path: "shrink", Values: Lin(0, 1, 1000)}, {Path: "shift", Values: Lin(0, 999, 1000)}}
	for random, want := range map[int]int{0: 1_000_000, 50_000: 50_000} {
		s.Random, p.costs = random, 0
		plan, err := s.Plan(quantities(60))
		if err != nil || plan.Candidates != want || plan.Fits != 3*want {
			t.Errorf("%+v, %v", plan, err)
		}
		if plan.Bytes < 2*1_000_000 { // the plan includes the largest values of the grid
			t.Errorf("%d bytes", plan.Bytes)
		}
		halving := s
		halving.Strategy = Halving{Resource: "rows", MinResources: 20, Factor: 2}
		plan, err = halving.Plan(quantities(60))
		if err != nil || plan.Candidates != want || plan.Fits != 3*(want+want/2) {
			t.Errorf("halving: %+v, %v", plan, err)
		}
		if p.costs > 50_000 {
			t.Errorf("%d costs were asked for", p.costs)
		}
	}
}

// many is a spec of many numbers.
type many struct{ x [64]float64 }

func (s *many) Params(l *param.List) {
	for k := range s.x {
		l.Float(&s.x[k], fmt.Sprintf("x%d", k), "a number", param.Any())
	}
}

func (s *many) Fit(context.Context, datasets.Set) (estimator.Predictor, error) {
	return nil, errors.New("not fitted here")
}

// tried are the candidates of a search in one round.
func tried(t *testing.T, s Search) []candidate {
	t.Helper()
	rounds, errs := s.begin(MaxCandidates)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return rounds.known()
}

// TestHalvingIsAnEstimator checks that a halving search is an estimator: its fit predicts like the
// model of its last round, and it can itself be searched.
func TestHalvingIsAnEstimator(t *testing.T) {
	data := labels(120)
	search := NewSearch(estimator.NewLogistic(), Axis{Path: "C", Values: []any{0.01, 1.0, 100.0}})
	search.Strategy = NewHalving(20)
	p, err := search.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := estimator.Predict(context.Background(), p, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := estimator.Predict(context.Background(), mustRun(t, search, data).Model, data.X, estimator.Request{})
	if err != nil || want.Probabilities == nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it predicts %v, the model of the last round %v, %v", got.Values, want.Values, err)
	}
	outer := mustRun(t, NewSearch(search, Axis{Path: "strategy.min_resources", Values: []any{10, 20}},
		Axis{Path: "estimator.tol", Values: []any{1e-3, 1e-6}}), data)
	if outer.Fits != 20 || outer.Best().Failed != "" {
		t.Errorf("a search of a halving: %+v", outer)
	}
}
