package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/conformal"
	"github.com/bochner-ml/bochner/internal/design"
)

// split fits to some of the rows and looks at the others.
func (s Intervals) split(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if len(data.Schema.Classes()) > 0 {
		labels, err := labelsOf(ctx, data)
		if err != nil {
			return nil, err
		}
		data = namedClasses(data, labels.Classes)
	}
	train, others, err := s.parts(data)
	if err != nil {
		return nil, err
	}
	fitted, err := s.Of.Fit(ctx, train)
	if err != nil {
		return nil, err
	}
	var c estimator.Classifier
	if estimator.As(fitted, &c) {
		return s.sets(ctx, data, fitted, c)
	}
	return s.residuals(ctx, fitted, others)
}

// parts divides the rows of positive weight.
func (s Intervals) parts(data datasets.Set) (train, others datasets.Set, err error) {
	if weighted(data) < data.Rows() {
		var counted []int
		for i, w := range data.Weights {
			if w != 0 {
				counted = append(counted, i)
			}
		}
		data = data.Select(counted)
	}
	if data.Rows() == 0 {
		return train, others, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	}
	train, others, err = datasets.TrainTest{Test: s.Calibration, Group: data.Groups != nil, Shuffle: true, Seed: s.Seed}.Sets(data)
	if err != nil {
		return train, others, err
	}
	if _, err := conformal.Rank(others.Rows(), s.Level); err != nil {
		return train, others, fmt.Errorf("%w: of %d rows split takes a share of %v; raise calibration, or lower level", err, data.Rows(), s.Calibration)
	}
	return train, others, nil
}

// residuals takes how far off the fitted model is on other rows.
func (s Intervals) residuals(ctx context.Context, fitted estimator.Predictor, others datasets.Set) (estimator.Predictor, error) {
	said, err := estimator.Predict(ctx, fitted, others.X)
	if err != nil {
		return nil, err
	}
	y, t, err := design.BlockTargets(0, others)
	if err != nil {
		return nil, err
	}
	if s.Normalize {
		if err := checkStd(said, t); err != nil {
			return nil, err
		}
	}
	n := others.Rows()
	out := &FittedIntervals{cols: others.Cols(), method: "split", level: s.Level, normalized: s.Normalize, residuals: mat.NewDense(n, t, nil), within: fitted}
	for i := range n {
		for j := range t {
			f := said.Values[i]
			if t > 1 {
				f = said.Targets.At(i, j)
			}
			off := math.Abs(y[i*t+j] - f)
			if s.Normalize {
				off /= said.Std[i]
			}
			out.residuals.Set(i, j, off)
		}
	}
	return out, nil
}

// checkStd reports standard deviations that residuals cannot be divided by.
func checkStd(said estimator.Prediction, targets int) error {
	switch {
	case said.Std == nil:
		return fmt.Errorf("normalize: %w", errNoStd)
	case targets > 1:
		return errors.New("normalize is for a single target")
	case slices.ContainsFunc(said.Std, func(v float64) bool { return !(v > 0) }):
		return errors.New("normalize: the model is sure of a prediction, with a standard deviation of 0")
	}
	return nil
}

// sets takes how little the true classes of other rows fitted. Where the schema does not name the classes, they are those
// of all rows.
func (s Intervals) sets(ctx context.Context, data datasets.Set, fitted estimator.Predictor, c estimator.Classifier) (estimator.Predictor, error) {
	if s.Normalize {
		return nil, errors.New("normalize is for numbers, and the target has classes")
	}
	labels, err := labelsOf(ctx, data)
	if err != nil {
		return nil, err
	}
	train, others, err := s.parts(namedClasses(data, labels.Classes))
	if err != nil {
		return nil, err
	}
	if len(c.Classes()) != len(labels.Classes) {
		if fitted, err = s.Of.Fit(ctx, train); err != nil {
			return nil, err
		}
		if !estimator.As(fitted, &c) {
			return nil, errNoScores
		}
	}
	out := &FittedSets{cols: data.Cols(), level: s.Level, classes: len(c.Classes()), within: fitted}
	said, err := estimator.Predict(ctx, fitted, others.X)
	if err != nil {
		return nil, err
	}
	out.probable = said.Probabilities != nil
	scores, err := out.scores(said)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	for i, y := range others.Y {
		out.strange = append(out.strange, conformal.Strangeness(scores.RawRowView(i), int(y)))
	}
	slices.Sort(out.strange)
	return out, nil
}
