package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCompareByTheScoreOfTheSearch checks that runs are compared by the score of their searches, or
// by a requested score that all runs have. Automatic searches count as searches.
func TestCompareByTheScoreOfTheSearch(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(5, 6))
	rows := "a,b,y\n"
	for range 600 {
		a, b := rng.Float64(), rng.Float64()
		class := "no"
		if a*b+0.3*rng.Float64() > 0.75 {
			class = "yes"
		}
		rows += fmt.Sprintf("%.4f,%.4f,%s\n", a, b, class)
	}
	put(t, "rows.csv", rows)
	text := "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline: [standardize, {svm: {class_weight: " +
		"%s}}]\nsearch: {grid: {svm.C: [0.1, 1]}, folds: 3, score: balanced_accuracy}\noutput: {dir: %s}\n"
	one := execute(t, spec(t, fmt.Sprintf(text, "balanced", "one")))
	two := execute(t, spec(t, fmt.Sprintf(text, "none", "two")))
	if one.Test["balanced_accuracy"] <= two.Test["balanced_accuracy"] || one.Test["accuracy"] >= two.Test["accuracy"] {
		t.Fatalf("%v and %v: the scores must disagree", one.Test, two.Test)
	}
	ctx := context.Background()
	c, err := Compare(ctx, "", "one", "two")
	if err != nil {
		t.Fatal(err)
	}
	if c.Score != "balanced_accuracy" || !strings.HasPrefix(c.Outcome,
		"By balanced accuracy, the score of the search, one is ahead on the test rows: one 0.") {
		t.Errorf("%q by %s", c.Outcome, c.Score)
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "are of accuracy, not of balanced_accuracy") {
		t.Errorf("notes %q", notes)
	}
	c, err = Compare(ctx, "accuracy", "one", "two")
	if err != nil || !strings.HasPrefix(c.Outcome, "By accuracy two is ahead on the test rows: one 0.") {
		t.Errorf("%q (%v)", c.Outcome, err)
	}
	if _, err := Compare(ctx, "log_loss", "one", "two"); err == nil ||
		!strings.Contains(err.Error(), "score must be one that all runs have (accuracy, balanced_accuracy, ") {
		t.Error(err)
	}
	found, err := Auto(ctx, "rows.csv", AutoOptions{Candidates: 3, Score: "balanced_accuracy", Dir: "auto", Minutes: 5})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Auto(ctx, "rows.csv", AutoOptions{Candidates: 4, Score: "balanced_accuracy", Dir: "again", Minutes: 5})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Compare(ctx, "", "auto", "again"); err != nil {
		t.Fatal(err)
	}
	score, mean, _, ok := c.Runs[0].Chosen()
	if _, second, _, _ := c.Runs[1].Chosen(); !ok || score != "balanced_accuracy" || mean != found.Auto.Mean ||
		second != again.Auto.Mean {
		t.Errorf("%s %v of auto, want that of %+v", score, mean, found.Auto)
	}
	if notes := strings.Join(c.Notes, "\n"); c.Score != score || strings.Contains(notes, "has no search") ||
		!strings.Contains(notes, "is that of auto") {
		t.Errorf("%q, %q", c.Outcome, notes)
	}
}
