package config

// stepsByTask are the steps for a task, with an example of each: a pipeline in YAML.
type stepsByTask struct {
	title    string
	examples map[string]string
}

// otherSteps is the title of the steps that programs register.
const otherSteps = "Other steps"

// tasks are the parts of the reference of steps.
var tasks = []stepsByTask{
	{"Preparing columns", map[string]string{
		"columns": "[{columns: [{select: numeric, steps: [impute, standardize]}, {select: categorical, " +
			"steps: [onehot]}]}, ridge]",
		"union":       "[standardize, {union: [{rff: {gamma: 0.01}, name: wide}, {rff: {gamma: 1}, name: narrow}]}, ridge]",
		"steps":       "[{union: [{steps: [minmax, binning]}, nystroem]}, ridge]",
		"impute":      "[{impute: {strategy: median, indicator: true}}, standardize, ridge]",
		"standardize": "[standardize, rff, ridge]",
		"minmax":      "[{minmax: {clip: true}}, binning, ridge]",
		"robust":      "[robust, rff, ridge]",
		"quantile":    "[{quantile: {output: normal}}, rff, ridge]",
		"scale":       "[standardize, {scale: {factors: {age: 2}}}, rff, ridge]",
		"dense":       "[onehot, dense, pca, logistic]",
	}},
	{"Categories and text", map[string]string{
		"onehot":        "[{columns: [{select: categorical, steps: [{onehot: {min_count: 5}}]}]}, logistic]",
		"ordinal":       "[{columns: [{select: size, steps: [{ordinal: {unknown: missing}}, impute]}]}, ridge]",
		"target_encode": "[{columns: [{select: city, steps: [target_encode]}]}, standardize, ridge]",
		"hash":          "[{columns: [{select: user, steps: [{hash: {features: 4096}}]}]}, logistic]",
		"tfidf":         "[{columns: [{select: text, steps: [{tfidf: {ngrams: [1, 2], min_count: 2}}]}]}, logistic]",
	}},
	{"Kernel approximation", map[string]string{
		"rff":               "[standardize, {rff: {kernel: matern, gamma: 0.1, features: 500}}, ridge]",
		"softmax_features":  "[standardize, {softmax_features: {gamma: 0.1}}, ridge]",
		"polynomial_sketch": "[standardize, {polynomial_sketch: {degree: 3, coef0: 1}}, ridge]",
		"additive_chi2":     "[{additive_chi2: {steps: 3}}, logistic]",
		"skewed_chi2":       "[{skewed_chi2: {skewedness: 0.1}}, logistic]",
		"binning":           "[standardize, {binning: {gamma: 0.1, grids: 200}}, ridge]",
		"nystroem":          "[standardize, {nystroem: {landmarks: 300, selection: rpcholesky}}, ridge]",
	}},
	{"Learned scales and projections", map[string]string{
		"ard": "[standardize, {ard: {groups: origin, solve: exact}}, rff, ridge]",
		"pca": "[standardize, {pca: {components: 0.95}}, rff, ridge]",
		"rfm": "[standardize, {rfm: {rounds: 3}}, rff, ridge]",
	}},
	{"Regression", map[string]string{
		"ridge":            "[standardize, rff, {ridge: {alpha: 0.1}}]",
		"lasso":            "[standardize, {lasso: {alpha: 0.01}}]",
		"elastic_net":      "[standardize, {elastic_net: {alpha: 0.01, l1_ratio: 0.5}}]",
		"svr":              "[standardize, rff, {svr: {C: 10, epsilon: 0.1}}]",
		"huber":            "[standardize, rff, {huber: {epsilon: 1.35}}]",
		"sgd_regressor":    "[standardize, rff, {sgd_regressor: {epochs: 20}}]",
		"kernel_ridge":     "[standardize, {kernel_ridge: {kernel: laplacian, gamma: 0.1, alpha: 0.01}}]",
		"kernel_svr":       "[standardize, {kernel_svr: {gamma: 0.1, C: 10}}]",
		"gaussian_process": "[standardize, {gaussian_process: {kernel: matern, nu: 2.5}}]",
		"rff_network":      "[standardize, {rff_network: {features: 200}}]",
	}},
	{"Classification", map[string]string{
		"ridge_classifier":        "[standardize, rff, {ridge_classifier: {class_weight: balanced}}]",
		"logistic":                "[standardize, rff, {logistic: {C: 10}}]",
		"svm":                     "[standardize, rff, {svm: {loss: hinge}}]",
		"sgd_classifier":          "[standardize, rff, {sgd_classifier: {loss: log_loss}}]",
		"kernel_ridge_classifier": "[standardize, {kernel_ridge_classifier: {gamma: 0.1}}]",
		"kernel_svm":              "[standardize, {kernel_svm: {gamma: 0.1, C: 10}}]",
	}},
	{"Counts, skewed targets and quantiles", map[string]string{
		"poisson":             "[standardize, rff, {poisson: {alpha: 0.01}}]",
		"gamma_regression":    "[standardize, rff, gamma_regression]",
		"tweedie":             "[standardize, rff, {tweedie: {power: 1.5}}]",
		"quantile_regression": "[standardize, rff, {quantile_regression: {quantile: 0.9}}]",
	}},
	{"Clusters and anomalies", map[string]string{
		"kmeans":    "[standardize, {kmeans: {clusters: 3}}]",
		"spectral":  "[standardize, {rff: {gamma: 10}}, {spectral: {clusters: 2}}]",
		"one_class": "[standardize, rff, {one_class: {nu: 0.05}}]",
	}},
	{"Meta-estimators", map[string]string{
		"target":     "[standardize, {target: {transform: log, estimator: [rff, ridge]}}]",
		"calibrated": "[standardize, rff, {calibrated: {estimator: svm}}]",
		"threshold":  "[standardize, rff, {threshold: {score: f1, estimator: logistic}}]",
		"intervals":  "[standardize, rff, {intervals: {level: 0.95, estimator: ridge}}]",
		"ensemble":   "[standardize, {ensemble: {members: {smooth: [rff, ridge], steps: [binning, ridge]}}}]",
	}},
}

// taskOf returns the title of the part of the reference that describes a step.
func taskOf(step string) string {
	for _, task := range tasks {
		if task.examples[step] != "" {
			return task.title
		}
	}
	return otherSteps
}
