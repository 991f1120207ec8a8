package meta

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/monotone"
	"github.com/bochner-ml/bochner/model"
)

// transforms is a transform for each target.
type transforms []*monotone.Transform

// learnTransforms fits the transform of each of count targets, rows × count, to weighted rows.
func learnTransforms(transform string, y []float64, count int, weights []float64) transforms {
	out := make(transforms, count)
	for j := range out {
		var column, w []float64
		for i := j; i < len(y) && monotone.Learns(transform); i += count {
			if weights == nil {
				column, w = append(column, y[i]), append(w, 1)
			} else if weights[i/count] > 0 {
				column, w = append(column, y[i]), append(w, weights[i/count])
			}
		}
		out[j] = monotone.Learn(transform, column, w)
	}
	return out
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
