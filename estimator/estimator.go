// Package estimator provides supervised models: linear models, kernel machines and networks of
// random features.
//
// A spec, such as [Ridge], is a plain struct value that implements [Estimator]. Fitting it returns
// a [Predictor], which is immutable and safe for concurrent use. Fitting never changes the spec,
// and assigning a spec copies it.
//
// The specs, their names in experiment files, and the exported fitted types:
//
//	ridge                    [Ridge]                  *[FittedLinear]                  one or several targets
//	lasso                    [Lasso]                  *[FittedLinear]
//	elastic_net              [ElasticNet]             *[FittedLinear]
//	svr                      [SVR]                    *[FittedLinear]
//	poisson                  [Poisson]                *fittedGLM
//	gamma_regression         [GammaRegression]        *fittedGLM
//	tweedie                  [Tweedie]                *fittedGLM
//	huber                    [Huber]                  *[fittedHuber]
//	quantile_regression      [QuantileRegression]     *[FittedLinear]
//	ridge_classifier         [RidgeClassifier]        *[FittedLinearClassifier]
//	svm                      [SVM]                    *[FittedLinearClassifier]
//	logistic                 [Logistic]               *fittedLogistic                  with probabilities
//	kernel_ridge             [KernelRidge]                                            one or several targets
//	kernel_ridge_classifier  [KernelRidgeClassifier]
//	kernel_svm               [KernelSVM]              *fittedKernelSVM
//	kernel_svr               [KernelSVR]              *fittedKernelSVR
//	sgd_classifier           [SGDClassifier]          *fittedSGDClassifier             incremental
//	sgd_regressor            [SGDRegressor]           *fittedSGDRegressor              incremental
//	rff_network              [RFFNetwork]             *fittedRFFNetwork              several targets, or classes
//	gaussian_process         [GaussianProcess]        *[FittedGaussianProcess]         with standard deviations
//
// Package meta contains meta-estimators; packages cluster and anomaly contain unsupervised models.
//
// Objectives equal those of scikit-learn where it has the model, so that coefficients are
// comparable. The intercept is never penalized. Inputs are dense or sparse rows; sparse rows are
// never converted to dense ones. A [BlockEstimator] is fitted to a stream of blocks of rows. A
// class is the index of a category of the target in the schema. Without categories, the classes are
// "0" to the largest code.
//
// [Export] adds the computation of a fitted model to a graph, for other programs. Package
// estimatortest tests that an estimator satisfies the contract of this package.
package estimator

import (
	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Report describes the optimization of a fit.
type Report = model.Report

var (
	_ = []interface {
		Estimator
		datasets.CostEstimator
		param.Declarer
	}{(*ElasticNet)(nil), (*GammaRegression)(nil), (*GaussianProcess)(nil), (*Huber)(nil), (*KernelRidge)(nil),
		(*KernelRidgeClassifier)(nil), (*KernelSVM)(nil), (*KernelSVR)(nil), (*Lasso)(nil), (*Logistic)(nil),
		(*Poisson)(nil), (*QuantileRegression)(nil),
		(*RFFNetwork)(nil), (*Ridge)(nil), (*RidgeClassifier)(nil), (*SGDClassifier)(nil), (*SGDRegressor)(nil),
		(*SVM)(nil), (*SVR)(nil), (*Tweedie)(nil)}
	_ = []PassEstimator{GammaRegression{}, GaussianProcess{}, Ridge{}, RidgeClassifier{}, Logistic{}, SVM{}, SVR{},
		Poisson{}, Tweedie{}}
	_ = []BlockEstimator{ElasticNet{}, GaussianProcess{}, Huber{}, Lasso{}, QuantileRegression{}, Ridge{},
		RidgeClassifier{}, SGDClassifier{}, SGDRegressor{}}
	_ = []datasets.Tagger{GammaRegression{}, Huber{}, KernelRidge{}, KernelRidgeClassifier{}, KernelSVM{}, Logistic{},
		Poisson{}, QuantileRegression{}, Ridge{}, RidgeClassifier{}, SGDClassifier{}, SVM{}, Tweedie{}}
	_ = []LinearSmoother{KernelRidge{}, Ridge{}}
	_ = []IncrementalEstimator{SGDClassifier{}, SGDRegressor{}}
	_ = []datasets.Requirer{ElasticNet{}, GammaRegression{}, Huber{}, Lasso{}, Poisson{}, QuantileRegression{}, Tweedie{}}
	_ = []generalized{GammaRegression{}, Poisson{}, Tweedie{}}
	_ = []batch.Fitter{ElasticNet{}, GammaRegression{}, Huber{}, KernelRidge{}, KernelRidgeClassifier{}, KernelSVM{},
		KernelSVR{}, Lasso{}, SVM{}, SVR{}, Logistic{}, Poisson{}, Ridge{}, RidgeClassifier{}, Tweedie{}}
	_ = []interface {
		FullPredictor
		Reporter
		graph.ModelExporter
	}{(*FittedGaussianProcess)(nil), (*fittedGLM)(nil), (*fittedKernelRidge)(nil), (*fittedKernelRidgeClassifier)(nil),
		(*fittedKernelSVM)(nil), (*fittedKernelSVR)(nil), (*FittedLinear)(nil), (*FittedLinearClassifier)(nil),
		(*fittedLogistic)(nil), (*fittedRFFNetwork)(nil), (*fittedPairwiseSVM)(nil), (*fittedSGDProbabilistic)(nil)}
)
