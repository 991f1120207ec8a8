package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/learning/conformal"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/param"
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
	groups, err := s.groupValues(data)
	if err != nil {
		return nil, err
	}
	train, others, err := s.splitRows(data, groups)
	if err != nil {
		return nil, err
	}
	learned := data.Select(train)
	f, err := s.fitParts(data.Schema, data.Cols(), func(of estimator.Estimator) (estimator.Predictor, error) {
		return guard.NotNil(of.Fit(ctx, learned))
	})
	if err != nil {
		return nil, err
	}
	if len(classesOf(f.inner)) > 0 {
		return s.fitSets(ctx, data, f.inner)
	}
	if err := f.calibrate(ctx, data.Select(others)); err != nil {
		return nil, err
	}
	return f, f.finish(data.Schema, s.Level)
}

// fitParts fits the inner model, and those of the two quantiles of cqr.
func (s Intervals) fitParts(schema datasets.Schema, cols int,
	fit func(estimator.Estimator) (estimator.Predictor, error)) (f *fittedIntervals, err error) {
	f = &fittedIntervals{wrapper: wrapper{cols: cols}, method: s.Method, level: s.Level, normalized: s.Normalize}
	if f.conformity, err = s.newConformity(schema, cols); err != nil {
		return nil, err
	}
	if s.Normalize && s.Method == "cqr" {
		return nil, errors.New("normalize goes with split, and the method is cqr")
	}
	if f.inner, err = fit(s.Estimator); err == nil && estimator.OutputsOf(f.inner).Labels != nil {
		err = errLabels
	}
	if err != nil || s.Method != "cqr" {
		return f, err
	}
	for _, part := range []struct {
		to       *estimator.Predictor
		quantile float64
	}{{&f.lower, (1 - s.Level) / 2}, {&f.upper, (1 + s.Level) / 2}} {
		of, err := withQuantile(s.Estimator, part.quantile)
		if err != nil {
			return nil, err
		}
		if *part.to, err = fit(of); err != nil {
			return nil, fmt.Errorf("quantile %v: %w", part.quantile, err)
		}
	}
	return f, nil
}

// withQuantile returns a model with other values of its parameters quantile.
func withQuantile(of estimator.Estimator, quantile float64) (estimator.Estimator, error) {
	var settings []param.Setting
	for _, p := range param.All(of) {
		if p.Name == datasets.TagsOf(p.Owner()).Quantile {
			settings = append(settings, param.Setting{Path: p.Path, Value: quantile})
		}
	}
	if settings == nil {
		return nil, errors.New("method cqr needs a model of a quantile, quantile_regression; use split")
	}
	set, err := param.With(of, settings...)
	if err != nil {
		return nil, err
	}
	return set.(estimator.Estimator), nil
}

// errNeedsMemory is returned for a stream whose rows must be read into memory.
var errNeedsMemory = errors.New("the rows are needed all at once")

// splitSource is split for a stream. It stores targets, weights and groups; the inputs of the
// calibration rows are read block by block.
func (s Intervals) splitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	_, cols := data.Dims()
	column := -1
	if s.Group != "" {
		var err error
		if column, err = s.groupColumn(data.Schema(), cols); err != nil {
			return nil, err
		}
	}
	unlabeled, groups, err := withoutInputs(ctx, data, column)
	if err = cmp.Or(err, unlabeled.Check()); err != nil {
		return nil, err
	}
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
	train, others, err := s.splitRows(unlabeled, groups)
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
	f, err := s.fitParts(data.Schema(), cols, func(of estimator.Estimator) (estimator.Predictor, error) {
		return guard.NotNil(of.(estimator.BlockEstimator).FitSource(ctx, learned))
	})
	if err != nil {
		return nil, err
	}
	known := len(classesOf(f.inner))
	decides := known > 0
	if decides && known != classes {
		return nil, errNeedsMemory // each part has its own classes
	}
	if decides && s.Normalize {
		return nil, errNormalizeClasses
	}
	sets := &fittedSets{wrapper: f.wrapper, conformity: f.conformity, level: s.Level, classes: classes}
	first := 0
	err = seen.Blocks(ctx, func(block datasets.Set) (err error) {
		if decides {
			err = sets.calibrate(ctx, block)
		} else {
			err = f.calibrate(ctx, block)
		}
		err = block.Locate(err, first)
		first += block.Rows()
		return err
	})
	if err != nil {
		return nil, err
	}
	if decides {
		return sets, sets.finish(data.Schema(), s.Level)
	}
	return f, f.finish(data.Schema(), s.Level)
}

// withoutInputs reads the rows of a stream with a single zero input, and the values of one of their
// columns; none for −1.
func withoutInputs(ctx context.Context, data datasets.Source, column int) (rows datasets.Set, values []float64,
	err error) {
	var blocks []datasets.Set
	if column < 0 {
		data = rowsource.DropInputs(data)
	}
	err = data.Blocks(ctx, func(block datasets.Set) error {
		all := make([]int, block.Rows())
		for i := range all {
			if all[i] = i; column >= 0 {
				values = append(values, block.X.At(i, column))
			}
		}
		block.X, block.Schema.Columns = mat.NewDense(block.Rows(), 1, nil), nil
		blocks = append(blocks, block.Select(all)) // a block is reused
		return nil
	})
	if err != nil {
		return datasets.Set{}, nil, err
	}
	rows, err = datasets.Set{}.Append(blocks...)
	return rows, values, err
}

// splitRows splits the rows of positive weight into training and calibration rows. Each of the groups of
// rows, nil for none, has its share of both, so that their numbers do not depend on the seed. Rows with
// data groups are split by these.
func (s Intervals) splitRows(data datasets.Set, groups []float64) (train, others []int, err error) {
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
	rows := datasets.Set{X: mat.NewDense(data.Rows(), 1, nil), Groups: data.Groups}.Select(counted)
	if groups != nil && !split.Group {
		rows.Y = strata(groups, counted)
		split.Stratify = rows.Y != nil
	}
	folds, err := split.Split(rows)
	if err != nil {
		return nil, nil, err
	}
	fold := folds[0]
	_, err = conformal.Rank(len(fold.Test), s.Level)
	if err != nil && split.Group {
		fold = s.largestGroups(rows)
		_, err = conformal.Rank(len(fold.Test), s.Level)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: of %d rows %s takes a share of %v; raise calibration, or lower level", err,
			len(counted), s.Method, s.Calibration)
	}
	for _, part := range [][]int{fold.Train, fold.Test} {
		for k, i := range part {
			part[k] = counted[i]
		}
	}
	return fold.Train, fold.Test, nil
}

// largestGroups returns the split with the fewest groups of calibration rows that suffice for the level,
// or with all but one: if random groups have too few rows, these have enough if any do.
func (s Intervals) largestGroups(rows datasets.Set) (fold datasets.Fold) {
	counts := map[int]int{}
	for _, g := range rows.Groups {
		counts[g]++
	}
	order := slices.SortedFunc(maps.Keys(counts), func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	calibrates, n := map[int]bool{}, 0
	for _, g := range order[:len(order)-1] {
		if n < conformal.Least(s.Level) {
			calibrates[g] = true
			n += counts[g]
		}
	}
	for i, g := range rows.Groups {
		if calibrates[g] {
			fold.Test = append(fold.Test, i)
		} else {
			fold.Train = append(fold.Train, i)
		}
	}
	return fold
}

// calibrate adds the conformal scores of each target of calibration rows.
func (f *fittedIntervals) calibrate(ctx context.Context, others datasets.Set) error {
	want := estimator.OutputValues | estimator.OutputTargets
	if f.normalized {
		want |= estimator.OutputStd
	}
	pred, err := estimator.Predict(ctx, f.inner, others.X, estimator.Request{Outputs: want})
	if err != nil {
		return err
	}
	y, t, err := design.BlockTargets(0, others)
	if err != nil {
		return err
	}
	if f.normalized {
		if err := checkStd(pred, t); err != nil {
			return err
		}
	}
	centers, half, err := f.centers(ctx, others.X, pred)
	if err != nil {
		return err
	}
	off := make([]float64, len(y))
	for k := range off {
		i, j := k/t, k%t
		if off[k] = math.Abs(y[k] - centers.At(i, j)); f.normalized {
			off[k] /= pred.Std[i]
		}
		if half != nil {
			off[k] -= half[i]
		}
	}
	f.add(others.X, off)
	return nil
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
	groups, err := s.groupValues(data)
	if err != nil {
		return nil, err
	}
	train, others, err := s.splitRows(data, groups)
	if err != nil {
		return nil, err
	}
	if len(classesOf(fitted)) != len(labels.Classes) {
		if fitted, err = guard.NotNil(s.Estimator.Fit(ctx, data.Select(train))); err != nil {
			return nil, err
		}
	}
	out := &fittedSets{wrapper: wrapper{data.Cols(), fitted}, level: s.Level, classes: len(classesOf(fitted))}
	if out.conformity, err = s.newConformity(data.Schema, data.Cols()); err != nil {
		return nil, err
	}
	if err := out.calibrate(ctx, data.Select(others)); err != nil {
		return nil, err
	}
	return out, out.finish(data.Schema, s.Level)
}

// calibrate adds the nonconformity scores of the true classes.
func (f *fittedSets) calibrate(ctx context.Context, others datasets.Set) error {
	pred, err := estimator.Predict(ctx, f.inner, others.X,
		estimator.Request{Outputs: estimator.OutputScores | estimator.OutputProbabilities})
	if err != nil {
		return err
	}
	f.probable = pred.Probabilities != nil
	scores, err := f.scores(pred)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil {
		return err
	}
	strange := make([]float64, len(others.Y))
	for i, y := range others.Y {
		strange[i] = conformal.Strangeness(scores.RawRowView(i), int(y))
	}
	f.add(others.X, strange)
	return nil
}
