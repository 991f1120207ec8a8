package transformer

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// Fitter is the spec of a transformer.
type Fitter interface {
	// Fit learns the map from data, which it does not modify. Unsupervised steps ignore the
	// targets.
	Fit(ctx context.Context, data datasets.Set) (Transformer, error)
}

// BlockFitter is a Fitter that never requires all rows in memory. FitSource may read the source
// several times, or not at all if the map depends only on the number of columns.
type BlockFitter interface {
	FitSource(ctx context.Context, data datasets.Source) (Transformer, error)
}

// PassFitter is a Fitter that learns by passes over blocks of rows. Its [datasets.Pass] adds
// blocks, merges the states of other workers, and can be saved. This enables incremental learning,
// distributed fits and resuming after a crash. A pipeline of PassFitters is a PassFitter.
type PassFitter interface {
	Fitter
	// Start returns the first pass over rows of these columns.
	Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error)
	// Finish returns the transformer fitted by the last pass, the one whose Next is nil. It does
	// not modify the pass.
	Finish(ctx context.Context, last datasets.Pass) (Transformer, error)
}

// FamilyFitter is a Fitter whose specs form feature families: specs that differ only in some
// parameters, such as the kernel width or the number of features, and share random draws. A search
// over these parameters computes the features of a family together.
//
// Invariant: the features of a member equal those of a separate fit of its spec, up to rounding.
type FamilyFitter interface {
	Fitter
	// SameFamily reports whether the map of other belongs to the receiver's family. It is an
	// equivalence relation and false for specs of another type.
	SameFamily(other Fitter) bool
	// FitFamily fits specs of the receiver's family to the same data. It returns an error if any of
	// the fits would.
	FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (*Family, error)
	// FamilyMembers predicts the members of FitFamily's result. Widths that depend on the rows are
	// estimates.
	FamilyMembers(shape datasets.Shape, specs []Fitter) []FamilyMember
}

// TwoStageFitter is a Fitter with parameters that apply after learning, such as the power of
// learned scales. A search learns once for all candidates that differ only in these parameters,
// also if the step is nested in another one.
type TwoStageFitter interface {
	Fitter
	// FirstStage returns the spec with those parameters at their defaults. Specs with equal first
	// stages learn the same from the same rows.
	FirstStage() Fitter
	// FinishFit returns exactly the result of Fit, given the fitted first stage, which it does not
	// modify. It returns an error if Fit would.
	FinishFit(learned Transformer) (Transformer, error)
}

// Transformer is a fitted map of rows.
type Transformer interface {
	// Transform returns the features of the rows of X, which has the columns seen in Fit: a new
	// *mat.Dense or *matrices.CSR, or X itself if the map is the identity.
	Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error)
}

// TrainingTransformer is a Transformer that maps its training rows differently from other rows, so
// that downstream steps do not learn from a feature that contains a row's own target. Example:
// [TargetEncode] encodes each row by the targets of other folds. Pipelines, and each fold of
// a search, map training rows by Training and store Inference in the fitted pipeline. A step that
// contains other steps forwards both.
type TrainingTransformer interface {
	Transformer
	// Training returns the map of the training rows from row first on, in the order of the fit. It
	// has the type and the output columns of the receiver. It is nil if training rows are mapped
	// like others.
	Training(first int) Transformer
	// Inference returns the receiver without the data that only Training requires.
	Inference() Transformer
}

// DenseTransformer is a Transformer with dense features, which it can write to a given matrix. This
// avoids a new matrix for each block.
type DenseTransformer interface {
	OutputWidth() int
	// TransformTo overwrites dst, rows of X × OutputWidth, with the features of X.
	TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error
}

// SingleTransformer is a Transformer that can compute its features in float32, which doubles the
// SIMD throughput and halves the memory.
type SingleTransformer interface {
	OutputWidth() int
	// TransformSingle overwrites dst, rows of X × OutputWidth, with the features of X.
	TransformSingle(ctx context.Context, dst *matrices.Dense32, X mat.Matrix) error
}

// Describer is a Transformer that describes its output columns. Other transformers output unnamed
// numeric columns.
type Describer interface {
	// OutputWidth returns the number of output columns.
	OutputWidth() int
	// OutputSchema returns the output columns for the input columns in.
	OutputSchema(in datasets.Schema) datasets.Schema
}
