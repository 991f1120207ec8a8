package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/pipeline/internal/sweep"
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
func (p Pipeline) FitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	if err := b.Data.Check(); err != nil {
		return nil, place.Here(err)
	}
	if b.HasMaps() {
		return nil, place.Here(errMapped)
	}
	if p.Task().Unsupervised() {
		b.Data = b.Data.WithoutTargets()
	}
	job, err := p.job(b)
	if err != nil {
		return nil, place.Here(err)
	}
	return sweep.Run(ctx, job)
}

// errMapped is returned for a batch of related maps, which a pipeline computes itself.
var errMapped = errors.New("a pipeline takes rows as they are, and makes related maps of them itself")

// PlanBatch accepts batches over rows, and leave-one-out if the estimator supports it and no step
// learns from the rows. Steps and estimators without a declared cost count as free.
func (p Pipeline) PlanBatch(b share.Batch) (bytes int64, err error) {
	if b.HasMaps() {
		return 0, place.Here(errMapped)
	}
	job, err := p.job(b)
	if err != nil {
		return 0, place.Here(err)
	}
	if b.LeaveOneOut {
		err = checkLeaveOneOut(job.Pipelines)
	}
	if err == nil && len(b.Folds) > 0 {
		bytes = sweep.Bytes(job)
	}
	return bytes, err
}

// LinearInTargets reports whether predictions are linear in the targets, so that those of several targets
// take one fit: no step learns from targets, and the predictions of the estimator are linear.
func (p Pipeline) LinearInTargets() bool {
	return len(supervisedSteps(p.Steps, "")) == 0 && share.LinearInTargets(p.Estimator)
}

// job converts a batch to a [sweep.Job].
func (p Pipeline) job(b share.Batch) (sweep.Job, error) {
	specs := make([]Pipeline, len(b.Candidates))
	job := sweep.Job{Batch: b, Memory: p.memory(), Predict: predictAll}
	for i, c := range b.Candidates {
		spec, ok := c.Estimator.(Pipeline)
		if !ok {
			return job, fmt.Errorf("candidate %d must be a Pipeline, got %T", i, c.Estimator)
		}
		specs[i] = spec
		job.Pipelines = append(job.Pipelines, sweep.Candidate{Steps: named(spec.Steps), Name: spec.path(),
			Estimator: spec.Estimator,
			Float32:   spec.Precision == Float32, Err: spec.check()})
	}
	rest := func(candidate, done int) Pipeline {
		spec := specs[candidate]
		spec.Steps, spec.Name, spec.Memory = spec.Steps[done:], spec.path(), job.Memory
		return spec
	}
	job.Inside = childrenOfStep
	job.Fit = func(ctx context.Context, candidate, done int, next transformer.Fitter,
		data datasets.Set) (estimator.Predictor, error) {
		spec := rest(candidate, done)
		if next != nil {
			spec.Steps = append([]Step{{Name: spec.Steps[0].Path(), Fitter: next}}, spec.Steps[1:]...)
		}
		return spec.Fit(ctx, data)
	}
	return job, nil
}

// childrenOfStep returns the children of a step for package sweep; ok is false if it has none.
func childrenOfStep(step transformer.Fitter) (sweep.Children, bool) {
	c, ok := step.(Composite)
	if !ok {
		return sweep.Children{}, false
	}
	holds, children := c.Holds(), c.Children()
	in := sweep.Children{Parallel: holds.Parallel, Fixed: holds.Kind != nil}
	for i, child := range children {
		in.Parts = append(in.Parts, rows.Spec{Name: child.NameAt(i), Fitter: child.Fitter})
	}
	in.With = func(specs []transformer.Fitter) transformer.Fitter {
		others := slices.Clone(children[:len(specs)])
		for i, spec := range specs {
			if others[i].Fitter = spec; !in.Fixed {
				others[i].Name = in.Parts[i].Name
			}
		}
		return c.WithChildren(others)
	}
	return in, true
}

// predictAll returns all outputs of a predictor. It predicts block by block unless the predictor is
// a pipeline, which does so itself.
func predictAll(ctx context.Context, fitted estimator.Predictor, X mat.Matrix) (estimator.Prediction, error) {
	if _, ok := fitted.(*FittedPipeline); !ok {
		_, cols := X.Dims()
		fitted = &FittedPipeline{chain: &FittedChain{cols: cols}, name: "estimator", model: fitted}
	}
	return estimator.Predict(ctx, fitted, X, estimator.Request{})
}

// checkLeaveOneOut returns the first error if none of the candidates supports leave-one-out.
func checkLeaveOneOut(candidates []sweep.Candidate) error {
	var first error
	for _, c := range candidates {
		err := c.CanLeaveOneOut()
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}
