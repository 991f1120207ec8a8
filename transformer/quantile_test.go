package transformer

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/passtest"
	"github.com/bochner-ml/bochner/matrices"
)

// matrixOf returns rows of which nil is a missing value.
func matrixOf(rows [][]*float64) *mat.Dense {
	X := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		for j, v := range row {
			X.Set(i, j, math.NaN())
			if v != nil {
				X.Set(i, j, *v)
			}
		}
	}
	return X
}

// TestQuantileMatchesScikitLearn compares quantiles and mapped rows with those of scikit-learn,
// computed by testdata/quantile.py.
func TestQuantileMatchesScikitLearn(t *testing.T) {
	text, err := os.ReadFile("testdata/quantile.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Quantiles                    int
			Output                       string
			Train, Learned, Rows, Mapped [][]*float64
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("%d cases, error %v", len(file.Cases), err)
	}
	for _, c := range file.Cases {
		f := mustFit(t, Quantile{Quantiles: c.Quantiles, Output: c.Output},
			datasets.Set{X: matrixOf(c.Train)}).(*fittedQuantile)
		learned := matrixOf(c.Learned)
		for j := range f.columns {
			equal(t, mat.NewDense(1, len(f.Quantiles(j)), f.Quantiles(j)), learned.Slice(j, j+1, 0, len(c.Learned[j])), 1e-12)
		}
		equal(t, mustTransform(t, f, matrixOf(c.Rows)), matrixOf(c.Mapped), 1e-12)
	}
}

// Selections with limited capacity do not depend on the partition of the rows, and survive
// serialization and damage.
func TestSelectionsInParts(t *testing.T) {
	probabilities := []float64{0, 0.1, 0.3, 0.5, 0.9, 1}
	X := awkward(150)
	for _, kept := range []int{3, 20, 100} {
		l := passtest.Learner[[][]float64]{
			Start: func(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
				return beginPass(ctx, "test", NewRobust(), schema, cols, true, func() inputSums {
					plan := newQuantiles(probabilities, schema, cols).plan
					plan.memory, plan.buf = 3*plan.selectionBytes(), buf{cells: 16, kept: kept}
					return beginQuantiles(plan, schema)
				})
			},
			Finish: func(ctx context.Context, last datasets.Pass) ([][]float64, error) {
				q, _, err := lastSums[*quantiles](ctx, "test", NewRobust(), last)
				if err != nil {
					return nil, err
				}
				return q.values()
			},
			Says: func(found [][]float64) ([]float64, error) { return slices.Concat(found...), nil },
			Other: func(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
				return NewStandardize().Start(ctx, schema, cols)
			},
		}
		var want []float64
		for j := range 7 {
			values := present(X, j)
			for _, p := range probabilities {
				low, high, at := neighbors(p, uint64(len(values)))
				want = append(want, between(values[low], values[high], at))
			}
		}
		data := datasets.Set{X: X}
		if err := l.Parts(data, want, 0); err != nil {
			t.Error(err)
		}
		if err := l.Short(data); err != nil {
			t.Error(err)
		}
		if err := l.Damage(data); err != nil {
			t.Error(err)
		}
	}
}

// TestQuantileOfAllRows checks that the quantiles of many rows are those of the sorted columns.
func TestQuantileOfAllRows(t *testing.T) {
	n := 150_001
	X := mat.NewDense(n, 2, nil)
	rng := rand.New(rand.NewPCG(3, 1))
	for i := range n {
		X.SetRow(i, []float64{rng.NormFloat64(), math.Floor(5 * rng.NormFloat64())})
	}
	f := mustFit(t, Quantile{Quantiles: 1001, Output: "uniform"}, datasets.Set{X: X}).(*fittedQuantile)
	for j := range 2 {
		values := mat.Col(nil, j, X)
		slices.Sort(values)
		for k, got := range f.Quantiles(j) {
			if want := values[150*k]; math.Abs(got-want) > 1e-12*math.Abs(want) {
				t.Errorf("column %d, quantile %d: %v, want %v", j, k, got, want)
			}
		}
	}
}

// TestQuantileSeesOrderOnly checks that a monotone transform of the inputs does not change the
// ranks of the training rows.
func TestQuantileSeesOrderOnly(t *testing.T) {
	X := uniform(400, 3)
	bent := mat.DenseCopyOf(X)
	bent.Apply(func(_, j int, v float64) float64 { return math.Exp(float64(9*j)*v) * 1e-5 }, X)
	for _, output := range []string{"uniform", "normal"} {
		spec := Quantile{Quantiles: 400, Output: output}
		want := mustTransform(t, mustFit(t, spec, datasets.Set{X: X}), X)
		got := mustTransform(t, mustFit(t, spec, datasets.Set{X: bent}), bent)
		equal(t, mat.DenseCopyOf(got).Slice(0, 400, 1, 3), mat.DenseCopyOf(want).Slice(0, 400, 1, 3), 1e-9)
	}
}

// TestQuantileOfExtremes checks that numbers whose differences overflow, and denormal numbers, are
// mapped to ascending finite numbers.
func TestQuantileOfExtremes(t *testing.T) {
	for _, values := range [][]float64{{-math.MaxFloat64, -1e308, 0, math.MaxFloat64}, {0, 5e-324, 1e-323, 2e-323}} {
		for _, output := range []string{"uniform", "normal"} {
			f := mustFit(t, Quantile{Quantiles: 3, Output: output}, datasets.Set{X: mat.NewDense(4, 1, values)})
			Z := mustTransform(t, f, mat.NewDense(4, 1, values))
			for i := range 4 {
				if v := Z.At(i, 0); !finite(v) || i > 0 && v < Z.At(i-1, 0) {
					t.Errorf("%v becomes %v", values, mat.Col(nil, 0, Z))
				}
			}
		}
	}
}

// TestQuantileOfSparseRows checks that sparse rows stay sparse if zero maps to zero, and are errors
// otherwise, also after the fit.
func TestQuantileOfSparseRows(t *testing.T) {
	X := mat.NewDense(5, 2, []float64{0, 0, 1, 0, 2, 3, 0, 1, 5, 0})
	f := mustFit(t, NewQuantile(), datasets.Set{X: matrices.CSRFromDense(X)})
	Z, ok := mustTransform(t, f, matrices.CSRFromDense(X)).(*matrices.CSR)
	if !ok || Z.NNZ() != 5 {
		t.Errorf("sparse rows become %T", mustTransform(t, f, matrices.CSRFromDense(X)))
	}
	equal(t, Z, mustTransform(t, mustFit(t, NewQuantile(), datasets.Set{X: X}), X), 0)
	ctx := context.Background()
	X.Set(1, 1, -2)
	for _, c := range []struct {
		spec Quantile
		X    mat.Matrix
		want string
	}{
		{NewQuantile(), X, "column x1 of sparse input: zero would become 0.375"},
		{Quantile{Quantiles: 10, Output: "normal"}, X.Slice(0, 1, 0, 2), "set output: uniform"},
	} {
		thin := matrices.CSRFromDense(c.X)
		if _, err := c.spec.Fit(ctx, datasets.Set{X: thin}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Fit returned the error %v", err)
		}
		dense := mustFit(t, c.spec, datasets.Set{X: mat.DenseCopyOf(c.X)})
		if _, err := dense.Transform(ctx, thin); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Transform returned the error %v", err)
		}
	}
}
