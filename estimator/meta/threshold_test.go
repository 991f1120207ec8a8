package meta_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

func deciding(score string, folds int, of estimator.Estimator) meta.Threshold {
	s := meta.NewThreshold(of)
	s.Score, s.Folds = score, folds
	return s
}

func costing(costs meta.Costs, folds int, of estimator.Estimator) meta.Threshold {
	s := meta.NewThreshold(of)
	s.Costs, s.Folds = costs, folds
	return s
}

func exactLogistic() estimator.Logistic {
	s := estimator.NewLogistic()
	s.Tol = 1e-12
	return s
}

func TestThresholdConformance(t *testing.T) {
	two := estimatortest.Options{Classes: 2, Folds: true, Decides: true, Tolerance: 1e-5}
	for name, spec := range map[string]meta.Threshold{
		"balanced accuracy":       deciding("auto", 3, exactLogistic()),
		"of scores, one left out": deciding("matthews_corrcoef", 0, estimator.NewRidgeClassifier()),
		"costs of a matrix": costing(meta.Costs{Of: map[string]map[string]float64{"class 0": {"class 1": 3}}}, 3,
			exactLogistic()),
		"of calibrated": deciding("auto", 3, calibrated("sigmoid", 3, estimator.NewRidgeClassifier())),
	} {
		t.Run(name, func(t *testing.T) {
			estimatortest.Run(t, spec, two)
		})
	}
	t.Run("costs of three classes", func(t *testing.T) {
		three := two
		three.Classes, three.Folds = 3, false // it makes none
		estimatortest.Run(t, costing(meta.Costs{Of: map[string]map[string]float64{"class 0": {"class 1": 3, "class 2": 0.5}}},
			0, exactLogistic()), three)
	})
}

// rare is rows of two classes, one of which few rows are of.
func rare(seed uint64, n int) datasets.Set {
	data := overlapping(seed, n)
	rng := rand.New(rand.NewPCG(seed, 77))
	for i := range n {
		sum := -3.0
		for j := range 4 {
			sum += data.X.At(i, j)
		}
		data.Y[i] = 0
		if rng.Float64() < 1/(1+math.Exp(-sum)) {
			data.Y[i] = 1
		}
	}
	return data
}

// cutoff is the threshold that spec is fitted to.
func cutoff(t *testing.T, spec estimator.Estimator, data datasets.Set) meta.Cutoff {
	t.Helper()
	p, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	var d *meta.FittedThreshold
	if !estimator.As(p, &d) {
		t.Fatal("it has no threshold")
	}
	c, ok := d.Cutoff()
	if !ok {
		t.Fatal("it has none of two classes")
	}
	return c
}

// notSeen returns the prediction of a model for each row that it has not seen, by five folds with
// the shares of the classes.
func notSeen(t *testing.T, of estimator.Estimator, data datasets.Set) (scores []float64) {
	t.Helper()
	folds, err := datasets.StratifiedKFold{Folds: 5}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	scores = make([]float64, data.Rows())
	for _, f := range folds {
		pred := predicted(t, of, data.Select(f.Train), rowblock.Select(data.X, f.Test))
		for k, i := range f.Test {
			if scores[i] = pred.Scores.At(k, 0); pred.Probabilities != nil {
				scores[i] = pred.Probabilities.At(k, 1)
			}
		}
	}
	return scores
}

// TestThresholdIsTheBestOfAll checks that no other threshold is better on out-of-fold rows, for all
// metrics of predicted classes and for costs, and that the reported scores are correct.
func TestThresholdIsTheBestOfAll(t *testing.T) {
	data := rare(1, 140)
	var names []string
	for _, m := range metrics.All() {
		if m.Task == datasets.Classification && m.Requires == metrics.RequiresPredictions {
			names = append(names, m.Name, "neg_"+m.Name)
		}
	}
	for _, of := range []estimator.Estimator{exactLogistic(), estimator.NewRidgeClassifier()} {
		scores := notSeen(t, of, data)
		for _, name := range append(names, "cost") {
			m, err := metrics.ByName(name)
			spec := deciding(name, 5, of)
			if name == "cost" {
				spec = costing(meta.Costs{FalsePositive: 1, FalseNegative: 7}, 5, of)
			} else if err != nil {
				continue // greater is better anyway
			}
			worth := func(t0 float64) float64 {
				in := metrics.Input{YTrue: data.Y, YPred: make([]float64, 140), Classes: 2}
				cost := 0.0
				for i, s := range scores {
					if s > t0 {
						in.YPred[i] = 1
					}
					cost += []float64{0, 1, 7, 0}[2*int(data.Y[i])+int(in.YPred[i])] / 140
				}
				if name == "cost" {
					return cost
				}
				v, err := m.Score(in)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			got := cutoff(t, spec, data)
			if got.Score != name && name != "cost" || math.Abs(worth(got.Value)-got.Best) > 1e-12 ||
				math.Abs(worth(got.Usual)-got.AtUsual) > 1e-12 {
				t.Fatalf("%s: %v at %v, %v at %v, not %v and %v", name, got.Best, got.Value, got.AtUsual, got.Usual,
					worth(got.Value), worth(got.Usual))
			}
			greater := m.GreaterIsBetter && name != "cost"
			for _, s := range scores {
				if v := worth(s); greater && v > got.Best+1e-12 || !greater && v < got.Best-1e-12 {
					t.Fatalf("%s: %v at %v is better than %v", name, v, s, got.Best)
				}
			}
			if len(got.At) > 100 || !slices.IsSorted(got.At) || !slices.Contains(got.At, got.Value) ||
				!slices.Contains(got.At, got.Usual) {
				t.Fatalf("curve %v", got.At)
			}
			for k, at := range got.At {
				if math.Abs(worth(at)-got.Scores[k]) > 1e-12 {
					t.Fatalf("%s: %v at %v, want %v", name, got.Scores[k], at, worth(at))
				}
			}
		}
	}
}

// TestThresholdMatchesScikitLearn checks that the threshold is optimal for scikit-learn's metrics
// on predictions of its cross-validation, and that the predictions agree.
func TestThresholdMatchesScikitLearn(t *testing.T) {
	raw, err := os.ReadFile("testdata/threshold_sklearn.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		X     [][]float64
		Y     []float64
		Test  [][]float64 `json:"X_test"`
		Cases []struct {
			Score     string
			Threshold float64
			Best      float64
			AtHalf    float64 `json:"at_half"`
			Predicted []float64
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	matrix := func(rows [][]float64) *mat.Dense {
		return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
	}
	if len(doc.Cases) != 5 {
		t.Fatalf("%d cases", len(doc.Cases))
	}
	data := datasets.Set{X: matrix(doc.X), Y: doc.Y}
	for _, c := range doc.Cases {
		spec := deciding(c.Score, 5, exactLogistic())
		if c.Score == "cost" {
			spec = costing(meta.Costs{FalsePositive: 1, FalseNegative: 5}, 5, exactLogistic())
		}
		got := cutoff(t, spec, data)
		alike(t, c.Score, []float64{got.Value, got.Best, got.AtUsual}, []float64{c.Threshold, c.Best, c.AtHalf}, 1e-7)
		alike(t, c.Score, predicted(t, spec, data, matrix(doc.Test)).Values, c.Predicted, 0)
	}
}

// Weights count: a cost is the mean over the weight of the rows, by models that the same weights made.
func TestThresholdOfWeights(t *testing.T) {
	data := rare(2, 120)
	data.Weights = make([]float64, 120)
	total := 0.0
	for i := range data.Weights {
		data.Weights[i] = 0.5 + float64(i%4)
		total += data.Weights[i]
	}
	scores := notSeen(t, exactLogistic(), data)
	worth := func(at float64) (cost float64) {
		for i, s := range scores {
			switch {
			case s > at && data.Y[i] == 0:
				cost += data.Weights[i] / total
			case s <= at && data.Y[i] == 1:
				cost += 6 * data.Weights[i] / total
			}
		}
		return cost
	}
	got := cutoff(t, costing(meta.Costs{FalsePositive: 1, FalseNegative: 6}, 5, exactLogistic()), data)
	if math.Abs(worth(got.Value)-got.Best) > 1e-12 {
		t.Errorf("%v at %v, want %v", got.Best, got.Value, worth(got.Value))
	}
	for _, s := range scores {
		if worth(s) < got.Best-1e-12 {
			t.Errorf("%v at %v is better than %v", worth(s), s, got.Best)
		}
	}
}

// Where probabilities are right, the least cost is at c_fp/(c_fp + c_fn).
func TestThresholdOfCosts(t *testing.T) {
	data := overlapping(8, 12_000)
	for _, c := range []struct{ positive, negative float64 }{{1, 4}, {3, 1}, {1, 1}} {
		want := c.positive / (c.positive + c.negative)
		got := cutoff(t, costing(meta.Costs{FalsePositive: c.positive, FalseNegative: c.negative}, 5,
			estimator.NewLogistic()), data)
		if math.Abs(got.Value-want) > 0.06 {
			t.Errorf("costs %v: threshold %v, want about %v", c, got.Value, want)
		}
	}
}

// TestThresholdOfExpectedCosts checks that the class of minimum expected cost is the same by the
// threshold of two classes and by costs, and equals one computed by hand for three. Probabilities
// are those of the model.
func TestThresholdOfExpectedCosts(t *testing.T) {
	data := overlapping(9, 400)
	data.Schema.Targets[0].Categories = []string{"no", "yes", "perhaps"}
	for i := range data.Y {
		if data.X.At(i, 0) > 0.8 {
			data.Y[i] = 2
		}
	}
	costs := [][]float64{{0, 2, 1}, {5, 0, 1}, {1, 0.5, 0.25}}
	spec := costing(meta.Costs{Of: map[string]map[string]float64{"no": {"yes": 2}, "yes": {"no": 5},
		"perhaps": {"yes": 0.5, "perhaps": 0.25}}}, 0, estimator.NewLogistic())
	got, plain := predicted(t, spec, data, data.X), predicted(t, estimator.NewLogistic(), data, data.X)
	if !mat.Equal(got.Probabilities, plain.Probabilities) {
		t.Fatal("the probabilities are others")
	}
	moved := 0
	for i, v := range got.Values {
		expected := make([]float64, 3)
		for j := range expected {
			for k := range 3 {
				expected[j] += plain.Probabilities.At(i, k) * costs[k][j]
			}
		}
		if want := slices.Index(expected, slices.Min(expected)); float64(want) != v {
			t.Fatalf("row %d: class %v, want %d of costs %v", i, v, want, expected)
		}
		if v != plain.Values[i] {
			moved++
		}
	}
	if moved == 0 {
		t.Error("the costs change nothing")
	}
}

// On new rows of which few are positive, f1 and balanced accuracy are better than at the usual threshold.
func TestThresholdGainsOnNewRows(t *testing.T) {
	train, test := rare(10, 3000), rare(11, 20_000)
	for _, score := range []string{"f1", "balanced_accuracy"} {
		m, _ := metrics.ByName(score)
		for _, model := range []estimator.Estimator{estimator.NewLogistic(), fourier(0.1, estimator.NewRidgeClassifier())} {
			pred := func(spec estimator.Estimator) float64 {
				v, err := m.Score(metrics.Input{YTrue: test.Y, YPred: predicted(t, spec, train, test.X).Values, Classes: 2})
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			before, after, promised := pred(model), pred(deciding(score, 5, model)), cutoff(t, deciding(score, 5, model), train)
			if after < before+0.05 || math.Abs(after-promised.Best) > 0.05 {
				t.Errorf("%s: %v after, %v before, and %v promised", score, after, before, promised.Best)
			}
		}
	}
}

// It has the same bits for any number of cores, and a threshold in a pipeline's model.
func TestThresholdOnAnyCores(t *testing.T) {
	data := rare(12, 500)
	spec := deciding("f1", 4, fourier(0.2, estimator.NewLogistic()))
	want := cutoff(t, spec, data)
	for _, cores := range []int{1, 3} {
		before := runtime.GOMAXPROCS(cores)
		got := cutoff(t, pipeline.Steps().Then(spec), data)
		runtime.GOMAXPROCS(before)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d cores: %+v, want %+v", cores, got, want)
		}
	}
}

// TestThresholdsShareFits checks that a search over parameters of the threshold shares the fits.
func TestThresholdsShareFits(t *testing.T) {
	data := rare(13, 300)
	wide := func(score string, alpha float64) estimator.Estimator {
		of := estimator.NewRidgeClassifier()
		of.Alpha = alpha
		return deciding(score, 3, of)
	}
	specs := []estimator.Estimator{wide("f1", 1), wide("recall", 1), wide("f1", 0.01)}
	shared, out := together(t, data, 4, specs...)
	if !slices.Contains(shared, "alpha") {
		t.Errorf("shared %v", shared)
	}
	if slices.Equal(out[0][0].Values, out[1][0].Values) {
		t.Error("the scores change nothing")
	}
}

func TestThresholdRefuses(t *testing.T) {
	numbers := overlapping(1, 40)
	numbers.Schema.Targets = []datasets.Column{{Name: "price"}}
	single, only, three := overlapping(1, 40), overlapping(1, 40), overlapping(1, 40)
	for i := range 40 {
		single.Y[i], only.Y[i] = 0, 1
	}
	single.Y[5] = 1
	three.Schema.Targets[0].Categories = []string{"no", "yes", "perhaps"}
	three.Y[0], three.Y[1], three.Y[2] = 2, 2, 2
	logistic := estimator.NewLogistic()
	byName := func(truth, predicted string, cost float64) meta.Costs {
		return meta.Costs{Of: map[string]map[string]float64{truth: {predicted: cost}}}
	}
	both := deciding("f1", 3, logistic)
	both.Costs = byName("no", "yes", 2)
	for _, c := range []struct {
		spec meta.Threshold
		data datasets.Set
		want []string
	}{
		{deciding("auto", 3, nil), single, []string{"estimator is missing"}},
		{deciding("auto", 1, logistic), single, []string{"folds: must be 0, or an integer ≥ 2, got 1"}},
		{deciding("f2", 3, logistic), single, []string{"score: must be auto, or a metric of predicted classes: accuracy",
			"got \"f2\"", "did you mean f1?"}},
		{deciding("roc_auc", 3, logistic), single,
			[]string{"roc_auc reads decision scores or probabilities, which are the same for every threshold"}},
		{deciding("r2", 3, logistic), single, []string{"r2 is for regression"}},
		{both, single, []string{"by a score or by costs, and both are given"}},
		{costing(byName("no", "yes", -1), 1, logistic), single, []string{`cost: must be`, `the cost of "yes" for "no" is -1`,
			"folds: must be 0, or an integer ≥ 2, got 1"}},
		{costing(byName("nope", "yess", 1), 3, logistic), single, []string{`there is no class "nope"`,
			`there is no class "yess" (did you mean yes?)`}},
		{deciding("auto", 3, logistic), numbers, []string{"the target price is a number"}},
		{deciding("auto", 3, logistic), only, []string{`must have at least two classes, got only "yes"`}},
		{deciding("auto", 3, logistic), single, []string{`class "yes" has a single row`}},
		{deciding("f1", 3, logistic), three, []string{"a threshold is between two classes, and here are 3", "give cost"}},
		{costing(meta.Costs{FalsePositive: 1, FalseNegative: 2}, 3, logistic), three,
			[]string{"false_positive and false_negative are of two classes, and here are 3"}},
		{costing(byName("no", "yes", 2), 3, estimator.NewSVM()), three,
			[]string{"knows no probabilities", "put calibrated around it"}},
		{deciding("auto", 3, normal{}), overlapping(1, 40), []string{"no scores of classes"}},
	} {
		_, err := c.spec.Fit(context.Background(), c.data)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// TestCosts checks the parameter values of Costs.
func TestCosts(t *testing.T) {
	for _, c := range []struct {
		plain any
		want  meta.Costs
	}{
		{"none", meta.Costs{}},
		{map[string]any{"false_negative": 5}, meta.Costs{FalsePositive: 1, FalseNegative: 5}},
		{map[string]any{"no": map[string]any{"yes": 2.5}}, meta.Costs{Of: map[string]map[string]float64{"no": {"yes": 2.5}}}},
	} {
		var got, back meta.Costs
		if err := got.Set(c.plain); err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: %v, %v", c.plain, got, err)
		}
		if err := back.Set(got.Get()); err != nil || fmt.Sprint(back) != fmt.Sprint(got) {
			t.Errorf("%v comes back as %v, %v", got, back, err)
		}
	}
	for _, plain := range []any{3, "some", map[string]any{}, map[string]any{"false_positve": 1},
		map[string]any{"false_positive": -1, "false_negative": "many"},
		map[string]any{"no": map[string]any{"yes": -1}}, map[string]any{"no": map[string]any{}, "false_positive": 1}} {
		if err := new(meta.Costs).Set(plain); err == nil {
			t.Errorf("%v is taken", plain)
		}
	}
	wrong := new(meta.Costs).Set(map[string]any{"false_positive": -1, "false_negative": "many"})
	var f param.FieldError
	if !errors.As(wrong, &f) || f.Hint != "false_negative is many; false_positive is -1" {
		t.Error(wrong)
	}
	got, err := param.With(costing(meta.Costs{FalsePositive: 1, FalseNegative: 5}, 0, estimator.NewLogistic()),
		param.Setting{Path: "cost.false_negative", Value: 9},
		param.Setting{Path: "estimator.C", Value: 0.5})
	if moved, ok := got.(meta.Threshold); !ok || moved.Costs.FalseNegative != 9 {
		t.Errorf("%+v, %v", got, err)
	}
}
