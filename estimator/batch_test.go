package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
)

// outcomes contains the outcomes of a batch by candidate and fold.
type outcomes map[[2]int]batch.Outcome

func fitBatch(t *testing.T, data datasets.Set, folds []datasets.Fold, specs []estimator.Estimator) (outcomes,
	[]string) {
	t.Helper()
	out := outcomes{}
	shared, err := specs[0].(batch.Fitter).FitBatch(context.Background(), jobOf(data, folds, specs,
		func(candidate, fold int, one batch.Outcome) error {
			if _, twice := out[[2]int{candidate, fold}]; twice {
				t.Errorf("candidate %d on fold %d twice", candidate, fold)
			}
			out[[2]int{candidate, fold}] = one
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != len(specs)*len(folds) {
		t.Fatalf("%d results for %d specs and %d folds", len(out), len(specs), len(folds))
	}
	return out, shared
}

func jobOf(data datasets.Set, folds []datasets.Fold, specs []estimator.Estimator,
	yield func(candidate, fold int, out batch.Outcome) error) batch.Job {
	return batch.Job{Data: data, Folds: folds, Candidates: batch.Candidates(specs...), Yield: yield}
}

// equalsNaive fits every candidate on every fold and compares.
func equalsNaive(t *testing.T, data datasets.Set, folds []datasets.Fold, specs []estimator.Estimator, got outcomes) {
	t.Helper()
	ctx := context.Background()
	for i, s := range specs {
		for f, fold := range folds {
			one := got[[2]int{i, f}]
			p, err := s.Fit(ctx, data.Select(fold.Train))
			if err != nil {
				if one.Err == nil || one.Err.Error() != err.Error() {
					t.Errorf("candidate %d, fold %d: %v, want %v", i, f, one.Err, err)
				}
				continue
			}
			if one.Err != nil {
				t.Errorf("candidate %d, fold %d: %v", i, f, one.Err)
				continue
			}
			want, err := estimator.Predict(ctx, p, rowblock.Select(data.X, fold.Test), estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("candidate %d, fold %d", i, f)
			if want.Scores == nil {
				near(t, what, one.Values, want.Values, 1e-8)
				near(t, what, one.Targets.RawMatrix().Data, want.Targets.RawMatrix().Data, 1e-8)
			} else {
				near(t, what, one.Scores.RawMatrix().Data, want.Scores.RawMatrix().Data, 1e-8)
			}
			near(t, what+": objective", []float64{one.Report.Objective}, []float64{p.(estimator.Reporter).Report().Objective},
				1e-6)
		}
	}
}

// foldsOf cuts n rows, shuffled, into k folds.
func foldsOf(n, k int) []datasets.Fold {
	order := rand.New(rand.NewPCG(6, 6)).Perm(n)
	folds := make([]datasets.Fold, k)
	for f := range folds {
		test := slices.Clone(order[f*n/k : (f+1)*n/k])
		slices.Sort(test)
		folds[f].Test = test
		for i := range n {
			if _, tested := slices.BinarySearch(test, i); !tested {
				folds[f].Train = append(folds[f].Train, i)
			}
		}
	}
	return folds
}

func ridges(alphas ...float64) (out []estimator.Estimator) {
	for _, a := range alphas {
		s := estimator.NewRidge()
		s.Alpha = a
		out = append(out, s)
		s.Intercept = false
		out = append(out, s)
	}
	return out
}

// A batch of ridge is the naive search to rounding: with weights, several targets, columns far from
// the origin, sparse rows, and folds of every shape.
func TestRidgeBatchIsTheNaiveSearch(t *testing.T) {
	const n = 70
	x, codes, y, weights := noisy(31, n, 4)
	for i := range n {
		x.Set(i, 3, 1000+x.At(i, 3))
	}
	targets := mat.NewDense(n, 2, nil)
	targets.SetCol(0, y)
	targets.SetCol(1, codes)
	specs := ridges(1e-6, 0.1, 30)
	specs[3] = func() estimator.Ridge { s := specs[3].(estimator.Ridge); s.Solver = "dual"; return s }()
	specs[5] = estimator.Ridge{Alpha: -3}
	// some rows in neither
	folds := append(foldsOf(n, 5), datasets.Fold{Train: foldsOf(n, 2)[0].Test[:30], Test: []int{1, 5}})
	for _, c := range []struct {
		data   datasets.Set
		shared []string
	}{
		{datasets.Set{X: x, Targets: targets}, []string{"folds", "alpha"}},
		{datasets.Set{X: x, Targets: targets, Weights: weights}, []string{"folds", "alpha"}},
		{datasets.Set{X: matrices.CSRFromDense(x), Targets: targets, Weights: weights}, []string{"folds", "alpha"}},
	} {
		got, shared := fitBatch(t, c.data, folds, specs)
		if !slices.Equal(shared, c.shared) {
			t.Errorf("shared %q, want %q", shared, c.shared)
		}
		equalsNaive(t, c.data, folds, specs, got)
	}
}

// Degenerate folds: one fold with nearly all the weight, duplicated and constant columns, a column
// that only the test rows have, and alpha 0. Sums that subtraction would make inaccurate are
// recomputed.
func TestRidgeBatchOfDegenerateFolds(t *testing.T) {
	const n = 40
	x, _, y, weights := noisy(32, n, 6)
	folds := foldsOf(n, 4)
	for i := range n {
		x.Set(i, 1, x.At(i, 0)) // twice the same
		x.Set(i, 2, 0.1)        // constant
		x.Set(i, 3, 0)
		x.Set(i, 4, 5)
		weights[i]++
	}
	for _, i := range folds[2].Test {
		x.Set(i, 3, 1) // zero in training
		x.Set(i, 4, float64(i))
		weights[i] = 1e5
	}
	data := datasets.Set{X: x, Y: y, Weights: weights}
	specs := ridges(0, 1e-8, 1)
	got, _ := fitBatch(t, data, folds, specs)
	equalsNaive(t, data, folds, specs, got)
}

func TestRidgeClassifierSweepIsTheNaiveSearch(t *testing.T) {
	const n = 90
	x, _, y, weights := noisy(33, n, 4)
	for i, v := range y {
		y[i] = math.Floor(math.Min(2, math.Max(0, v-4)))
	}
	var specs []estimator.Estimator
	for _, alpha := range []float64{0.01, 1, 100} {
		s := estimator.NewRidgeClassifier()
		s.Alpha = alpha
		specs = append(specs, s)
		s.ClassWeight.Balanced = true
		specs = append(specs, s)
		s.ClassWeight = estimator.ClassWeight{Weights: map[string]float64{"b": 4}}
		specs = append(specs, s)
	}
	data := datasets.Set{X: x, Y: y, Weights: weights, Schema: datasets.Schema{
		Targets: []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"a", "b", "c"}}}}}
	folds := foldsOf(n, 5)
	only := datasets.Fold{Test: []int{0, 1}} // training rows all of one class
	for i, v := range y {
		if v == y[2] && i > 1 {
			only.Train = append(only.Train, i)
		}
	}
	folds = append(folds, only)
	got, shared := fitBatch(t, data, folds, specs)
	if !slices.Equal(shared, []string{"folds", "alpha"}) {
		t.Errorf("shared %q", shared)
	}
	equalsNaive(t, data, folds, specs, got)
	if err := got[[2]int{0, 5}].Err; err == nil || !strings.Contains(err.Error(), "must have at least two classes") {
		t.Errorf("one class: %v", err)
	}
}

// A search that is resumed fits fewer specs and folds; their results are the same bits.
func TestRidgeBatchIndependentOfOthers(t *testing.T) {
	const n = 60
	x, _, y, _ := noisy(34, n, 5)
	data := datasets.Set{X: x, Y: y}
	folds, specs := foldsOf(n, 4), ridges(0.1, 1, 10)
	all, _ := fitBatch(t, data, folds, specs)
	part, shared := fitBatch(t, data, folds[2:3], specs[4:5])
	if len(shared) != 0 {
		t.Errorf("one candidate on one fold shares %q", shared)
	}
	if got, want := part[[2]int{0, 0}], all[[2]int{4, 2}]; !reflect.DeepEqual(got.Prediction, want.Prediction) {
		t.Errorf("%v alone, %v with the others", got.Values, want.Values)
	}
}

func TestRidgeBatchEndsWithTheFirstErrorOfYield(t *testing.T) {
	x, _, y, _ := noisy(35, 30, 2)
	enough := errors.New("enough")
	calls := 0
	_, err := estimator.NewRidge().FitBatch(context.Background(),
		jobOf(datasets.Set{X: x, Y: y}, foldsOf(30, 3), ridges(1, 2),
			func(candidate, fold int, one batch.Outcome) error { calls++; return enough }))
	if err != enough || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = estimator.NewRidge().FitBatch(ctx, jobOf(datasets.Set{X: x, Y: y}, foldsOf(30, 3), ridges(1),
		func(candidate, fold int, one batch.Outcome) error { t.Error("yielded"); return nil }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
