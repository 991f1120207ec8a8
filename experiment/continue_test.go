package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

const daily = `
name: daily
data: {train: first.csv, target: y, drop: [g], weight: w}
pipeline:
  - columns:
      - {select: numeric, steps: [standardize]}
      - {select: categorical, steps: [onehot]}
  - rff: {features: 40, gamma: 0.3}
  - sgd_classifier: {loss: log_loss, epochs: 20}
output: {dir: first}
`

// day is a file of the rows from lo to hi whose target is ok; nil for all.
func day(text string, lo, hi int, ok func(line string) bool) string {
	lines := strings.SplitAfter(text, "\n")
	out := lines[0]
	for _, line := range lines[1+lo : 1+hi] {
		if ok == nil || ok(line) {
			out += line
		}
	}
	return out
}

// on runs incremental learning from a model.
func on(t *testing.T, text, model string, force bool, overrides ...Override) (result.Result, error) {
	t.Helper()
	put(t, "spec.yaml", text)
	s, err := LoadOptions{Continue: model, Overrides: overrides}.Load(context.Background(), "spec.yaml")
	if err != nil {
		return result.Result{}, err
	}
	return Run(context.Background(), s, Options{Continue: model, Force: force})
}

// A model is updated with new rows by its own schema: with one class only, fewer categories and
// another column order. The result names the previous model, and equals PartialFit in Go.
func TestRunContinues(t *testing.T) {
	t.Chdir(t.TempDir())
	all := complete(400, class)
	put(t, "first.csv", day(all, 0, 200, nil))
	put(t, "second.csv", day(all, 200, 400, func(line string) bool {
		return strings.Contains(line, "yes") && !strings.Contains(line, "blue")
	}))
	execute(t, spec(t, daily))
	r, err := on(t, daily, "first/model.bochner", false, set("data.train", "second.csv"), set("output.dir", "second"),
		set("pipeline.sgd_classifier.epochs", "3"))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Count(day(all, 200, 400, func(line string) bool {
		return strings.Contains(line, "yes") && !strings.Contains(line, "blue")
	}), "\n") - 1
	sum, err := os.ReadFile("second/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var kept result.Result
	if err := json.Unmarshal(sum, &kept); err != nil || kept.Before.Model == "" || kept.Before != r.Before {
		t.Fatalf("result.json: %+v, %v", kept.Before, err)
	}
	if b := r.Before; b.Model != "first/model.bochner" || b.Name != "daily" || len(b.SHA256) != 64 || b.Rows != 200+rows ||
		r.Rows.Train != rows {
		t.Errorf("%+v, %d rows of %d", b, r.Rows.Train, rows)
	}
	second, err := modelfile.Load("second/model.bochner")
	if err != nil || len(second.Schema.Classes()) != 2 {
		t.Fatalf("classes %q, %v", second.Schema.Classes(), err)
	}
	losses := map[string]float64{}
	for _, model := range []string{"first", "second"} {
		e, err := Evaluate(context.Background(), model+"/model.bochner", "second.csv", Options{})
		if err != nil {
			t.Fatal(err)
		}
		losses[model] = e.Scores["log_loss"]
	}
	if !(losses["second"] < losses["first"]) {
		t.Errorf("log losses of the new rows: %v", losses)
	}
	again, err := on(t, daily, "second/model.bochner", false, set("data.train", "second.csv"), set("output.dir", "third"))
	if err != nil || again.Before.Rows != 200+2*rows {
		t.Errorf("%+v, %v", again.Before, err)
	}
	var early *existingRunError
	if _, err = on(t, daily, "second/model.bochner", false, set("data.train", "second.csv"), set("output.dir", "second"),
		set("pipeline.sgd_classifier.epochs", "3")); !errors.As(err, &early) ||
		len(early.Differences) != 1 || !strings.Contains(early.Differences[0], "--continue: another model") {
		t.Errorf("%v", err)
	}
}

// Incremental learning of a stream equals that of unshuffled rows in memory.
func TestStreamContinues(t *testing.T) {
	t.Chdir(t.TempDir())
	all := complete(400, quantity)
	put(t, "first.csv", day(all, 0, 200, nil))
	put(t, "second.csv", day(all, 200, 400, nil))
	text := strings.NewReplacer("sgd_classifier: {loss: log_loss", "sgd_regressor: {shuffle: false").Replace(daily)
	execute(t, spec(t, text))
	var scores []float64
	for _, stream := range []string{"always", "never"} {
		r, err := on(t, text, "first/model.bochner", true, set("data.train", "second.csv"), set("data.stream", stream),
			set("output.dir", stream))
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, r.Train["r2"])
	}
	if scores[0] != scores[1] {
		t.Errorf("R² %v of a stream, %v in memory", scores[0], scores[1])
	}
}

func TestLearningOnRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	all := complete(200, class)
	put(t, "first.csv", all)
	put(t, "odd.csv", strings.ReplaceAll(all, "yes", "perhaps"))
	put(t, "narrow.csv", strings.ReplaceAll(all, "a,b,c,w,g,y", "z,b,c,w,g,y"))
	execute(t, spec(t, daily))
	ridge := strings.ReplaceAll(daily, "sgd_classifier: {loss: log_loss, epochs: 20}", "ridge_classifier")
	execute(t, spec(t, ridge, set("output.dir", "ridge")))
	const first = "first/model.bochner"
	for _, c := range []struct {
		text, model string
		overrides   []Override
		want        string
	}{
		{daily, "none.bochner", nil, "none.bochner"},
		{daily, first, []Override{set("rff.gamma", "0.4")}, "rff.gamma is 0.4, and the model's 0.3"},
		{daily, first, []Override{set("seed", "9")}, "seed is"},
		{daily, "ridge/model.bochner", nil,
			"it is columns → rff → sgd_classifier, and the model's columns → rff → ridge_classifier"},
		{ridge, "ridge/model.bochner", nil,
			"ridge_classifier learns from sums over its rows, which a fitted model does not keep"},
		{daily + "search: {grid: {rff.gamma: [0.3]}}\n", first, nil, "a search does not support incremental learning"},
		{daily, first, []Override{set("data.train", "odd.csv")}, "perhaps"},
		{daily, first, []Override{set("data.train", "narrow.csv")}, "a"},
	} {
		_, err := on(t, c.text, c.model, true, append(c.overrides, set("output.dir", "second"))...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want %q", c.model, c.overrides, err, c.want)
		}
		if _, err := os.Stat("second"); err == nil {
			t.Error("something was written")
		}
	}
}
