package main

import (
	"regexp"
	"slices"
	"strings"
)

// oneCase is a model to export.
type oneCase struct {
	name     string // name of the tested step
	kind     string // kind of the rows
	pipeline string
}

// opsets are the opsets of models that do not use the default.
var opsets = map[string]int{"minmax": 13, "robust": 18, "scale": 21}

// refused are models that cannot be exported.
var refused = map[string]bool{"binning": true, "binning_hashed": true}

// numbers are the common first steps: imputation, scaling and one-hot encoding.
const numbers = `
- columns:
    - {name: numeric, select: numeric, steps: [{impute: {strategy: median}}, standardize]}
    - {name: categorical, select: categorical, steps: [onehot]}
`

// encoded are numbers and target encodings.
const encoded = `
- columns:
    - {select: numeric, steps: [{impute: {strategy: median}}]}
    - {select: categorical, steps: [target_encode]}
- standardize
`

// hashed are numbers and hashed categories.
func hashed(parameters string) string {
	return strings.Replace(encoded, "target_encode", "{hash: "+parameters+"}", 1)
}

// only are steps of the numeric columns.
func only(steps string) string {
	return "- columns:\n    - {select: numeric, steps: [" + steps + "]}\n"
}

// cases returns models with every step and model.
func cases() []oneCase {
	return slices.Concat(stepCases(), modelCases(), wrapperCases(), kernelCases())
}

// stepCases have every step other than maps of kernels.
func stepCases() []oneCase {
	return []oneCase{
		{"impute_mean", regression, only("impute") + "- ridge\n"},
		{"impute_indicator", regression, only("{impute: {strategy: constant, fill_value: 2, indicator: true}}, standardize") +
			"- ridge\n"},
		{"impute_most_frequent", regression, "- impute: {strategy: most_frequent}\n" + numbers + "- ridge\n"},
		{"standardize", regression, numbers + "- ridge\n"},
		{"minmax", regression, only("impute, {minmax: {clip: true}}") + "- ridge\n"},
		{"robust", regression, only("impute, robust") + "- ridge\n"},
		{"quantile_uniform", regression, only("impute, quantile") + "- ridge\n"},
		{"quantile_normal", regression, only("impute, {quantile: {output: normal, quantiles: 50}}") + "- ridge\n"},
		{"scale", regression, numbers + "- scale: {factors: 0.25}\n- ridge\n"},
		{"ordinal", regression, "- columns:\n    - {select: numeric, steps: [impute]}\n    - {select: city, steps: " +
			"[{ordinal: {unknown: code}}, impute]}\n    - {select: type, steps: [{ordinal: {unknown: missing}}, impute]}\n- " +
			"standardize\n- ridge\n"},
		{"target_encode", regression, encoded + "- ridge\n"},
		{"target_encode_of_classes", classes, encoded + "- logistic\n"},
		{"hash", regression, hashed("{features: 16}") + "- ridge\n"},
		{"hash_unsigned", binary, hashed("{features: 5, signed: false}") + "- logistic\n"},
		{"dense", regression, numbers + "- dense\n- ridge\n"},
		{"pca", regression, numbers + "- pca: {components: 3, whiten: true}\n- ridge\n"},
		{"union", regression, numbers +
			"- union:\n    parts: [{rff: {features: 50}}, pca]\n    weights: [0.7, 0.3]\n- ridge\n"},
		{"steps", regression, numbers + "- steps: [standardize, {rff: {features: 50}}]\n- ridge\n"},
		{"binning", regression, numbers + "- binning: {grids: 20, gamma: 0.2}\n- ridge\n"},
		{"binning_hashed", regression, numbers + "- binning: {grids: 20, columns: 100, gamma: 0.2}\n- ridge\n"},
		{"softmax_features", regression, numbers + "- softmax_features: {features: 60, gamma: 0.2}\n- ridge\n"},
		{"polynomial_sketch", regression, numbers + "- polynomial_sketch: {features: 60, coef0: 1}\n- ridge\n"},
		{"polynomial_sketch_of_degree_3", regression, numbers + "- polynomial_sketch: {features: 31, degree: 3}\n- ridge\n"},
		{"additive_chi2", regression, only("impute, {minmax: {clip: true}}, {additive_chi2: {steps: 3}}") + "- ridge\n"},
		{"skewed_chi2", regression, only("impute, {minmax: {clip: true}}, {skewed_chi2: {features: 60}}") + "- ridge\n"},
		{"ard", regression, numbers + "- ard: {features: 50, steps: 5}\n- rff: {features: 60}\n- ridge\n"},
		{"rfm", regression, numbers + "- rfm: {rounds: 2}\n- rff: {features: 60}\n- ridge\n"},
	}
}

// modelCases have every model.
func modelCases() []oneCase {
	return []oneCase{
		{"ridge_of_several_targets", targets, numbers + "- rff: {features: 60}\n- ridge\n"},
		{"ridge_classifier", classes, numbers + "- rff: {features: 60}\n- ridge_classifier\n"},
		{"logistic", binary, numbers + "- rff: {features: 60}\n- logistic\n"},
		{"logistic_of_labels", labels, numbers + "- rff: {features: 60}\n- logistic\n"},
		{"ridge_classifier_of_labels", labels, numbers + "- rff: {features: 60}\n- ridge_classifier\n"},
		{"thresholds_of_labels", labels, numbers + "- rff: {features: 60}\n- threshold: {estimator: logistic}\n"},
		{"logistic_of_three", classes, numbers + "- rff: {features: 60}\n- logistic\n"},
		{"logistic_of_few_weights", classes, numbers + "- rff: {features: 60}\n- logistic: {l1_ratio: 1}\n"},
		{"svm", binary, numbers + "- rff: {features: 60}\n- svm\n"},
		{"svr", regression, numbers + "- rff: {features: 60}\n- svr\n"},
		{"lasso", regression, numbers + "- rff: {features: 60}\n- lasso: {alpha: 0.01}\n"},
		{"elastic_net", regression, numbers + "- rff: {features: 60}\n- elastic_net: {alpha: 0.01}\n"},
		{"poisson", amounts, numbers + "- rff: {features: 60}\n- poisson\n"},
		{"gamma_regression", amounts, numbers + "- rff: {features: 60}\n- gamma_regression\n"},
		{"tweedie", amounts, numbers + "- rff: {features: 60}\n- tweedie\n"},
		{"huber", regression, numbers + "- rff: {features: 60}\n- huber\n"},
		{"quantile_regression", regression, numbers + "- rff: {features: 60}\n- quantile_regression: {quantile: 0.9}\n"},
		{"kernel_ridge", regression, numbers + "- kernel_ridge: {gamma: 0.1}\n"},
		{"kernel_ridge_classifier", classes, numbers + "- kernel_ridge_classifier: {gamma: 0.1}\n"},
		{"kernel_svm", binary, numbers + "- kernel_svm: {gamma: 0.1}\n"},
		{"kernel_svm_of_three", classes, numbers + "- kernel_svm: {gamma: 0.1, kernel: laplacian}\n"},
		{"kernel_svr", regression, numbers + "- kernel_svr: {gamma: 0.1}\n"},
		{"sgd_classifier", binary, numbers + "- rff: {features: 60}\n- sgd_classifier\n"},
		{"sgd_probabilistic", classes, numbers + "- rff: {features: 60}\n- sgd_classifier: {loss: modified_huber}\n"},
		{"sgd_regressor", regression, numbers + "- rff: {features: 60}\n- sgd_regressor\n"},
		{"kmeans", clusters, numbers + "- kmeans: {clusters: 4}\n"},
		{"spectral", clusters, numbers + "- rff: {features: 400, gamma: 0.002}\n- spectral: {clusters: 3}\n"},
		{"one_class", anomalies, numbers + "- rff: {features: 60}\n- one_class\n"},
		{"rff_network", regression, numbers + "- rff_network: {features: 30, epochs: 5, layers: 2}\n"},
		{"rff_network_of_classes", classes, numbers + "- rff_network: {features: 30, epochs: 5}\n"},
		{"gaussian_process", regression, numbers + "- gaussian_process: {features: 60, steps: 5}\n"},
	}
}

// wrapperCases have every model that contains others.
func wrapperCases() []oneCase {
	return []oneCase{
		{"target_signed_log", regression, numbers +
			"- target: {transform: signed_log, smear: true, estimator: [{rff: {features: 60}}, ridge]}\n"},
		{"target_limits", regression, numbers +
			"- target: {transform: signed_log, limits: range, estimator: [{rff: {features: 60}}, ridge]}\n"},
		{"target_sqrt", regression, numbers + "- target: {transform: sqrt, estimator: [{rff: {features: 60}}, ridge]}\n"},
		{"target_power", regression, numbers + "- target: {transform: power, estimator: [{rff: {features: 60}}, ridge]}\n"},
		{"target_quantile", regression, numbers + "- target: {transform: quantile, estimator: ridge}\n"},
		{"calibrated_sigmoid", binary, numbers + "- rff: {features: 60}\n- calibrated: {estimator: svm}\n"},
		{"calibrated_isotonic", classes, numbers +
			"- rff: {features: 60}\n- calibrated: {method: isotonic, estimator: svm}\n"},
		{"calibrated_temperature", classes, numbers +
			"- rff: {features: 60}\n- calibrated: {method: temperature, estimator: logistic}\n"},
		{"threshold", binary, numbers + "- threshold: {score: f1, estimator: logistic}\n"},
		{"intervals_jackknife_plus", regression, numbers + "- rff: {features: 60}\n- intervals: {estimator: ridge}\n"},
		{"intervals_split", regression, numbers + "- rff: {features: 60}\n- intervals: {method: split, estimator: svr}\n"},
		{"intervals_cqr", regression, "- intervals: {method: cqr, group: city, calibration: 0.5, estimator: [" +
			"{columns: [{select: numeric, steps: [{impute: {strategy: median}}, standardize]}, {select: categorical, " +
			"steps: [onehot]}]}, quantile_regression]}\n"},
		{"intervals_of_classes", classes, numbers + "- rff: {features: 60}\n- intervals: {estimator: logistic}\n"},
		{"ensemble", regression, numbers + "- ensemble: {members: {a: ridge, b: [{rff: {features: 40}}, ridge]}}\n"},
		{"ensemble_of_classes", classes, numbers + "- ensemble: {seeds: 3, estimator: [{rff: {features: 40}}, logistic]}\n"},
	}
}

// kernelCases have every kernel and its draws.
func kernelCases() (list []oneCase) {
	for _, kernel := range []string{"polynomial", "cosine", "chi2"} {
		positive := only("impute, {minmax: {clip: true}}")
		list = append(list, oneCase{"nystroem_" + kernel, regression, positive + "- nystroem: {kernel: " + kernel +
			", landmarks: 40}\n- ridge\n"},
			oneCase{"kernel_svr_" + kernel, regression, positive + "- kernel_svr: {kernel: " + kernel + "}\n"})
	}
	for _, kernel := range []string{"gaussian", "laplacian", "cauchy", "exponential", "matern", "rational_quadratic",
		"powered_exponential, exponent: 1.4"} {
		name, _, _ := strings.Cut(kernel, ",")
		list = append(list,
			oneCase{"rff_" + name, regression, numbers + "- rff: {kernel: " + kernel + ", features: 60}\n- ridge\n"},
			oneCase{"nystroem_" + name, regression, numbers + "- nystroem: {kernel: " + kernel +
				", landmarks: 40}\n- ridge\n"})
	}
	for _, more := range []string{"map: phase", "draw: orthogonal", "draw: qmc", "draw: structured"} {
		list = append(list, oneCase{"rff_" + strings.Trim(words.FindString(more), ": ,"), regression,
			numbers + "- rff: {features: 64, " + more + "}\n- ridge\n"})
	}
	const ofColumns = "{kernel: {sum: [{product: [{columns: rest, kernel: laplacian, gamma: 0.1}]}, " +
		"{weight: 2, product: [{columns: rest, kernel: matern, gamma: 0.2}]}]}"
	return append(list, oneCase{"rff_columns", regression, numbers + "- rff: " + ofColumns + ", features: 64}\n- ridge\n"},
		oneCase{"kernel_ridge_columns", regression, numbers + "- kernel_ridge: " + ofColumns + "}\n"})
}

// words finds the value of the first parameter.
var words = regexp.MustCompile(`: \w+`)
