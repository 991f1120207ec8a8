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
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rowsource"
)

// split fits the model to the training part of the rows and calibrates it on the other part.
func (s Intervals) split(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if len(data.Schema.Classes()) > 0 {
		labels, err := labelsOf(ctx, data)
		if err != nil {
			return nil, err
		}
		data = namedClasses(data, labels.Classes)
	}
	train, others, err := s.splitRows(data)
	if err != nil {
		return nil, err
	}
	fitted, err := s.Estimator.Fit(ctx, data.Select(train))
	if err != nil {
		return nil, err
	}
	if len(classesOf(fitted)) > 0 {
		return s.fitSets(ctx, data, fitted)
	}
	seen := data.Select(others)
	off, targets, err := s.residuals(ctx, fitted, seen)
	if err != nil {
		return nil, err
	}
	return s.symmetric(fitted, data.Cols(), off, targets), nil
}

// errNeedsMemory is returned for a stream whose rows must be read into memory.
var errNeedsMemory = errors.New("the rows are needed all at once")

// splitSource is split for a stream. It stores targets, weights and groups; the inputs of the
// calibration rows are read block by block.
func (s Intervals) splitSource(ctx context.Context, of estimator.BlockEstimator,
	data datasets.Source) (estimator.Predictor, error) {
	unlabeled, err := withoutInputs(ctx, data)
	if err = cmp.Or(err, unlabeled.Check()); err != nil {
		return nil, err
	}
	_, cols := data.Dims()
	shape := unlabeled.Shape()
	if shape.Cols = cols; s.Method == "auto" && unlabeled.Groups == nil && s.ResolvedMethod(shape) != "split" {
		return nil, errNeedsMemory
	}
	classes := len(unlabeled.Schema.Classes())
	if classes > 0 {
		if _, err := labelsOf(ctx, unlabeled); err != nil {
			return nil, err
		}
	}
	train, others, err := s.splitRows(unlabeled)
	if err != nil {
		return nil, err
	}
	learned, err := rowsource.Subset(data, train)
	if err != nil {
		return nil, err
	}
	seen, err := rowsource.Subset(data, others)
	if err != nil {
		return nil, err
	}
	fitted, err := of.FitSource(ctx, learned)
	if err != nil {
		return nil, err
	}
	known := len(classesOf(fitted))
	decides := known > 0
	if decides && known != classes {
		return nil, errNeedsMemory // each part has its own classes
	}
	var off []float64
	var sets *FittedSets
	targets, first := 0, 0
	if decides && s.Normalize {
		return nil, errNormalizeClasses
	} else if decides {
		sets = &FittedSets{wrapper: wrapper{cols, fitted}, level: s.Level, classes: classes}
	}
	err = seen.Blocks(ctx, func(block datasets.Set) (err error) {
		var more []float64
		if decides {
			err = sets.addCalibration(ctx, block)
		} else {
			more, targets, err = s.residuals(ctx, fitted, block)
			off = append(off, more...)
		}
		err = block.Locate(err, first)
		first += block.Rows()
		return err
	})
	if err != nil {
		return nil, err
	}
	if decides {
		slices.Sort(sets.nonconformity)
		return sets, nil
	}
	return s.symmetric(fitted, cols, off, targets), nil
}

// withoutInputs reads the rows of a stream with a single zero input.
func withoutInputs(ctx context.Context, data datasets.Source) (datasets.Set, error) {
	var blocks []datasets.Set
	err := rowsource.DropInputs(data).Blocks(ctx, func(block datasets.Set) error {
		all := make([]int, block.Rows())
		for i := range all {
			all[i] = i
		}
		block.X, block.Schema.Columns = mat.NewDense(block.Rows(), 1, nil), nil
		blocks = append(blocks, block.Select(all)) // a block is reused
		return nil
	})
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Concat(blocks...)
}

// splitRows splits the rows of positive weight into training and calibration rows.
func (s Intervals) splitRows(data datasets.Set) (train, others []int, err error) {
	var counted []int
	for i := range data.Rows() {
		if data.Weights == nil || data.Weights[i] != 0 {
			counted = append(counted, i)
		}
	}
	if len(counted) == 0 {
		return nil, nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	}
	split := datasets.TrainTest{Test: s.Calibration, Group: data.Groups != nil, Shuffle: true, Seed: s.Seed}
	folds, err := split.Split(datasets.Set{X: mat.NewDense(data.Rows(), 1, nil), Groups: data.Groups}.Select(counted))
	if err != nil {
		return nil, nil, err
	}
	if _, err := conformal.Rank(len(folds[0].Test), s.Level); err != nil {
		return nil, nil, fmt.Errorf("%w: of %d rows split takes a share of %v; raise calibration, or lower level", err,
			len(counted), s.Calibration)
	}
	for _, part := range [][]int{folds[0].Train, folds[0].Test} {
		for k, i := range part {
			part[k] = counted[i]
		}
	}
	return folds[0].Train, folds[0].Test, nil
}

// symmetric returns the model with intervals from the absolute residuals of the calibration rows.
func (s Intervals) symmetric(fitted estimator.Predictor, cols int, off []float64, targets int) *FittedIntervals {
	return &FittedIntervals{wrapper: wrapper{cols, fitted}, method: "split", level: s.Level, normalized: s.Normalize,
		residuals: mat.NewDense(len(off)/targets, targets, off)}
}

// residuals returns the absolute residuals of each target of the calibration rows.
func (s Intervals) residuals(ctx context.Context, fitted estimator.Predictor, others datasets.Set) (off []float64,
	targets int, err error) {
	want := estimator.Values | estimator.Targets
	if s.Normalize {
		want |= estimator.Std
	}
	pred, err := estimator.Predict(ctx, fitted, others.X, estimator.Request{Outputs: want})
	if err != nil {
		return nil, 0, err
	}
	y, t, err := design.BlockTargets(0, others)
	if err != nil {
		return nil, 0, err
	}
	if s.Normalize {
		if err := checkStd(pred, t); err != nil {
			return nil, 0, err
		}
	}
	off = make([]float64, len(y))
	for i := range others.Rows() {
		for j := range t {
			f := pred.Values[i]
			if t > 1 {
				f = pred.Targets.At(i, j)
			}
			off[i*t+j] = math.Abs(y[i*t+j] - f)
			if s.Normalize {
				off[i*t+j] /= pred.Std[i]
			}
		}
	}
	return off, t, nil
}

// checkStd returns an error if residuals cannot be divided by the standard deviations.
func checkStd(pred estimator.Prediction, targets int) error {
	switch {
	case pred.Std == nil:
		return fmt.Errorf("normalize: %w", errNoStd)
	case targets > 1:
		return errors.New("normalize is for a single target")
	case slices.ContainsFunc(pred.Std, func(v float64) bool { return !(v > 0) }):
		return errors.New("normalize: the model is sure of a prediction, with a standard deviation of 0")
	}
	return nil
}

var errNormalizeClasses = errors.New("normalize is for numbers, and the target has classes")

// fitSets computes the nonconformity scores of the calibration rows. If the schema has no classes,
// they are those of all rows.
func (s Intervals) fitSets(ctx context.Context, data datasets.Set, fitted estimator.Predictor) (estimator.Predictor,
	error) {
	if s.Normalize {
		return nil, errNormalizeClasses
	}
	labels, err := labelsOf(ctx, data)
	if err != nil {
		return nil, err
	}
	data = namedClasses(data, labels.Classes)
	train, others, err := s.splitRows(data)
	if err != nil {
		return nil, err
	}
	if len(classesOf(fitted)) != len(labels.Classes) {
		if fitted, err = s.Estimator.Fit(ctx, data.Select(train)); err != nil {
			return nil, err
		}
	}
	out := &FittedSets{wrapper: wrapper{data.Cols(), fitted}, level: s.Level, classes: len(classesOf(fitted))}
	if err := out.addCalibration(ctx, data.Select(others)); err != nil {
		return nil, err
	}
	slices.Sort(out.nonconformity)
	return out, nil
}

// addCalibration adds the nonconformity scores of the true classes.
func (f *FittedSets) addCalibration(ctx context.Context, others datasets.Set) error {
	pred, err := estimator.Predict(ctx, f.inner, others.X,
		estimator.Request{Outputs: estimator.Scores | estimator.Probabilities})
	if err != nil {
		return err
	}
	f.probable = pred.Probabilities != nil
	scores, err := f.scores(pred)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil {
		return err
	}
	for i, y := range others.Y {
		f.nonconformity = append(f.nonconformity, conformal.Strangeness(scores.RawRowView(i), int(y)))
	}
	return nil
}
