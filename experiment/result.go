package experiment

import (
	"runtime"
	"runtime/debug"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
)

// Result is what a run found, as result.json holds it.
type Result struct {
	Name      string             `json:"name"`
	Task      string             `json:"task"`
	Positive  string             `json:"positive,omitempty"` // class that the scores of two classes speak of
	Rows      Rows               `json:"rows"`
	Features  int                `json:"features_in"`
	Search    *SearchResult      `json:"search,omitempty"`
	Auto      *AutoResult        `json:"auto,omitempty"`
	Before    *Before            `json:"continued,omitempty"` // where a model has learned on
	Train     map[string]float64 `json:"train"`
	Test      map[string]float64 `json:"test,omitempty"`
	Members   []MemberWeight     `json:"members,omitempty"` // of an ensemble
	Clusters  *ClusterSizes      `json:"clusters,omitempty"`
	Anomalies *AnomalyShares     `json:"anomalies,omitempty"`
	// Intervals is how sure the model is, where it says so, and whether it is right on the test rows.
	Intervals *Sureness `json:"intervals,omitempty"`
	Seconds   Seconds   `json:"seconds"`
	Memory    int64     `json:"peak_memory_bytes"` // 0 where the system does not tell
	Versions  Versions  `json:"versions"`
	Seed      uint64    `json:"seed"`
	SHA256    Digests   `json:"data_sha256"`
	Warnings  []string  `json:"warnings"`

	// Files are the outputs written, in the order of writing.
	Files []string `json:"-"`
}

// Before is the model that a run has learned on from.
type Before struct {
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

// membersOf returns the members of the ensemble that a model is or holds, none where there is none.
func membersOf(m estimator.Predictor) (out []MemberWeight) {
	var c meta.Combination
	if estimator.As(m, &c) {
		for _, one := range c.Combined() {
			out = append(out, MemberWeight{one.Name, one.Weight})
		}
	}
	return out
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
}

// SearchResult is what a grid search found.
type SearchResult struct {
	Candidates int       `json:"candidates"`
	Folds      int       `json:"folds"`
	Fits       int       `json:"fits"`
	Score      string    `json:"score"`
	Best       Candidate `json:"best"`
	OnGridEdge []string  `json:"on_grid_edge"`
	Shared     []string  `json:"shared"`
	Unreached  int       `json:"unreached,omitempty"` // fits that the budget left no time for
	Rounds     []Round   `json:"rounds,omitempty"`    // of halving
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

// Seconds is how long each phase took.
type Seconds struct {
	Load     float64 `json:"load"`
	Search   float64 `json:"search"`
	Refit    float64 `json:"refit"`
	Evaluate float64 `json:"evaluate"`
	Total    float64 `json:"total"`
}

// Versions are those of the program.
type Versions struct {
	Bochner string `json:"bochner"`
	Go      string `json:"go"`
}

// Digests are the SHA-256 sums of the data files, none for built-in data.
type Digests struct {
	Train string `json:"train,omitempty"`
	Test  string `json:"test,omitempty"`
}

// Version returns the versions of the running program, as its build recorded them.
func Version() Versions {
	v := Versions{Bochner: "devel", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Path == module && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Bochner = info.Main.Version
		return v
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			v.Bochner = dependency.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v.Bochner == "devel" && len(s.Value) >= 12 {
			v.Bochner = "devel-" + s.Value[:12]
		}
	}
	return v
}

const module = "github.com/bochner-ml/bochner"
