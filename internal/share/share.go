// Package share defines how an estimator fits many candidates on many folds together and shares the work they have in
// common. It is the contract between searches, pipelines, meta-estimators and estimators.
//
// An estimator that implements [BatchFitter] receives a [Batch] and yields an [Outcome] for each
// candidate and fold. Any other estimator is fitted to each fold individually. The package is
// imported by package estimator, so it refers to estimators as values of type any and to their
// predictions as [Prediction].
package share

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/solve"
)

// BatchFitter is an estimator that fits many candidates on many folds together. It shares sums of products, fitted
// steps, mapped rows and warm starts.
//
// Each outcome equals the prediction of a separate fit to the training rows of the fold, up to rounding or the
// tolerance of the candidate. The bits of an outcome do not depend on which other candidates are included.
type BatchFitter interface {
	// FitBatch calls b.Yield once for every included candidate and fold, in any order and never concurrently. It
	// returns the kinds of shared work ("prefix", "projection", "features", "columns", "grids", "folds", "alpha",
	// "path", "rows") and the first error of Yield. The error of a candidate is part of its outcome and does not end
	// the batch. All candidates have the type of the receiver.
	FitBatch(ctx context.Context, b Batch) (shared []string, err error)
	// PlanBatch estimates the memory of FitBatch in bytes, without the rows, from b.Shape, b.Folds and b.Candidates;
	// b.Data may be empty. It returns an error if the estimator does not support the batch, such as one with related
	// maps or leave-one-out.
	PlanBatch(b Batch) (bytes int64, err error)
}

// Batch is a set of candidates to be fitted on folds of the same rows.
type Batch struct {
	Data       datasets.Set   // the rows, before Maps if they are set
	Shape      datasets.Shape // of Data, for PlanBatch
	Folds      []datasets.Fold
	Candidates []Candidate
	// Maps are the feature maps of the candidates; nil if they are fitted to Data itself.
	Maps Maps
	// LeaveOneOut requests the leave-one-out prediction of each row. There is one fold, which tests on all rows. With
	// GCV, every row has the mean leverage, so that the mean squared error is the generalized cross-validation score.
	LeaveOneOut, GCV bool
	// Memory limits the bytes of sums and mapped rows, 0 for no limit. Rows that do not fit are mapped again.
	Memory int64
	// Include reports whether a candidate is fitted on a fold; nil includes all.
	Include func(candidate, fold int) bool
	// FitOne fits one candidate on one fold without sharing. It is set whenever Maps is.
	FitOne func(ctx context.Context, candidate, fold int) Outcome
	// Yield receives the outcomes.
	Yield func(candidate, fold int, out Outcome) error
}

// Candidate is an estimator and its features: all columns of the rows if Width is 0, else the first
// Width columns of the map with index Map, multiplied by Scale.
type Candidate struct {
	Estimator  any // an estimator.Estimator
	Map, Width int
	Scale      float64
	Float32    bool // the model is fitted to float32 features, or to float64 features whose rounding is negligible
}

// Outcome is the prediction of a candidate, fitted to the training rows of a fold, for the test rows.
type Outcome struct {
	Prediction
	Seconds float64 // time of this candidate and fold, with its part of shared work
	Report  Report
	Err     error // nil if there is a prediction
}

// Prediction has the fields of estimator.Prediction, to which it can be converted.
type Prediction struct {
	Values                                 []float64
	Targets, Scores, Probabilities         *mat.Dense
	Std                                    []float64
	Lower, Upper                           []float64
	StdTargets, LowerTargets, UpperTargets *mat.Dense
	Sets                                   *mat.Dense
	Anomaly                                []float64
}

// Report has the fields of estimator.Report, to which it can be converted.
type Report = solve.Report

// Maps are wide feature maps that are evaluated together, one tile of rows at a time.
type Maps interface {
	// Widths returns the number of features of each map.
	Widths() []int
	// Each calls yield with the features Z of the rows of X for each of the given maps. Z is reused after yield returns.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *mat.Dense) error) error
}

// Errors of estimators that do not support a kind of batch.
var (
	ErrNoLeaveOneOut = errors.New("leave-one-out is supported by ridge, kernel_ridge and their classifiers only; use k " +
		"folds")
	ErrNoSharedMaps = errors.New("nothing is shared between features of related maps")
)

// Candidates returns candidates that are fitted to the rows themselves.
func Candidates[E any](estimators ...E) []Candidate {
	out := make([]Candidate, len(estimators))
	for i, s := range estimators {
		out[i].Estimator = s
	}
	return out
}

// Specs returns the estimators of the candidates, or an error if one of them has another type than S.
func Specs[S any](b Batch) ([]S, error) {
	out := make([]S, len(b.Candidates))
	for i, c := range b.Candidates {
		s, ok := c.Estimator.(S)
		if !ok {
			return nil, fmt.Errorf("candidate %d is a %T", i, c.Estimator)
		}
		out[i] = s
	}
	return out, nil
}

// HasMaps reports whether the candidates are fitted to features of related maps.
func (b Batch) HasMaps() bool {
	return b.Maps != nil || len(b.Candidates) > 0 && b.Candidates[0].Width > 0
}

// Includes reports whether a candidate is fitted on a fold.
func (b Batch) Includes(candidate, fold int) bool {
	return b.Include == nil || b.Include(candidate, fold)
}

// IncludesAny reports whether a candidate is fitted on any fold.
func (b Batch) IncludesAny(candidate int) bool {
	for f := range b.Folds {
		if b.Includes(candidate, f) {
			return true
		}
	}
	return false
}

// MaxFitBytes returns the maximum memory of fitting a single candidate to the training rows of a fold.
func (b Batch) MaxFitBytes() (bytes int64) {
	for _, c := range b.Candidates {
		estimate, ok := c.Estimator.(datasets.CostEstimator)
		for _, fold := range b.Folds {
			if !ok {
				break
			}
			shape := b.Shape
			shape.Rows = len(fold.Train)
			bytes = max(bytes, estimate.Cost(shape).Bytes)
		}
	}
	return bytes
}

// MemoryLimit returns Memory, or the maximum int64 if there is no limit.
func (b Batch) MemoryLimit() int64 {
	if b.Memory > 0 {
		return b.Memory
	}
	return math.MaxInt64
}

// LinearInTargets reports whether the predictions of a regression are linear in its targets, so that several
// targets are right-hand sides of one fit: it has smoother weights, or is a pipeline that ends in such a model.
func LinearInTargets(spec any) bool {
	if p, ok := spec.(interface{ LinearInTargets() bool }); ok {
		return p.LinearInTargets()
	}
	_, ok := spec.(interface {
		SmootherCost(shape datasets.Shape) datasets.Cost
	})
	return ok
}

// TaskOf returns the task of an estimator.TaskProvider, and [datasets.AnyTask] for any other spec.
func TaskOf(spec any) datasets.Task {
	if t, ok := spec.(interface{ Task() datasets.Task }); ok {
		return t.Task()
	}
	return datasets.AnyTask
}
