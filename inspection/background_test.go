package inspection_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/inspection"
)

// The rows are those nearest to the centers, with the weights of their clusters.
func TestKMeansBackground(t *testing.T) {
	X := mat.NewDense(9, 2, []float64{0, 0, 0.1, 0, -0.1, 0, 0.2, 1, 50, 0, 50.1, 0, 49.9, 0, math.NaN(), 1, 0.1, 1})
	data := datasets.Set{X: X, Weights: []float64{1, 1, 1, 1, 2, 2, 2, 1, 1}, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "a"}, {Name: "b", Kind: datasets.Categorical, Categories: []string{"u", "v"}}}}}
	found, err := inspection.KMeansBackground(context.Background(), data, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i, w := range found.Weights {
		total += w
		switch at, category := found.X.At(i, 0), found.X.At(i, 1); {
		case math.Abs(at-50) < 1 && (w != 6 || at != 50 || category != 0),
			math.Abs(at) < 1 && category == 0 && (w != 3 || at != 0), category == 1 && w != 3:
			t.Errorf("row %v, %v has weight %v", at, category, w)
		}
	}
	if found.Rows() != 3 || total != 12 {
		t.Errorf("%d rows of weight %v", found.Rows(), total)
	}
	if _, err := inspection.KMeansBackground(context.Background(), data, 20, 1); err == nil ||
		!strings.Contains(err.Error(), "clusters") {
		t.Error(err)
	}
}

// Plots show the values of the rows; a missing row, output or input is stated.
func TestShapleyPlots(t *testing.T) {
	v := inspection.ShapleyValues{Output: "prediction", Inputs: []string{"number", "category"},
		Data: []inspection.InputValues{{Values: []float64{1, 2, math.NaN(), 4}},
			{Values: []float64{0, 1, -1, 0}, Categories: []string{"u", "v"}}},
		Outputs: []inspection.ShapleyOutput{{Base: 1, Predictions: []float64{2, 1, 0, 1.5},
			Values: [][]float64{{0.5, 0.5}, {-1, 1}, {-0.5, -0.5}, {0.25, 0.25}}}}}
	for name, c := range map[string]struct {
		figure interface{ SVG() string }
		want   []string
	}{
		"waterfall":     {v.Waterfall(1, 0), []string{"Row 1: prediction 1", "number = 2", "category = v", "−1", "+1"}},
		"missing":       {v.Waterfall(2, 0), []string{"number = missing", "category = unknown"}},
		"no row":        {v.Waterfall(4, 0), []string{"No row 4"}},
		"no output":     {v.Summary(1), []string{"No output 1"}},
		"summary":       {v.Summary(0), []string{"number", "low", "high", "category, missing"}},
		"numeric":       {v.Dependence(0, 0, 1), []string{"number, by category", ">v<", ">other<"}},
		"categorical":   {v.Dependence(0, 1, 0), []string{"category, by number", "≤ ", "missing"}},
		"without color": {v.Dependence(0, 1, -1), []string{">category<"}},
		"no input":      {v.Dependence(0, 2, -1), []string{"No input 2"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.figure.SVG(), want) {
				t.Errorf("%s: no %q in %s", name, want, c.figure.SVG())
			}
		}
	}
	both := v.Append(v)
	if len(both.Outputs[0].Values) != 8 || both.Data[0].String(7) != "4" || len(v.Outputs[0].Values) != 4 {
		t.Errorf("%+v", both)
	}
}
