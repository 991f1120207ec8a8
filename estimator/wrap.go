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

// Rewrapper is a [Wrapper] that can be put around another model, in place of the one within. [As] needs it to
// lend an [IntervalPredictor] or a [SetPredictor], whose level the wrapper knows nothing of, where the wrapper
// changes the rows or what is predicted for them.
type Rewrapper interface {
	Wrapper
	// Rewrap returns a wrapper like this one around a model of the same rows.
	Rewrap(within Predictor) Predictor
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
