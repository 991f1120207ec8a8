// Package experiment runs experiments that a YAML file describes: the data, the pipeline, the
// search over its parameters, and the outputs.
//
//	ctx := context.Background()
//	spec, err := experiment.Load(ctx, "adult.yaml")
//	result, err := experiment.Run(ctx, spec, experiment.Options{})
//
// [Load] validates the file and reports all errors at once, with their lines. [NewPlan] estimates
// the time and memory of a run. [Run] writes into output.dir:
//
//	spec.yaml         the experiment with all defaults and seeds
//	result.json       scores, times, memory, versions, warnings: a [result.Result]
//	cv_results.csv    one row for each candidate of the search
//	predictions.csv   one row for each test row
//	model.bochner     the fitted pipeline with the schema of its data
//
// [Evaluate], [Predict], [Inspect] and [Export] take such a model. Files are written atomically,
// and an interrupted run resumes.
package experiment

import (
	"io"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/inspection"
)

// Spec is the content of an experiment file.
type Spec = config.Spec

// Override replaces one value of an experiment file.
type Override = config.Override

// Progress is called during a run with the current phase ("load", "search", "refit", "evaluate",
// "report" or "write") and its progress. Total is 0 if unknown. Calls do not overlap.
type Progress func(phase string, done, total int)

// Options are options of runs and of the functions that apply a model to rows. The zero value reads
// rows in the format of the training data.
type Options struct {
	Progress Progress // may be nil
	// Searching is called after every fit of a search and a few times per second. Its calls do not overlap,
	// but may be concurrent with those of Progress. It may be nil.
	Searching func(SearchProgress)

	// OnWarning is called with every warning as it occurs; the result contains all of them. It may
	// be nil.
	OnWarning func(text string)

	Force         bool   // [Run] overwrites the results of a different run in output.dir
	Continue      string // model file whose training [Run] continues; "" for none
	StartFrom     string // directory of an earlier run, whose candidates the search of [Run] starts from; "" for none
	SearchJournal []byte // merged journals of shards; nil for none

	// Input format of [Evaluate], [Predict] and [PredictFile].
	Format     string   // one of [reader.Formats]; "" or auto infers it from the extension, the model and the first lines
	Delimiter  string   // of CSV: one character, tab, or space for runs of blanks; "" is that of the model
	Encoding   string   // of CSV: utf-8, latin-1, windows-1252 or utf-16, or by the byte order mark; "" as for the model
	Decimal    string   // decimal mark of CSV: a point or a comma; "" is that of the model
	Header     *bool    // whether the first line of CSV contains column names; nil as for the model
	Missing    []string // markers of missing values, in addition to those of the model
	Drop       []string // columns to ignore
	Keep       []string // columns to copy into the predictions
	ExtraFiles []string // further input files
	// SkipInvalid is a file for the rows that have no prediction because they are invalid, as CSV with the columns row,
	// file, line and reason. "" makes them an error, which lists up to 20.
	SkipInvalid string
	// JSON makes [Predict] write a JSON object with the array predictions, an object by the names of the CSV columns for
	// each row, and the keys of [Predicted].
	JSON  bool
	Input io.Reader // content of the path "-"; nil is standard input

	// Explain are the options of [Explain]; with them [Predict] adds Shapley values to the predictions.
	Explain *ExplainOptions

	onInvalid func(row int, err error) error // see [datasets.Roles]; nil returns the first error
}

// ExplainOptions are options of Shapley values. The zero value selects the defaults.
type ExplainOptions struct {
	Method     inspection.Method
	Background int // number of background rows; 0 for 100
	// BackgroundFile is a data file with background rows. "" selects the training rows of the run in whose directory the
	// model is.
	BackgroundFile string
	KMeans         bool // the background is a weighted sample by k-means instead of evenly spaced rows
}

// report calls p unless it is nil.
func (p Progress) report(phase string, done, total int) {
	if p != nil {
		p(phase, done, total)
	}
}
