package estimator

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Member is an estimator that another one holds in a list, with its name in paths and documents.
type Member struct {
	Name      string
	Estimator Estimator
}

// Members are the estimators that one holds in a list, such as [Ensemble]. A spec declares its list by
// [param.List.Child], under the name of the field; parameters of a member are then found below its own:
//
//	l.Child("members", &s.Members) // members.rough.alpha
//
// In a document the list is a mapping from the name of each member to a step, or a list of steps the last
// of which is an estimator.
type Members []Member

// Params declares the parameters of the members, each below its name.
func (m *Members) Params(l *param.List) {
	*m = slices.Clone(*m)
	for i := range *m {
		l.Child((*m)[i].Name, &(*m)[i].Estimator)
	}
}

// Check reports members that are nil, and names that cannot be told apart or stand in a path.
func (m Members) Check() error {
	names := map[string]bool{}
	for i, one := range m {
		switch {
		case !param.ValidName(one.Name):
			return fmt.Errorf("member %d: name %q, wanted letters, digits, _ and -", i+1, one.Name)
		case names[one.Name]:
			return fmt.Errorf("two members are called %s", one.Name)
		case one.Estimator == nil:
			return fmt.Errorf("member %s has no spec", one.Name)
		}
		names[one.Name] = true
	}
	return nil
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
