package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/transformer"
)

// FitBatch fits every candidate on every fold and shares common work:
//   - Equal leading steps are fitted and applied once for each fold, or once for all folds if they
//     do not depend on the rows ([transformer.DataIndependent]).
//   - Steps with the same first stage ([transformer.TwoStageFitter]), also nested ones
//     ([Composite]), learn it once for each fold.
//   - Steps of one feature family ([transformer.FamilyFitter]) share random draws. Dense features
//     of the last step are computed a tile of rows at a time for estimators that accept related
//     maps (BatchFitter). Sparse features are computed once by the widest map; narrower maps use
//     its leading columns.
//   - Other estimators after the same steps are passed to their own FitBatch, if any.
//
// Sharing that would exceed the memory of the pipeline is replaced by separate fits. Features that
// candidates share as a family are float64, whatever the precision of the candidates; float32 ridge
// fits whose rounding would be visible are fitted separately in their own precision.
//
// It returns the names of the shared work: "prefix" for fitted steps or first stages, "features"
// for mapped rows, "projection" for a product with the rows that several candidates or folds used,
// "grids" for the widest map of a family, and the names that the estimators return. Folds and
// groups of candidates run concurrently as far as memory allows, which affects only the order of
// the results. Work is partitioned as if all fits were included; parts that no included fit
// requires are skipped.
//
// Leave-one-out maps the rows once for all candidates with the same steps, which must not learn
// from the rows, and delegates to the estimators. The mapped rows stay in memory.
func (p Pipeline) FitBatch(ctx context.Context, j batch.Job) (shared []string, err error) {
	if err := cmp.Or(j.Data.Check(), j.CheckFolds(j.Data.Rows())); err != nil {
		return nil, place.Here(err)
	}
	if p.Task().Unsupervised() {
		j.Data = j.Data.WithoutTargets()
	}
	j.Shape = j.Data.Shape()
	s, err := p.newSweep(j)
	if err != nil {
		return nil, err
	}
	return s.fit(ctx)
}

// errMapped is returned for a job of related maps, which a pipeline computes itself.
var errMapped = errors.New("a pipeline takes rows as they are, and makes related maps of them itself")

// PlanBatch accepts jobs over rows, and leave-one-out if the estimator supports it and no step
// learns from the rows. Steps and estimators without a declared cost count as free.
func (p Pipeline) PlanBatch(j batch.Job) (bytes int64, err error) {
	s, err := p.newSweep(j)
	if err != nil {
		return 0, err
	}
	if j.LeaveOneOut {
		err = s.checkLeaveOneOut()
	}
	if err == nil && len(j.Folds) > 0 {
		bytes = s.plan()
	}
	return bytes, err
}

// LinearInTargets reports whether predictions are linear in the targets, so that those of several targets
// take one fit: no step learns from targets, and the predictions of the estimator are linear.
func (p Pipeline) LinearInTargets() bool {
	return len(supervisedSteps(p.Steps, "")) == 0 && estimator.LinearInTargets(p.Estimator)
}

// Shared returns the pipeline with Shared of its estimator, or nil if that has no such method.
func (p Pipeline) Shared() any {
	s, ok := p.Estimator.(batch.Sharer)
	if !ok {
		return nil
	}
	p.Estimator = nil
	return [2]any{p, s.Shared()}
}

// checkLeaveOneOut returns the first error if none of the candidates supports leave-one-out.
func (s *sweep) checkLeaveOneOut() error {
	var first error
	for _, c := range s.pipelines {
		err := c.canLeaveOneOut()
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// canLeaveOneOut returns an error if the estimator does not support leave-one-out, or a step learns
// from the rows and would therefore differ for each row.
func (p candidate) canLeaveOneOut() error {
	_, err := estimator.PlanBatch(batch.Job{LeaveOneOut: true, Candidates: batch.Candidates(p.Estimator)})
	if err != nil {
		return place.At("step", p.path(), err)
	}
	for _, s := range p.steps {
		if r, ok := s.Fitter.(transformer.DataIndependent); !ok || !r.IsDataIndependent() {
			return place.At("step", s.Name,
				fmt.Errorf("it learns from the rows, and would have to be fitted again without each of them; use k folds, or "+
					"fix what it learns"))
		}
	}
	return nil
}
