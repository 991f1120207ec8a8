package gridsearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
)

// RunShard does shard i of n of the fits of the search, 0 ≤ i < n, and records their scores in its
// journal, which is required. Several hosts can thus share a search. [MergeJournals] merges their
// journals; Run with the merged journal only selects and refits. Its result equals that of one host
// bit for bit, except for the times.
//
// Shards are contiguous in the grid: whole candidates, or, with more shards than candidates, some
// folds of one. Work that candidates of different shards could share is repeated in each. To
// minimize it, put the most expensive axis first and use as many shards as it has values. The time
// budget is ignored.
func (s Search) RunShard(ctx context.Context, data datasets.Set, i, n int) error {
	if n < 1 || i < 0 || i >= n {
		return fmt.Errorf("gridsearch: shard %d of %d", i, n)
	}
	if s.Journal == "" {
		return errors.New("gridsearch: a shard of a search leaves its scores in a journal, and there is none")
	}
	if s.Strategy != nil {
		return fmt.Errorf("gridsearch: the rounds of %T depend on the scores of all candidates, which a shard does not know",
			s.Strategy)
	}
	if s.Start != nil {
		return errors.New("gridsearch: the candidates of a search with a start depend on the scores of others, which a " +
			"shard does not know")
	}
	s.Budget = 0
	r, err := s.prepare(data, MaxCandidates)
	if err == nil {
		r.include = includeShard(len(r.proposer.known()), len(r.folds), i, n)
		err = r.evaluate(ctx)
	}
	if err != nil {
		return failed(ctx, err)
	}
	return nil
}

// includeShard selects the fits of shard i of n.
func includeShard(candidates, folds, i, n int) func(candidate, fold int) bool {
	if n <= candidates {
		from, to := i*candidates/n, (i+1)*candidates/n
		return func(candidate, _ int) bool { return from <= candidate && candidate < to }
	}
	from, to := i*candidates*folds/n, (i+1)*candidates*folds/n
	return func(candidate, fold int) bool {
		at := candidate*folds + fold
		return from <= at && at < to
	}
}

// MergeJournals writes one journal of the entries of several, of the same search on the same data, each fit once, in
// the order of the grid. Entries of the same fit are those of the first journal that has it.
func MergeJournals(w io.Writer, journals ...[]byte) error {
	if len(journals) == 0 {
		return errors.New("gridsearch: no journals to merge")
	}
	var shared []string
	reported := false
	fits := map[searchloop.Fit][]byte{}
	head, err := journal.HeadOf(journals[0], journalKind)
	for k, content := range journals {
		if err == nil {
			err = journal.Read(content, head, func(line []byte) error {
				var e searchloop.Entry
				if err := journal.Decode(line, &e); err != nil {
					return err
				}
				if at, ok := e.Fit(); !ok {
					reported = true
					shared = union(shared, e.Shared)
				} else if fits[at] == nil {
					fits[at] = line
				}
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("gridsearch: journal %d: %w", k, err)
		}
	}
	order := slices.SortedFunc(maps.Keys(fits), func(a, b searchloop.Fit) int {
		return cmp.Or(a.Round-b.Round, a.Candidate-b.Candidate, a.Fold-b.Fold)
	})
	var out bytes.Buffer
	first, _, _ := bytes.Cut(journals[0], []byte{'\n'})
	out.Write(append(bytes.Clone(first), '\n'))
	for _, at := range order {
		out.Write(journal.Seal(fits[at]))
	}
	if reported { // also if nothing was shared
		line, err := json.Marshal(searchloop.Entry{Shared: shared})
		if err != nil {
			return err
		}
		out.Write(journal.Seal(line))
	}
	_, err = w.Write(out.Bytes())
	return err
}
