package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// BatchFitter is an Estimator that fits many candidates on many folds together, sharing whatever they
// have in common: sums of products, fitted steps, mapped rows, solutions to begin from. A grid search
// hands it the whole grid; an estimator that is none is fitted to each fold by itself.
//
// The law: what is yielded is what fitting each candidate to each fold's training rows, by itself,
// would predict for its test rows, to rounding or to the candidate's own tolerance; and a candidate's
// outcome has the same bits whichever others are wanted.
type BatchFitter interface {
	Estimator
	// FitBatch calls b.Yield once for every candidate and fold that is wanted, in any order but never
	// twice at the same time. It returns the names of what was shared ("prefix", "projection",
	// "features", "columns", "grids", "folds", "alpha", "path", "rows"), and the first error that
	// Yield returned. A candidate that cannot be fitted is yielded with its error and does not end
	// the batch. Candidates are specs of the receiver's own type.
	FitBatch(ctx context.Context, b Batch) (shared []string, err error)
	// PlanBatch returns about how many bytes FitBatch holds at once beside the rows, from b.Shape, b.Folds and the
	// candidates; there may be no data yet. Its error says why the estimator takes no such batch: of related maps,
	// say, or leaving one out.
	PlanBatch(b Batch) (bytes int64, err error)
}

// Batch is candidates to be fitted on the folds of some rows.
type Batch struct {
	Data       datasets.Set   // the rows, before Maps where there are some
	Shape      datasets.Shape // of Data, for PlanBatch
	Folds      []datasets.Fold
	Candidates []Candidate
	// Maps are what the candidates' features are parts of, nil where they learn from Data as it is.
	Maps Maps
	// LeaveOneOut asks for a prediction of each row by the model of all the others. There is one fold,
	// which tests on all rows. With GCV all rows are taken to have the mean leverage instead of their
	// own, so that the mean squared error is the score of generalised cross-validation.
	LeaveOneOut, GCV bool
	// Memory bounds the bytes of sums and mapped rows in memory at once, 0 for no bound; what does
	// not fit is mapped again.
	Memory int64
	// Include reports whether a candidate is to be fitted on a fold. Nil for all.
	Include func(candidate, fold int) bool
	// FitOne fits one candidate on one fold without sharing anything, for what cannot be shared. It is
	// there wherever Maps is.
	FitOne func(ctx context.Context, candidate, fold int) Outcome
	// Yield takes the outcomes.
	Yield func(candidate, fold int, out Outcome) error
}

// Candidate is a spec and its features: those of the rows as they are where Width is 0, else Scale
// times the first Width columns of the map Map. Float32 says that the model will be fitted to features in
// single precision: to those of maps in single precision, or where there are none to others so near to them that their rounding does
// not show, else by itself.
type Candidate struct {
	Estimator
	Map, Width int
	Scale      float64
	Float32    bool
}

// Outcome is what one candidate, fitted on the training rows of one fold, predicts for the test rows.
type Outcome struct {
	Prediction
	Seconds float64 // spent on this candidate and fold; work shared with others counts in part
	Report  Report
	Err     error // why there is no prediction
}

// Candidates are specs that learn from the rows as they are.
func Candidates(specs ...Estimator) []Candidate {
	out := make([]Candidate, len(specs))
	for i, s := range specs {
		out[i].Estimator = s
	}
	return out
}

// SpecsOf returns the specs of the candidates for a FitBatch, which takes those of its own type.
func SpecsOf[S Estimator](b Batch) ([]S, error) {
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

// Mapped reports whether the candidates learn from parts of related maps.
func (b Batch) Mapped() bool {
	return b.Maps != nil || len(b.Candidates) > 0 && b.Candidates[0].Width > 0
}

// Wants reports whether a candidate is wanted on a fold.
func (b Batch) Wants(candidate, fold int) bool { return b.Include == nil || b.Include(candidate, fold) }

// WantsAny reports whether a candidate is wanted on any fold.
func (b Batch) WantsAny(candidate int) bool {
	for f := range b.Folds {
		if b.Wants(candidate, f) {
			return true
		}
	}
	return false
}

// LoneBytes returns the most bytes that one candidate holds, fitted by itself to the training rows of a fold.
func (b Batch) LoneBytes() (most int64) {
	for _, c := range b.Candidates {
		coster, ok := c.Estimator.(datasets.CostEstimator)
		for _, fold := range b.Folds {
			if !ok {
				break
			}
			shape := b.Shape
			shape.Rows = len(fold.Train)
			most = max(most, coster.Cost(shape).Bytes)
		}
	}
	return most
}

// memory is Memory, or more than there can be where that is 0.
func (b Batch) memory() int64 {
	if b.Memory > 0 {
		return b.Memory
	}
	return math.MaxInt64
}

// ErrNoLeaveOneOut is the error of an estimator that cannot leave one out.
var ErrNoLeaveOneOut = errors.New("leave one out is for ridge, kernel_ridge and their classifiers; use k folds")

// ErrNoSharedMaps is the error of an estimator that gains nothing from related maps.
var ErrNoSharedMaps = errors.New("nothing is shared between features of related maps")

// Maps are wide maps of rows that are made together, a tile of rows at a time.
type Maps interface {
	// Widths returns the number of features of each map.
	Widths() []int
	// Each calls yield with what some of the maps make of the rows of X. Z is used again after yield.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *mat.Dense) error) error
}
