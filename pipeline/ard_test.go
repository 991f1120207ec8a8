package pipeline_test

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// scales returns an ard that learns quickly.
func scales() transformer.ARD {
	s := transformer.NewARD()
	s.Features, s.Steps, s.Restarts, s.Rows, s.Seed = 30, 6, 2, 100, 4
	return s
}

// countedARD counts its fits.
type countedARD struct {
	transformer.ARD
	Fits *atomic.Int64
}

func (c countedARD) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	c.Fits.Add(1)
	return c.ARD.Fit(ctx, data)
}

// TestSweepLearnsScalesOnce checks that a search over later steps learns the scales once for each
// fold, with the results of separate fits.
func TestSweepLearnsScalesOnce(t *testing.T) {
	data, folds, fits := numbers(150, 12), thirds(150), new(atomic.Int64)
	base := pipeline.Steps(countedARD{scales(), fits}, fourier(24)).Then(estimator.NewRidge())
	settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.5, 1.0, 2.0}},
		param.Setting{Path: "rff.features", Value: []any{12, 24}},
		param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})
	got, _ := sweep(t, base, data, folds, settings)
	if n := fits.Load(); n != int64(len(folds)) {
		t.Errorf("%d candidates on %d folds: the scales were learned %d times, want once for each fold", len(settings),
			len(folds), n)
	}
	for k, outcome := range got {
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
		fold := folds[k.fold]
		p, err := settings[k.setting].Fit(ctx, data.Select(fold.Train))
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.Predict(ctx, data.Select(fold.Test).X)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range outcome.Prediction.Values {
			if d := v - want[i]; d*d > 1e-12 {
				t.Fatalf("candidate %d on fold %d predicts %v for row %d, alone %v", k.setting, k.fold, v, i, want[i])
			}
		}
	}
}

// Relevance names the inputs of a step, wherever the step is.
func TestRelevanceByName(t *testing.T) {
	data := amounts(people(200, 8))
	shared := scales()
	shared.Groups = "origin"
	p := pipeline.Steps(encoder(), shared, fourier(20)).Then(estimator.NewRidge())
	f, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	r := pipeline.Find(f).Relevance()
	want := []string{"age", "hours", "cap-gain", "colour=blue", "colour=green", "colour=red"}
	if len(r) != 1 || r[0].Step != "ard" || !slices.Equal(r[0].Columns, want) || slices.Max(r[0].Values) != 1 {
		t.Fatalf("relevance %+v, want that of ard with the columns %v", r, want)
	}
	if v := r[0].Values; v[3] != v[4] || v[4] != v[5] || v[0] == v[3] {
		t.Errorf("relevance %v, want the columns of colour alike", v)
	}
	inside := pipeline.NewUnion(transformer.NewStandardize(), pipeline.NewChain(scales(), fourier(6)))
	groups := pipeline.NewColumns(pipeline.Group{Name: "some", Select: []string{"hours", "cap-gain"},
		Steps: pipeline.Steps(inside)})
	if f, err = pipeline.Steps(groups).Then(estimator.NewRidge()).Fit(ctx, data); err != nil {
		t.Fatal(err)
	}
	r = pipeline.Find(f).Relevance()
	if len(r) != 1 || r[0].Step != "columns.some.union.steps.ard" ||
		!slices.Equal(r[0].Columns, []string{"hours", "cap-gain"}) {
		t.Errorf("relevance %+v of a step inside others", r)
	}
}

// TestScalesBeforeBinningInAStream checks that scales work before binning features, and are equal
// from a stream and from rows in memory.
func TestScalesBeforeBinningInAStream(t *testing.T) {
	data := numbers(300, 3)
	bins := transformer.NewBinning()
	bins.Grids, bins.Gamma, bins.Seed = 20, kernel.FixedGamma(1), 2
	p := pipeline.Steps(scales(), bins).Then(estimator.NewRidge())
	a, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.FitSource(ctx, shortBlocks{data})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pipeline.Find(b).Relevance(), pipeline.Find(a).Relevance(); !reflect.DeepEqual(got, want) {
		t.Errorf("relevance %v of a stream, %v of rows in memory", got, want)
	}
}

// shortBlocks is a source that yields blocks of seven rows.
type shortBlocks struct{ set datasets.Set }

func (s shortBlocks) Schema() datasets.Schema { return s.set.Schema }
func (s shortBlocks) Dims() (rows, cols int)  { return -1, s.set.Cols() }
func (s shortBlocks) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	for lo := 0; lo < s.set.Rows(); lo += 7 {
		if err := yield(s.set.Slice(lo, min(lo+7, s.set.Rows()))); err != nil {
			return err
		}
	}
	return nil
}
