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
	fitted, err := s.Estimator.Fit(ctx, data.Select(train))
	if err != nil {
		return nil, err
	}
	if len(classesOf(fitted)) > 0 {
		return s.sets(ctx, data, fitted)
	}
	seen := data.Select(others)
	off, targets, err := s.residuals(ctx, fitted, seen)
	if err != nil {
		return nil, err
	}
	return s.around(fitted, data.Cols(), off, targets), nil
}

// errGather is a stream whose rows have to be gathered.
var errGather = errors.New("the rows are needed all at once")

// splitSource is split over a stream. It holds what the rows have beside their inputs; those that the model does not learn
// from it looks at a block at a time.
func (s Intervals) splitSource(ctx context.Context, of estimator.BlockEstimator, data datasets.Source) (estimator.Predictor, error) {
	beside, err := besideInputs(ctx, data)
	if err = cmp.Or(err, beside.Check()); err != nil {
		return nil, err
	}
	_, cols := data.Dims()
	shape := beside.Shape()
	if shape.Cols = cols; s.Method == "auto" && beside.Groups == nil && s.Way(shape) != "split" {
		return nil, errGather
	}
	classes := len(beside.Schema.Classes())
	if classes > 0 {
		if _, err := labelsOf(ctx, beside); err != nil {
			return nil, err
		}
	}
	train, others, err := s.parts(beside)
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
		return nil, errGather // each part has the classes that its rows have
	}
	var off []float64
	var sets *FittedSets
	targets, first := 0, 0
	if decides && s.Normalize {
		return nil, errNormalizeClasses
	} else if decides {
		sets = &FittedSets{wrapped: wrapped{cols, fitted}, level: s.Level, classes: classes}
	}
	err = seen.Blocks(ctx, func(block datasets.Set) (err error) {
		var more []float64
		if decides {
			err = sets.look(ctx, block)
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
		slices.Sort(sets.strange)
		return sets, nil
	}
	return s.around(fitted, cols, off, targets), nil
}

// besideInputs returns the rows of a stream with zeros for their inputs.
func besideInputs(ctx context.Context, data datasets.Source) (datasets.Set, error) {
	var blocks []datasets.Set
	err := rowsource.DropInputs(data).Blocks(ctx, func(block datasets.Set) error {
		all := make([]int, block.Rows())
		for i := range all {
			all[i] = i
		}
		block.X, block.Schema.Columns = mat.NewDense(block.Rows(), 1, nil), nil
		blocks = append(blocks, block.Select(all)) // the block's arrays are used again
		return nil
	})
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Concat(blocks...)
}

// parts divides the rows of positive weight.
func (s Intervals) parts(data datasets.Set) (train, others []int, err error) {
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
		return nil, nil, fmt.Errorf("%w: of %d rows split takes a share of %v; raise calibration, or lower level", err, len(counted), s.Calibration)
	}
	for _, part := range [][]int{folds[0].Train, folds[0].Test} {
		for k, i := range part {
			part[k] = counted[i]
		}
	}
	return folds[0].Train, folds[0].Test, nil
}

// around is the model with intervals from how far off it is on other rows.
func (s Intervals) around(fitted estimator.Predictor, cols int, off []float64, targets int) *FittedIntervals {
	return &FittedIntervals{wrapped: wrapped{cols, fitted}, method: "split", level: s.Level, normalized: s.Normalize, residuals: mat.NewDense(len(off)/targets, targets, off)}
}

// residuals returns how far off the fitted model is on each target of other rows.
func (s Intervals) residuals(ctx context.Context, fitted estimator.Predictor, others datasets.Set) (off []float64, targets int, err error) {
	wanted := estimator.Values | estimator.Targets
	if s.Normalize {
		wanted |= estimator.Std
	}
	said, err := estimator.Predict(ctx, fitted, others.X, estimator.Request{Outputs: wanted})
	if err != nil {
		return nil, 0, err
	}
	y, t, err := design.BlockTargets(0, others)
	if err != nil {
		return nil, 0, err
	}
	if s.Normalize {
		if err := checkStd(said, t); err != nil {
			return nil, 0, err
		}
	}
	off = make([]float64, len(y))
	for i := range others.Rows() {
		for j := range t {
			f := said.Values[i]
			if t > 1 {
				f = said.Targets.At(i, j)
			}
			off[i*t+j] = math.Abs(y[i*t+j] - f)
			if s.Normalize {
				off[i*t+j] /= said.Std[i]
			}
		}
	}
	return off, t, nil
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

var errNormalizeClasses = errors.New("normalize is for numbers, and the target has classes")

// sets takes how little the true classes of other rows fitted. Where the schema does not name the classes, they are those
// of all rows.
func (s Intervals) sets(ctx context.Context, data datasets.Set, fitted estimator.Predictor) (estimator.Predictor, error) {
	if s.Normalize {
		return nil, errNormalizeClasses
	}
	labels, err := labelsOf(ctx, data)
	if err != nil {
		return nil, err
	}
	data = namedClasses(data, labels.Classes)
	train, others, err := s.parts(data)
	if err != nil {
		return nil, err
	}
	if len(classesOf(fitted)) != len(labels.Classes) {
		if fitted, err = s.Estimator.Fit(ctx, data.Select(train)); err != nil {
			return nil, err
		}
	}
	out := &FittedSets{wrapped: wrapped{data.Cols(), fitted}, level: s.Level, classes: len(classesOf(fitted))}
	if err := out.look(ctx, data.Select(others)); err != nil {
		return nil, err
	}
	slices.Sort(out.strange)
	return out, nil
}

// look adds how little the true classes of rows fit.
func (f *FittedSets) look(ctx context.Context, others datasets.Set) error {
	said, err := estimator.Predict(ctx, f.within, others.X, estimator.Request{Outputs: estimator.Scores | estimator.Probabilities})
	if err != nil {
		return err
	}
	f.probable = said.Probabilities != nil
	scores, err := f.scores(said)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil {
		return err
	}
	for i, y := range others.Y {
		f.strange = append(f.strange, conformal.Strangeness(scores.RawRowView(i), int(y)))
	}
	return nil
}
