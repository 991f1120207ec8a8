package gridsearch

import (
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/param"
)

// The map shows the best of the candidates that share a cell, frames the one chosen, and darkens the
// greatest score, or the least where less is better.
func TestHeatMap(t *testing.T) {
	r := &Result{Score: "accuracy", GreaterIsBetter: true, Folds: 3, BestIndex: 5}
	for i, gamma := range []float64{0.1, 1} {
		for j, c := range []int{1, 10} {
			for k, seed := range []int{1, 2} {
				mean := 0.5 + 0.1*float64(i) + 0.01*float64(j) - 0.001*float64(k)
				r.Candidates = append(r.Candidates, Candidate{
					Settings: []param.Setting{{Path: "rff.gamma", Value: gamma}, {Path: "svm.C", Value: c},
						{Path: "rff.seed", Value: seed}},
					Summary: Summary{Mean: mean},
				})
			}
		}
	}
	r.Candidates[0].Mean, r.Candidates[1].Mean = math.NaN(), math.NaN()
	picture := r.SVG()
	for word, times := range map[string]int{">mean accuracy of 3 folds<": 1, "rff.gamma": 1, "svm.C": 1, ">0.51<": 1,
		">0.6<": 1, ">0.61<": 1, "#dddddd": 1, "#d1495b": 1, `fill-opacity="1.000"`: 1} {
		if n := strings.Count(picture, word); n != times {
			t.Errorf("%q occurs %d times, want %d: %s", word, n, times, picture)
		}
	}
	dark := func(picture string) string { // the label of the darkest cell
		_, after, _ := strings.Cut(picture, `fill-opacity="1.000"`)
		_, after, _ = strings.Cut(after, "<text")
		_, after, _ = strings.Cut(after, ">")
		got, _, _ := strings.Cut(after, "<")
		return got
	}
	if got := dark(picture); got != "0.61" {
		t.Errorf("the darkest cell reports %s", got)
	}
	r.GreaterIsBetter = false
	if got := dark(r.SVG()); got != "0.509" {
		t.Errorf("where less is better, the darkest cell reports %s", got)
	}
	if picture := (&Result{Candidates: []Candidate{{Summary: Summary{Mean: 1}}}}).SVG(); !strings.Contains(picture,
		">1<") {
		t.Errorf("without axes: %s", picture)
	}
}
