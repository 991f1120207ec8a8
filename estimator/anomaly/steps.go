package anomaly

import "github.com/bochner-ml/bochner/internal/spec/registry"

// The steps of this package with their names in experiment files.
func init() {
	registry.Add("anomaly", "one_class", "one-class SVM: detects anomalies by a hyperplane in feature space",
		NewOneClass, &fittedOneClass{})
}
