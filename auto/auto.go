// Package auto finds a good model for a table within a time budget. It evaluates combinations of
// input representations, feature maps and models, gives more rows and wider maps to the better
// ones, combines different candidates to an ensemble, and fits the selected model to all rows.
//
//	options := auto.NewOptions()
//	options.Budget = time.Minute
//	result, err := auto.Fit(ctx, train, options)
//	predicted, err := result.Model.Predict(ctx, X)
//
// Fit evaluates recipes ([Recipes]): a representation of the inputs × a map × a model, in rounds.
// The first round evaluates every recipe on few rows with narrow maps, over a coarse grid of the
// kernel's γ and the penalty. The better ones proceed to the next round with more rows, wider maps
// and a finer grid around the best point. A grid whose best point is on its edge is extended.
//
// All recipes of a representation share the preprocessed rows. Representations that depend on the
// targets are learned once, from rows that no fold tests on; with few rows, from the training rows
// of each fold. The candidates of a recipe are fitted together and share work; recipes run
// concurrently, one per core. A first model is available after about a second.
//
// Fit uses no rows other than data, so hold out test rows first; afterwards, [estimator.Refit] fits the
// model to all of them. The cross-validation score of the selected model is that of the best of many, on fewer training
// rows; [Entry.Estimate] corrects both.
package auto

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Options of a search. Use [NewOptions].
type Options struct {
	// Budget is the time limit of the search with all refits. A trial starts only if its estimated
	// time fits.
	Budget time.Duration
	// LaterFits are the numbers of rows of fits of the selected pipeline after the search, such as
	// [estimator.Refit] to all rows. The budget includes their time.
	LaterFits []int
	// Candidates, unless 0, is the number of candidates to evaluate, without a time limit. The result
	// is then the same, bit for bit, on any number of cores.
	Candidates int

	// Score is the name of the metric for model selection. "" means r2 for numeric targets, and
	// accuracy, roc_auc or balanced_accuracy for classes, by their frequencies.
	Score string
	Seed  uint64 // seed of all random draws
	// TimeOrdered means that the rows are ordered by time: the test rows of a fold follow its
	// training rows.
	TimeOrdered bool

	// Preprocessing converts the columns to numbers without missing values. A representation replaces
	// each standardize step in it. Nil means median imputation, standardization and one-hot encoding;
	// sparse rows are unchanged.
	Preprocessing pipeline.Sequence

	// Recipes contains the names of the recipes to evaluate; nil means all that suit the rows.
	Recipes []string
	// Exportable excludes recipes whose models cannot be exported as ONNX, Go or Python.
	Exportable bool

	// MaxPredictTime limits the time of a prediction per row and MaxSize the bytes of the model file; 0 means no limit.
	// The time is measured on this host, in batches of one row and of 1,000: the larger one counts. A model above a
	// limit is not selected: maps are narrower, ensembles smaller, or another recipe is selected. Narrower maps are
	// evaluated in addition to Candidates.
	MaxPredictTime time.Duration
	MaxSize        int64

	// Start is the leaderboard of an earlier search, on other rows: the best candidate of each of its best recipes is
	// evaluated before all others, with the penalty and γ of the grid of this search that are nearest.
	Start Leaderboard

	// Journal is the path of a file that records each finished trial; "" means none. The same
	// search resumes from it with a new budget.
	Journal string

	Memory   int64                     // memory limit of fits in bytes; 0 means half of the available memory
	Progress func(gridsearch.Progress) // called during the search, never concurrently; nil means no calls
	Stop     <-chan struct{}           // closing it ends the search with the best model so far
}

// NewOptions returns the options of a search of one minute.
func NewOptions() Options { return Options{Budget: time.Minute} }

// Result is the result of a search.
type Result struct {
	Pipeline pipeline.Pipeline   // the selected spec
	Model    estimator.Predictor // the fit of Pipeline, or of the ensemble, to all rows
	Chosen   Entry               // cross-validation of the selected entry

	Score           string // the metric for model selection
	GreaterIsBetter bool   // whether greater values of Score are better

	Leaderboard Leaderboard // all candidates, best first
	Rounds      []Round
	// InputRelevance is the relevance of the inputs by the learned scales, in descending order; nil
	// without learned scales.
	InputRelevance []Input

	Tried        int     // number of evaluated candidates
	Resumed      int     // number of these from the journal
	Rows         int     // number of training rows of Model
	LaterSeconds float64 // estimated time of Options.LaterFits
	Seconds      float64 // total time
	// StopReason is why the search ended: budget, if no further trial was expected to fit into it; converged, if more
	// rows and wider maps did not improve the score; or stopped, by Options.Stop.
	StopReason string
	Warnings   []string
}

// Round is one of the rounds of a search.
type Round struct {
	Rows       int     // number of rows for cross-validation
	Size       int     // number of features of the maps
	Folds      int     // number of folds, or of held-out parts of large data
	Recipes    int     // number of evaluated recipes
	Candidates int     // number of their candidates
	Best       Entry   // best entry of the round
	Seconds    float64 // time of the round
}

// Input is the relevance of an input.
type Input struct {
	Name  string
	Scale float64 // learned scale relative to the largest
}

// Check returns all errors of the options as [param.FieldErrors].
func (o Options) Check() error {
	var errs param.FieldErrors
	if o.Candidates < 0 {
		errs = append(errs, param.FieldError{Path: "candidates", Value: o.Candidates, Constraint: "an integer ≥ 0"})
	}
	if o.Candidates == 0 && o.Budget <= 0 {
		errs = append(errs, param.FieldError{Path: "budget", Value: o.Budget.String(),
			Constraint: "a time, or a number of candidates"})
	}
	if o.MaxPredictTime < 0 {
		errs = append(errs, param.FieldError{Path: "max_predict_time", Value: o.MaxPredictTime.String(),
			Constraint: "a time ≥ 0"})
	}
	if o.MaxSize < 0 {
		errs = append(errs, param.FieldError{Path: "max_size", Value: o.MaxSize, Constraint: "a number of bytes ≥ 0"})
	}
	if o.Score != "" {
		m, err := metrics.ByName(o.Score)
		switch {
		case err != nil:
			errs = append(errs, param.FieldError{Path: "score", Problem: strings.TrimPrefix(err.Error(), "metrics: "), Err: err})
		case m.Requires == metrics.RequiresStdDevs, m.Requires == metrics.RequiresIntervals,
			m.Requires == metrics.RequiresSets,
			m.Requires == metrics.RequiresPredictionsAndCosts:
			errs = append(errs, param.FieldError{Path: "score", Problem: fmt.Sprintf("%s requires %s, which no recipe has",
				m.Name, m.Requires), Hint: "use another score"})
		}
	}
	for _, name := range o.Recipes {
		if !known(name) {
			errs = append(errs, param.FieldError{Path: "only", Value: name, Constraint: "the name of a recipe",
				Hint: "did you mean " + suggest.Nearest(name, Recipes()) + "?"})
		}
	}
	return append(errs, o.checkStart()...).Err()
}

// Fit runs the search and fits the selected pipeline to all rows of data. When the context ends, it
// returns no model and an error that matches ctx.Err() and context.Cause(ctx); closing Options.Stop ends
// it with the best model so far.
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

// ErrOtherSearch is in the chain of the error if a journal belongs to another search.
var ErrOtherSearch = journal.ErrOther

// ErrNoModel is the error of a search that was stopped, or whose budget ended, before there was a model.
var ErrNoModel = errors.New("stopped before there was a first model")
