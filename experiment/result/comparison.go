package result

import "github.com/bochner-ml/bochner/compare"

// Comparison is runs side by side: what differs in them, what came out, and whether the others differ from the first by
// more than chance.
type Comparison struct {
	Task        string       `json:"task"`
	Positive    string       `json:"positive,omitempty"` // class that the scores of two classes speak of
	TestRows    int          `json:"test_rows"`          // the same ones in all runs; 0 for none
	Score       string       `json:"score,omitempty"`    // metric that the searches used, or that was asked for
	Outcome     string       `json:"outcome,omitempty"`  // which run is ahead by it, in words
	Runs        []RunSummary `json:"runs"`
	Differences []Setting    `json:"differences"` // between the experiments and the files they read
	OnTestRows  []TestResult `json:"on_test_rows"`
	OnFolds     []TestResult `json:"on_folds"`
	Notes       []string     `json:"notes"` // which tests were not made, and why
}

// RunSummary is one of the runs.
type RunSummary struct {
	Label   string             `json:"label"` // a name that no other of the runs has
	Folder  string             `json:"folder"`
	Rows    Rows               `json:"rows"`
	Test    map[string]float64 `json:"test,omitempty"`
	Train   map[string]float64 `json:"train,omitempty"`
	Search  *Search            `json:"search,omitempty"`
	Auto    *Auto              `json:"auto,omitempty"`
	Seconds Seconds            `json:"seconds"`
	Memory  int64              `json:"peak_memory_bytes"` // 0 where the system did not tell
	Version string             `json:"version"`
}

// Chosen returns the metric that a search or an automatic search has used, with the score of what it
// chose over the folds and its spread; ok is false for a run without either.
func (c RunSummary) Chosen() (score string, mean, spread float64, ok bool) {
	switch {
	case c.Search != nil:
		return c.Search.Score, c.Search.Best.Mean, c.Search.Best.Std, true
	case c.Auto != nil:
		return c.Auto.Score, c.Auto.Mean, c.Auto.StdError, true
	}
	return "", 0, 0, false
}

// Setting is a value of the experiments that is not the same in all runs.
type Setting struct {
	Path   string   `json:"path"`
	Values []string `json:"values"` // one for each run
}

// TestResult is a run tested against the first one.
type TestResult struct {
	Run   int    `json:"run"`   // number of the run, from 1; the first is 0
	Score string `json:"score"` // accuracy, squared_error, or what the folds were scored by
	// Target is the one whose errors are tested, where there are several.
	Target          string `json:"target,omitempty"`
	GreaterIsBetter bool   `json:"greater_is_better"`
	Pairs           int    `json:"pairs"` // rows or folds
	compare.Test
	Holm float64 `json:"p_holm"` // p with Holm's correction for all tests of the list
	// OnlyFirst and Only are the rows that only the first run or only this one gets right, in a test of classes.
	OnlyFirst int `json:"only_first_right,omitempty"`
	Only      int `json:"only_this_right,omitempty"`
}

// Differs reports whether the difference is more than chance would make of equally good models in one of twenty cases.
func (t TestResult) Differs() bool { return t.Holm < 1-compare.Level }

// Better reports whether the run is ahead of the first, by whatever.
func (t TestResult) Better() bool { return t.Difference != 0 && t.Difference > 0 == t.GreaterIsBetter }
