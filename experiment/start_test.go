package experiment

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

const startable = `
data: {train: rows.csv, target: y, csv: {missing: '?'}, drop: [c, g]}
pipeline: [impute, standardize, {rff: {features: 40}}, logistic]
search:
  grid: {logistic.C: {log: [1e-3, 1e3, 7]}, rff.gamma: {log: [1e-3, 10, 5]}, impute.strategy: [mean, median]}
  folds: 3
`

// startedRun runs an experiment from an earlier run.
func startedRun(t *testing.T, from string, force bool, overrides ...Override) error {
	t.Helper()
	_, err := Run(context.Background(), spec(t, startable, overrides...), Options{StartFrom: from, Force: force})
	return err
}

// The search of an experiment continues from the candidates of a run of other rows, in all strategies, with the scores
// of a search of the whole grid, bit for bit.
func TestRunStarts(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	put(t, "later.csv", sample(96, class))
	earlier := execute(t, spec(t, startable, set("output.dir", "earlier")))
	later := set("data.train", "later.csv")
	execute(t, spec(t, startable, later, set("output.dir", "whole")))
	whole := map[string]bool{}
	for _, line := range candidateLines(t, "whole") {
		whole[line] = true
	}
	for name, overrides := range map[string][]Override{"grid": nil, "coordinate": {set("search.strategy", "coordinate")},
		"halving": {set("search.halving.min_resources", "10")}, "random": {set("search.random", "9")}} {
		overrides = append(overrides, later, set("output.dir", name))
		if err := startedRun(t, "earlier", false, overrides...); err != nil {
			t.Fatal(err)
		}
		r, err := ReadRun(name)
		if err != nil {
			t.Fatal(err)
		}
		from := r.Search.Started
		if from.Run != "earlier" || len(from.SHA256) != 64 || from.GridSize != 7*5*2 ||
			r.Search.Candidates > 60 || r.Search.Candidates < 8 || r.Search.Best.Mean < earlier.Search.Best.Mean-0.1 {
			t.Errorf("%s: %+v of %+v", name, from, r.Search)
		}
		for _, line := range candidateLines(t, name) {
			if !whole[line] {
				t.Errorf("%s: %s is not in the search of the whole grid", name, line)
			}
		}
		page, err := os.ReadFile(name + "/report.html")
		if err != nil || !strings.Contains(string(page), "The search started from the candidates of earlier.") ||
			!strings.Contains(string(page), " of 70 candidates on 3 folds") {
			t.Errorf("%s: the report must name the start of the search, %v", name, err)
		}
		if err := startedRun(t, "earlier", false, overrides...); err != nil {
			t.Errorf("%s: again: %v", name, err)
		}
		var other *existingRunError
		if err := startedRun(t, "", false, overrides...); !errors.As(err, &other) || len(other.Differences) != 1 ||
			!strings.Contains(other.Differences[0], "--start-from: other candidates (SHA-256 ") {
			t.Errorf("%s: without the start: %v", name, err)
		}
	}
	put(t, "rows.csv", sample(96, class)) // the run of the directory itself, whose rows have changed
	if err := startedRun(t, "earlier", true, set("output.dir", "earlier")); err != nil {
		t.Fatal(err)
	}
	if got, want := candidateLines(t, "earlier"), candidateLines(t, "grid"); !slices.Equal(got, want) {
		t.Errorf("%d candidates in the same directory, %d in another", len(got), len(want))
	}
}

// candidateLines are the rows of cv_results.csv of a run without numbers, ranks and times.
func candidateLines(t *testing.T, dir string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(dir + "/cv_results.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		cells := strings.Split(line, ",")
		out = append(out, strings.Join(cells[1:9], ","))
	}
	return out
}

// Different starts have different journals.
func TestJournalOfStart(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	s := spec(t, startable)
	if journalKey(s, digests{}, "") == journalKey(s, digests{}, "12") {
		t.Error("the key does not depend on the start")
	}
}

// What a search cannot start from is an error that names the flag.
func TestRunStartErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	execute(t, spec(t, startable, set("search.grid", "{logistic.C: [0.1, 1]}"), set("search.score", "f1"),
		set("output.dir", "other")))
	execute(t, spec(t, startable, set("search", ""), set("output.dir", "fixed")))
	execute(t, spec(t, startable, set("search.grid", "{logistic.C: [0.1, 1], rff.gamma: [1], impute.strategy: [mean]}"),
		set("output.dir", "mean")))
	execute(t, spec(t, startable, set("search.grid", "{logistic.C: [0.1]}"), set("output.dir", "bare")))
	if err := os.Remove("bare/cv_results.csv"); err != nil {
		t.Fatal(err)
	}
	if _, err := Auto(context.Background(), "rows.csv", AutoOptions{Target: "y", Candidates: 2, Dir: "auto"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from      string
		overrides []Override
		want      []string
	}{
		{"none", nil, []string{"cannot start from none: ", "none is not the directory of a finished run"}},
		{"fixed", nil, []string{"cannot start from fixed: its experiment must have a search"}},
		{"auto", nil, []string{"cannot start from auto: it is a run of bochner auto; use bochner auto"}},
		{"bare", nil, []string{"cannot start from bare: ", "cv_results.csv"}},
		{"mean", []Override{set("search", "")}, []string{"cannot start from mean: the experiment must have a search"}},
		{"mean", []Override{set("search.grid.impute.strategy", "[median]")},
			[]string{"--start-from mean: no candidate is on the grid; the best is impute.strategy=mean logistic.C="}},
		{"other", nil, []string{"--start-from other: the axes must be impute.strategy, logistic.C, rff.gamma, got logistic.C",
			"--start-from other: the score must be accuracy, got f1"}},
	} {
		err := startedRun(t, c.from, false, append(c.overrides, set("output.dir", "new"))...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("from %s: %v, want %s", c.from, err, want)
			}
		}
		if _, err := os.Stat("new/result.json"); err == nil {
			t.Errorf("from %s: it has run", c.from)
		}
	}
}
