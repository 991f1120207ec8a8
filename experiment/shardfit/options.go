package shardfit

import (
	"io"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Options are options of [Fit], which requires Shards, and of [Finish]. Zero values of other fields are the defaults.
type Options struct {
	Shard, Shards int    // index of the shard, from 0, and number of shards
	From          *State // Next of the previous pass; nil for pass 0
	// Data is a file with the rows of this shard, - for Input. "" is a share of the rows of the
	// experiment.
	Data     string
	Input    io.Reader // nil is standard input
	Progress func(rows int)
}

// Outcome is the result of a pass.
type Outcome struct {
	Pass   int      // the completed pass; 0 infers the columns
	Rows   int      // rows read
	Learns string   // step or estimator that the next pass fits
	Again  []string // columns to treat as categorical when pass 0 is repeated

	// Result is the result of a search; its files are in output.dir.
	Result   *result.Result
	Next     *State           // input of the next pass; nil after the last
	Model    *modelfile.Model // final model; nil before the last pass
	Warnings []string
}
