package joint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// KernelRidge is a kernel ridge regression candidate.
type KernelRidge struct {
	kernelridge.Spec
	Independent bool  // whether the model depends on the left-out rows
	Invalid     error // validation error of the candidate
	Labels      kernelridge.TargetReader
}

// kernelBatch is one batch of kernel ridge regressions.
type kernelBatch struct {
	Batch
	candidates []KernelRidge
	keys       []int                      // equal for candidates that differ only in alpha
	distances  *kernelridge.DistanceCache // of the rows of a fold
}

// FitKernelRidges fits kernel ridge regressions on rows without maps. Candidates that differ only
// in alpha are solved jointly and share kernel values of training and test rows. Candidates with
// different kernels or gamma share the distances of a fold if that pays.
func FitKernelRidges(ctx context.Context, b Batch, candidates []KernelRidge) (shared []string, err error) {
	s := &kernelBatch{Batch: b, candidates: candidates, keys: b.SharedKeys()}
	r, err := design.FromSet(b.Data)
	if err == nil {
		err = b.CheckFolds(r.N)
	}
	if err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	groups := s.groups()
	for f, fold := range b.Folds {
		var split *Split
		s.distances = &kernelridge.DistanceCache{}
		for _, members := range groups {
			if len(s.want(members, f)) == 0 {
				continue
			}
			if err := ctxerr.Check(ctx); err != nil {
				return nil, err
			}
			if split == nil {
				split = &Split{design.Select(b.Data, fold.Train), rowblock.Select(b.Data.X, fold.Test)}
			}
			if err := s.fitFold(members, f, split); err != nil {
				return nil, err
			}
		}
	}
	return s.shared(groups), nil
}

// groups returns the candidates that differ only in alpha, by descending alpha.
func (s *kernelBatch) groups() [][]int {
	return paths(s.candidates, s.keys, func(c KernelRidge) (float64, error) { return -c.Alpha, c.Invalid })
}

// shared names what the candidates share.
func (s *kernelBatch) shared(groups [][]int) []string {
	for _, members := range groups {
		if len(members) == 1 {
			continue
		}
		return []string{"alpha"}
	}
	return nil
}

// fitFold fits candidates that differ only in alpha on one fold.
func (s *kernelBatch) fitFold(members []int, f int, split *Split) error {
	start := time.Now()
	want := s.want(members, f)
	t, classes, err := s.training(members, split.Train)
	var models []*kernelridge.Model
	var errs []error
	if err == nil {
		models, errs, err = s.solve(t, members, f)
	}
	var scores []*mat.Dense
	if err == nil {
		err = s.Data.AtRows(datasets.Set{X: split.Test}.CheckFinite(), s.Folds[f].Test)
	}
	if err == nil {
		scores, err = t.Scores(s.ctx, design.Native(split.Test), models)
	}
	if s.ctx.Err() != nil {
		return ctxerr.Check(s.ctx)
	}
	seconds := time.Since(start).Seconds() / float64(len(want))
	for k, i := range want {
		out := Result{Err: err, Seconds: seconds, Classes: classes}
		if err == nil {
			out.Err = errs[k]
		}
		if out.Err == nil {
			out.Scores, out.Report = scores[k], models[k].Report
		}
		if err := s.yield(i, f, out); err != nil {
			return err
		}
	}
	return nil
}

// training prepares rows for candidates that differ only in alpha.
func (s *kernelBatch) training(members []int, train datasets.Set) (*kernelridge.Training, []string, error) {
	first := s.candidates[members[len(members)-1]] // of the smallest alpha
	if first.Invalid != nil {
		return nil, nil, first.Invalid
	}
	r, err := design.FromSet(train)
	if err != nil {
		return nil, nil, err
	}
	data, err := first.Labels(s.ctx, r)
	if err != nil {
		return nil, nil, err
	}
	bytes := first.Cost(r.Shape(r.N, data.Targets)).Bytes
	if len(members) > 1 {
		bytes = first.BatchBytes(r.Shape(r.N, data.Targets), len(members))
	}
	shares := s.sharesDistances(first.Spec, r.Shape(r.N, data.Targets))
	if shares {
		bytes += kernelridge.DistanceCacheBytes(r.N)
	}
	if err := memory.Check(bytes); err != nil {
		return nil, nil, err
	}
	t, err := kernelridge.NewTraining(s.ctx, first.Spec, data, len(members) > 1)
	if err == nil && shares {
		t.ShareDistances(s.distances)
	}
	return t, data.Classes, err
}

// sharesDistances reports whether this candidate and one with another key can share distances.
func (s *kernelBatch) sharesDistances(spec kernelridge.Spec, shape datasets.Shape) bool {
	keys := map[int]bool{}
	for i, c := range s.candidates {
		if c.Invalid == nil && c.SharesDistances(shape.Rows, shape.Entries()) {
			keys[s.keys[i]] = true
		}
	}
	return len(keys) > 1 && spec.SharesDistances(shape.Rows, shape.Entries())
}

// solve returns the models of the included members, nil with an error for failures.
func (s *kernelBatch) solve(t *kernelridge.Training, members []int, f int) (models []*kernelridge.Model, errs []error,
	err error) {
	var specs []kernelridge.Spec
	for _, i := range s.want(members, f) {
		specs = append(specs, s.candidates[i].Spec)
	}
	return t.SolveAll(s.ctx, specs)
}

// KernelRidgesLeaveOneOut computes exact leave-one-out predictions from one factor of the n×n
// matrix per candidate. It rejects class weights and rules for gamma that depend on the left-out
// row.
func KernelRidgesLeaveOneOut(ctx context.Context, b Batch, candidates []KernelRidge) ([]string, error) {
	s := &kernelBatch{Batch: b, candidates: slices.Clone(candidates), keys: b.SharedKeys(),
		distances: &kernelridge.DistanceCache{}}
	for i := range s.candidates {
		s.candidates[i].Solver = "cholesky"
	}
	groups := s.groups()
	for _, members := range groups {
		want := s.want(members, 0)
		if len(want) == 0 {
			continue
		}
		start := time.Now()
		t, classes, err := s.leaveOneOutTraining(members)
		for _, i := range want {
			var out Result
			if err == nil {
				out = s.leaveOneOut(t, i)
				out.Classes = classes
			} else {
				out.Err = err
			}
			if ctx.Err() != nil {
				return nil, ctxerr.Check(ctx)
			}
			out.Seconds = time.Since(start).Seconds()
			start = time.Now()
			if err := b.yield(i, 0, out); err != nil {
				return nil, err
			}
		}
	}
	return append(s.shared(groups), "rows"), nil
}

// leaveOneOutTraining is training for candidates independent of the left-out row.
func (s *kernelBatch) leaveOneOutTraining(members []int) (*kernelridge.Training, []string, error) {
	first := s.candidates[members[0]]
	switch {
	case first.Invalid != nil:
		return nil, nil, first.Invalid
	case first.Independent:
		return nil, nil, ErrLOOClassWeights
	case first.LearnsGamma():
		return nil, nil, ErrLOOGammaRule
	}
	return s.training(members, s.Data)
}

// leaveOneOut computes the leave-one-out predictions of a candidate.
func (s *kernelBatch) leaveOneOut(t *kernelridge.Training, candidate int) Result {
	out := Result{Report: solve.Report{Solver: "cholesky", Converged: true}}
	loo, err := t.LeaveOneOut(s.ctx, s.candidates[candidate].Spec)
	switch {
	case err != nil:
		out.Err = fmt.Errorf("leave-one-out: %w", err)
	case s.GCV:
		out.Scores = loo.GCVPredictions
	default:
		out.Scores = loo.Predictions
	}
	return out
}

// FitKernelRidgesBytes estimates the peak memory of [FitKernelRidges].
func FitKernelRidgesBytes(b batch.Job, candidates []KernelRidge) (largest int64) {
	s := &kernelBatch{Batch: Batch{Job: b}, candidates: candidates, keys: b.SharedKeys()}
	for _, fold := range b.Folds {
		one := b.Shape
		one.Rows = len(fold.Train)
		for _, members := range s.groups() {
			spec := candidates[members[len(members)-1]].Spec
			bytes := spec.Cost(one).Bytes
			if len(members) > 1 {
				bytes = spec.BatchBytes(one, len(members))
			}
			if s.sharesDistances(spec, one) {
				bytes += kernelridge.DistanceCacheBytes(one.Rows)
			}
			largest = max(largest, bytes)
		}
	}
	return largest
}

// KernelRidgesLeaveOneOutBytes estimates the peak memory of [KernelRidgesLeaveOneOut].
func KernelRidgesLeaveOneOutBytes(shape datasets.Shape, candidates []KernelRidge) (largest int64) {
	for _, c := range candidates {
		largest = max(largest, c.LeaveOneOutBytes(shape))
	}
	return largest
}
