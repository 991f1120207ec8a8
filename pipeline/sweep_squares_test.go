package pipeline_test

import (
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Where squared errors are all that is asked for, ridges that share sums have those of their predictions, made of the sums of
// the test rows; penalties so small that rounding would show are predicted. They have the same bits on any number of cores,
// and where others are done before.
func TestFamilySweepOfSquaredErrors(t *testing.T) {
	const n = 1300
	data, folds := numbers(n, 57), thirds(n)
	base := pipeline.Steps(fourier(400)).Then(estimator.NewRidge())
	for precision, tolerance := range map[string]float64{pipeline.Float64: 1e-8, pipeline.Float32: 1e-4} {
		base.Precision = precision
		settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{1e-3, 0.3}}, param.Setting{Path: "rff.features", Value: []any{100, 400}},
			param.Setting{Path: "ridge.alpha", Value: []any{1e-7, 1e-5, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0}})
		squares := func(wanted func(setting, fold int) bool) map[key]estimator.Outcome {
			got := map[key]estimator.Outcome{}
			_, err := base.FitBatch(ctx, estimator.Batch{Data: data, Folds: folds, Candidates: estimator.Candidates(settings...), Squares: true, Wanted: wanted,
				Yield: func(setting, fold int, out estimator.Outcome) error {
					out.Seconds = 0
					got[key{setting, fold}] = out
					return out.Err
				}})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		many := squares(nil)
		cores := runtime.GOMAXPROCS(1)
		one := squares(nil)
		runtime.GOMAXPROCS(cores)
		if !reflect.DeepEqual(many, one) {
			t.Errorf("%s: other bits on one core", precision)
		}
		for at, out := range squares(func(setting, fold int) bool { return (setting+fold)%3 == 0 }) {
			if !reflect.DeepEqual(out, many[at]) {
				t.Errorf("%s: %+v has other bits where others are done", precision, at)
			}
		}
		predicted, _ := sweep(t, base, data, folds, settings)
		summed := 0
		for at, out := range many {
			if out.Squares == nil {
				if !reflect.DeepEqual(out.Values, predicted[at].Values) {
					t.Errorf("%s: %+v has other predictions", precision, at)
				}
				continue
			}
			summed++
			want := squaredErrors(data, folds[at.fold].Test, predicted[at].Values)
			if off := math.Abs(*out.Squares - want); !(off <= tolerance*want) {
				t.Errorf("%s: %+v has squared errors of %v, its predictions %v", precision, at, *out.Squares, want)
			}
		}
		if summed < len(many)/3 || summed == len(many) {
			t.Errorf("%s: %d of %d are made of sums", precision, summed, len(many))
		}
	}
}

func squaredErrors(data datasets.Set, rows []int, values []float64) (sum float64) {
	for k, i := range rows {
		sum += (data.Y[i] - values[k]) * (data.Y[i] - values[k])
	}
	return sum
}

// Folds that test on rows no fold trains on, or on a part of those that another trains on, are scored by their rows.
func TestFamilySweepOfSquaredErrorsOfOtherFolds(t *testing.T) {
	data := numbers(300, 58)
	base := pipeline.Steps(fourier(40)).Then(estimator.NewRidge())
	settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.1, 0.2}}, param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})
	for name, folds := range map[string][]datasets.Fold{
		"held out": {{Train: count(0, 200), Test: count(200, 300)}},
		"part":     {{Train: count(0, 150), Test: count(150, 200)}, {Train: count(150, 300), Test: count(0, 150)}},
		"twice":    {{Train: count(0, 150), Test: append(count(150, 300), 150)}, {Train: count(150, 300), Test: count(0, 150)}},
	} {
		_, err := base.FitBatch(ctx, estimator.Batch{Data: data, Folds: folds, Candidates: estimator.Candidates(settings...), Squares: true,
			Yield: func(setting, fold int, out estimator.Outcome) error {
				fitted, err := settings[setting].Fit(ctx, data.Select(folds[fold].Train))
				if err != nil {
					t.Fatal(err)
				}
				values, err := fitted.Predict(ctx, datasets.SelectRows(data.X, folds[fold].Test))
				if err != nil {
					t.Fatal(err)
				}
				want := squaredErrors(data, folds[fold].Test, values)
				got := 0.0
				if whole := fold == 1; out.Squares != nil != whole {
					t.Errorf("%s: fold %d is made of sums: %v", name, fold, out.Squares != nil)
				} else if whole {
					got = *out.Squares
				} else {
					got = squaredErrors(data, folds[fold].Test, out.Values)
				}
				if !(math.Abs(got-want) <= 1e-8*want) {
					t.Errorf("%s: setting %d on fold %d has squared errors of %v, a fit %v", name, setting, fold, got, want)
				}
				return out.Err
			}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
