// Package batch fits many candidates on many folds of the same rows, sharing whatever they have in common: sums of
// products, mapped rows, solutions to begin from.
//
// It takes plain descriptions of the candidates, [Ridge] and [PenalizedLoss], and yields plain results, weights or
// scores; what they mean, package estimator knows. There is a function for each kind of batch: [FitRidges],
// [FitMappedRidges] and [RidgesLeaveOneOut], [FitByDescent] and [FitByNewton].
package batch

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/single"
)

// Batch is candidates to be fitted on the folds of some rows. The candidates themselves come beside it; each has
// its features here.
type Batch struct {
	Data     datasets.Set // the rows, before Maps where there are some
	Folds    []datasets.Fold
	Features []Features // by candidate
	Maps     Maps       // nil where candidates learn from Data as it is
	GCV      bool       // whether residuals of leaving one out are those of the mean leverage
	Memory   int64      // bound on the bytes of sums and mapped rows that are held at once
	// Include reports whether a candidate is wanted on a fold.
	Include func(candidate, fold int) bool
	// FitOne fits a candidate on a fold by itself and hands over what comes of it, if that is wanted. The
	// rows of the fold are nil on maps.
	FitOne func(ctx context.Context, candidate, fold int, rows *Split) error
	// Yield takes a result, if it is wanted. It is called from several goroutines at once, and its error ends the
	// batch.
	Yield func(candidate, fold int, out Result) error
}

// Features are Scale times the first Width columns of the map Map; of Width 0 they are the rows as they are.
// Float32 says that the model will be fitted to features in single precision.
type Features struct {
	Map, Width int
	Scale      float64
	Float32    bool
}

// Split is the rows of a fold: to train on, and to predict.
type Split struct {
	Train datasets.Set
	Test  mat.Matrix
}

// Result is a candidate fitted on the training rows of a fold: a model with the rows to predict, or the scores of
// these rows.
type Result struct {
	Model   *solve.Linear
	Test    mat.Matrix
	Scores  *mat.Dense
	Report  solve.Report // beside scores
	Classes []string     // where the training rows say them
	Seconds float64      // spent so far; work shared with others counts in part
	Err     error        // why there is neither model nor scores
}

// Maps are wide maps of rows that are made together, a tile of rows at a time.
type Maps interface {
	// Widths returns the number of features of each map.
	Widths() []int
	// Each calls yield with what some of the maps make of the rows of X. Z is used again after yield.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *mat.Dense) error) error
}

// Float32Maps are Maps that make features in single precision too, the very ones that a fit of one map would.
type Float32Maps interface {
	Maps
	// EachSingle is Each in single precision.
	EachFloat32(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *single.Dense) error) error
}

// IncludesAny reports whether a candidate is wanted on any fold.
func (b Batch) IncludesAny(candidate int) bool {
	for f := range b.Folds {
		if b.Include(candidate, f) {
			return true
		}
	}
	return false
}
