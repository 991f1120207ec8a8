package estimator

import "github.com/bochner-ml/bochner/datasets"

// Task returns datasets.Classification: Y has class codes, whether the schema names them or not.
func (Logistic) Task() datasets.Task { return datasets.Classification }

// Task returns datasets.Classification: Y has class codes, whether the schema names them or not.
func (RidgeClassifier) Task() datasets.Task { return datasets.Classification }

// Task returns datasets.Classification: Y has class codes, whether the schema names them or not.
func (SVM) Task() datasets.Task { return datasets.Classification }

// Task returns datasets.Classification: Y has class codes, whether the schema names them or not.
func (SGDClassifier) Task() datasets.Task { return datasets.Classification }

// Task returns datasets.Classification: Y has class codes, whether the schema names them or not.
func (KernelRidgeClassifier) Task() datasets.Task { return datasets.Classification }

// Task returns datasets.Classification: Y has class codes, whether the schema names them or not.
func (KernelSVM) Task() datasets.Task { return datasets.Classification }
