package main

import (
	"regexp"
	"strings"
)

// oneCase is a model that is exported.
type oneCase struct {
	name     string // of the step that it is about
	kind     string // of rows
	pipeline string
	opset    int // 0 for the usual one
}

// numbers are the usual first steps: numbers filled and scaled, texts to columns.
const numbers = `
- columns:
    - {name: numeric, select: numeric, steps: [{impute: {strategy: median}}, standardize]}
    - {name: categorical, select: categorical, steps: [onehot]}
`

// cases returns models with every step and model.
func cases() []oneCase {
	only := func(steps string) string {
		return "- columns:\n    - {select: numeric, steps: [" + steps + "]}\n"
	}
	list := []oneCase{
		{"impute_mean", regression, only("impute") + "- ridge\n", 0},
		{"impute_indicator", regression, only("{impute: {strategy: constant, fill: 2, indicator: true}}, standardize") + "- ridge\n", 0},
		{"impute_most_frequent", regression, "- impute: {strategy: most_frequent}\n" + numbers + "- ridge\n", 0},
		{"standardize", regression, numbers + "- ridge\n", 0},
		{"minmax", regression, only("impute, {minmax: {clip: true}}") + "- ridge\n", 13},
		{"robust", regression, only("impute, robust") + "- ridge\n", 18},
		{"quantile_uniform", regression, only("impute, quantile") + "- ridge\n", 0},
		{"quantile_normal", regression, only("impute, {quantile: {output: normal, quantiles: 50}}") + "- ridge\n", 0},
		{"scale", regression, numbers + "- scale: {factors: 0.25}\n- ridge\n", 21},
		{"ordinal", regression, "- columns:\n    - {select: numeric, steps: [impute]}\n    - {select: city, steps: [{ordinal: {unknown: code}}, impute]}\n    - {select: type, steps: [{ordinal: {unknown: missing}}, impute]}\n- standardize\n- ridge\n", 0},
		{"dense", regression, numbers + "- dense\n- ridge\n", 0},
		{"pca", regression, numbers + "- pca: {components: 3, whiten: true}\n- ridge\n", 0},
		{"union", regression, numbers + "- union:\n    parts: [{rff: {features: 50}}, pca]\n    weights: [0.7, 0.3]\n- ridge\n", 0},
		{"steps", regression, numbers + "- steps: [standardize, {rff: {features: 50}}]\n- ridge\n", 0},
		{"binning", regression, numbers + "- binning: {grids: 20, gamma: 0.2}\n- ridge\n", 0},
		{"binning_hashed", regression, numbers + "- binning: {grids: 20, columns: 100, gamma: 0.2}\n- ridge\n", 0},
		{"softmax_features", regression, numbers + "- softmax_features: {features: 60, gamma: 0.2}\n- ridge\n", 0},
		{"ard", regression, numbers + "- ard: {features: 50, steps: 5}\n- rff: {features: 60}\n- ridge\n", 0},
		{"rfm", regression, numbers + "- rfm: {rounds: 2}\n- rff: {features: 60}\n- ridge\n", 0},
		{"ridge_of_several_targets", targets, numbers + "- rff: {features: 60}\n- ridge\n", 0},
		{"ridge_classifier", classes, numbers + "- rff: {features: 60}\n- ridge_classifier\n", 0},
		{"logistic", binary, numbers + "- rff: {features: 60}\n- logistic\n", 0},
		{"logistic_of_three", classes, numbers + "- rff: {features: 60}\n- logistic\n", 0},
		{"svm", binary, numbers + "- rff: {features: 60}\n- svm\n", 0},
		{"svr", regression, numbers + "- rff: {features: 60}\n- svr\n", 0},
		{"kernel_ridge", regression, numbers + "- kernel_ridge: {gamma: 0.1}\n", 0},
		{"kernel_ridge_classifier", classes, numbers + "- kernel_ridge_classifier: {gamma: 0.1}\n", 0},
		{"sgd_classifier", binary, numbers + "- rff: {features: 60}\n- sgd_classifier\n", 0},
		{"sgd_probabilistic", classes, numbers + "- rff: {features: 60}\n- sgd_classifier: {loss: modified_huber}\n", 0},
		{"sgd_regressor", regression, numbers + "- rff: {features: 60}\n- sgd_regressor\n", 0},
		{"kmeans", clusters, numbers + "- kmeans: {clusters: 4}\n", 0},
		{"spectral", clusters, numbers + "- rff: {features: 400, gamma: 0.002}\n- spectral: {clusters: 3}\n", 0},
		{"one_class", anomalies, numbers + "- rff: {features: 60}\n- one_class\n", 0},
		{"rff_network", regression, numbers + "- rff_network: {features: 30, epochs: 5, layers: 2}\n", 0},
		{"rff_network_of_classes", classes, numbers + "- rff_network: {features: 30, epochs: 5}\n", 0},
		{"gaussian_process", regression, numbers + "- gaussian_process: {features: 60, steps: 5}\n", 0},
		{"target_log", regression, numbers + "- target: {transform: signed_log, of: ridge}\n", 0},
		{"target_quantile", regression, numbers + "- target: {transform: quantile, of: ridge}\n", 0},
		{"calibrated_sigmoid", binary, numbers + "- rff: {features: 60}\n- calibrated: {of: svm}\n", 0},
		{"calibrated_isotonic", classes, numbers + "- rff: {features: 60}\n- calibrated: {method: isotonic, of: svm}\n", 0},
		{"calibrated_temperature", classes, numbers + "- rff: {features: 60}\n- calibrated: {method: temperature, of: logistic}\n", 0},
		{"threshold", binary, numbers + "- threshold: {score: f1, of: logistic}\n", 0},
		{"intervals_jackknife_plus", regression, numbers + "- rff: {features: 60}\n- intervals: {of: ridge}\n", 0},
		{"intervals_split", regression, numbers + "- rff: {features: 60}\n- intervals: {method: split, of: svr}\n", 0},
		{"intervals_of_classes", classes, numbers + "- rff: {features: 60}\n- intervals: {of: logistic}\n", 0},
		{"ensemble", regression, numbers + "- ensemble: {members: {a: ridge, b: [{rff: {features: 40}}, ridge]}}\n", 0},
		{"ensemble_of_classes", classes, numbers + "- ensemble: {seeds: 3, of: [{rff: {features: 40}}, logistic]}\n", 0},
	}
	for _, kernel := range []string{"gaussian", "laplacian", "cauchy", "exponential", "matern", "rational_quadratic"} {
		list = append(list,
			oneCase{"rff_" + kernel, regression, numbers + "- rff: {kernel: " + kernel + ", features: 60}\n- ridge\n", 0},
			oneCase{"nystroem_" + kernel, regression, numbers + "- nystroem: {kernel: " + kernel + ", landmarks: 40}\n- ridge\n", 0})
	}
	for _, more := range []string{"map: phase", "draw: orthogonal", "draw: qmc", "draw: structured",
		"kernel: mixture, of: [{kernel: gaussian, gamma: 0.5}, {kernel: cauchy, gamma: 0.1, weight: 2}]",
		"kernel: product, of: [{kernel: gaussian, gamma: 0.5}, {kernel: laplacian, gamma: 0.1}]"} {
		list = append(list, oneCase{"rff_" + strings.Trim(words.FindString(more), ": ,"), regression, numbers + "- rff: {features: 64, " + more + "}\n- ridge\n", 0})
	}
	return list
}

// words finds the value of the first parameter.
var words = regexp.MustCompile(`: \w+`)
