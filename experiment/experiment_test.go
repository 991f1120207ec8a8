package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// sample is a CSV of n rows: two numbers with a few missing, a string, a weight, a group, and a target
// that is a quantity or a class.
func sample(n int, target func(i int) string) string {
	var b strings.Builder
	b.WriteString("a,b,c,w,g,y\n")
	for i := range n {
		missing := fmt.Sprintf("%.2f", math.Sin(float64(i)))
		if i%17 == 3 {
			missing = "?"
		}
		fmt.Fprintf(&b, "%d,%s,%s,%d,%d,%s\n", i%23, missing, []string{"red", "green", "blue"}[i%3], 1+i%2, i/4, target(i))
	}
	return b.String()
}

// complete is sample without missing values.
func complete(n int, target func(i int) string) string {
	return strings.ReplaceAll(sample(n, target), "?", "0.5")
}

func quantity(i int) string { return fmt.Sprintf("%.3f", float64(i%23)/4+math.Sin(float64(i))) }
func class(i int) string    { return []string{"no", "yes"}[i%23/12] }

// spec loads a string as the file spec.yaml in the working directory.
func spec(t *testing.T, text string, overrides ...Override) Spec {
	t.Helper()
	s, err := Parse(context.Background(), "spec.yaml", []byte(text), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// set is an override.
func set(path, value string) Override { return Override{Path: path, Value: value} }

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, s Spec) result.Result {
	t.Helper()
	r, err := Run(context.Background(), s, Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const everything = `
name: everything
seed: 18446744073709551615
precision: float32
data:
  train: rows.csv
  split: {test: 0.25}
  csv: {missing: ["?", -999], comment: "#"}
  target: y
  task: classification
  weight: w
  group: g
  drop: [c]
  kinds: {a: numeric}
pipeline:
  - columns:
      - {select: [a, b], steps: [{impute: {strategy: median}}, standardize], name: numbers}
  - union:
      parts:
        - rff: {gamma: 0.25, features: 20}
        - {rff: {gamma: [0.1, 2], features: 10, kernel: laplacian}, name: narrow}
      weights: [0.7, 0.3]
  - logistic: {C: 1e-7}
search:
  grid:
    union.rff.gamma: {log: [1e-3, 1, 4]}
    columns.numbers.impute.strategy: [mean, median]
    logistic.C: [0.1, 1, 10]
  cv: {kind: group, folds: 3}
  score: roc_auc
  refit: one_std_error
  random: 3
  halving: {resource: rows, min_resources: 20, factor: 2}
`

// placeless returns a spec without line numbers.
func placeless(s Spec) Spec {
	return Spec{Name: s.Name, Seed: s.Seed, Data: s.Data, Pipeline: s.Pipeline, Search: s.Search, Intervals: s.Intervals,
		Output: s.Output}
}

// brief encodes without defaults, with a comment.
func brief(s Spec, file string) ([]byte, error) {
	return s.EncodeBrief(file, map[string]string{"": "accuracy 0.9"})
}

// TestEncodeThenLoadIsIdentity checks that loading an encoded spec gives the same spec, with all defaults written or
// none.
func TestEncodeThenLoadIsIdentity(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(60, class))
	for _, text := range []string{everything,
		"data: {train: rows.csv, target: y, drop: [b, c]}\npipeline: [{rff: {gamma: scale}}, {svm: {loss: hinge}}]\n",
		"data: {dataset: iris}\npipeline: [logistic]\nsearch: {}\n",
		"data: {dataset: iris}\npipeline: [logistic]\nsearch: {budget: 1h30m}\n",
		"data: {dataset: iris}\npipeline: [logistic]\nintervals: {level: 0.95}\n",
		"data: {dataset: iris}\npipeline: [{intervals: {calibration: 0.5, estimator: [standardize, logistic]}}]\n",
		"data: {dataset: iris}\npipeline: [{ensemble: {members: {a: [standardize, logistic], b: [{rff: {features: 50}}, " +
			"{logistic: {C: 3}}]}}}]\n"} {
		s := spec(t, text)
		for file, encode := range map[string]func(Spec, string) ([]byte, error){"spec.yaml": Spec.Encode,
			"runs/deep/spec.yaml": Spec.Encode, "runs/short/spec.yaml": brief} {
			written, err := encode(s, file)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(context.Background(), file, written)
			if err != nil {
				t.Fatalf("%v\n%s", err, written)
			}
			if !reflect.DeepEqual(placeless(s), placeless(again)) {
				t.Errorf("%s: another spec:\n%+v\n%+v\n%s", file, s, again, written)
			}
			twice, err := encode(again, file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(written, twice) {
				t.Errorf("%s: another text:\n%s\n%s", file, written, twice)
			}
		}
	}
}

// TestEncodeBrief checks the text of an ensemble: a line for each step, what differs from the defaults, and comments.
func TestEncodeBrief(t *testing.T) {
	s := spec(t, "name: n\ndata: {dataset: iris}\npipeline: [{ensemble: {seed: 5, members: {one: [standardize, logistic], "+
		"two: [{rff: {features: 50, seed: 3}}, {logistic: {C: 3, tol: 1e-4}}]}}}]\n") // the default of tol
	got, err := s.EncodeBrief("spec.yaml", map[string]string{"": "accuracy 0.9", "two": "accuracy 0.8"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `name: "n"
data:
  dataset: iris
# accuracy 0.9
pipeline:
  - ensemble:
      seed: 5
      members:
        one:
          - standardize
          - logistic
        # accuracy 0.8
        two:
          - rff: {features: 50, seed: 3}
          - logistic: {C: 3.0}
output:
  dir: runs/n
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An override is the value written in the file.
func TestOverrides(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", complete(60, class))
	const text = "data: {train: rows.csv, target: y, drop: [c]}\npipeline: [{rff: {gamma: 1}}, logistic]\n"
	want := spec(t, "seed: 9\ndata: {train: rows.csv, target: y, drop: [a, c]}\npipeline: [{rff: {gamma: 0.5}}, "+
		"{logistic: {C: 3}}]\nsearch: {folds: 4, grid: {rff.features: {lin: [10, 30, 3]}}}\n")
	got := spec(t, text, set("seed", "9"), set("data.drop", "[a, c]"), set("rff.gamma", "0.5"),
		set("pipeline.logistic.C", "3"),
		set("search.cv.folds", "4"), set("search.grid.rff.features", "{lin: [10, 30, 3]}"))
	if !reflect.DeepEqual(placeless(want), placeless(got)) {
		t.Errorf("want\n%+v\ngot\n%+v", want, got)
	}
	if without := spec(t, text); reflect.DeepEqual(param.All(without.Pipeline), param.All(got.Pipeline)) {
		t.Error("the seed of the experiment changes no seed of a step")
	}
}

// TestStreamEqualsMemory checks that streamed rows give the same split, the same model up to the
// order of summation, and the same files as rows in memory.
func TestStreamEqualsMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(5000, quantity))
	const text = "data: {train: rows.csv, target: y, weight: w, drop: [c, g], csv: {missing: '?'}, split: {test: " +
		"0.2}}\npipeline: [impute, standardize, {rff: {gamma: 0.3, features: 40}}, {ridge: {alpha: 0.1}}]\n"
	memory := execute(t, spec(t, text, set("output.dir", "memory"), set("data.stream", "never")))
	stream := execute(t, spec(t, text, set("output.dir", "stream"), set("data.stream", "always")))
	if memory.Rows != stream.Rows || memory.Rows.Test != 1000 {
		t.Fatalf("rows %+v and %+v", memory.Rows, stream.Rows)
	}
	for _, part := range []struct{ a, b map[string]float64 }{{memory.Train, stream.Train}, {memory.Test, stream.Test}} {
		for name, v := range part.a {
			if math.Abs(part.b[name]-v) > 1e-9*math.Abs(v) {
				t.Errorf("%s: %v in memory, %v streamed", name, v, part.b[name])
			}
		}
	}
	if memory.Test["r2"] < 0.9 {
		t.Errorf("r2 is %v", memory.Test["r2"])
	}
	a, b := column(t, "memory/predictions.csv", 0), column(t, "stream/predictions.csv", 0)
	if !reflect.DeepEqual(a, b) {
		t.Error("other test rows")
	}
}

// column reads column j of a CSV without quotes.
func column(t *testing.T, path string, j int) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, row := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		out = append(out, strings.Split(row, ",")[j])
	}
	return out
}

// The task follows from the target: strings and few integers are classes; only integers cause a
// note.
func TestTaskFromTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	cases := []struct {
		name   string
		target func(i int) string
		model  string
		task   string
		notice bool
	}{
		{"strings", class, "logistic", "classification", false},
		{"few integers", func(i int) string { return fmt.Sprint(i % 3) }, "logistic", "classification", true},
		{"many integers", func(i int) string { return fmt.Sprint(i) }, "ridge", "regression", false},
		{"few fractions", func(i int) string { return fmt.Sprint(float64(i%2) + 0.5) }, "ridge", "regression", false},
	}
	for _, c := range cases {
		put(t, "rows.csv", sample(60, c.target))
		s := spec(t, "data: {train: rows.csv, target: y, csv: {missing: '?'}, drop: [c, g, w]}\npipeline: [impute, "+c.model+
			"]\n")
		r := execute(t, s)
		noticed := strings.Contains(strings.Join(r.Warnings, "\n"), "data.task is not given")
		if r.Task != c.task || noticed != c.notice {
			t.Errorf("%s: task %s, warnings %q", c.name, r.Task, r.Warnings)
		}
	}
}

// TestWeightsAndGroups checks that weights count rows, groups are not split, and neither is an
// input.
func TestWeightsAndGroups(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(200, class))
	r := execute(t, spec(t, "data: {train: rows.csv, target: y, weight: w, group: g, csv: {missing: '?'}, drop: [c], "+
		"split: {test: 0.25}}\npipeline: [impute, standardize, logistic]\nsearch: {grid: {logistic.C: [0.1, 1]}, folds: "+
		"3}\n"))
	if r.Features != 2 {
		t.Errorf("%d inputs, want 2", r.Features)
	}
	groups := column(t, "runs/spec/predictions.csv", 0)[1:]
	if len(groups)%4 != 0 {
		t.Errorf("%d test rows are no whole groups of 4", len(groups))
	}
	rows := map[string]int{}
	for _, row := range groups {
		var k int
		fmt.Sscan(row, &k)
		rows[fmt.Sprint(k/4)]++
	}
	for g, n := range rows {
		if n != 4 {
			t.Errorf("group %s has %d of 4 rows in the test part", g, n)
		}
	}
}

// Files of every format train, and a test file is read by the training file's schema.
func TestFormats(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a.csv", sample(80, class))
	put(t, "a.tsv", strings.ReplaceAll(sample(80, class), ",", "\t"))
	var arff, svm strings.Builder
	arff.WriteString("@relation r\n@attribute a numeric\n@attribute c {red,green}\n@attribute y {no,yes}\n@data\n")
	for i := range 80 {
		fmt.Fprintf(&arff, "%d,%s,%s\n", i%23, []string{"red", "green"}[i%2], class(i))
		fmt.Fprintf(&svm, "%d 1:%d 3:%.1f\n", 2*(i%23/12)-1, i%23, math.Sin(float64(i)))
	}
	put(t, "a.arff", arff.String())
	put(t, "a.svm", svm.String())
	put(t, "b.svm", "1 1:20\n-1 1:3\n")
	cases := []struct {
		data     string
		features int
	}{
		{"{train: a.csv, target: y, test: a.csv, csv: {missing: '?'}}", 5},
		{"{train: a.tsv, target: y, test: a.tsv, csv: {missing: '?'}}", 5},
		{"{train: a.arff, test: a.arff}", 2},
		{"{train: a.svm, test: b.svm, task: classification}", 3},
		{"{dataset: wine, split: {test: 0.2}}", 13},
	}
	for _, c := range cases {
		steps := "[{columns: {groups: [{select: numeric, steps: [impute, standardize]}], remainder: drop}}, logistic]"
		if strings.Contains(c.data, "svm") {
			steps = "[logistic]"
		}
		r := execute(t, spec(t, "data: "+c.data+"\npipeline: "+steps+"\n"))
		if r.Features != c.features || r.Task != "classification" || r.Rows.Test == 0 || r.Test["accuracy"] < 0.8 {
			t.Errorf("%s: %+v", c.data, r)
		}
	}
}

// TestResultFile checks that result.json has the documented fields, and that unknown values are
// omitted.
func TestResultFile(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(120, class))
	execute(t, spec(t, "seed: 3\ndata: {train: rows.csv, target: y, csv: {missing: '?'}, split: {test: "+
		"0.25}}\npipeline: [{columns: [{select: numeric, steps: [impute, standardize]}]}, logistic]\nsearch: {grid: "+
		"{logistic.C: [0.1, 1, 10]}, folds: 3}\n"))
	text, err := os.ReadFile("runs/spec/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"name", "task", "rows.train", "rows.test", "features_in", "search.candidates",
		"search.folds", "search.fits", "search.score",
		"search.best.params", "search.best.mean", "search.best.std", "search.on_grid_edge", "search.shared", "train.accuracy",
		"test.accuracy", "test.log_loss",
		"test.roc_auc", "test.balanced_accuracy", "seconds.load", "seconds.search", "seconds.refit", "seconds.evaluate",
		"seconds.total", "peak_memory_bytes",
		"versions.bochner", "versions.go", "seed", "data_sha256.train", "warnings"} {
		at := any(got)
		for _, key := range strings.Split(path, ".") {
			inner, ok := at.(map[string]any)
			if !ok || inner[key] == nil {
				t.Errorf("no %s", path)
				break
			}
			at = inner[key]
		}
	}
	if best := got["search"].(map[string]any)["best"].(map[string]any)["params"].(map[string]any); best["logistic.C"] == nil {
		t.Errorf("the best parameters are %v", best)
	}
	rows := column(t, "runs/spec/cv_results.csv", 1)
	if strings.Join(rows, " ") != "logistic.C 0.1 1 10" {
		t.Errorf("cv_results.csv has %v", rows)
	}
}

// TestPlan checks that a plan counts the work of the run.
func TestPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(200, quantity))
	s := spec(t, "data: {train: rows.csv, target: y, csv: {missing: '?'}, drop: [c], split: {test: 0.25}}\npipeline: "+
		"[impute, standardize, {rff: {features: 30}}, ridge]\nsearch: {grid: {ridge.alpha: [0.1, 1], rff.gamma: [0.1, 1, "+
		"2]}, folds: 4}\n")
	p, err := NewPlan(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	r := execute(t, s)
	if p.Candidates != r.Search.Candidates || p.Folds != r.Search.Folds || p.Fits != r.Search.Fits+1 || p.Rows != r.Rows ||
		p.Features != r.Features || p.Task != r.Task {
		t.Errorf("planned %+v, done %+v %+v", p, r, r.Search)
	}
	if len(p.Samples) == 0 || p.Bytes <= 0 || p.Seconds <= 0 || len(p.Steps) != 4 || p.Steps[2].Width != 30 ||
		p.Steps[3].Name != "ridge" {
		t.Errorf("the plan is %+v", p)
	}
	if err := p.Refusal(); err != nil {
		t.Error(err)
	}
	two := spec(t, "data: {train: rows.csv, target: [y, w], csv: {missing: '?'}, drop: [c, g], test: "+
		"rows.csv}\npipeline: [impute, ridge]\nsearch: {grid: {ridge.alpha: [0.1, 1]}, folds: 3}\n")
	if q, err := NewPlan(context.Background(), two); err != nil || q.Rows.Test != 200 || q.Fits != 7 {
		t.Errorf("with two targets and a test file: %+v, %v", q, err)
	}
	p.Bytes = p.Available + 1
	if p.Refusal() == nil {
		t.Error("a plan beyond the memory is not refused")
	}
}

// A draft of any data loads as an experiment and runs.
func TestDraftRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "data/my rows.csv", strings.ReplaceAll(sample(100, class), "?", ""))
	put(t, "data/numbers.csv", strings.ReplaceAll(sample(100, quantity), "?", ""))
	put(t, "data/a.svm", strings.Repeat("1 1:2 3:1\n-1 2:1\n1 1:3\n-1 2:2\n", 8))
	for _, path := range []string{"data/my rows.csv", "data/numbers.csv", "data/a.svm"} {
		text, err := scaffold.Experiment(context.Background(), path, scaffold.Options{File: "specs/draft.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(context.Background(), "specs/draft.yaml", text, set("rff.features", "10"), set("search.folds", "2"),
			set("search.random", "8"))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !strings.HasPrefix(string(text), "# ") || len(s.Search.Grid) != 3 {
			t.Errorf("the draft is\n%s", text)
		}
		execute(t, s)
	}
}

// No output replaces an earlier one unless the run succeeds.
func TestFailureLeavesEarlierOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(60, quantity))
	const text = "data: {train: rows.csv, target: y, csv: {missing: '?'}, drop: [c]}\npipeline: [impute, " +
		"ridge]\noutput: {dir: out}\n"
	execute(t, spec(t, text))
	before, err := os.ReadFile("out/model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	strs := spec(t, text)
	strs.Data.Drop = []string{"a"}
	const want = "spec.yaml:2:12: pipeline.impute: column c is categorical and has no mean (use most_frequent or " +
		"constant, or select the numeric columns)"
	if _, err := Run(context.Background(), strs, Options{Force: true}); err == nil || err.Error() != want {
		t.Fatalf("%v, want %s", err, want)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err = Run(ctx, spec(t, text), Options{Progress: func(phase string, done, total int) {
		if phase == "evaluate" {
			cancel(errors.New("enough"))
		}
	}})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("cancelled, it returns %v", err)
	}
	after, err := os.ReadFile("out/model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the model is another")
	}
	entries, err := os.ReadDir("out")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 { // spec.yaml, result.json, model.bochner, report.html
		t.Errorf("left behind: %v", entries)
	}
}

// Several targets are learned jointly and written as columns.
func TestSeveralTargets(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(100, quantity))
	r := execute(t, spec(t, "data: {train: rows.csv, target: [y, w], csv: {missing: '?'}, drop: [c, g], split: {test: "+
		"0.2}}\npipeline: [impute, standardize, ridge]\n"))
	if r.Task != "regression" || r.Features != 2 || len(r.Test) == 0 {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile("runs/spec/predictions.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "row,truth_y,prediction_y,truth_w,prediction_w\n") ||
		strings.Count(string(text), "\n") != 21 {
		t.Errorf("predictions.csv is\n%s", text)
	}
}

// TestStaleOutputsAreRemoved checks that a run removes files of an earlier run that it does not
// write.
func TestStaleOutputsAreRemoved(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(60, class))
	const steps = "pipeline: [{columns: [{select: a, steps: [standardize]}]}, logistic]\noutput: {dir: out}\n"
	execute(t, spec(t, "data: {train: rows.csv, target: y, csv: {missing: \"?\"}, split: {test: 0.3}}\nsearch: {grid: "+
		"{logistic.C: [1, 2]}, folds: 2}\n"+steps))
	put(t, "out/notes.txt", "mine")
	files := func() string {
		entries, err := os.ReadDir("out")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	if got, want := files(), "cv_results.csv model.bochner notes.txt predictions.csv report.html result.json "+
		"spec.yaml"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	execute(t, spec(t, "data: {train: rows.csv, target: y, csv: {missing: \"?\"}}\n"+steps))
	if got, want := files(), "model.bochner notes.txt report.html result.json spec.yaml"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFailureLeavesNoDirectories checks that directories created by a run are removed if it fails.
func TestFailureLeavesNoDirectories(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(60, class))
	s := spec(t, "data: {train: rows.csv, target: y, csv: {missing: '?'}}\npipeline: [{columns: [{select: a, steps: "+
		"[standardize]}]}, logistic]\noutput: {dir: deep/er/out}\n")
	put(t, "rows.csv", strings.Replace(sample(60, class), "4,", "four,", 1))
	if _, err := Run(context.Background(), s, Options{}); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat("deep"); !os.IsNotExist(err) {
		t.Errorf("deep is there: %v", err)
	}
}

// Precision is a value of the file like any other, and reaches the model.
func TestPrecision(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "data: {dataset: iris}\npipeline: [{rff: {features: 20}}, logistic]\noutput: {dir: out}\n"
	for want, s := range map[string]Spec{
		pipeline.Float64: spec(t, text),
		pipeline.Float32: spec(t, text, set("precision", "float32")),
	} {
		if s.Pipeline.Precision != want {
			t.Errorf("%s, want %s", s.Pipeline.Precision, want)
		}
		execute(t, s)
		m, err := modelfile.Load("out/model.bochner")
		if err != nil {
			t.Fatal(err)
		}
		if got := pipeline.Find(m.Predictor).Precision(); got != want {
			t.Errorf("the model is in %s, want %s", got, want)
		}
		if got, err := Inspect("out/model.bochner"); err != nil || got.Precision != want {
			t.Errorf("inspect reports %q, %v, want %s", got.Precision, err, want)
		}
	}
}

// TestOverrideOfFolds checks that both names of the number of folds are supported, and that the
// command line takes precedence.
func TestOverrideOfFolds(t *testing.T) {
	const text = "data: {dataset: iris}\npipeline: [logistic]\nsearch: {cv: {folds: 4}}\n"
	for _, path := range []string{"search.folds", "search.cv.folds"} {
		if s := spec(t, text, set(path, "3")); s.Search.CV.Folds != 3 {
			t.Errorf("%s: %d folds, want 3", path, s.Search.CV.Folds)
		}
	}
	if s := spec(t, text, set("search", "")); s.Search != nil {
		t.Errorf("a search that is taken away is %+v", s.Search)
	}
	grid := spec(t, text, set("search.grid", "{logistic.C: [1, 2], logistic.tol: [0.1]}"),
		set("search.grid.logistic.tol", "")).Search.Grid
	if len(grid) != 1 || grid[0].Path != "logistic.C" {
		t.Errorf("the grid is %v", grid)
	}
}

// TestDraftOfSparseRows checks that an svmlight file has as many inputs as its largest index, and
// that the grid of γ depends on the variance of its values.
func TestDraftOfSparseRows(t *testing.T) {
	t.Chdir(t.TempDir())
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "%d 1:%d 7:4\n", 1-2*(i%2), i/2%2*20)
	}
	put(t, "rows.svm", b.String())
	text, err := scaffold.Experiment(context.Background(), "rows.svm", scaffold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The variances are 10², and 0 for the seventh column: the grid is about 1/100 and 1/10.
	for _, want := range []string{"40 rows, 7 inputs", "rff.gamma: {log: [3.0e-05, 0.3, 8]}"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
