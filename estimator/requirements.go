package estimator

import "github.com/bochner-ml/bochner/datasets"

// numericComplete requires complete numeric columns.
var numericComplete = []datasets.Requirement{{Constraint: datasets.Numbers}, {Constraint: datasets.NoMissing}}

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

// Requirements declares that all inputs must be numeric and have no missing values.
func (KernelRidge) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (KernelRidgeClassifier) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (KernelSVM) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (KernelSVR) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (RFFNetwork) Requirements() []datasets.Requirement { return numericComplete }

var _ = []datasets.Requirer{GaussianProcess{}, Ridge{}, RidgeClassifier{}, Logistic{}, SVM{}, SVR{}, KernelRidge{},
	KernelRidgeClassifier{}, KernelSVM{}, KernelSVR{}, RFFNetwork{}}
