package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
)

// TestCostIsAScore checks that a search chooses by the costs of the threshold, and that results,
// baselines, reports, evaluations and comparisons have the cost of a row.
func TestCostIsAScore(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(7, 8))
	rows := "a,b,y\n"
	for range 900 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		class := "no"
		if rng.Float64() < 1/(1+math.Exp(2.5-a-b)) {
			class = "yes"
		}
		rows += fmt.Sprintf("%.4f,%.4f,%s\n", a, b, class)
	}
	put(t, "rows.csv", rows)
	const data = "data: {train: rows.csv, target: y, split: {test: 0.4}}\n"
	costly := execute(t, spec(t, data+"pipeline: [standardize, {threshold: {cost: {false_positive: 1, false_negative: 6}"+
		", estimator: logistic}}]\nsearch: {grid: {threshold.estimator.C: [0.01, 1]}, folds: 3, score: cost}\n"+
		"output: {dir: costly}\n"))
	cost := func(r result.Result) float64 { // 1 for a false positive, 6 for a false negative
		c := r.Confusion.Counts
		return (c[0][1] + 6*c[1][0]) / float64(r.Rows.Test)
	}
	if costly.Search.Score != "cost" || math.Abs(costly.Test["cost"]-cost(costly)) > 1e-12 ||
		math.Abs(costly.Search.Best.Mean-costly.Test["cost"]) > 0.2 || costly.Importance.Metric != "cost" {
		t.Fatalf("%+v, test %v, importance by %s", costly.Search, costly.Test, costly.Importance.Metric)
	}
	counts := costly.Confusion.Counts
	yes := (counts[1][0] + counts[1][1]) / float64(costly.Rows.Test)
	baselines := map[string]result.Baseline{}
	for _, b := range costly.Baselines {
		baselines[b.Name] = b
	}
	if all, none := baselines["always yes"].Scores["cost"], baselines["always no"].Scores["cost"]; len(baselines) != 3 ||
		math.Abs(all-(1-yes)) > 1e-12 || math.Abs(none-6*yes) > 1e-12 {
		t.Errorf("baselines %v, of the rows %v are yes", costly.Baselines, yes)
	}
	// The data is linear, so a linear model with a threshold costs about as much as the model.
	if linear := baselines["linear model"].Scores["cost"]; math.Abs(linear-costly.Test["cost"]) > 0.1 ||
		linear > 0.9*min(1-yes, 6*yes) {
		t.Errorf("the linear model costs %v, the model %v", linear, costly.Test["cost"])
	}
	page := text(t, "costly/report.html")
	for _, want := range []string{"<dt>cost</dt>", "The threshold minimizes cost"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<dt>accuracy</dt>") {
		t.Error("accuracy is the headline of a search by cost")
	}
	put(t, "new.csv", rows)
	if e, err := Evaluate(context.Background(), "costly/model.bochner", "new.csv", Options{}); err != nil ||
		!(e.Scores["cost"] > 0) {
		t.Errorf("%v, %v", e.Scores, err)
	}
	plain := execute(t, spec(t, data+"pipeline: [standardize, logistic]\noutput: {dir: plain}\n"))
	c, err := Compare(context.Background(), "cost", "costly", "plain")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Runs[1].Test["cost"]; math.Abs(got-cost(plain)) > 1e-12 ||
		!strings.HasPrefix(c.Outcome, "By cost costly is ahead on the test rows: ") {
		t.Errorf("cost %v of the run without a threshold, want %v; %s", got, cost(plain), c.Outcome)
	}
	if one := c.OnTestRows[0]; one.Score != "cost" || one.GreaterIsBetter ||
		math.Abs(one.Difference-(cost(plain)-cost(costly))) > 1e-9 {
		t.Errorf("%+v, want a difference of %v", one, cost(plain)-cost(costly))
	}
	execute(t, spec(t, data+"pipeline: [standardize, {threshold: {cost: {false_positive: 1, false_negative: 2}, "+
		"estimator: logistic}}]\noutput: {dir: other}\n"))
	if _, err := Compare(context.Background(), "cost", "costly", "other"); err == nil ||
		!strings.Contains(err.Error(), "score must be one that all runs have") {
		t.Errorf("runs of other costs are compared by them: %v", err)
	}
}

// TestCostNeedsCosts checks that the score cost without costs is an error of the file.
func TestCostNeedsCosts(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(60))
	put(t, "spec.yaml", "data: {train: rows.csv, target: y, task: classification}\npipeline: [logistic]\nsearch: {grid: "+
		"{logistic.C: [1, 2]}, folds: 3, score: cost}\n")
	if _, err := Load(context.Background(), "spec.yaml"); err == nil ||
		!strings.Contains(err.Error(), "search.score: cost requires the costs of mistakes, and the pipeline has none") {
		t.Error(err)
	}
}
