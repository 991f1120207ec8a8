package meta

import (
	"context"
	"errors"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
)

// FitBatch transforms the targets, passes them to FitBatch of the inner estimators, and transforms
// the predictions back. If the transform and the limits do not depend on the training rows, one batch serves all
// folds, and leave-one-out is as exact as that of the inner estimators; else there is one batch per
// fold. Candidates with Smear, which uses training residuals, or Limits auto are fitted individually.
func (s Target) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	specs, err := batch.Specs[Target](b)
	if err != nil {
		return nil, s.named(err)
	}
	groups, err := groupBy(b, func(i int) (any, error) {
		spec := specs[i]
		wrong := spec.check(b.Data.Schema)
		if wrong == nil && b.LeaveOneOut {
			wrong = spec.checkLeaveOneOut(b.GCV)
		}
		return Target{Transform: spec.Transform, Smear: spec.Smear, Limits: spec.Limits}, spec.named(wrong)
	})
	if err != nil {
		return nil, err
	}
	for _, which := range groups {
		names, err := specs[which[0]].fitSameTransform(ctx, b.Select(which))
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

// fitSameTransform fits candidates with the transform of s.
func (s Target) fitSameTransform(ctx context.Context, b batch.Job) (shared []string, err error) {
	if s.individual() {
		return nil, estimator.FitSeparately(ctx, b)
	}
	if !s.learns() {
		if learned, mapped, err := s.transformed(b.Data); err == nil {
			return s.fitTransformed(ctx, b, mapped, learned)
		}
	}
	for f := range b.Folds {
		part := b.OnFold(f)
		learned, mapped, failed := s.transformedFold(b.Data, b.Folds[f].Train)
		if failed != nil {
			for i := range b.Candidates {
				if err := part.YieldError(i, s.named(failed)); err != nil {
					return shared, err
				}
			}
			continue
		}
		names, err := s.fitTransformed(ctx, part, mapped, learned)
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

// transformedFold fits the transforms to the training rows of a fold and applies them. The targets
// of other rows, which are not used, are set to 0.
func (s Target) transformedFold(data datasets.Set, train []int) (transforms, datasets.Set, error) {
	own := datasets.Set{X: data.X, Y: data.Y, Targets: data.Targets, Weights: data.Weights, Schema: data.Schema}
	y, count, err := design.BlockTargets(0, own)
	if err != nil {
		return nil, data, err
	}
	z, w := make([]float64, 0, len(train)*count), []float64(nil)
	for _, i := range train {
		if z = append(z, y[i*count:(i+1)*count]...); data.Weights != nil {
			w = append(w, data.Weights[i])
		}
	}
	learned := s.learnTransforms(z, count, w)
	out := make([]float64, len(y))
	for _, i := range train {
		for j := range count {
			if out[i*count+j], err = learned.forward(y[i*count+j], data, i, j); err != nil {
				return nil, data, err
			}
		}
	}
	return learned, withTargets(data, out, count), nil
}

// fitTransformed fits a batch with transformed targets.
func (s Target) fitTransformed(ctx context.Context, b batch.Job, mapped datasets.Set,
	learned transforms) (shared []string, err error) {
	inner := b
	inner.Data = mapped
	inner.Candidates = innerCandidates(b.Candidates, s.modelOf)
	var mu sync.Mutex
	whole := map[[2]int]bool{} // outcomes of FitOne, which includes this wrapper
	if b.FitOne != nil {
		inner.FitOne = func(ctx context.Context, candidate, fold int) batch.Outcome {
			mu.Lock()
			whole[[2]int{candidate, fold}] = true
			mu.Unlock()
			return b.FitOne(ctx, candidate, fold)
		}
	}
	inner.Yield = func(candidate, fold int, out batch.Outcome) error {
		mu.Lock()
		done := whole[[2]int{candidate, fold}]
		mu.Unlock()
		if !done && out.Err == nil {
			var original estimator.Prediction
			original, out.Err = learned.back(out.Prediction)
			if out.Prediction = original; out.Err != nil {
				out.Err = b.Data.AtRows(out.Err, b.Folds[fold].Test)
			}
		}
		if !done && out.Err != nil {
			out.Err = s.named(out.Err)
		}
		return b.Yield(candidate, fold, out)
	}
	return estimator.FitBatch(ctx, inner)
}

// withTargets returns data with other targets, rows × count.
func withTargets(data datasets.Set, y []float64, count int) datasets.Set {
	if data.Targets == nil {
		data.Y = y
		return data
	}
	data.Targets = mat.NewDense(len(y)/count, count, y)
	return data
}

// modelOf returns the inner estimator of a candidate.
func (Target) modelOf(c batch.Candidate) estimator.Estimator {
	return c.Estimator.(Target).Estimator
}

// checkLeaveOneOut returns an error if a spec does not support leave-one-out.
func (s Target) checkLeaveOneOut(gcv bool) error {
	switch {
	case s.learns() || s.Smear:
		return errors.New("what it learns from the targets would be another without each row; use k folds")
	case gcv:
		return errors.New("generalized cross-validation scores transformed targets; use loo or k-fold cross-validation")
	}
	return nil
}

// PlanBatch returns the plan of the inner estimators, unless the transform depends on the rows left
// out.
func (s Target) PlanBatch(b batch.Job) (int64, error) {
	specs, err := batch.Specs[Target](b)
	if err != nil {
		return 0, s.named(err)
	}
	for _, spec := range specs {
		if err = checkModel(spec, spec.Estimator); err == nil && b.LeaveOneOut {
			err = spec.checkLeaveOneOut(b.GCV)
		}
		if err == nil && b.HasMaps() && spec.individual() {
			err = batch.ErrNoSharedMaps
		}
		if err != nil {
			return 0, s.named(err)
		}
	}
	b.Candidates = innerCandidates(b.Candidates, s.modelOf)
	bytes, err := estimator.PlanBatch(b)
	return bytes, s.named(err)
}
