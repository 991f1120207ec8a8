package meta

import (
	"cmp"
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
)

// scoreBased is a meta-estimator that fits a map to the out-of-fold scores of a classifier.
type scoreBased interface {
	estimator.Estimator
	named(err error) error
	within() estimator.Estimator
	// folding returns the folds for the out-of-fold scores of the given number of classes, noFolds
	// if none are needed.
	folding(classes int) int
	// suits returns an error if the classes are unsuitable.
	suits(labels *design.Labels) error
	learn(ctx context.Context, found outOfFold, labels *design.Labels) (scoreMap, error)
}

// scoreMap is a fitted map from the prediction of the inner classifier to that of the
// meta-estimator.
type scoreMap interface {
	read(pred estimator.Prediction) (estimator.Prediction, error)
}

// validation returns the cross-validation for the scores.
func validation[S scoreBased](s S, labels *design.Labels) crossValidation {
	return crossValidation{folds: s.folding(len(presentOf(labels))), classes: len(labels.Classes)}
}

// fitScoreBased fits the inner classifier to all rows and the map to its out-of-fold scores.
func fitScoreBased[S scoreBased](ctx context.Context, s S, data datasets.Set) (fitted estimator.Predictor,
	learned scoreMap, classes []string, err error) {
	of := s.within()
	if err := checkModel(s, of); err != nil {
		return nil, nil, nil, err
	}
	labels, err := labelsOf(ctx, data)
	if err == nil {
		err = s.suits(labels)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	data = namedClasses(data, labels.Classes)
	if fitted, err = guard.NotNil(of.Fit(ctx, data)); err != nil {
		return nil, nil, nil, err
	}
	if !estimator.OutputsOf(fitted).Has.Has(estimator.OutputScores) {
		return nil, nil, nil, errNoScores
	}
	found := make([]outOfFold, 1)
	if v := validation(s, labels); v.folds != noFolds {
		found, _, err = v.predict(ctx, batch.Job{Data: data, Shape: data.Shape(), Candidates: batch.Candidates(of)},
			allRows(data), false, []int{0})
		if err == nil {
			err = found[0].err
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	learned, err = s.learn(ctx, found[0], labels)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil {
		return nil, nil, nil, err
	}
	return fitted, learned, labels.Classes, nil
}

// batchScoreBased implements FitBatch.
func batchScoreBased[S scoreBased](ctx context.Context, b batch.Job) (shared []string, err error) {
	var any S
	specs, err := batch.Specs[S](b)
	if err != nil {
		return nil, any.named(err)
	}
	if b.LeaveOneOut {
		return nil, any.named(batch.ErrNoLeaveOneOut)
	}
	if len(b.Data.Schema.Classes()) == 0 { // each fold has its own classes
		return nil, estimator.FitSeparately(ctx, b)
	}
	groups, err := groupByFolds(b, specs)
	if err != nil {
		return nil, err
	}
	for _, which := range groups {
		group := b.Select(which)
		for f := range b.Folds {
			if !group.IncludesFold(f) {
				continue
			}
			names, err := fitScoreBasedFold[S](ctx, group.OnFold(f))
			if shared = append(shared, names...); err != nil {
				return shared, err
			}
		}
	}
	return shared, nil
}

// groupByFolds groups the indices of the candidates by their number of folds.
func groupByFolds[S scoreBased](b batch.Job, specs []S) ([][]int, error) {
	return groupBy(b, func(i int) (any, error) {
		return specs[i].folding(2), specs[i].named(checkModel(specs[i], specs[i].within()))
	})
}

// fitScoreBasedFold fits candidates with the same number of folds on the only fold of a batch.
func fitScoreBasedFold[S scoreBased](ctx context.Context, b batch.Job) (shared []string, err error) {
	fold, first := b.Folds[0], b.Candidates[0].Estimator.(S)
	labels, err := labelsOf(ctx, b.Data)
	if err == nil { // the classes and weights of the training rows
		own := datasets.Set{X: mat.NewDense(b.Data.Rows(), 1, nil), Y: b.Data.Y, Weights: b.Data.Weights,
			Schema: datasets.Schema{Targets: namedClasses(b.Data, labels.Classes).Schema.Targets}}
		labels, err = labelsOf(ctx, own.Select(fold.Train))
	}
	if err != nil {
		for i := range b.Candidates {
			if failed := b.YieldError(i, first.named(err)); failed != nil {
				return nil, failed
			}
		}
		return nil, nil
	}
	inner := b
	inner.Data = namedClasses(b.Data, labels.Classes)
	inner.Candidates = modelsOf[S](b.Candidates)
	each := make([]int, len(b.Candidates))
	for i := range each {
		each[i] = i
	}
	found, shared, err := validation(first, labels).predict(ctx, inner, fold, true, each)
	if err != nil {
		return shared, err
	}
	for i, c := range b.Candidates {
		if !b.Includes(i, 0) {
			continue
		}
		if err := b.Yield(i, 0, outcomeOf(ctx, c.Estimator.(S), b, i, found[i], labels)); err != nil {
			return shared, err
		}
	}
	return shared, ctxerr.Check(ctx)
}

// modelsOf returns the candidates with their inner estimators.
func modelsOf[S scoreBased](candidates []batch.Candidate) []batch.Candidate {
	return innerCandidates(candidates, func(c batch.Candidate) estimator.Estimator {
		return c.Estimator.(S).within()
	})
}

// outcomeOf returns the outcome of a candidate for the only fold of a batch.
func outcomeOf[S scoreBased](ctx context.Context, s S, b batch.Job, candidate int, found outOfFold,
	labels *design.Labels) batch.Outcome {
	if errors.Is(found.err, errNeedsPipeline) {
		return b.FitOne(ctx, candidate, 0)
	}
	out := found.last
	out.Seconds = found.seconds
	if out.Err = cmp.Or(s.suits(labels), found.err); out.Err == nil {
		var learned scoreMap
		if learned, out.Err = s.learn(ctx, found, labels); out.Err == nil {
			var decided estimator.Prediction
			decided, out.Err = learned.read(found.last.Prediction)
			out.Prediction = decided
		}
	}
	out.Err = s.named(out.Err)
	return out
}

// scoreBasedTags returns the tags of a classifier that supports related maps only if the scores come from folds.
func scoreBasedTags[S scoreBased](s S) datasets.Tags {
	exact := crossValidation{folds: s.folding(2)}.exact(batch.Candidates(s.within()), false)
	return datasets.Tags{Task: datasets.Classification, SharedMaps: datasets.TagsOf(s.within()).SharedMaps && !exact}
}

// planScoreBased implements PlanBatch.
func planScoreBased[S scoreBased](b batch.Job) (largest int64, err error) {
	var any S
	specs, err := batch.Specs[S](b)
	for _, spec := range specs {
		err = cmp.Or(err, checkModel(spec, spec.within()))
	}
	if err != nil {
		return 0, any.named(err)
	}
	groups, _ := groupByFolds(b, specs)
	for _, which := range groups {
		part := b.Select(which)
		part.Candidates = modelsOf[S](part.Candidates)
		bytes, err := (crossValidation{folds: specs[which[0]].folding(max(b.Shape.Outputs, 2)), classes: 2}).bytes(part)
		if err != nil {
			return 0, any.named(err)
		}
		largest = max(largest, bytes)
	}
	return largest, nil
}

// scoreBasedCost returns the cost of cross-validation and of a fit to all rows.
func scoreBasedCost[S scoreBased](s S, shape datasets.Shape) datasets.Cost {
	v := crossValidation{folds: s.folding(max(shape.Outputs, 2)), classes: 2}
	return v.cost(batch.Candidates(s.within()), shape)
}
