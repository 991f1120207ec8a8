package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
)

// TestTestRowsUnlikeTraining checks that a run warns of coverage below the level and of a test score far
// below cross-validation, names the row that has the error, and lists predictions beyond the range of the
// training targets; and that it does neither for test rows like the training rows.
func TestTestRowsUnlikeTraining(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(3, 4))
	rows := func(n int, noise float64) string {
		out := ""
		for range n {
			x := rng.Float64()
			out += fmt.Sprintf("%.4f,%.4f\n", x, 2*x+noise*rng.NormFloat64())
		}
		return out
	}
	const header = "x,y\n"
	put(t, "train.csv", header+rows(400, 0.1))
	put(t, "like.csv", header+rows(200, 0.1))
	put(t, "noisy.csv", header+rows(200, 0.2))
	put(t, "outlier.csv", header+rows(100, 0.1)+"9.0,1.5\n"+rows(99, 0.1))
	run := func(test string) result.Result {
		return execute(t, spec(t, "data: {train: train.csv, test: "+test+".csv, target: y}\npipeline: [standardize, "+
			"ridge]\nsearch: {grid: {ridge.alpha: [0.01, 1]}, folds: 5}\nintervals: {method: split}\noutput: {dir: "+
			test+"}\n"))
	}
	about := func(r result.Result, words string) string {
		at := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.Contains(w, words) })
		if at < 0 {
			return ""
		}
		return r.Warnings[at]
	}
	like := run("like")
	if w := about(like, "is far ") + about(like, "coverage"); w != "" || like.Errors[0].Beyond.Count != 0 {
		t.Errorf("of rows like the training rows: %q, beyond the range %+v", w, like.Errors[0].Beyond)
	}
	noisy := run("noisy")
	if w := about(noisy, "test: coverage 0."); !strings.Contains(w, " is below the level 0.9 by ") ||
		*noisy.Intervals.Coverage > 0.8 {
		t.Errorf("coverage %v, warning %q", *noisy.Intervals.Coverage, w)
	}
	if e, err := Evaluate(t.Context(), "like/model.bochner", "noisy.csv", Options{}); err != nil ||
		!slices.ContainsFunc(e.Warnings, func(w string) bool { return strings.HasPrefix(w, "coverage 0.") }) {
		t.Errorf("evaluate: %q, %v", e.Warnings, err)
	}
	outlier := run("outlier")
	w := about(outlier, "test: r2 ")
	if !strings.Contains(w, " is far below 0.9") || !strings.Contains(w, "row 100 alone has 9") ||
		!strings.Contains(w, " predicted for 1.5") {
		t.Errorf("test %v, warning %q", outlier.Test, w)
	}
	if about(outlier, "coverage") != "" {
		t.Errorf("coverage %v: %q", *outlier.Intervals.Coverage, outlier.Warnings)
	}
	b := outlier.Errors[0].Beyond
	if b.Count != 1 || len(b.Rows) != 1 || b.Rows[0].Number != 100 || b.Rows[0].Truth != 1.5 ||
		b.Rows[0].Predicted < 15 || b.Max > 3 || b.Max <= b.Min {
		t.Fatalf("beyond the range: %+v", b)
	}
	if page := text(t, "outlier/report.html"); !strings.Contains(page, "Predictions beyond the training targets") {
		t.Error("the page does not list them")
	}
}
