package auto

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/pipeline"
)

func noise(n, d int) datasets.Set {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = X.At(i, 0) + 0.1*rng.NormFloat64()
	}
	return datasets.Set{X: X, Y: y}
}

// What learns from targets sees no target that it is judged on: other targets of the test rows of a fold leave their
// predictions as they are. Other targets of the training rows do not.
func TestRepresentationsSeeNoTestTargets(t *testing.T) {
	for _, c := range []struct {
		data  datasets.Set
		names []string
	}{
		{noise(300, 3), []string{"scales exact gaussian kernel_ridge",
			"machine exact gaussian kernel_ridge"}[:exhaustive.Of(1, 2)]},
		{categories(300, 30), []string{"columns exact product kernel_ridge", "targets exact gaussian kernel_ridge",
			"target scales exact gaussian kernel_ridge"}},
		{noise(minSharedLessons+100, 3), []string{"scales gaussian ridge"}},
	}[:exhaustive.Of(2, 3)] {
		for _, name := range c.names {
			o := NewOptions()
			o.Candidates, o.Recipes = 10, []string{name}
			predictions := func(change func(tested []int, y []float64)) []float64 {
				data := c.data
				data.Y = slices.Clone(data.Y)
				r, err := newRun(data, o)
				if err != nil {
					t.Fatal(err)
				}
				d, err := r.divide(data.Rows())
				if err != nil {
					t.Fatal(err)
				}
				change(d.rows(0), data.Y)
				out, err := r.try(context.Background(), data.Rows(), 0, []point{{size: 64}})
				if err != nil || out[0].Failed != "" {
					t.Fatal(name, err, out)
				}
				return rowsOf(out[0].Output, d.scores[0]).Values
			}
			before := predictions(func([]int, []float64) {})
			if after := predictions(func(tested []int, y []float64) {
				for _, i := range tested {
					y[i] += 5 * c.data.X.At(i, 1)
				}
			}); !slices.Equal(before, after) {
				t.Errorf("%s: other targets of the test rows change their predictions", name)
			}
			if after := predictions(func(tested []int, y []float64) {
				for i := range y {
					if !slices.Contains(tested, i) {
						y[i] += 5 * c.data.X.At(i, 1)
					}
				}
			}); slices.Equal(before, after) {
				t.Errorf("%s: other targets of the training rows change nothing", name)
			}
		}
	}
}

// Rows that representations learn from are training rows of every fold, and every other row is tested on.
func TestLessonsAreNotTestedOn(t *testing.T) {
	n := minSharedLessons + 500
	r, err := newRun(noise(n, 2), NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	lessons := r.lessonRows
	for _, rows := range []int{2000, n} {
		d, err := r.divide(rows)
		if err != nil {
			t.Fatal(err)
		}
		numbers := slices.Sorted(slices.Values(r.order[:rows]))
		tested := 0
		for _, f := range d.folds {
			tested += len(f.Test)
			for _, i := range f.Test {
				if _, found := slices.BinarySearch(lessons, numbers[i]); found {
					t.Fatalf("row %d is learned from and tested on", numbers[i])
				}
			}
			if len(f.Train)+len(f.Test) != rows {
				t.Errorf("%d rows are in a fold of %d", len(f.Train)+len(f.Test), rows)
			}
		}
		within := 0
		for _, i := range numbers {
			if _, found := slices.BinarySearch(lessons, i); found {
				within++
			}
		}
		if tested != rows-within {
			t.Errorf("%d of %d rows are tested on, %d are learned from", tested, rows, within)
		}
	}
	grouped := noise(n, 2)
	grouped.Groups = make([]int, n)
	for i := range grouped.Groups {
		grouped.Groups[i] = i / 10
	}
	if r, err = newRun(grouped, NewOptions()); err != nil || r.lessonRows != nil {
		t.Errorf("rows of a group are learned from and tested on: %v", err)
	}
}

// Every step and model that a recipe names is registered, and takes the settings that it is given.
func TestRecipesAreRegistered(t *testing.T) {
	for _, task := range []datasets.Task{datasets.Regression, datasets.Classification} {
		for _, k := range table(task, representations, false) {
			parts := []part{k.scale, k.learn, k.mapping.step, k.model}
			for _, p := range parts {
				if p.name == "" {
					continue
				}
				if _, err := p.spec(); err != nil {
					t.Errorf("%s: %v", k, err)
				}
			}
		}
	}
	if _, ok := pipeline.Lookup("no such step"); ok {
		t.Error("everything is registered")
	}
}

// Exportable leaves out the maps that cannot be exported, and no others.
func TestExportableRecipes(t *testing.T) {
	ctx, data := context.Background(), noise(80, 8)
	for _, m := range mappings {
		if m.step.name == "" || m.exact() {
			continue
		}
		step, err := m.step.fitter()
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := pipeline.Steps(step).Then(estimator.NewRidge()).Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New(make([]graph.Input, data.Cols()))
		if _, err := estimator.Export(g, fitted, g.Input()); (err == nil) != m.exports() {
			t.Errorf("%s: exports %v, and the error is %v", m.name, m.exports(), err)
		}
	}
	o := NewOptions()
	all, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Exportable = true
	some, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(slices.Clone(all.table), func(k recipe) bool { return k.mapping.step.name == "binning" })
	if len(want) == len(all.table) || len(some.table) != len(want) {
		t.Errorf("%d recipes of %d can be exported, want %d", len(some.table), len(all.table), len(want))
	}
}

// The model of a learned step can be written: its spec is that of the step.
func TestLearnedStepsAreWritten(t *testing.T) {
	ctx, o := context.Background(), NewOptions()
	o.Candidates, o.Recipes = 10, []string{"scales exact gaussian kernel_ridge"}
	r, err := newRun(noise(60, 2), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.fit(ctx, single(scored{point: point{penalty: -8}}), 1, 60, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := r.measure(ctx, r.incumbent.model); err != nil {
		t.Error(err)
	}
}

// A computation whose context ended is repeated by the next caller; any other failure is final.
func TestMakingAgain(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	asked := 0
	var m lazyValue[int]
	if _, err := m.get(ended, func() (int, error) { asked++; return 0, ended.Err() }); err == nil {
		t.Error("made after its context had ended")
	}
	if v, err := m.get(context.Background(), func() (int, error) { asked++; return 7, nil }); v != 7 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	var failing lazyValue[int]
	for range 2 {
		_, err := failing.get(context.Background(), func() (int, error) { asked++; return 0, searchloop.ErrEnded })
		if err == nil {
			t.Error("no error")
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

// TestModelsOfManyBins checks that on random bins of many rows support vector machines enter in the first round, and
// ridge classifiers, whose iterations take longer, later or not at all.
func TestModelsOfManyBins(t *testing.T) {
	for _, c := range []struct {
		rows, classes int
		early         string
		ridge         bool
	}{{4000, 2, "ridge_classifier", true}, {6000, 2, "svm", true}, {6000, 3, "svm", false}, {21_000, 2, "svm", false}} {
		data := noise(c.rows, 8)
		target := datasets.Column{Name: "class", Kind: datasets.Categorical}
		for k := range c.classes {
			target.Categories = append(target.Categories, string(rune('a'+k)))
		}
		for i := range data.Y {
			data.Y[i] = float64(i % c.classes)
		}
		data.Schema.Targets = []datasets.Column{target}
		r, err := newRun(data, NewOptions())
		if err != nil {
			t.Fatal(err)
		}
		early, ridge := map[string]bool{}, false
		for _, k := range r.table {
			if k.sparse() {
				early[k.model.name] = early[k.model.name] || !k.late
				ridge = ridge || k.model.name == "ridge_classifier"
			}
		}
		if !early[c.early] || len(early) == 0 || ridge != c.ridge ||
			c.early == "svm" && early["ridge_classifier"] || c.early != "svm" && early["svm"] {
			t.Errorf("%d rows, %d classes: early %v, ridge classifiers %v", c.rows, c.classes, early, ridge)
		}
	}
}
