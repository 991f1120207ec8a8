// Package gridsearch selects hyperparameters by cross-validation.
//
// A [Search] has an estimator and axes: the paths of parameters and the values to try. Each
// combination is a candidate, which is fitted to the training rows of each fold and scored on its
// test rows. [Search.Run] returns all scores as a [Result], with the best candidate refitted to all
// rows. A Search is itself an estimator, so searches can be nested: the outer search then evaluates
// the selection of the inner one.
//
//	search := gridsearch.NewSearch(estimator.NewRidge(),
//		gridsearch.Axis{Path: "alpha", Values: gridsearch.Log(1e-3, 1e3, 7)})
//	result, err := search.Run(ctx, data)
//
// Pipelines and the models of this module fit all candidates and folds together and share common
// work, such as random features and Gram matrices. Other estimators are fitted concurrently, one
// fit per core. Both give the same result, in the order of the grid.
//
// A search has rounds, which its [Strategy] proposes. By default one round evaluates all
// candidates. [Halving] evaluates all candidates with few resources and the best ones with more.
// [Coordinate] optimizes one axis at a time. All rounds share the time budget, the journal and the
// refit.
//
// A search with a journal can be interrupted at any time; the next run resumes it.
package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// Refit selects the candidate that a search refits on all rows.
type Refit string

// Values of [Refit].
const (
	// RefitBest selects the candidate with the best mean score; ties go to the first.
	// The empty string means the same.
	RefitBest Refit = "best"
	// RefitOneStdError selects the simplest candidate whose mean score is within one standard error
	// of the best mean; [Axis] defines the order of simplicity.
	RefitOneStdError Refit = "one_std_error"
	// RefitNone skips the refit: the result has no model.
	RefitNone Refit = "none"
)

// defaultFolds is the number of folds of a search without a splitter.
const defaultFolds = 5

// Search is the spec of a search over a grid. Use [NewSearch]: the zero value is invalid.
//
// The mean score of the best candidate is optimistic, because it is the best of many. Evaluate the
// selected model on a held-out test set, or nest the search.
type Search struct {
	Estimator estimator.Estimator // the spec whose parameters are searched; not modified
	Grid      []Axis              // without axes: cross-validation of the estimator only

	// Splitter makes the folds. Nil means 5 folds in the order of the rows, stratified
	// for classification and anomaly scores.
	Splitter datasets.Splitter

	// Score is the name of the metric that selects the best candidate (package metrics). "" means
	// accuracy for classes, r2 for numeric targets, roc_auc for anomaly detection, and for
	// clustering adjusted_rand with targets and silhouette without.
	//
	// Unsupervised estimators never see the targets, which only score; for anomalies the second of
	// two classes is the anomaly. Scores without true values, such as silhouette, use the input
	// rows after [metrics.Input.WithRows], because distances between the features of different
	// candidates are not comparable. They prefer convex clusters: select gamma for other shapes by
	// targets.
	Score  string
	Scores []string // additional metrics to record

	// Strategy proposes the candidates in rounds; nil means one round of the whole grid.
	Strategy Strategy

	// Start contains the candidates of an earlier Result, such as that of other rows, with the same axes and metric; nil
	// means none. Numbers may differ: the nearest value of the axis counts. With Start, a search of the grid evaluates the
	// three best of these candidates and their neighbors, which differ by one step on one axis, and continues with the
	// neighbors of the best candidate until all of them are evaluated; Random does not apply. [Coordinate] begins with the
	// best candidate, and [Halving] with fewer of them and more resources.
	Start []Candidate

	// Random is the number of candidates to draw from the grid without replacement, by Seed; 0
	// means all. (Bergstra and Bengio, JMLR 2012.)
	Random int
	Seed   uint64

	// Budget is the time limit of the search without the refit; 0 means none. At the limit running
	// fits are canceled, and the best candidate with scores on all folds is refitted. If there is
	// none, Run returns [ErrBudget]. Finished fits are in the journal, and the next run continues
	// from them with a new budget. Estimators that share work get the grid in several parts, drawn
	// by Seed, so that a first result is available early.
	Budget time.Duration

	Refit Refit // candidate to refit on all rows

	// RefitEstimator replaces the best candidate in the refit, for example by the same one with
	// intervals; nil means the candidate itself.
	RefitEstimator func(best estimator.Estimator) estimator.Estimator

	// Workers is the number of concurrent fits; 0 means one per core. Estimators that share work
	// ignore it.
	Workers int
	// Memory bounds the bytes of concurrent fits, by the costs that the estimator declares
	// ([datasets.CostEstimator]) and the size of the rows; 0 means half of the available memory. A
	// candidate that needs more is an error before work starts. Estimators that share work ignore it,
	// except on a stream.
	Memory int64

	// Journal is the path of a file that records each finished fit; "" means none. A search resumes
	// from its own journal and refuses that of another search. The identity of a search consists of
	// its data, folds, grid, start, scores, and the type and declared parameters of the estimator; fields
	// that are functions are not part of it. Concurrent and nested searches need separate journals.
	Journal string

	// Progress is called after each fit, never concurrently, and once before the first fit with
	// Candidate -1. Nil means no calls.
	Progress func(Progress)
}

// NewSearch returns a search over the grid that refits the best candidate, with defaults for all
// other fields.
func NewSearch(spec estimator.Estimator, grid ...Axis) Search {
	return Search{Estimator: specs.ByValue(spec), Grid: grid, Refit: RefitBest}
}

// Params declares the parameters that affect the result; those of the estimator are below
// "estimator".
func (s *Search) Params(l *param.List) {
	l.String(&s.Score, "score", "metric that decides; empty for accuracy or r2")
	if s.Refit == "" {
		s.Refit = RefitBest
	}
	l.Choice((*string)(&s.Refit), "refit", "candidate to refit on all rows",
		string(RefitBest), string(RefitOneStdError), string(RefitNone))
	l.Child("estimator", &s.Estimator)
	l.OptionalChild("strategy", &s.Strategy)
}

// Progress describes the progress of a search, also of one of package auto, which counts candidates instead of fits.
type Progress struct {
	Phase       string  // "search"; in package auto also "refit" and "ensemble"
	Done, Total int     // number of fits, including those from the journal; Total is 0 where only the time is limited
	Candidate   int     // the candidate of the last fit; -1 before the first fit, and in package auto
	Fold        int     // its fold
	Score       float64 // its score; NaN if it failed
	Failed      string  // why it failed, else ""

	// Scored counts the candidates with scores on all folds. Best is the best mean score among the
	// candidates with scores on the most folds; NaN before the first.
	Scored   int
	Folds    int // number of folds in Best
	Best     float64
	Settings string // "rff.gamma=0.1 ridge.alpha=1", in package auto after the recipe
	Metric   string

	Elapsed, Budget time.Duration // time since the start, and its limit, 0 for none
}

// Check returns all errors of the search as [param.FieldErrors] with the paths of the axes: invalid
// values, candidates that the estimator rejects, unknown scores. It does not read data.
func (s Search) Check() error {
	_, errs := s.begin(MaxCandidates)
	_, more := s.metrics(nil)
	if errs = append(errs, more...); len(errs) > 0 {
		return fmt.Errorf("gridsearch: %w", errs)
	}
	return nil
}

// Tags returns the task of the estimator.
func (s Search) Tags() datasets.Tags { return datasets.Tags{Task: datasets.TagsOf(s.Estimator).Task} }

// Fit runs the search and returns a *[Result], which has all outputs of the refitted model. Refit
// must not be RefitNone.
func (s Search) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if s.Refit == RefitNone {
		return nil, errNoRefit
	}
	r, err := s.Run(ctx, data)
	if err != nil {
		return nil, err
	}
	return r, nil
}

var errNoRefit = errors.New("gridsearch: refit is none, so there is nothing to predict with; use Run")

// Run evaluates the candidates on all folds and refits the selected one to all rows. The refit may
// reuse work of the folds; it then agrees with an independent fit up to rounding.
//
// A failed fit is recorded in its candidate, which ranks last; if all candidates fail, Run returns
// an error. On cancellation Run returns an error that matches ctx.Err() and context.Cause(ctx) once
// running fits have stopped; the journal has the finished fits.
func (s Search) Run(ctx context.Context, data datasets.Set) (*Result, error) {
	r, err := s.prepare(data, MaxCandidates)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return r.complete(ctx)
}

// failed returns the cause of a canceled context, else err with the name of the package.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	return fmt.Errorf("gridsearch: %w", err)
}
