package gridsearch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
)

// inTime runs a test with a fake clock that advances only when every goroutine is blocked, so a fit
// that hangs reaches the end of the budget at once.
func inTime(t *testing.T, f func(t *testing.T, began time.Time)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, time.Now()) })
}

// lateSearch is lineSearch with a budget of one minute, whose fits block after the first hangAfter
// until the minute is over.
func lateSearch(t *testing.T, hangAfter int) Search {
	s := lineSearch(&probe{hangAfter: hangAfter, hangUntil: hangAfter + 1})
	s.Workers, s.Budget = 1, time.Minute
	s.Journal = filepath.Join(t.TempDir(), "journal")
	return s
}

// The budget cancels the running fits. Candidates with scores on all folds count, the best is
// refitted, and another run with a new budget completes the search.
func TestBudget(t *testing.T) {
	data := quantities(60)
	want := table(mustRun(t, lineSearch(nil), data))
	inTime(t, func(t *testing.T, began time.Time) {
		s := lateSearch(t, 7) // two candidates and a fold of the third
		r := mustRun(t, s, data)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %v", took)
		}
		if r.Unreached != 36-7 || r.Best().Rank != 1 || r.BestIndex > 1 || r.Model == nil ||
			!strings.Contains(strings.Join(r.Warnings, ";"), "the budget of 1m0s ended before 29 of 36 fits") {
			t.Errorf("%d not reached; best %s; %q", r.Unreached, r.Best(), r.Warnings)
		}
		for i, c := range r.Candidates {
			if reached := c.Failed == ""; reached != (i < 2) || !reached &&
				!strings.Contains(c.Failed, "not reached within the time budget") {
				t.Errorf("candidate %d: %q", i, c.Failed)
			}
		}
		s.Estimator = lineSearch(nil).Estimator
		if r := mustRun(t, s, data); r.Resumed != 7 || r.Unreached != 0 || table(r) != want {
			t.Errorf("%d taken; the table differs: %v", r.Resumed, table(r) != want)
		}
	})
}

// Without a finished candidate the search returns an error with its progress.
func TestBudgetBeforeTheFirstCandidate(t *testing.T) {
	data := quantities(60)
	inTime(t, func(t *testing.T, _ time.Time) {
		s := lateSearch(t, 2)
		_, err := s.Run(context.Background(), data)
		if !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(),
			"2 of 36 fits are done; the journal has them, and another run resumes from it; increase the budget") {
			t.Errorf("error is %v", err)
		}
		s.Estimator = lineSearch(nil).Estimator
		if r := mustRun(t, s, data); r.Resumed != 2 {
			t.Errorf("%d taken", r.Resumed)
		}
		s = lateSearch(t, 4) // a candidate that fails, and a fold of one that does not
		s.Grid[0] = Axis{Path: "mode", Values: []any{"fail", "fit"}}
		s.Grid = s.Grid[:1]
		if _, err := s.Run(context.Background(), data); !errors.Is(err, ErrBudget) ||
			!strings.Contains(err.Error(), "and 1 candidates failed, the first, mode=fail: fold 0: line: told to fail") {
			t.Errorf("error is %v", err)
		}
	})
}

// To cancel is not to be late.
func TestCancelWithinTheBudget(t *testing.T) {
	inTime(t, func(t *testing.T, _ time.Time) {
		s := lateSearch(t, 7)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := s.Run(ctx, quantities(60)); err != context.DeadlineExceeded {
			t.Errorf("error is %v", err)
		}
		s.Estimator = lineSearch(nil).Estimator
		if r := mustRun(t, s, quantities(60)); r.Resumed != 7 {
			t.Errorf("%d taken", r.Resumed)
		}
	})
}

// TestBudgetOfABatch checks that a BatchFitter is first called with single candidates, so that the
// shortest budget gives a result.
func TestBudgetOfABatch(t *testing.T) {
	data := quantities(60)
	spec := batching{line: newLine()}
	s := lineSearch(nil)
	s.Estimator = spec
	want := table(mustRun(t, s, data))
	inTime(t, func(t *testing.T, _ time.Time) {
		spec.probe = &probe{hangAfter: 7, hangUntil: 8}
		s.Estimator, s.Budget, s.Journal = spec, time.Minute, filepath.Join(t.TempDir(), "journal")
		r := mustRun(t, s, data)
		if done := len(r.Candidates)*3 - r.Unreached; done < 3 || done > 18 {
			t.Errorf("%d fits done", done)
		}
		spec.probe = nil
		s.Estimator, s.Budget = spec, time.Hour
		if r := mustRun(t, s, data); r.Resumed == 0 || table(r) != want {
			t.Errorf("%d taken; the table differs: %v", r.Resumed, table(r) != want)
		}
	})
}

func TestPartsOfABudget(t *testing.T) {
	for n := range 200 {
		times := make([]int, n)
		list := budgetParts(n, 5)
		for _, p := range list {
			for i := p[0]; i < p[1]; i++ {
				times[i]++
			}
			if p[1]-p[0] > (n+7)/8 {
				t.Errorf("%d candidates: part %v", n, p)
			}
		}
		if slices.ContainsFunc(times, func(k int) bool { return k != 1 }) || n > 0 && list[0][1]-list[0][0] != 1 {
			t.Errorf("%d candidates: parts %v", n, list)
		}
	}
}

// The budget of a halving is one for all rungs. It ends in the second here: with a candidate that is
// scored there, and without.
func TestBudgetOfAHalving(t *testing.T) {
	data := quantities(240)
	halving := func(s Search) Search {
		s.Strategy = NewHalving(20)
		return s
	}
	whole := mustRun(t, halving(lineSearch(nil)), data)
	if len(whole.Rounds) != 3 || len(whole.Rounds[1].Candidates) != 4 {
		t.Fatalf("%+v", whole)
	}
	for hangAfter, want := range map[int]struct{ rounds, unreached int }{
		36 + 5: {2, 12 - 5}, 36 + 2: {1, 12 - 2}, 36: {1, 12},
	} {
		inTime(t, func(t *testing.T, began time.Time) {
			s := halving(lateSearch(t, hangAfter))
			r := mustRun(t, s, data)
			if time.Since(began) != time.Minute {
				t.Fatalf("after %v", time.Since(began))
			}
			if len(r.Rounds) != want.rounds || r.Unreached != want.unreached || r.Model == nil || r.Best().Failed != "" {
				t.Errorf("%d rounds, %d unreached, best %v", len(r.Rounds), r.Unreached, r.Best())
			}
			warnings := strings.Join(r.Warnings, "; ")
			if !strings.Contains(warnings, "the budget of 1m0s ended") ||
				!strings.Contains(warnings, "the scores of the best candidate are those with rows") {
				t.Errorf("warnings are %q", warnings)
			}
			s.Estimator = lineSearch(nil).Estimator
			if again := mustRun(t, s, data); len(again.Rounds) != 3 || again.Resumed != hangAfter ||
				table(again) != table(whole) {
				t.Errorf("another run resumes %d fits in %d rounds", again.Resumed, len(again.Rounds))
			}
		})
	}
	inTime(t, func(t *testing.T, _ time.Time) {
		if _, err := halving(lateSearch(t, 2)).Run(context.Background(), data); !errors.Is(err, ErrBudget) {
			t.Errorf("error is %v", err)
		}
	})
}

// stubborn is a BatchFitter that ignores its context until Yield fails, and then reports every
// remaining fit as failed.
type stubborn struct {
	line
	yields *int
}

func (s *stubborn) Params(l *param.List) { s.line.Params(l) }

func (s stubborn) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	for i, c := range b.Candidates {
		for k, fold := range b.Folds {
			if !b.Includes(i, k) {
				continue
			}
			*s.yields++
			p, err := c.Estimator.(estimator.Estimator).Fit(context.Background(), b.Data.Select(fold.Train))
			if err != nil {
				return nil, err
			}
			out := batch.Outcome{Err: ctx.Err()}
			if out.Err == nil {
				predicted, err := estimator.Predict(context.Background(), p, b.Data.Select(fold.Test).X, estimator.Request{})
				out.Prediction, out.Err = predicted, err
			}
			if err := b.Yield(i, k, out); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

func (s stubborn) PlanBatch(batch.Job) (int64, error) { return 0, nil }

// On cancellation a batch ends with the running fit. The journal has the finished fits and not
// those that failed because of the cancellation.
func TestCancelEndsABatch(t *testing.T) {
	data := quantities(60)
	yields := 0
	s := lineSearch(nil)
	s.Estimator = stubborn{newLine(), &yields}
	want := table(mustRun(t, s, data))
	for _, within := range []bool{false, true} { // while a result is taken in, and between two
		s.Journal, yields = filepath.Join(t.TempDir(), "journal"), 0
		ctx, cancel := context.WithCancel(context.Background())
		s.Progress = func(p Progress) {
			if p.Done == 5 && within {
				cancel()
			}
		}
		s.Estimator = stubborn{newLine(), &yields}
		if !within {
			spec := newLine()
			spec.probe = &probe{deaf: true, after: 6, then: cancel}
			s.Estimator = stubborn{spec, &yields}
		}
		if _, err := s.Run(ctx, data); err != context.Canceled || yields > 6 || within && yields > 5 {
			t.Errorf("%v after %d fits", err, yields)
		}
		s.Progress, s.Estimator = nil, stubborn{newLine(), &yields}
		if r := mustRun(t, s, data); r.Resumed != 5 || table(r) != want {
			t.Errorf("%d taken; the table differs: %v", r.Resumed, table(r) != want)
		}
	}
}

// TestCancelBeforeTheFirstFit checks that a search canceled before its start does nothing, even if
// no work is left.
func TestCancelBeforeTheFirstFit(t *testing.T) {
	s := lineSearch(nil)
	s.Refit = RefitNone
	s.Journal = filepath.Join(t.TempDir(), "journal")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(ctx, quantities(60)); err != context.Canceled {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(s.Journal); err == nil {
		t.Error("there is a journal")
	}
	mustRun(t, s, quantities(60))
	if _, err := s.Run(ctx, quantities(60)); err != context.Canceled {
		t.Errorf("with all fits done: error is %v", err)
	}
}

// mute predicts nothing if Shift is 9. Any other fit blocks until it is canceled, and then
// succeeds.
type mute struct{ line }

func (s *mute) Params(l *param.List) { s.line.Params(l) }

func (s mute) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if s.Shift == 9 {
		return silence{}, nil
	}
	<-ctx.Done()
	return s.line.Fit(context.Background(), data)
}

type silence struct{}

func (silence) Predict(context.Context, mat.Matrix) ([]float64, error) { return nil, nil }

// TestBrokenSearchStaysBroken checks that an internal error ends the search and cancels the
// concurrent fits, whatever they return.
func TestBrokenSearchStaysBroken(t *testing.T) {
	spec := mute{newLine()}
	spec.probe = &probe{deaf: true}
	s := NewSearch(spec, Axis{Path: "shift", Values: []any{9, 1, 2}})
	s.Splitter, s.Workers, s.Score = datasets.TrainTest{Test: 0.3}, 3, "mse"
	r, err := s.prepare(quantities(60), MaxCandidates)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.evaluate(context.Background()); err == nil || !strings.Contains(err.Error(),
		"which the model does not give") || r.done != 0 {
		t.Errorf("%v, %d done", err, r.done)
	}
}
