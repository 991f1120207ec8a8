package modelfile_test

import (
	"bytes"
	"errors"
	"math"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// sealed writes the model's state after harm was done to it, with checksums that are right.
func sealed(t *testing.T, m *modelfile.Model, harm func(h *archive.Header, a *archive.Archive)) []byte {
	t.Helper()
	file := bytesOf(t, m)
	h, a, err := archive.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	harm(&h, a)
	var b bytes.Buffer
	if err := archive.Write(&b, h, a); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestClaimsTakeNoMemory checks that sizes claimed by a file are checked against its content before
// allocation.
func TestClaimsTakeNoMemory(t *testing.T) {
	data := numbers(60, 51)
	data.Schema.Columns = nil
	modelOf := func(steps ...transformer.Fitter) *modelfile.Model {
		return fitted(t, pipeline.Steps(steps...).Then(estimator.NewRidge()), data)
	}
	group := pipeline.NewColumns(pipeline.Group{Name: "g", Select: []string{"x1"}})
	hashed := transformer.NewBinning()
	hashed.Grids, hashed.Columns = 2, 8
	for _, c := range []struct {
		m    *modelfile.Model
		set  map[string]any
		want string
	}{
		{modelOf(group), map[string]any{"steps/columns": 1e12}, "more than can be numbered"},
		{modelOf(), map[string]any{"steps/columns": 1e9}, "4 columns at fit, 1000000000 come to it"},
		{modelOf(transformer.NewRFF()), map[string]any{"steps/columns": 1e9}, "4 columns at fit, 1000000000 come to it"},
		{modelOf(transformer.Dense{}, group), map[string]any{"steps/columns": 4e9, "steps/dense/width": 4e9,
			"steps/dense/dense/width": 4e9, "steps/columns/columns/columns": 4e9},
			"width must be at most the size of the state, got 4000000000"},
		{modelOf(hashed, group), map[string]any{"steps/binning/width": 4e9, "steps/binning/binning/hashed": 4e9,
			"steps/columns/columns/columns": 4e9}, ""},
		{modelOf(pipeline.NewUnion(hashed, transformer.NewRFF()), group),
			map[string]any{"steps/union/union/binning/width": 4e9, "steps/union/union/binning/binning/hashed": 4e9},
			"width must be at most the size of the state, got 4000001000"},
		{modelOf(hashed), map[string]any{"steps/binning/width": 4e9, "steps/binning/binning/hashed": 4e9},
			"8 columns at fit, 4000000000 come to it"},
		{modelOf(pipeline.NewUnion(hashed)), map[string]any{"steps/union/dense": true, "steps/union/width": 4e9,
			"steps/union/union/binning/width": 4e9, "steps/union/union/binning/binning/hashed": 4e9},
			"width must be at most the size of the state, got 4000000000"},
		{modelOf(transformer.Dense{}, transformer.NewStandardize()),
			map[string]any{"steps/steps": slices.Repeat([]string{"dense"}, 100000)}, "not distinct"},
		{modelOf(pipeline.NewUnion(hashed)), map[string]any{"steps/union/union/parts": slices.Repeat([]string{"binning"},
			100000)}, "not distinct"},
	} {
		file := sealed(t, c.m, func(_ *archive.Header, a *archive.Archive) {
			for path, v := range c.set {
				if a.Scalars[path] == nil {
					t.Errorf("there is no %s among %v", path, slices.Sorted(keysOf(a.Scalars)))
				}
				a.Scalars[path] = v
			}
		})
		before := allocated()
		m, err := modelfile.Read(bytes.NewReader(file), int64(len(file)))
		if c.want != "" && (err == nil || !errors.Is(err, model.ErrDamaged) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %s", c.set, err, c.want)
		}
		if c.want == "" && err != nil {
			t.Errorf("%v: %v", c.set, err)
		}
		if err == nil { // a width without corresponding data
			X := data.X
			if _, cols := X.Dims(); m.Spec().Steps != nil && cols != pipeline.Find(m.Predictor).InputWidth() {
				X = matrices.CSRFromDense(X)
			}
			if _, err := m.Predictor.Predict(ctx, X); err != nil {
				t.Errorf("%v: %v", c.set, err)
			}
			bad := mat.DenseCopyOf(X)
			bad.Set(1, 1, math.NaN()) // a message that names columns
			m.Predictor.Predict(ctx, bad)
		}
		if took := allocated() - before; took > 100<<20 {
			t.Errorf("%v: %d bytes taken for a file of %d", c.set, took, len(file))
		}
	}
}

func keysOf(m map[string]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestManyUnnamedColumns checks that a valid model with columns that have no data in the file can
// be loaded, and predicts sparse rows.
func TestManyUnnamedColumns(t *testing.T) {
	const wide = 1<<20 + 64
	indptr, indices, y := []int{0}, []uint32{}, []float64{}
	for i := range 20 {
		indices = append(indices, 1, uint32(wide-20+i))
		indptr, y = append(indptr, len(indices)), append(y, float64(i%3))
	}
	X, err := matrices.NewCSR(20, wide, indptr, indices, slices.Repeat([]float64{1, 2}, 20))
	if err != nil {
		t.Fatal(err)
	}
	data := numbers(20, 1)
	data.X, data.Y, data.Schema.Columns = X, y, nil
	m := fitted(t, pipeline.Steps(pipeline.NewColumns(pipeline.Group{Name: "g",
		Select: []string{"x1048639", "x1"}})).Then(estimator.NewRidge()), data)
	file := bytesOf(t, m)
	back, err := modelfile.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Predictor.Predict(ctx, X)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := back.Predictor.Predict(ctx, X); err != nil || !slices.Equal(got, want) {
		t.Errorf("predictions differ (%v)", err)
	}
}

// Non-finite values, invalid hashes and false claims about the model are rejected.
func TestSmuggledValuesAreRefused(t *testing.T) {
	data := numbers(60, 52)
	bins := transformer.NewBinning()
	bins.Grids = 3
	phase := transformer.NewRFF()
	phase.Features, phase.Map = 6, "phase"
	m := fitted(t, pipeline.Steps(pipeline.NewUnion(bins, phase)).Then(estimator.NewRidge()), data)
	const within = "steps/union/union/"
	floats := func(path string, v float64) func(h *archive.Header, a *archive.Archive) {
		return func(h *archive.Header, a *archive.Archive) { a.Arrays[path].Floats[0] = v }
	}
	for name, c := range map[string]struct {
		harm func(h *archive.Header, a *archive.Archive)
		want string
	}{
		"weights":   {floats("ridge/ridge/coef", math.NaN()), "not finite"},
		"intercept": {floats("ridge/ridge/intercept", math.Inf(1)), "not finite"},
		"frequency": {floats(within+"rff/rff/base", math.NaN()), "not finite"},
		"phase":     {floats(within+"rff/rff/phase", 1e300), "a phase is not an angle"},
		"gamma":     {floats(within+"rff/rff/gamma", -1), "a gamma is not a number above 0"},
		"scale":     {floats(within+"rff/scale", math.NaN()), "a scale is not a number"},
		"grid":      {floats(within+"binning/binning/base", math.Inf(1)), "not finite"},
		"bins that crowd": {func(_ *archive.Header, a *archive.Archive) {
			for i := range a.Arrays[within+"binning/binning/hashes"].Ints {
				a.Arrays[within+"binning/binning/hashes"].Ints[i] = 7
			}
		}, "the hashes of the bins of grid 0 are not those of bins"},
		"task": {func(h *archive.Header, _ *archive.Archive) { h.Task = "classification" },
			"the task is classification, the model is for regression"},
		"target":  {func(h *archive.Header, _ *archive.Archive) { h.Targets[0].Name = "poor" }, "the targets are not those"},
		"columns": {func(h *archive.Header, _ *archive.Archive) { h.Columns[0].Name = "hours" }, "the columns are not those"},
		"rows":    {func(h *archive.Header, _ *archive.Archive) { h.FittedRows = -1 }, "numbers of rows must be ≥ 0, got 0 and -1"},
		"spec": {func(h *archive.Header, _ *archive.Archive) { h.Spec = "- standardize\n- ridge\n" },
			"its spec has the steps standardize, ridge, and fitted are union, ridge"},
	} {
		file := sealed(t, m, c.harm)
		if _, err := modelfile.Read(bytes.NewReader(file), int64(len(file))); !errors.Is(err, model.ErrDamaged) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	other := *m
	other.Task = "classification"
	if err := other.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "start from modelfile.New") {
		t.Errorf("a model that contradicts itself was written: %v", err)
	}
}
