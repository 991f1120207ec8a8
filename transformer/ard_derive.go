package transformer

import "fmt"

// FirstStage returns the spec with Power and Floor of [NewARD], which are applied to the scales
// after they are learned.
func (s ARD) FirstStage() Fitter {
	plain := NewARD()
	s.Power, s.Floor = plain.Power, plain.Floor
	return s
}

// FinishFit applies Power and Floor of the spec to learned scales.
func (s ARD) FinishFit(learned Transformer) (Transformer, error) {
	f, ok := learned.(*FittedARD)
	if !ok || f == nil {
		return nil, notLearned("ard", learned)
	}
	if err := checkSpec("ard", s); err != nil {
		return nil, err
	}
	derived := *f
	if err := derived.finish(s.Power, s.Floor); err != nil {
		return nil, err
	}
	return &derived, nil
}

// notLearned returns the error of FinishFit for a fitted step of another type.
func notLearned(step string, learned Transformer) error {
	return fmt.Errorf("transformer: %s: first stage must be a fitted step of the same type, got %T", step, learned)
}
