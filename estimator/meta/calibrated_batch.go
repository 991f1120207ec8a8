package meta

import (
	"cmp"
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/calibration"
	"github.com/bochner-ml/bochner/internal/design"
)

// FitBatch shares, within each fold, what the models within share between candidates and folds.
func (s Calibrated) FitBatch(ctx context.Context, b estimator.Batch) (shared []string, err error) {
	specs, err := estimator.SpecsOf[Calibrated](b)
	if err != nil {
		return nil, s.named(err)
	}
	if b.OneOut {
		return nil, s.named(estimator.ErrNotOneOut)
	}
	if len(b.Data.Schema.Classes()) == 0 { // each fold has the classes that its rows have
		return nil, fitEach(ctx, b)
	}
	groups, err := grouped(b, func(i int) (any, error) {
		return specs[i].Folds, specs[i].named(checkModel(specs[i], specs[i].Of))
	})
	if err != nil {
		return nil, err
	}
	for _, which := range groups {
		group := only(b, which)
		for f := range b.Folds {
			if !wantsFold(group, f) {
				continue
			}
			names, err := fitCalibrated(ctx, onFold(group, f), specs[which[0]].Folds)
			if shared = append(shared, names...); err != nil {
				return shared, err
			}
		}
	}
	return shared, nil
}

// fitCalibrated fits candidates with the same number of folds on the one fold of a batch.
func fitCalibrated(ctx context.Context, b estimator.Batch, folds int) (shared []string, err error) {
	fold := b.Folds[0]
	labels, err := labelsOf(ctx, b.Data)
	if err == nil { // and now those to learn from
		own := datasets.Set{X: mat.NewDense(b.Data.Rows(), 1, nil), Y: b.Data.Y, Weights: b.Data.Weights, Schema: datasets.Schema{Targets: namedClasses(b.Data, labels.Classes).Schema.Targets}}
		labels, err = labelsOf(ctx, own.Select(fold.Train))
	}
	if err != nil {
		for i := range b.Candidates {
			if failed := refuse(b, i, Calibrated{}.named(err)); failed != nil {
				return nil, failed
			}
		}
		return nil, nil
	}
	inner := b
	inner.Data = namedClasses(b.Data, labels.Classes)
	inner.Candidates = withModels(b.Candidates, Calibrated{}.modelOf)
	each := make([]int, len(b.Candidates))
	for i := range each {
		each[i] = i
	}
	found, shared, err := (crossValidation{folds: folds, classes: len(labels.Classes)}).predict(ctx, inner, fold, true, each)
	if err != nil {
		return shared, err
	}
	for i, c := range b.Candidates {
		if !b.Wants(i, 0) {
			continue
		}
		if err := b.Yield(i, 0, c.Estimator.(Calibrated).outcome(ctx, b, i, found[i], labels)); err != nil {
			return shared, err
		}
	}
	return shared, ctx.Err()
}

// modelOf returns the model that a candidate holds.
func (Calibrated) modelOf(c estimator.Candidate) estimator.Estimator {
	return c.Estimator.(Calibrated).Of
}

// outcome is what the calibrated model says of the test rows of the one fold of a batch.
func (s Calibrated) outcome(ctx context.Context, b estimator.Batch, candidate int, found outOfFold, labels *design.Labels) estimator.Outcome {
	if errors.Is(found.err, errAlone) {
		return b.Lone(ctx, candidate, 0)
	}
	out := found.last
	out.Seconds = found.seconds
	if out.Err = found.err; out.Err == nil {
		var learned calibration.Map
		if learned, out.Err = s.learnMap(found, labels); out.Err == nil {
			out.Prediction, out.Err = calibrate(learned, found.last.Scores, len(labels.Classes))
		}
	}
	out.Err = s.named(out.Err)
	return out
}

// BatchCost is that of the folds within, on each fold. A batch on related maps is taken where scores come
// from folds.
func (s Calibrated) BatchCost(b estimator.Batch) (cost datasets.Cost, shared []string, err error) {
	if b.OneOut {
		return cost, nil, s.named(estimator.ErrNotOneOut)
	}
	specs, err := estimator.SpecsOf[Calibrated](b)
	for _, spec := range specs {
		err = cmp.Or(err, checkModel(spec, spec.Of))
	}
	if err != nil {
		return cost, nil, s.named(err)
	}
	groups, _ := grouped(b, func(i int) (any, error) { return specs[i].Folds, nil })
	for _, which := range groups {
		part := only(b, which)
		part.Candidates = withModels(part.Candidates, s.modelOf)
		one, names, err := (crossValidation{folds: specs[which[0]].Folds, classes: 2}).cost(part)
		if err != nil {
			return cost, nil, s.named(err)
		}
		cost.Flops, cost.Bytes = cost.Flops+one.Flops, max(cost.Bytes, one.Bytes)
		shared = append(shared, names...)
	}
	return cost, shared, nil
}
