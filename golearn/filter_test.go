package golearn

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/filters"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

// mixed returns rows of two numbers and two categorical columns with three classes.
func mixed(t testing.TB) (datasets.Set, *base.DenseInstances) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 2))
	data := datasets.Set{X: mat.NewDense(60, 4, nil), Y: make([]float64, 60), Schema: datasets.Schema{
		Columns: []datasets.Column{
			{Name: "a"}, {Name: "word", Kind: datasets.Categorical, Categories: []string{"x", "y", "z"}},
			{Name: "b"}, {Name: "yes", Kind: datasets.Categorical, Categories: []string{"no", "yes"}},
		},
		Targets: []datasets.Column{{Name: "class", Kind: datasets.Categorical,
			Categories: []string{"low", "middle", "high"}}},
	}}
	for i := range 60 {
		data.X.(*mat.Dense).SetRow(i, []float64{rng.NormFloat64(), float64(rng.IntN(3)), rng.Float64(), float64(rng.IntN(2))})
		data.Y[i] = float64(i % 3)
	}
	grid, err := ToInstances(data)
	if err != nil {
		t.Fatal(err)
	}
	return data, grid
}

// trained returns a filter that is trained on the input attributes of the grid.
func trained(t testing.TB, filter base.Filter, grid base.FixedDataGrid, names ...string) base.Filter {
	t.Helper()
	for _, a := range grid.AllAttributes() {
		for _, name := range names {
			if a.GetName() == name {
				if err := filter.AddAttribute(a); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := filter.Train(); err != nil {
		t.Fatal(err)
	}
	return filter
}

func filtersOf(t testing.TB, grid base.FixedDataGrid) map[string]base.Filter {
	t.Helper()
	return map[string]base.Filter{
		"float":   trained(t, filters.NewFloatConvertFilter(), grid, "a", "word", "b", "yes"),
		"words":   trained(t, filters.NewFloatConvertFilter(), grid, "word"),
		"binary":  trained(t, filters.NewBinaryConvertFilter(), grid, "word", "yes"),
		"bits":    trained(t, filters.NewBinaryConvertFilter(), grid, "a", "word", "b", "yes"),
		"binning": trained(t, filters.NewBinningFilter(grid, 5), grid, "a", "b"),
	}
}

// TestFilterIsGolearns checks that the step gives the same output as the golearn filter.
func TestFilterIsGolearns(t *testing.T) {
	data, grid := mixed(t)
	for name, filter := range filtersOf(t, grid) {
		f, err := NewFilter(filter).Fit(context.Background(), data)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := f.Transform(context.Background(), data.X)
		if err != nil {
			t.Fatal(name, err)
		}
		schema := f.(*fittedFilter).OutputSchema(data.Schema)
		want, err := FromGrid(base.NewLazilyFilteredInstances(grid, filter))
		if err != nil {
			t.Fatal(name, err)
		}
		sameInputs(t, name, want, datasets.Set{X: got, Schema: schema})
	}
}

// sameInputs reports where got, whose columns and levels may be in another order, differs from want.
func sameInputs(t *testing.T, name string, want, got datasets.Set) {
	t.Helper()
	if got.Rows() != want.Rows() || got.Cols() != want.Cols() {
		t.Fatalf("%s: %d×%d, want %d×%d", name, got.Rows(), got.Cols(), want.Rows(), want.Cols())
	}
	cell := func(s datasets.Set, i, j int) any {
		if c := s.Schema.Columns[j]; c.Kind == datasets.Categorical {
			return c.Categories[int(s.X.At(i, j))]
		}
		return s.X.At(i, j)
	}
	for j, c := range want.Schema.Columns {
		k := got.Schema.Index(c.Name)
		if k < 0 || got.Schema.Columns[k].Kind != c.Kind {
			t.Fatalf("%s: column %s is gone or of another kind: %v", name, c.Name, got.Schema.Columns)
		}
		for i := range want.Rows() {
			if a, b := cell(want, i, j), cell(got, i, k); a != b {
				t.Fatalf("%s: row %d, column %s: %v, want %v", name, i, c.Name, b, a)
			}
		}
	}
}

func TestFilterConformance(t *testing.T) {
	data, grid := mixed(t)
	for _, name := range []string{"float", "bits"} { // which filter every column
		t.Run(name, func(t *testing.T) {
			transformertest.Run(t, NewFilter(filtersOf(t, grid)[name]), transformertest.Options{Data: data})
		})
	}
}

// TestFilterMatchesNames checks that categories are matched by name, and that others are errors.
func TestFilterMatchesNames(t *testing.T) {
	data, grid := mixed(t)
	step := NewFilter(trained(t, filters.NewFloatConvertFilter(), grid, "word"))
	swapped := data
	swapped.X = mat.DenseCopyOf(data.X)
	swapped.Schema.Columns = append([]datasets.Column{}, data.Schema.Columns...)
	swapped.Schema.Columns[1].Categories = []string{"z", "y", "x"}
	for i := range 60 {
		swapped.X.(*mat.Dense).Set(i, 1, 2-data.X.At(i, 1))
	}
	var made []mat.Matrix
	for _, d := range []datasets.Set{data, swapped} {
		f, err := step.Fit(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Transform(context.Background(), d.X)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, out)
	}
	if !mat.Equal(made[0], made[1]) {
		t.Error("levels in another order make other numbers")
	}
	swapped.Schema.Columns[1].Categories = []string{"z", "y", "w"}
	if _, err := step.Fit(context.Background(), swapped); err == nil || !strings.Contains(err.Error(), `level "w"`) {
		t.Errorf("error %v, want one that names the level", err)
	}
	swapped.Schema.Columns[1] = datasets.Column{Name: "other"}
	if _, err := step.Fit(context.Background(), swapped); err == nil || !strings.Contains(err.Error(), "no column word") {
		t.Errorf("error %v, want one that names the column", err)
	}
	if _, err := NewFilter(filters.NewFloatConvertFilter()).Fit(context.Background(), data); err == nil {
		t.Error("a filter that was not trained was taken")
	}
}

// TestFilterBeyondBins checks that values beyond the last bin are unknown.
func TestFilterBeyondBins(t *testing.T) {
	data, grid := mixed(t)
	f, err := NewFilter(trained(t, filters.NewBinningFilter(grid, 5), grid, "a")).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Transform(context.Background(), mat.NewDense(1, 4, []float64{1e6, 0, 0, 0}))
	if err != nil || out.At(0, 0) != datasets.Unknown {
		t.Errorf("%v, %v, want datasets.Unknown", out, err)
	}
	if _, err := f.Transform(context.Background(), mat.NewDense(1, 4, []float64{math.NaN(), 0, 0, 0})); err == nil {
		t.Error("a missing value was taken")
	}
}

// A filter is a step of a pipeline.
func TestFilterInPipeline(t *testing.T) {
	_, grid := mixed(t)
	spec := pipeline.Steps().Then(estimator.NewLogistic())
	spec.Steps = []pipeline.Step{{Name: "words", Fitter: NewFilter(trained(t, filters.NewFloatConvertFilter(), grid,
		"word", "yes"))}}
	c := NewClassifier(spec)
	if err := c.Fit(grid); err != nil {
		t.Fatal(err)
	}
	if got := predictions(t, c, grid); len(got) != 60 {
		t.Errorf("%d predictions", len(got))
	}
	path := filepath.Join(t.TempDir(), "m")
	if err := c.Save(path); err == nil || !strings.Contains(err.Error(), "step words is a filter") {
		t.Errorf("error %v, want one that names the filter", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a refused model left a file")
	}
	deep := NewClassifier(pipeline.Steps(pipeline.Columns{Remainder: "passthrough",
		Groups: []pipeline.Group{{Select: []string{"word", "yes"}, Steps: spec.Steps}}}).Then(estimator.NewLogistic()))
	if err := deep.Fit(grid); err != nil {
		t.Fatal(err)
	}
	if err := deep.Save(path); err == nil || !strings.Contains(err.Error(), "step words is a filter") {
		t.Errorf("error %v, want one that names the filter within", err)
	}
}
