// Package auto finds a good model for a table within a budget: it tries ways to represent the inputs, maps
// of them and models on top, gives more rows and wider maps to what does well, combines what differs, and
// fits what it has chosen to all rows.
//
//	options := auto.NewOptions()
//	options.Budget = time.Minute
//	result, err := auto.Fit(ctx, train, options)
//	predicted, err := result.Model.Predict(ctx, X)
//
// Fit evaluates recipes ([Recipes]): a representation of the inputs × a map × a model, in rounds.
// The first round evaluates every recipe on few rows with narrow maps, over a coarse grid of the
// kernel's γ and the penalty. The better ones proceed to the next round with more rows, wider maps
// and a finer grid around the best point. A grid whose best point is on its edge is extended. All
// recipes of a representation share the cleaned rows. What a representation learns from targets, it
// learns once, from rows that no fold tests on, or, of few rows, from the training rows of each
// fold. The candidates of a recipe are fitted together and share work; recipes run concurrently,
// one per core. From the first second on there is a best model so far.
//
// Fit sees the rows that it is given and no others: hold out rows to test on before. The score of the
// chosen model over the folds is that of the best of many, and a little flattering.
package auto

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Options of a search. Use [NewOptions].
type Options struct {
	// Budget is the time that all of it may take. What is begun is expected to end within it, by the time
	// that the work before has taken.
	Budget time.Duration
	// Candidates, unless 0, is how many candidates are tried, whatever time that takes. The result is then
	// the same, bit for bit, on any number of cores.
	Candidates int

	// metric to choose by; "" stands for r2, or of classes for accuracy, roc_auc or
	// balanced_accuracy by their shares
	Score string
	Seed  uint64 // of all random draws
	// whether the rows are in the order of time: every fold is tested on rows after those it learns
	// from
	TimeOrdered bool

	// Preprocessing makes numbers of the columns, without missing values. A representation takes the place of
	// every standardize in it. Nil stands for medians for what is missing among numbers, z-scores, and a column of
	// its own for each category; sparse rows stay as they are.
	Preprocessing pipeline.Sequence

	// Recipes names the recipes that are tried; nil for all that suit the rows.
	Recipes []string
	// Exportable leaves out the recipes whose models have no export as ONNX, Go or Python.
	Exportable bool

	// Journal is the path of a file that records each finished trial; "" means none. The same
	// search resumes from it with a new budget.
	Journal string

	Memory   int64           // bound of the bytes that fits hold, 0 for what is available
	Progress func(Progress)  // called during the search, never concurrently; nil means no calls
	Stop     <-chan struct{} // closed, ends the search with the best model so far; nil for never
}

// NewOptions returns the options of a search of one minute.
func NewOptions() Options { return Options{Budget: time.Minute} }

// Phase is a phase of a search.
type Phase string

// Values of [Phase].
const (
	PhaseSearch   Phase = "search"
	PhaseRefit    Phase = "refit"
	PhaseEnsemble Phase = "ensemble"
)

// Progress describes the progress of a search.
type Progress struct {
	Phase      Phase         // current phase
	Tried      int           // candidates
	Candidates int           // that may be tried, 0 where time is the bound
	Elapsed    time.Duration // since it began
	Budget     time.Duration // of time, 0 where candidates are the bound
	Best       Entry         // the best so far; its Recipe is "" before there is one
}

// Result is what a search has found. Its Predict is that of the fitted Model.
type Result struct {
	Pipeline pipeline.Pipeline   // what was chosen, a spec to be fitted again
	Model    estimator.Predictor // what fitting it to all rows has given
	Chosen   Entry               // how the chosen one did over the folds

	Score           string // the metric that decides
	GreaterIsBetter bool   // of that metric

	Leaderboard Leaderboard // all candidates, the best first
	Rounds      []Round
	// relevance of the inputs by the scales of the model, in descending order; nil if no scales are
	// learned
	InputRelevance []Input

	Tried      int        // candidates
	Resumed    int        // of these, taken from the journal
	Rows       int        // that the chosen model has learned from
	Seconds    float64    // all of it took
	StopReason StopReason // why the search ended
	Warnings   []string
}

// StopReason is the reason why a search ended.
type StopReason string

// Values of [StopReason].
const (
	StoppedByBudget  StopReason = "budget"    // no further trial was expected to fit into the budget
	StoppedConverged StopReason = "converged" // more rows and wider maps did not improve the score
	StoppedByCaller  StopReason = "stopped"   // Options.Stop was closed
)

// Round is one of the rounds of a search.
type Round struct {
	Rows       int     // that it learned from and tested on by folds
	Size       int     // of the maps
	Folds      int     // on these rows, or parts of those that are held out of many
	Recipes    int     // that were tried
	Candidates int     // of these recipes
	Best       Entry   // of the round
	Seconds    float64 // it took
}

// Input is what was learned about one input.
type Input struct {
	Name  string
	Scale float64 // how much it matters, relative to the one that matters most
}

// Check reports everything that is wrong with the options, as [param.FieldErrors].
func (o Options) Check() error {
	var errs param.FieldErrors
	if o.Candidates < 0 {
		errs = append(errs, param.FieldError{Path: "candidates", Value: o.Candidates, Constraint: "an integer, 0 or more"})
	}
	if o.Candidates == 0 && o.Budget <= 0 {
		errs = append(errs, param.FieldError{Path: "budget", Value: o.Budget.String(),
			Constraint: "a time, or a number of candidates"})
	}
	if o.Score != "" {
		m, err := metrics.ByName(o.Score)
		switch {
		case err != nil:
			errs = append(errs, param.FieldError{Path: "score", Problem: err.Error(), Err: err})
		case m.Requires == metrics.StdDevs, m.Requires == metrics.Intervals, m.Requires == metrics.PredictionSets:
			errs = append(errs, param.FieldError{Path: "score", Problem: fmt.Sprintf("%s needs %s, which no model here gives",
				m.Name, m.Requires), Hint: "take another score"})
		}
	}
	for _, name := range o.Recipes {
		if !known(name) {
			errs = append(errs, param.FieldError{Path: "only", Value: name, Constraint: "the name of a recipe",
				Hint: "did you mean " + suggest.Nearest(name, Recipes()) + "?"})
		}
	}
	return errs.Err()
}

// Fit searches, and fits what it has chosen to all rows of data. It returns an error that matches ctx.Err()
// and context.Cause(ctx) when the context ends, with no model; Options.Stop ends it with the best model so far.
func Fit(ctx context.Context, data datasets.Set, o Options) (*Result, error) {
	r, err := newRun(data, o)
	if err == nil {
		err = r.search(ctx)
	}
	if ctx.Err() != nil {
		err = ctxerr.Check(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("auto: %w", err)
	}
	return r.result(), nil
}

// ErrNoModel is the error of a search that was stopped, or whose budget ended, before there was a model.
var ErrNoModel = errors.New("stopped before there was a first model")
