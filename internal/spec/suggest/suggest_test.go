package suggest

import "testing"

func TestNearest(t *testing.T) {
	options := []string{"gamma", "features", "kernel", "C", "ridge_classifier"}
	for word, want := range map[string]string{
		"gama": "gamma", "Gamma": "gamma", "gmama": "gamma", "feature": "features", "kernal": "kernel",
		"ridgeclassifier": "ridge_classifier", "rbf": "", "c": "C", "x": "", "something else": "", "": "",
	} {
		if got := Nearest(word, options); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
	options = []string{"rff.features", "rff.gamma", "logistic.C", "ridge.alpha", "svm", "logistic", "standardize",
		"gaussian", "threshold.estimator.C", "gaussian_process.optimize"}
	for word, want := range map[string]string{
		"rff.n_components": "rff.features", "rff.sigma": "rff.gamma", "logistic.lambda": "logistic.C",
		"ridge.lambda": "ridge.alpha",
		"ridge.C":      "ridge.alpha", "SVC": "svm", "LinearSVC": "svm", "LogisticRegression": "logistic",
		"StandardScaler": "standardize", "rbf": "gaussian",
		"svm.n_components": "", "other.lambda": "", "threshold.of": "", "threshold.of.C": "threshold.estimator.C",
		"gaussian_process.optimise": "gaussian_process.optimize",
	} {
		if got := Nearest(word, options); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestAlternatives(t *testing.T) {
	for want, options := range map[string][]string{"nothing": nil, "a": {"a"}, "a or b": {"a", "b"},
		"a, b or c": {"a", "b", "c"}} {
		if got := Alternatives(options); got != want {
			t.Errorf("%v reads %q, want %q", options, got, want)
		}
	}
}
