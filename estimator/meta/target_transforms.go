package meta

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/monotone"
	"github.com/bochner-ml/bochner/model"
)

// transforms is a transform for each target.
type transforms []*monotone.Transform

// learnTransforms learns the transform of each of count targets, rows × count, from rows with weights.
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
	out := data
	if data.Targets == nil {
		if len(m) != 1 {
			return out, fmt.Errorf("one target, %d were expected", len(m))
		}
		out.Y = make([]float64, len(data.Y))
		for i, y := range data.Y {
			z, err := m.forward(y, data, i, 0)
			if err != nil {
				return out, err
			}
			out.Y[i] = z
		}
		return out, nil
	}
	n, t := data.Targets.Dims()
	if t != len(m) {
		return out, fmt.Errorf("%d targets, %d were expected", t, len(m))
	}
	out.Targets = mat.NewDense(n, t, nil)
	for i := range n {
		for j := range t {
			z, err := m.forward(data.Targets.At(i, j), data, i, j)
			if err != nil {
				return out, err
			}
			out.Targets.Set(i, j, z)
		}
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

// back turns a prediction back. A value that is too large to be one is an error.
func (m transforms) back(p estimator.Prediction) (estimator.Prediction, error) {
	if len(m) == 0 || p.Targets != nil && !p.Targets.IsEmpty() && p.Targets.RawMatrix().Cols != len(m) {
		return p, errors.New("the model predicts another number of targets")
	}
	out := estimator.Prediction{Values: make([]float64, len(p.Values))}
	if p.Std != nil {
		out.Std = make([]float64, len(p.Std))
	}
	for i, z := range p.Values {
		out.Values[i] = m[0].Value(z)
		finite := out.Values[i]
		if p.Std != nil {
			out.Std[i] = m[0].Deviation(z, p.Std[i])
			finite += out.Std[i]
		}
		if err := tooLarge(i, finite); err != nil {
			return p, err
		}
	}
	if err := m.backEnds(&out, p); err != nil {
		return p, err
	}
	if p.Targets == nil || p.Targets.IsEmpty() {
		out.Targets, out.StdTargets = p.Targets, p.StdTargets
		return out, nil
	}
	n, t := p.Targets.Dims()
	out.Targets = mat.NewDense(n, t, nil)
	if p.StdTargets != nil {
		out.StdTargets = mat.NewDense(n, t, nil)
	}
	for i := range n {
		for j := range t {
			v := m[j].Value(p.Targets.At(i, j))
			finite := v
			out.Targets.Set(i, j, v)
			if p.StdTargets != nil {
				std := m[j].Deviation(p.Targets.At(i, j), p.StdTargets.At(i, j))
				finite += std
				out.StdTargets.Set(i, j, std)
			}
			if err := tooLarge(i, finite); err != nil {
				return p, err
			}
		}
	}
	return out, nil
}

// backEnds turns the ends of intervals back: the transforms rise, so that what was between them stays between them.
// An end that is too large to be a number is an error.
func (m transforms) backEnds(out *estimator.Prediction, p estimator.Prediction) error {
	for _, ends := range []struct {
		to   *[]float64
		from []float64
	}{{&out.Lower, p.Lower}, {&out.Upper, p.Upper}} {
		if ends.from == nil {
			continue
		}
		*ends.to = make([]float64, len(ends.from))
		for i, z := range ends.from {
			(*ends.to)[i] = m[0].Inverse(z)
			if err := tooLarge(i, (*ends.to)[i]); err != nil {
				return err
			}
		}
	}
	for _, ends := range []struct{ to, from **mat.Dense }{{&out.LowerTargets, &p.LowerTargets}, {&out.UpperTargets, &p.UpperTargets}} {
		if *ends.from == nil || (*ends.from).IsEmpty() {
			*ends.to = *ends.from
			continue
		}
		*ends.to = mat.DenseCopyOf(*ends.from)
		n, _ := (*ends.to).Dims()
		for i := range n {
			row := (*ends.to).RawRowView(i)
			for j, z := range row {
				row[j] = m[j].Inverse(z)
				if err := tooLarge(i, row[j]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func tooLarge(row int, v float64) error {
	if v-v == 0 {
		return nil
	}
	return &datasets.RowError{Row: row, Err: errors.New("the prediction, turned back from the transformed target, is too large to be a number")}
}

// smear keeps the residuals of the fitted model on the rows that it has learned from.
func (m transforms) smear(ctx context.Context, fitted estimator.Predictor, mapped datasets.Source) error {
	residuals, weights := make([][]float64, len(m)), []float64(nil)
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
			weights = append(weights, w)
			for j := range m {
				z := all.Values[i]
				if all.Targets != nil {
					z = all.Targets.At(i, j)
				}
				residuals[j] = append(residuals[j], y[i*count+j]-z)
			}
		}
		return cause.Err(ctx)
	})
	if err != nil {
		return err
	}
	for j := range m {
		m[j].Smear(residuals[j], weights)
	}
	return nil
}

// state keeps the transforms, and reads them into to.
func (m transforms) state(s *model.State, to *transforms) {
	count := len(m)
	s.Int("targets", &count)
	if s.Reading() {
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
