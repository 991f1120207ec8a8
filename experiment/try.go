package experiment

import (
	"context"
	"errors"
	"os"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/gridsearch"
)

// Try does shard i of n of the fits of an experiment's search, from 0, and returns their scores as a journal. Merged
// with those of all other shards by [gridsearch.MergeJournals], it is what Options.Tried takes: the run has nothing left
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
	spec.Output = document.Output{Dir: dir} // who merges the shards logs the run
	r := newRun(spec, o, nil)
	_, err = r.phases(ctx, r.load, func(ctx context.Context) error {
		set, err := datasets.Gather(ctx, r.rows.Train)
		if err != nil {
			return err
		}
		search := r.gridSearch(set)
		search.Progress = func(p gridsearch.Progress) { o.report("search", p.Done, p.Total) }
		if err := search.RunShard(ctx, set, i, n); err != nil {
			return err
		}
		journal, err = os.ReadFile(search.Journal)
		return err
	})
	return journal, err
}
