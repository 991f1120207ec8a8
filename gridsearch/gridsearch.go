// Package gridsearch finds the best of a grid of hyper-parameters by cross-validation.
//
// A [Search] has an estimator and axes, each a parameter's path and the values to try. Every
// combination is a candidate; each is fitted on the training rows of every fold and scored on the
// rows held out. [Search.Run] returns the whole table as a [Result], with the best candidate fitted
// again on all rows. A Search is an estimator itself, so that searches nest: an outer search then
// measures what the inner one would choose.
//
//	search := gridsearch.NewSearch(estimator.NewRidge(),
//		gridsearch.Axis{Path: "alpha", Values: gridsearch.Log(1e-3, 1e3, 7)})
//	result, err := search.Run(ctx, data)
//
// An estimator that is a BatchFitter is handed all candidates and folds at once, so that
// it can share the work they have in common; of any other, the fits run side by side. Either way
// the table is the same and its order is that of the grid.
//
// A search goes in rounds, which its [Strategy] proposes: by default there is one of all candidates. [Halving] gives
// all candidates few rows and the best of them more. [Coordinate] goes along one axis after the other, for grids of
// many axes. All rounds share a budget of time, a journal and the fit of the best candidate to all rows.
//
// A search with a journal can be killed at any moment: the next run reads what is done and goes on.
package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/param"
)

// Refit selects the candidate that a search refits on all rows.
type Refit string

// Values of [Refit].
const (
	// RefitBest selects the candidate with the best mean score; ties go to the first.
	RefitBest Refit = "best"
	// RefitOneStdError selects the simplest candidate whose mean score is within one standard error
	// of the best mean; [Axis] defines the order of simplicity.
	RefitOneStdError Refit = "one_std_error"
	// RefitNone skips the refit: the result has no model.
	RefitNone Refit = "none"
)

// DefaultFolds is the number of folds of a search that is given no splitter.
const DefaultFolds = 5

// Search is the spec of a search over the product of the axes of a grid. Make one with [NewSearch].
//
// The mean over folds of a candidate's score is an honest estimate for that candidate and a
// slightly flattering one for the best of many; judge the chosen model on rows that the search has
// not seen, or nest the search in another.
type Search struct {
	Estimator estimator.Estimator // the spec whose parameters are searched; never changed
	Grid      []Axis              // no axis: the estimator as it is, cross-validated

	// Splitter makes the folds. Nil stands for DefaultFolds folds in the order of the rows,
	// stratified where the score is one of classification or of anomalies, which every fold needs some of.
	Splitter datasets.Splitter

	// Score is the name of the metric that decides, of those in package metrics. "" stands for
	// accuracy where the target has classes and r2 where it has none.
	//
	// No fit sees the targets of an estimator that learns without, as its [estimator.TaskProvider] says; they only
	// score. For clusterings "" stands for adjusted_rand where there are targets and for silhouette where there
	// are none; for anomalies it stands for roc_auc, and the second of two classes is that of the anomalies.
	// Scores without a truth, such as silhouette, look at the rows that come to the search, standardised by
	// [metrics.Standardize], whatever the candidates make of them: distances between their features are not
	// comparable. They prefer round groups: of groups of another shape, such as two moons, only targets tell
	// the right gamma.
	Score  string
	Scores []string // metrics recorded besides

	// Strategy proposes the candidates in rounds; nil stands for all points of the grid at once.
	Strategy Strategy

	// Random is the number of candidates that are tried, drawn from the grid by Seed without putting
	// back; 0 for all of them. The grid may then be as fine as you like. (Bergstra & Bengio, JMLR 2012.)
	Random int
	Seed   uint64

	// Budget is the time after which the search ends, 0 for no bound: fits that go on then are broken
	// off. Candidates that are scored on every fold by then count, the others are unreached, and the
	// best is fitted again, which comes on top. Where there is none yet, Run returns [ErrBudget]. What
	// is done is in the journal, if there is one, and the next run goes on there with a whole Budget of
	// its own. An BatchFitter is asked for the grid in several parts, drawn by Seed, so
	// that there soon is something to choose from.
	Budget time.Duration

	Refit Refit // candidate to refit on all rows

	// RefitEstimator is what is fitted to all rows in place of the best candidate, such as the same with intervals; nil for
	// the candidate itself.
	RefitEstimator func(best estimator.Estimator) estimator.Estimator

	// Workers is how many fits run side by side, 0 for one to each core. A BatchFitter decides for itself.
	Workers int
	// Memory bounds the bytes that the fits running side by side hold, by what the estimator says
	// it needs as a [datasets.CostEstimator] and the size of the rows; 0 for no bound. A candidate that
	// alone needs more, or more than there is, is refused before work starts. What a BatchFitter holds beyond that is its own
	// affair.
	Memory int64

	// Journal is the path of a file that records every fit as it is done, "" for none. A search
	// that finds its own journal takes the fits in it as done; one that finds another search's
	// refuses to start. A search is known by its data, folds, grid, scores, and the type and declared
	// parameters of its estimator; a function among its fields goes unnoticed. Searches that run at the same time, as nested ones do, need journals of
	// their own.
	Journal string

	// Progress is called after every fit, never twice at the same time, and once before the first
	// with Candidate -1. Nil for no calls.
	Progress func(Progress)
}

// NewSearch returns a search over the grid that refits the best candidate and otherwise has the
// defaults that its fields name.
func NewSearch(spec estimator.Estimator, grid ...Axis) Search {
	return Search{Estimator: specs.ByValue(spec), Grid: grid, Refit: RefitBest}
}

// Params declares the parameters that make a difference to the result; those of the estimator are
// below "estimator".
func (s *Search) Params(l *param.List) {
	l.String(&s.Score, "score", "metric that decides; empty for accuracy or r2")
	l.Choice((*string)(&s.Refit), "refit", "candidate to refit on all rows",
		string(RefitBest), string(RefitOneStdError), string(RefitNone))
	l.Child("estimator", &s.Estimator)
	l.OptionalChild("strategy", &s.Strategy)
}

// Progress says how far a search is.
type Progress struct {
	Done, Total int     // fits, those taken from the journal included
	Candidate   int     // whose fit has just ended, -1 before the first
	Fold        int     // of that fit
	Score       float64 // of that fit, NaN where it failed
	Failed      string  // why it failed, else ""

	// What is known so far: how many candidates are scored on every fold, and of those that are scored on the most folds
	// the best, with its mean over these of the metric that decides; NaN and "" before the first.
	Scored   int
	Folds    int // that Best is the mean of
	Best     float64
	Settings string // "rff.gamma=0.1 ridge.alpha=1"
	Metric   string
}

// Check reports everything that is wrong with the search, as [param.FieldErrors] with the paths of the
// axes: bad values, each candidate that its estimator refuses, unknown scores. It looks at no data.
func (s Search) Check() error {
	_, faults := s.begin(MaxCandidates)
	_, more := s.metrics(nil)
	if faults = append(faults, more...); len(faults) > 0 {
		return fmt.Errorf("gridsearch: %w", faults)
	}
	return nil
}

// Task returns what the estimator says that it is for, [datasets.AnyTask] where it does not say.
func (s Search) Task() datasets.Task { return share.TaskOf(s.Estimator) }

// Fit runs the search and returns the refitted model's predictions: a *[Result], which also is a
// Classifier, Probabilistic or MultiPredictor where the model is one. It fails where the search
// refits none.
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

// Run scores the candidates on every fold and refits the chosen one on all rows. A BatchFitter may begin the last fit with what it
// has found out of all rows, so that this agrees with a fit by itself to rounding.
//
// A fit that fails is recorded in its candidate, which then ranks last; it is an error when all
// candidates fail. On cancellation Run returns an error that matches ctx.Err() and
// context.Cause(ctx) once the running fits have stopped, and the journal holds what is finished.
func (s Search) Run(ctx context.Context, data datasets.Set) (*Result, error) {
	r, err := s.prepare(data, MaxCandidates)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return r.complete(ctx)
}

// failed is the error of a search, of one whose context has ended its cause.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	return fmt.Errorf("gridsearch: %w", err)
}
