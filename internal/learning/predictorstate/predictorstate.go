// Package predictorstate serializes fitted models that are fields of interface type.
package predictorstate

import (
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
)

// Part serializes the model in *fitted with the kind that its type is registered under, or restores
// it. A wrapper without a kind that takes the rows of its inner model, such as the result of a
// search, is replaced by the inner model.
func Part(s *model.State, fitted *estimator.Predictor) {
	part := *fitted
	for !s.Restoring() && !s.Knows(part) {
		w, ok := part.(estimator.Wrapper)
		if !ok {
			break
		}
		inner, sameRows := w.Unwrap()
		if !sameRows || inner == nil {
			break
		}
		part = inner
	}
	restored := s.Part(part, func(fitted any) bool { _, ok := fitted.(estimator.Predictor); return ok })
	if p, ok := restored.(estimator.Predictor); ok && s.Restoring() {
		*fitted = p
	}
}
