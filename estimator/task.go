package estimator

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
)

// Tags returns that the model is a classifier.
func (SGDClassifier) Tags() datasets.Tags { return datasets.Tags{Task: datasets.Classification} }

// Tags returns that the model is a classifier.
func (KernelSVM) Tags() datasets.Tags { return datasets.Tags{Task: datasets.Classification} }

// Tags returns that the model is a classifier with leave-one-out, unless a weight or γ depends on the rows.
func (s KernelRidgeClassifier) Tags() datasets.Tags {
	out := s.regression().Tags()
	out.Task, out.LinearInTargets = datasets.Classification, false
	if s.ClassWeight.Balanced {
		out.NoLeaveOneOut = joint.ErrLOOClassWeights
	}
	return out
}

// Tags returns that predictions are linear in the targets, and leave-one-out, unless γ depends on the rows.
func (s KernelRidge) Tags() datasets.Tags {
	out := datasets.Tags{LinearInTargets: true, LeaveOneOut: true}
	if s.plain().LearnsGamma() {
		out.NoLeaveOneOut = joint.ErrLOOGammaRule
	}
	return out
}
