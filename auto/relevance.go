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
	if found := fitted.Relevance(); len(found) > 0 {
		first := found[0].ByOrigin()
		for j, v := range first.Values {
			out = append(out, Input{Name: first.Columns[j], Scale: v})
		}
		slices.SortStableFunc(out, func(a, b Input) int { return cmp.Compare(b.Scale, a.Scale) })
		return out
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
