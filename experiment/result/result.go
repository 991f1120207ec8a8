// Package result holds what a run of an experiment found: the types of result.json, and the way back from a run's
// folder to them. Nothing here computes: package experiment fills a [Result], package report shows it.
//
//	r, err := result.Read("runs/adult")
package result

import "github.com/bochner-ml/bochner/internal/profile"

// Result is what a run found, as result.json holds it.
type Result struct {
	Name      string             `json:"name"`
	Task      string             `json:"task"`
	Simpler   string             `json:"simpler_is_better,omitempty"` // which simple model has a better score, in words
	Positive  string             `json:"positive,omitempty"`          // class that the scores of two classes speak of
	Rows      Rows               `json:"rows"`
	Features  int                `json:"features_in"`
	Search    *Search            `json:"search,omitempty"`
	Auto      *Auto              `json:"auto,omitempty"`
	Before    *InitialModel      `json:"continued,omitempty"` // where a model has learned on
	Train     map[string]float64 `json:"train"`
	Test      map[string]float64 `json:"test,omitempty"`
	Members   []MemberWeight     `json:"members,omitempty"` // of an ensemble
	Clusters  *ClusterSizes      `json:"clusters,omitempty"`
	Anomalies *AnomalyShares     `json:"anomalies,omitempty"`
	// Intervals is how sure the model is, where it says so, and whether it is right on the test rows.
	Intervals *Uncertainty `json:"intervals,omitempty"`
	// Drift is how the inputs of the test rows differ from those of the training rows.
	Drift *profile.Drift `json:"drift,omitempty"`
	Findings
	Seconds  Seconds  `json:"seconds"`
	Memory   int64    `json:"peak_memory_bytes"` // 0 where the system does not tell
	Versions Versions `json:"versions"`
	Seed     uint64   `json:"seed"`
	SHA256   Digests  `json:"data_sha256"`
	MLflow   *Logged  `json:"mlflow,omitempty"` // where the run is logged
	Warnings []string `json:"warnings"`

	// Files are the outputs written, in the order of writing.
	Files []string `json:"-"`

	// Spec is the experiment as YAML with every default, and Diagram a picture of the pipeline that was chosen: files of
	// their own in the run's folder, or made from these.
	Spec    string `json:"-"`
	Diagram string `json:"-"`
}

// Logged is a run on an MLflow server.
type Logged struct {
	Experiment string `json:"experiment_id"`
	Run        string `json:"run_id"`
	URL        string `json:"url"` // of its page
}

// InitialModel is the model that a run has learned on from.
type InitialModel struct {
	Model  string `json:"model"` // its file
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"` // that the new model has learned from in all
}

// MemberWeight is how much a member of an ensemble counts.
type MemberWeight struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// ClusterSizes are how many rows are in each cluster.
type ClusterSizes struct {
	Train []int `json:"train"`
	Test  []int `json:"test,omitempty"`
}

// AnomalyShares are the shares of rows that are taken for anomalies.
type AnomalyShares struct {
	Train float64  `json:"train"`
	Test  *float64 `json:"test,omitempty"` // nil without test rows
}

// Rows counts rows.
type Rows struct {
	Train int `json:"train"`
	Test  int `json:"test,omitempty"`
	// Judged is how many of the training rows the scores of these are of, evenly spread over them; 0 for all.
	Judged int `json:"train_judged,omitempty"`
}

// Search is what a grid search found.
type Search struct {
	Candidates int       `json:"candidates"`
	Folds      int       `json:"folds"`
	Fits       int       `json:"fits"`
	Score      string    `json:"score"`
	Best       Candidate `json:"best"`
	OnGridEdge []string  `json:"on_grid_edge"`
	Shared     []string  `json:"shared"`
	Unreached  int       `json:"unreached,omitempty"` // fits that the budget left no time for
	Rounds     []Round   `json:"rounds,omitempty"`    // of halving

	// All are the candidates, as cv_results.csv holds them.
	All []CandidateResult `json:"-"`
}

// Round is one of the rounds of halving.
type Round struct {
	Resource   int       `json:"resource"`
	Candidates int       `json:"candidates"`
	Best       Candidate `json:"best"`
}

// Candidate is one point of the grid and its score over the folds.
type Candidate struct {
	Params map[string]any `json:"params"`
	Mean   float64        `json:"mean"`
	Std    float64        `json:"std"`
}

// CandidateResult is a candidate with all that is known of it.
type CandidateResult struct {
	Candidate
	Folds   []float64 // scores, NaN where a fold has none
	Rank    int       // 1 for the best mean
	Seconds float64   // of a fit, in the mean over folds
	Failed  string    // why there is no score, else ""
}

// Seconds is how long each phase took.
type Seconds struct {
	Load     float64 `json:"load"`
	Search   float64 `json:"search"`
	Refit    float64 `json:"refit"`
	Evaluate float64 `json:"evaluate"`
	Report   float64 `json:"report"` // what more was looked at
	Total    float64 `json:"total"`
}

// Versions are those of the program.
type Versions struct {
	Bochner     string `json:"bochner"`
	Go          string `json:"go"`
	ScikitLearn string `json:"scikit_learn,omitempty"` // of a model that was fitted there
}

// Digests are the SHA-256 sums of the data files, none for built-in data.
type Digests struct {
	Train string `json:"train,omitempty"`
	Test  string `json:"test,omitempty"`
}

// Auto is how a pipeline was chosen, as result.json holds it.
type Auto struct {
	Score      string         `json:"score"`
	Recipe     string         `json:"recipe"`
	Params     map[string]any `json:"params"`
	Mean       float64        `json:"mean"` // over the folds
	StdError   float64        `json:"std_error"`
	Candidates int            `json:"candidates"`
	Resumed    int            `json:"resumed,omitempty"` // of these, taken from the journal of an earlier run
	Rounds     []AutoRound    `json:"rounds"`
	Ended      string         `json:"ended"` // budget, converged or stopped
	Inputs     []AutoInput    `json:"inputs,omitempty"`
	Decided    []string       `json:"decided"` // about the data
}

// AutoRound is one of the rounds of the search.
type AutoRound struct {
	Rows       int     `json:"rows"`
	Folds      int     `json:"folds"`
	Size       int     `json:"size"` // of the maps
	Recipes    int     `json:"recipes"`
	Candidates int     `json:"candidates"`
	Best       string  `json:"best"` // recipe
	Mean       float64 `json:"mean"`
	Seconds    float64 `json:"seconds"`
}

// AutoInput is what was learned about an input.
type AutoInput struct {
	Name  string  `json:"name"`
	Scale float64 `json:"scale"` // relative to the largest
}

// Uncertainty is how a model says how far off its predictions may be, and, where there are rows to tell by, whether it
// is right: result.json has it as `intervals`.
type Uncertainty struct {
	Method   string   `json:"method"` // jackknife_plus, jackknife, split or normal
	Level    float64  `json:"level"`
	Coverage *float64 `json:"coverage,omitempty"` // share of the test rows whose target is in the interval, or whose class in the set
	Width    *float64 `json:"width,omitempty"`    // mean width of the intervals
	Size     *float64 `json:"size,omitempty"`     // mean number of classes in a set
}
