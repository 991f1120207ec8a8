package estimator

import "github.com/bochner-ml/bochner/internal/spec/registry"

// The steps of this package with their names in experiment files.
func init() {
	registry.Add("estimator", "ridge", "linear regression with a penalty on the squared weights",
		NewRidge, &FittedLinear{})
	registry.Add("estimator", "ridge_classifier", "ridge regression on class codes ±1",
		NewRidgeClassifier, &FittedLinearClassifier{})
	registry.Add("estimator", "lasso", "linear regression with few nonzero weights, by a penalty on their absolute values",
		NewLasso, &FittedLinear{})
	registry.Add("estimator", "elastic_net", "linear regression with a penalty on absolute and squared weights",
		NewElasticNet, &FittedLinear{})
	registry.Add("estimator", "logistic", "logistic regression, binary or multinomial",
		NewLogistic, &fittedLogistic{})
	registry.Add("estimator", "svm", "linear support vector machine", NewSVM, &FittedLinearClassifier{})
	registry.Add("estimator", "svr", "linear support vector regression", NewSVR, &FittedLinear{})
	registry.Add("estimator", "poisson", "Poisson regression of counts and rates, with a log link",
		NewPoisson, &fittedGLM{})
	registry.Add("estimator", "gamma_regression", "gamma regression of positive, skewed targets, with a log link",
		NewGammaRegression, &fittedGLM{})
	registry.Add("estimator", "tweedie", "Tweedie regression of targets ≥ 0 with a mass at 0, with a log link",
		NewTweedie, &fittedGLM{})
	registry.Add("estimator", "huber", "linear regression that is robust to outliers of the target",
		NewHuber, &fittedHuber{})
	registry.Add("estimator", "quantile_regression", "linear regression of a quantile, such as the median",
		NewQuantileRegression, &FittedLinear{})
	registry.Add("estimator", "kernel_ridge", "ridge regression with an exact kernel",
		NewKernelRidge, &fittedKernelRidge{})
	registry.Add("estimator", "kernel_ridge_classifier", "ridge regression with an exact kernel on class codes ±1",
		NewKernelRidgeClassifier, &fittedKernelRidgeClassifier{})
	registry.Add("estimator", "kernel_svm", "support vector machine with an exact kernel",
		NewKernelSVM, &fittedKernelSVM{})
	registry.Add("estimator", "kernel_svr", "support vector regression with an exact kernel",
		NewKernelSVR, &fittedKernelSVR{})
	registry.Add("estimator", "sgd_classifier",
		"linear classifier by stochastic gradient descent, with incremental learning",
		NewSGDClassifier, &fittedSGDClassifier{})
	registry.Add("estimator", "sgd_regressor",
		"linear regression by stochastic gradient descent, with incremental learning",
		NewSGDRegressor, &fittedSGDRegressor{})
	registry.Add("estimator", "rff_network",
		"random Fourier features whose frequencies are trained, for numbers or classes",
		NewRFFNetwork, &fittedRFFNetwork{})
	registry.Add("estimator", "gaussian_process",
		"Gaussian process regression on random Fourier features, with learned kernel and uncertainty",
		NewGaussianProcess, &FittedGaussianProcess{})
	registry.Add[any]("estimator", "kernel_svm_pairwise", "", nil, &fittedPairwiseSVM{})
	registry.Add[any]("estimator", "sgd_probabilistic", "", nil, &fittedSGDProbabilistic{})
}
