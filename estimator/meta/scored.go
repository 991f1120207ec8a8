package meta

import (
	"cmp"
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/share"
)

// scored is the spec of a wrapper of a classifier that learns, from scores of rows that the model has not seen, what
// to make of its scores.
type scored interface {
	estimator.Estimator
	named(err error) error
	within() estimator.Estimator
	// folding returns the folds that scores of so many classes are from, noFolds where none are needed.
	folding(classes int) int
	// suits says why classes are none for it.
	suits(labels *design.Labels) error
	learn(ctx context.Context, found outOfFold, labels *design.Labels) (reading, error)
}

// reading is what was learned: it makes of what a model says of rows what the wrapper says of them.
type reading interface {
	read(said estimator.Prediction) (estimator.Prediction, error)
}

// validation is how the scores are made that s learns from.
func validation[S scored](s S, labels *design.Labels) crossValidation {
	return crossValidation{folds: s.folding(len(presentOf(labels))), classes: len(labels.Classes)}
}

// fitScored fits the model within s to all rows and learns what to make of its scores.
func fitScored[S scored](ctx context.Context, s S, data datasets.Set) (fitted estimator.Predictor, learned reading, classes []string, err error) {
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
	if fitted, err = of.Fit(ctx, data); err != nil {
		return nil, nil, nil, err
	}
	if !estimator.OutputsOf(fitted).Has.Has(estimator.Scores) {
		return nil, nil, nil, errNoScores
	}
	found := make([]outOfFold, 1)
	if v := validation(s, labels); v.folds != noFolds {
		found, _, err = v.predict(ctx, share.Batch{Data: data, Shape: data.Shape(), Candidates: share.Candidates(of)}, allOf(data), false, []int{0})
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

// batchScored is the FitBatch of specs that are scored.
func batchScored[S scored](ctx context.Context, b share.Batch) (shared []string, err error) {
	var any S
	specs, err := share.Specs[S](b)
	if err != nil {
		return nil, any.named(err)
	}
	if b.LeaveOneOut {
		return nil, any.named(share.ErrNoLeaveOneOut)
	}
	if len(b.Data.Schema.Classes()) == 0 { // each fold has the classes that its rows have
		return nil, fitEach(ctx, b)
	}
	groups, err := foldsOf(b, specs)
	if err != nil {
		return nil, err
	}
	for _, which := range groups {
		group := only(b, which)
		for f := range b.Folds {
			if !wantsFold(group, f) {
				continue
			}
			names, err := foldScored[S](ctx, onFold(group, f))
			if shared = append(shared, names...); err != nil {
				return shared, err
			}
		}
	}
	return shared, nil
}

// foldsOf returns the numbers of the candidates that make scores by as many folds.
func foldsOf[S scored](b share.Batch, specs []S) ([][]int, error) {
	return grouped(b, func(i int) (any, error) {
		return specs[i].folding(2), specs[i].named(checkModel(specs[i], specs[i].within()))
	})
}

// foldScored fits candidates with the same number of folds on the one fold of a batch.
func foldScored[S scored](ctx context.Context, b share.Batch) (shared []string, err error) {
	fold, first := b.Folds[0], b.Candidates[0].Estimator.(S)
	labels, err := labelsOf(ctx, b.Data)
	if err == nil { // and now those to learn from
		own := datasets.Set{X: mat.NewDense(b.Data.Rows(), 1, nil), Y: b.Data.Y, Weights: b.Data.Weights, Schema: datasets.Schema{Targets: namedClasses(b.Data, labels.Classes).Schema.Targets}}
		labels, err = labelsOf(ctx, own.Select(fold.Train))
	}
	if err != nil {
		for i := range b.Candidates {
			if failed := refuse(b, i, first.named(err)); failed != nil {
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

// modelsOf are candidates with the models that they hold in their place.
func modelsOf[S scored](candidates []share.Candidate) []share.Candidate {
	return withModels(candidates, func(c share.Candidate) estimator.Estimator {
		return c.Estimator.(S).within()
	})
}

// outcomeOf is what a candidate says of the test rows of the one fold of a batch.
func outcomeOf[S scored](ctx context.Context, s S, b share.Batch, candidate int, found outOfFold, labels *design.Labels) share.Outcome {
	if errors.Is(found.err, errAlone) {
		return b.FitOne(ctx, candidate, 0)
	}
	out := found.last
	out.Seconds = found.seconds
	if out.Err = cmp.Or(s.suits(labels), found.err); out.Err == nil {
		var learned reading
		if learned, out.Err = s.learn(ctx, found, labels); out.Err == nil {
			var decided estimator.Prediction
			decided, out.Err = learned.read(estimator.Prediction(found.last.Prediction))
			out.Prediction = share.Prediction(decided)
		}
	}
	out.Err = s.named(out.Err)
	return out
}

// planScored is the PlanBatch of specs that are scored. A batch on related maps is taken where scores come from folds.
func planScored[S scored](b share.Batch) (most int64, err error) {
	var any S
	if b.LeaveOneOut {
		return 0, any.named(share.ErrNoLeaveOneOut)
	}
	specs, err := share.Specs[S](b)
	for _, spec := range specs {
		err = cmp.Or(err, checkModel(spec, spec.within()))
	}
	if err != nil {
		return 0, any.named(err)
	}
	groups, _ := foldsOf(b, specs)
	for _, which := range groups {
		part := only(b, which)
		part.Candidates = modelsOf[S](part.Candidates)
		bytes, err := (crossValidation{folds: specs[which[0]].folding(max(b.Shape.Outputs, 2)), classes: 2}).bytes(part)
		if err != nil {
			return 0, any.named(err)
		}
		most = max(most, bytes)
	}
	return most, nil
}

// loneCost is the cost of one spec that is scored: that of its model for each fold, or for what leaves one out, and
// once more.
func loneCost[S scored](s S, shape datasets.Shape) datasets.Cost {
	v := crossValidation{folds: s.folding(max(shape.Outputs, 2)), classes: 2}
	return v.lone(share.Candidates(s.within()), shape)
}
