package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/solve"
)

// ErrLOOClassWeights is the error of classes that are not known, or whose weights are balanced.
var ErrLOOClassWeights = errors.New("leave one out needs the classes' names and weights that do not depend on the rows")

// ErrLOOGammaRule is the error of a kernel whose width depends on the row that is left out.
var ErrLOOGammaRule = errors.New("gamma is found from the rows, and would have to be found again without each of them; use k folds, or a number for gamma")

// RidgesLeaveOneOut predicts each row by the model of all the others, exactly by [leastsquares.LeaveOneOut], which costs
// nd² for all candidates that differ in Alpha only and nd² + d³/3 flops for each. Balanced class weights
// depend on the row that is left out, and are refused.
func RidgesLeaveOneOut(ctx context.Context, b Batch, candidates []Ridge) ([]string, error) {
	var keys []string
	groups := map[string][]int{}
	for i, s := range candidates {
		if !b.IncludesAny(i) {
			continue
		}
		key := fmt.Sprint(s.Key, s.Solver)
		if err := s.Invalid; err != nil || s.Independent {
			if err == nil {
				err = ErrLOOClassWeights
			}
			if err := b.Yield(i, 0, Result{Err: err}); err != nil {
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

// RidgesLeaveOneOutBytes returns about how many bytes [RidgesLeaveOneOut] holds at once on rows of a shape.
func RidgesLeaveOneOutBytes(shape datasets.Shape, candidates []Ridge) (most int64) {
	alphas, intercept := map[string]int{}, map[string]bool{}
	for _, s := range candidates {
		key := fmt.Sprint(s.Key, s.Solver)
		alphas[key]++
		intercept[key] = s.Intercept
	}
	for key, n := range alphas {
		most = max(most, leastsquares.LeaveOneOutBytes(shape, intercept[key], n))
	}
	return most
}

// leaveOneOutPath does candidates that differ in alpha.
func leaveOneOutPath(ctx context.Context, b Batch, candidates []Ridge, members []int) error {
	start := time.Now()
	first := candidates[members[0]]
	path, y, err := first.leaveOneOut(ctx, b.Data, candidates, members)
	if err != nil && ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	if err != nil && len(members) > 1 { // each says for itself whether that is its fault
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
			out.Err = fmt.Errorf("leave one out: %w", err)
		}
		if err := b.Yield(i, 0, out); err != nil {
			return err
		}
	}
	return nil
}

// leaveOneOut returns the path of the members' alphas and the targets it is about.
func (s Ridge) leaveOneOut(ctx context.Context, data datasets.Set, candidates []Ridge, members []int) (*leastsquares.LOOResult, []float64, error) {
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
