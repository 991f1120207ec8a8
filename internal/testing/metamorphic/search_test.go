package metamorphic

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// A search of ridge regression on random features ends in a model that predicts as a separate fit
// of the best candidate, with the same scores and bits wherever the search was interrupted, and on
// any number of cores; for penalties down to those that require refinement, and for fewer features
// than the widest map.
func TestSearchOfRidgesAgrees(t *testing.T) {
	ctx := context.Background()
	data, err := synthetic.Friedman1(900, 6, 0.1, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		precision string
		alphas    []any
		features  []any
		off       float64
	}{
		"refined":          {pipeline.Float64, []any{1e-6, 1e-3, 1.0}, []any{100, 200}, 1e-7},
		"narrow":           {pipeline.Float64, []any{1e-2, 1.0}, []any{100, 200}, 1e-7},
		"single precision": {pipeline.Float32, []any{1e-5, 1e-3, 1.0}, []any{100, 200}, 1e-3},
	} {
		t.Run(name, func(t *testing.T) {
			model := pipeline.Steps(transformer.NewRFF()).Then(estimator.NewRidge())
			model.Precision = c.precision
			s := gridsearch.NewSearch(model, gridsearch.Axis{Path: "rff.gamma", Values: []any{0.01, 0.1}},
				gridsearch.Axis{Path: "rff.features", Values: c.features}, gridsearch.Axis{Path: "ridge.alpha", Values: c.alphas})
			s.Splitter, s.Journal = datasets.KFold{Folds: 3, Shuffle: true}, filepath.Join(t.TempDir(), "journal")
			run := func() []float64 {
				r, err := s.Run(ctx, data)
				if err != nil {
					t.Fatal(err)
				}
				values, err := r.Predict(ctx, data.X)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range r.Candidates {
					values = append(values, c.Folds...)
				}
				return values
			}
			whole := run()
			journal, err := os.ReadFile(s.Journal)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(journal, []byte("\n"))
			for _, left := range []int{1, 5, 14, len(lines)} {
				if err := os.WriteFile(s.Journal, slices.Concat(lines[:min(left, len(lines))]...), 0o644); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(run(), whole) {
					t.Errorf("after %d lines of the journal it ends in other bits", left)
				}
			}
			s.Journal = ""
			cores := runtime.GOMAXPROCS(1)
			one := run()
			runtime.GOMAXPROCS(cores)
			if !slices.Equal(one, whole) {
				t.Error("on one core it ends in other bits")
			}
			s.RefitEstimator = func(best estimator.Estimator) estimator.Estimator { return best } // fitted separately
			far, spread := 0.0, 0.0
			for i, v := range run()[:data.Rows()] {
				far, spread = max(far, math.Abs(v-whole[i])), max(spread, math.Abs(v))
			}
			if far > c.off*spread {
				t.Errorf("the model is off that of the best candidate by %v of %v", far, spread)
			}
		})
	}
}
