package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics/compare"
)

// comparisonFixture is a comparison with content for every section.
func comparisonFixture() result.Comparison {
	run := func(label string, accuracy float64) result.RunSummary {
		return result.RunSummary{
			Label: label, Folder: "runs/" + label, Rows: result.Rows{Train: 900, Test: 1000}, Memory: 1 << 26,
			Test: map[string]float64{"accuracy": accuracy, "log_loss": 0.3}, Train: map[string]float64{"accuracy": 0.95},
			Search: &result.Search{Score: "accuracy", Folds: 5, Best: result.Candidate{Params: map[string]any{"rff.gamma": 0.1},
				Mean: 0.9, Std: 0.01}},
		}
	}
	test := compare.Test{Method: "McNemar, chi-squared with continuity correction", Difference: 0.035, Low: 0.017,
		High: 0.053, P: 0.0002}
	worse := compare.Test{Method: "McNemar, exact binomial", Difference: -0.004, Low: -0.01, High: 0.002, P: 0.3}
	folds := compare.Test{Method: "corrected resampled t", Difference: 0.01, Low: -0.01, High: 0.03, P: 0.2}
	return result.Comparison{
		Task: "classification", Positive: nasty, TestRows: 1000, Runs: []result.RunSummary{run("a", 0.85), run(nasty, 0.885),
			run("c", 0.846)},
		Differences: []struct {
			Path   string   `json:"path"`
			Values []string `json:"values"`
		}{{Path: "pipeline.rff.gamma", Values: []string{"0.1", nasty, "none"}}},
		OnTestRows: []result.TestResult{
			{Run: 1, Score: "accuracy", GreaterIsBetter: true, Pairs: 1000, Test: test, Holm: 0.0004, Only: 60, OnlyFirst: 25},
			{Run: 2, Score: "accuracy", GreaterIsBetter: true, Pairs: 1000, Test: worse, Holm: 0.3, Only: 8, OnlyFirst: 12},
		},
		OnFolds: []result.TestResult{{Run: 1, Score: "accuracy", GreaterIsBetter: true, Pairs: 5, Test: folds, Holm: 0.2}},
		Notes:   []string{"The folds of a and c are not tested: " + nasty},
	}
}

// Comparison pages are self-contained and complete.
func TestComparisonPage(t *testing.T) {
	made, err := NewComparison(comparisonFixture())
	if err != nil {
		t.Fatal(err)
	}
	page := made.String()
	pictures, tables := 0, 0
	for _, e := range parsed(t, page) {
		switch e.Name.Local {
		case "script", "link", "img", "iframe":
			t.Errorf("there is a %s", e.Name.Local)
		case "svg":
			pictures++
		case "table":
			tables++
		}
		for _, a := range e.Attr {
			if a.Name.Local == "href" && !regexp.MustCompile(`^#[a-z-]+$`).MatchString(a.Value) {
				t.Errorf("there is a link to %s", a.Value)
			}
		}
	}
	if pictures != 2 || tables != 8 {
		t.Errorf("%d pictures and %d tables", pictures, tables)
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "NaN") {
		t.Error("something is not escaped, or not a number")
	}
	for _, words := range []string{
		"88.5\u00a0% and that of a 85.0\u00a0%: difference in percentage points: 3.50 (95\u00a0% confidence interval 1.70 " +
			"to 5.30).", "is significantly better (p 0.0004).",
		"points: −0.40 (95\u00a0% confidence interval −1.00 to 0.20). The difference is not significant (p 0.3).",
		"McNemar, chi-squared with continuity correction or McNemar, exact binomial", "corrected resampled t",
		"The folds of a and c are not tested", "only a correct", "rff.gamma", "64 MiB",
	} {
		if !strings.Contains(strings.ReplaceAll(page, "&#43;", "+"), words) {
			t.Errorf("nowhere: %s", words)
		}
	}
	if again, err := NewComparison(comparisonFixture()); err != nil || again.String() != page {
		t.Error("the same comparison makes another page", err)
	}
	var written bytes.Buffer
	if n, err := made.WriteTo(&written); err != nil || written.String() != page || n != int64(len(page)) {
		t.Error("another page is written", err)
	}
}

// Regression compares squared errors by target; without test rows, folds are compared.
func TestComparisonOutcomes(t *testing.T) {
	c := comparisonFixture()
	c.Task, c.Positive = "regression", ""
	test := compare.Test{Method: "paired t", Difference: -0.25, Low: -0.5, High: -0.01, P: 0.04}
	c.OnTestRows = []result.TestResult{{Run: 2, Score: "squared_error", Target: "price", Pairs: 40, Test: test,
		Holm: 0.04}}
	summary := comparisonPage(c).Summary
	if len(summary) != 1 || summary[0] != "On 40 test rows, mean squared error of price: difference between c and a: "+
		"−0.25 (95\u00a0% confidence interval −0.5 to −0.01). c is significantly better (p 0.04)." {
		t.Errorf("%q", summary)
	}
	c.OnTestRows = nil
	if summary := comparisonPage(c).Summary; len(summary) != 1 ||
		!strings.HasPrefix(summary[0], "On 5 cross-validation folds, accuracy: difference between ") {
		t.Errorf("%q", summary)
	}
}
