package experiment

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
)

// prices is a table of two inputs and a price whose logarithm they explain, or whether that is high.
func prices(n int, classes bool) string {
	rng := rand.New(rand.NewPCG(2, 3))
	var b strings.Builder
	b.WriteString("a,b,price\n")
	for range n {
		u, v := rng.NormFloat64(), rng.NormFloat64()
		y := math.Exp(1 + 1.3*u - 0.5*v + 0.2*rng.NormFloat64())
		if classes {
			fmt.Fprintf(&b, "%.4f,%.4f,%s\n", u, v, []string{"low", "high"}[min(int(y/3), 1)])
		} else {
			fmt.Fprintf(&b, "%.4f,%.4f,%.4f\n", u, v, y)
		}
	}
	return b.String()
}

func around(t *testing.T, classes bool, pipeline, search string, more ...Override) (result.Result, Model) {
	t.Helper()
	t.Chdir(t.TempDir())
	put(t, "rows.csv", prices(160, classes))
	text := "seed: 3\ndata: {train: rows.csv, target: price, split: {test: 0.25}}\npipeline:\n- " + pipeline + "\n"
	if search != "" {
		text += "search: " + search + "\n"
	}
	r := execute(t, spec(t, text, more...))
	m, err := Inspect("runs/spec/model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}

// A search over a penalty below a target transformation shares work and supports leave-one-out as
// plain ridge does. Its scores are in original units: those of the saved model on held-out rows.
func TestSearchWithinTarget(t *testing.T) {
	const grid = `{grid: {rff.gamma: [0.05, 0.2], %salpha: [0.01, 0.1, 1]}, score: r2, folds: 4}`
	plain, _ := around(t, false, "{rff: {features: 60}}\n- ridge", fmt.Sprintf(grid, "ridge."))
	behind, m := around(t, false, "{rff: {features: 60}}\n- target: {transform: log, estimator: ridge}",
		fmt.Sprintf(grid, "target.estimator."))
	if !slices.Equal(plain.Search.Shared, behind.Search.Shared) || len(plain.Search.Shared) < 3 {
		t.Errorf("shared %v, by ridge %v", behind.Search.Shared, plain.Search.Shared)
	}
	if best := behind.Search.Best; best.Mean < plain.Search.Best.Mean+0.005 ||
		math.Abs(best.Mean-behind.Test["r2"]) > 0.15 || best.Params["target.estimator.alpha"] == nil {
		t.Errorf("best %+v, on test rows %v, without the transform %v", best, behind.Test, plain.Search.Best.Mean)
	}
	if !strings.Contains(m.Spec, "target:") || !strings.Contains(m.Spec, "ridge:") {
		t.Error(m.Spec)
	}
	for _, transform := range []string{"quantile", "standardize"} {
		other, _ := around(t, false, "{rff: {features: 60}}\n- target: {transform: "+transform+", estimator: ridge}",
			fmt.Sprintf(grid, "target.estimator."))
		if !slices.Contains(other.Search.Shared, "alpha") {
			t.Errorf("%s: shared %v", transform, other.Search.Shared)
		}
	}
	loo, _ := around(t, false, "target: {estimator: [{rff: {features: 60, gamma: 0.1}}, ridge]}",
		`{grid: {target.estimator.ridge.alpha: [0.01, 0.1, 1]}, score: r2, cv: {kind: loo}}`)
	if math.Abs(loo.Search.Best.Mean-loo.Test["r2"]) > 0.15 {
		t.Errorf("leave-one-out: %+v, on test rows %v", loo.Search.Best, loo.Test)
	}
}

// TestSearchWithinCalibrated checks that calibrated probabilities of a model without its own reach
// scores, predictions and a search by log loss, whose candidates share features and folds.
func TestSearchWithinCalibrated(t *testing.T) {
	r, _ := around(t, true, "{rff: {features: 40}}\n- calibrated: {folds: 3, estimator: ridge_classifier}",
		`{grid: {rff.gamma: [0.05, 0.2], calibrated.estimator.alpha: [0.1, 1], calibrated.method: [sigmoid, temperature]}, score: log_loss, folds: 3}`)
	if r.Test["log_loss"] > 0.5 || !slices.Contains(r.Search.Shared, "alpha") ||
		!slices.Contains(r.Search.Shared, "projection") {
		t.Errorf("log loss %v, shared %v", r.Test["log_loss"], r.Search.Shared)
	}
	file, err := os.Open("runs/spec/predictions.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	p, _ := strconv.ParseFloat(rows[1][3], 64)
	q, _ := strconv.ParseFloat(rows[1][4], 64)
	if len(rows) != 41 || len(rows[0]) != 5 || math.Abs(p+q-1) > 1e-9 {
		t.Errorf("%v, %v", rows[0], rows[1])
	}
}

// A threshold is tuned for few positive rows, its score is searched over, and result, model file
// and predictions contain it: predictions are the second class where its probability exceeds it.
func TestThresholdOfAnExperiment(t *testing.T) {
	t.Chdir(t.TempDir())
	rng, rows := rand.New(rand.NewPCG(5, 6)), "a,b,price\n"
	for range 1000 {
		u, v := rng.NormFloat64(), rng.NormFloat64()
		rows += fmt.Sprintf("%.4f,%.4f,%s\n", u, v, map[bool]string{true: "high",
			false: "low"}[rng.Float64() < 1/(1+math.Exp(3-u-v))])
	}
	put(t, "rows.csv", rows)
	const text = "seed: 3\ndata: {train: rows.csv, target: price, positive: high, split: {test: 0.4}}\npipeline:\n- " +
		"threshold: {score: f1, folds: 4, estimator: logistic}\n"
	r := execute(t, spec(t, text))
	m, err := Inspect("runs/spec/model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	c := r.Threshold
	if c == nil || c.Score != "f1" || c.Usual != 0.5 || c.Value == 0.5 || c.Best < c.AtUsual+0.02 ||
		len(c.At) != len(c.Scores) || len(c.At) > 100 || math.Abs(c.Best-r.Test["f1"]) > 0.12 {
		t.Fatalf("threshold %+v, on test rows %v", c, r.Test)
	}
	if m.Threshold == nil || fmt.Sprint(*m.Threshold) != fmt.Sprint(*c) || !strings.Contains(m.Spec, "threshold:") {
		t.Errorf("in the file %+v\n%s", m.Threshold, m.Spec)
	}
	file, err := os.Open("runs/spec/predictions.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for k, name := range got[0] {
		at[name] = k
	}
	for _, row := range got[1:] {
		high, err := strconv.ParseFloat(row[at["probability_high"]], 64)
		if err != nil || (high > c.Value) != (row[at["prediction"]] == "high") {
			t.Fatalf("%v, %v: threshold %v", got[0], row, c.Value)
		}
	}
	searched := execute(t, spec(t, text+
		"search: {grid: {threshold.score: [f1, accuracy], threshold.estimator.C: [0.1, 1]}, score: f1, folds: 3}\n",
		Override{Path: "pipeline.threshold.folds", Value: "3"}))
	if searched.Search.Candidates != 4 || searched.Threshold == nil {
		t.Errorf("%+v", searched.Search)
	}
	costs := execute(t, spec(t, text, Override{Path: "pipeline.threshold.score", Value: "auto"},
		Override{Path: "pipeline.threshold.cost", Value: "{high: {low: 4}}"}))
	if c := costs.Threshold; c == nil || c.Score != "cost" || c.Value > 0.4 || c.Best > c.AtUsual {
		t.Errorf("threshold %+v of costs", c)
	}
}

// All errors of a threshold are reported before any fit.
func TestThresholdErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", prices(160, true))
	put(t, "three.csv", "a,b,kind\n"+strings.Repeat("1,2,x\n2,1,y\n3,3,z\n", 20))
	put(t, "numbers.csv", prices(160, false))
	for _, c := range []struct {
		data, threshold string
		want            []string
	}{
		{"rows.csv, target: price", "{score: roc_auc, folds: 1, estimator: logistic}",
			[]string{"pipeline.threshold.score: roc_auc reads decision scores",
				"pipeline.threshold.folds: must be 0, or an integer ≥ 2, got 1"}},
		{"rows.csv, target: price", "{score: f2, estimator: logistic}",
			[]string{"must be auto, or a metric of predicted classes: accuracy", "did you mean f1?"}},
		{"rows.csv, target: price", "{score: f1, cost: {false_positive: 2}, estimator: logistic}",
			[]string{"both are given"}},
		{"rows.csv, target: price", "{cost: {false_positive: -2, false_negative: -1}, estimator: logistic}",
			[]string{"false_negative is -1; false_positive is -2"}},
		{"rows.csv, target: price", "{cost: {low: {hgh: 2}}, estimator: ridge}",
			[]string{"spec.yaml:3:", `pipeline.threshold.cost: there is no class "hgh" (did you mean high?)`,
				"pipeline.threshold.estimator: threshold requires a classifier, got a regressor"}},
		{"three.csv, target: kind", "{estimator: logistic}",
			[]string{"pipeline.threshold.score: a threshold is between two classes, and here are 3"}},
		{"three.csv, target: kind", "{cost: {false_negative: 2}, estimator: svm}",
			[]string{"pipeline.threshold.cost: false_positive and false_negative are of two classes",
				"pipeline.threshold.estimator: expected costs require probabilities"}},
		{"numbers.csv, target: price", "{estimator: logistic}",
			[]string{"threshold predicts classes, but the task is regression"}},
	} {
		put(t, "spec.yaml", "data: {train: "+c.data+"}\npipeline:\n- threshold: "+c.threshold+"\n")
		_, err := LoadOptions{All: true}.Load(context.Background(), "spec.yaml")
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.threshold, err, want)
			}
		}
	}
}

// TestEnsembleOfAnExperiment checks that members have names in paths and in the model file,
// separate seeds, and weights in the results.
func TestEnsembleOfAnExperiment(t *testing.T) {
	const members = `ensemble:
    members:
      fourier: [{rff: {features: 40, gamma: 0.1}}, {ridge: {alpha: 0.1}}]
      prices: {target: {estimator: [{rff: {features: 40, gamma: 0.1}}, ridge]}}
      line: ridge`
	r, m := around(t, false, members,
		`{grid: {ensemble.members.fourier.ridge.alpha: [0.1, 1], ensemble.members.prices.estimator.rff.gamma: [0.05, 0.2]}, score: r2, folds: 3}`,
		Override{Path: "pipeline.ensemble.members.line.alpha", Value: "3"})
	sum := 0.0
	for k, name := range []string{"fourier", "prices", "line"} {
		if len(r.Members) != 3 || r.Members[k].Name != name || len(m.Members) != 3 || m.Members[k] != r.Members[k] {
			t.Fatalf("members %+v, in the file %+v", r.Members, m.Members)
		}
		sum += r.Members[k].Weight
	}
	if math.Abs(sum-1) > 1e-9 || r.Test["r2"] < 0.8 || !strings.Contains(m.Spec, "alpha: 3.0") {
		t.Errorf("weights %+v, scores %v, spec\n%s", r.Members, r.Test, m.Spec)
	}
	seeds, _ := around(t, false, "ensemble: {seeds: 3, estimator: [{rff: {features: 40, gamma: 0.1}}, ridge]}",
		`{grid: {ensemble.seeds: [2, 4], ensemble.estimator.ridge.alpha: [0.1, 1]}, score: r2, folds: 3}`)
	if len(seeds.Members) < 2 || seeds.Members[0].Weight != 1/float64(len(seeds.Members)) ||
		!slices.Contains(seeds.Search.Shared, "alpha") {
		t.Errorf("%+v, shared %v", seeds.Members, seeds.Search.Shared)
	}
}

// Wrappers are planned, and errors of inner estimators are reported with their paths before any
// fit.
func TestPlanAround(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", prices(160, true)+",0.5,low\n")
	plan := func(pipeline string) (Plan, error) {
		text := "data: {train: rows.csv, target: price}\npipeline:\n- " + pipeline + "\n"
		return NewPlan(context.Background(), spec(t, text))
	}
	for _, model := range []string{"svm", "calibrated: {folds: 5, estimator: svm}",
		"threshold: {folds: 5, estimator: svm}"} {
		if p, err := plan("impute\n- rff\n- " + model); err != nil || !(p.Seconds > 0) {
			t.Errorf("%s: %+v, %v", model, p, err)
		}
	}
	for pipeline, want := range map[string]string{
		"threshold: {estimator: [rff, svm]}": "threshold.estimator.rff: rff takes no missing " +
			"values, and column ",
		"calibrated: {estimator: [rff, svm]}": "calibrated.estimator.rff: rff takes no missing " +
			"values, and column ",
		"ensemble: {members: {a: logistic, b: [impute, svm]}}": "ensemble.members.a: logistic takes no missing " +
			"values, and column ",
		"impute\n- target: {estimator: ridge}": "target predicts numbers, but the task is " +
			"classification",
		"impute\n- ensemble: {members: {a: ridge}}": "ensemble predicts numbers, but the task is " +
			"classification; use ridge_classifier, logistic, svm, kernel_ridge_classifier, kernel_svm, sgd_classifier or " +
			"rff_network",
		"impute\n- ensemble: {members: [ridge]}": "pipeline.ensemble.members: must be names, each " +
			"with an estimator or a list of steps",
		"impute\n- ensemble": "pipeline.ensemble.seeds: the ensemble is empty " +
			"(set members, or estimator and seeds)",
		"impute\n- calibrated": "pipeline.calibrated.estimator: missing (must be " +
			"an estimator, or a list of steps the last of which is one)",
		"impute\n- calibrated: {of: svm}": "no parameter is called \"of\" (did you mean " +
			"estimator?)",
		"impute\n- ensemble: {members: {a: {svm: {C: -1}}, b: rigde}}": "pipeline.ensemble.members.a.C: must be a number " +
			"> 0, got -1",
	} {
		text := "data: {train: rows.csv, target: price}\npipeline:\n- " + pipeline + "\n"
		put(t, "wrong.yaml", text)
		_, err := LoadOptions{All: true}.Load(context.Background(), "wrong.yaml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pipeline, err, want)
		}
	}
}
