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

var _ share.BatchFitter = Pipeline{}

// FitBatch fits every candidate on every fold and shares work between candidates:
//   - common leading steps are fitted and applied once for each fold, and once for all folds if they
//     are data-independent ([transformer.DataIndependent]);
//   - steps with equal first stages ([transformer.TwoStageFitter]) fit these once for each fold, also
//     inside of steps that contain steps ([Composite]);
//   - steps of one feature family ([transformer.FamilyFitter]), which use the same random draws, are
//     mapped jointly: dense features of the last step in tiles of rows, for estimators that support
//     related maps (BatchFitter); sparse ones once by the widest map, such as that with the most
//     grids, whose leading columns are those of narrower maps;
//   - estimators after equal steps are fitted by their own FitBatch, if they have one.
//
// Sharing that would exceed the memory of the pipeline is replaced by separate fits. Features that
// candidates share as a family are float64, whatever the precision of the candidates; float32 ridge
// fits whose rounding would be visible are fitted separately in their own precision.
//
// It returns the names of what was shared: "prefix" for fitted steps or their first stages,
// "features" for mapped rows, "projection" for a product with the rows that several candidates or
// folds used, "grids" for the widest map of a family, and the names reported by the estimators.
// Folds and groups of candidates run concurrently as far as memory allows; this changes the order
// of the results only. The work is divided as if all fits were included; unneeded work is omitted.
//
// Leave-one-out maps the rows once for all candidates with the same steps, which must be
// data-independent, and calls the estimators with the mapped rows, which stay in memory.
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

// errMapped is the error of a batch on related maps, which are made by steps.
var errMapped = errors.New("a pipeline takes rows as they are, and makes related maps of them itself")

// PlanBatch accepts batches over rows, and leave-one-out if the estimator supports it and no step
// learns from the rows. Steps and estimators that declare no cost count as free.
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

// job is a batch as package sweep takes it.
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
	job.Inside = inside
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

// inside returns the children of a step in the representation of package sweep.
func inside(step transformer.Fitter) (sweep.Children, bool) {
	c, ok := step.(Composite)
	if !ok {
		return sweep.Children{}, false
	}
	holds, children := c.Holds(), c.Children()
	in := sweep.Children{Parallel: holds.Parallel, Fixed: holds.Kind != nil}
	for i, child := range children {
		in.Parts = append(in.Parts, rows.Spec{Name: ChildName(child, i), Fitter: child.Fitter})
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

// predictAll returns all outputs of a predictor, computed in blocks.
func predictAll(ctx context.Context, fitted estimator.Predictor, X mat.Matrix) (estimator.Prediction, error) {
	if _, ok := fitted.(*FittedPipeline); !ok {
		_, cols := X.Dims()
		fitted = &FittedPipeline{chain: &FittedChain{cols: cols}, name: "estimator", model: fitted}
	}
	return estimator.Predict(ctx, fitted, X, estimator.Request{})
}

// checkLeaveOneOut returns an error if none of the pipelines supports leave-one-out.
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
