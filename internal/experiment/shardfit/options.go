package shardfit

import (
	"io"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Options say which part of a job it is.
type Options struct {
	Shard, Shards int    // it is shard Shard, from 0, of Shards
	From          *State // what the pass begins from: what [Finish] has returned as Next; nil for the look at the columns
	// Data is the file of the rows of this shard, - for Input. Where it is "" the shard is a share of the rows that
	// the experiment names.
	Data     string
	Input    io.Reader // nil is standard input
	Progress func(rows int)

	Force bool // whether [Finish] replaces the results of another run
}

// Outcome is what a pass has come to.
type Outcome struct {
	Pass   int      // that has come to its end; 0 is the look at the columns
	Rows   int      // that it has read
	Learns string   // name of the step, or of the estimator, that the next pass is for; "" where there is none
	Again  []string // columns that the look has to take for categorical the next time

	// Result is what the run of an experiment with a search has come to, whose files are in output.dir.
	Result   *experiment.Result
	Next     *State           // what the parts of the next pass begin from; nil where there is none
	Model    *modelfile.Model // where there is none
	Warnings []string
}

// FieldErrors is all that is wrong with a spec, each with its place.
type FieldErrors = param.FieldErrors
