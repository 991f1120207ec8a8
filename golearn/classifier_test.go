package golearn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/evaluation"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func machine() pipeline.Pipeline {
	rff := transformer.NewRFF()
	rff.Features, rff.Seed = 100, 7
	svm := estimator.NewSVM()
	svm.Tol = 1e-8
	return pipeline.Steps(transformer.NewStandardize(), rff).Then(svm)
}

func irises(t testing.TB) (datasets.Set, *base.DenseInstances) {
	t.Helper()
	flowers, _, err := builtin.Load("iris")
	if err != nil {
		t.Fatal(err)
	}
	grid, err := ToInstances(flowers)
	if err != nil {
		t.Fatal(err)
	}
	return flowers, grid
}

// witness is a classifier that notes which rows golearn lets it see.
type witness struct {
	*Classifier
	t     *testing.T
	data  datasets.Set
	folds []datasets.Fold
}

func (w *witness) Fit(grid base.FixedDataGrid) error {
	w.folds = append(w.folds, datasets.Fold{Train: w.rows(grid)})
	return w.Classifier.Fit(grid)
}

func (w *witness) Predict(grid base.FixedDataGrid) (base.FixedDataGrid, error) {
	w.folds[len(w.folds)-1].Test = w.rows(grid)
	return w.Classifier.Predict(grid)
}

// rows identifies the rows of a view by golearn's string representation; equal rows are
// interchangeable.
func (w *witness) rows(grid base.FixedDataGrid) []int {
	known := map[string][]int{}
	for i := range w.data.Rows() {
		key := ""
		for j := range w.data.Cols() {
			key += fmt.Sprintf("%v ", w.data.X.At(i, j))
		}
		known[key] = append(known[key], i)
	}
	specs := map[string]base.AttributeSpec{}
	for _, a := range grid.AllAttributes() {
		spec, err := grid.GetAttribute(a)
		if err != nil {
			w.t.Fatal(err)
		}
		specs[a.GetName()] = spec
	}
	var out []int
	_, n := grid.Size()
	for i := range n {
		key := ""
		for j := range w.data.Cols() {
			key += fmt.Sprintf("%v ", base.UnpackBytesToFloat(grid.Get(specs[w.data.Schema.Name(j)], i)))
		}
		if len(known[key]) == 0 {
			w.t.Fatalf("no row %s", key)
		}
		out = append(out, known[key][0])
		known[key] = known[key][1:]
	}
	slices.Sort(out)
	return out
}

// given is a Splitter that returns folds already made.
type given []datasets.Fold

func (g given) Split(datasets.Set) ([]datasets.Fold, error) { return g, nil }

// golearn's cross-validation of the wrapper and our search without a grid, on the same folds, have
// the same accuracy in every fold.
func TestCrossValidation(t *testing.T) {
	data, grid := irises(t)
	w := &witness{Classifier: NewClassifier(machine()), t: t, data: data}
	tables, err := evaluation.GenerateCrossFoldValidationConfusionMatrices(grid, w, 5)
	if err != nil {
		t.Fatal(err)
	}
	search := gridsearch.NewSearch(machine())
	search.Splitter, search.Refit = given(w.folds), gridsearch.RefitNone
	own, err := search.Run(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	for f, table := range tables {
		if a, b := evaluation.GetAccuracy(table), own.Best().Folds[f]; math.Abs(a-b) > 1e-12 {
			t.Errorf("fold %d: golearn's accuracy %v, ours %v", f, a, b)
		}
	}
	mean, variance := evaluation.GetCrossValidatedMetric(tables, evaluation.GetAccuracy)
	if math.Abs(mean-own.Best().Mean) > 1e-12 || math.Abs(math.Sqrt(variance)-own.Best().Std) > 1e-12 {
		t.Errorf("golearn has %v ± %v, we have %v ± %v", mean, math.Sqrt(variance), own.Best().Mean, own.Best().Std)
	}
	if mean < 0.9 {
		t.Errorf("accuracy %v: the machine learns nothing", mean)
	}
}

// On golearn's division into training and test rows, golearn's confusion matrix is ours.
func TestSplitAndConfusionMatrix(t *testing.T) {
	data, grid := irises(t)
	train, test := base.InstancesTrainTestSplit(grid, 0.5)
	c := NewClassifier(machine())
	if err := c.Fit(train); err != nil {
		t.Fatal(err)
	}
	predicted, err := c.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	table, err := evaluation.GetConfusionMatrix(test, predicted)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, data: data}
	learned, held := data.Select(w.rows(train)), data.Select(w.rows(test))
	fitted, err := machine().Fit(context.Background(), learned)
	if err != nil {
		t.Fatal(err)
	}
	values, err := fitted.Predict(context.Background(), held.X)
	if err != nil {
		t.Fatal(err)
	}
	own, err := metrics.Input{YTrue: held.Y, YPred: values, Classes: 3}.Confusion(data.Schema.Classes())
	if err != nil {
		t.Fatal(err)
	}
	for i, truth := range own.Classes {
		for j, got := range own.Classes {
			if float64(table[truth][got]) != own.Counts.At(i, j) {
				t.Errorf("%s taken for %s: golearn counts %d, we %v", truth, got, table[truth][got], own.Counts.At(i, j))
			}
		}
	}
}

// shuffled returns the rows as instances whose attributes, and their values, are in random orders.
func shuffled(t *testing.T, rng *rand.Rand, data datasets.Set) *base.DenseInstances {
	t.Helper()
	n, d := data.X.Dims()
	X := mat.NewDense(n, d, nil)
	out := datasets.Set{X: X, Y: slices.Clone(data.Y)}
	for j, from := range rng.Perm(d) {
		c, code := relabeled(rng, data.Schema.Columns[from])
		out.Schema.Columns = append(out.Schema.Columns, c)
		for i := range n {
			X.Set(i, j, code(data.X.At(i, from)))
		}
	}
	if data.Y != nil {
		c, code := relabeled(rng, data.Schema.Targets[0])
		out.Schema.Targets = []datasets.Column{c}
		for i := range out.Y {
			out.Y[i] = code(out.Y[i])
		}
	}
	grid, err := ToInstances(out)
	if err != nil {
		t.Fatal(err)
	}
	return grid
}

// relabeled returns a column with its categories in random order, and the map of its codes.
func relabeled(rng *rand.Rand, c datasets.Column) (datasets.Column, func(v float64) float64) {
	if c.Kind != datasets.Categorical {
		return c, func(v float64) float64 { return v }
	}
	old := c.Categories
	c.Categories = slices.Clone(old)
	rng.Shuffle(len(old), func(i, k int) { c.Categories[i], c.Categories[k] = c.Categories[k], c.Categories[i] })
	return c, func(v float64) float64 { return float64(slices.Index(c.Categories, old[int(v)])) }
}

// Rows to predict may have their attributes and levels in another order, a class attribute whose
// values are in another order, or none.
func TestPredictMatchesNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	data := datasets.Set{X: mat.NewDense(90, 3, nil), Y: make([]float64, 90), Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "a"}, {Name: "b"}, {Name: "word", Kind: datasets.Categorical,
			Categories: []string{"x", "y", "z"}}},
		Targets: []datasets.Column{{Name: "class", Kind: datasets.Categorical,
			Categories: []string{"low", "middle", "high"}}},
	}}
	for i := range 90 {
		data.X.(*mat.Dense).SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64(), float64(i % 3)})
		data.Y[i] = float64(i % 3)
		if rng.IntN(5) == 0 {
			data.Y[i] = float64(rng.IntN(3))
		}
	}
	columns := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())})
	spec := pipeline.Steps(columns).Then(estimator.NewLogistic())
	grid, err := ToInstances(data)
	if err != nil {
		t.Fatal(err)
	}
	c := NewClassifier(spec)
	if err := c.Fit(grid); err != nil {
		t.Fatal(err)
	}
	want, err := c.Predict(grid)
	if err != nil {
		t.Fatal(err)
	}
	bare := data
	bare.Y, bare.Schema.Targets = nil, nil
	for range 20 {
		for _, other := range []base.FixedDataGrid{shuffled(t, rng, data), shuffled(t, rng, bare)} {
			got, err := c.Predict(other)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 90 {
				if base.GetClass(want, i) != base.GetClass(got, i) {
					t.Fatalf("row %d: %s, was %s", i, base.GetClass(got, i), base.GetClass(want, i))
				}
			}
		}
	}
	bare.Schema.Columns = slices.Clone(bare.Schema.Columns)
	bare.Schema.Columns[0].Name = "c"
	if _, err := c.Predict(shuffled(t, rng, bare)); err == nil || !strings.Contains(err.Error(), "missing column a") {
		t.Errorf("error %v, want one that names the missing column", err)
	}
}

// TestSaveAndLoad checks that a saved model, alone or inside a golearn file, predicts the same.
func TestSaveAndLoad(t *testing.T) {
	_, grid := irises(t)
	c := NewClassifier(machine())
	if err := c.Save("nowhere"); !errors.Is(err, errNotFitted) {
		t.Errorf("saved before a fit: %v", err)
	}
	if err := c.Fit(grid); err != nil {
		t.Fatal(err)
	}
	alone, within := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	if err := c.Save(alone); err != nil {
		t.Fatal(err)
	}
	writer, err := base.CreateSerializedClassifierStub(within, c.GetMetadata())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SaveWithPrefix(writer, "CLASSIFIERS/0"); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	one, two := new(Classifier), NewClassifier(estimator.NewLogistic())
	if err := one.Load(alone); err != nil {
		t.Fatal(err)
	}
	reader, err := base.ReadSerializedClassifierStub(within)
	if err != nil {
		t.Fatal(err)
	}
	if reader.Metadata.ClassifierName != "bochner" {
		t.Errorf("metadata %+v", reader.Metadata)
	}
	if err := two.LoadWithPrefix(reader, "CLASSIFIERS/0"); err != nil {
		t.Fatal(err)
	}
	if err := two.LoadWithPrefix(reader, "CLASSIFIERS/1"); err == nil {
		t.Error("loaded what is not there")
	}
	want := predictions(t, c, grid)
	for _, back := range []*Classifier{one, two} {
		if got := predictions(t, back, grid); !slices.Equal(got, want) {
			t.Error("other predictions after loading")
		}
		if !strings.Contains(back.String(), "rff") {
			t.Errorf("it calls itself %s", back)
		}
	}
	if err := one.Fit(grid); err != nil {
		t.Errorf("fit after loading: %v", err)
	}
}

func predictions(t *testing.T, c base.Classifier, grid base.FixedDataGrid) []string {
	t.Helper()
	got, err := c.Predict(grid)
	if err != nil {
		t.Fatal(err)
	}
	_, n := got.Size()
	var out []string
	for i := range n {
		out = append(out, base.GetClass(got, i))
	}
	return out
}

// A search, a bare estimator, a binary class and several float classes are learned too.
func TestOtherSpecs(t *testing.T) {
	_, grid := irises(t)
	search := gridsearch.NewSearch(machine(), gridsearch.Axis{Path: "rff.gamma", Values: []any{0.01, 0.1}})
	for _, spec := range []estimator.Estimator{search, estimator.NewLogistic()} {
		c := NewClassifier(spec)
		if err := c.Fit(grid); err != nil {
			t.Fatal(err)
		}
		got, err := c.Predict(grid)
		if err != nil {
			t.Fatal(err)
		}
		table, err := evaluation.GetConfusionMatrix(grid, got)
		if err != nil {
			t.Fatal(err)
		}
		if a := evaluation.GetAccuracy(table); a < 0.9 {
			t.Errorf("%s: accuracy %v", c, a)
		}
		if err := c.Save(filepath.Join(t.TempDir(), "m")); err != nil {
			t.Error(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	numbers := datasets.Set{X: mat.NewDense(30, 2, nil), Targets: mat.NewDense(30, 2, nil)}
	for i := range 30 {
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}
		numbers.X.(*mat.Dense).SetRow(i, x)
		numbers.Targets.SetRow(i, []float64{x[0] - x[1], 3 * x[1]})
	}
	grid, err := ToInstances(numbers)
	if err != nil {
		t.Fatal(err)
	}
	ridge := estimator.NewRidge()
	ridge.Alpha = 1e-9
	c := NewClassifier(ridge)
	if err := c.Fit(grid); err != nil {
		t.Fatal(err)
	}
	message, err := c.Predict(grid)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range message.AllClassAttributes() {
		have, err := message.GetAttribute(a)
		if err != nil {
			t.Fatal(err)
		}
		want, err := grid.GetAttribute(a)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			if d := base.UnpackBytesToFloat(message.Get(have, i)) - base.UnpackBytesToFloat(grid.Get(want,
				i)); math.Abs(d) > 1e-6 {
				t.Fatalf("%s, row %d: off by %v", a.GetName(), i, d)
			}
		}
	}
}

// Several class attributes are several numbers; a categorical one among them is refused by name.
func TestSeveralClassAttributes(t *testing.T) {
	two := base.NewDenseInstances()
	two.AddAttribute(base.NewFloatAttribute("x"))
	word := newAttribute(datasets.Column{Name: "word", Kind: datasets.Categorical, Categories: []string{"a"}})
	number := base.NewFloatAttribute("number")
	two.AddAttribute(word)
	two.AddAttribute(number)
	if err := errors.Join(two.AddClassAttribute(word), two.AddClassAttribute(number), two.Extend(1)); err != nil {
		t.Fatal(err)
	}
	if err := NewClassifier(machine()).Fit(two); err == nil || !strings.Contains(err.Error(),
		"of which word is categorical") {
		t.Errorf("error %v, want one that names the categorical class attribute", err)
	}
}

func TestUnfitted(t *testing.T) {
	_, grid := irises(t)
	c := NewClassifier(machine())
	if _, err := c.Predict(grid); !errors.Is(err, errNotFitted) {
		t.Errorf("error %v", err)
	}
	for _, a := range grid.AllClassAttributes() {
		grid.RemoveClassAttribute(a)
	}
	if err := c.Fit(grid); err == nil || !strings.Contains(err.Error(), "no class attribute") {
		t.Errorf("error %v", err)
	}
	if err := new(Classifier).Fit(grid); err == nil {
		t.Error("fitted without a spec")
	}
}

// The predictions of golearn's own classifiers are targets without inputs.
func TestFromGridOfPredictions(t *testing.T) {
	_, grid := irises(t)
	predicted := base.GeneratePredictionVector(grid) // by which they all return predictions
	_, n := grid.Size()
	for i := range n {
		base.SetClass(predicted, i, base.GetClass(grid, i))
	}
	got, err := FromGrid(predicted)
	if err != nil {
		t.Fatal(err)
	}
	want, err := FromGrid(grid)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows() != want.Rows() || got.Cols() != 0 || !slices.Equal(got.Y, want.Y) ||
		!slices.Equal(got.Schema.Classes(), want.Schema.Classes()) {
		t.Errorf("%d×%d, classes %q", got.Rows(), got.Cols(), got.Schema.Classes())
	}
	if err := NewClassifier(estimator.NewLogistic()).Fit(predicted); !errors.Is(err, datasets.ErrEmpty) {
		t.Errorf("fit without inputs: %v", err)
	}
}
