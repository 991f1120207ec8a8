package pipeline_test

import (
	"context"
	"math"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// refit fits a spec to some rows and refits it to all of them.
func refit(t *testing.T, spec estimator.Estimator, some, all datasets.Set) (first, second *pipeline.FittedPipeline) {
	t.Helper()
	ctx := context.Background()
	a, err := spec.Fit(ctx, some)
	if err != nil {
		t.Fatal(err)
	}
	b, err := estimator.Refit(ctx, spec, a, all)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Find(a), pipeline.Find(b)
}

// predictAll returns all outputs of a model for rows.
func predictAll(t *testing.T, p estimator.Predictor, X mat.Matrix) estimator.Prediction {
	t.Helper()
	out, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// twoClasses returns the rows of waves with classes of unequal frequency.
func twoClasses(n int) datasets.Set {
	data := waves(n)
	for i, y := range data.Y {
		data.Y[i] = 0
		if y > 0.7 {
			data.Y[i] = 1
		}
	}
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	return data
}

// A refit fits the inner model to the new rows and keeps what held-out rows have decided.
func TestRefit(t *testing.T) {
	steps := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF())
	classes := twoClasses(300)
	some := classes.Select(indicesTo(200))
	inner := estimator.NewRidgeClassifier()
	_, plain := refit(t, steps.Then(inner), some, classes)
	scores := predictAll(t, plain, classes.X).Scores

	score := meta.NewThreshold(inner)
	first, second := refit(t, steps.Then(score), some, classes)
	var a, b *meta.FittedThreshold
	if !estimator.As(first, &a) || !estimator.As(second, &b) {
		t.Fatal("no threshold")
	}
	before, _ := a.Cutoff()
	after, _ := b.Cutoff()
	if !reflect.DeepEqual(before, after) || before.Value == 0 {
		t.Errorf("threshold %+v, then %+v", before, after)
	}
	for i, s := range predictAll(t, second, classes.X).Scores.RawMatrix().Data {
		if want := scores.At(i, 0) - before.Value; math.Abs(s-want) > 1e-12 {
			t.Fatalf("row %d: score %g, want %g: that of a fit to all rows less the threshold", i, s, want)
		}
	}
	if !reflect.DeepEqual(second.Spec(), first.Spec()) {
		t.Errorf("spec %v, then %v", first.Spec(), second.Spec())
	}

	// logits are linear in the score, with the slope and the intercept of the first fit
	first, second = refit(t, steps.Then(meta.NewCalibrated(inner)), some, classes)
	_, plainSome := refit(t, steps.Then(inner), some, some)
	x, y := predictAll(t, plainSome, some.X).Scores, predictAll(t, first, some.X).Scores
	slope := (y.At(1, 0) - y.At(0, 0)) / (x.At(1, 0) - x.At(0, 0))
	for i, s := range predictAll(t, second, classes.X).Scores.RawMatrix().Data {
		if want := y.At(0, 0) + slope*(scores.At(i, 0)-x.At(0, 0)); math.Abs(s-want) > 1e-9 {
			t.Fatalf("row %d: calibrated score %g, want %g", i, s, want)
		}
	}

	sets := meta.NewIntervals(inner)
	_, second = refit(t, steps.Then(sets), some, classes)
	if got := predictAll(t, second, classes.X); !mat.Equal(got.Scores, scores) || got.Sets == nil {
		t.Error("sets: the inner classifier is not that of all rows")
	}

	numbers := waves(300)
	some = numbers.Select(indicesTo(200))
	ridge := estimator.NewRidge()
	_, plain = refit(t, steps.Then(ridge), some, numbers)
	values := predictAll(t, plain, numbers.X).Values
	split := meta.NewIntervals(ridge)
	split.Method = "split"
	first, second = refit(t, steps.Then(split), some, numbers)
	p, q := predictAll(t, first, numbers.X), predictAll(t, second, numbers.X)
	for i, v := range values {
		if q.Values[i] != v || math.Abs(q.Upper[i]-v-(p.Upper[i]-p.Values[i])) > 1e-12 {
			t.Fatalf("row %d: %g to %g around %g, want the width of the first fit around %g", i, q.Lower[i], q.Upper[i],
				q.Values[i], v)
		}
	}
	split.Method = "jackknife_plus"
	_, second = refit(t, steps.Then(split), some, numbers)
	_, again := refit(t, steps.Then(split), numbers, numbers)
	if !reflect.DeepEqual(predictAll(t, second, numbers.X), predictAll(t, again, numbers.X)) {
		t.Error("the jackknife is not that of all rows")
	}

	first, second = refit(t, pipeline.Sequence{}.Then(meta.NewEnsemble(meta.Member{Name: "a", Estimator: steps.Then(ridge)},
		meta.Member{Name: "b", Estimator: pipeline.Steps(transformer.NewStandardize()).Then(ridge)})), some, numbers)
	_, one := first.Model()
	_, two := second.Model()
	for k, m := range two.(*meta.FittedEnsemble).Combined() {
		if old := one.(*meta.FittedEnsemble).Combined()[k]; m.Weight != old.Weight || m.Name != old.Name {
			t.Errorf("weight %g of %s, then %g", old.Weight, m.Name, m.Weight)
		}
	}
	if got := two.(*meta.FittedEnsemble).Combined()[0].Predictor; !reflect.DeepEqual(predictAll(t, got, numbers.X).Values,
		values) {
		t.Error("a member is not that of all rows")
	}
}

func indicesTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// A refit keeps the representation that was learned from the targets, with the steps before it, and fits other
// steps again; encodings of targets are always fitted again, because each training row has its own.
func TestRefitSteps(t *testing.T) {
	all := waves(400)
	some := all.Select(indicesTo(150))
	ard := transformer.NewARD()
	ard.Steps = 5
	learned := pipeline.Steps(transformer.NewStandardize(), ard, transformer.NewRFF())
	first, second := refit(t, learned.Then(estimator.NewRidge()), some, all)
	if !reflect.DeepEqual(first.Relevance(), second.Relevance()) {
		t.Error("the scales are learned again")
	}
	_, scaledOnce := first.Chain().Step(0)
	_, scaledTwice := second.Chain().Step(0)
	if scaledOnce != scaledTwice {
		t.Error("a step before the scales is fitted again")
	}
	_, mapOnce := first.Chain().Step(2)
	_, mapTwice := second.Chain().Step(2)
	if mapOnce == mapTwice {
		t.Error("the map is not fitted again")
	}
	plain := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
	_, second = refit(t, plain, some, all)
	_, whole := refit(t, plain, all, all)
	if !reflect.DeepEqual(predictAll(t, second, all.X), predictAll(t, whole, all.X)) {
		t.Error("a refit without learned scales is not the fit to all rows")
	}
	X := mat.NewDense(all.Rows(), 1, nil)
	for i := range all.Rows() {
		X.Set(i, 0, float64(i%3))
	}
	all.X, all.Schema.Columns = X, []datasets.Column{{Name: "a", Kind: datasets.Categorical, Categories: []string{"p", "q", "r"}}}
	encoded := pipeline.Steps(transformer.NewTargetEncode(), transformer.NewStandardize(), ard).Then(estimator.NewRidge())
	_, second = refit(t, encoded, all.Select(indicesTo(150)), all)
	_, whole = refit(t, encoded, all, all)
	if !reflect.DeepEqual(predictAll(t, second, all.X), predictAll(t, whole, all.X)) {
		t.Error("a refit with encoded targets is not the fit to all rows")
	}
	if _, err := estimator.Refit(context.Background(), estimator.NewRidge(), second, all); err == nil {
		t.Error("another spec is accepted")
	}
}
