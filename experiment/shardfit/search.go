package shardfit

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// try does the shard of the fits of the search.
func try(ctx context.Context, s *State, o Options) (err error) {
	switch {
	case o.Data != "":
		return errors.New("shardfit: --data cannot be combined with a search: every fit needs all rows")
	case o.From != nil:
		return errors.New("shardfit: --from cannot be combined with a search: it takes a single pass")
	}
	options := experiment.Options{Force: true}
	if o.Progress != nil {
		done := 0
		options.Progress = func(phase string, now, total int) {
			if phase == "search" {
				o.Progress(now - done)
				done = now
			}
		}
	}
	s.tried, err = options.SearchShard(ctx, s.spec, o.Shard, o.Shards)
	return err
}

// mergeTried takes in the fits of other shards.
func mergeTried(s *State, o *State) error {
	var all bytes.Buffer
	if err := gridsearch.MergeJournals(&all, s.tried, o.tried); err != nil {
		return err
	}
	s.tried = all.Bytes()
	return nil
}

// choose runs the experiment, for which only the refit remains.
func choose(ctx context.Context, s *State, force bool) (*Outcome, error) {
	found, err := experiment.Run(ctx, s.spec, experiment.Options{SearchJournal: s.tried, Force: force})
	if err != nil {
		return nil, err
	}
	out := &Outcome{Rows: found.Rows.Train, Result: &found, Warnings: found.Warnings}
	out.Model, err = modelfile.Load(filepath.Join(s.spec.Output.Dir, files.ModelName))
	return out, err
}
