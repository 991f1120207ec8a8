// Package transformer maps rows of inputs to rows of features.
//
// A spec, such as [RFF], is a plain struct that implements [Fitter]. Fitting it to data returns a
// [Transformer], which is immutable, safe for concurrent use, and maps each row independently.
// Fitting never changes the spec.
//
//	step             spec           learns                       features
//	impute           [Impute]       mean, median, mode           the inputs without gaps
//	standardize      [Standardize]  means, standard deviations   mean 0, standard deviation 1
//	minmax           [MinMax]       ranges                       an interval
//	robust           [Robust]       medians, quartiles           median 0, interquartile range 1
//	quantile         [Quantile]     quantiles                    ranks, uniform or normal
//	scale            [Scale]        which column is which         the inputs times factors
//	onehot           [OneHot]       which levels occur           a 0/1 column for each level
//	ordinal          [Ordinal]      the number of levels         codes as numbers
//	target_encode    [TargetEncode] the mean target of categories that of the category
//	hash             [Hash]         the columns of categories    ±1 in one of a fixed number of columns
//	tfidf            [TFIDF]        terms and their frequency    weighted counts of the terms of texts
//	ard              [ARD]          a scale for each input       the inputs times their scales
//	pca              [PCA]          directions of large variance projections on them
//	rff              [RFF]          γ, random frequencies        random Fourier features
//	softmax_features [SoftmaxFeatures] γ, normal numbers        features of exp(γ·x'y)
//	polynomial_sketch [PolynomialSketch] γ, random columns      features of (γ·x'y + c₀)^p
//	additive_chi2    [AdditiveChi2] the number of columns        features of the additive chi-squared kernel
//	skewed_chi2      [SkewedChi2]   random frequencies           features of the skewed chi-squared kernel
//	binning          [Binning]      γ, random grids, their bins  random binning features
//	nystroem         [Nystroem]     γ, landmarks                 the kernel through landmarks
//	rfm              [RFM]          how the targets change       the inputs, mapped linearly
//	dense            [Dense]        the number of columns        the inputs, zeros stored
//
// Every spec of this package implements [BlockFitter]; Fit is FitSource over the rows in memory.
// Specs that learn from rows also implement [PassFitter], except ard, rff, softmax_features,
// polynomial_sketch, binning and nystroem, whose samples, rules for γ, bins and landmarks require
// FitSource. Every fitted type implements model.Stateful, [Sized], [Describer] and
// graph.StepExporter; the exports of binning and tfidf are always errors.
//
// NaN denotes a missing value. impute fills missing values, the scalers and encoders pass them on,
// and ard, pca and the feature maps return an error that names row and column. Sample weights are
// ignored. Sparse rows stay sparse, except in [Dense] and, a tile at a
// time, in [PCA].
//
// Package transformertest contains the conformance tests of transformers, for any [Fitter].
package transformer

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/single"
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
	// *mat.Dense or *sparse.CSR, or X itself if the map is the identity.
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
	Sized
	// TransformTo overwrites dst, rows of X × OutputWidth, with the features of X.
	TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error
}

// SingleTransformer is a Transformer that can compute its features in float32, which doubles the
// SIMD throughput and halves the memory.
type SingleTransformer interface {
	Sized
	// TransformSingle overwrites dst, rows of X × OutputWidth, with the features of X.
	TransformSingle(ctx context.Context, dst *single.Dense, X mat.Matrix) error
}

// Sized is a Transformer with a known number of output columns.
type Sized interface {
	OutputWidth() int
}

// Describer is a Transformer that describes its output columns, given the input columns. Other
// transformers output unnamed numeric columns.
type Describer interface {
	OutputSchema(in datasets.Schema) datasets.Schema
}

// DataIndependent is a Fitter whose fit may depend only on the number of columns. A search then
// fits it once and reuses the result for every fold.
type DataIndependent interface {
	IsDataIndependent() bool
}

// fitted is implemented by every fitted type of this package.
type fitted interface {
	Transformer
	Sized
	Describer
	graph.StepExporter
	model.Stateful
}

var (
	_ = []fitted{(*fittedDense)(nil), (*fittedOneHot)(nil), (*fittedHash)(nil), (*FittedBinning)(nil)}
	_ = []interface {
		fitted
		DenseTransformer
	}{(*FittedScaler)(nil), (*fittedQuantile)(nil), (*fittedScale)(nil), (*fittedTargetEncode)(nil),
		(*FittedARD)(nil), (*FittedRFM)(nil), (*FittedPCA)(nil), (*fittedImpute)(nil), (*fittedOrdinal)(nil),
		(*FittedRFF)(nil), (*FittedSoftmaxFeatures)(nil), (*FittedNystroem)(nil),
		(*fittedPolynomialSketch)(nil), (*fittedAdditiveChi2)(nil), (*fittedSkewedChi2)(nil)}
	_ = []SingleTransformer{(*FittedRFF)(nil), (*FittedSoftmaxFeatures)(nil), (*FittedNystroem)(nil)}
	_ = []TwoStageFitter{ARD{}, Quantile{}}
	_ = []DataIndependent{RFF{}, SoftmaxFeatures{}, PolynomialSketch{}, AdditiveChi2{}, SkewedChi2{}, Binning{},
		Scale{}, Hash{}, Dense{}}
	_ = []TrainingTransformer{(*fittedTargetEncode)(nil)}
	_ = []interface {
		datasets.Requirer
		datasets.SchemaInferrer
		datasets.CostEstimator
	}{ARD{}, RFM{}, PCA{}, RFF{}, SoftmaxFeatures{}, PolynomialSketch{}, AdditiveChi2{}, SkewedChi2{}, Binning{},
		Nystroem{}, Standardize{}, MinMax{}, Robust{}, Quantile{}, Scale{}, OneHot{},
		Ordinal{}, TargetEncode{}, Hash{}, Impute{}}
	_ datasets.SchemaInferrer = Dense{}
	_ datasets.CostEstimator  = Dense{}
)
