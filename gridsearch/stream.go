package gridsearch

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/metrics"
)

// RunSource is Run for streamed rows: it makes several passes and stores no inputs, only the
// targets and the predictions of the current candidates, 8 bytes per row and output. Folds are
// those of a [datasets.HashKFold], which Splitter must be; nil means 5 folds.
//
// Candidates that learn by passes ([estimator.PassEstimator]) share each pass, as many as fit in
// Memory, or half of the available memory. If a pass does not depend on earlier ones, its sums are
// computed once per fold and combined to those of the training rows, at the cost of one fit.
// Candidates that differ only in parameters that do not affect the statistics of a pass share its
// sums. A grid over the penalties of ridge regression on random features thus costs one product Z'Z
// for each setting of the features, and two passes. After a step that learns from the rows, each
// fold has its own features, and each candidate costs one fit per fold.
//
// Other estimators must be an [estimator.BlockEstimator]; they are fitted sequentially, each with
// its own passes.
//
// Scores equal those of Run with the same folds, up to the order of summation. Unsupervised tasks
// are not supported, nor is a [Halving] whose resource is the number of rows.
func (s Search) RunSource(ctx context.Context, src datasets.Source) (*Result, error) {
	r, err := s.prepareStream(ctx, src)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return r.complete(ctx)
}

// hashFolds returns the splitter of a search on a stream.
func (s Search) hashFolds() datasets.HashKFold {
	by, ok := s.Splitter.(datasets.HashKFold)
	if !ok {
		by.Folds = defaultFolds
	}
	return by
}

// prepareStream checks the search and reads the targets.
func (s Search) prepareStream(ctx context.Context, src datasets.Source) (*run, error) {
	by := s.hashFolds()
	if s.Splitter != nil && s.Splitter != datasets.Splitter(by) {
		return nil, fmt.Errorf("folds of %T need rows in memory; a stream has those of a datasets.HashKFold", s.Splitter)
	}
	if by.Folds < 2 {
		return nil, fmt.Errorf("number of folds must be 2 or more, got %d", by.Folds)
	}
	if own := datasets.TagsOf(s.Estimator).Task; own.Unsupervised() {
		return nil, fmt.Errorf("candidates for %s are scored on all rows in memory; streams are not supported", own)
	}
	stream := &batch.Stream{Source: src, Fold: by.Of, Rows: make([]int, by.Folds)}
	truth, err := readTargets(ctx, stream)
	if err != nil {
		return nil, err
	}
	r, list, err := s.newRun(truth[0], MaxCandidates)
	if err != nil {
		return nil, err
	}
	r.stream, r.data, r.fullFolds = stream, datasets.Set{Schema: src.Schema()}, make([]datasets.Fold, by.Folds)
	r.scorer = &scorer{metrics: list}
	for _, known := range truth {
		r.scorer.truth = append(r.scorer.truth, metricinput.FromSet(known, list[0].Task))
	}
	r.scorer.setCosts(metricinput.Costs(s.Estimator, r.data.Schema.Classes()))
	if m := slices.IndexFunc(list,
		func(m metrics.Metric) bool { return !m.IsSupervised() }); m >= 0 {
		return nil, fmt.Errorf("score %s requires the rows in memory; streams are not supported", list[m].Name)
	}
	return r, nil
}

// readTargets returns the targets and weights of each fold.
func readTargets(ctx context.Context, stream *batch.Stream) ([]datasets.Set, error) {
	k := len(stream.Rows)
	truth, several := make([]datasets.Set, k), make([][]float64, k)
	targets := 0
	row := 0
	err := stream.Source.Blocks(ctx, func(block datasets.Set) error {
		for i := range block.Rows() {
			f := stream.Fold(row)
			row++
			stream.Rows[f]++
			if block.Y != nil {
				truth[f].Y = append(truth[f].Y, block.Y[i])
			}
			if block.Weights != nil {
				truth[f].Weights = append(truth[f].Weights, block.Weights[i])
			}
			if block.Targets != nil {
				_, targets = block.Targets.Dims()
				several[f] = append(several[f], block.Targets.RawRowView(i)...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for f, rows := range stream.Rows {
		if rows == 0 {
			return nil, fmt.Errorf("fold %d of %d has no rows; there are %d in all", f, k, row)
		}
		truth[f].Schema = stream.Source.Schema()
		if targets > 0 {
			truth[f].Targets = mat.NewDense(rows, targets, several[f])
		}
	}
	return truth, nil
}

// shape returns the shape of the rows; of a stream, that of the training rows of a fold.
func (r *run) shape() datasets.Shape {
	if r.stream == nil {
		return r.rows.Shape()
	}
	_, cols := r.stream.Source.Dims()
	all := 0
	for _, n := range r.stream.Rows {
		all += n
	}
	return datasets.Shape{Rows: all - slices.Min(r.stream.Rows), Cols: cols, Outputs: r.data.Schema.Outputs(),
		Columns: r.data.Schema.Columns}
}
