package estimator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// OneOutSweeper predicts, for many settings, every row by the model of all the others, without
// fitting as often.
type OneOutSweeper interface {
	// SweepOneOut calls yield once for every setting with a prediction for each row of the data.
	// With gcv, residuals are those of generalised cross-validation, which takes all rows to have
	// the mean leverage, so that the mean squared error is the GCV score. It returns the names of
	// what was shared, as [Sweeper] does.
	SweepOneOut(ctx context.Context, data datasets.Set, settings []Estimator, gcv bool,
		yield func(setting int, held Held) error) (shared []string, err error)
}

var (
	_ OneOutSweeper = Ridge{}
	_ OneOutSweeper = RidgeClassifier{}
)

// SweepOneOut is exact by [Ridge.LeaveOneOut], which costs nd² for all settings that differ in Alpha
// only and nd² + d³/3 flops for each.
func (s Ridge) SweepOneOut(ctx context.Context, data datasets.Set, settings []Estimator, gcv bool,
	yield func(setting int, held Held) error) ([]string, error) {
	if err := forNumbers(data.Schema, "ridge"); err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	list, err := s.sweepSettings(data, settings)
	if err != nil {
		return nil, err
	}
	return sweepOneOut(ctx, data, list, gcv, yield)
}

// SweepOneOut is [Ridge.SweepOneOut] on the codes of the classes. Balanced class weights depend on the row
// that is left out, and are refused.
func (s RidgeClassifier) SweepOneOut(ctx context.Context, data datasets.Set, settings []Estimator, gcv bool,
	yield func(setting int, held Held) error) ([]string, error) {
	list, err := s.sweepSettings(data, settings)
	if err != nil {
		return nil, err
	}
	return sweepOneOut(ctx, data, list, gcv, yield)
}

func sweepOneOut(ctx context.Context, data datasets.Set, settings []sweepSetting, gcv bool, yield func(setting int, held Held) error) ([]string, error) {
	var keys []string
	groups := map[string][]int{}
	for i, s := range settings {
		key := fmt.Sprint(s.key, s.ridge.Solver)
		if err := param.Check(s.Estimator); err != nil || s.alone {
			if err == nil {
				err = errors.New("leave one out needs the classes' names and weights that do not depend on the rows")
			}
			if err := yield(i, Held{Err: fmt.Errorf("estimator: %s: %w", s.name, err)}); err != nil {
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
		if err := oneOutPath(ctx, data, settings, groups[key], gcv, yield); err != nil {
			return nil, err
		}
	}
	return append(shared, "rows"), nil
}

// oneOutPath does settings that differ in alpha.
func oneOutPath(ctx context.Context, data datasets.Set, settings []sweepSetting, members []int, gcv bool, yield func(setting int, held Held) error) error {
	start := time.Now()
	first := settings[members[0]]
	path, y, err := first.leaveOneOut(ctx, data, settings, members)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && len(members) > 1 { // each says for itself whether that is its fault
		for _, i := range members {
			if err := oneOutPath(ctx, data, settings, []int{i}, gcv, yield); err != nil {
				return err
			}
		}
		return nil
	}
	seconds := time.Since(start).Seconds() / float64(len(members))
	for k, i := range members {
		held := Held{Seconds: seconds, Report: Report{Solver: "cholesky", Converged: true}}
		if err == nil {
			scores := path.Predictions[k]
			if gcv {
				scores = path.even(k, y)
			}
			_, t := scores.Dims()
			held.Prediction, err = Predict(ctx, settings[i].dress(passOn(t)), scores)
		}
		if err != nil {
			held = Held{Seconds: seconds, Err: fmt.Errorf("estimator: %s: leave one out: %w", first.name, err)}
		}
		if err := yield(i, held); err != nil {
			return err
		}
	}
	return nil
}

// leaveOneOut returns the path of the members' alphas and the targets it is about.
func (s sweepSetting) leaveOneOut(ctx context.Context, data datasets.Set, settings []sweepSetting, members []int) (*oneOut, []float64, error) {
	p, err := s.problem(nil)
	if err != nil {
		return nil, nil, err
	}
	y, t, err := p.targets(0, data)
	if err != nil {
		return nil, nil, err
	}
	if data.Weights, err = p.weights(0, data); err != nil {
		return nil, nil, err
	}
	data.Y, data.Targets = nil, mat.NewDense(data.Rows(), t, y)
	alphas := make([]float64, len(members))
	for k, i := range members {
		alphas[k] = settings[i].ridge.Alpha
	}
	path, err := leaveOneOut(ctx, leastRidge(s.ridge), data, alphas)
	return path, y, err
}

// passOn is a model whose scores are its inputs.
func passOn(t int) linear {
	m := linear{coef: mat.NewDense(t, t, nil), intercept: make([]float64, t)}
	for i := range t {
		m.coef.Set(i, i, 1)
	}
	return m
}
