package experiment_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
)

// A randomised search tries as many candidates as it says, the same ones again for the same seed,
// others for another, and its resolved file says the same search.
func TestRandomisedSearch(t *testing.T) {
	run := func(seed string) (experiment.Result, string) {
		text := `
name: iris
seed: ` + seed + `
data: {dataset: iris}
pipeline: [standardize, {rff: {features: 40}}, ridge_classifier]
search:
  grid: {rff.gamma: {log: [0.001, 1, 7]}, ridge_classifier.alpha: {log: [0.01, 10, 4]}}
  random: 6
  folds: 3
`
		dir := t.TempDir()
		spec, err := experiment.Parse(context.Background(), "iris.yaml", []byte(text), experiment.Override{Path: "output.dir", Value: dir})
		if err != nil {
			t.Fatal(err)
		}
		result, err := experiment.Run(context.Background(), spec, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(filepath.Join(dir, "spec.yaml"))
		if err != nil || !strings.Contains(string(written), "random: 6\n") {
			t.Errorf("spec.yaml lacks random: %v\n%s", err, written)
		}
		table, err := os.ReadFile(filepath.Join(dir, "cv_results.csv"))
		if err != nil {
			t.Fatal(err)
		}
		var tried strings.Builder // the parameters alone: seconds differ from run to run
		for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
			tried.WriteString(strings.Join(strings.Split(line, ",")[:6], ",") + "\n")
		}
		return result, tried.String()
	}
	first, tried := run("1")
	if first.Search.Candidates != 6 || first.Search.Fits != 18 {
		t.Errorf("%d candidates and %d fits, want 6 and 18", first.Search.Candidates, first.Search.Fits)
	}
	if _, again := run("1"); again != tried {
		t.Errorf("the same seed tried\n%s, then\n%s", tried, again)
	}
	if _, other := run("2"); other == tried {
		t.Error("another seed tried the same candidates")
	}
}
