package pipeline_test

import (
	"runtime"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// The cost and the width of a composite are the sums over its parts.
func TestCostAddsUp(t *testing.T) {
	wide, narrow := fourier(64), fourier(16)
	chain := pipeline.NewChain(mirror{}, wide).Cost(datasets.Shape{Rows: 1000, Cols: 8})
	if own := wide.Cost(datasets.Shape{Rows: 1000, Cols: 8}); chain.OutputWidth != 64 || chain.Flops != own.Flops ||
		chain.Bytes != own.Bytes {
		t.Errorf("a chain costs %+v, its expensive step %+v", chain, own)
	}
	union := pipeline.NewUnion(wide, narrow).Cost(datasets.Shape{Rows: 1000, Cols: 8})
	if want := wide.Cost(datasets.Shape{Rows: 1000, Cols: 8}).Flops + narrow.Cost(datasets.Shape{Rows: 1000,
		Cols: 8}).Flops; union.OutputWidth != 80 || union.Flops != want {
		t.Errorf("a union costs %+v, want %v flops and 80 columns", union, want)
	}
	group := func(terms ...string) pipeline.Group {
		return pipeline.Group{Select: terms, Steps: pipeline.Steps(wide)}
	}
	named := pipeline.NewColumns(group("a", "b"), group("c"))
	if cost := named.Cost(datasets.Shape{Rows: 1000, Cols: 8}); cost.OutputWidth != 128 ||
		cost.Flops < wide.Cost(datasets.Shape{Rows: 1000, Cols: 2}).Flops+wide.Cost(datasets.Shape{Rows: 1000,
			Cols: 1}).Flops {
		t.Errorf("columns by name cost %+v", cost)
	}
	named.Remainder = "passthrough"
	if cost := named.Cost(datasets.Shape{Rows: 1000, Cols: 8}); cost.OutputWidth != 128+5 {
		t.Errorf("with the rest they are %d wide", cost.OutputWidth)
	}
	if cost := pipeline.NewColumns(group("numeric")).Cost(datasets.Shape{Rows: 1000, Cols: 8}); !cost.WidthEstimated ||
		cost.OutputWidth != 64 || cost.Flops < wide.Cost(datasets.Shape{Rows: 1000, Cols: 8}).Flops {
		t.Errorf("columns by kind cost %+v", cost)
	}
	behind := pipeline.NewChain(pipeline.NewColumns(group("numeric")), transformer.NewStandardize())
	if cost := behind.Cost(datasets.Shape{Rows: 1000, Cols: 8}); !cost.WidthEstimated || cost.OutputWidth != 64 {
		t.Errorf("a step that keeps a guessed width reports %+v", cost)
	}
	behind.Steps = append(behind.Steps, pipeline.Steps(narrow)...)
	if cost := behind.Cost(datasets.Shape{Rows: 1000, Cols: 8}); cost.WidthEstimated || cost.OutputWidth != 16 {
		t.Errorf("a map behind columns of unknown width costs %+v", cost)
	}
	p := pipeline.Steps(wide).Then(estimator.NewRidge())
	sum := p.Cost(datasets.Shape{Rows: 1000, Cols: 8})
	if want := wide.Cost(datasets.Shape{Rows: 1000, Cols: 8}).Flops + estimator.NewRidge().Cost(datasets.Shape{Rows: 1000,
		Cols: 64}).Flops; sum.Flops != want {
		t.Errorf("a pipeline costs %+v, want %v flops", sum, want)
	}
}

// TestWideFeaturesAreNotStored checks that ridge regression computes its features tile by tile: the
// memory allocated by a fit does not grow with rows times features.
func TestWideFeaturesAreNotStored(t *testing.T) {
	if underRace {
		t.Skip("the race detector empties pools at random")
	}
	const n, features = 30_000, 256
	data := numbers(n, 40)
	p := pipeline.Steps(transformer.NewStandardize(), fourier(features)).Then(estimator.NewRidge())
	if !p.EstimatorReadsOnce(n, 4) || p.EstimatorReadsOnce(100, 4) {
		t.Errorf("ridge reads once where rows are many, and not where they are few")
	}
	allocated := func(data datasets.Set) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := p.Fit(ctx, data); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	// Minimum of several runs, because pools may lose buffers to the garbage collector.
	least := func(data datasets.Set) uint64 {
		return min(allocated(data), allocated(data), allocated(data))
	}
	few, many := least(data.Slice(0, n/3)), least(data)
	if grown := int64(many) - int64(few); grown > 8*features*n*2/3/2 {
		t.Errorf("three times the rows allocate %d bytes more, their features have %d", grown, 8*features*n*2/3)
	}
}

// The memory of a fit includes cached features, but not those computed in tiles, for one pass or
// for many that exceed the memory of the pipeline.
func TestCostOfStoredFeatures(t *testing.T) {
	const features = 20_000
	shape := datasets.Shape{Rows: 100_000, Cols: 8, Outputs: 1}
	wide := transformer.NewRFF()
	wide.Features = features
	kept := int64(4 * features * shape.Rows) // in single precision
	for name, model := range map[string]estimator.Estimator{"ridge": estimator.NewRidge(),
		"logistic": estimator.NewLogistic()} {
		p := pipeline.Steps(wide).Then(model)
		if bytes := p.Cost(shape).Bytes; bytes >= kept {
			t.Errorf("%s in 2 GiB takes %d bytes, its features do not fit", name, bytes)
		}
		p.Memory = 2 * kept
		if bytes := p.Cost(shape).Bytes; bytes < kept {
			t.Errorf("%s takes %d bytes, its features %d", name, bytes, kept)
		}
	}
}

// TestSweepBytes checks that the memory of a sweep includes the sums of products of all folds.
func TestSweepBytes(t *testing.T) {
	const features = 2048
	wide := fourier(features)
	for name, base := range map[string]pipeline.Pipeline{
		"without rows": pipeline.Steps(wide).Then(estimator.NewRidge()),
		"with rows":    pipeline.Steps(transformer.NewStandardize(), wide).Then(estimator.NewRidge()),
	} {
		settings := grid(t, base, param.Setting{Path: "ridge.alpha", Value: []any{1.0, 2.0, 3.0}})
		bytes := plannedBytes(base, datasets.Shape{Rows: 3000, Cols: 4, Outputs: 1}, thirds(3000), settings)
		if sums := int64(3 * 8 * features * features); bytes < sums || bytes > 20*sums {
			t.Errorf("%s: %d bytes, the sums of three folds have %d", name, bytes, sums)
		}
	}
}

// TestSweepBytesOfSomeRows checks that folds may omit rows, as those of a halving do, so that row
// numbers exceed the number of rows.
func TestSweepBytesOfSomeRows(t *testing.T) {
	fold := datasets.Fold{Train: []int{700, 900, 901, 990}, Test: []int{10, 20}}
	for name, model := range map[string]estimator.Estimator{
		"ridge": estimator.NewRidge(), "ridge_classifier": estimator.NewRidgeClassifier(),
		"logistic": estimator.NewLogistic(),
	} {
		for _, steps := range [][]transformer.Fitter{{fourier(8)}, {transformer.NewStandardize(), fourier(8)}} {
			base := pipeline.Steps(steps...).Then(model)
			settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.1, 0.2}})
			if bytes := plannedBytes(base, datasets.Shape{Rows: 6, Cols: 4}, []datasets.Fold{fold, fold},
				settings); bytes <= 0 || bytes > 1<<30 {
				t.Errorf("%s: %d bytes", name, bytes)
			}
		}
	}
}

// TestCostOfKnownColumns checks that a schema determines the columns of groups, and the categories
// of encoded ones.
func TestCostOfKnownColumns(t *testing.T) {
	data := people(400, 3)
	cost := encoder().Cost(data.Shape())
	fitted := fit(t, encoder(), data).(transformer.Describer)
	if cost.OutputWidth != fitted.OutputWidth() || cost.OutputWidth != 3+3 {
		t.Errorf("it costs %+v, and makes %d columns", cost, fitted.OutputWidth())
	}
	several := data.Shape()
	several.Outputs = 1000
	for _, model := range []estimator.Estimator{estimator.NewLogistic(), estimator.NewSVM(),
		estimator.NewRidgeClassifier(), estimator.NewRidge()} {
		p := pipeline.Steps(encoder(), fourier(64)).Then(model)
		if one, many := p.Cost(data.Shape()), p.Cost(several); many.Bytes < one.Bytes+8*1000*64 || many.Flops < 2*one.Flops {
			t.Errorf("%T: %+v for one output, %+v for 1000", model, one, many)
		}
	}
}
