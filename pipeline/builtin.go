package pipeline

import (
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// builtin returns the steps of this module with their names in experiment files.
func builtin() []Entry {
	return []Entry{
		{"columns", "separate steps for groups of columns; their outputs are concatenated",
			func() any { return NewColumns() }, func() model.Stateful { return &FittedColumns{} }},
		{"union", "concatenated outputs of several maps of the same rows",
			func() any { return NewUnion() }, func() model.Stateful { return &FittedUnion{} }},
		{"steps", "steps one after the other, as one step",
			func() any { return NewChain() }, func() model.Stateful { return &FittedChain{} }},

		{"impute", "fills missing values",
			func() any { return transformer.NewImpute() }, func() model.Stateful { return &transformer.FittedImpute{} }},
		{"standardize", "moves columns to mean 0 and stretches them to variance 1",
			func() any { return transformer.NewStandardize() }, func() model.Stateful { return &transformer.FittedScaler{} }},
		{"minmax", "moves and stretches columns into an interval",
			func() any { return transformer.NewMinMax() }, func() model.Stateful { return &transformer.FittedScaler{} }},
		{"robust", "moves columns by the median and stretches them by the quartiles",
			func() any { return transformer.NewRobust() }, func() model.Stateful { return &transformer.FittedScaler{} }},
		{"quantile", "maps columns by their ranks to a uniform or a normal law",
			func() any { return transformer.NewQuantile() }, func() model.Stateful { return &transformer.FittedQuantile{} }},
		{"scale", "multiplies columns by factors of their own, which a search can look for",
			func() any { return transformer.NewScale() }, func() model.Stateful { return &transformer.FittedScale{} }},
		{"onehot", "a column of its own for each level",
			func() any { return transformer.NewOneHot() }, func() model.Stateful { return &transformer.FittedOneHot{} }},
		{"ordinal", "levels as numbers in their order",
			func() any { return transformer.NewOrdinal() }, func() model.Stateful { return &transformer.FittedOrdinal{} }},
		{"target_encode", "the mean target of each category, shrunk and cross-fitted",
			func() any { return transformer.NewTargetEncode() },
			func() model.Stateful { return &transformer.FittedTargetEncode{} }},
		{"hash", "a fixed number of columns, shared by the hashes of categories",
			func() any { return transformer.NewHash() }, func() model.Stateful { return &transformer.FittedHash{} }},
		{"tfidf", "weighted counts of the words, or n-grams, of texts",
			func() any { return transformer.NewTFIDF() }, func() model.Stateful { return &transformer.FittedTFIDF{} }},
		{"dense", "sparse rows as dense ones",
			func() any { return transformer.NewDense() }, func() model.Stateful { return &transformer.FittedDense{} }},
		{"rff", "random Fourier features of a shift-invariant kernel",
			func() any { return transformer.NewRFF() }, func() model.Stateful { return &transformer.FittedRFF{} }},
		{"softmax_features", "positive random features of the softmax kernel, exp(γ·x'y)",
			func() any { return transformer.NewSoftmaxFeatures() },
			func() model.Stateful { return &transformer.FittedSoftmaxFeatures{} }},
		{"polynomial_sketch", "random features of the polynomial kernel by count sketches",
			func() any { return transformer.NewPolynomialSketch() },
			func() model.Stateful { return &transformer.FittedPolynomialSketch{} }},
		{"additive_chi2", "features of the additive chi-squared kernel of inputs ≥ 0, such as histograms",
			func() any { return transformer.NewAdditiveChi2() },
			func() model.Stateful { return &transformer.FittedAdditiveChi2{} }},
		{"skewed_chi2", "random features of the skewed chi-squared kernel",
			func() any { return transformer.NewSkewedChi2() }, func() model.Stateful { return &transformer.FittedSkewedChi2{} }},
		{"binning", "random binning features: the cells of randomly shifted grids",
			func() any { return transformer.NewBinning() }, func() model.Stateful { return &transformer.FittedBinning{} }},
		{"nystroem", "the kernel of rows and landmarks, which are some of the training rows",
			func() any { return transformer.NewNystroem() }, func() model.Stateful { return &transformer.FittedNystroem{} }},
		{"ard", "a scale for each input, learned from the targets",
			func() any { return transformer.NewARD() }, func() model.Stateful { return &transformer.FittedARD{} }},
		{"pca", "principal components",
			func() any { return transformer.NewPCA() }, func() model.Stateful { return &transformer.FittedPCA{} }},
		{"rfm", "a linear map of the inputs learned from gradients of the targets",
			func() any { return transformer.NewRFM() }, func() model.Stateful { return &transformer.FittedRFM{} }},

		{"ridge", "linear regression with a penalty on the squared weights",
			func() any { return estimator.NewRidge() }, func() model.Stateful { return &estimator.FittedLinear{} }},
		{"ridge_classifier", "ridge regression on class codes ±1",
			func() any { return estimator.NewRidgeClassifier() },
			func() model.Stateful { return &estimator.FittedLinearClassifier{} }},
		{"logistic", "logistic regression, binary or multinomial",
			func() any { return estimator.NewLogistic() }, func() model.Stateful { return &estimator.FittedLogistic{} }},
		{"svm", "linear support vector machine",
			func() any { return estimator.NewSVM() }, func() model.Stateful { return &estimator.FittedLinearClassifier{} }},
		{"svr", "linear support vector regression",
			func() any { return estimator.NewSVR() }, func() model.Stateful { return &estimator.FittedLinear{} }},
		{"poisson", "Poisson regression of counts and rates, with a log link",
			func() any { return estimator.NewPoisson() }, func() model.Stateful { return &estimator.FittedGLM{} }},
		{"gamma_regression", "gamma regression of positive, skewed targets, with a log link",
			func() any { return estimator.NewGammaRegression() }, func() model.Stateful { return &estimator.FittedGLM{} }},
		{"tweedie", "Tweedie regression of targets ≥ 0 with a mass at 0, with a log link",
			func() any { return estimator.NewTweedie() }, func() model.Stateful { return &estimator.FittedGLM{} }},
		{"huber", "linear regression that is robust to outliers of the target",
			func() any { return estimator.NewHuber() }, func() model.Stateful { return &estimator.FittedHuber{} }},
		{"quantile_regression", "linear regression of a quantile, such as the median",
			func() any { return estimator.NewQuantileRegression() },
			func() model.Stateful { return &estimator.FittedLinear{} }},
		{"kernel_ridge", "ridge regression with an exact kernel",
			func() any { return estimator.NewKernelRidge() }, func() model.Stateful { return &estimator.FittedKernelRidge{} }},
		{"kernel_ridge_classifier", "ridge regression with an exact kernel on class codes ±1",
			func() any { return estimator.NewKernelRidgeClassifier() },
			func() model.Stateful { return &estimator.FittedKernelRidgeClassifier{} }},
		{"kernel_svm", "support vector machine with an exact kernel",
			func() any { return estimator.NewKernelSVM() }, func() model.Stateful { return &estimator.FittedKernelSVM{} }},
		{"kernel_svr", "support vector regression with an exact kernel",
			func() any { return estimator.NewKernelSVR() }, func() model.Stateful { return &estimator.FittedKernelSVR{} }},
		{"sgd_classifier", "linear classifier by stochastic gradient descent, with incremental learning",
			func() any { return estimator.NewSGDClassifier() },
			func() model.Stateful { return &estimator.FittedSGDClassifier{} }},
		{"sgd_regressor", "linear regression by stochastic gradient descent, with incremental learning",
			func() any { return estimator.NewSGDRegressor() }, func() model.Stateful { return &estimator.FittedSGDRegressor{} }},

		{"kmeans", "groups of rows around centres",
			func() any { return cluster.NewKMeans() }, func() model.Stateful { return &cluster.FittedKMeans{} }},
		{"spectral", "groups of rows that hang together, by the features of the step before",
			func() any { return cluster.NewSpectral() }, func() model.Stateful { return &cluster.FittedSpectral{} }},
		{"one_class", "one-class SVM: detects anomalies by a hyperplane in feature space",
			func() any { return anomaly.NewOneClass() }, func() model.Stateful { return &anomaly.FittedOneClass{} }},
		{"rff_network", "random Fourier features whose frequencies are trained, for numbers or classes",
			func() any { return estimator.NewRFFNetwork() }, func() model.Stateful { return &estimator.FittedRFFNetwork{} }},
		{"gaussian_process", "Gaussian process regression on random Fourier features, with learned kernel and uncertainty",
			func() any { return estimator.NewGaussianProcess() },
			func() model.Stateful { return &estimator.FittedGaussianProcess{} }},

		{"target", "a regression on transformed targets, whose predictions are turned back",
			func() any { return meta.NewTarget(nil) }, func() model.Stateful { return &meta.FittedTarget{} }},
		{"calibrated", "a classifier with probabilities, learned from scores of rows that it had not seen",
			func() any { return meta.NewCalibrated(nil) }, func() model.Stateful { return &meta.FittedCalibrated{} }},
		{"threshold", "a classifier that decides as a metric or the costs of mistakes would have it",
			func() any { return meta.NewThreshold(nil) }, func() model.Stateful { return &meta.FittedThreshold{} }},
		{"intervals", "prediction intervals, or sets of classes, of another model",
			func() any { return meta.NewIntervals(nil) }, func() model.Stateful { return &meta.FittedIntervals{} }},
		{"ensemble", "several models, or one by several seeds, that predict together",
			func() any { return meta.NewEnsemble() }, func() model.Stateful { return &meta.FittedEnsemble{} }},
	}
}

func init() {
	if err := model.RegisterKind(wholePipeline, func() model.Stateful { return &FittedPipeline{} }); err != nil {
		panic(err)
	}
	if err := model.RegisterKind("intervals.sets", func() model.Stateful { return &meta.FittedSets{} }); err != nil {
		panic(err)
	}
	if err := model.RegisterKind("sgd_probabilistic",
		func() model.Stateful { return &estimator.FittedSGDProbabilistic{} }); err != nil {
		panic(err)
	}
	for _, e := range builtin() {
		if err := Register(e); err != nil {
			panic(err) // the table above is invalid
		}
	}
}
