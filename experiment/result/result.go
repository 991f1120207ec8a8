// Package result declares the types of result.json, the file in which a run of an experiment stores its scores and
// diagnostics. Package experiment writes and reads them; package report renders them.
//
//	r, err := experiment.ReadRun("runs/adult")
package result

import "github.com/bochner-ml/bochner/internal/rows/profile"

// Result is the content of result.json.
type Result struct {
	Name     string  `json:"name"`
	Task     string  `json:"task"`
	Simpler  string  `json:"simpler_is_better,omitempty"` // warning if a baseline has a better score
	Positive string  `json:"positive,omitempty"`          // positive class of binary metrics
	Rows     Rows    `json:"rows"`
	Features int     `json:"features_in"`
	Search   *Search `json:"search,omitempty"`
	Auto     *Auto   `json:"auto,omitempty"`
	Before   struct {
		Model  string `json:"model"` // file
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
		Rows   int    `json:"rows"` // training rows of the new model in total
	} `json:"continued,omitzero"` // of incremental learning
	Train    map[string]float64 `json:"train"`
	Test     map[string]float64 `json:"test,omitempty"`
	Members  []MemberWeight     `json:"members,omitempty"` // of an ensemble
	Clusters struct {
		Train []int `json:"train"`
		Test  []int `json:"test,omitempty"`
	} `json:"clusters,omitzero"` // their sizes
	// Anomalies are the shares of rows that are classified as anomalies, nil without such rows.
	Anomalies struct {
		Train *float64 `json:"train,omitempty"`
		Test  *float64 `json:"test,omitempty"`
	} `json:"anomalies,omitzero"`
	// Intervals are the prediction intervals, with their coverage of the test rows.
	Intervals *Uncertainty `json:"intervals,omitempty"`
	// Drift compares the inputs of the test rows with those of the training rows.
	Drift *profile.Drift `json:"drift,omitempty"`
	Findings
	Seconds  seconds  `json:"seconds"`
	Memory   int64    `json:"peak_memory_bytes"` // 0 where the system does not report it
	Versions Versions `json:"versions"`
	Seed     uint64   `json:"seed"`
	// SHA256 are the digests of the data files, empty for built-in data.
	SHA256 struct {
		Train string `json:"train,omitempty"`
		Test  string `json:"test,omitempty"`
	} `json:"data_sha256"`
	Warnings []string `json:"warnings"`

	// Files are the output files, in the order of writing.
	Files []string `json:"-"`

	// Spec is the experiment as YAML with all defaults. Diagram draws the chosen pipeline.
	Spec    string `json:"-"`
	Diagram string `json:"-"`
}

// MemberWeight is the weight of one member of an ensemble.
type MemberWeight struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// Rows are the numbers of rows.
type Rows struct {
	Train int `json:"train"`
	Test  int `json:"test,omitempty"`
	// Judged is the number of training rows in the evenly spaced sample that the training scores are computed
	// on; 0 means all.
	Judged int `json:"train_judged,omitempty"`
	// Fitted is the number of training and held-out rows that the saved model was fitted to after its evaluation;
	// 0 means the training rows. All scores are those of a model of the training rows.
	Fitted int `json:"fitted,omitempty"`
}

// Search is the outcome of a grid search.
type Search struct {
	Candidates int       `json:"candidates"`
	Folds      int       `json:"folds"`
	Fits       int       `json:"fits"`
	Score      string    `json:"score"`
	Best       Candidate `json:"best"`
	OnGridEdge []string  `json:"on_grid_edge"`
	Shared     []string  `json:"shared"`
	Unreached  int       `json:"unreached,omitempty"` // fits that the budget left no time for
	// Started is the earlier run that the search started from.
	Started struct {
		Run      string  `json:"run"`       // its directory
		SHA256   string  `json:"sha256"`    // of its cv_results.csv
		GridSize float64 `json:"grid_size"` // number of points of the grid of this search, of which Candidates were evaluated
	} `json:"started_from,omitzero"`
	Rounds []struct {
		Resource   int       `json:"resource"`
		Candidates int       `json:"candidates"`
		Best       Candidate `json:"best"`
	} `json:"rounds,omitempty"` // of successive halving

	// All are the candidates, the rows of cv_results.csv.
	All []Candidate `json:"-"`
}

// Candidate is one point of the grid with its cross-validated score.
type Candidate struct {
	Params map[string]any `json:"params"`
	Mean   float64        `json:"mean"`
	Std    float64        `json:"std"`

	// Columns of cv_results.csv, set in Search.All.
	Folds   []float64 `json:"-"` // scores, NaN where a fold has none
	Rank    int       `json:"-"` // 1 for the best mean
	Seconds float64   `json:"-"` // mean time of a fit
	Failed  string    `json:"-"` // reason for a missing score
}

// Seconds is the wall time of each phase.
type seconds struct {
	Load     float64 `json:"load"`
	Search   float64 `json:"search"`
	Refit    float64 `json:"refit"`
	Evaluate float64 `json:"evaluate"`
	Report   float64 `json:"report"` // diagnostics
	Total    float64 `json:"total"`
}

// Versions are the versions of the program that wrote a file.
type Versions struct {
	Bochner     string `json:"bochner"`
	Go          string `json:"go"`
	ScikitLearn string `json:"scikit_learn,omitempty"` // for a model imported from scikit-learn
}

// Auto is the outcome of an automatic search.
type Auto struct {
	Score    string         `json:"score"`
	Recipe   string         `json:"recipe"`
	Params   map[string]any `json:"params"`
	Mean     float64        `json:"mean"` // estimate of the score on new rows
	StdError float64        `json:"std_error"`
	// Optimism is the excess of the mean over the folds over Mean, positive if it is the best of many, negative if
	// the folds have fewer training rows; with the other sign if smaller scores are better.
	Optimism   float64 `json:"optimism,omitempty"`
	Candidates int     `json:"candidates"`
	Resumed    int     `json:"resumed,omitempty"` // candidates read from the journal of an interrupted run
	Rounds     []struct {
		Rows       int     `json:"rows"`
		Folds      int     `json:"folds"`
		Size       int     `json:"size"` // width of the feature maps
		Recipes    int     `json:"recipes"`
		Candidates int     `json:"candidates"`
		Best       string  `json:"best"` // recipe
		Mean       float64 `json:"mean"`
		Seconds    float64 `json:"seconds"`
	} `json:"rounds"`
	Ended string `json:"ended"` // budget, converged or stopped
	// Inputs are the learned length scales of the inputs, relative to the largest.
	Inputs []struct {
		Name  string  `json:"name"`
		Scale float64 `json:"scale"`
	} `json:"inputs,omitempty"`
	Decided []string `json:"decided"` // decisions about the data
	// PredictSeconds per row, the bytes of the model file and the costs of the measured candidates, with limits of them.
	PredictSeconds float64    `json:"predict_seconds,omitempty"`
	Bytes          float64    `json:"bytes,omitempty"`
	Costs          []AutoCost `json:"costs,omitempty"`
}

// Uncertainty describes prediction intervals or prediction sets and, where targets are known, their quality.
type Uncertainty struct {
	Method   string   `json:"method"` // jackknife_plus, jackknife, split or normal
	Level    float64  `json:"level"`
	Coverage *float64 `json:"coverage,omitempty"` // share of rows whose interval or set contains the target
	Width    *float64 `json:"width,omitempty"`    // mean width of the intervals
	Size     *float64 `json:"size,omitempty"`     // mean number of classes in a set
	// Pooled are the groups with too few calibration rows for the level, which share their calibration.
	Pooled []string `json:"pooled_groups,omitempty"`
}

// AutoCost is the cost of the predictions of a candidate.
type AutoCost struct {
	Recipe         string  `json:"recipe"`
	Mean           float64 `json:"mean"` // score
	PredictSeconds float64 `json:"predict_seconds"`
	Bytes          float64 `json:"bytes"`
}
