package meta_test

import (
	"context"
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
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/model"
)

func TestEnsembleConformance(t *testing.T) {
	logistic, classifier := estimator.NewLogistic(), estimator.NewRidgeClassifier()
	logistic.Tol = 1e-11
	weighted := ensemble(weakRidge(0.1), weakRidge(300))
	byFolds, equal, given := weighted, weighted, weighted
	byFolds.Folds, equal.Weights = 4, "equal"
	given.Weights, given.Given = "given", []float64{0.2, 0.8}
	probable := ensemble(logistic, calibrated("sigmoid", 3, classifier))
	scored := ensemble(logistic, classifier)
	for name, c := range map[string]struct {
		spec    estimator.Estimator
		options estimatortest.Options
	}{
		"leave-one-out":       {weighted, estimatortest.Options{Folds: true}},
		"folds":               {byFolds, estimatortest.Options{Folds: true}},
		"equal":               {equal, estimatortest.Options{}},
		"given":               {given, estimatortest.Options{}},
		"two probabilities":   {probable, estimatortest.Options{Folds: true, Classes: 2}},
		"three probabilities": {probable, estimatortest.Options{Folds: true, Classes: 3}},
		"two scores":          {scored, estimatortest.Options{Folds: true, Classes: 2}},
		"three scores":        {scored, estimatortest.Options{Folds: true, Classes: 3}},
		"seeds": {meta.NewSeedEnsemble(fourier(0.1, estimator.NewRidge()), 3),
			estimatortest.Options{Origin: true, Tolerance: 1e-5}},
		"pipelines": {ensemble(fourier(0.1, estimator.NewRidge()), estimator.NewRidge()),
			estimatortest.Options{Folds: true, Origin: true, Tolerance: 1e-5}},
	} {
		if exhaustive.Case(name, "leave-one-out", "three probabilities", "two scores", "seeds") {
			t.Run(name, func(t *testing.T) { estimatortest.Run(t, c.spec, c.options) })
		}
	}
}

func fittedEnsemble(t *testing.T, spec estimator.Estimator, data datasets.Set) *meta.FittedEnsemble {
	t.Helper()
	p, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*meta.FittedEnsemble)
}

func weightsOf(f *meta.FittedEnsemble) (out []float64) {
	for _, m := range f.Combined() {
		out = append(out, m.Weight)
	}
	return out
}

// The weights equal those of an exhaustive search over pairs of weights, on given predictions: row
// by row for leave-one-out, fold by fold for folds.
func TestStackingFindsTheBestWeights(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("many fits")
	}
	data := curve(1, 50, 1)
	a, b := fourier(0.5, weakRidge(1)), estimator.Estimator(estimator.NewRidge())
	crossed := func(spec estimator.Estimator) []float64 {
		out := make([]float64, 50)
		for i := range out {
			var train []int
			for k := range out {
				if k != i {
					train = append(train, k)
				}
			}
			out[i] = predicted(t, spec, data.Select(train), data.X.(*mat.Dense).Slice(i, i+1, 0, 2)).Values[0]
		}
		return out
	}
	pa, pb := crossed(a), crossed(b)
	got := weightsOf(fittedEnsemble(t, ensemble(a, b), data))
	loss := func(u, v float64) (sum float64) {
		for i, y := range data.Y {
			sum += math.Pow(y-u*pa[i]-v*pb[i], 2)
		}
		return sum
	}
	best := math.Inf(1)
	for u := 0.0; u <= 1; u += 0.002 {
		best = min(best, loss(u, 1-u))
	}
	if l := loss(got[0], got[1]); l > best*(1+1e-9) || l < best*0.99 || math.Abs(got[0]+got[1]-1) > 1e-12 ||
		got[0] == 0 || got[1] == 0 {
		t.Errorf("weights %v with loss %v, the best on a grid is %v", got, l, best)
	}
}

// TestStackingExcludesUselessMembers checks that a useless member has weight 0 and is not
// evaluated, and that targets of very different scale share the weights.
func TestStackingExcludesUselessMembers(t *testing.T) {
	data := curve(2, 300, 2)
	useless := weakRidge(1e9)
	spec := ensemble(fourier(0.5, weakRidge(0.01)), useless, useless)
	f := fittedEnsemble(t, spec, data)
	w := weightsOf(f)
	if w[0] < 0.9 {
		t.Errorf("weights %v", w)
	}
	all, err := estimator.Predict(context.Background(), f, data.X, estimator.Request{})
	if err != nil || all.Targets.RawMatrix().Cols != 2 {
		t.Errorf("%v targets, %v", all.Targets, err)
	}
	if has := estimator.OutputsOf(f).Has; has != estimator.OutputValues|estimator.OutputTargets {
		t.Errorf("an ensemble of regressions of two targets has the outputs %b", has)
	}
}

// TestEnsembleIsBetter checks that the ensemble is at least as accurate on new rows as its best
// member.
func TestEnsembleIsBetter(t *testing.T) {
	train, test := curve(3, 250, 1), curve(4, 1000, 1)
	a, b := fourier(0.5, weakRidge(1)), fourier(3, weakRidge(1))
	loss := func(spec estimator.Estimator) (sum float64) {
		for i, v := range predicted(t, spec, train, test.X).Values {
			sum += (v - test.Y[i]) * (v - test.Y[i])
		}
		return sum
	}
	together, best := loss(ensemble(a, b, estimator.NewRidge())), min(loss(a), loss(b), loss(estimator.NewRidge()))
	if together > best {
		t.Errorf("squared error %v together, %v the best alone", together, best)
	}
	one := fourier(0.5, weakRidge(0.01))
	if several, alone := loss(meta.NewSeedEnsemble(one, 10)), loss(one); several > alone {
		t.Errorf("squared error %v of ten seeds, %v of one", several, alone)
	}
}

// TestSeedsAreCopies checks that copies differ in all random draws and nothing else, and that the
// ensemble predicts their mean.
func TestSeedsAreCopies(t *testing.T) {
	data := curve(5, 80, 1)
	f := fittedEnsemble(t, meta.NewSeedEnsemble(fourier(0.5, estimator.NewRidge()), 3), data)
	mean, first := make([]float64, 80), []float64(nil)
	seen := map[float64]bool{}
	for k, m := range f.Combined() {
		values, err := m.Predictor.Predict(context.Background(), data.X)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			first = values
		}
		seen[values[0]] = true
		for i, v := range values {
			mean[i] += v / 3
		}
	}
	alike(t, "mean", predicted(t, meta.NewSeedEnsemble(fourier(0.5, estimator.NewRidge()), 3), data, data.X).Values, mean,
		1e-12)
	alike(t, "the first", first, predicted(t, fourier(0.5, estimator.NewRidge()), data, data.X).Values, 0)
	if len(seen) != 3 {
		t.Errorf("%d different members of 3", len(seen))
	}
}

// TestCombineIsFitWithoutFitting checks that Combine gives the weights of Fit for the members and
// predictions of Fit.
func TestCombineIsFitWithoutFitting(t *testing.T) {
	data := curve(6, 60, 1)
	specs := []estimator.Estimator{fourier(0.5, weakRidge(1)), estimator.NewRidge()}
	spec := ensemble(specs[0], specs[1])
	want := fittedEnsemble(t, spec, data)
	var members []meta.FittedMember
	var crossed []estimator.Prediction
	all := make([]int, 60)
	for i := range all {
		all[i] = i
	}
	for k, s := range specs {
		members = append(members, want.Combined()[k])
		members[k].Weight = 0
		_, err := s.(batch.Fitter).FitBatch(context.Background(),
			batch.Job{Data: data, Shape: data.Shape(), LeaveOneOut: true,
				Folds: []datasets.Fold{{Train: all, Test: all}}, Candidates: batch.Candidates(s),
				Yield: func(_, _ int, out batch.Outcome) error {
					crossed = append(crossed, out.Prediction)
					return out.Err
				}})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := meta.NewEnsemble().Combine(context.Background(), data, members, crossed)
	if err != nil {
		t.Fatal(err)
	}
	alike(t, "weights", weightsOf(got), weightsOf(want), 1e-12)
	crossed[0].Values[7] = math.NaN() // a row without a prediction is ignored
	if _, err := meta.NewEnsemble().Combine(context.Background(), data, members, crossed); err != nil {
		t.Error(err)
	}
	crossed[0].Values = crossed[0].Values[:50]
	if _, err := meta.NewEnsemble().Combine(context.Background(), data, members, crossed); err == nil ||
		!strings.Contains(err.Error(), "member 1 predicts 50 rows of 60") {
		t.Error(err)
	}
	equal := meta.NewEnsemble()
	equal.Weights = "equal"
	if got, err := equal.Combine(context.Background(), data, members, nil); err != nil || weightsOf(got)[0] != 0.5 {
		t.Error(got, err)
	}
}

// TestEnsembleSharesMembers checks that a search over an ensemble fits members common to all
// candidates once, and shares their work.
func TestEnsembleSharesMembers(t *testing.T) {
	data := curve(7, 90, 1)
	counted := &fits{}
	var specs []estimator.Estimator
	for _, alpha := range []float64{0.1, 1, 10} {
		s := ensemble(weakRidge(alpha), counting{counted})
		s.Folds = 4
		specs = append(specs, s)
	}
	shared, out := together(t, data, 3, specs...)
	for _, one := range slices.Concat(out...) {
		if one.Err != nil {
			t.Error(one.Err)
		}
	}
	if !slices.Contains(shared, "alpha") {
		t.Errorf("shared %v", shared)
	}
	if counted.n != 3*5 {
		t.Errorf("%d fits of a member, want one for each of 3 folds and the 4 within each", counted.n)
	}
}

// counting is a model that counts its fits.
type (
	fits     struct{ n int }
	counting struct{ *fits }
	zero     struct{}
)

func (c counting) Fit(context.Context, datasets.Set) (estimator.Predictor, error) {
	c.n++
	return zero{}, nil
}

func (zero) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	return make([]float64, n), nil
}

func TestEnsembleRefuses(t *testing.T) {
	data := curve(8, 40, 1)
	ridge := estimator.NewRidge()
	both := meta.NewSeedEnsemble(fourier(1, ridge), 3)
	both.Members = ensemble(ridge).Members
	for _, c := range []struct {
		spec meta.Ensemble
		want string
	}{
		{meta.NewEnsemble(), "the ensemble is empty (set members, or estimator and seeds)"},
		{both, "both estimator and members are set"},
		{meta.NewSeedEnsemble(ridge, 3), "estimator has no random seed"},
		{meta.NewSeedEnsemble(fourier(1, ridge), 1), "must be an integer ≥ 2 with estimator, got 1"},
		{meta.NewEnsemble(meta.Member{Name: "a", Estimator: ridge}, meta.Member{Name: "a", Estimator: ridge}),
			"two members are called a"},
		{meta.NewEnsemble(meta.Member{Name: "a.b", Estimator: ridge}),
			`member 1: name must be letters, digits, _ and -, got "a.b"`},
		{ensemble(nil), "member a has no spec"},
		{ensemble(ridge, target("quantile", nil)), "b: estimator: target: estimator is missing"},
	} {
		if _, err := c.spec.Fit(context.Background(), data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// of is a model of two targets that predicts the target with index good well and the other as 0.
type of struct{ good int }

func (o of) Fit(_ context.Context, data datasets.Set) (estimator.Predictor, error) { return o, nil }

func (o of) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := o.PredictFull(ctx, X, estimator.Request{})
	return all.Values, err
}

func (of) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputTargets}
}

func (o of) PredictFull(_ context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction, error) {
	n, _ := X.Dims()
	out := mat.NewDense(n, 2, nil)
	for i := range n {
		out.Set(i, o.good, X.At(i, o.good))
	}
	return estimator.Prediction{Values: mat.Col(nil, 0, out), Targets: out}, nil
}

// TestStackingScalesTargets checks that errors are measured in units of the standard deviation of
// each target, so that targets of different scales have equal influence.
func TestStackingScalesTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	X := mat.NewDense(200, 2, nil)
	for i := range 200 {
		X.SetRow(i, []float64{rng.NormFloat64(), 1000 * rng.NormFloat64()})
	}
	data := datasets.Set{X: X, Targets: X, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "small"},
		{Name: "large"}}}}
	if w := weightsOf(fittedEnsemble(t, ensemble(of{0}, of{1}), data)); math.Abs(w[0]-0.5) > 0.05 {
		t.Errorf("weights %v", w)
	}
}

// TestEnsembleCapabilities checks that the outputs of an ensemble are those common to its
// members.
func TestEnsembleCapabilities(t *testing.T) {
	data := overlapping(1, 60)
	probable := func(members ...estimator.Estimator) bool {
		return estimator.OutputsOf(fittedEnsemble(t, ensemble(members...), data)).Has.Has(estimator.OutputProbabilities)
	}
	if !probable(estimator.NewLogistic(), calibrated("sigmoid", 3, estimator.NewSVM())) {
		t.Error("probabilistic members have none together")
	}
	if probable(estimator.NewLogistic(), estimator.NewSVM()) {
		t.Error("one member has no probabilities, and all have together")
	}
}

// loner is a model whose FitBatch leaves all to Lone, as one does that cannot share related maps.
type loner struct{ estimator.Estimator }

func (l loner) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	for i := range b.Candidates {
		for f := range b.Folds {
			if b.Includes(i, f) {
				if err := b.Yield(i, f, b.FitOne(ctx, i, f)); err != nil {
					return nil, err
				}
			}
		}
	}
	return nil, nil
}

func (loner) PlanBatch(batch.Job) (int64, error) { return 0, nil }

func (loner) Tags() datasets.Tags { return datasets.Tags{SharedMaps: true} }

// columns is the identity map.
type columns struct{}

func (columns) Widths() []int { return []int{2} }

func (columns) Each(_ context.Context, X mat.Matrix, _ []int, yield func(int, mat.Matrix) error) error {
	return yield(0, mat.DenseCopyOf(X))
}

// TestWrappersPassOnCompleteOutcomes checks that outcomes of a complete pipeline, which are
// already transformed back or calibrated, are passed on unchanged.
func TestWrappersPassOnCompleteOutcomes(t *testing.T) {
	data, classes := amounts(60, 1), overlapping(2, 60)
	for name, c := range map[string]struct {
		spec batch.Fitter
		data datasets.Set
	}{
		"target":     {target("signed_log", loner{estimator.NewRidge()}), data},
		"calibrated": {calibrated("sigmoid", 3, loner{estimator.NewSVM()}), classes},
	} {
		folds, _ := datasets.KFold{Folds: 3}.Split(c.data)
		pred := batch.Outcome{Prediction: estimator.Prediction{Values: []float64{7}}}
		_, err := c.spec.FitBatch(context.Background(), batch.Job{Data: c.data, Shape: c.data.Shape(), Folds: folds,
			Maps:       columns{},
			Candidates: []batch.Candidate{{Estimator: c.spec, Width: 2, Scale: 1}},
			FitOne:     func(context.Context, int, int) batch.Outcome { return pred },
			Yield: func(_, _ int, out batch.Outcome) error {
				if out.Err != nil || len(out.Values) != 1 || out.Values[0] != 7 {
					t.Errorf("%s: %+v", name, out)
				}
				return nil
			}})
		if err != nil {
			t.Error(name, err)
		}
	}
}

// A file whose parts do not fit each other is refused.
func TestWrappersRefuseOtherColumns(t *testing.T) {
	data := amounts(30, 1)
	fitted, err := target("log", ensemble(fourier(0.1, estimator.NewRidge()))).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	state, err := model.Record(fitted.(model.Stateful))
	if err != nil {
		t.Fatal(err)
	}
	state.Scalars["columns"] = 2.0
	if err := model.Restore(state, reflect.New(reflect.TypeOf(fitted).Elem()).Interface().(model.Stateful)); err == nil ||
		!strings.Contains(err.Error(), "of other columns") {
		t.Error(err)
	}
}

// TestEnsembleOfGivenWeights checks that given weights are used in the prediction, in single fits
// and in a search: for numbers, scores and probabilities.
func TestEnsembleOfGivenWeights(t *testing.T) {
	data, classes := amounts(60, 1), overlapping(2, 60)
	logistic := func(C float64) estimator.Estimator { s := estimator.NewLogistic(); s.C = C; return s }
	classifier := func(alpha float64) estimator.Estimator {
		s := estimator.NewRidgeClassifier()
		s.Alpha = alpha
		return s
	}
	for name, c := range map[string]struct {
		a, b estimator.Estimator
		data datasets.Set
		what func(p estimator.Prediction) []float64
		sum  float64 // that is divided by
	}{
		"values": {weakRidge(0.1), weakRidge(300), data, func(p estimator.Prediction) []float64 { return p.Values }, 1},
		"scores": {classifier(0.1), classifier(300), classes,
			func(p estimator.Prediction) []float64 { return mat.Col(nil, 0, p.Scores) }, 1},
		"probabilities": {logistic(0.1), logistic(100), classes, func(p estimator.Prediction) []float64 {
			return mat.Col(nil, 1, p.Probabilities)
		}, 2},
	} {
		spec := ensemble(c.a, c.b)
		spec.Weights, spec.Given = "given", []float64{0.5, 1.5}
		a, b := c.what(predicted(t, c.a, c.data, c.data.X)), c.what(predicted(t, c.b, c.data, c.data.X))
		want := make([]float64, len(a))
		for i := range want {
			want[i] = (0.5*a[i] + 1.5*b[i]) / c.sum
		}
		alike(t, name, c.what(predicted(t, spec, c.data, c.data.X)), want, 1e-9)
		other := spec
		other.Given = []float64{1, 0}
		_, out := together(t, c.data, 3, spec, other)
		folds, _ := datasets.KFold{Folds: 3}.Split(c.data)
		for k, f := range folds {
			train, test := c.data.Select(f.Train), c.data.Select(f.Test)
			for i, one := range []estimator.Estimator{spec, other} {
				alike(t, name+" in a search", c.what(out[i][k].Prediction),
					c.what(predicted(t, one, train, test.X)), 1e-6)
			}
		}
	}
	for want, change := range map[string]func(s *meta.Ensemble){
		"one for each member":           func(s *meta.Ensemble) { s.Weights, s.Given = "given", []float64{1} },
		"given requires weights: given": func(s *meta.Ensemble) { s.Given = []float64{1, 1} },
		"at least one weight > 0":       func(s *meta.Ensemble) { s.Weights, s.Given = "given", []float64{0, 0} },
	} {
		spec := ensemble(weakRidge(0.1), weakRidge(300))
		change(&spec)
		if _, err := spec.Fit(context.Background(), data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// A batch is of specs of one type, and another one is named.
func TestWrappersRejectOtherSpecs(t *testing.T) {
	ridge := estimator.NewRidge()
	b := batch.Job{Data: amounts(20, 1), Candidates: batch.Candidates(ridge)}
	for name, spec := range map[string]batch.Fitter{
		"target": target("log", ridge), "calibrated": calibrated("sigmoid", 2, ridge), "ensemble": ensemble(ridge, ridge),
	} {
		_, fit := spec.FitBatch(context.Background(), b)
		_, plan := spec.PlanBatch(b)
		for _, err := range []error{fit, plan} {
			want := fmt.Sprintf("estimator: %s: candidate 0 must be a %T, got estimator.Ridge", name, spec)
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Where every class has one row, no fold can test: an error and not a panic.
func TestClassesOfOneRow(t *testing.T) {
	X, y, levels := mat.NewDense(12, 2, nil), make([]float64, 12), make([]string, 12)
	for i := range y {
		X.SetRow(i, []float64{float64(i), float64(i * i % 7)})
		y[i], levels[i] = float64(i), fmt.Sprint("c", i)
	}
	data := datasets.Set{X: X, Y: y, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "y",
		Kind: datasets.Categorical, Categories: levels}}}}
	members := []meta.Member{{Name: "l", Estimator: estimator.NewLogistic()},
		{Name: "r", Estimator: estimator.NewRidgeClassifier()}}
	for _, spec := range []estimator.Estimator{meta.NewEnsemble(members...), meta.NewCalibrated(estimator.NewSVM())} {
		if _, err := spec.Fit(context.Background(), data); err == nil ||
			!strings.Contains(err.Error(), "every class needs 2 rows or more") {
			t.Errorf("%T: %v", spec, err)
		}
	}
}
