package joint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// ErrLOOClassWeights reports unknown classes or balanced class weights.
var ErrLOOClassWeights = errors.New("leave-one-out requires class names and class weights " +
	"that do not depend on the rows")

// ErrLOOGammaRule reports a kernel width that depends on the left-out row.
var ErrLOOGammaRule = errors.New("leave-one-out requires a fixed gamma, since a rule depends on the left-out row; " +
	"use k folds or a number for gamma")

// RidgesLeaveOneOut computes exact leave-one-out predictions by [leastsquares.LeaveOneOut]. It
// costs nd² flops for all candidates that differ only in alpha, and nd² + d³/3 for each. It rejects
// balanced class weights, which depend on the left-out row.
func RidgesLeaveOneOut(ctx context.Context, b Batch, candidates []Ridge) ([]string, error) {
	var keys []int
	groups, shares := map[int][]int{}, b.SharedKeys()
	for i, s := range candidates {
		if !b.IncludesAny(i) {
			continue
		}
		key := shares[i]
		if err := s.Invalid; err != nil || s.Independent {
			if err == nil {
				err = ErrLOOClassWeights
			}
			if err := b.yield(i, 0, Result{Err: err}); err != nil {
				return nil, err
			}
			continue
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], i)
	}
	var shared []string
	for _, key := range keys {
		if len(groups[key]) > 1 && shared == nil {
			shared = []string{"alpha"}
		}
		if err := leaveOneOutPath(ctx, b, candidates, groups[key]); err != nil {
			return nil, err
		}
	}
	return append(shared, "rows"), nil
}

// RidgesLeaveOneOutBytes estimates the peak memory of [RidgesLeaveOneOut].
func RidgesLeaveOneOutBytes(j batch.Job, candidates []Ridge) (largest int64) {
	alphas := map[int]int{}
	for _, key := range j.SharedKeys() {
		alphas[key]++
	}
	for key, n := range alphas {
		largest = max(largest, leastsquares.LeaveOneOutBytes(j.Shape, candidates[key].Intercept, n))
	}
	return largest
}

// leaveOneOutPath fits candidates that differ only in alpha.
func leaveOneOutPath(ctx context.Context, b Batch, candidates []Ridge, members []int) error {
	start := time.Now()
	first := candidates[members[0]]
	path, y, err := first.leaveOneOut(ctx, b.Data, candidates, members)
	if err != nil && ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	if err != nil && len(members) > 1 { // each fit reports its own error
		for _, i := range members {
			if err := leaveOneOutPath(ctx, b, candidates, []int{i}); err != nil {
				return err
			}
		}
		return nil
	}
	seconds := time.Since(start).Seconds() / float64(len(members))
	for k, i := range members {
		out := Result{Seconds: seconds, Report: solve.Report{Solver: "cholesky", Converged: true}}
		if err == nil {
			if out.Scores = path.Predictions[k]; b.GCV {
				out.Scores = path.GCVPredictions(k, y)
			}
		} else {
			out.Err = fmt.Errorf("leave-one-out: %w", err)
		}
		if err := b.yield(i, 0, out); err != nil {
			return err
		}
	}
	return nil
}

// leaveOneOut returns the results for the members' alphas and the targets.
func (s Ridge) leaveOneOut(ctx context.Context, data datasets.Set, candidates []Ridge,
	members []int) (*leastsquares.LOOResult, []float64, error) {
	p, err := s.Problem(nil)
	if err != nil {
		return nil, nil, err
	}
	y, t, weights, err := p.Block(0, data)
	if err != nil {
		return nil, nil, err
	}
	data.Y, data.Weights, data.Targets = nil, weights, mat.NewDense(data.Rows(), t, y)
	alphas := make([]float64, len(members))
	for k, i := range members {
		alphas[k] = candidates[i].Alpha
	}
	path, err := leastsquares.LeaveOneOut(ctx, s.Ridge, data, alphas)
	return path, y, err
}
