package estimator

import "github.com/bochner-ml/bochner/datasets"

// TaskOf returns what a spec says that it is for, as a [TaskProvider], and [datasets.AnyTask] where it does not say. A
// model for a task that is [datasets.Task.Unsupervised] learns from the rows alone.
func TaskOf(spec Estimator) datasets.Task {
	if t, ok := spec.(TaskProvider); ok {
		return t.Task()
	}
	return datasets.AnyTask
}

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
