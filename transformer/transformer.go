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
//	tfidf            [TFIDF]        terms and their frequency    weighted counts of the terms
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
// FitSource. Every fitted type implements model.Stateful, [Describer] and
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
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
)

// fitted is implemented by every fitted type of this package.
type fitted interface {
	Transformer
	Describer
	graph.StepExporter
	model.Stateful
}

var (
	_ = []fitted{(*fittedDense)(nil), (*fittedOneHot)(nil), (*fittedHash)(nil), (*FittedBinning)(nil)}
	_ = []interface {
		fitted
		DenseTransformer
	}{(*fittedScaler)(nil), (*fittedQuantile)(nil), (*fittedScale)(nil), (*fittedTargetEncode)(nil),
		(*fittedARD)(nil), (*FittedRFM)(nil), (*FittedPCA)(nil), (*fittedImpute)(nil), (*fittedOrdinal)(nil),
		(*FittedRFF)(nil), (*fittedSoftmaxFeatures)(nil), (*FittedNystroem)(nil),
		(*fittedPolynomialSketch)(nil), (*fittedAdditiveChi2)(nil), (*fittedSkewedChi2)(nil)}
	_ = []SingleTransformer{(*FittedRFF)(nil), (*fittedSoftmaxFeatures)(nil), (*FittedNystroem)(nil)}
	_ = []TwoStageFitter{ARD{}, Quantile{}}
	_ = []datasets.Tagger{RFF{}, SoftmaxFeatures{}, PolynomialSketch{}, AdditiveChi2{}, SkewedChi2{}, Binning{},
		Scale{}, Hash{}, Dense{}, Nystroem{}, PCA{}}
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
