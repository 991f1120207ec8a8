package config

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// The schema is JSON, knows every key, and leads no key to nowhere.
func TestJSONSchema(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(JSONSchema(), &root); err != nil {
		t.Fatal(err)
	}
	var known []string
	var walk func(node map[string]any, path string)
	walk = func(node map[string]any, path string) {
		properties, _ := node["properties"].(map[string]any)
		for name, child := range properties {
			known = append(known, yamlnode.Join(path, name))
			walk(child.(map[string]any), yamlnode.Join(path, name))
		}
		if len(properties) > 0 && node["additionalProperties"] != false {
			t.Errorf("%q allows unknown keys", path)
		}
	}
	walk(root, "")
	all := strings.Join(known, " ") + " "
	for _, p := range param.All(declared()) {
		if !strings.Contains(all, p.Path+" ") {
			t.Errorf("%s is not in the schema", p.Path)
		}
	}
	for _, path := range []string{"pipeline ", "search.grid "} {
		if !strings.Contains(all, path) {
			t.Errorf("%sis not in the schema", path)
		}
	}
	steps := root["$defs"].(map[string]any)["step"].(map[string]any)["anyOf"].([]any)
	if len(steps) < 15 {
		t.Errorf("%d ways to write a step", len(steps))
	}
}

// The reference has every key of the file and every parameter of every step, with its default.
func TestReference(t *testing.T) {
	text := Reference()
	for _, p := range param.All(declared()) {
		if !strings.Contains(text, "| `"+p.Name+"` | "+cell(typeOf(p.Constraint))) {
			t.Errorf("%s is not in the reference", p.Path)
		}
	}
	for _, e := range pipeline.Registered() {
		_, part, found := strings.Cut(text, "\n### `"+e.Name+"`\n")
		part, _, _ = strings.Cut(part, "\n### ")
		for _, p := range e.Params() {
			if !found || !strings.Contains(part, "| `"+p.Name+"` |") {
				t.Errorf("%s of %s is not in the reference", p.Name, e.Name)
			}
		}
	}
}

// Every reader of YAML takes a number that is written for a number.
func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{1: "1.0", 0.25: "0.25", 1e-8: "1.0e-08", 2.5e-8: "2.5e-08", 1e30: "1.0e+30",
		-3: "-3.0", math.Inf(-1): "-.inf"} {
		if got := Flow(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

// TestDuration checks that durations are formatted in the notation that is parsed.
func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "10m": 10 * time.Minute,
		"1h30m": 90 * time.Minute, "2h": 2 * time.Hour, "1h0m5s": time.Hour + 5*time.Second, "": 0} {
		var d Duration
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%q is %v, %v", text, d, err)
		}
		var again Duration
		if err := again.Set(d.Get()); err != nil || again != d {
			t.Errorf("%q is written %q", text, d.Get())
		}
	}
	for _, bad := range []any{"soon", 10, "-1s", "0s", nil} {
		if err := new(Duration).Set(bad); err == nil {
			t.Errorf("%v is a length of time", bad)
		}
	}
}

// TestBounds checks that integers without explicit bounds, and deeply nested models, are rejected
// before any work.
func TestBounds(t *testing.T) {
	const head = "data: {train: rows.csv, target: y}\n"
	for _, c := range []struct{ text, want string }{
		{head + "pipeline: [ridge]\nsearch: {folds: 1000000000}\n",
			"search.folds: must be an integer from 2 to 100000, got 1000000000"},
		{head + "pipeline: [ridge]\nreport: {importance: {repeats: 1000000000}}\n",
			"report.importance.repeats: must be an integer from 0 to 1000, got 1000000000"},
		{head + "pipeline: [ridge]\nreport: {learning_curve: {points: 1000000000}}\n",
			"report.learning_curve.points: must be an integer from 0 to 40, got 1000000000"},
		{head + "pipeline: [{ensemble: {estimator: rff_network, seeds: 1000000000}}]\n",
			"pipeline.ensemble.seeds: must be an integer from 0 to 1000, got 1000000000"},
		{head + "pipeline: [{calibrated: {estimator: svm, folds: 1000000000}}]\n",
			"pipeline.calibrated.folds: must be an integer from 0 to 1000, got 1000000000"},
		{head + "pipeline: [{sgd_regressor: {epochs: 10000000000}}]\n", "at most 2147483647"},
		{head + "pipeline: [" + strings.Repeat("{calibrated: {estimator: ", 7) + "svm" + strings.Repeat("}}", 7) + "]\n",
			"models must be nested at most 5 deep, got 8"},
	} {
		if err := Decode("spec.yaml", []byte(c.text)).Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}
