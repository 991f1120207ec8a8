package estimator

import "github.com/bochner-ml/bochner/datasets"

// numbers is what every estimator here asks for: complete numeric columns.
var numbers = []datasets.Demand{{Want: datasets.Numbers}, {Want: datasets.EveryValue}}

// Demands asks for complete numeric columns.
func (Ridge) Demands() []datasets.Demand { return numbers }

// Demands asks for complete numeric columns.
func (RidgeClassifier) Demands() []datasets.Demand { return numbers }

// Demands asks for complete numeric columns.
func (Logistic) Demands() []datasets.Demand { return numbers }

// Demands asks for complete numeric columns.
func (SVM) Demands() []datasets.Demand { return numbers }

// Demands asks for complete numeric columns.
func (SVR) Demands() []datasets.Demand { return numbers }

// Demands asks for complete numeric columns.
func (KernelRidge) Demands() []datasets.Demand { return numbers }

// Demands asks for complete numeric columns.
func (KernelRidgeClassifier) Demands() []datasets.Demand { return numbers }

// Demands asks for complete numeric columns.
func (RFFNetwork) Demands() []datasets.Demand { return numbers }

var _ = []datasets.Demander{GaussianProcess{}, Ridge{}, RidgeClassifier{}, Logistic{}, SVM{}, SVR{}, KernelRidge{}, KernelRidgeClassifier{}, RFFNetwork{}}
