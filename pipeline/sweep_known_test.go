package pipeline_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// What a sweep of ridges knows of all rows is fitted to these as each setting is, to rounding, of the widest and of fewer
// features, well conditioned or to be refined, behind a step that learns nothing. It is the same, bit for bit, where
// nothing else is wanted.
func TestFamilySweepKnowsOfAllRows(t *testing.T) {
	const n = 600
	data, folds := numbers(n, 61), thirds(n)
	base := pipeline.Steps(mirror{Factor: 0.5}, fourier(200)).Then(estimator.NewRidge())
	for precision, tolerance := range map[string]float64{pipeline.Float64: 1e-7, pipeline.Float32: 1e-3} {
		base.Precision = precision
		settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{1e-2, 0.3}}, param.Setting{Path: "rff.features", Value: []any{50, 200}},
			param.Setting{Path: "ridge.alpha", Value: []any{1e-6, 0.01, 10.0}})
		known := func(folds []datasets.Fold, wanted func(setting, fold int) bool) map[int]estimator.Estimator {
			got := map[int]estimator.Estimator{}
			_, err := base.FitBatch(ctx, estimator.Batch{Data: data, Folds: folds, Candidates: estimator.Candidates(settings...), Known: true, Wanted: wanted,
				Yield: func(setting, fold int, out estimator.Outcome) error {
					if out.Known != nil {
						if got[setting] = out.Known; fold != 0 {
							t.Errorf("%s: setting %d says on fold %d what is known", precision, setting, fold)
						}
					}
					return out.Err
				}})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		fit := func(e estimator.Estimator) ([]float64, *pipeline.FittedPipeline) {
			p, err := e.Fit(ctx, data)
			if err != nil {
				t.Fatal(err)
			}
			values, err := p.Predict(ctx, data.X)
			if err != nil {
				t.Fatal(err)
			}
			return values, pipeline.Find(p)
		}
		all := known(folds, nil)
		if len(all) < len(settings)/3 || precision == pipeline.Float64 && len(all) != len(settings) {
			t.Errorf("%s: of %d settings only %d are known", precision, len(settings), len(all))
		}
		for i, e := range all {
			got, fitted := fit(e)
			want, model := fit(settings[i])
			if !reflect.DeepEqual(fitted.Spec(), model.Spec()) {
				t.Errorf("%s: setting %d is the pipeline %v, wanted %v", precision, i, fitted.Spec(), model.Spec())
			}
			off := 0.0
			for k, v := range got {
				off = max(off, math.Abs(v-want[k]))
			}
			if largest := slices.Max(want); !(off <= tolerance*largest) {
				t.Errorf("%s: setting %d is off by %v of %v", precision, i, off, largest)
			}
			alone, _ := fit(known(folds, func(setting, fold int) bool { return setting == i && fold == 0 })[i])
			if !slices.Equal(alone, got) {
				t.Errorf("%s: setting %d has other bits where nothing else is wanted", precision, i)
			}
			if _, err := e.Fit(ctx, data.Slice(0, n-1)); err == nil {
				t.Errorf("%s: setting %d is fitted to other rows", precision, i)
			}
		}
		if some := known(folds[:1], nil); len(some) > 0 {
			t.Errorf("%s: of one fold %d settings are known", precision, len(some))
		}
	}
}
