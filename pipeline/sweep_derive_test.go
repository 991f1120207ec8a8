package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func (c countedARD) FirstStage() transformer.Fitter {
	c.ARD = c.ARD.FirstStage().(transformer.ARD)
	return c
}

func (c countedARD) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	c.Fits.Add(1)
	return c.ARD.FitSource(ctx, data)
}

// countedQuantile counts its fits.
type countedQuantile struct {
	transformer.Quantile
	Fits *atomic.Int64
}

func (c countedQuantile) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	c.Fits.Add(1)
	return c.Quantile.Fit(ctx, data)
}

func (c countedQuantile) FirstStage() transformer.Fitter {
	c.Quantile = c.Quantile.FirstStage().(transformer.Quantile)
	return c
}

// TestSweepDerives checks that a search over parameters of the second stage fits the first stage
// once for each fold, for all memory limits and precisions, with the results of separate fits, bit
// for bit.
func TestSweepDerives(t *testing.T) {
	type o = []any
	data, folds, fits := numbers(150, 12), thirds(150), new(atomic.Int64)
	scaling := pipeline.Step{Name: "ard", Fitter: countedARD{scales(), fits}}
	ranking := pipeline.Step{Name: "quantile", Fitter: countedQuantile{transformer.NewQuantile(), fits}}
	powers := []param.Setting{{Path: "ard.power", Value: o{0.5, 1.0, 2.0}}, {Path: "ard.floor", Value: o{0.0, 0.1}}}
	single := pipeline.Pipeline{Steps: []pipeline.Step{scaling}, Estimator: estimator.NewRidge(),
		Precision: pipeline.Float32}
	for name, c := range map[string]struct {
		base pipeline.Pipeline
		axes []param.Setting
		fits int // for each fold
	}{
		"before a map": {pipeline.Pipeline{Steps: []pipeline.Step{scaling, {Fitter: fourier(24)}},
			Estimator: estimator.NewRidge()}, powers, 1},
		"the last step":    {pipeline.Pipeline{Steps: []pipeline.Step{scaling}, Estimator: estimator.NewRidge()}, powers, 1},
		"single precision": {single, powers, 1},
		"single precision before a map": {pipeline.Pipeline{Steps: []pipeline.Step{scaling, {Fitter: fourier(24)}},
			Estimator: estimator.NewRidge(), Precision: pipeline.Float32}, powers, 1},
		"of two learners": {pipeline.Pipeline{Steps: []pipeline.Step{scaling}, Estimator: estimator.NewRidge()},
			append([]param.Setting{{Path: "ard.steps", Value: o{3, 5}}}, powers...), 2},
		"of equal steps": {pipeline.Pipeline{Steps: []pipeline.Step{scaling,
			{Name: "again", Fitter: countedARD{scales(), fits}}}, Estimator: estimator.NewRidge()},
			[]param.Setting{{Path: "ard.power", Value: o{0.5, 2.0}}, {Path: "ridge.alpha", Value: o{0.1, 1.0}}}, 1 + 2},
		"of two steps": {pipeline.Pipeline{Steps: []pipeline.Step{ranking, scaling}, Estimator: estimator.NewRidge()},
			append([]param.Setting{{Path: "quantile.output", Value: o{"uniform", "normal"}}}, powers...), 1 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, memory := range []int64{0, 1} {
				c.base.Memory = memory
				settings := grid(t, c.base, c.axes...)
				fits.Store(0)
				got, shared := sweep(t, c.base, data, folds, settings)
				want := int64(c.fits * len(folds))
				// without shared rows, the second step fits its first stage for each candidate
				if strings.HasSuffix(name, "steps") && memory == 1 {
					want = int64((1 + len(settings)) * len(folds))
				}
				if n := fits.Load(); n != want {
					t.Errorf("memory %d: %d candidates on %d folds: %d fits, want %d", memory, len(settings), len(folds), n, want)
				}
				if !slices.Contains(shared, "prefix") {
					t.Errorf("memory %d: shared %v, want a prefix", memory, shared)
				}
				for k, outcome := range got {
					if outcome.Err != nil {
						t.Fatal(outcome.Err)
					}
					if want := alone(t, settings[k.setting], data,
						folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
						t.Fatalf("memory %d: candidate %d on fold %d predicts something else than alone", memory, k.setting, k.fold)
					}
				}
			}
		})
	}
}

// chained is a composite of one's own.
type chained struct{ pipeline.Chain }

func (c chained) WithChildren(steps []pipeline.Step) transformer.Fitter {
	c.Steps = steps
	return c
}

// TestSweepDerivesInside checks that first stages inside composites are fitted once for equal input
// rows.
func TestSweepDerivesInside(t *testing.T) {
	type o = []any
	data, folds, fits := people(150, 12), thirds(150), new(atomic.Int64)
	scaling := pipeline.Step{Name: "ard", Fitter: countedARD{scales(), fits}}
	ranking := pipeline.Step{Name: "quantile", Fitter: countedQuantile{transformer.NewQuantile(), fits}}
	impute, standardize, onehot := pipeline.Step{Fitter: transformer.NewImpute()},
		pipeline.Step{Fitter: transformer.NewStandardize()}, pipeline.Step{Fitter: transformer.NewOneHot()}
	strs := pipeline.Group{Name: "categories", Select: []string{"categorical"}, Steps: []pipeline.Step{onehot}}
	columns := func(steps ...pipeline.Step) pipeline.Step {
		return pipeline.Step{Name: "columns", Fitter: pipeline.NewColumns(pipeline.Group{Name: "n",
			Select: []string{"numeric"}, Steps: append([]pipeline.Step{impute}, steps...)}, strs)}
	}
	chain := func(steps ...pipeline.Step) pipeline.Step {
		return pipeline.Step{Name: "chain", Fitter: pipeline.Chain{Steps: steps}}
	}
	fourier := pipeline.Step{Name: "rff", Fitter: fourier(24)}
	axes := func(at string, more ...param.Setting) []param.Setting {
		return append(more, param.Setting{Path: at + "ard.power", Value: o{0.5, 2.0}},
			param.Setting{Path: at + "ard.floor", Value: o{0.0, 0.1}})
	}
	for name, c := range map[string]struct {
		steps []pipeline.Step
		axes  []param.Setting
		fits  int // for each fold
	}{
		"a group before a map": {[]pipeline.Step{columns(standardize, scaling), fourier}, axes("columns.n."), 1},
		"a group at the end":   {[]pipeline.Step{columns(scaling)}, axes("columns.n."), 1},
		"with its map": {[]pipeline.Step{columns(scaling, fourier)},
			axes("columns.n.", param.Setting{Path: "columns.n.rff.gamma", Value: o{0.5, 1.0}}), 1},
		"with several models": {[]pipeline.Step{columns(scaling)},
			axes("columns.n.", param.Setting{Path: "ridge.alpha", Value: o{0.5, 1.0}}), 1},
		"one behind another": {[]pipeline.Step{columns(ranking, scaling)},
			axes("columns.n.", param.Setting{Path: "columns.n.quantile.output", Value: o{"uniform", "normal"}}), 1 + 2},
		"behind what differs": {[]pipeline.Step{columns(scaling)},
			axes("columns.n.", param.Setting{Path: "columns.n.impute.strategy", Value: o{"mean", "median"}}), 2},
		"two learners": {[]pipeline.Step{columns(scaling)},
			axes("columns.n.", param.Setting{Path: "columns.n.ard.steps", Value: o{3, 5}}), 2},
		"two parts": {[]pipeline.Step{columns(), {Name: "union", Fitter: pipeline.Union{Parts: []pipeline.Step{chain(scaling,
			fourier), ranking}}}},
			axes("union.chain.", param.Setting{Path: "union.quantile.output", Value: o{"uniform", "normal"}}), 2},
		"deep": {[]pipeline.Step{columns(chain(standardize, pipeline.Step{Name: "union",
			Fitter: pipeline.NewUnion(chained{pipeline.Chain{Steps: []pipeline.Step{scaling}}})}))},
			axes("columns.n.chain.union.chained."), 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, memory := range []int64{0, 1} {
				if name == "two parts" && memory == 1 { // the rows are not shared that come to them
					continue
				}
				base := pipeline.Pipeline{Steps: c.steps, Estimator: estimator.NewRidgeClassifier(), Memory: memory}
				if name == "with several models" {
					base.Estimator, base.Name = estimator.NewRidgeClassifier(), "ridge"
				}
				settings := grid(t, base, c.axes...)
				fits.Store(0)
				got, shared := sweep(t, base, data, folds, settings)
				if n, want := fits.Load(), int64(c.fits*len(folds)); n != want {
					t.Errorf("memory %d: %d candidates on %d folds: %d fits, want %d", memory, len(settings), len(folds), n, want)
				}
				if !slices.Contains(shared, "prefix") {
					t.Errorf("memory %d: shared %v, want a prefix", memory, shared)
				}
				for k, outcome := range got {
					if outcome.Err != nil {
						t.Fatal(outcome.Err)
					}
					agree(t, fmt.Sprintf("memory %d: candidate %d on fold %d", memory, k.setting, k.fold),
						outcome.Prediction, alone(t, settings[k.setting], data, folds[k.fold]), true)
				}
			}
		})
	}
}

// TestSweepDerivesFromTheSameColumns checks that groups with other columns do not share first
// stages.
func TestSweepDerivesFromTheSameColumns(t *testing.T) {
	data, folds, fits := numbers(150, 12), thirds(150), new(atomic.Int64)
	var settings []estimator.Estimator
	for _, name := range []string{"age", "hours"} {
		group := pipeline.Group{Name: "n", Select: []string{name},
			Steps: []pipeline.Step{{Name: "ard", Fitter: countedARD{scales(), fits}}}}
		base := pipeline.Steps(pipeline.NewColumns(group)).Then(estimator.NewRidge())
		settings = append(settings, grid(t, base, param.Setting{Path: "columns.n.ard.power", Value: []any{0.5, 2.0}})...)
	}
	got, _ := sweep(t, settings[0].(pipeline.Pipeline), data, folds, settings)
	if n := fits.Load(); n != 2*3 {
		t.Errorf("%d fits on 3 folds, want one for each column", n)
	}
	for k, outcome := range got {
		if want := alone(t, settings[k.setting], data,
			folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
			t.Errorf("candidate %d on fold %d predicts something else than alone: %v", k.setting, k.fold, outcome.Err)
		}
	}
}

// TestSweepDerivesFromAnyInCommon checks that a candidate shares first stages with two others that
// share nothing with each other.
func TestSweepDerivesFromAnyInCommon(t *testing.T) {
	data, folds, fits := numbers(150, 12), thirds(150), new(atomic.Int64)
	part := func(name string, steps int) pipeline.Step {
		learns := scales()
		learns.Steps, learns.Power = steps, float64(1+fits.Add(1))/4
		return pipeline.Step{Name: name, Fitter: countedARD{learns, fits}}
	}
	var settings []estimator.Estimator
	for _, steps := range [][2]int{{3, 3}, {5, 5}, {3, 5}} {
		union := pipeline.Union{Parts: []pipeline.Step{part("a", steps[0]), part("b", steps[1])}}
		settings = append(settings, pipeline.Steps(union).Then(estimator.NewRidge()))
	}
	fits.Store(0)
	got, _ := sweep(t, settings[0].(pipeline.Pipeline), data, folds, settings)
	if n := fits.Load(); n != 4*3 {
		t.Errorf("%d fits on 3 folds, want two for each part", n)
	}
	for k, outcome := range got {
		if want := alone(t, settings[k.setting], data,
			folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
			t.Errorf("candidate %d on fold %d predicts something else than alone: %v", k.setting, k.fold, outcome.Err)
		}
	}
}

// dealt is a composite that fits each of its parts to a separate column.
type dealt struct{ pipeline.Union }

func (d dealt) WithChildren(parts []pipeline.Step) transformer.Fitter {
	d.Parts = parts
	return d
}

func (d dealt) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	var columns pipeline.Columns
	for i, part := range d.Parts {
		columns.Groups = append(columns.Groups, pipeline.Group{Name: part.Path(), Select: []string{data.Schema.Name(i)},
			Steps: []pipeline.Step{part}})
	}
	columns.Remainder = "drop"
	return columns.Fit(ctx, data)
}

// TestSweepDerivesFromTheSamePart checks that parallel parts of a composite are not assumed to be
// fitted to the same rows.
func TestSweepDerivesFromTheSamePart(t *testing.T) {
	data, folds := numbers(150, 12), thirds(150)
	parts := []pipeline.Step{{Name: "a", Fitter: scales()}, {Name: "b", Fitter: scales()}}
	base := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "dealt", Fitter: dealt{pipeline.Union{Parts: parts}}}},
		Estimator: estimator.NewRidge()}
	settings := grid(t, base, param.Setting{Path: "dealt.a.power", Value: []any{0.5, 2.0}},
		param.Setting{Path: "dealt.b.power", Value: []any{0.5, 2.0}})
	got, _ := sweep(t, base, data, folds, settings)
	for k, outcome := range got {
		if want := alone(t, settings[k.setting], data,
			folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
			t.Errorf("candidate %d on fold %d predicts something else than alone: %v", k.setting, k.fold, outcome.Err)
		}
	}
}

// stretched is a chain with a factor that is applied after all fits.
type stretched struct {
	chained
	Factor float64
}

func (s *stretched) Params(l *param.List) {
	l.Float(&s.Factor, "factor", "what to multiply by", param.Any())
	s.Chain.Params(l)
}

func (s stretched) WithChildren(steps []pipeline.Step) transformer.Fitter {
	s.Steps = steps
	return s
}

func (s stretched) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	inner, err := s.Chain.Fit(ctx, data)
	return fittedStretched{inner, s.Factor}, err
}

func (s stretched) FirstStage() transformer.Fitter {
	s.Factor = 1
	return s
}

func (s stretched) FinishFit(learned transformer.Transformer) (transformer.Transformer, error) {
	return fittedStretched{learned.(fittedStretched).inner, s.Factor}, nil
}

type fittedStretched struct {
	inner  transformer.Transformer
	factor float64
}

func (f fittedStretched) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	Z, err := f.inner.Transform(ctx, X)
	if err != nil {
		return nil, err
	}
	out := mat.DenseCopyOf(Z)
	out.Scale(f.factor, out)
	return out, nil
}

// TestSweepDerivesACompositeAndItsParts checks that the first stage of a composite is fitted once,
// and so are those of the steps inside it.
func TestSweepDerivesACompositeAndItsParts(t *testing.T) {
	data, folds, fits := numbers(150, 12), thirds(150), new(atomic.Int64)
	first := pipeline.Step{Name: "first", Fitter: mirror{Factor: 2, Rowed: true, Fits: new(atomic.Int64)}}
	steps := pipeline.Chain{Steps: []pipeline.Step{first, {Name: "ard", Fitter: countedARD{scales(), fits}}}}
	base := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "s", Fitter: stretched{chained{steps}, 1}}},
		Estimator: estimator.NewRidge()}
	settings := grid(t, base, param.Setting{Path: "s.factor", Value: []any{0.5, 1.0, 3.0}},
		param.Setting{Path: "s.ard.power", Value: []any{0.5, 2.0}})
	got, _ := sweep(t, base, data, folds, settings)
	if n := fits.Load(); n != 3 {
		t.Errorf("%d fits on 3 folds, want one for each", n)
	}
	if n := first.Fitter.(mirror).Fits.Load(); n != 2*3 {
		t.Errorf("%d fits of the first step on 3 folds, want one for each power", n)
	}
	for k, outcome := range got {
		if want := alone(t, settings[k.setting], data,
			folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
			t.Errorf("candidate %d on fold %d predicts something else than alone: %v", k.setting, k.fold, outcome.Err)
		}
	}
}

// disguised embeds a composite and overrides its fit.
type disguised struct{ pipeline.Chain }

func (disguised) Fit(_ context.Context, data datasets.Set) (transformer.Transformer, error) {
	return &fittedMirror{factor: 3, cols: data.Cols()}, nil
}

// TestSweepDoesNotDeriveInsideEmbedded checks that a type that embeds a composite is not
// treated as the embedded type.
func TestSweepDoesNotDeriveInsideEmbedded(t *testing.T) {
	data, folds := numbers(90, 31), thirds(90)
	base := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "disguised", Fitter: disguised{pipeline.NewChain(scales())}}},
		Estimator: estimator.NewRidge()}
	settings := grid(t, base, param.Setting{Path: "disguised.ard.power", Value: []any{1.0, 2.0}})
	got, _ := sweep(t, base, data, folds, settings)
	for k, outcome := range got {
		if want := alone(t, settings[k.setting], data,
			folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
			t.Errorf("candidate %d on fold %d predicts something else than alone: %v", k.setting, k.fold, outcome.Err)
		}
	}
}

// slow is a step whose first stage reports a fit time of one hour.
type slow struct {
	mirror
	Made float64 // of the second stage
}

func (s *slow) Params(l *param.List) { l.Float(&s.Made, "made", "what is made of it", param.Any()) }

func (s slow) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	time.Sleep(time.Hour)
	s.Factor += s.Made
	return s.mirror.Fit(ctx, data)
}

func (s slow) FirstStage() transformer.Fitter {
	s.Made = 0
	return s
}

func (s slow) FinishFit(learned transformer.Transformer) (transformer.Transformer, error) {
	time.Sleep(time.Minute)
	f := *learned.(*fittedMirror)
	f.factor += s.Made
	return &f, nil
}

// TestSweepDividesTheTimeOfLearning checks that the time of a shared first stage is divided among
// the candidates.
func TestSweepDividesTheTimeOfLearning(t *testing.T) {
	step := pipeline.Step{Name: "slow", Fitter: slow{mirror: mirror{Factor: 1, Rowed: true}}}
	for _, steps := range [][]pipeline.Step{{step}, {{Name: "slow",
		Fitter: chained{pipeline.Chain{Steps: []pipeline.Step{step}}}}}} {
		path := "slow.made"
		if len(steps) > 0 && reflect.TypeOf(steps[0].Fitter) == reflect.TypeFor[chained]() {
			path = "slow.slow.made"
		}
		base := pipeline.Pipeline{Steps: steps, Estimator: estimator.NewRidge()}
		settings := grid(t, base, param.Setting{Path: path, Value: []any{1.0, 2.0, 3.0}})
		settings = append(settings, grid(t, settings[2], param.Setting{Path: "ridge.alpha", Value: []any{5.0}})...)
		synctest.Test(t, func(t *testing.T) {
			got, _ := sweep(t, base, numbers(90, 31), thirds(90), settings)
			for k, outcome := range got {
				want := 3600.0/4 + 60 // the last two share the derived step
				if k.setting >= 2 {
					want = 3600.0/4 + 60.0/2
				}
				if outcome.Err != nil || math.Abs(outcome.Seconds-want) > 1e-6 {
					t.Errorf("%s: candidate %d on fold %d took %v s (%v), want %v", path, k.setting, k.fold, outcome.Seconds,
						outcome.Err, want)
				}
			}
		})
	}
}

// alone returns the prediction of a separately fitted candidate.
func alone(t *testing.T, e estimator.Estimator, data datasets.Set, fold datasets.Fold) estimator.Prediction {
	t.Helper()
	p, err := e.Fit(ctx, data.Select(fold.Train))
	if err != nil {
		t.Fatal(err)
	}
	want, err := estimator.Predict(ctx, p, rowblock.Select(data.X, fold.Test), estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// TestSweepDerivesPrefixes checks that several candidates after a derived step share its mapped
// rows, and that later steps are fitted to these.
func TestSweepDerivesPrefixes(t *testing.T) {
	data, folds, fits := numbers(150, 12), thirds(150), new(atomic.Int64)
	base := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "ard", Fitter: countedARD{scales(), fits}},
		{Fitter: transformer.NewStandardize()}, {Fitter: fourier(24)}},
		Estimator: exactLogistic()}
	settings := grid(t, base, param.Setting{Path: "ard.power", Value: []any{0.5, 2.0}},
		param.Setting{Path: "rff.gamma", Value: []any{0.5, 1.0}},
		param.Setting{Path: "logistic.C", Value: []any{0.1, 1.0}})
	got, shared := sweep(t, base, data, folds, settings)
	if n := fits.Load(); n != 3 {
		t.Errorf("%d fits on 3 folds", n)
	}
	if !slices.Equal(withoutInner(shared), []string{"features", "prefix"}) {
		t.Errorf("shared %v", shared)
	}
	for k, outcome := range got {
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
		agree(t, fmt.Sprintf("candidate %d on fold %d", k.setting, k.fold), outcome.Prediction,
			alone(t, settings[k.setting], data, folds[k.fold]), true)
	}
}

// halfway is a step whose first or second stage fails while its own fit succeeds, or fails
// differently.
type halfway struct {
	mirror
	Learns bool
}

func (h halfway) FirstStage() transformer.Fitter {
	h.Factor = 1
	if !h.Learns {
		h.Fail = "the learner"
	}
	return h
}

func (h halfway) FinishFit(transformer.Transformer) (transformer.Transformer, error) {
	return nil, errors.New("it cannot be derived")
}

// A candidate whose first stage cannot be fitted or finished is fitted separately.
func TestSweepFitsUnderivable(t *testing.T) {
	data, folds := numbers(90, 31), thirds(90)
	for name, h := range map[string]halfway{"no learner": {}, "no derivation": {Learns: true}} {
		fits := new(atomic.Int64)
		h.Fits, h.Rowed = fits, true
		base := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "halfway", Fitter: h}}, Estimator: estimator.NewRidge()}
		settings := grid(t, base, param.Setting{Path: "halfway.factor", Value: []any{2.0, 3.0}})
		got, _ := sweep(t, base, data, folds, settings)
		if n := fits.Load(); n != 3*3 {
			t.Errorf("%s: %d fits, want that of the learner and those of two candidates for each fold", name, n)
		}
		for k, outcome := range got {
			if want := alone(t, settings[k.setting], data,
				folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
				t.Errorf("%s: candidate %d on fold %d: %v", name, k.setting, k.fold, outcome.Err)
			}
		}
	}
	counts := numbers(90, 31)
	dense := mat.DenseCopyOf(counts.X)
	dense.Apply(func(_, _ int, v float64) float64 { return max(0, v-1) }, dense)
	counts.X = matrices.CSRFromDense(dense)
	base := pipeline.Steps(transformer.NewQuantile()).Then(estimator.NewRidge())
	settings := grid(t, base, param.Setting{Path: "quantile.output", Value: []any{"uniform", "normal"}})
	got, _ := sweep(t, base, counts, thirds(counts.Rows()), settings)
	if err := got[key{0, 0}].Err; err != nil {
		t.Error(err)
	}
	if err := got[key{1, 0}].Err; err == nil || !strings.Contains(err.Error(), "of sparse input: zero would become") {
		t.Errorf("ranks of sparse rows by a normal law: %v", err)
	}
}

// greedy is an estimator that exceeds all memory.
type greedy struct{ mean }

func (greedy) Cost(datasets.Shape) datasets.Cost { return datasets.Cost{Bytes: 1 << 60} }

// TestSweepChecksMemoryAfterDerivedSteps checks that estimators that exceed memory are rejected after
// derived steps too.
func TestSweepChecksMemoryAfterDerivedSteps(t *testing.T) {
	data, folds := numbers(90, 31), thirds(90)
	base := pipeline.Pipeline{Steps: pipeline.Steps(transformer.NewQuantile()), Estimator: greedy{}, Name: "greedy"}
	settings := grid(t, base, param.Setting{Path: "quantile.output", Value: []any{"uniform", "normal"}})
	got, _ := sweep(t, base, data, folds, settings)
	for k, outcome := range got {
		if err := outcome.Err; err == nil || !strings.Contains(err.Error(), `step "greedy": more memory than there is`) {
			t.Errorf("candidate %d on fold %d: %v, want a refusal", k.setting, k.fold, err)
		}
	}
}

// embedding is an ard with another fit and no first stage.
type embedding struct{ transformer.ARD }

func (embedding) Fit(_ context.Context, data datasets.Set) (transformer.Transformer, error) {
	return &fittedMirror{factor: 3, cols: data.Cols()}, nil
}

// TestSweepDoesNotDeriveFromEmbedded checks that a type that embeds a step is not treated as
// the embedded type.
func TestSweepDoesNotDeriveFromEmbedded(t *testing.T) {
	data, folds := numbers(90, 31), thirds(90)
	base := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "ard", Fitter: embedding{scales()}}},
		Estimator: estimator.NewRidge()}
	settings := grid(t, base, param.Setting{Path: "ard.power", Value: []any{1.0, 2.0}})
	got, shared := sweep(t, base, data, folds, settings)
	if len(withoutInner(shared)) > 0 {
		t.Errorf("shared %v", shared)
	}
	for k, outcome := range got {
		if want := alone(t, settings[k.setting], data,
			folds[k.fold]); !reflect.DeepEqual(outcome.Prediction, want) {
			t.Errorf("candidate %d on fold %d: %v", k.setting, k.fold, outcome.Err)
		}
	}
}
