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
	l.String(&s.Name, "name", "Name of the experiment. Default: the name of the file.")
	l.Seed(&s.Seed, "seed", "Seed of all random draws. The steps, the split and the folds use separate streams "+
		"derived from it.")
	l.Choice(&s.Pipeline.Precision, "precision",
		"Precision of the dense features of the estimator. float32 takes half the memory and about half the time.",
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
	l.Value(&s.Train, "train", "Training file, relative to the experiment file. Several files of one format, with "+
		"equal columns, are concatenated: files of a pattern or a directory by name in natural order (part2 before "+
		"part10), files of a list in the order of the list.")
	l.Value(&s.Test, "test", "Test file, or several, with the columns of the training file.")
	l.Child("sql", &s.SQL)
	l.Child("gram", &s.Gram)
	l.String(&s.Dataset, "dataset", "Name of a built-in data set, instead of a file; `bochner datasets` lists them.")
	l.Child("split", &s.Split)
	l.Choice(&s.Format, "format", "Format of the files; auto: by the extension ("+strings.Join(reader.Extensions(), " ")+
		"; those of text also .gz).", append([]string{"auto"}, reader.Formats()...)...)
	l.Child("csv", &s.CSV)
	l.Child("svmlight", &s.SVMLight)
	l.Value(&s.Target, "target", "Column to predict, or several columns of numbers or, with task: multilabel, of "+
		"labels. Default: the last column; svmlight files and built-in data define their own target. Clustering and "+
		"anomaly detection use an optional target only for scores.")
	l.Child("labels", &s.Labels)
	l.Value(&s.Positive, "positive",
		"Target values of the positive class, or of anomalies with task: anomaly. All other values form the class "+
			"`rest`; a single other value keeps its name. Default: the second of two classes in numeric or alphabetical "+
			"order, such as yes for no and yes.")
	l.String(&s.Suffix, "suffix", "Suffix to remove from target values, if only some files have it.")
	l.Choice(&s.Task, "task", "Learning task. auto: clustering or anomaly if the model is of this kind, else "+
		"classification for strings and for at most 10 distinct integers, and regression for other numbers. "+
		"multilabel: several labels per row, as several targets of two values each or as lists in one target "+
		"(labels.delimiter).", "auto", "classification",
		"regression", "clustering", "anomaly", "multilabel")
	l.Choice(&s.MissingTarget, "missing_target",
		"Treatment of rows without a target value: an error, or dropped.", "error", "drop")
	l.String(&s.Weight, "weight", "Column of sample weights ≥ 0; not an input.")
	l.String(&s.Group, "group", "Column of group labels for grouped folds; not an input.")
	l.Names(&s.Drop, "drop", "Columns to exclude.")
	l.Value(&s.Kinds, "kinds", "Kinds of columns that the values do not determine, such as numeric codes: {zip: "+
		"categorical}.")
	l.Value(&s.Dates, "dates", "Columns of dates, with the numeric columns that replace them: {sold: [year, month, "+
		"weekday]} gives sold_year, sold_month and sold_weekday. The order of day, month and year, if it is not "+
		"year, month and day: {sold: {order: dmy, parts: [year, month]}}.")
	l.Choice(&s.Stream, "stream",
		"Whether to read the file in blocks instead of loading it into memory. auto: if it is large; with a search, "+
			"if it exceeds half of the memory.", "auto", "always", "never")
}

// Gram names files of kernel values that replace the inputs, for steps with kernel: precomputed.
type Gram struct{ Train, Test string }

// Params declares the keys of the section.
func (s *Gram) Params(l *param.List) {
	l.String(&s.Train, "train", "Gram matrix of the training rows, a symmetric .npy file, relative to the "+
		"experiment file. Its rows are in the order of data.train.")
	l.String(&s.Test, "test", "Kernel values of the test rows with the training rows, an .npy file of test rows × "+
		"training rows, in the orders of data.test and data.train.")
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
	l.Float(&s.Test, "test", "Share of the rows held out as test set, instead of a test file; 0 for none.",
		param.Range{High: 1, HighOpen: true})
	l.Bool(&s.Stratify, "stratify", "Whether to preserve the class frequencies in both parts.")
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
	l.Value(&s.Score, "score", "Metric of the selection. auto: accuracy for classification, r2 for regression, "+
		"f1_micro for multilabel, roc_auc for anomaly, which requires a target; for clustering adjusted_rand with a "+
		"target, else silhouette.")
	l.Choice(&s.Refit, "refit", "Candidate to refit on all training rows: the best, or the simplest within one "+
		"standard error of the best score.", "best", "one_std_error")
	l.Choice(&s.Strategy, "strategy",
		"Search strategy. grid: all candidates, unless random or halving is given. coordinate: optimizes one axis "+
			"at a time, with all other axes fixed at their best values; for grids with many axes, such as "+
			"scale.factors.*.", "grid", "coordinate")
	l.Int(&s.Rounds, "rounds", "Maximum number of passes over all axes with strategy: coordinate; a pass without "+
		"improvement ends the search.", param.Between(1, 1000))
	l.Int(&s.Random, "random", "Number of candidates drawn at random from the grid; 0 for all.",
		param.Between(0, 1_000_000))
	l.Value(&s.Budget, "budget", "Time limit of the search, such as 10m. The best candidate with scores on all "+
		"folds is then refitted. Another run of the same file resumes the search for the same time.")
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
	l.Choice(&s.Kind, "kind", "Type of cross-validation. auto: hash for streamed data, group with data.group, "+
		"stratified for classification and anomaly, else kfold. time: each test fold follows its training rows. "+
		"hash: the fold depends on a hash of the row number. loo: exact leave-one-out. gcv: generalized "+
		"cross-validation, for ridge and ridge_classifier after steps that do not learn from the rows.",
		"auto", "stratified", "kfold", "group", "time", "hash", "loo", "gcv")
	l.Int(&s.Folds, "folds", "Number of folds.", param.Between(2, 100_000))
	l.Bool(&s.Shuffle, "shuffle", "Whether to assign rows to folds at random instead of in order.")
}

// Output names the outputs.
type Output struct {
	Dir string
}

// Params declares the keys of the section.
func (s *Output) Params(l *param.List) {
	l.String(&s.Dir, "dir", "Output directory, relative to the working directory. Default: runs/NAME.")
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
