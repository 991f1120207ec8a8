package gridsearch

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// TestTableMatchesNestedLoops checks that the table equals that of three nested loops, in the
// order of the grid, with row weights.
func TestTableMatchesNestedLoops(t *testing.T) {
	data := quantities(60)
	s := lineSearch(nil)
	s.Scores = []string{"mae", "mean_squared_error"}
	r := mustRun(t, s, data)

	folds, err := s.Splitter.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, shrink := range []float64{0.5, 0.9, 1, 1.5} {
		for _, shift := range []int{0, 1, 2} {
			c := r.Candidates[i]
			want := []param.Setting{{Path: "shrink", Value: shrink}, {Path: "shift", Value: shift}}
			if !reflect.DeepEqual(c.Settings, want) {
				t.Fatalf("candidate %d is %v, want %v", i, c.Settings, want)
			}
			var mse, mae []float64
			for _, f := range folds {
				p, err := line{Shrink: shrink, Shift: shift, Mode: "fit"}.Fit(context.Background(), data.Select(f.Train))
				if err != nil {
					t.Fatal(err)
				}
				test := data.Select(f.Test)
				values, _ := p.Predict(context.Background(), test.X)
				var squared, absolute, weight float64
				for j, v := range values {
					e := test.Y[j] - v
					squared, absolute, weight = squared+test.Weights[j]*e*e, absolute+test.Weights[j]*math.Abs(e),
						weight+test.Weights[j]
				}
				mse, mae = append(mse, squared/weight), append(mae, absolute/weight)
			}
			if !near(c.Folds, mse) || len(c.OtherScores) != 1 || c.OtherScores[0].Name != "mean_absolute_error" ||
				!near(c.OtherScores[0].Folds, mae) {
				t.Fatalf("candidate %d has scores %v and %v, want %v and %v", i, c.Folds, c.OtherScores, mse, mae)
			}
			mean := (mse[0] + mse[1] + mse[2]) / 3
			std := math.Sqrt((sq(mse[0]-mean) + sq(mse[1]-mean) + sq(mse[2]-mean)) / 3)
			if !near([]float64{c.Mean, c.Std}, []float64{mean, std}) {
				t.Fatalf("candidate %d has mean %v and std %v, want %v and %v", i, c.Mean, c.Std, mean, std)
			}
			i++
		}
	}
	if i != len(r.Candidates) || r.Fits != 3*i || r.GreaterIsBetter || r.Score != "mean_squared_error" {
		t.Errorf("%d candidates, %d fits, score %s", len(r.Candidates), r.Fits, r.Score)
	}
	for i, c := range r.Candidates {
		better := 0
		for _, o := range r.Candidates {
			if o.Mean < c.Mean {
				better++
			}
		}
		if c.Rank != better+1 {
			t.Errorf("candidate %d has rank %d, %d are better", i, c.Rank, better)
		}
	}
	if r.Best().Rank != 1 || r.Best().String() != "shrink=1 shift=0" {
		t.Errorf("best is %s of rank %d", r.Best(), r.Best().Rank)
	}
	if want := []string{"shift"}; !slices.Equal(r.OnGridEdge, want) {
		t.Errorf("on the edge are %v, want %v", r.OnGridEdge, want)
	}
	if want := []string{"the best shift, 0, is the smallest of its grid: a wider one may do " +
		"better"}; !slices.Equal(r.Warnings, want) {
		t.Errorf("warnings are %q, want %q", r.Warnings, want)
	}
}

func sq(x float64) float64 { return x * x }

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*max(1, math.Abs(y)) })
}

// TestOrderOfCandidates checks that candidates are in lexicographic order of the grid, for all
// shapes.
func TestOrderOfCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		shape := []int{1 + rng.IntN(4), 1 + rng.IntN(5), 1 + rng.IntN(4)}
		s := NewSearch(newLine(),
			Axis{Path: "mode", Values: []any{"stuck", "nan", "fit", "fail"}[:shape[0]]},
			Axis{Path: "shrink", Values: []any{3, 0.5, 2, 1, 4}[:shape[1]]},
			Axis{Path: "shift", Values: []any{5, -1.0, 2, 0}[:shape[2]]})
		all := tried(t, s)
		var got, want [][]any
		for _, c := range all {
			l := c.spec.(line)
			got = append(got, []any{l.Mode, l.Shrink, float64(l.Shift)})
		}
		for _, mode := range s.Grid[0].Values {
			for _, shrink := range s.Grid[1].Values {
				for _, shift := range s.Grid[2].Values {
					a, _ := number(shrink)
					b, _ := number(shift)
					want = append(want, []any{mode, a, b})
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("shape %v: candidates are %v, want %v", shape, got, want)
		}
		r := run{search: s}
		for i, a := range s.Grid {
			if formatValue(r.axisValues(i)) != formatValue(a.Values) {
				t.Errorf("shape %v: axis %d is %v, want %v", shape, i, r.axisValues(i), a.Values)
			}
		}
	}
}

// TestScoresOfClasses checks that scores of decision values and probabilities equal the metric on
// the held-out rows.
func TestScoresOfClasses(t *testing.T) {
	data := labels(50)
	s := NewSearch(logit{1}, Axis{Path: "slope", Values: []any{-1, 1, 3}})
	s.Scores = []string{"log_loss", "roc_auc"}
	r := mustRun(t, s, data)
	folds, _ := datasets.StratifiedKFold{Folds: 5}.Split(data)
	for i, slope := range []float64{-1, 1, 3} {
		for k, f := range folds {
			p, _ := logit{slope}.Fit(context.Background(), data.Select(f.Train))
			test := data.Select(f.Test)
			all, _ := estimator.Predict(context.Background(), p, test.X, estimator.Request{})
			in := metrics.Input{YTrue: test.Y, Weights: test.Weights, YPred: all.Values, Scores: all.Scores,
				Probabilities: all.Probabilities}
			c := r.Candidates[i]
			for name, got := range map[string]float64{"accuracy": c.Folds[k], "log_loss": c.OtherScores[0].Folds[k],
				"roc_auc": c.OtherScores[1].Folds[k]} {
				m, _ := metrics.ByName(name)
				if want, err := m.Score(in); err != nil || got != want {
					t.Errorf("slope %v, fold %d: %s is %v, want %v, %v", slope, k, name, got, want, err)
				}
			}
		}
	}
	if r.Score != "accuracy" || !r.GreaterIsBetter || r.Folds != 5 {
		t.Errorf("defaults are %s on %d folds", r.Score, r.Folds)
	}
}

// TestPredictsRequestedOutputs checks that only outputs used by the metrics are requested from a model.
func TestPredictsRequestedOutputs(t *testing.T) {
	ctx, data := context.Background(), labels(10)
	p, _ := logit{1}.Fit(ctx, data)
	for names, want := range map[string][3]bool{ // values, scores, probabilities
		"accuracy":         {true, false, false},
		"roc_auc":          {false, true, false},
		"log_loss":         {false, false, true},
		"accuracy f1":      {true, false, false},
		"roc_auc log_loss": {false, true, true},
	} {
		list, _ := Search{Scores: strings.Fields(names)}.metrics(nil)
		s := newScorer(list, data, []datasets.Fold{{Test: []int{1, 2}}})
		got, err := s.predict(ctx, p, data.X)
		if err != nil || [3]bool{got.Values != nil, got.Scores != nil, got.Probabilities != nil} != want {
			t.Errorf("%s: got %+v, %v", names, got, err)
		}
	}
	list, _ := Search{Score: "roc_auc"}.metrics(nil)
	s := newScorer(list, data, []datasets.Fold{{Test: []int{1, 2}}})
	if got, err := s.predict(ctx, onlyProbabilities{p.(*fittedLogit)}, data.X); err != nil || got.Probabilities == nil ||
		got.Scores != nil {
		t.Errorf("of a model without scores: %+v, %v", got, err)
	}
}

// onlyProbabilities is a model without scores.
type onlyProbabilities struct{ *fittedLogit }

func (p onlyProbabilities) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputProbabilities, Classes: p.classes}
}

// Class codes without a schema are classes, and every fold knows all of them.
func TestClassesWithoutNames(t *testing.T) {
	data := labels(40)
	data.Schema = datasets.Schema{}
	s := NewSearch(logit{1})
	s.Score = "accuracy"
	r := mustRun(t, s, data)
	if got := estimator.OutputsOf(r.Model).Classes; !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("the model's classes are %q", got)
	}
	data.Y[5] = 3
	if data, err := withClasses(data); err != nil || !slices.Equal(data.Schema.Classes(), []string{"0", "1", "2", "3"}) {
		t.Errorf("classes are %q, %v", data.Schema.Classes(), err)
	}
	if len(r.Candidates) != 1 || r.Best().String() != "the estimator as it is" {
		t.Errorf("no axis makes %d candidates, the best %s", len(r.Candidates), r.Best())
	}
}

func TestSeveralTargets(t *testing.T) {
	data := quantities(30)
	data.Targets = mat.NewDense(30, 2, nil)
	for i, y := range data.Y {
		data.Targets.SetRow(i, []float64{y, 10 + y})
	}
	data.Y, data.Weights = nil, nil
	r := mustRun(t, NewSearch(several{1}, Axis{Path: "scale", Values: []any{0, 1}}), data)
	if r.BestIndex != 1 || r.Score != "r2" {
		t.Errorf("best of %s is candidate %d", r.Score, r.BestIndex)
	}
	p, err := NewSearch(several{1}).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := estimator.Predict(context.Background(), p, data.X, estimator.Request{Outputs: estimator.OutputTargets})
	if err != nil || math.Abs(out.Targets.At(0, 1)-out.Targets.At(0, 0)-10) > 1e-12 {
		t.Errorf("targets are predicted as %v, %v", out.Targets, err)
	}
}

// TestFitForwardsCapabilities checks that the result of Fit has exactly the capabilities of the
// refitted model.
func TestFitForwardsCapabilities(t *testing.T) {
	ctx := context.Background()
	data := labels(40)
	p, err := NewSearch(logit{1}, Axis{Path: "slope", Values: []any{1, 2}}).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := logit{1}.Fit(ctx, data)
	got, err := estimator.Predict(ctx, p, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if expect, _ := estimator.Predict(ctx, want, data.X, estimator.Request{}); !reflect.DeepEqual(got, expect) {
		t.Error("the search predicts otherwise than its best candidate fitted to all rows")
	}
	if got := estimator.OutputsOf(p).Classes; !slices.Equal(got, []string{"left", "right"}) {
		t.Errorf("%T has the classes %q", p, got)
	}

	p, err = lineSearch(nil).Fit(ctx, quantities(40))
	if err != nil {
		t.Fatal(err)
	}
	if has := estimator.OutputsOf(p); has.Classes != nil || has.Has != estimator.OutputValues {
		t.Errorf("a search of a regression has the outputs %+v", has)
	}
	report := p.(estimator.Reporter).Report()
	if report.Solver != "closed form" || !report.Converged || len(report.Warnings) != 1 {
		t.Errorf("report is %+v", report)
	}
}

func TestRefitNone(t *testing.T) {
	s := lineSearch(nil)
	s.Refit = RefitNone
	r := mustRun(t, s, quantities(40))
	if r.Model != nil {
		t.Error("refitted all the same")
	}
	if _, err := r.Predict(context.Background(), nil); err == nil ||
		err.Error() != "gridsearch: the search refitted no model to predict with" {
		t.Errorf("Predict reports %v", err)
	}
	if _, err := s.Fit(context.Background(), quantities(40)); err == nil ||
		!strings.Contains(err.Error(), "refit is none") {
		t.Errorf("Foutput %v", err)
	}
}

// TestSearchesNest checks that an outer search scores the results of inner searches.
func TestSearchesNest(t *testing.T) {
	inner := lineSearch(nil)
	outer := NewSearch(inner, Axis{Path: "estimator.mode", Values: []any{"fit", "fail"}},
		Axis{Path: "refit", Values: []any{"best", "one_std_error"}})
	outer.Splitter = datasets.KFold{Folds: 2}
	r := mustRun(t, outer, quantities(60))
	if r.BestIndex != 0 || r.Candidates[2].Rank != 3 || !strings.Contains(r.Candidates[2].Failed,
		"every candidate failed") {
		t.Errorf("candidates are %+v", r.Candidates)
	}
}

// The table and its order depend neither on workers nor on how long each fit takes.
func TestSchedulingDoesNotShow(t *testing.T) {
	data := quantities(60)
	want := table(mustRun(t, lineSearch(nil), data))
	for _, workers := range []int{1, 2, 7, 100} {
		p := &probe{delay: 2 * time.Millisecond}
		s := lineSearch(p)
		s.Workers = workers
		if got := table(mustRun(t, s, data)); got != want {
			t.Errorf("%d workers: the table is\n%s\nwant\n%s", workers, got, want)
		}
		if p.most > workers || p.fits != 37 {
			t.Errorf("%d workers: %d fits, %d at once", workers, p.fits, p.most)
		}
	}
}

func TestMemoryBound(t *testing.T) {
	data := quantities(60)
	rows := int64(60*2*8 + 60*8) // of which each fit copies
	p := &probe{delay: time.Millisecond}
	s := lineSearch(p)
	s.Workers, s.Memory = 8, 3*rows+6000 // a shift of 2 needs 3000 in addition to the rows
	mustRun(t, s, data)
	if p.maxBytes > 6000 || p.most < 2 {
		t.Errorf("%d fits held %d bytes at once", p.most, p.maxBytes)
	}

	p = &probe{}
	s = lineSearch(p)
	s.Memory = rows + 1500
	_, err := s.Run(context.Background(), data)
	want := "gridsearch: 8 of 12 candidates need more memory than the bound of 2.94 kB; the first, 1 (shrink=0.5 " +
		"shift=1), needs about 3.44 kB: raise the bound or leave them out"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if p.fits != 0 {
		t.Errorf("%d fits before the refusal", p.fits)
	}
}

// TestCancel checks that a canceled search returns the error of the context quickly and leaks
// nothing.
func TestCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 4} {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		p := &probe{hangAfter: 10}
		s := lineSearch(p)
		s.Workers = workers
		s.Progress = func(p Progress) {
			if p.Done >= 7 {
				cancel(enough)
			}
		}
		if _, err := s.Run(ctx, quantities(40)); !errors.Is(err, context.Canceled) || !errors.Is(err, enough) {
			t.Errorf("%d workers: error is %v", workers, err)
		}
		if p.running != 0 {
			t.Errorf("%d workers: %d fits are still running", workers, p.running)
		}
		s.Estimator = batching{line: s.Estimator.(line)}
		if _, err := s.Run(ctx, quantities(40)); !errors.Is(err, context.Canceled) || !errors.Is(err, enough) {
			t.Errorf("a sweep: error is %v", err)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestProgress(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		s := lineSearch(nil)
		if sweep {
			s.Estimator = batching{line: newLine()}
		}
		var calls []Progress
		s.Progress = func(p Progress) { calls = append(calls, p) }
		r := mustRun(t, s, quantities(40))
		if len(calls) != 37 || calls[0].Candidate != -1 || calls[0].Done != 0 || calls[0].Total != 36 {
			t.Fatalf("%d calls, the first %+v", len(calls), calls[0])
		}
		for i, c := range calls[1:] {
			if c.Done != i+1 || c.Score != r.Candidates[c.Candidate].Folds[c.Fold] {
				t.Errorf("call %d is %+v", i, c)
			}
		}
	}
}

// A BatchFitter gives the same table as separate fits, in any order of its reports.
func TestBatchFitter(t *testing.T) {
	data := quantities(60)
	want := mustRun(t, lineSearch(nil), data)
	s := lineSearch(nil)
	s.Estimator = batching{line: newLine()}
	got := mustRun(t, s, data)
	if !slices.Equal(got.Shared, []string{"prefix", "folds"}) {
		t.Errorf("shared is %q", got.Shared)
	}
	want.Shared = got.Shared
	if table(got) != table(want) {
		t.Errorf("the sweep's table is\n%s\nwant\n%s", table(got), table(want))
	}
}

func TestBatchFitterErrors(t *testing.T) {
	for problem, want := range map[string]string{
		"twice":   "gridsearch: gridsearch.batching.FitBatch reported candidate 1 on fold 2 twice, or unasked",
		"outside": "gridsearch: gridsearch.batching.FitBatch reported candidate 12 on fold 2, of 12 and 3",
		"missing": "gridsearch: gridsearch.batching.FitBatch did not report candidate 0 on fold 1",
	} {
		s := lineSearch(nil)
		s.Estimator = batching{line: newLine(), problem: problem}
		if _, err := s.Run(context.Background(), quantities(30)); err == nil || err.Error() != want {
			t.Errorf("%s: error is %v, want %s", problem, err, want)
		}
	}
}

// A candidate that fails or predicts NaN ranks last, with the reason.
func TestFailedCandidates(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		s := lineSearch(nil)
		s.Grid = []Axis{{Path: "mode", Values: []any{"fail", "nan", "stuck", "fit"}}, {Path: "shift", Values: []any{0, 1}}}
		if sweep {
			s.Estimator = batching{line: newLine()}
		}
		r := mustRun(t, s, quantities(40))
		if r.BestIndex != 4 {
			t.Errorf("of two equal candidates, 4 and 6, the best is %d", r.BestIndex)
		}
		for i, want := range []struct {
			rank   int
			failed string
		}{{5, "fold 0: line: told to fail"}, {5, "fold 0: line: told to fail"},
			{5, "fold 0: metrics: mean_squared_error: "}, {5, "fold 0: metrics: mean_squared_error: "},
			{1, ""}, {3, ""}, {1, ""}, {3, ""}} {
			c := r.Candidates[i]
			if c.Rank != want.rank || !strings.HasPrefix(c.Failed, want.failed) || (c.Failed == "") != (want.failed == "") {
				t.Errorf("candidate %d has rank %d and failed with %q, want %+v", i, c.Rank, c.Failed, want)
			}
			if math.IsNaN(c.Mean) != (c.Failed != "") {
				t.Errorf("candidate %d has mean %v", i, c.Mean)
			}
		}
		warnings := []string{"4 of 8 candidates failed; the first, mode=fail shift=0: fold 0: line: told to fail"}
		if !sweep { // the fake sweeper makes no reports
			warnings = append(warnings, "6 of 24 fits did not converge")
		}
		if !slices.Equal(r.Warnings, warnings) {
			t.Errorf("warnings are %q, want %q", r.Warnings, warnings)
		}
	}
	s := lineSearch(nil)
	s.Grid = []Axis{{Path: "mode", Values: []any{"fail"}}}
	if _, err := s.Run(context.Background(), quantities(40)); err == nil ||
		err.Error() != "gridsearch: every candidate failed; the first, mode=fail: fold 0: line: told to fail" {
		t.Errorf("error is %v", err)
	}
}

// TestCandidateOfOutcomes checks that scores whose mean overflows fail their candidate, and that
// its seconds are those of one fit.
func TestCandidateOfOutcomes(t *testing.T) {
	m, _ := metrics.ByName("mse")
	r := run{scorer: &scorer{metrics: []metrics.Metric{m}}}
	c := r.candidate(candidate{}, []outcome{{Scores: []float64{1.5e308}, Seconds: 1},
		{Scores: []float64{1.5e308}, Seconds: 3}})
	if c.Failed != "the mean of the scores is too large for a number" || !math.IsNaN(c.Mean) || c.Seconds != 2 {
		t.Errorf("candidate is %+v", c)
	}
}

// A metric without a value on some fold does not hide the one that decides.
func TestUndefinedScores(t *testing.T) {
	data := labels(40)
	for i := range data.Y { // the last of four folds has one class
		data.Y[i] = float64(i % 2)
		if i >= 30 {
			data.Y[i] = 1
		}
	}
	s := NewSearch(logit{1}, Axis{Path: "slope", Values: []any{1, 2}})
	s.Splitter, s.Scores = datasets.KFold{Folds: 4}, []string{"roc_auc"}
	r := mustRun(t, s, data)
	if c := r.Candidates[0]; c.Failed != "" || !math.IsNaN(c.OtherScores[0].Mean) ||
		!math.IsNaN(c.OtherScores[0].Folds[3]) || math.IsNaN(c.OtherScores[0].Folds[0]) {
		t.Errorf("candidate is %+v", c)
	}
	if want := []string{"roc_auc has no value on 2 of 8 fits"}; !slices.Equal(r.Warnings, want) {
		t.Errorf("warnings are %q, want %q", r.Warnings, want)
	}
	s.Score, s.Scores = "roc_auc", nil
	if _, err := s.Run(context.Background(), data); err == nil ||
		!strings.Contains(err.Error(), "every candidate failed; the first, slope=1: fold 3: metrics: roc_auc: ") {
		t.Errorf("error is %v", err)
	}
}

func TestErrorsAreReportedAtOnce(t *testing.T) {
	p := &probe{}
	s := lineSearch(p)
	s.Grid = []Axis{
		{Path: "shrunk", Values: []any{1}},
		{Path: "shrink", Values: []any{-1, 1, 1.0, "wide"}},
		{Path: "shift", Values: []any{}},
		{Path: "mode", Values: []any{"fti"}},
		{Path: "mode", Values: []any{"fit"}},
	}
	s.Score, s.Scores, s.Refit, s.Workers, s.Memory = "r3", []string{"accuracy"}, "last", -1, -2
	_, err := s.Run(context.Background(), quantities(20))
	want := `gridsearch: refit: must be best, one_std_error or none, got "last"
workers: must be an integer ≥ 0, got -1
memory: must be a number of bytes ≥ 0, got -2
shrunk: no such parameter (did you mean shrink?)
shrink: must be a number ≥ 0, got -1
shrink: 1 is there twice
shrink: must be a number ≥ 0, got "wide"
shift: no values to try
mode: must be fit, fail, nan or stuck, got "fti" (did you mean fit?)
mode: given twice in the grid
score: `
	if err == nil || !strings.HasPrefix(err.Error(), want) || p.fits > 0 {
		t.Errorf("%d fits, error is\n%v\nwant\n%s", p.fits, err, want)
	}
	var errs param.FieldErrors
	if !errors.As(err, &errs) || len(errs) != 11 {
		t.Errorf("%d faults", len(errs))
	}
	if s.Check() == nil {
		t.Error("Check finds nothing")
	}
}

func TestErrors(t *testing.T) {
	ok := Axis{Path: "shrink", Values: []any{1, 2, 3}}
	many := Axis{Path: "shift", Values: Lin(0, 1999, 2000)}
	classes := labels(30)
	for name, c := range map[string]struct {
		change func(s *Search, data *datasets.Set)
		want   string
	}{
		"no estimator": {func(s *Search, _ *datasets.Set) { s.Estimator = nil },
			"estimator: must be an estimator, got nothing"},
		"short path": {func(s *Search, _ *datasets.Set) {
			s.Estimator = NewSearch(newLine())
		}, "shrink: no such parameter (did you mean estimator.shrink?)"},
		"a faulty combination": {func(s *Search, _ *datasets.Set) {
			s.Grid = []Axis{{Path: "shrink", Values: []any{1, 7}}, {Path: "shift", Values: []any{1, 7, 8}}}
		}, "shift: must be anything but 7 where shrink is 7, got 7 (in candidate 4: shrink=7 shift=7)"},
		"a faulty spec": {func(s *Search, _ *datasets.Set) { s.Estimator = line{Mode: "fti"} },
			"mode: must be fit, fail, nan or stuck, got \"fti\" (did you mean fit?; in candidate 0: shrink=1)"},
		"too many": {func(s *Search, _ *datasets.Set) {
			s.Grid = []Axis{many, {Path: "shrink", Values: Lin(0, 1999, 2000)}}
		}, "grid: 4000000 candidates, more than the 1048576 that a search takes"},
		"no targets": {func(_ *Search, data *datasets.Set) { data.Y = nil }, "the data has no targets"},
		"wrong task": {func(_ *Search, data *datasets.Set) { *data = classes },
			"score mean_squared_error is for regression; target side has classes"},
		"numeric target": {func(s *Search, data *datasets.Set) {
			s.Score, data.Schema.Targets = "roc_auc", []datasets.Column{{Name: "Y"}}
		}, "score roc_auc is for classification; target Y is numeric"},
		"no codes": {func(s *Search, data *datasets.Set) { s.Score = "accuracy"; data.Y[3] = 0.5 }, "row "},
		"mixed tasks": {func(s *Search, _ *datasets.Set) { s.Scores = []string{"accuracy"} },
			"scores: accuracy is for classification, mean_squared_error for regression"},
		"no rows": {func(_ *Search, data *datasets.Set) { *data = datasets.Set{} },
			"datasets: nothing to learn from: 0 rows, 0 columns"},
		"unmet need": {func(s *Search, data *datasets.Set) { *data = classes; s.Score = "log_loss" },
			"score log_loss needs probabilities, which the model does not give"},
		"too few rows": {func(_ *Search, data *datasets.Set) { *data = data.Slice(0, 2) }, "datasets: "},
		"no folds":     {func(s *Search, _ *datasets.Set) { s.Splitter = given{} }, "gridsearch.given made no folds"},
		"an empty fold": {func(s *Search, _ *datasets.Set) { s.Splitter = given{{Train: []int{1}}} },
			"fold 0 has 1 rows to train on and 0 to test on"},
		"rows outside": {func(s *Search, _ *datasets.Set) { s.Splitter = given{{Train: []int{30}, Test: []int{0}}} },
			"fold 0 has rows outside the 30 of the data"},
	} {
		s := lineSearch(nil)
		s.Grid = []Axis{ok}
		data := quantities(30)
		c.change(&s, &data)
		r, err := s.Run(context.Background(), data)
		if err == nil || !strings.HasPrefix(err.Error(), "gridsearch: "+c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, error %v, want %s", name, r, err, c.want)
		}
	}
}

// given is a splitter whose folds are its own.
type given []datasets.Fold

func (g given) Split(datasets.Set) ([]datasets.Fold, error) { return g, nil }

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		got  []any
		want []any
	}{
		{Log(1e-3, 1, 4), []any{1e-3, 1e-2, 1e-1, 1.0}},
		{Log(1e-8, 1e8, 17), []any{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7,
			1e8}},
		{Log(1, 4, 3), []any{1.0, 2.0, 4.0}},
		{Log(4, 1, 3), []any{4.0, 2.0, 1.0}},
		{Log(1e-300, 1e300, 3), []any{1e-300, 1.0, 1e300}},
		{Lin(0, 1, 11), []any{0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}},
		{Lin(-1e308, 1e308, 3), []any{-1e308, 0.0, 1e308}},
		{Log(0, 1, 3), nil}, {Log(1, math.Inf(1), 3), nil}, {Log(1, 2, 1), nil}, {Lin(0, math.NaN(), 3), nil},
		{Lin(0, 1, -1), nil},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

func TestRank(t *testing.T) {
	nan := math.NaN()
	for _, greater := range []bool{true, false} {
		sign := 1.0
		if !greater {
			sign = -1
		}
		var list []Candidate
		for _, v := range []float64{0.5, nan, 0.7, 0.5, 0.9, 0.9, 0.1, nan} {
			c := Candidate{Summary: Summary{Mean: sign * v}}
			if math.IsNaN(v) {
				c.Failed = "it did"
			}
			list = append(list, c)
		}
		rank(list, metrics.Metric{GreaterIsBetter: greater})
		for i, want := range []int{4, 7, 3, 4, 1, 1, 6, 7} {
			if list[i].Rank != want {
				t.Errorf("greater is better %v: candidate %d has rank %d, want %d", greater, i, list[i].Rank, want)
			}
		}
	}
}

func TestOneStandardError(t *testing.T) {
	// Three folds with scores m-1, m, m+1 have a standard error of 1/√3 = 0.577.
	scored := func(mean float64, values ...any) Candidate {
		c := Candidate{Summary: Summary{Folds: []float64{mean - 1, mean, mean + 1}}}
		c.Mean, c.Std = meanStd(c.Folds)
		for _, v := range values {
			c.Settings = append(c.Settings, param.Setting{Value: v})
		}
		return c
	}
	for name, c := range map[string]struct {
		grid       []Axis
		candidates []Candidate
		lossy      bool // less is better
		want       int
	}{
		"a larger alpha within it": {[]Axis{{Path: "alpha"}}, []Candidate{scored(5, 0.1), scored(4.5, 1), scored(4.4, 10)},
			false, 1},
		"a smaller C": {[]Axis{{Path: "C"}}, []Candidate{scored(4.5, 0.1), scored(4.6, 1), scored(5, 10)}, false, 0},
		"of a loss":   {[]Axis{{Path: "C"}}, []Candidate{scored(5.6, 0.1), scored(5.5, 1), scored(5, 10)}, true, 1},
		"size before alpha": {[]Axis{{Path: "alpha"}, {Path: "features"}},
			[]Candidate{scored(5, 1.0, 300), scored(5, 10.0, 300), scored(5, 0.1, 200)}, false, 2},
		"alpha before gamma": {[]Axis{{Path: "gamma"}, {Path: "alpha"}},
			[]Candidate{scored(5, 0.1, 1), scored(4.9, 0.2, 2)}, false, 1},
		"a number before a name": {[]Axis{{Path: "gamma"}}, []Candidate{scored(5, "scale"), scored(4.9, 100.0)}, false, 1},
		"an unknown axis": {[]Axis{{Path: "depth"}}, []Candidate{scored(4.9, 9), scored(5, 3), scored(4.9, 1)}, false,
			1},
		"a larger min_count": {[]Axis{{Path: "min_count"}}, []Candidate{scored(5, 1), scored(4.9, 3)}, false, 1},
		"equally simple": {[]Axis{{Path: "alpha"}, {Path: "seed"}},
			[]Candidate{scored(5, 1, 0), scored(4.8, 2, 1), scored(4.9, 2, 2), scored(4.9, 2, 3)}, false, 2},
	} {
		m := metrics.Metric{GreaterIsBetter: !c.lossy}
		rank(c.candidates, m)
		top := slices.IndexFunc(c.candidates, func(c Candidate) bool { return c.Rank == 1 })
		if got := (Search{Grid: c.grid, Estimator: knobs{}}).simplestCandidate(c.candidates, top, m); got != c.want {
			t.Errorf("%s: chose %d, want %d", name, got, c.want)
		}
	}
}

// knobs is a spec with a parameter of every complexity.
type knobs struct {
	line
	values [5]float64
	rows   int
}

func (k *knobs) Params(l *param.List) {
	for i, p := range []struct {
		name string
		what func(name string)
	}{{"features", l.MoreUnits}, {"alpha", l.MorePenalty}, {"C", l.LessPenalty}, {"gamma", l.Rougher},
		{"depth", func(string) {}}} {
		l.Float(&k.values[i], p.name, "", param.Any())
		p.what(p.name)
	}
	l.Int(&k.rows, "min_count", "", param.Any())
	l.FewerUnits("min_count")
}

// With the rule, the refit is of the simpler candidate and the edge that of the best.
func TestRefitOneStandardError(t *testing.T) {
	s := lineSearch(nil)
	s.Grid = []Axis{{Path: "shrink", Values: []any{0.97, 1, 1.01, 1.02}}}
	s.Refit = RefitOneStdError
	r := mustRun(t, s, quantities(60))
	top := slices.IndexFunc(r.Candidates, func(c Candidate) bool { return c.Rank == 1 })
	if r.BestIndex <= top || r.Best().Settings[0].Value != r.Model.(*fittedLine).spec.Shrink {
		t.Errorf("top is %d, chosen %s, refitted %+v", top, r.Best(), r.Model)
	}
	if r.Best().Mean > r.Candidates[top].Mean+r.Candidates[top].Std/math.Sqrt(2) {
		t.Errorf("the chosen %v is further than an error from %v", r.Best().Mean, r.Candidates[top].Mean)
	}
}

func TestGridEdge(t *testing.T) {
	for _, c := range []struct {
		values []any
		best   any
		want   string
	}{
		{[]any{1.0, 2.0, 3.0}, 2.0, ""},
		{[]any{1.0, 2.0, 3.0}, 3.0, "largest"},
		{[]any{2.0, 1.0, 3.0}, 2.0, ""},
		{[]any{2.0, 1.0, 3.0}, 1.0, "smallest"},
		{[]any{10, 20, 30}, 10, "smallest"},
		{[]any{1.0, 2.0}, 1.0, ""},
		{[]any{"a", "b", "c"}, "a", ""},
		{[]any{"scale", 1.0, 2.0}, 2.0, ""},
	} {
		if got := gridEnd(c.values, c.best); got != c.want {
			t.Errorf("%v of %v: got %q, want %q", c.best, c.values, got, c.want)
		}
	}
}

// The file reads back as the table, to the bit.
func TestWriteCSV(t *testing.T) {
	s := lineSearch(nil)
	s.Grid = append(s.Grid, Axis{Path: "mode", Values: []any{"fit", "fail"}})
	s.Scores = []string{"mae"}
	r := mustRun(t, s, quantities(60))
	var b bytes.Buffer
	if err := r.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	const head = "candidate shrink shift mode fold0 fold1 fold2 mean std rank fit_seconds" +
		" fold0_mean_absolute_error fold1_mean_absolute_error fold2_mean_absolute_error mean_mean_absolute_error " +
		"std_mean_absolute_error failed"
	if got := strings.Join(rows[0], " "); got != head {
		t.Errorf("header is %s, want %s", got, head)
	}
	if len(rows) != 25 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, row := range rows[1:] {
		c := r.Candidates[i]
		want := []float64{float64(i), c.Settings[0].Value.(float64), float64(c.Settings[1].Value.(int)), math.NaN(),
			c.Folds[0], c.Folds[1], c.Folds[2], c.Mean, c.Std, float64(c.Rank), c.Seconds}
		for j, v := range want {
			got, err := strconv.ParseFloat(row[j], 64)
			if math.IsNaN(v) != (err != nil) || err == nil && got != v {
				t.Errorf("row %d, column %s is %q, want %v", i, rows[0][j], row[j], v)
			}
		}
		if row[3] != c.Settings[2].Value || row[16] != c.Failed {
			t.Errorf("row %d is %q", i, row)
		}
	}
	if err := r.WriteCSV(full{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("a full disk: error is %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestPlan(t *testing.T) {
	data := quantities(60)
	rows := int64(60*2*8 + 60*8)
	p := &probe{}
	s := lineSearch(p)
	s.Workers = 2
	plan, err := s.Plan(data)
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{Candidates: 12, Folds: 3, Fits: 36, Bytes: 2 * (rows + 3000)}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("plan is %+v, want %+v", plan, want)
	}
	s.Workers, s.Memory = 100, 4*rows
	if plan, err = s.Plan(data); err != nil || plan.Bytes != 4*rows {
		t.Errorf("plan is %+v, %v", plan, err)
	}
	s.Estimator = batching{line: newLine()}
	plan, err = s.Plan(data)
	want = Plan{Candidates: 12, Folds: 3, Fits: 36, Bytes: 77}
	if err != nil || !reflect.DeepEqual(plan, want) {
		t.Errorf("plan is %+v, %v, want %+v", plan, err, want)
	}
	if plan, err = NewSearch(logit{1}).Plan(labels(40)); err != nil || plan.Fits != 5 {
		t.Errorf("plan is %+v, %v", plan, err)
	}
	s.Splitter, s.Memory = datasets.TimeSeriesSplit{Folds: 3}, 0
	if r, err := s.prepare(data, MaxCandidates); err != nil || r.trainRows() != 45 {
		t.Errorf("folds in order of time train on %d rows at most, %v", r.trainRows(), err)
	}
	s.Memory = 1
	if _, err := s.Plan(data); err == nil || !strings.Contains(err.Error(), "need more memory than the bound of 1 bytes") {
		t.Errorf("error is %v", err)
	}
	if p.fits > 0 {
		t.Errorf("planning did %d fits", p.fits)
	}
}

// TestRunChangesNothing checks that a search does not modify its spec and the data.
func TestRunChangesNothing(t *testing.T) {
	s, data := lineSearch(nil), quantities(40)
	before := lineSearch(nil)
	mustRun(t, s, data)
	if !reflect.DeepEqual(s, before) || !reflect.DeepEqual(data, quantities(40)) {
		t.Error("the search or the data changed")
	}
}
