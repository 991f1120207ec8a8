package auto

import (
	"cmp"
	"slices"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/pipeline"
)

// relevance returns the relevance of the inputs of a model, in descending order; for an ensemble,
// that of the member with the largest weight that has one.
func relevance(model estimator.Predictor) (out []Input) {
	fitted := pipeline.Find(model)
	if fitted == nil {
		return nil
	}
	at := map[string]int{} // columns that were encoded from one column share it
	for _, found := range fitted.Relevance() {
		for j, v := range found.Values {
			name := cmp.Or(found.Origins[j], found.Columns[j])
			if _, known := at[name]; !known {
				at[name], out = len(out), append(out, Input{Name: name})
			}
			in := &out[at[name]]
			in.Scale = max(in.Scale, v)
		}
		if out != nil {
			slices.SortStableFunc(out, func(a, b Input) int { return cmp.Compare(b.Scale, a.Scale) })
			return out
		}
	}
	_, last := fitted.Model()
	if e, ok := last.(*meta.FittedEnsemble); ok {
		members := e.Combined()
		slices.SortStableFunc(members, func(a, b meta.FittedMember) int { return cmp.Compare(b.Weight, a.Weight) })
		for _, m := range members {
			if inputs := relevance(m.Predictor); inputs != nil {
				return inputs
			}
		}
	}
	return nil
}
