package estimator

import "github.com/bochner-ml/bochner/datasets"

// numbers is what every estimator here asks for: complete numeric columns.
var numbers = []datasets.Requirement{{Constraint: datasets.Numbers}, {Constraint: datasets.NoMissing}}

// Demands asks for complete numeric columns.
func (Ridge) Requirements() []datasets.Requirement { return numbers }

// Demands asks for complete numeric columns.
func (RidgeClassifier) Requirements() []datasets.Requirement { return numbers }

// Demands asks for complete numeric columns.
func (Logistic) Requirements() []datasets.Requirement { return numbers }

// Demands asks for complete numeric columns.
func (SVM) Requirements() []datasets.Requirement { return numbers }

// Demands asks for complete numeric columns.
func (SVR) Requirements() []datasets.Requirement { return numbers }

// Demands asks for complete numeric columns.
func (KernelRidge) Requirements() []datasets.Requirement { return numbers }

// Demands asks for complete numeric columns.
func (KernelRidgeClassifier) Requirements() []datasets.Requirement { return numbers }

// Demands asks for complete numeric columns.
func (RFFNetwork) Requirements() []datasets.Requirement { return numbers }

var _ = []datasets.Requirer{GaussianProcess{}, Ridge{}, RidgeClassifier{}, Logistic{}, SVM{}, SVR{}, KernelRidge{}, KernelRidgeClassifier{}, RFFNetwork{}}
