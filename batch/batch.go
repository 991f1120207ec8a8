// Package batch defines how an estimator fits many candidates on many folds together and shares the
// work they have in common. It is the contract between callers that request outcomes, such as
// searches, pipelines and meta-estimators, and the estimators that produce them.
//
// An estimator that implements [Fitter] receives a [Job] and yields an [Outcome] for each candidate
// and fold. Any other estimator is fitted to each fold separately; package estimator decides which.
// That package imports this one, so estimators are values of type any here.
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// Fitter is an estimator that fits many candidates on many folds together. It shares sums of
// products, fitted steps, mapped rows and warm starts.
//
// Each outcome equals the prediction of a separate fit to the training rows of the fold, up to
// rounding or the tolerance of the candidate. The bits of an outcome do not depend on which other
// candidates are included.
type Fitter interface {
	// FitBatch calls j.Yield once for every included candidate and fold, in any order and never
	// concurrently. It returns the kinds of shared work ("prefix", "projection", "features",
	// "columns", "grids", "folds", "alpha", "path", "rows") and the first error of Yield. The error of
	// a candidate is part of its outcome and does not end the batch. All candidates have the type of
	// the receiver.
	FitBatch(ctx context.Context, j Job) (shared []string, err error)
	// PlanBatch estimates the memory of FitBatch in bytes, without the rows, from j.Shape, j.Folds and
	// j.Candidates; j.Data may be empty. Jobs have maps or leave-one-out only if the tags allow it.
	PlanBatch(j Job) (bytes int64, err error)
}

// Sharer is a spec with parameters, such as a penalty, in which candidates that share work may differ.
type Sharer interface {
	// Shared returns the spec with these parameters set to zero. Candidates with equal results may share
	// work; a new field of the spec thus separates candidates. The sums of their first pass over a
	// stream are equal.
	Shared() any
}

// Job is a set of candidates to be fitted on folds of the same rows.
type Job struct {
	Data       datasets.Set   // the rows, before Maps if they are set
	Stream     *Stream        // the rows if they are not in memory; Data and the folds are then empty
	Shape      datasets.Shape // of Data, for PlanBatch
	Folds      []datasets.Fold
	Candidates []Candidate
	// Maps are the feature maps of the candidates; nil if they are fitted to Data itself.
	Maps Maps
	// LeaveOneOut requests the leave-one-out prediction of each row. There is one fold, which tests on
	// all rows. With GCV, every row has the mean leverage, so that the mean squared error is the
	// generalized cross-validation score.
	LeaveOneOut, GCV bool
	// Memory limits the bytes of sums and mapped rows, and of concurrent separate fits; 0 for no limit.
	// Rows that do not fit are mapped again.
	Memory  int64
	Workers int // maximum number of concurrent separate fits; 0 means 1
	// Include reports whether a candidate is fitted on a fold; nil includes all.
	Include func(candidate, fold int) bool
	// FitOne fits one candidate on one fold without sharing. It is set whenever Maps is.
	FitOne func(ctx context.Context, candidate, fold int) Outcome
	// Predict returns those outputs of a separately fitted or streamed candidate that Yield reads; nil
	// returns all outputs.
	Predict func(ctx context.Context, fitted any, X mat.Matrix) (model.Prediction, error)
	// Yield receives the outcomes.
	Yield func(candidate, fold int, out Outcome) error
}

// Stream contains rows that are not in memory. Each row tests one fold and trains the others.
type Stream struct {
	Source datasets.Source
	Fold   func(row int) int // fold that tests on a row
	Rows   []int             // number of test rows of each fold
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
	model.Prediction
	Seconds float64 // time of this candidate and fold, with its part of shared work
	Report  model.Report
	Err     error // nil if there is a prediction
}

// Maps are wide feature maps that are evaluated together, one tile of rows at a time.
type Maps interface {
	// Widths returns the number of features of each map.
	Widths() []int
	// Each calls yield with the features Z of the rows of X for each of the given maps. Z is reused
	// after yield returns.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error
}

// Float32Maps are Maps that also compute float32 features, identical to those of a single fit.
type Float32Maps interface {
	Maps
	// EachFloat32 is Each in float32.
	EachFloat32(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *matrices.Dense32) error) error
}

// Errors of estimators that do not support a kind of job.
var (
	ErrNoLeaveOneOut = errors.New("leave-one-out is supported by ridge, kernel_ridge and their classifiers only; use k " +
		"folds")
	errNoSharedMaps = errors.New("nothing is shared between features of related maps")
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
func Specs[S any](j Job) ([]S, error) {
	out := make([]S, len(j.Candidates))
	for i, c := range j.Candidates {
		s, ok := c.Estimator.(S)
		if !ok {
			return nil, fmt.Errorf("candidate %d must be a %v, got %T", i, reflect.TypeFor[S](), c.Estimator)
		}
		out[i] = s
	}
	return out, nil
}

// HasMaps reports whether the candidates are fitted to features of related maps.
func (j Job) HasMaps() bool {
	return j.Maps != nil || len(j.Candidates) > 0 && j.Candidates[0].Width > 0
}

// CheckTags returns an error if no candidate of one of the types has the tags that the kind of job requires.
func (j Job) CheckTags() error {
	errs := map[reflect.Type]error{}
	for _, c := range slices.Backward(j.Candidates) { // the error is that of the first one
		tags, of := datasets.TagsOf(c.Estimator), reflect.TypeOf(c.Estimator)
		_, seen := errs[of]
		switch {
		case seen && errs[of] == nil:
		case j.LeaveOneOut && (!tags.LeaveOneOut || tags.NoLeaveOneOut != nil):
			errs[of] = cmp.Or(tags.NoLeaveOneOut, ErrNoLeaveOneOut)
		case j.HasMaps() && !tags.SharedMaps:
			errs[of] = errNoSharedMaps
		default:
			errs[of] = nil
		}
	}
	for _, c := range j.Candidates {
		if err := errs[reflect.TypeOf(c.Estimator)]; err != nil {
			return err
		}
	}
	return nil
}

// SharedKeys returns [Keys] of the results of Shared of the candidates.
func (j Job) SharedKeys() []int {
	values := make([]any, len(j.Candidates))
	for i, c := range j.Candidates {
		if s, ok := c.Estimator.(Sharer); ok {
			values[i] = s.Shared()
		}
	}
	return specs.Keys(values)
}

// Includes reports whether a candidate is fitted on a fold.
func (j Job) Includes(candidate, fold int) bool {
	return j.Include == nil || j.Include(candidate, fold)
}

// IncludesAny reports whether a candidate is fitted on any fold.
func (j Job) IncludesAny(candidate int) bool {
	for f := range j.Folds {
		if j.Includes(candidate, f) {
			return true
		}
	}
	return false
}

// IncludesFold reports whether any candidate is fitted on a fold.
func (j Job) IncludesFold(fold int) bool {
	for i := range j.Candidates {
		if j.Includes(i, fold) {
			return true
		}
	}
	return false
}

// CheckFolds returns an error if a fold is empty or has a row outside [0, n).
func (j Job) CheckFolds(n int) error {
	for f, fold := range j.Folds {
		if len(fold.Train) == 0 || len(fold.Test) == 0 {
			return fmt.Errorf("fold %d must have training and test rows, got %d and %d", f, len(fold.Train), len(fold.Test))
		}
		for _, i := range slices.Concat(fold.Train, fold.Test) {
			if i < 0 || i >= n {
				return fmt.Errorf("fold %d: row must be from 0 to %d, got %d", f, n-1, i)
			}
		}
	}
	return nil
}

// Select returns the job of some of the candidates.
func (j Job) Select(which []int) Job {
	candidates := make([]Candidate, len(which))
	for k, i := range which {
		candidates[k] = j.Candidates[i]
	}
	out := j.mapped(func(k, fold int) (int, int) { return which[k], fold })
	out.Candidates = candidates
	return out
}

// OnFold returns the job on one of the folds.
func (j Job) OnFold(fold int) Job {
	out := j.mapped(func(candidate, _ int) (int, int) { return candidate, fold })
	out.Folds = j.Folds[fold : fold+1 : fold+1]
	return out
}

// mapped returns the job with its functions called with the candidate and fold that at returns.
func (j Job) mapped(at func(candidate, fold int) (int, int)) Job {
	out := j
	out.Include = func(candidate, fold int) bool { return j.Includes(at(candidate, fold)) }
	if j.FitOne != nil {
		out.FitOne = func(ctx context.Context, candidate, fold int) Outcome {
			candidate, fold = at(candidate, fold)
			return j.FitOne(ctx, candidate, fold)
		}
	}
	if j.Yield != nil {
		out.Yield = func(candidate, fold int, o Outcome) error {
			candidate, fold = at(candidate, fold)
			return j.Yield(candidate, fold, o)
		}
	}
	return out
}

// MaxFitBytes returns the maximum memory of fitting a single candidate to the training rows of a fold.
func (j Job) MaxFitBytes() (bytes int64) {
	for _, c := range j.Candidates {
		estimate, ok := c.Estimator.(datasets.CostEstimator)
		for _, fold := range j.Folds {
			if !ok {
				break
			}
			shape := j.Shape
			shape.Rows = len(fold.Train)
			bytes = max(bytes, estimate.Cost(shape).Bytes)
		}
	}
	return bytes
}

// FitBytes returns the memory of a separate fit: what the estimator declares, a copy of the rows, and
// the predictions of several outputs.
func (j Job) FitBytes(candidate int) int64 {
	shape := j.Shape
	n := int64(shape.Rows)
	bytes := 8 * n * int64(1+shape.Cols)
	if shape.NonZeros > 0 { // sparse: row starts, and column and value of each entry
		bytes = 16*n + int64(12*math.Round(shape.NonZeros*float64(n)))
	}
	if k := int64(shape.Outputs); k > 1 {
		bytes += 8 * n * k / int64(max(len(j.Folds), 1))
	}
	if estimate, ok := j.Candidates[candidate].Estimator.(datasets.CostEstimator); ok {
		shape.Rows = 0
		for _, fold := range j.Folds {
			shape.Rows = max(shape.Rows, len(fold.Train))
		}
		bytes += estimate.Cost(shape).Bytes
	}
	return bytes
}

// MemoryLimit returns Memory, or the maximum int64 if there is no limit.
func (j Job) MemoryLimit() int64 {
	if j.Memory > 0 {
		return j.Memory
	}
	return math.MaxInt64
}

// YieldError yields an error for every included fold of a candidate.
func (j Job) YieldError(candidate int, err error) error {
	for f := range j.Folds {
		if j.Includes(candidate, f) {
			if failed := j.Yield(candidate, f, Outcome{Err: err}); failed != nil {
				return failed
			}
		}
	}
	return nil
}
