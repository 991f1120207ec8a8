package experiment

import (
	"context"
	"errors"
	"os"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/gridsearch"
)

// SearchShard runs shard i of n, from 0, of the fits of a search and returns their scores as a journal.
// [gridsearch.MergeJournals] merges the journals of all shards for Options.SearchJournal. Each call
// reads all rows.
func (o Options) SearchShard(ctx context.Context, spec Spec, i, n int) (journal []byte, err error) {
	if spec.Search == nil {
		return nil, errors.New("experiment: the experiment must have a search")
	}
	dir, err := os.MkdirTemp("", "bochner-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	spec.Output = config.Output{Dir: dir} // the merging host logs the run
	out := newOutputs(spec, false)
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
