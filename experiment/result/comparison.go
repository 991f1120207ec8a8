package result

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/metrics/compare"
)

// Comparison compares two or more runs: their settings, scores, times and memory, with paired
// significance tests of each run against the first.
type Comparison struct {
	Task     string       `json:"task"`
	Positive string       `json:"positive,omitempty"` // positive class of binary metrics
	TestRows int          `json:"test_rows"`          // common to all runs
	Score    string       `json:"score,omitempty"`    // metric of the comparison
	Outcome  string       `json:"outcome,omitempty"`  // sentence that names the best run
	Runs     []RunSummary `json:"runs"`
	// Differences are the settings and data files that are not equal in all runs.
	Differences []struct {
		Path   string   `json:"path"`
		Values []string `json:"values"` // one for each run
	} `json:"differences"`
	OnTestRows []TestResult `json:"on_test_rows"`
	OnFolds    []TestResult `json:"on_folds"`
	Notes      []string     `json:"notes"` // omitted tests, with reasons
}

// RunSummary is one run of a comparison.
type RunSummary struct {
	Label   string             `json:"label"` // unique among the runs
	Folder  string             `json:"folder"`
	Rows    Rows               `json:"rows"`
	Test    map[string]float64 `json:"test,omitempty"`
	Train   map[string]float64 `json:"train,omitempty"`
	Search  *Search            `json:"search,omitempty"`
	Auto    *Auto              `json:"auto,omitempty"`
	Seconds seconds            `json:"seconds"`
	Memory  int64              `json:"peak_memory_bytes"` // 0 where the system did not report it
	Version string             `json:"version"`
}

// Chosen returns the metric of the search or the automatic search, and the mean and standard deviation (for an
// automatic search, standard error) of the score of its choice; ok is false for a run without a search.
func (c RunSummary) Chosen() (score string, mean, std float64, ok bool) {
	switch {
	case c.Search != nil:
		return c.Search.Score, c.Search.Best.Mean, c.Search.Best.Std, true
	case c.Auto != nil:
		return c.Auto.Score, c.Auto.Mean, c.Auto.StdError, true
	}
	return "", 0, 0, false
}

// TestResult is a significance test of one run against the first.
type TestResult struct {
	Run   int    `json:"run"`   // index of the run, from 1
	Score string `json:"score"` // accuracy, squared_error, or the metric of the folds
	// Target is the tested target, if there are several.
	Target          string `json:"target,omitempty"`
	GreaterIsBetter bool   `json:"greater_is_better"`
	Pairs           int    `json:"pairs"` // rows or folds
	compare.Test
	Holm float64 `json:"p_holm"` // p value with Holm's correction for the tests of the list
	// OnlyFirst and Only count the rows that only the first run and only this run classify correctly.
	OnlyFirst int `json:"only_first_right,omitempty"`
	Only      int `json:"only_this_right,omitempty"`
}

// Ranks reports whether the test is of a score, or of one that ranks two runs as the score does. Each test
// ranks runs by no score, "".
func (t TestResult) Ranks(score string) bool {
	if score == "" || score == t.Score {
		return true
	}
	return slices.Contains(map[string][]string{
		"accuracy":      {"zero_one_loss", "error_rate"},
		"squared_error": {"r2", "mean_squared_error", "root_mean_squared_error", "relative_rmse"},
	}[t.Score], score)
}

// Differs reports whether the corrected p value is below 0.05.
func (t TestResult) Differs() bool { return t.Holm < 1-coverage.TestLevel }

// Better reports whether the run has a better score than the first, significant or not.
func (t TestResult) Better() bool { return t.Difference != 0 && t.Difference > 0 == t.GreaterIsBetter }
