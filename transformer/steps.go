package transformer

import "github.com/bochner-ml/bochner/internal/spec/registry"

// The steps of this package with their names in experiment files.
func init() {
	registry.Add("transformer", "impute", "fills missing values", NewImpute, &fittedImpute{})
	registry.Add("transformer", "standardize", "shifts columns to mean 0 and scales them to variance 1",
		NewStandardize, &fittedScaler{})
	registry.Add("transformer", "minmax", "shifts and scales columns to an interval", NewMinMax, &fittedScaler{})
	registry.Add("transformer", "robust", "subtracts the median and divides by the interquartile range",
		NewRobust, &fittedScaler{})
	registry.Add("transformer", "quantile", "maps columns by their ranks to a uniform or normal distribution",
		NewQuantile, &fittedQuantile{})
	registry.Add("transformer", "scale", "multiplies each column by a factor, which a search can optimize",
		NewScale, &fittedScale{})
	registry.Add("transformer", "onehot", "an indicator column for each category", NewOneHot, &fittedOneHot{})
	registry.Add("transformer", "ordinal", "categories as numbers, in their order", NewOrdinal, &fittedOrdinal{})
	registry.Add("transformer", "target_encode", "the mean target of each category, shrunk and cross-fitted",
		NewTargetEncode, &fittedTargetEncode{})
	registry.Add("transformer", "hash", "a fixed number of columns, shared by the hashes of categories",
		NewHash, &fittedHash{})
	registry.Add("transformer", "tfidf", "weighted counts of the words, or n-grams, of documents",
		NewTFIDF, &FittedTFIDF{})
	registry.Add("transformer", "dense", "converts sparse rows to dense rows",
		func() Dense { return Dense{} }, &fittedDense{})
	registry.Add("transformer", "rff", "random Fourier features of a shift-invariant kernel", NewRFF, &FittedRFF{})
	registry.Add("transformer", "softmax_features", "positive random features of the softmax kernel, exp(γ·x'y)",
		NewSoftmaxFeatures, &fittedSoftmaxFeatures{})
	registry.Add("transformer", "polynomial_sketch", "random features of the polynomial kernel by count sketches",
		NewPolynomialSketch, &fittedPolynomialSketch{})
	registry.Add("transformer", "additive_chi2",
		"features of the additive chi-squared kernel of inputs ≥ 0, such as histograms",
		NewAdditiveChi2, &fittedAdditiveChi2{})
	registry.Add("transformer", "skewed_chi2", "random features of the skewed chi-squared kernel",
		NewSkewedChi2, &fittedSkewedChi2{})
	registry.Add("transformer", "binning", "random binning features: the cells of randomly shifted grids",
		NewBinning, &FittedBinning{})
	registry.Add("transformer", "nystroem", "features from the kernel values with landmarks, a sample of the training rows",
		NewNystroem, &FittedNystroem{})
	registry.Add("transformer", "ard", "a scale for each input, learned from the targets", NewARD, &fittedARD{})
	registry.Add("transformer", "pca", "principal components", NewPCA, &FittedPCA{})
	registry.Add("transformer", "rfm", "a linear map of the inputs learned from gradients of the targets",
		NewRFM, &FittedRFM{})
}
