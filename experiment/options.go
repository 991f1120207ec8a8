package experiment

import "io"

// Progress is called as a run goes on, from one goroutine at a time, with the phase it is in
// ("load", "search", "refit", "evaluate", "report", "write") and how much of it is done. Total is 0 where it
// is not known.
type Progress func(phase string, done, total int)

// Options are what a run may be given beside its spec, and a model beside the rows to predict or
// score. The zero value is silent, and reads rows as those that the model has learned from.
type Options struct {
	Progress Progress // nil for none
	// Searching is called as a search goes on, after every fit and a few times a second, from one goroutine at a time, but
	// not in turn with Progress; nil for none.
	Searching func(Searching)

	// Warn is told of what goes wrong beside the run, as it does: nothing of it fails the run, and all of it is among the
	// warnings of the result. Nil for nobody.
	Warn func(text string)

	Force    bool   // whether [Run] replaces the results of another run in output.dir
	Continue string // model file that [Run] learns on from; "" for none
	Tried    []byte // journal of the search of which others have done the fits, as [Try] makes it; nil for none

	// How [Evaluate], [Predict] and [PredictFile] read the rows.
	Format    string    // one of [reader.Formats]; "" and auto go by the name's ending, the model, the first lines
	Delimiter string    // of CSV: one character, tab, or space for runs of blanks; "" is the model's
	Header    *bool     // whether the first line of CSV names the columns; nil is as the model's
	Missing   []string  // texts that stand for a missing value, beside those that the model knows
	Drop      []string  // columns to leave out, which the model does not know
	Keep      []string  // columns to copy into the predictions, whether the model knows them or not
	More      []string  // further files of rows, behind the first
	Input     io.Reader // what the path "-" stands for; nil is standard input
}

func (o Options) report(phase string, done, total int) {
	if o.Progress != nil {
		o.Progress(phase, done, total)
	}
}
