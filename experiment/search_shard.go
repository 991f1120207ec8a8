package experiment

import (
	"context"
	"errors"
	"os"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/experiment/config"
)

// Try does shard i of n of the fits of an experiment's search, from 0, and returns their scores as a journal. Merged
// with those of all other shards by [gridsearch.MergeJournals], it is what Options.SearchJournal takes: the run has nothing left
// to do then but to choose, to fit again and to write. All rows are read on each machine.
func Try(ctx context.Context, spec Spec, o Options, i, n int) (journal []byte, err error) {
	if spec.Search == nil {
		return nil, errors.New("experiment: there is no search whose fits could be shared out")
	}
	dir, err := os.MkdirTemp("", "bochner-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	spec.Output = config.Output{Dir: dir} // who merges the shards logs the run
	out := newOutputs(spec, o, false)
	defer func() { _, err = out.end(ctx, err) }()
	data, err := load(ctx, spec, o, out)
	if err != nil {
		return nil, err
	}
	defer data.end()
	set, err := datasets.ReadAll(ctx, data.Train)
	if err != nil {
		return nil, err
	}
	search := gridSearch(data, set, out)
	search.Progress = func(p gridsearch.Progress) { o.Progress.report("search", p.Done, p.Total) }
	if err := search.RunShard(ctx, set, i, n); err != nil {
		return nil, err
	}
	return os.ReadFile(search.Journal)
}
