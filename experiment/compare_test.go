package experiment

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics/compare"
)

const comparedNumbers = "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline: [standardize, {rff: " +
	"{features: 20}}, ridge]\nsearch: {grid: {rff.gamma: [0.1, 1]}, folds: 4}\nreport: {html: false, importance: " +
	"{repeats: 0}, learning_curve: {points: 0}}\n"

const comparedClasses = "data: {train: odd.csv, target: kind, split: {test: 0.4}}\npipeline: [standardize, {rff: " +
	"{features: 20}}, logistic]\nreport: {html: false, importance: {repeats: 0}, learning_curve: {points: 0}}\n"

// runIn runs an experiment with output to a directory.
func runIn(t *testing.T, dir, document string, overrides ...Override) result.Result {
	t.Helper()
	return execute(t, spec(t, document, append(overrides, set("output.dir", dir))...))
}

// columnsOf returns the true values and predictions of a run.
func columnsOf(t *testing.T, dir string) (truth, got []string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text(t, dir+"/predictions.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[1:] {
		truth, got = append(truth, r[1]), append(got, r[2])
	}
	return truth, got
}

// TestCompareNumbers compares regressions: differences, the paired t test of the squared errors,
// the corrected one on folds, in the order of the runs.
func TestCompareNumbers(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(300))
	a := runIn(t, "runs/a", comparedNumbers)
	b := runIn(t, "runs/b", comparedNumbers, set("rff.features", "6"))
	runIn(t, "runs/c", comparedNumbers, set("search", "null"), set("data.stream", "always"))
	c, err := Compare(context.Background(), "", "runs/a", "runs/b/", "./runs/c")
	if err != nil {
		t.Fatal(err)
	}
	if c.Task != "regression" || c.TestRows != 90 || len(c.Runs) != 3 || c.Runs[1].Label != "b" ||
		c.Runs[2].Folder != "runs/c" || c.Runs[0].Test["r2"] != a.Test["r2"] {
		t.Errorf("%+v", c)
	}
	differ := map[string]string{}
	for _, s := range c.Differences {
		differ[s.Path] = strings.Join(s.Values, " ")
	}
	if len(differ) != 3 || differ["pipeline.rff.features"] != "20 6 20" || differ["search"] != "given given none" ||
		differ["data.stream"] != "auto auto always" {
		t.Errorf("%v", differ)
	}
	truth, first := columnsOf(t, "runs/a")
	for k, dir := range []string{"runs/b", "runs/c"} {
		_, output := columnsOf(t, dir)
		var d []float64
		mean, sum2 := 0.0, 0.0
		for i := range truth {
			y, _ := strconv.ParseFloat(truth[i], 64)
			p, _ := strconv.ParseFloat(first[i], 64)
			q, _ := strconv.ParseFloat(output[i], 64)
			d = append(d, (q-y)*(q-y)-(p-y)*(p-y))
			mean += d[i] / float64(len(truth))
		}
		for _, v := range d {
			sum2 += (v - mean) * (v - mean)
		}
		const quantile = 1.9869787 // scipy.stats.t.ppf(0.975, 89)
		half := quantile * math.Sqrt(sum2/89/90)
		got := c.OnTestRows[k]
		if got.Run != k+1 || got.Score != "squared_error" || got.GreaterIsBetter || got.Pairs != 90 ||
			math.Abs(got.Difference-mean) > 1e-12 || math.Abs(got.Low-(mean-half)) > 1e-6 ||
			math.Abs(got.High-(mean+half)) > 1e-6 {
			t.Errorf("%s: %+v, want %v ± %v", dir, got, mean, half)
		}
	}
	if one, two := c.OnTestRows[0], c.OnTestRows[1]; math.Min(one.Holm, two.Holm) != 2*math.Min(one.P, two.P) ||
		!one.Differs() || one.Better() {
		t.Errorf("%+v", c.OnTestRows)
	}
	if len(c.OnFolds) != 1 || c.OnFolds[0].Run != 1 || c.OnFolds[0].Score != "r2" || c.OnFolds[0].Pairs != 4 ||
		c.OnFolds[0].Holm != c.OnFolds[0].P ||
		math.Abs(c.OnFolds[0].Difference-(b.Search.Best.Mean-a.Search.Best.Mean)) > 1e-12 {
		t.Errorf("%+v", c.OnFolds)
	}
	if len(c.Notes) != 2 || c.Notes[0] != "The folds of a and c are not tested: c has no search." {
		t.Errorf("%q", c.Notes)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

// TestCompareClasses compares classifiers: rows that only one model predicts correctly are counted,
// and a run equals itself.
func TestCompareClasses(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "odd.csv", odd(400))
	runIn(t, "one/run", comparedClasses)
	runIn(t, "two/run", comparedClasses, set("rff.features", "4"), set("rff.gamma", "3"))
	runIn(t, "three/run", comparedClasses, set("name", "other"), set("report.html", "true"))
	c, err := Compare(context.Background(), "", "one/run", "two/run", "three/run")
	if err != nil {
		t.Fatal(err)
	}
	truth, first := columnsOf(t, "one/run")
	_, got := columnsOf(t, "two/run")
	onlyFirst, only := 0, 0
	for i := range truth {
		if a, b := first[i] == truth[i], got[i] == truth[i]; a && !b {
			onlyFirst++
		} else if b && !a {
			only++
		}
	}
	want, err := compare.McNemar(onlyFirst, only, len(truth))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.OnTestRows[0]; onlyFirst+only == 0 || got.OnlyFirst != onlyFirst || got.Only != only || got.Test != want ||
		c.Runs[1].Label != "two/run" {
		t.Errorf("%+v, want %d and %d", got, onlyFirst, only)
	}
	if got := c.OnTestRows[1]; got.P != 1 || got.Difference != 0 || got.Differs() || got.Better() {
		t.Errorf("%+v", got)
	}
	if c.Positive == "" || len(c.OnFolds) != 0 || len(c.Notes) != 0 {
		t.Errorf("%+v", c)
	}
}

// Searches that did not score on the same folds, and tasks whose scores are no sums over rows, are not tested.
func TestCompareUntested(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(200))
	whole := set("data.split.test", "0")
	runIn(t, "a", comparedNumbers, whole)
	for why, with := range map[string][]Override{
		"they are made in other ways":           {set("search.folds", "3")},
		"they are drawn by other seeds":         {set("seed", "7")},
		"only one names its target":             {set("data.target", "[]")},
		"one is scored by r2, the other by mae": {set("search.score", "mae")},
		"halving scores on parts of them": {set("search.halving.min_resources", "30"),
			set("search.halving.factor", "2")},
		"cv_results.csv does not have all of their scores":                 nil,
		"folds in the order of time have more and more rows to learn from": {set("search.cv.kind", "time")},
	} {
		dir := "b"
		first := "a"
		if strings.Contains(why, "order of time") {
			first = "time"
			runIn(t, first, comparedNumbers, whole, with[0])
			with = append(with, set("rff.features", "10"))
		}
		r, err := Run(context.Background(), spec(t, comparedNumbers, append(with, whole, set("output.dir", dir))...),
			Options{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if with == nil {
			if err := os.Remove("b/cv_results.csv"); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Compare(context.Background(), "", first, dir)
		if err != nil {
			t.Fatal(err)
		}
		if r.Search.Score == "mean_absolute_error" {
			why = "one is scored by r2, the other by mean_absolute_error"
		}
		if len(c.OnFolds) != 0 || len(c.OnTestRows) != 0 || len(c.Notes) != 2 || !strings.Contains(c.Notes[1], why) {
			t.Errorf("%s: %q", why, c.Notes)
		}
	}
	groups := "data: {train: rows.csv, task: clustering, split: {test: 0.3}}\npipeline: [{kmeans: {clusters: 3}}]\n"
	runIn(t, "k", groups)
	runIn(t, "l", groups, set("kmeans.clusters", "4"))
	c, err := Compare(context.Background(), "", "k", "l")
	if err != nil || len(c.OnTestRows) != 0 || len(c.Notes) != 1 || c.Differences[0].Path != "pipeline.kmeans.clusters" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestIncomparable checks that incomparable runs are rejected with all reasons.
func TestIncomparable(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(200))
	put(t, "more.csv", measured(210))
	put(t, "odd.csv", odd(200))
	runIn(t, "a", comparedNumbers)
	runIn(t, "again", comparedNumbers)
	runIn(t, "more", comparedNumbers, set("data.train", "more.csv"))
	runIn(t, "whole", comparedNumbers, set("data.split.test", "0"))
	runIn(t, "less", comparedNumbers, set("data.split.test", "0.2"))
	runIn(t, "seed", comparedNumbers, set("seed", "8"))
	runIn(t, "target", comparedNumbers, set("data.target", "a"))
	put(t, "weighted.csv", strings.ReplaceAll(measured(200), ",-", ","))
	runIn(t, "weight", comparedNumbers, set("data.drop", "[]"), set("data.weight", "b"), set("data.train", "weighted.csv"))
	runIn(t, "odd", comparedClasses)
	runIn(t, "even", comparedClasses, set("data.positive", "odd"))
	for _, dir := range []string{"gone", "cut", "long", "quote", "truth", "unpredicted", "json", "spec"} {
		if err := os.CopyFS(dir, os.DirFS("again")); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(text(t, "a/predictions.csv"), "\n")
	change := func(dir string, at int, line string) {
		changed := append([]string{}, lines...)
		changed[at] = line
		put(t, dir+"/predictions.csv", strings.Join(changed, ""))
	}
	row := strings.Split(lines[5], ",")
	put(t, "cut/predictions.csv", strings.Join(lines[:11], ""))
	put(t, "long/predictions.csv", strings.Join(lines, "")+lines[5])
	change("quote", 5, "\"\n")
	change("truth", 5, row[0]+",7,"+row[2])
	change("unpredicted", 5, row[0]+","+row[1]+",\n")
	put(t, "json/result.json", "{")
	for _, name := range []string{"gone/predictions.csv", "spec/spec.yaml"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for folders, message := range map[string][]string{
		"a": {"must be at least two runs, got 1"},
		"a ./a nowhere json spec": {"./a is named twice", "nowhere is not the directory of a finished run",
			"json/result.json: unexpected EOF", "spec/spec.yaml is missing"},
		"a more whole less": {"more: the training file, which its test rows are from, has other contents",
			"whole has no test rows, a has 60", "less has 40 test rows, a has 60"},
		"a seed": {"seed/predictions.csv:2: other test rows: this is row", "the seeds are 8 and 0"},
		"a target odd weight": {"target: the target is a, that of a is y",
			"odd: the task is classification, that of a is regression", "weight: the column of weights is b, that of a is none"},
		"odd even": {"even: "},
		"a gone cut long quote": {"gone/predictions.csv is missing",
			"cut/predictions.csv must have the 60 rows of result.json, got 10",
			"long/predictions.csv:62: there are more rows than the 60", "quote/predictions.csv: record on line 6"},
		"a truth unpredicted": {"truth/predictions.csv:6: true values differ: row " + row[0] + " has \"7\"",
			"unpredicted/predictions.csv:6: row " + row[0] + " has no prediction"},
	} {
		c, err := Compare(context.Background(), "", strings.Fields(folders)...)
		var wrong *incomparableRunsError
		if !errors.As(err, &wrong) || len(c.Runs) != 0 {
			t.Errorf("%s: %v", folders, err)
			continue
		}
		if folders != "odd even" && len(wrong.Problems) != len(message) && !strings.HasPrefix(folders, "a target") &&
			!strings.HasPrefix(folders, "a seed") {
			t.Errorf("%s: %q", folders, wrong.Problems)
		}
		for _, s := range message {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v\ndoes not contain %q", folders, err, s)
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Compare(ctx, "", "a", "again"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A score that is a mean of losses is tested by these losses, and is that of result.json.
func TestCompareByTheLoss(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", waves(300))
	var runs []result.Result
	for _, alpha := range []string{"0.0001", "0.3"} {
		runs = append(runs, execute(t, spec(t, strings.ReplaceAll(waving, "ridge: {alpha: 0.1}",
			"quantile_regression: {quantile: 0.9, alpha: "+alpha+"}"), set("output.dir", "runs/"+alpha))))
	}
	c, err := Compare(context.Background(), "pinball_0.9", "runs/0.0001", "runs/0.3")
	if err != nil {
		t.Fatal(err)
	}
	got := c.OnTestRows[0]
	if want := runs[1].Test["pinball_0.9"] - runs[0].Test["pinball_0.9"]; got.Score != "pinball_0.9" || len(c.Notes) > 0 ||
		want < 0.01 || math.Abs(got.Difference-want) > 1e-6 || !got.Differs() || got.Better() {
		t.Errorf("%+v, notes %q; want difference %v", got, c.Notes, want)
	}
	if _, ok := runs[0].Test["d2_pinball_0.9"]; !ok {
		t.Errorf("scores %v", runs[0].Test)
	}
}
