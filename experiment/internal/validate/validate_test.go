package validate

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/config"
)

// Errors of the data have the position of the file name in the document, or name the override.
func TestErrorLocations(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("rows.csv", []byte("a,b,y\n1,2,no\n3,4,yes\n5,6,no\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const head, tail = "data:\n  train: rows.csv\n  target: y\n", "pipeline: [logistic]\n"
	for _, c := range []struct{ path, line, value string }{
		{"data.drop", "drop: [nope]", "[nope]"},
		{"data.weight", "weight: nope", "nope"},
		{"data.kinds", "kinds: {nope: numeric}", "{nope: numeric}"},
		{"data.dates", "dates: {nope: [year]}", "{nope: [year]}"},
		{"data.test", "test: nope.csv", "nope.csv"},
	} {
		written := config.Decode("spec.yaml", []byte(head+"  "+c.line+"\n"+tail))
		set := config.Decode("spec.yaml", []byte(head+tail), config.Override{Path: c.path, Value: c.value})
		for file, d := range map[string]*config.Document{"spec.yaml": written, "--set": set} {
			if Document(context.Background(), d, true); len(d.Errors) == 0 {
				t.Errorf("%s of %s: no error", c.path, file)
				continue
			}
			if f := d.Errors[0]; f.File != file || f.Path != c.path || (f.Line == 4) != (file == "spec.yaml") {
				t.Errorf("%s of %s: %v", c.path, file, f)
			}
		}
	}
}

// What a run would refuse in the rows is found before it.
func TestRefusedRows(t *testing.T) {
	t.Chdir(t.TempDir())
	var rows strings.Builder
	rows.WriteString("a,b,n,y,c\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "%d,%d,%d,%d,%s\n", i, i*i%7, i%5-2, i-1, []string{"no", "yes"}[i%2])
	}
	if err := os.WriteFile("rows.csv", []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ target, drop, rest, path, want string }{
		{"y", "c, n", "pipeline: [standardize, poisson]", "pipeline.poisson", "target must be ≥ 0 for poisson, got -1"},
		{"y", "c, n", "pipeline: [standardize, gamma_regression]", "pipeline.gamma_regression", "must be ≥ 0"},
		{"y", "c, n", "pipeline: [{tweedie: {power: 1.5}}]\nsearch: {grid: {tweedie.alpha: [1, 2]}}", "pipeline.tweedie",
			"must be ≥ 0"},
		{"y", "c, n", "pipeline: [{target: {estimator: ridge}}]", "pipeline.target", "-1, and log takes numbers > 0"},
		{"y", "c, n", "pipeline: [{target: {transform: signed_log, estimator: ridge}}]", "", ""},
		{"y", "c, n", "pipeline: [{target: {transform: signed_log, estimator: poisson}}]", "", ""},
		{"a", "c, n", "pipeline: [poisson]", "", ""},
		{"c", "y, n", "pipeline: [{logistic: {class_weight: {yse: 2}}}]", "pipeline.logistic.class_weight",
			`there is no class "yse"`},
		{"c", "y, n", "pipeline: [{threshold: {estimator: {logistic: {class_weight: {maybe: 2}}}}}]",
			"pipeline.threshold.estimator.class_weight", `there is no class "maybe"`},
		{"c", "y, n", "pipeline: [{logistic: {class_weight: {yes: 2}}}]", "", ""},
		{"y", "c", "pipeline: [{rff: {gamma: [1, 2]}}, ridge]", "pipeline.rff",
			"3 columns come to it, and rff has 2 values of gamma"},
		{"y", "c", "pipeline: [{kernel_ridge: {gamma: [1, 2, 3, 4]}}]", "pipeline.kernel_ridge", "has 4 values of gamma"},
		{"y", "c", "pipeline: [{rff: {gamma: [1, 2, 3]}}, ridge]", "", ""},
		{"y", "c", "pipeline: [{nystroem: {kernel: chi2}}, ridge]", "pipeline.nystroem",
			"column n has a value below 0 in row 0, and nystroem takes none (kernel: chi2 is for values"},
		{"y", "c", "pipeline: [additive_chi2, ridge]", "pipeline.additive_chi2", "column n has a value below 0 in row 0"},
		{"y", "c", "pipeline: [minmax, additive_chi2, ridge]", "", ""},
		{"y", "c, n", "pipeline: [additive_chi2, ridge]", "", ""},
		{"y", "c", "pipeline: [svr]\nintervals: {method: split, level: 0.95}", "intervals.level",
			"takes 19 rows"},
		{"y", "c", "pipeline: [{intervals: {method: split, level: 0.99, estimator: svr}}]", "pipeline.intervals.level",
			"takes 99 rows"},
		{"y", "c", "pipeline: [svr]\nintervals: {method: split, level: 0.8}", "", ""},
	} {
		d := config.Decode("spec.yaml", []byte("data: {train: rows.csv, target: "+c.target+", drop: ["+c.drop+"]}\n"+c.rest+"\n"))
		if len(d.Errors) > 0 {
			t.Fatalf("%s: %v", c.rest, d.Errors)
		}
		Document(context.Background(), d, true)
		switch {
		case c.want == "" && len(d.Errors) > 0, c.want != "" && len(d.Errors) != 1:
			t.Errorf("%s: %v", c.rest, d.Errors)
		case c.want != "" && (d.Errors[0].Path != c.path || !strings.Contains(d.Errors[0].Error(), c.want)):
			t.Errorf("%s: path %q, %v", c.rest, d.Errors[0].Path, d.Errors[0])
		}
	}
}
