// Package batch fits many candidates on many folds of the same rows. It shares sums of products,
// mapped rows and warm starts among them.
//
// Candidates are plain specifications, such as [Ridge] and [PenalizedLoss]; results are weights or
// scores, which package estimator interprets. Each kind of batch has a function: [FitRidges],
// [FitMappedRidges], [RidgesLeaveOneOut], [FitKernelRidges], [FitByDescent] and [FitByNewton].
package batch

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/single"
)

// Batch is a set of folds and the features of each candidate. The candidates themselves are passed
// separately.
type Batch struct {
	Data     datasets.Set // rows, before Maps
	Folds    []datasets.Fold
	Features []Features // by candidate
	Maps     Maps       // nil if candidates use Data unchanged
	GCV      bool       // whether leave-one-out uses the mean leverage
	Memory   int64      // bound on the bytes of sums and mapped rows
	// Include reports whether a candidate is fitted on a fold.
	Include func(candidate, fold int) bool
	// FitOne fits a candidate on a fold independently and yields its result, if included. rows is
	// nil if Maps is set.
	FitOne func(ctx context.Context, candidate, fold int, rows *Split) error
	// Yield receives the results. It is called concurrently, and its error ends the batch.
	Yield func(candidate, fold int, out Result) error
}

// Features are the first Width columns of map number Map, times Scale. Width 0 means the unmapped
// rows. Float32 reports whether the model is fitted to float32 features.
type Features struct {
	Map, Width int
	Scale      float64
	Float32    bool
}

// Split contains the training and test rows of a fold.
type Split struct {
	Train datasets.Set
	Test  mat.Matrix
}

// Result is a candidate fitted on a fold: a model with the test rows, or their scores.
type Result struct {
	Model   *solve.Linear
	Test    mat.Matrix
	Scores  *mat.Dense
	Report  solve.Report // set with Scores
	Classes []string     // if determined by the training rows
	Seconds float64      // including a share of the shared work
	Err     error        // why there is no model or no scores
}

// Maps are feature maps evaluated together, one tile of rows at a time.
type Maps interface {
	// Widths returns the number of features of each map.
	Widths() []int
	// Each calls yield with the features of the rows of X for the given maps. Z is reused after
	// yield returns.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *mat.Dense) error) error
}

// Float32Maps are Maps that also compute float32 features, identical to those of a single fit.
type Float32Maps interface {
	Maps
	// EachFloat32 is Each in float32.
	EachFloat32(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *single.Dense) error) error
}

// IncludesAny reports whether a candidate is included on any fold.
func (b Batch) IncludesAny(candidate int) bool {
	for f := range b.Folds {
		if b.Include(candidate, f) {
			return true
		}
	}
	return false
}
