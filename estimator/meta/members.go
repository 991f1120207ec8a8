package meta

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Member is a named element of a list of estimators; the name is used in paths and documents.
type Member struct {
	Name      string
	Estimator estimator.Estimator
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

// Check reports nil members, and duplicate or invalid names.
func (m Members) Check() error {
	names := map[string]bool{}
	for i, one := range m {
		switch {
		case !suggest.ValidName(one.Name):
			return fmt.Errorf("member %d: name must be letters, digits, _ and -, got %q", i+1, one.Name)
		case names[one.Name]:
			return fmt.Errorf("two members are called %s", one.Name)
		case one.Estimator == nil:
			return fmt.Errorf("member %s has no spec", one.Name)
		}
		names[one.Name] = true
	}
	return nil
}

// candidates returns the members as candidates on unmapped rows.
func (m Members) candidates() []batch.Candidate {
	out := make([]batch.Candidate, len(m))
	for k, one := range m {
		out[k].Estimator = one.Estimator
	}
	return out
}
