package gridsearch

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// Result is the result of a search. Its Predict method calls the refitted Model.
type Result struct {
	Score           string      // name of the deciding metric
	GreaterIsBetter bool        // whether greater values of that metric are better
	Positive        string      // positive class of two; "" for more classes
	Folds           int         // number of folds
	Candidates      []Candidate // in the order of the grid, its last axis fastest
	BestIndex       int         // index of the candidate selected by the refit rule

	// OnGridEdge names the axes of at least three numbers on which the best candidate has the
	// smallest or the largest value: the optimum may be outside of the grid.
	OnGridEdge []string

	Started  bool    // whether the search continued from Search.Start
	GridSize float64 // number of all points of the grid

	Rounds []Round // rounds of a [Halving]; the last one contains Candidates

	Shared       []string // work shared by candidates or folds, as named by BatchFitter
	Fits         int      // candidates × folds, in all rounds
	Resumed      int      // fits read from the journal
	Unreached    int      // fits not done within the time budget
	Seconds      float64  // of the search, without the refit
	RefitSeconds float64
	Warnings     []string // caveats about the results

	Model estimator.Predictor // fitted to all rows with the settings of Best; nil without a refit

	grid [][]any // values of each axis, including untried ones
}

// Round contains the results of a [Halving] for one amount of its resource.
type Round struct {
	Resource   int
	Candidates []Candidate // in the order of the grid
}

// Best returns the first candidate with the best mean.
func (r Round) Best() Candidate {
	return r.Candidates[slices.IndexFunc(r.Candidates, func(c Candidate) bool { return c.Rank == 1 })]
}

// Candidate is a point of the grid with its scores.
type Candidate struct {
	Settings []param.Setting // one for each axis
	Summary                  // of the deciding metric
	Rank     int             // 1 for the best mean, equal for equal means; failed candidates share the last rank
	Seconds  float64         // mean time of a fit over the folds
	Failed   string          // first reason for a missing score, or ""

	// Err is the error of Failed, nil if it was read from a journal. A panic in the fit is a
	// [datasets.PanicError] with its stack.
	Err error
}

// Summary is one metric's scores of a candidate.
type Summary struct {
	Name  string    // of the metric
	Folds []float64 // scores, NaN where a fold has none
	Mean  float64   // plain mean over folds, NaN where a fold has none
	Std   float64   // standard deviation over folds, divided by their number

	OtherScores []Summary // of the additional metrics
}

// Best returns the candidate that the refit rule chooses.
func (r *Result) Best() Candidate { return r.Candidates[r.BestIndex] }

// String returns the name of each metric, the mean and the standard deviation.
func (s Summary) String() string {
	out := fmt.Sprintf("%s %.4g ± %.2g", s.Name, s.Mean, s.Std)
	for _, other := range s.OtherScores {
		out += ", " + other.String()
	}
	return out
}

// String returns the settings on one line: "rff.gamma=0.1 ridge.alpha=1".
func (c Candidate) String() string {
	if len(c.Settings) == 0 {
		return "the estimator as it is"
	}
	return formatSettings(c.Settings)
}

// result makes the table of the outcomes and chooses. Where the budget has ended before any candidate of the last stage
// was scored, the one before it counts.
func (r *run) result() (*Result, error) {
	decides := r.scorer.metrics[0]
	out := &Result{Score: decides.Name, GreaterIsBetter: decides.GreaterIsBetter, Folds: len(r.folds), Shared: r.shared,
		Resumed: r.resumed, Started: r.search.Start != nil, GridSize: 1}
	for _, a := range r.search.Grid {
		out.GridSize *= float64(len(a.Values))
	}
	if r.search.task(r.scorer.metrics) != datasets.Clustering {
		out.Positive = metrics.PositiveClass(r.data.Schema.Classes())
	}
	top := -1
	for _, t := range append(r.earlierStages, r.stage) {
		out.Fits += len(t.candidates) * len(t.folds)
		for _, outcomes := range t.outcomes {
			for _, o := range outcomes {
				if o.TimedOut {
					out.Unreached++
				}
			}
		}
		list := r.ranked(t)
		best := slices.IndexFunc(list, func(c Candidate) bool { return c.Rank == 1 && c.Failed == "" })
		if best >= 0 || top < 0 || !r.timedOut {
			top, r.stage, out.Candidates = best, t, list
		}
		if best >= 0 && t.resource > 0 {
			out.Rounds = append(out.Rounds, Round{Resource: t.resource, Candidates: list})
		}
	}
	if top < 0 {
		return nil, r.noCandidateError(out.Candidates)
	}
	top = r.sortByGrid(out.Candidates, top)
	if out.BestIndex = top; r.search.Refit == RefitOneStdError {
		out.BestIndex = r.search.simplestCandidate(out.Candidates, top, decides)
	}
	r.addWarnings(out, top)
	if r.timedOut {
		out.Warnings = append(out.Warnings, budgetWarning(r.search.Budget, out.Unreached, out.Fits))
		if cut := r.proposer.cut(r); cut != "" {
			out.Warnings = append(out.Warnings, cut)
		}
	}
	return out, nil
}

// ranked returns the candidates of a stage with their ranks.
func (r *run) ranked(t stage) []Candidate {
	out := make([]Candidate, len(t.candidates))
	for i, c := range t.candidates {
		out[i] = r.candidate(c, t.outcomes[i])
	}
	rank(out, r.scorer.metrics[0])
	return out
}

// sortByGrid sorts the candidates in grid order and returns the new index of the one at top.
func (r *run) sortByGrid(list []Candidate, top int) int {
	order := seq(len(list))
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(r.candidates[a].point, r.candidates[b].point) })
	old, t := slices.Clone(list), r.stage
	r.candidates, r.outcomes = make([]candidate, len(list)), make([][]outcome, len(list))
	for k, i := range order {
		list[k], r.candidates[k], r.outcomes[k] = old[i], t.candidates[i], t.outcomes[i]
	}
	return slices.Index(order, top)
}

func (r *run) candidate(c candidate, outcomes []outcome) Candidate {
	out := Candidate{Settings: c.settings}
	var others []Summary
	for k, m := range r.scorer.metrics {
		s := Summary{Name: m.Name}
		for _, o := range outcomes {
			s.Folds = append(s.Folds, o.Scores[k])
		}
		s.Mean, s.Std = meanStd(s.Folds)
		if k == 0 {
			out.Summary = s
		} else {
			others = append(others, s)
		}
	}
	out.OtherScores = others
	for k, o := range outcomes {
		out.Seconds += o.Seconds / float64(len(outcomes))
		if o.Failed != "" && out.Failed == "" {
			out.Failed, out.Err = fmt.Sprintf("fold %d: %s", k, o.Failed), o.Err
		}
	}
	if out.Failed == "" && !finite(out.Mean) {
		out.Failed = "the mean of the scores is too large for a number"
		out.Mean = math.NaN()
	}
	return out
}

// meanStd returns the mean and the standard deviation √(Σ(x-mean)²/n).
func meanStd(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		std += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(std / float64(len(x)))
}

// rank sets the ranks of the candidates: 1 plus the number of strictly better ones.
func rank(candidates []Candidate, m metrics.Metric) {
	order := make([]int, 0, len(candidates))
	for i, c := range candidates {
		if c.Failed == "" {
			order = append(order, i)
		}
	}
	for i := range candidates {
		candidates[i].Rank = len(order) + 1
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := candidates[a].Mean, candidates[b].Mean; {
		case m.Better(x, y):
			return -1
		case m.Better(y, x):
			return 1
		}
		return 0
	})
	for at, i := range order {
		candidates[i].Rank = at + 1
		if at > 0 && candidates[order[at-1]].Mean == candidates[i].Mean {
			candidates[i].Rank = candidates[order[at-1]].Rank
		}
	}
}

// addWarnings fills in OnGridEdge and Warnings.
func (r *run) addWarnings(out *Result, top int) {
	add := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	for i, a := range r.search.Grid {
		best := out.Candidates[top].Settings[i].Value
		out.grid = append(out.grid, r.axisValues(i))
		if end := gridEnd(out.grid[i], best); end != "" && !r.search.atParameterBound(a.Path, best) {
			out.OnGridEdge = append(out.OnGridEdge, a.Path)
			add("the best %s, %s, is the %s of its grid: a wider one may do better", a.Path, formatValue(best), end)
		}
	}
	failed, unconverged, first := 0, 0, -1
	for i, c := range out.Candidates {
		if c.Failed != "" && !r.unreached(i) {
			if failed++; first < 0 {
				first = i
			}
		}
		for _, o := range r.outcomes[i] {
			if o.Unconverged {
				unconverged++
			}
		}
	}
	if failed > 0 {
		add("%d of %d candidates failed; the first, %s: %s", failed, len(out.Candidates), out.Candidates[first],
			out.Candidates[first].Failed)
	}
	if unconverged > 0 {
		add("%d of %d fits did not converge", unconverged, r.total())
	}
	for k, m := range r.scorer.metrics[1:] {
		missing := 0
		for _, c := range out.Candidates {
			for f, v := range c.OtherScores[k].Folds {
				if math.IsNaN(v) && !math.IsNaN(c.Summary.Folds[f]) {
					missing++
				}
			}
		}
		if missing > 0 {
			add("%s has no value on %d of %d fits", m.Name, missing, r.total())
		}
	}
}

// axisValues returns all values of axis i, including untried ones.
func (r *run) axisValues(i int) []any {
	var out []any
	settings, _ := r.search.settings(r.search.Grid[i])
	for _, s := range settings {
		out = append(out, s.Value)
	}
	return out
}

// atParameterBound reports whether a value is the lower bound of its parameter: 0 where negative
// values are invalid, or 2 clusters.
func (s Search) atParameterBound(path string, value any) bool {
	v, _ := number(value)
	if v == 2 && path[strings.LastIndexByte(path, '.')+1:] == "clusters" {
		return true
	}
	if v != 0 {
		return false
	}
	_, err := param.With(s.Estimator, param.Setting{Path: path, Value: -1.0})
	return err != nil
}

// gridEnd returns which end of at least three numbers best is, "" if none.
func gridEnd(values []any, best any) string {
	v, ok := number(best)
	if !ok || len(values) < 3 {
		return ""
	}
	low, high := v, v
	for _, other := range values {
		x, ok := number(other)
		if !ok {
			return ""
		}
		low, high = min(low, x), max(high, x)
	}
	switch v {
	case low:
		return "smallest"
	case high:
		return "largest"
	}
	return ""
}

func number(plain any) (float64, bool) {
	switch v := plain.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// WriteCSV writes a row for each candidate in grid order. The columns are candidate, one for each
// parameter path, fold0, fold1, … with the main score, mean, std, rank, fit_seconds (mean per fit),
// then fold0_<name>, …, mean_<name>, std_<name> for each additional score, failed (the reason),
// and, for two classes, positive (the name of the positive class). A missing score is an empty
// cell. Numbers round-trip.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(r.csvHeader()); err != nil {
		return fmt.Errorf("gridsearch: %w", err)
	}
	for i, c := range r.Candidates {
		row := []string{strconv.Itoa(i)}
		for _, s := range c.Settings {
			row = append(row, formatValue(s.Value))
		}
		row = append(row, c.Summary.cells()...)
		row = append(row, strconv.Itoa(c.Rank), formatValue(c.Seconds))
		for _, s := range c.OtherScores {
			row = append(row, s.cells()...)
		}
		row = append(row, c.Failed)
		if r.Positive != "" {
			row = append(row, r.Positive)
		}
		if err := out.Write(row); err != nil {
			return fmt.Errorf("gridsearch: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("gridsearch: %w", err)
	}
	return nil
}

func (r *Result) csvHeader() []string {
	head := []string{"candidate"}
	for _, s := range r.Candidates[0].Settings {
		head = append(head, s.Path)
	}
	scores := func(suffix string) {
		for k := range r.Folds {
			head = append(head, "fold"+strconv.Itoa(k)+suffix)
		}
		head = append(head, "mean"+suffix, "std"+suffix)
	}
	scores("")
	head = append(head, "rank", "fit_seconds")
	for _, s := range r.Candidates[0].OtherScores {
		scores("_" + s.Name)
	}
	head = append(head, "failed")
	if r.Positive != "" {
		head = append(head, "positive")
	}
	return head
}

func (s Summary) cells() []string {
	var out []string
	for _, v := range append(slices.Clone(s.Folds), s.Mean, s.Std) {
		if math.IsNaN(v) {
			out = append(out, "")
		} else {
			out = append(out, formatValue(v))
		}
	}
	return out
}

// Predict returns the refitted model's prediction for each row of X.
func (r *Result) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	if r.Model == nil {
		return nil, errNoModel
	}
	out, err := r.Model.Predict(ctx, X)
	if err != nil {
		return nil, err
	}
	if n, _ := X.Dims(); len(out) != n {
		return nil, fmt.Errorf("gridsearch: %T.Predict must return a value for each of %d rows, got %d", r.Model, n, len(out))
	}
	return out, nil
}

// Outputs returns the outputs of the refitted model.
func (r *Result) Outputs() estimator.Outputs { return estimator.OutputsOf(r.Model) }

// PredictFull returns the requested outputs of the refitted model for the rows of X.
func (r *Result) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	if r.Model == nil {
		return estimator.Prediction{}, errNoModel
	}
	return estimator.Predict(ctx, r.Model, X, want)
}

// errNoModel reports a prediction after a search without a refit.
var errNoModel = errors.New("gridsearch: the search refitted no model to predict with")

// Unwrap returns the refitted model.
func (r *Result) Unwrap() (within estimator.Predictor, sameRows bool) { return r.Model, true }

// Report returns the report of the refit with the warnings of the search. A model without a report
// counts as converged.
func (r *Result) Report() estimator.Report {
	out := estimator.Report{Converged: true}
	var m estimator.Reporter
	if estimator.As(r.Model, &m) {
		out = m.Report()
	}
	out.Warnings = append(slices.Clone(out.Warnings), r.Warnings...)
	return out
}
