package transformer

import "fmt"

// FirstStage returns the spec with the power and the floor of [NewARD]. Both are applied after the
// scales are learned.
func (s ARD) FirstStage() Fitter {
	plain := NewARD()
	s.Power, s.Floor = plain.Power, plain.Floor
	return s
}

// FinishFit applies the power and the floor of the spec to learned scales.
func (s ARD) FinishFit(learned Transformer) (Transformer, error) {
	f, ok := learned.(*fittedARD)
	if !ok || f == nil {
		return nil, errFirstStage("ard", learned)
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

// errFirstStage returns the error of FinishFit for a step of another type.
func errFirstStage(step string, learned Transformer) error {
	return fmt.Errorf("transformer: %s: first stage must be a fitted step of the same type, got %T", step, learned)
}
