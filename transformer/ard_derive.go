package transformer

import "fmt"

// Learner returns the spec with the power and the floor of [NewARD], which are applied to the scales after they
// are learned.
func (s ARD) FirstStage() Fitter {
	plain := NewARD()
	s.Power, s.Floor = plain.Power, plain.Floor
	return s
}

// Derive makes the scales of the spec's power and floor of those that the learner has learned.
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

// notLearned is the error of Derive for what another step was fitted to.
func notLearned(step string, learned Transformer) error {
	return fmt.Errorf("transformer: %s: first stage must be a fitted step of the same type, got %T", step, learned)
}
