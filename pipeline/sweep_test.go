package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// thirds are three folds.
func thirds(n int) []datasets.Fold {
	folds := make([]datasets.Fold, 3)
	for i := range n {
		for f := range folds {
			if i%3 == f {
				folds[f].Test = append(folds[f].Test, i)
			} else {
				folds[f].Train = append(folds[f].Train, i)
			}
		}
	}
	return folds
}

// grid returns the settings of every combination of values, the last path fastest.
func grid(t *testing.T, base estimator.Estimator, axes ...param.Setting) []estimator.Estimator {
	t.Helper()
	out := []estimator.Estimator{base}
	for _, axis := range axes {
		var next []estimator.Estimator
		for _, s := range out {
			for _, v := range axis.Value.([]any) {
				changed, err := param.With(s, param.Setting{Path: axis.Path, Value: v})
				if err != nil {
					t.Fatal(err)
				}
				next = append(next, changed.(estimator.Estimator))
			}
		}
		out = next
	}
	return out
}

type key struct{ setting, fold int }

// as returns the result of estimator.As.
func as[T any](p estimator.Predictor) (out T) {
	if !estimator.As(p, &out) {
		panic(fmt.Sprintf("%T is no %T", p, &out))
	}
	return out
}

func reportOf(p estimator.Predictor) estimator.Report {
	var r estimator.Reporter
	if !estimator.As(p, &r) {
		panic(fmt.Sprintf("%T makes no report", p))
	}
	return r.Report()
}

// fitAll fits all candidates on all folds as one batch.
func fitAll(ctx context.Context, s batch.Fitter, data datasets.Set, folds []datasets.Fold,
	settings []estimator.Estimator,
	yield func(setting, fold int, out batch.Outcome) error) ([]string, error) {
	return fitWanted(ctx, s, data, folds, settings, nil, yield)
}

// fitWanted is fitAll of some of them.
func fitWanted(ctx context.Context, s batch.Fitter, data datasets.Set, folds []datasets.Fold,
	settings []estimator.Estimator,
	want func(setting, fold int) bool, yield func(setting, fold int, out batch.Outcome) error) ([]string, error) {
	return s.FitBatch(ctx, batch.Job{Data: data, Folds: folds, Candidates: batch.Candidates(settings...), Include: want,
		Yield: yield})
}

// plannedBytes returns the planned memory of fitAll.
func plannedBytes(s batch.Fitter, shape datasets.Shape, folds []datasets.Fold,
	settings []estimator.Estimator) int64 {
	bytes, err := s.PlanBatch(batch.Job{Shape: shape, Folds: folds, Candidates: batch.Candidates(settings...)})
	if err != nil {
		panic(err)
	}
	return bytes
}

func sweep(t *testing.T, s batch.Fitter, data datasets.Set, folds []datasets.Fold,
	settings []estimator.Estimator) (map[key]batch.Outcome, []string) {
	t.Helper()
	got := map[key]batch.Outcome{}
	shared, err := fitAll(ctx, s, data, folds, settings, func(setting, fold int, outcome batch.Outcome) error {
		k := key{setting, fold}
		if _, twice := got[k]; twice {
			t.Errorf("setting %d on fold %d is yielded twice", setting, fold)
		}
		got[k] = outcome
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, shared
}

// TestSweepIsTheNaiveSearch checks that a sweep yields the results of separate fits, whatever is
// shared and for all memory limits.
func TestSweepIsTheNaiveSearch(t *testing.T) {
	data := people(330, 30)
	plain := numbers(330, 30)
	folds := thirds(330)
	weighted := data
	weighted.Weights = make([]float64, 330)
	for i := range weighted.Weights {
		weighted.Weights[i] = float64(1 + i%3)
	}
	type o = []any
	for name, c := range map[string]struct {
		data   datasets.Set
		base   pipeline.Pipeline
		axes   []param.Setting
		shared []string
	}{
		"fitted prefix": {data, pipeline.Steps(encoder(), fourier(12)).Then(exactLogistic()), []param.Setting{
			{Path: "columns.numeric.impute.strategy", Value: o{"mean", "median"}}, {Path: "rff.gamma", Value: o{0.1, 0.5}},
			{Path: "logistic.C", Value: o{0.1, 1.0, 10.0}}}, []string{"features", "prefix"}},
		"weights": {weighted, pipeline.Steps(encoder(), fourier(12)).Then(estimator.NewRidgeClassifier()), []param.Setting{
			{Path: "rff.gamma", Value: o{0.1, "scale"}}, {Path: "ridge_classifier.alpha", Value: o{0.1, 1.0}}},
			[]string{"features", "prefix"}},
		"steps without rows": {plain, pipeline.Steps(fourier(12)).Then(exactSVM()), []param.Setting{
			{Path: "rff.gamma", Value: o{1e-4, 1e-3}}, {Path: "svm.C", Value: o{0.1, 1.0}}}, []string{"features"}},
		"no steps": {plain, pipeline.Steps().Then(estimator.NewRidge()),
			[]param.Setting{{Path: "ridge.alpha", Value: o{1e-2, 1.0, 1e2}}}, nil},
		"nothing in common": {amounts(data), pipeline.Steps(encoder()).Then(estimator.NewRidge()), []param.Setting{
			{Path: "columns.numeric.impute.strategy", Value: o{"mean", "median"}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			settings := grid(t, c.base, c.axes...)
			want := map[key]estimator.Prediction{}
			for i, s := range settings {
				for f, fold := range folds {
					p, err := s.Fit(ctx, c.data.Select(fold.Train))
					if err != nil {
						t.Fatal(err)
					}
					if want[key{i, f}], err = estimator.Predict(ctx, p, rowblock.Select(c.data.X, fold.Test),
						estimator.Request{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, memory := range []int64{0, 20_000, 1} {
				base := c.base
				base.Memory = memory
				for i, s := range settings {
					p := s.(pipeline.Pipeline)
					p.Memory = memory
					settings[i] = p
				}
				got, shared := sweep(t, base, c.data, folds, settings)
				if len(got) != len(want) {
					t.Fatalf("%d results, want %d", len(got), len(want))
				}
				if memory == 0 && !slices.Equal(withoutInner(shared), c.shared) {
					t.Errorf("shared %v, want %v", shared, c.shared)
				}
				mapped := datasets.TagsOf(c.base.Estimator).SharedMaps
				for k, w := range want {
					outcome := got[k]
					if outcome.Err != nil || outcome.Seconds <= 0 {
						t.Fatalf("setting %d on fold %d: %v, %v s", k.setting, k.fold, outcome.Err, outcome.Seconds)
					}
					agree(t, fmt.Sprintf("memory %d, setting %d on fold %d", memory, k.setting, k.fold),
						outcome.Prediction, w, mapped || memory != 0)
				}
			}
		})
	}
}

// exactLogistic and exactSVM are solved so well that where the solver began does not show.
func exactLogistic() estimator.Logistic {
	s := estimator.NewLogistic()
	s.Tol = 1e-11
	return s
}

func exactSVM() estimator.SVM {
	s := estimator.NewSVM()
	s.Tol = 1e-11
	return s
}

// withoutInner removes the names of work shared by estimators.
func withoutInner(shared []string) []string {
	var out []string
	for _, name := range shared {
		if name == "prefix" || name == "features" {
			out = append(out, name)
		}
	}
	return out
}

// agree compares predictions, to rounding or to the bit.
func agree(t *testing.T, what string, got, want estimator.Prediction, rounded bool) {
	t.Helper()
	if !rounded {
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the prediction is another", what)
		}
		return
	}
	if (got.Scores == nil) != (want.Scores == nil) || (got.Probabilities == nil) != (want.Probabilities == nil) ||
		(got.Targets == nil) != (want.Targets == nil) {
		t.Fatalf("%s: the prediction has other parts", what)
	}
	if got.Scores == nil {
		close(t, what, mat.NewDense(len(got.Values), 1, got.Values), mat.NewDense(len(want.Values), 1, want.Values), 1e-8)
		return
	}
	close(t, what, got.Scores, want.Scores, 1e-6)
}

// Each distinct prefix is fitted once per fold, and once for all folds if it does not depend on
// rows.
func TestSweepFitsPrefixesOnce(t *testing.T) {
	data := numbers(90, 31)
	folds := thirds(90)
	for _, c := range []struct {
		rowed bool
		want  int64
	}{{true, 2 * 3}, {false, 2}} {
		fits := new(atomic.Int64)
		base := pipeline.Steps(mirror{Factor: 1, Fits: fits, Rowed: c.rowed}).Then(estimator.NewRidge())
		settings := grid(t, base, param.Setting{Path: "mirror.factor", Value: []any{1.0, 2.0}},
			param.Setting{Path: "ridge.alpha", Value: []any{1.0, 2.0, 3.0, 4.0}})
		sweep(t, base, data, folds, settings)
		if got := fits.Load(); got != c.want {
			t.Errorf("8 settings on 3 folds, looking at rows %v: %d fits, want %d", c.rowed, got, c.want)
		}
	}
}

// TestSweepIsTheSameOnOneCore checks that the results do not depend on the number of cores.
func TestSweepIsTheSameOnOneCore(t *testing.T) {
	data := people(200, 32)
	base := pipeline.Steps(encoder(), fourier(20)).Then(estimator.NewLogistic())
	settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.1, 0.3}},
		param.Setting{Path: "rff.features", Value: []any{8, 20}}, param.Setting{Path: "logistic.C", Value: []any{0.1, 1.0}})
	many, _ := sweep(t, base, data, thirds(200), settings)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, _ := sweep(t, base, data, thirds(200), settings)
	for k := range many {
		if !reflect.DeepEqual(many[k].Prediction, one[k].Prediction) {
			t.Errorf("setting %d on fold %d differs", k.setting, k.fold)
		}
	}
}

// TestSweepYieldsErrors checks that a setting that cannot be fitted yields its error for every fold
// and does not stop the others.
func TestSweepYieldsErrors(t *testing.T) {
	data := amounts(people(90, 33))
	base := pipeline.Steps(encoder()).Then(estimator.NewRidge())
	broken := pipeline.Steps(mirror{Fail: "no luck", Rowed: true}).Then(estimator.NewRidge())
	bad := pipeline.Steps(fourier(0)).Then(estimator.NewRidge())
	late := pipeline.Steps(mirror{Factor: 1}, mirror{}).Then(estimator.NewRidge())
	logistic := estimator.NewLogistic()
	one := data // a fold of one class only
	one.Y = slices.Clone(data.Y)
	folds := thirds(90)
	for _, i := range folds[0].Train {
		one.Y[i] = 1
	}
	got, _ := sweep(t, base, one, folds, []estimator.Estimator{base, broken, broken, bad, late,
		pipeline.Steps(encoder()).Then(logistic)})
	for f := range folds {
		if err := got[key{0, f}].Err; err != nil {
			t.Errorf("a sound setting: %v", err)
		}
		for i, want := range map[int]string{1: `pipeline: step "mirror": no luck`, 2: `pipeline: step "mirror": no luck`,
			3: "pipeline: rff.features: ", 4: `pipeline: two steps are called "mirror"`} {
			if err := got[key{i, f}].Err; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("setting %d on fold %d: %v, want %s", i, f, err, want)
			}
		}
	}
	if err := got[key{5, 0}].Err; err == nil || got[key{5, 1}].Err != nil {
		t.Errorf("one class: %v; two: %v", err, got[key{5, 1}].Err)
	}
}

func TestSweepRefuses(t *testing.T) {
	data := amounts(people(30, 34))
	base := pipeline.Steps(encoder()).Then(estimator.NewRidge())
	none := func(int, int, batch.Outcome) error { return nil }
	for _, c := range []struct {
		folds    []datasets.Fold
		settings []estimator.Estimator
		want     string
	}{
		{thirds(30), []estimator.Estimator{mean{}}, "pipeline: candidate 0 must be a pipeline.Pipeline, got pipeline_test.mean"},
		{[]datasets.Fold{{Train: []int{0}, Test: []int{30}}}, nil, "pipeline: fold 0: row must be from 0 to 29, got 30"},
		{[]datasets.Fold{{Train: []int{0}}}, nil, "pipeline: fold 0 must have training and test rows, got 1 and 0"},
	} {
		if _, err := fitAll(ctx, base, data, c.folds, c.settings, none); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	enough := errors.New("enough")
	yields := 0
	settings := slices.Repeat([]estimator.Estimator{base}, 20)
	_, err := fitAll(ctx, base, data, thirds(30), settings, func(int, int, batch.Outcome) error {
		yields++
		return enough
	})
	if err != enough || yields != 1 {
		t.Errorf("after %d results: %v", yields, err)
	}
	stopped, cancel := context.WithCancel(ctx)
	yields = 0
	_, err = fitAll(stopped, base, data, thirds(30), settings, func(int, int, batch.Outcome) error {
		yields++
		cancel()
		return nil
	})
	if err != context.Canceled || yields != 1 {
		t.Errorf("cancelled after %d results: %v", yields, err)
	}
}

// A sweep of random settings in random order is the naive search too.
func TestSweepOfRandomSettings(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	data := people(120, 35)
	folds := thirds(120)
	base := pipeline.Steps(encoder(), fourier(6)).Then(exactLogistic())
	for range 5 {
		var settings []estimator.Estimator
		for range 1 + rng.IntN(8) {
			s, err := param.With(base,
				param.Setting{Path: "columns.numeric.impute.strategy", Value: []string{"mean", "median"}[rng.IntN(2)]},
				param.Setting{Path: "rff.features", Value: 4 + 2*rng.IntN(2)},
				param.Setting{Path: "logistic.C", Value: float64(1 + rng.IntN(3))})
			if err != nil {
				t.Fatal(err)
			}
			settings = append(settings, s.(estimator.Estimator))
		}
		got, _ := sweep(t, base, data, folds, settings)
		for i, s := range settings {
			for f, fold := range folds {
				p, err := s.Fit(ctx, data.Select(fold.Train))
				if err != nil {
					t.Fatal(err)
				}
				want, err := estimator.Predict(ctx, p, rowblock.Select(data.X, fold.Test), estimator.Request{})
				if err != nil {
					t.Fatal(err)
				}
				sweeps := datasets.TagsOf(base.Estimator).SharedMaps
				agree(t, fmt.Sprintf("setting %d on fold %d", i, f), got[key{i, f}].Prediction, want, sweeps)
			}
		}
	}
}

// crowd is an estimator that counts its concurrent fits. A fit waits for others to join it.
type crowd struct {
	Weight        float64
	running, most *atomic.Int64
}

func (c *crowd) Params(l *param.List) { l.Float(&c.Weight, "weight", "of nothing", param.Any()) }

func (c crowd) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	now := c.running.Add(1)
	defer c.running.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	for range 20 {
		if c.most.Load() > 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return mean{}.Fit(ctx, data)
}

// Tasks that do not fit in memory together run sequentially.
func TestSweepRespectsMemory(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	data := numbers(300, 3)
	c := crowd{running: new(atomic.Int64), most: new(atomic.Int64)}
	base := pipeline.Steps(transformer.NewStandardize()).Then(c)
	base.Name, base.Memory = "crowd", 1
	settings := grid(t, base, param.Setting{Path: "crowd.weight", Value: []any{1.0, 2.0}})
	sweep(t, base, data, thirds(300), settings)
	if most := c.most.Load(); most != 1 {
		t.Errorf("%d fits at once", most)
	}
}
