// Package config reads, validates and writes the YAML file of an experiment.
//
//	read := config.Decode("adult.yaml", text, config.Override{Path: "rff.gamma", Value: "0.1"})
//	spec, err := read.Spec, read.Err()
//	text, err := spec.Encode("runs/adult/spec.yaml")
//
// A [Spec] and its sections declare their keys like the parameters of steps. Decoding, defaults,
// validation, [JSONSchema] and [Reference] follow from the declarations. The package opens no data
// files; package validate checks them.
package config

import (
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Spec is the content of an experiment file.
type Spec struct {
	Name     string
	Seed     uint64
	Data     Data
	Pipeline pipeline.Pipeline
	Search   *Search // nil for none
	Output   Output

	Intervals *Intervals // nil for none
	Report    Report

	places *places // positions of the values in the file; nil without a file
}

// Params declares the parameters of the sections, except those of the steps and the grid.
func (s *Spec) Params(l *param.List) {
	l.String(&s.Name, "name", "Name of the experiment; that of the file when left out.")
	l.Seed(&s.Seed, "seed", "Seed of all random draws. Each step, the split and the folds have a stream of their own, "+
		"derived from it.")
	l.Choice(&s.Pipeline.Precision, "precision",
		"Precision of the dense features that the estimator reads. float32 takes half the memory and about half the time.",
		pipeline.Float64, pipeline.Float32)
	l.Child("data", &s.Data)
	l.Child("search", &s.Search)
	l.Child("intervals", &s.Intervals)
	l.Child("report", &s.Report)
	l.Child("output", &s.Output)
}

// FromFile reports whether the spec was read from a file.
func (s Spec) FromFile() bool { return s.places != nil }

// File returns the name of the file that the spec was read from, or "".
func (s Spec) File() string {
	if s.places == nil {
		return ""
	}
	return s.places.file
}

// Given reports whether the file or an override sets the value at a path.
func (s Spec) Given(path string) bool { return s.places != nil && s.places.at[path] != nil }

// Locate adds a path and its position in the file to an error.
func (s Spec) Locate(path string, f param.FieldError) param.FieldError {
	return s.places.problem(path, f)
}

// Unplaced returns the spec without positions, so that its errors have no line.
func (s Spec) Unplaced() Spec {
	s.places = nil
	return s
}

// Data describes the rows and the roles of their columns.
type Data struct {
	Train   reader.Paths
	Test    reader.Paths
	SQL     SQL
	Gram    Gram
	Dataset string
	Split   Split
	Stream  string

	reader.Files

	Asked Database // open database of SQL; nil opens SQL.URL; no key
	Known *Known   // schema of the training rows, for incremental learning; no key
}

// Known is the schema of the training rows of a model.
type Known struct {
	Schema datasets.Schema
	Cols   int
}

// Params declares the keys of the section.
func (s *Data) Params(l *param.List) {
	l.Value(&s.Train, "train", "File of the rows to learn from, relative to the experiment file. Several files, in one "+
		"format and with the same columns, are read as one: those of a pattern or a folder in the order of their names, "+
		"in which numbers count as such, those of a list as listed.")
	l.Value(&s.Test, "test", "File of the rows to test on, with the columns of the training file; or several.")
	l.Child("sql", &s.SQL)
	l.Child("gram", &s.Gram)
	l.String(&s.Dataset, "dataset", "Built-in data instead of a file; `bochner datasets` lists them.")
	l.Child("split", &s.Split)
	l.Choice(&s.Format, "format", "Format of the files; auto: by the extension ("+strings.Join(reader.Extensions(), " ")+
		"; those of text also .gz).", append([]string{"auto"}, reader.Formats()...)...)
	l.Child("csv", &s.CSV)
	l.Child("svmlight", &s.SVMLight)
	l.Value(&s.Target, "target", "Column to predict, or several with numbers or, with task: multilabel, labels. "+
		"Of a CSV or ARFF file the last one when left out; an svmlight file has its own, and so have built-in data. "+
		"Optional for clustering and anomaly, "+
		"where it is not an input and only scores the result.")
	l.Child("labels", &s.Labels)
	l.Value(&s.Positive, "positive",
		"Values of the target that form the positive class; all others form the class `rest`, but a single other value "+
			"keeps its name. Default: of two classes the second in numeric or alphabetical order, such as yes of no and "+
			"yes. With task: anomaly, the values that are anomalies.")
	l.String(&s.Suffix, "suffix", "Suffix of target values in some of the files, which is removed.")
	l.Choice(&s.Task, "task", "Learning task. auto: the task of the model if it needs no target; else classification for "+
		"strings and for at most 10 distinct integers, and regression for other numbers. clustering: groups of rows. "+
		"anomaly: rows that are outliers. multilabel: several labels per row, as targets with two values each, such as 0 "+
		"and 1, or as lists in one target (labels.delimiter).", "auto", "classification",
		"regression", "clustering", "anomaly", "multilabel")
	l.Choice(&s.MissingTarget, "missing_target",
		"Rows without a target value: an error, or dropped.", "error", "drop")
	l.String(&s.Weight, "weight", "Column of sample weights ≥ 0, which is not an input.")
	l.String(&s.Group, "group", "Column of group labels for grouped folds; not an input.")
	l.Names(&s.Drop, "drop", "Columns to ignore.")
	l.Value(&s.Kinds, "kinds", "Kinds of columns whose values are ambiguous, such as numeric codes: {zip: categorical}.")
	l.Value(&s.Dates, "dates", "Columns of dates. Numeric columns of its parts, such as sold_year and "+
		"sold_month, replace each: {sold: [year, month, weekday]}, or {sold: {order: dmy, parts: [year, month]}} if "+
		"the day comes first, mdy if the month does.")
	l.Choice(&s.Stream, "stream",
		"Whether to read the file block by block instead of into memory. auto: if it is large; with a search, "+
			"if it exceeds half of the memory.", "auto", "always", "never")
}

// Gram names files of kernel values that replace the inputs, for steps with kernel: precomputed.
type Gram struct{ Train, Test string }

// Params declares the keys of the section.
func (s *Gram) Params(l *param.List) {
	l.String(&s.Train, "train", "File of the kernel values of all pairs of training rows, a symmetric matrix in .npy, "+
		"relative to the experiment file. Row i is that of row i of data.train.")
	l.String(&s.Test, "test", "File of the kernel values of each row of data.test, in its order, with every row of "+
		"data.train: rows × training rows, in .npy.")
}

// Given reports whether the section is present.
func (s Gram) Given() bool { return s != Gram{} }

// Files returns the files of the section.
func (s Gram) Files() []string {
	return slices.DeleteFunc([]string{s.Train, s.Test}, func(path string) bool { return path == "" })
}

// moved returns the section with new paths of the files.
func (s Gram) moved(to func(path string) string) Gram {
	for _, path := range []*string{&s.Train, &s.Test} {
		if *path != "" {
			*path = to(*path)
		}
	}
	return s
}

// Where returns the training and test files or queries.
func (s Data) Where() (train, test reader.Paths) {
	if s.SQL.Given() {
		return reader.Paths(s.SQL.Train), reader.Paths(s.SQL.Test)
	}
	return s.Train, s.Test
}

// TrainAndTest returns the training and test paths in one list.
func (s Data) TrainAndTest() []string { return slices.Concat(s.Train, s.Test) }

// Split splits test rows off the training file.
type Split struct {
	Test     float64
	Stratify bool
	Shuffle  bool
}

// Params declares the keys of the section.
func (s *Split) Params(l *param.List) {
	l.Float(&s.Test, "test", "Share of the rows to test on, instead of a test file; 0 for none.",
		param.Range{High: 1, HighOpen: true})
	l.Bool(&s.Stratify, "stratify", "Whether both parts have the class frequencies of all rows.")
	l.Bool(&s.Shuffle, "shuffle", "Whether test rows are random; otherwise they are the last ones.")
}

// Search is a grid search with cross-validation.
type Search struct {
	Grid     []gridsearch.Axis
	CV       CV
	Score    Score
	Refit    string
	Strategy string
	Rounds   int
	Random   int
	Budget   Duration
	Halving  gridsearch.Halving
}

// Params declares the keys of the section, except the grid.
func (s *Search) Params(l *param.List) {
	l.Int(&s.CV.Folds, "folds", "Number of folds; short for cv.folds.", param.Between(2, 100_000))
	l.Child("cv", &s.CV)
	l.Value(&s.Score, "score", "Metric to choose by. auto: accuracy, for regression r2, for multilabel f1_micro; "+
		"for clustering adjusted_rand where a target is named, else silhouette; for anomaly roc_auc, which needs a "+
		"target to be named.")
	l.Choice(&s.Refit, "refit", "Candidate to fit on all training rows: the best, or the simplest whose score is "+
		"within one standard error of it.", "best", "one_std_error")
	l.Choice(&s.Strategy, "strategy",
		"Order of candidates. grid: all of them, unless random or halving is given. coordinate: one axis after the "+
			"other, with the best values so far of the others; for grids of many axes, such as "+
			"scale.factors.*.", "grid", "coordinate")
	l.Int(&s.Rounds, "rounds", "Maximum number of rounds over all axes with strategy: coordinate; a round without "+
		"improvement ends the search.", param.Between(1, 1000))
	l.Int(&s.Random, "random", "Number of candidates to draw from the grid at random; 0 for all of them.",
		param.Between(0, 1_000_000))
	l.Value(&s.Budget, "budget", "Time after which the search ends, such as 10m. The best of the candidates with "+
		"scores on all folds is fitted to all training rows. Running the same file again resumes the search for the same "+
		"time.")
	l.Child("halving", &s.Halving)
}

// CV describes the cross-validation folds.
type CV struct {
	Kind    string
	Folds   int
	Shuffle bool
}

// Params declares the keys of the section.
func (s *CV) Params(l *param.List) {
	l.Choice(&s.Kind, "kind", "How folds are made. auto: group when data.group is given, stratified for classification "+
		"and anomaly, else kfold. time keeps the order: it trains on what came before. hash puts each row into a fold by "+
		"a hash of its number: the folds of rows that stay in the file (data.stream), for which auto takes it. loo "+
		"predicts every row by the model of all others, exactly, and gcv by generalized cross-validation: for ridge and "+
		"ridge_classifier behind steps that learn nothing from the "+
		"rows.", "auto", "stratified", "kfold", "group", "time", "hash", "loo", "gcv")
	l.Int(&s.Folds, "folds", "Number of folds.", param.Between(2, 100_000))
	l.Bool(&s.Shuffle, "shuffle", "Whether to assign rows to folds at random; otherwise in order.")
}

// Output names the outputs.
type Output struct {
	Dir string
}

// Params declares the keys of the section.
func (s *Output) Params(l *param.List) {
	l.String(&s.Dir, "dir", "Folder for the outputs, relative to the working directory; runs/NAME when left out.")
}

// New returns a spec with default values, without data and pipeline.
func New() Spec {
	return Spec{
		Data: Data{
			Files: reader.NewFiles(), Stream: "auto",
			Split: Split{Shuffle: true},
		},
		Pipeline: pipeline.Pipeline{Precision: pipeline.Float64},
		Report:   NewReport(),
	}
}

// NewSearch returns a search with default values and an empty grid.
func NewSearch() *Search {
	return &Search{CV: CV{Kind: "auto", Folds: 5, Shuffle: true}, Refit: "best", Strategy: "grid", Rounds: 3,
		Halving: gridsearch.NewHalving(0)}
}
