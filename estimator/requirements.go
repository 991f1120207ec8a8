package estimator

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/spectral"
)

// numericComplete requires complete numeric columns.
var numericComplete = []datasets.Requirement{{Numeric: true}, {NoMissing: true}}

// Requirements declares that all inputs must be numeric and have no missing values.
func (Ridge) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (RidgeClassifier) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (Logistic) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (SVM) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (SVR) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s KernelRidge) Requirements() []datasets.Requirement {
	return spectral.Requirements(s.Kernel, s.Gamma)
}

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s KernelRidgeClassifier) Requirements() []datasets.Requirement {
	return spectral.Requirements(s.Kernel, s.Gamma)
}

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s KernelSVM) Requirements() []datasets.Requirement {
	return spectral.Requirements(s.Kernel, s.Gamma)
}

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s KernelSVR) Requirements() []datasets.Requirement {
	return spectral.Requirements(s.Kernel, s.Gamma)
}

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s RFFNetwork) Requirements() []datasets.Requirement {
	return spectral.Requirements(s.Kernel, s.Gamma)
}

var _ = []datasets.Requirer{GaussianProcess{}, Ridge{}, RidgeClassifier{}, Logistic{}, SVM{}, SVR{}, KernelRidge{},
	KernelRidgeClassifier{}, KernelSVM{}, KernelSVR{}, RFFNetwork{}}
