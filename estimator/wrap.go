package estimator

import "github.com/bochner-ml/bochner/model"

// Wrapper is a Predictor that predicts by another one: a fitted pipeline, the choice of a search, a
// calibrated model. It needs no methods for what the model within can do besides, [As] finds that; it has
// those that it does otherwise than the model within. One that changes the rows, or what is predicted for
// them, says that the model within takes other rows and is a [WholePredictor] too: what [As] finds is then
// made of what the wrapper itself says.
type Wrapper interface {
	Predictor
	// Unwrap returns the model within, and whether that takes rows as the wrapper does.
	Unwrap() (within Predictor, sameRows bool)
}

// KeepPredictor keeps a fitted model behind the interface in a model file, with the name that its type is
// registered under: for the State of a model that holds others. Of a wrapper that has no name and takes
// rows as the model within does, such as the result of a search, it keeps that model.
func KeepPredictor(s *model.State, fitted *Predictor) {
	kept := *fitted
	for !s.Reading() && model.KindOf(kept) == "" {
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
	if fresh, ok := part.(Predictor); ok && s.Reading() {
		*fitted = fresh
	}
}
