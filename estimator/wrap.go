package estimator

import "github.com/bochner-ml/bochner/model"

// Wrapper is a [Predictor] that wraps an inner model: a fitted pipeline, the result of a search, a
// calibrated model. [As] finds the inner model. If it has outputs in addition to values, the
// wrapper is a [FullPredictor] itself.
type Wrapper interface {
	Predictor
	// Unwrap returns the inner model, and whether it takes the same rows as the wrapper.
	Unwrap() (within Predictor, sameRows bool)
}

// RegisterPredictor keeps a fitted model behind the interface in a model file, with the name that its type is
// registered under: for the State of a model that holds others. Of a wrapper that has no name and takes
// rows as the inner estimator does, such as the result of a search, it keeps that model.
func RegisterPredictor(s *model.State, fitted *Predictor) {
	kept := *fitted
	for !s.Restoring() && model.KindOf(kept) == "" {
		w, ok := kept.(Wrapper)
		if !ok {
			break
		}
		within, sameRows := w.Unwrap()
		if !sameRows || within == nil {
			break
		}
		kept = within
	}
	part := s.Part(kept, func(fitted any) bool { _, ok := fitted.(Predictor); return ok })
	if fresh, ok := part.(Predictor); ok && s.Restoring() {
		*fitted = fresh
	}
}
