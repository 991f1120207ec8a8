package config

import (
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// GridSearch returns the configured search. grouped reports whether the rows have groups.
func (s Spec) GridSearch(grouped bool, task datasets.Task) gridsearch.Search {
	search := gridsearch.NewSearch(s.Pipeline, s.Search.Grid...)
	search.Score, search.Refit = string(s.Search.Score), gridsearch.Refit(s.Search.Refit)
	search.Splitter = s.Folds(grouped, task)
	search.Random, search.Seed, search.Budget = s.Search.Random, s.seedOf("search.random"), time.Duration(s.Search.Budget)
	if s.Search.Halving.MinResources > 0 {
		search.Strategy = s.Search.Halving
	} else if s.Search.Coordinate() {
		search.Strategy = gridsearch.Coordinate{Rounds: s.Search.Rounds}
	}
	return search
}

// Coordinate reports whether the strategy is a coordinate search.
func (s *Search) Coordinate() bool { return s.Strategy == "coordinate" }

// TimeOrdered reports whether the folds keep the order of time.
func (s Spec) TimeOrdered() bool { return s.Search != nil && s.Search.CV.Kind == "time" }

// Folds returns the folds of a search in memory.
func (s Spec) Folds(grouped bool, task datasets.Task) datasets.Splitter {
	cv, seed := s.Search.CV, s.seedOf("search.cv")
	kind := cv.Kind
	if kind == "auto" {
		switch {
		case grouped:
			kind = "group"
		case task == datasets.Classification, task == datasets.Anomaly:
			kind = "stratified"
		default:
			kind = "kfold"
		}
	}
	switch kind {
	case "group":
		return datasets.GroupKFold{Folds: cv.Folds, Shuffle: cv.Shuffle, Seed: seed}
	case "stratified":
		return datasets.StratifiedKFold{Folds: cv.Folds, Shuffle: cv.Shuffle, Seed: seed}
	case "hash":
		return s.StreamedFolds()
	case "time":
		return datasets.TimeSeriesSplit{Folds: cv.Folds}
	case "loo", "gcv":
		return gridsearch.LeaveOneOut{GCV: kind == "gcv"}
	}
	return datasets.KFold{Folds: cv.Folds, Shuffle: cv.Shuffle, Seed: seed}
}

// StreamedFolds returns the folds of a search over streamed rows.
func (s Spec) StreamedFolds() datasets.HashKFold {
	return datasets.HashKFold{Folds: s.Search.CV.Folds, Seed: s.seedOf("search.cv")}
}

// CheckStreamed reports settings that require rows in memory.
func (s Spec) CheckStreamed(task datasets.Task) (errs param.FieldErrors) {
	const out = "data.stream: never holds the rows in memory"
	add := func(path, problem string) {
		errs = append(errs, s.Locate(path, param.FieldError{Problem: problem + ", and these stay in the file", Hint: out}))
	}
	if kind := s.Search.CV.Kind; kind != "auto" && kind != "hash" {
		add("search.cv.kind", kind+" folds need rows in memory")
	}
	if s.Data.Group != "" {
		add("data.group", "folds of groups need rows in memory")
	}
	if h := s.Search.Halving; h.MinResources > 0 && h.Resource == "rows" {
		add("search.halving", "rounds with some of the rows need rows in memory")
	}
	if task.Unsupervised() {
		add("search", "candidates for "+string(task)+" are scored on rows in memory")
	}
	return errs
}

// TestRows selects the test rows among the training rows: groups of rows, or with folds in the order
// of time single rows.
func (s Spec) TestRows(grouped bool) datasets.TrainTest {
	grouped = grouped && !s.TimeOrdered()
	return datasets.TrainTest{
		Test: s.Data.Split.Test, Shuffle: s.Data.Split.Shuffle, Stratify: s.Data.Split.Stratify,
		Group: grouped, Seed: s.seedOf("data.split"),
	}
}

// seedOf derives the seed of one purpose from that of the experiment.
func (s Spec) seedOf(purpose string) uint64 { return specs.DeriveSeed(s.Seed, purpose) }
