package meta

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/monotone"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// transforms is a transform for each target.
type transforms []*monotone.Transform

// learnTransforms fits the transform of each of count targets, rows × count, to weighted rows, with the
// limits of range.
func (s Target) learnTransforms(y []float64, count int, weights []float64) transforms {
	out := make(transforms, count)
	for j := range out {
		var column, w []float64
		for i := j; i < len(y) && monotone.Learns(s.Transform); i += count {
			if weights == nil {
				column, w = append(column, y[i]), append(w, 1)
			} else if weights[i/count] > 0 {
				column, w = append(column, y[i]), append(w, weights[i/count])
			}
		}
		if s.Transform == "power" {
			out[j] = monotone.Power(s.Exponent)
			continue
		}
		out[j] = monotone.Learn(s.Transform, column, w)
	}
	for j, r := range targetRanges(y, count, weights) {
		if s.Limits == "range" {
			out[j].Limit(r[0], r[1])
		}
	}
	return out
}

// targetRanges returns the lowest and the highest of each of count targets in rows of positive weight.
func targetRanges(y []float64, count int, weights []float64) [][2]float64 {
	out := slices.Repeat([][2]float64{{math.Inf(1), math.Inf(-1)}}, count)
	for k, v := range y {
		if r := &out[k%count]; weights == nil || weights[k/count] > 0 {
			r[0], r[1] = min(r[0], v), max(r[1], v)
		}
	}
	return out
}

// chooseLimits limits the targets for which that lowers the weighted sum of squared out-of-fold errors.
func (s Target) chooseLimits(ctx context.Context, data datasets.Set, learned transforms) error {
	y, count, err := design.BlockTargets(0, data)
	if err != nil {
		return err
	}
	folds, err := crossValidation{shuffle: true}.split(data, allRows(data).Train)
	if err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	s.Limits = "none"
	increase := make([]float64, count) // of the sum, by the limits
	for _, fold := range folds {
		fitted, err := s.Fit(ctx, data.Select(fold.Train))
		if err != nil {
			return err
		}
		f, test := fitted.(*fittedTarget), data.Select(fold.Test)
		// The values of the inner model, as the unlimited prediction may be too large to be a number.
		pred, err := estimator.Predict(ctx, f.inner, test.X,
			estimator.Request{Outputs: estimator.OutputValues | estimator.OutputTargets})
		if err != nil {
			return err
		}
		train, _, err := design.BlockTargets(0, data.Select(fold.Train))
		if err != nil {
			return err
		}
		ranges := targetRanges(train, count, nil) // folds have no rows of weight 0
		for k, i := range fold.Test {
			w := 1.0
			if data.Weights != nil {
				w = data.Weights[i]
			}
			for j, r := range ranges {
				z := pred.Values[k]
				if pred.Targets != nil {
					z = pred.Targets.At(k, j)
				}
				v := f.learned[j].Value(z)
				if limited := min(max(v, r[0]), r[1]); limited != v { // by a² − b² = (a − b)(a + b)
					increase[j] += w * (limited - v) * (limited + v - 2*y[i*count+j])
				}
			}
		}
	}
	for j, r := range targetRanges(y, count, data.Weights) {
		if increase[j] < 0 {
			learned[j].Limit(r[0], r[1])
		}
	}
	return nil
}

var errNotPositive = errors.New("log takes numbers > 0; signed_log takes all")

// block returns rows with transformed targets.
func (m transforms) block(data datasets.Set) (datasets.Set, error) {
	out, y, width := data, data.Y, 1
	if data.Targets != nil {
		y, width = design.DenseData(data.Targets), data.Targets.RawMatrix().Cols
	}
	if width != len(m) {
		return out, fmt.Errorf("targets in each row: must be %d, got %d", len(m), width)
	}
	mapped := make([]float64, len(y))
	for k, v := range y {
		var err error
		if mapped[k], err = m.forward(v, data, k/width, k%width); err != nil {
			return out, err
		}
	}
	if data.Targets == nil {
		out.Y = mapped
	} else {
		out.Targets = mat.NewDense(len(y)/width, width, mapped)
	}
	return out, nil
}

// forward transforms a target, or returns the error of one that the transform does not take.
func (m transforms) forward(y float64, data datasets.Set, row, target int) (float64, error) {
	if m[target].Positive() && !(y > 0) {
		name := "target"
		if target < len(data.Schema.Targets) && data.Schema.Targets[target].Name != "" {
			name = data.Schema.Targets[target].Name
		}
		return 0, data.Locate(&datasets.RowError{Row: row, Column: name, Err: fmt.Errorf("%v, and %w", y, errNotPositive)}, 0)
	}
	return m[target].Forward(y), nil
}

// back transforms a prediction back. The transforms are increasing, so the bounds of intervals are
// transformed in the same way. It returns an error if a value overflows.
func (m transforms) back(p estimator.Prediction) (estimator.Prediction, error) {
	if len(m) == 0 || p.Targets != nil && !p.Targets.IsEmpty() && p.Targets.RawMatrix().Cols != len(m) {
		return p, errors.New("the model predicts another number of targets")
	}
	var failed error
	list := func(from []float64, width int, back func(i, j int, z float64) float64) []float64 {
		if from == nil {
			return nil
		}
		out := make([]float64, len(from))
		for k, z := range from {
			if out[k] = back(k/width, k%width, z); failed == nil {
				failed = tooLarge(k/width, out[k])
			}
		}
		return out
	}
	matrix := func(from *mat.Dense, back func(i, j int, z float64) float64) *mat.Dense {
		if from == nil || from.IsEmpty() {
			return from
		}
		n, t := from.Dims()
		return mat.NewDense(n, t, list(design.DenseData(from), t, back))
	}
	value := func(_, j int, z float64) float64 { return m[j].Value(z) }
	inverse := func(_, j int, z float64) float64 { return m[j].Inverse(z) }
	out := estimator.Prediction{
		Values:  list(p.Values, 1, value),
		Std:     list(p.Std, 1, func(i, _ int, std float64) float64 { return m[0].Deviation(p.Values[i], std) }),
		Lower:   list(p.Lower, 1, inverse),
		Upper:   list(p.Upper, 1, inverse),
		Targets: matrix(p.Targets, value),
		StdTargets: matrix(p.StdTargets, func(i, j int, std float64) float64 {
			return m[j].Deviation(p.Targets.At(i, j), std)
		}),
		LowerTargets: matrix(p.LowerTargets, inverse),
		UpperTargets: matrix(p.UpperTargets, inverse),
	}
	if failed != nil {
		return p, failed
	}
	return out, nil
}

func tooLarge(row int, v float64) error {
	if v-v == 0 {
		return nil
	}
	return &datasets.RowError{Row: row,
		Err: errors.New("the prediction, turned back from the transformed target, is too large to be a number")}
}

// smear summarizes the training residuals of the fitted model in a pass.
func (m transforms) smear(ctx context.Context, fitted estimator.Predictor, mapped datasets.Source) error {
	residuals, first := make([]monotone.Residuals, len(m)), 0
	err := mapped.Blocks(ctx, func(block datasets.Set) error {
		all, err := estimator.Predict(ctx, fitted, block.X, estimator.Request{})
		if err != nil {
			return err
		}
		y, count, err := design.BlockTargets(0, block)
		if err != nil {
			return err
		}
		for i := range block.Rows() {
			w := 1.0
			if block.Weights != nil {
				w = block.Weights[i]
			}
			if w == 0 {
				continue
			}
			for j := range m {
				z := all.Values[i]
				if all.Targets != nil {
					z = all.Targets.At(i, j)
				}
				e := y[i*count+j] - z
				if e-e != 0 {
					return block.Locate(&datasets.RowError{Row: first + i, Err: errors.New("the residual is not finite")}, first)
				}
				residuals[j].Add(e, w)
			}
		}
		first += block.Rows()
		return ctxerr.Check(ctx)
	})
	if err != nil {
		return err
	}
	for j := range m {
		m[j].Smear(&residuals[j])
	}
	return nil
}

// state keeps the transforms, and reads them into to.
func (m transforms) state(s *model.State, to *transforms) {
	count := len(m)
	s.Int("targets", &count)
	if s.Restoring() {
		if s.Require(count >= 1 && count <= 1<<16, "the number of targets is none"); s.Err() != nil {
			return
		}
		m = make(transforms, count)
		for j := range m {
			m[j] = new(monotone.Transform)
		}
		*to = m
	}
	for j, one := range m {
		if s.Err() != nil {
			return
		}
		one.State(s.Child(fmt.Sprintf("target%d", j)))
	}
}
