package report

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/rows/profile"
)

const nasty = `<script>alert("x")</script> & Ünïcode "quoted"`

// full is a result with content for every section.
func full() result.Result {
	shares := []float64{0, 0.5, 1}
	r := result.Result{
		Name: nasty, Task: "classification", Positive: nasty, Rows: result.Rows{Train: 900, Test: 100}, Features: 3,
		Train:    map[string]float64{"accuracy": 0.95, "balanced_accuracy": 0.7},
		Test:     map[string]float64{"accuracy": 0.9, "balanced_accuracy": 0.6},
		Warnings: []string{"the fit did not converge " + nasty}, Spec: "name: " + nasty,
		Diagram: `<svg xmlns="http://www.w3.org/2000/svg"/>`,
		Members: []result.MemberWeight{{Name: nasty, Weight: 0.5}},
	}
	level, coverage, width := 0.9, 0.88, 1.5
	r.Intervals = &result.Uncertainty{Method: "split", Level: level, Coverage: &coverage, Width: &width}
	r.Findings = result.Findings{
		On: "test",
		Baselines: []result.Baseline{{Name: "most frequent class", Scores: map[string]float64{"accuracy": 0.8}},
			{Name: "linear model", Scores: map[string]float64{"accuracy": 0.85}}},
		PerClass:        []result.Class{{Name: "no"}, {Name: nasty, Precision: 0.9}, {Name: "third"}},
		ROC:             []result.Curve{{Class: nasty, X: shares, Y: shares, Area: 0.5}},
		PrecisionRecall: []result.Curve{{Class: nasty, X: shares, Y: shares, Area: 0.5}},
		Threshold:       &meta.Cutoff{Value: 0.3, Score: "f1", At: shares, Scores: shares},
		Errors: []result.Errors{{Target: nasty, Quantiles: []struct {
			Share float64 `json:"share"`
			Error float64 `json:"error"`
		}{{Share: 0.5, Error: 1}, {Share: 0.95, Error: 2}}, Worst: []result.Row{{Number: 7, Truth: 1, Predicted: -2}},
			Sample: []result.Row{{Truth: 1, Predicted: 1}, {Truth: 2, Predicted: 3}}}},
		Importance: &inspection.Importances{Metric: "accuracy", Repeats: 5, Rows: 100},
		Effects: []inspection.Effect{{Input: nasty, Class: "no", Output: "probability", Values: shares, Mean: shares},
			{Input: "kind", Output: "probability", Categories: []string{"a", nasty}, Mean: []float64{0.1, 0.2}}},
		Relevance: []result.Relevance{{Step: "ard", Inputs: []struct {
			Name      string  `json:"name"`
			Relevance float64 `json:"relevance"`
		}{{Name: nasty, Relevance: 1}}}},
		Profile: &profile.Profile{Rows: 900, Columns: []profile.Column{{Name: nasty, Kind: "categorical",
			Categories: []profile.Category{{Name: nasty, Fraction: 1}}},
			{Name: "x", Kind: "numeric", Min: -1, Max: 1, Quantiles: make([]float64, 11)}}},
		Skipped: []string{nasty},
	}
	r.Counts.Observed, r.Counts.Expected = []float64{5, 2, 1}, []float64{4, 3, 1}
	r.Quantile.Quantile, r.Quantile.Predicted, r.Quantile.Below, r.Quantile.Rows = 0.9, shares, shares, []int{20, 20, 21}
	r.Confusion.Classes, r.Confusion.Counts = []string{"no", nasty, "third"}, [][]float64{{50, 5, 0}, {4, 40, 1}, {0, 0, 0}}
	r.LearningCurve.Score, r.LearningCurve.Rows = "accuracy", []int{100, 200, 400}
	r.LearningCurve.Train, r.LearningCurve.Scores = shares, shares
	r.Importance.Inputs = slices.Grow(r.Importance.Inputs, 2)[:2]
	r.Importance.Inputs[0].Name, r.Importance.Inputs[0].Mean, r.Importance.Inputs[0].Std = nasty, 0.1, 0.01
	r.Importance.Inputs[1].Name = "b"
	r.Calibration = slices.Grow(r.Calibration, 1)[:1]
	calibration := &r.Calibration[0]
	calibration.Class, calibration.Predicted, calibration.Observed = nasty, shares, shares
	calibration.Rows = []float64{10, 20, 70}
	r.ANOVA = &inspection.ANOVA{Inputs: []string{nasty, "b"}}
	r.ANOVA.Outputs = slices.Grow(r.ANOVA.Outputs, 1)[:1]
	variance := &r.ANOVA.Outputs[0]
	variance.Name, variance.Total, variance.Inputs = nasty, 4, []float64{1, 2}
	variance.Pairs = [][]float64{{0, 0.5}, {0.5, 0}}
	r.Search = &result.Search{Candidates: 4, Folds: 2, Fits: 8, Score: "accuracy", OnGridEdge: []string{"rff.gamma"},
		Shared: []string{"projection"},
		Best:   result.Candidate{Params: map[string]any{"rff.gamma": 0.1, "rff.features": 200}, Mean: 0.9, Std: 0.01}}
	r.SummarizeShapley(explained(nasty), 2, 15)
	for i, gamma := range []float64{0.1, 1} {
		for k, features := range []int{100, 200} {
			c := result.Candidate{Params: map[string]any{"rff.gamma": gamma,
				"rff.features": features}, Mean: 0.8 + 0.05*float64(k), Std: 0.01, Folds: []float64{0.8, 0.9}, Rank: 4 - 2*i - k}
			if gamma == 1 && features == 100 {
				c.Mean, c.Std, c.Failed = math.NaN(), math.NaN(), nasty
			}
			r.Search.All = append(r.Search.All, c)
		}
	}
	return r
}

// parsed parses a page as strict XML and returns its elements and attributes.
func parsed(t *testing.T, page string) (elements []xml.StartElement) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if err == io.EOF {
			return elements
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements = append(elements, start.Copy())
		}
	}
}

// explained returns Shapley values of 40 rows for three classes.
func explained(name string) inspection.ShapleyValues {
	v := inspection.ShapleyValues{Method: inspection.MethodExact, Output: "decision", Inputs: []string{name, "b"},
		Background: 10, Data: []inspection.InputValues{{Categories: []string{name, "u"}}, {}}}
	v.Outputs = []inspection.ShapleyOutput{{Name: name}, {Name: "no"}, {Name: "third"}}
	for i := range 40 {
		v.Data[0].Values, v.Data[1].Values = append(v.Data[0].Values, float64(i%2)), append(v.Data[1].Values, float64(i))
		for q := range v.Outputs {
			o := &v.Outputs[q]
			o.Values = append(o.Values, []float64{float64(q), float64(i) / 10})
			o.Predictions = append(o.Predictions, float64(q)+float64(i)/10)
		}
	}
	return v
}

// The page of an explanation has a summary of each output and a waterfall of each row, of the class with the largest
// score.
func TestExplanation(t *testing.T) {
	e := result.Explanation{Name: "iris <&>", BackgroundFrom: "train.csv", ShapleyValues: explained("a <&>"),
		Partners: [][]int{{1, 0}, {1, -1}, {-1, -1}}}
	page, err := newExplanation(e)
	if err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for want, n := range map[string]int{"<h2 id=\"inputs-": 3, ">Row 39: score of third 5.9<": 1,
		"a &lt;&amp;&gt;, by b": 1,
		"b, by a &lt;&amp;&gt;": 1, "10 background rows (train.csv)": 1, "<&>": 0, "<script": 0} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("%q %d times, want %d", want, got, n)
		}
	}
	e.ShapleyValues, e.Partners = inspection.ShapleyValues{}, nil
	if page, err = newExplanation(e); err != nil || strings.Contains(page.String(), "inputs-0") {
		t.Errorf("without rows: %v", err)
	}
}

// Reports are self-contained, complete and escaped.
func TestPageStandsAlone(t *testing.T) {
	made, err := New(full())
	if err != nil {
		t.Fatal(err)
	}
	page := made.String()
	ids := map[string]bool{}
	pictures := 0
	for _, e := range parsed(t, page) {
		switch e.Name.Local {
		case "script", "link", "img", "iframe", "object", "embed", "video", "audio", "base", "form":
			t.Errorf("there is a %s", e.Name.Local)
		case "svg":
			pictures++
		}
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "href":
				if !regexp.MustCompile(`^(#[a-z-]+|result\.json#/[a-z_]+|cv_results\.csv)$`).MatchString(a.Value) {
					t.Errorf("there is a link to %s", a.Value)
				}
			case "id":
				if ids[a.Value] {
					t.Errorf("two elements have the id %s", a.Value)
				}
				ids[a.Value] = true
			case "src", "srcset", "onload", "onclick":
				t.Errorf("there is an attribute %s", a.Name.Local)
			}
		}
	}
	if pictures < 14 {
		t.Errorf("%d pictures", pictures)
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "NaN") || strings.Contains(page, "url(") ||
		strings.Contains(page, "@import") {
		t.Error("something is not escaped, or not a number, or loaded")
	}
	for _, id := range regexp.MustCompile(`href="#([a-z-]+)"`).FindAllStringSubmatch(page, -1) {
		if !ids[id[1]] {
			t.Errorf("a link leads to #%s, which is not there", id[1])
		}
	}
	for _, words := range []string{"<dt>accuracy</dt><dd>90.0\u00a0%</dd>",
		"<dt>most frequent class</dt><dd>80.0\u00a0%</dd>", "<dt>linear model</dt><dd>85.0\u00a0%</dd>",
		"<dt>test rows</dt><dd>100</dd>",
		"Recall differs between classes", "Most frequent confusions", "a larger value may help",
		"nominal coverage 90.0\u00a0%, observed coverage 88.0\u00a0%", "1 candidates failed",
		"Shared between candidates: projection.", "a wider grid may improve the score"} {
		if !strings.Contains(strings.ReplaceAll(page, "&#43;", "+"), words) {
			t.Errorf("nowhere: %s", words)
		}
	}
	if again, err := New(full()); err != nil || again.String() != page {
		t.Error("the same result makes another page", err)
	}
}

// Warnings and sections have a fixed order.
func TestOrder(t *testing.T) {
	page, err := New(full())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, mark := range []string{"<h1>", "did not converge", `id="scores"`, `id="classes"`, `id="errors"`,
		`id="uncertainty"`, `id="inputs"`, `id="search"`, `id="learning-curves"`, `id="data"`, `id="pipeline"`} {
		next := strings.Index(page.String()[at:], mark)
		if next < 0 {
			t.Fatalf("%s is not there, or stands before what it should follow", mark)
		}
		at += next
	}
	if frame := page.HTML(); !strings.HasPrefix(frame, "<iframe") || strings.Contains(frame, "<h1>") {
		t.Error("a notebook's frame holds the page unescaped")
	}
}

// Results of every task and empty results can be rendered.
func TestLittleToSay(t *testing.T) {
	share := 0.25
	var searched result.Auto
	searched.Rounds = slices.Grow(searched.Rounds, 1)[:1]
	searched.Rounds[0].Rows = 100
	odd := result.Result{Task: "anomaly", Test: map[string]float64{"roc_auc": 0.9}}
	odd.Anomalies.Train, odd.Anomalies.Test = &share, &share
	clustered := result.Result{Task: "clustering", Train: map[string]float64{"silhouette": 0.5}}
	clustered.Clusters.Train, clustered.Clusters.Test = []int{3, 4}, []int{1, 2}
	for _, r := range []result.Result{
		{}, {Task: "classification", Train: map[string]float64{"accuracy": 1}},
		{Task: "regression", Test: map[string]float64{"r2": -1}, Rows: result.Rows{Test: 1}},
		clustered,
		odd,
		{Task: "regression", Auto: &result.Auto{Score: "r2", Recipe: "a recipe", Rounds: searched.Rounds}},
		{Task: "regression", Search: &result.Search{Candidates: 1, Folds: 2, Score: "r2"}},
	} {
		page, err := New(r)
		if err != nil {
			t.Fatal(err)
		}
		parsed(t, page.String())
		if strings.Contains(page.String(), "NaN") {
			t.Errorf("%s: NaN on the page", r.Task)
		}
	}
}

// Figures are values with alternative text.
func TestPictures(t *testing.T) {
	page, err := New(full())
	if err != nil {
		t.Fatal(err)
	}
	list := page.Pictures()
	if len(list) < 14 {
		t.Fatalf("%d pictures", len(list))
	}
	for _, p := range list[:len(list)-1] { // the last one is the diagram of the result
		if p.Title == "" || p.Section == "" || !strings.HasPrefix(p.SVG(), "<svg ") ||
			!regexp.MustCompile(`aria-label="[^"]{10,}"`).MatchString(p.SVG()) {
			t.Errorf("%s, %s: %.120s", p.Section, p.Title, p.SVG())
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		formatNumber(0.123456): "0.1235", formatNumber(-3): "−3", formatNumber(1234567): "1\u202f234\u202f567",
		formatNumber(math.NaN()): "–", formatPercent(0.9951): "99.51\u00a0%", formatPercent(0.5): "50.0\u00a0%",
		formatSeconds(0.1234): "0.12\u00a0s", formatSeconds(61): "61\u00a0s", formatSeconds(600): "10\u00a0min",
		formatSeconds(7200): "2.0\u00a0h", formatCount(-12345): "−12\u202f345",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
