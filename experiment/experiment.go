// Package experiment runs a whole experiment that one YAML file describes: the data, the pipeline,
// the search over its parameters, and the outputs.
//
//	ctx := context.Background()
//	spec, err := experiment.Load(ctx, "adult.yaml")
//	result, err := experiment.Run(ctx, spec, experiment.Options{})
//
// A file is data, never code: nothing in it is expanded, included or run. [Load] reports everything
// that is wrong with it at once, each complaint with its line, the value found and what was wanted,
// before any work is done; [NewPlan] says what a run would cost. [Run] writes into output.dir
//
//	spec.yaml         the experiment as resolved, every default and seed written out
//	result.json       scores, times, memory, versions, warnings: a [Result]
//	cv_results.csv    a row for each candidate of the search
//	predictions.csv   a row for each test row; without any, and without a target to learn from, for each training row
//	model.bochner     the fitted pipeline with the schema of its data
//
// and [Evaluate], [Predict] and [Inspect] take such a model. Every file is whole or absent. A run
// that was stopped goes on where it was when it is started again.
//
// What a file may say is the matter of package document, the room below, and [Draft], which writes one for
// data that nobody has described, that of package draft. This package is the run.
package experiment

import (
	"io"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/experiment/config"
)

// Spec is an experiment, as its file says.
type Spec = config.Spec

// Override replaces one value of a file.
type Override = config.Override

// Result is what a run found, as result.json holds it.
type Result = result.Result

// Progress is called as a run goes on, from one goroutine at a time, with the phase it is in
// ("load", "search", "refit", "evaluate", "report", "write") and how much of it is done. Total is 0 where it
// is not known.
type Progress func(phase string, done, total int)

// Options are what a run may be given beside its spec, and a model beside the rows to predict or
// score. The zero value is silent, and reads rows as those that the model has learned from.
type Options struct {
	Progress Progress // nil for none
	// SearchProgress is called as a search goes on, after every fit and a few times a second, from one goroutine at a time, but
	// not in turn with Progress; nil for none.
	Searching func(SearchProgress)

	// OnWarning is told of what goes wrong beside the run, as it does: nothing of it fails the run, and all of it is among the
	// warnings of the result. Nil for nobody.
	OnWarning func(text string)

	Force         bool   // whether [Run] replaces the results of another run in output.dir
	Continue      string // model file that [Run] learns on from; "" for none
	SearchJournal []byte // journal of the search of which others have done the fits, as [Try] makes it; nil for none

	// How [Evaluate], [Predict] and [PredictFile] read the rows.
	Format     string    // one of [reader.Formats]; "" and auto go by the name's ending, the model, the first lines
	Delimiter  string    // of CSV: one character, tab, or space for runs of blanks; "" is the model's
	Header     *bool     // whether the first line of CSV names the columns; nil is as the model's
	Missing    []string  // texts that stand for a missing value, beside those that the model knows
	Drop       []string  // columns to leave out, which the model does not know
	Keep       []string  // columns to copy into the predictions, whether the model knows them or not
	ExtraFiles []string  // further files of rows, behind the first
	Input      io.Reader // what the path "-" stands for; nil is standard input
}

// report calls p, if there is one.
func (p Progress) report(phase string, done, total int) {
	if p != nil {
		p(phase, done, total)
	}
}
