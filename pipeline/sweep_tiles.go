package pipeline

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// familyOfFold fits a family on one fold, whose rows depth steps have mapped.
func (s *sweep) familyOfFold(ctx context.Context, family []*node, d foldRows, depth int) {
	if s.wants(members(family), d.fold) {
		s.family(ctx, family, d.trainSet(), fitRows{data: d.set, folds: d.folds(), first: d.fold, depth: depth,
			seconds: d.seconds})
	}
}

// familyOfAllFolds fits a family on all folds. Its steps and the preceding ones are
// data-independent.
func (s *sweep) familyOfAllFolds(ctx context.Context, family []*node, steps []rows.Spec) {
	candidates := members(family)
	if !s.wantsAny(candidates) {
		return
	}
	data, err := s.mapOnce(ctx, steps, candidates)
	if err != nil {
		return
	}
	if len(steps) > 0 {
		s.share("prefix")
	}
	s.family(ctx, family, data, fitRows{data: data, folds: s.Folds, depth: len(steps)})
}

// family fits the candidates of a family together; its steps are fitted to the rows of learn.
func (s *sweep) family(ctx context.Context, family []*node, learn datasets.Set, r fitRows) {
	candidates := members(family)
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, learn, familySpecs(family))
	if err != nil { // candidates are fitted separately and report their own errors
		for _, i := range candidates {
			for f := range r.folds {
				if ctx.Err() == nil {
					s.fitUnshared(ctx, i, divide(r.data, r.folds[f], r.first+f), r.depth)
				}
			}
		}
		return
	}
	s.share(maps.Shared...)
	s.fitEstimators(ctx, candidates, maps, r)
}
