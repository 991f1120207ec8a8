package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/metrics/compare"
)

// compareFolds tests the scores on the folds of the searches, where these are the same ones.
func compareFolds(runs []finishedRun, c *result.Comparison) error {
	if !slices.ContainsFunc(runs, func(r finishedRun) bool { return r.Search != nil || r.Auto != nil }) {
		return nil
	}
	first := runs[0]
	for k, other := range runs[1:] {
		why := otherFolds(first, other)
		var a, b []float64
		if why == "" {
			a, b = chosenFolds(first.Search), chosenFolds(other.Search)
			if len(a) != len(b) || len(a) != first.Search.Folds || slices.ContainsFunc(slices.Concat(a, b),
				func(v float64) bool { return math.IsNaN(v) }) {
				why = "cv_results.csv does not have all of their scores"
			}
		}
		if why != "" {
			c.Notes = append(c.Notes, fmt.Sprintf("The folds of %s and %s are not tested: %s.", first.label, other.label, why))
			continue
		}
		metric, err := metrics.ByName(first.Search.Score)
		if err != nil {
			return fmt.Errorf("experiment: %w", err)
		}
		differences := make([]float64, len(a))
		for i := range a {
			differences[i] = b[i] - a[i]
		}
		test := float64(first.Rows.Train) / float64(len(a))
		t, err := compare.CorrectedT(differences, float64(first.Rows.Train)-test, test)
		if err != nil {
			return fmt.Errorf("experiment: %s and %s: %w", first.folder, other.folder, err)
		}
		c.OnFolds = append(c.OnFolds, result.TestResult{Run: k + 1, Score: first.Search.Score,
			GreaterIsBetter: metric.GreaterIsBetter, Pairs: len(a), Test: t})
	}
	if len(c.OnFolds) > 0 {
		c.Notes = append(c.Notes, "Scores on folds are those of the candidates that were chosen by them, which flatters "+
			"the search that tried more.")
	}
	return nil
}

// otherFolds returns why two searches have different folds or rows, "" if they are equal.
func otherFolds(first, other finishedRun) string {
	for _, r := range []finishedRun{first, other} {
		if r.Auto != nil {
			return "the search of " + r.label + " is that of auto, which keeps no scores of single folds"
		}
		if r.Search == nil || r.spec.Search == nil {
			return r.label + " has no search"
		}
	}
	a, b := first.spec, other.spec
	switch {
	case first.Search.Score != other.Search.Score:
		return fmt.Sprintf("one is scored by %s, the other by %s", first.Search.Score, other.Search.Score)
	case first.SHA256.Train != other.SHA256.Train:
		return "they are of other files"
	case !slices.Equal(a.Data.Target, b.Data.Target):
		return "only one names its target"
	case first.Rows.Train != other.Rows.Train || a.Data.CSV.Skip != b.Data.CSV.Skip ||
		a.Data.CSV.Comment != b.Data.CSV.Comment || a.Data.Split != b.Data.Split ||
		a.Data.MissingTarget != b.Data.MissingTarget:
		return "they are of other rows"
	case a.Search.CV != b.Search.CV || first.Search.Folds != other.Search.Folds || a.Data.Group != b.Data.Group:
		return "they are made in other ways"
	case a.Seed != b.Seed:
		return "they are drawn by other seeds"
	}
	switch kind := a.Search.CV.Kind; kind {
	case "time":
		return "folds in the order of time have more and more rows to learn from, which the test does not know of"
	case "loo", "gcv":
		return "leaving one row out has no folds"
	}
	for _, r := range []finishedRun{first, other} {
		if r.spec.Search.Halving.MinResources > 0 && r.spec.Search.Halving.Resource == "rows" {
			return "halving scores on parts of them"
		}
	}
	return ""
}

// chosenFolds are the scores of the candidate that a search has chosen.
func chosenFolds(s *result.Search) (folds []float64) {
	for _, c := range s.All {
		if c.Mean != s.Best.Mean || c.Std != s.Best.Std {
			continue
		}
		same := true
		for path, v := range s.Best.Params {
			same = same && fmt.Sprint(c.Params[path]) == fmt.Sprint(v)
		}
		if folds == nil || same {
			folds = c.Folds
		}
		if same {
			break
		}
	}
	return folds
}
