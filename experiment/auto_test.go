package experiment_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
)

// houses writes rows of two numbers, one with missing values, a category and a price that depends on them; change
// may alter a line, by its number from 0.
func houses(t *testing.T, path string, n int, change func(i int, fields []string)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"area", "age", "town", "price"})
	for i := range n {
		area, age, town := rng.Float64()*2, rng.Float64()*50, rng.IntN(3)
		price := math.Sin(3*area) + age/50 + float64(town) + 0.1*rng.NormFloat64()
		fields := []string{fmt.Sprintf("%.3f", area), fmt.Sprintf("%.2f", age), []string{"a", "b", "c"}[town],
			fmt.Sprintf("%.4f", price)}
		if i%17 == 0 {
			fields[1] = ""
		}
		if change != nil {
			change(i, fields)
		}
		w.Write(fields)
	}
	w.Flush()
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// few are the options of a short search.
func few(dir string) experiment.AutoOptions {
	return experiment.AutoOptions{Target: "price", Candidates: 12, Dir: dir}
}

func TestAuto(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	var reported []string
	o := few("")
	o.OnDecision = func(text string) { reported = append(reported, text) }
	found, err := experiment.Auto(context.Background(), "houses.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if found.Profile == nil || found.Profile.Rows != found.Rows.Train ||
		len(found.Profile.Columns) != found.Features {
		t.Errorf("%d rows and %d inputs are described as %+v", found.Rows.Train, found.Features, found.Profile)
	}
	dir := filepath.Join("runs", "houses")
	for _, name := range []string{"experiment.yaml", "model.bochner", "result.json", "predictions.csv", "leaderboard.csv",
		"auto.journal"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if found.Rows.Train != 96 || found.Rows.Test != 24 || found.Test["r2"] < 0.4 || found.Auto.Candidates > 12 ||
		found.Auto.Candidates < 6 {
		t.Errorf("%+v, test %v", found.Rows, found.Test)
	}
	if all := strings.Join(reported, "\n"); !strings.Contains(all, "24 held out") ||
		!strings.Contains(all, "price: regression") {
		t.Errorf("reported:\n%s", all)
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read result.Result
	if err := json.Unmarshal(text, &read); err != nil || read.Auto == nil || read.Auto.Recipe != found.Auto.Recipe {
		t.Errorf("result.json: %v, %+v", err, read.Auto)
	}
	board, err := os.ReadFile(filepath.Join(dir, "leaderboard.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(board)).ReadAll()
	if err != nil || len(rows) != 1+found.Auto.Candidates || strings.Join(rows[0],
		" ") != "rank recipe parameters score std_error rows features seconds chosen failed "+
		"estimate predict_seconds bytes" {
		t.Errorf("%d lines in the leaderboard, %v, %v", len(rows), rows[0], err)
	}
	again(t, dir)
}

// again runs the experiment that was written, which makes the same model.
func again(t *testing.T, dir string) {
	t.Helper()
	spec, err := experiment.Load(context.Background(), filepath.Join(dir, "experiment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Run(context.Background(), spec, experiment.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"predictions.csv"} {
		first, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(filepath.Join(spec.Output.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s differs when the experiment is run", name)
		}
	}
}

// TestAutoStartFrom checks that a search continues from the leaderboard of a run on other rows, and what it cannot
// start from.
func TestAutoStartFrom(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	if _, err := experiment.Auto(context.Background(), "houses.csv", few("")); err != nil {
		t.Fatal(err)
	}
	houses(t, "more.csv", 140, nil)
	o := few("")
	o.StartFrom = filepath.Join("runs", "houses")
	result, err := experiment.Auto(context.Background(), "more.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(result.Auto.Decided, "starts from the best candidates of "+o.StartFrom) {
		t.Errorf("%q", result.Auto.Decided)
	}
	board, err := os.ReadFile(filepath.Join(o.StartFrom, "leaderboard.csv"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join("runs", "more", "leaderboard.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Auto.Rounds[0]; got.Rows != result.Rows.Train {
		t.Errorf("%+v", got)
	}
	lines := strings.Split(string(board), "\n")
	at := slices.IndexFunc(lines, func(l string) bool {
		return strings.Contains(l, ",true,") && !strings.Contains(l, "ensemble")
	})
	if chosen := strings.Split(lines[at], ",")[1]; !strings.Contains(string(again), ","+chosen+",") {
		t.Errorf("%s is not among the first candidates:\n%s", chosen, again)
	}
	for _, name := range []string{"damaged", "cut"} {
		dir := filepath.Join("runs", name)
		if err := os.CopyFS(dir, os.DirFS(o.StartFrom)); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(board), ",zscores ", ",zsores ")
		if err := os.WriteFile(filepath.Join(dir, "leaderboard.csv"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join("runs", "cut", "leaderboard.csv")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, score, task, want string }{
		{"runs/absent", "", "", "cannot start from runs/absent: experiment: runs/absent is not the directory of a finished run"},
		{"runs/cut", "", "", "cannot start from runs/cut: open runs/cut/leaderboard.csv"},
		{"runs/damaged", "", "", "did you mean zscores"},
		{"runs/houses", "mae", "", "cannot start from runs/houses: score must be that of the run, r2, got mae"},
		{"runs/houses", "", "classification", "cannot start from runs/houses: the task must be regression, got classification"},
	} {
		o := few("runs/faulty")
		o.StartFrom, o.Score, o.Task = c.from, c.score, c.task
		if _, err := experiment.Auto(context.Background(), "more.csv", o); err == nil ||
			!strings.Contains(filepath.ToSlash(err.Error()), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestAutoLimits checks that a model within limits is chosen and that the costs are in result, report and leaderboard.
func TestAutoLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	o := few("")
	o.MaxSize, o.MaxPredictTime = 12_000, time.Second
	result, err := experiment.Auto(context.Background(), "houses.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if a := result.Auto; !(a.Bytes > 0 && a.Bytes <= 12_000 && a.PredictSeconds > 0) || len(a.Costs) < 2 {
		t.Errorf("%+v", a)
	}
	page, err := os.ReadFile(filepath.Join("runs", "houses", "report.html"))
	if err != nil || !bytes.Contains(page, []byte("Score and time of predictions")) {
		t.Errorf("no picture of the front: %v", err)
	}
	o = few("runs/none")
	o.MaxSize = 100
	if _, err := experiment.Auto(context.Background(), "houses.csv", o); err == nil ||
		!strings.Contains(err.Error(), "no model meets the limits: the closest is ") {
		t.Error(err)
	}
}

// TestAutoHeldOut checks that held-out rows do not affect the search: with other values and targets
// the selected model has the same bits.
func TestAutoHeldOut(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	o := few("first")
	o.NoRefit = true
	first, err := experiment.Auto(context.Background(), "houses.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	held := map[int]bool{}
	text, err := os.ReadFile("first/predictions.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		var row int
		fmt.Sscanf(line, "%d,", &row)
		held[row] = true
	}
	if len(held) != 24 {
		t.Fatalf("%d rows held out", len(held))
	}
	houses(t, "houses.csv", 120, func(i int, fields []string) {
		if held[i] {
			fields[0], fields[3] = fmt.Sprintf("%.3f", 3-float64(i)/100), fmt.Sprintf("%.4f", 100+float64(i))
		}
	})
	o.Dir = "second"
	second, err := experiment.Auto(context.Background(), "houses.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if first.Auto.Mean != second.Auto.Mean || first.Auto.Recipe != second.Auto.Recipe ||
		fmt.Sprint(first.Train) != fmt.Sprint(second.Train) {
		t.Errorf("%+v\n%+v", first.Auto, second.Auto)
	}
	if fmt.Sprint(first.Test) == fmt.Sprint(second.Test) {
		t.Error("the test rows must differ for this case")
	}
	houses(t, "new.csv", 40, nil)
	var got [2]bytes.Buffer
	for k, dir := range []string{"first", "second"} {
		if _, err := experiment.Predict(context.Background(), filepath.Join(dir, "model.bochner"), "new.csv", &got[k],
			experiment.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got[0].Bytes(), got[1].Bytes()) {
		t.Error("the models predict differently")
	}
}

// The saved model learns from all rows, and scores are those of the model of the training rows. The rows of a test
// file are never added.
func TestAutoRefit(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	houses(t, "new.csv", 40, nil)
	ctx := context.Background()
	predicted := func(dir string) string {
		t.Helper()
		var out bytes.Buffer
		if _, err := experiment.Predict(ctx, filepath.Join(dir, "model.bochner"), "new.csv", &out,
			experiment.Options{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	search := func(dir string, change func(*experiment.AutoOptions)) result.Result {
		t.Helper()
		o := few(dir)
		o.Candidates = 5
		change(&o)
		found, err := experiment.Auto(ctx, "houses.csv", o)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	all := search("all", func(*experiment.AutoOptions) {})
	some := search("some", func(o *experiment.AutoOptions) { o.NoRefit = true })
	if all.Rows.Fitted != 120 || some.Rows.Fitted != 0 {
		t.Errorf("fitted to %d rows, and to %d without a refit", all.Rows.Fitted, some.Rows.Fitted)
	}
	for dir, want := range map[string][2]int{"all": {96, 120}, "some": {}} {
		m, err := experiment.Inspect(dir)
		if err != nil || m.ScoredRows != want[0] || m.FittedRows != want[1] || len(m.Metrics) == 0 {
			t.Errorf("%s: %d rows of the scores, %d of the model, want %v, %v", dir, m.ScoredRows, m.FittedRows, want, err)
		}
	}
	if fmt.Sprint(all.Test, all.Train, all.Auto.Mean) != fmt.Sprint(some.Test, some.Train, some.Auto.Mean) {
		t.Errorf("scores %v, and %v without a refit", all.Test, some.Test)
	}
	spec, err := experiment.Load(ctx, "all/experiment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec.Data.Split.Test, spec.Output.Dir = 0, "whole"
	if _, err := experiment.Run(ctx, spec, experiment.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := predicted("all"); got == predicted("some") || got != predicted("whole") {
		t.Error("the saved model is not that of all rows")
	}
	timed := search("timed", func(o *experiment.AutoOptions) { o.Candidates, o.Minutes = 0, 0.1 })
	if timed.Rows.Fitted != 120 {
		t.Errorf("fitted to %d rows within a time limit: %q", timed.Rows.Fitted, timed.Warnings)
	}
	tested := search("tested", func(o *experiment.AutoOptions) { o.Test = "new.csv" })
	if tested.Rows.Fitted != 0 {
		t.Errorf("fitted to %d rows with a test file", tested.Rows.Fitted)
	}
}

// Counts are modeled by Poisson regression and its deviance; other numbers are an error.
func TestAutoCounts(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 1))
	text := "x,z,visits\n"
	for range 200 {
		x, z, count := rng.Float64()*3, rng.NormFloat64(), 0
		for p := rng.Float64(); p > math.Exp(-math.Exp(x)); count++ {
			p *= rng.Float64()
		}
		text += fmt.Sprintf("%.3f,%.3f,%d\n", x, z, count)
	}
	if err := os.WriteFile("visits.csv", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	o := experiment.AutoOptions{Target: "visits", Task: "counts", Candidates: 8, Dir: "out"}
	found, err := experiment.Auto(context.Background(), "visits.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if found.Auto.Score != "mean_poisson_deviance" || !strings.Contains(found.Auto.Recipe, "poisson") ||
		!(found.Test["d2_poisson"] > 0.5) {
		t.Errorf("%s by %s: %v", found.Auto.Recipe, found.Auto.Score, found.Test)
	}
	o.Target, o.Dir = "z", "other"
	if _, err := experiment.Auto(context.Background(), "visits.csv", o); err == nil ||
		!strings.Contains(err.Error(), "must be integers ≥ 0") {
		t.Errorf("negative fractions: %v", err)
	}
}

// The saved model has intervals of the level, which cover the test rows, after a fit to all rows too.
func TestAutoIntervals(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 300, nil)
	ctx := context.Background()
	o := experiment.AutoOptions{Target: "price", Candidates: 6, Dir: "out", Intervals: 0.9}
	found, err := experiment.Auto(ctx, "houses.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if u := found.Intervals; u == nil || u.Coverage == nil || *u.Coverage < 0.75 {
		t.Errorf("intervals of level 0.9: %+v", u)
	}
	var out bytes.Buffer
	if _, err := experiment.Predict(ctx, "out/model.bochner", "houses.csv", &out, experiment.Options{}); err != nil {
		t.Fatal(err)
	}
	if head, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(head, "lower,upper") || found.Rows.Fitted != 300 {
		t.Errorf("%d rows, predictions with the columns %s", found.Rows.Fitted, head)
	}
	if again, err := experiment.Load(ctx, "out/experiment.yaml"); err != nil || again.Intervals == nil {
		t.Errorf("the experiment file has no intervals: %v", err)
	}
	o.Intervals = 1
	if _, err := experiment.Auto(ctx, "houses.csv", o); err == nil ||
		!strings.Contains(err.Error(), "intervals: must be a number > 0 and < 1") {
		t.Errorf("level 1: %v", err)
	}
}

// A repeated call resumes from the journal, a different one is rejected without force, and a
// stopped search writes all outputs.
func TestAutoAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	stop := make(chan struct{})
	o := few("out")
	o.Stop = stop
	closed := false
	o.Progress = func(phase string, done, total int) {
		if done >= 5 && phase == "search" && !closed {
			closed = true
			close(stop)
		}
	}
	result, err := experiment.Auto(context.Background(), "houses.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if result.Auto.Ended != "stopped" || result.Auto.Candidates >= 12 {
		t.Errorf("%s after %d candidates", result.Auto.Ended, result.Auto.Candidates)
	}
	again(t, "out")
	stopped := result.Auto.Candidates
	result, err = experiment.Auto(context.Background(), "houses.csv", few("out"))
	if err != nil {
		t.Fatal(err)
	}
	if result.Auto.Resumed != stopped || result.Auto.Candidates <= stopped {
		t.Errorf("%d of %d candidates from the journal, want %d", result.Auto.Resumed, result.Auto.Candidates, stopped)
	}
	other := few("out")
	other.Seed = 7
	if _, err := experiment.Auto(context.Background(), "houses.csv", other); err == nil ||
		!strings.Contains(err.Error(), "--force") {
		t.Errorf("another seed: %v", err)
	}
	other.Force = true
	if _, err := experiment.Auto(context.Background(), "houses.csv", other); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := experiment.Auto(ctx, "houses.csv", few("never")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat("never"); err == nil {
		t.Error("a cancelled search leaves its folder")
	}
}

// auto uses the data, weights, groups and cleaning of an experiment file; test rows may have their
// own file; the task may be given.
func TestAutoOf(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 100, nil)
	houses(t, "more.csv", 50, nil)
	spec := `
data: {train: houses.csv, target: price, task: regression, drop: [town], split: {test: 0.3}}
pipeline: [{impute: {strategy: mean}}, minmax, {rff: {gamma: scale, features: 10}}, ridge]
`
	if err := os.WriteFile("houses.yaml", []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	o := few("of")
	o.Target = ""
	result, err := experiment.Auto(context.Background(), "houses.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	if result.Features != 2 || result.Rows.Test != 30 {
		t.Errorf("%d inputs, %+v", result.Features, result.Rows)
	}
	o = few("test")
	o.Test = "more.csv"
	if result, err = experiment.Auto(context.Background(), "houses.csv", o); err != nil || result.Rows.Train != 100 ||
		result.Rows.Test != 50 {
		t.Errorf("%+v, %v", result.Rows, err)
	}
	o = few("classes")
	o.Target, o.Task, o.Score = "town", "classification", "log_loss"
	if result, err = experiment.Auto(context.Background(), "houses.csv", o); err != nil ||
		result.Auto.Score != "log_loss" {
		t.Errorf("%+v, %v", result.Auto, err)
	}
}

// TestAutoSavesFirst checks that the model is saved before predictions and diagnostics, and that an
// interrupt during these keeps it.
func TestAutoSavesFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	for _, phase := range []string{"evaluate", "report"} {
		ctx, cancel := context.WithCancel(context.Background())
		o := few(phase)
		o.Progress = func(at string, done, total int) {
			if at == phase {
				cancel()
			}
		}
		if _, err := experiment.Auto(ctx, "houses.csv", o); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", phase, err)
		}
		cancel()
		for _, name := range []string{"model.bochner", "experiment.yaml", "result.json", "leaderboard.csv"} {
			if _, err := os.Stat(filepath.Join(phase, name)); err != nil {
				t.Errorf("%s: %v", phase, err)
			}
		}
	}
}

// TestAutoStoppedLate checks that an interrupt while the model is scored ends the command quickly,
// with the model.
func TestAutoStoppedLate(t *testing.T) {
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 120, nil)
	stop := make(chan struct{})
	o := few("out")
	o.Stop = stop
	var stopped time.Time
	o.Progress = func(at string, done, total int) {
		if at == "evaluate" && stopped.IsZero() {
			close(stop)
			stopped = time.Now()
			time.Sleep(1500 * time.Millisecond) // a long evaluation
		}
	}
	found, err := experiment.Auto(context.Background(), "houses.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if warned := strings.Join(found.Warnings, "\n"); !strings.Contains(warned, "stopped before the evaluation") {
		t.Errorf("warnings %q", warned)
	}
	if _, err := os.Stat("out/model.bochner"); err != nil {
		t.Error(err)
	}
}

// rarePositives writes two noisy inputs and a class that 4 of 100 rows have.
func rarePositives(t *testing.T, path string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 2))
	text := "a,b,y\n"
	for i := range n {
		a, b, class := rng.NormFloat64(), rng.NormFloat64(), "no"
		if i%25 == 0 {
			a, class = a+1, "yes"
		}
		text += fmt.Sprintf("%.3f,%.3f,%s\n", a, b, class)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// By balanced accuracy a model that never predicts the rare class is worth nothing; without a score auto
// takes that of the draft.
func TestAutoRareClass(t *testing.T) {
	t.Chdir(t.TempDir())
	rarePositives(t, "rare.csv", 1000)
	o := experiment.AutoOptions{Candidates: 12, Dir: "balanced", Score: "balanced_accuracy"}
	found, err := experiment.Auto(context.Background(), "rare.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if found.Auto.Mean < 0.6 || found.Test["balanced_accuracy"] < 0.55 {
		t.Errorf("balanced accuracy %v over the folds, %v of the test rows", found.Auto.Mean, found.Test["balanced_accuracy"])
	}
	o.Dir, o.Score = "default", ""
	if found, err = experiment.Auto(context.Background(), "rare.csv", o); err != nil {
		t.Fatal(err)
	}
	if found.Auto.Score != "roc_auc" {
		t.Errorf("the score is %s", found.Auto.Score)
	}
	o.Dir, o.Score = "accuracy", "accuracy"
	if found, err = experiment.Auto(context.Background(), "rare.csv", o); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(found.Warnings, "\n"); !strings.Contains(all, "never predicted") ||
		!strings.Contains(all, "yes") {
		t.Errorf("warnings %q", all)
	}
}

// Auto keeps the order of time and groups, inferred or given, and drops what is constant in the training rows.
func TestAutoDependentRows(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "when,who,year,a,y\n"
	for i := range 120 {
		text += fmt.Sprintf("2024-%02d-%02d,%d,%d,%d,%d.5\n", 1+i/20, 1+i%20, i*7%30, 2020+i/100, i*7%13, i*5%11)
	}
	if err := os.WriteFile("rows.csv", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		o     experiment.AutoOptions
		lines []string
	}{
		{"time", experiment.AutoOptions{}, []string{"shuffle: false", "drop: [year]", "dates: {when: [month_sin, "}},
		{"group", experiment.AutoOptions{Group: "who", Time: "when"}, []string{"shuffle: false", "group: who"}},
	} {
		o := c.o
		o.Candidates, o.Dir = 3, c.name
		if _, err := experiment.Auto(context.Background(), "rows.csv", o); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(c.name, "experiment.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.lines {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
	}
	for want, o := range map[string]experiment.AutoOptions{
		`the rows must ascend by the time "a"`:   {Time: "a"},
		`column "y" is the target and cannot be`: {Group: "y"},
		`no column "whom"; there are when, who`:  {Group: "whom"},
	} {
		o.Candidates = 3
		if _, err := experiment.Auto(context.Background(), "rows.csv", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
