package auto

import (
	"cmp"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/rows/origin"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// learned returns the relevance of the inputs of a model, in descending order; for an ensemble,
// that of the member with the largest weight that has one.
func (r *run) learned(model estimator.Predictor) []Input {
	fitted := pipeline.Find(model)
	if fitted == nil {
		return nil
	}
	if inputs := inputsOf(fitted, r.data.Schema, r.data.Cols()); inputs != nil {
		return inputs
	}
	_, last := fitted.Model()
	e, ok := last.(*meta.FittedEnsemble)
	if !ok {
		return nil
	}
	members := slices.Clone(e.Combined())
	slices.SortStableFunc(members, func(a, b meta.FittedMember) int { return cmp.Compare(b.Weight, a.Weight) })
	for _, m := range members {
		if inputs := r.learned(m.Predictor); inputs != nil {
			return inputs
		}
	}
	return nil
}

// inputsOf returns the relevance of the columns by the first step that provides it.
func inputsOf(fitted *pipeline.FittedPipeline, schema datasets.Schema, cols int) []Input {
	chain := fitted.Chain()
	for i := range chain.Len() {
		_, step := chain.Step(i)
		if relevance := datasets.TagsOf(step).Relevance; relevance != nil {
			of, inputs := origin.Inputs(schema, len(relevance))
			out := make([]Input, inputs) // columns that were encoded from one column share it
			for j, v := range relevance {
				in := &out[of[j]]
				if in.Scale = max(in.Scale, v); in.Name == "" {
					in.Name = cmp.Or(schema.Column(j).EncodedFrom, schema.Name(j))
				}
			}
			slices.SortStableFunc(out, func(a, b Input) int { return cmp.Compare(b.Scale, a.Scale) })
			return out
		}
		described, ok := step.(transformer.Describer)
		if !ok {
			return nil // the columns after it are unknown
		}
		schema = described.OutputSchema(schema)
	}
	return nil
}
