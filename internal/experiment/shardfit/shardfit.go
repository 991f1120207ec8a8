// Package shardfit fits the pipeline of one experiment file in parts that run anywhere, in any order, and as often as
// whoever runs them likes: the three verbs of `bochner shard`.
//
//	spec, err := job.Load("adult.yaml")
//	part, err := job.Fit(ctx, spec, job.Options{Shard: 3, Shards: 64})     // on each worker
//	all, err := job.Merge(ctx, parts...)                                    // in any order, in any groups
//	out, err := job.Finish(ctx, all, job.Options{})                                        // out.Model, or out.Next for another round of parts
//
// A round of parts is one pass over the rows. The first one looks at the columns: which are categories, how
// many rows each file has. Then come the passes of the pipeline, those of its first step that learns something, of
// the next one, and at last of the estimator; each part of such a round begins from what the round before has come
// to (Options.From).
//
// What a part finds is a [State], which goes to a file and back. It says of which experiment, pass and shards it
// is, and a merge refuses what does not belong: another experiment or other rows, a shard that has been counted, a
// damaged file. Whoever does a part again gets the same bytes. Sums are added in an order that only the rows fix
// (package distributed), so the model has the same bits for any number of shards.
//
// Where the file has a search, a part tries its share of the candidates on all rows, and Finish is the run that
// takes up their scores.
package shardfit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/distributed"
	"github.com/bochner-ml/bochner/internal/experiment/config"
	"github.com/bochner-ml/bochner/internal/profile"
	"github.com/bochner-ml/bochner/param"
)

// Load reads an experiment file, with values overridden, and reports all that is wrong with it as a job. It does
// not look at the data, which need not be where it is.
func Load(path string, overrides ...config.Override) (config.Spec, error) {
	text, err := config.ReadText(path)
	if err != nil {
		return config.Spec{}, fmt.Errorf("job: %w", err)
	}
	return Parse(path, text, overrides...)
}

// Parse is Load for a string that stands in a file of that name, to which the names of its data are relative.
func Parse(file string, text []byte, overrides ...config.Override) (config.Spec, error) {
	d := config.Decode(file, text, overrides...)
	if d.Steps {
		d.Faults = append(d.Faults, faultsOf(d.Spec)...)
	}
	return d.Spec, d.Err()
}

// faultsOf is what a job cannot do of what a file may ask for.
func faultsOf(s config.Spec) (faults FieldErrors) {
	add := func(path string, f param.FieldError) { faults = append(faults, s.Fault(path, f)) }
	if s.Data.Dataset != "" {
		add("data.dataset", param.FieldError{Problem: "built-in data are small; a job reads files", Hint: "bochner run"})
	}
	if s.Search != nil {
		if s.Search.Coordinate() {
			add("search.strategy", param.FieldError{Problem: "which candidates coordinate tries depends on the scores of others, and shards do not know them"})
		}
		if s.Search.Halving.MinResources > 0 {
			add("search.halving", param.FieldError{Problem: "which candidates a round keeps depends on the scores of all, and shards do not know them"})
		}
		if s.Search.Budget > 0 {
			add("search.budget", param.FieldError{Problem: "a search in shards has no end before its last fit", Hint: "--set search.random=… bounds the candidates"})
		}
		return faults
	}
	if s.Data.Split.Test > 0 {
		add("data.split.test", param.FieldError{Problem: "a job learns from all rows of data.train", Hint: "give the rows to test on a file of their own and score the model with bochner evaluate; --set data.split.test=0 learns from all"})
	}
	if s.Intervals != nil {
		add("intervals", param.FieldError{Problem: "intervals are not learned by passes", Hint: "leave the section out"})
	}
	if _, err := s.Pipeline.Start(context.Background(), datasets.Schema{}, 1); errors.Is(err, datasets.ErrNoPasses) {
		add("pipeline", param.FieldError{Problem: config.Problem(err)})
	}
	return faults
}

// Fit processes one shard in one pass.
func Fit(ctx context.Context, spec config.Spec, o Options) (*State, error) {
	if o.Shards < 1 || o.Shards > MaxShards || o.Shard < 0 || o.Shard >= o.Shards {
		return nil, fmt.Errorf("job: shard %d of %d; they count from 0, and there are at most %d", o.Shard, o.Shards, MaxShards)
	}
	if err := faultsOf(spec).Err(); err != nil {
		return nil, err
	}
	s, err := newState(spec)
	if err != nil {
		return nil, err
	}
	s.shards, s.done, s.own = o.Shards, []int{o.Shard}, o.Data != ""
	if spec.Search != nil {
		return s, try(ctx, s, o)
	}
	if o.From != nil {
		if err := s.goOn(o.From); err != nil {
			return nil, err
		}
	}
	if spec.Data.SQL.Given() && o.Data == "" {
		return nil, FieldErrors{spec.Fault("data.sql", param.FieldError{Problem: "the rows of a query are not shared out", Hint: "give each shard a query of its own, whose rows as CSV are piped into bochner shard fit --data -"})}
	}
	if s.pass == 0 {
		return s, look(ctx, s, o)
	}
	return s, learn(ctx, s, o)
}

// Merge puts states of one pass together, which cover different shards. Where a merge fails none of them is of any use
// any more.
func Merge(ctx context.Context, states ...*State) (*State, error) {
	if len(states) == 0 {
		return nil, errors.New("job: no states to merge")
	}
	first := states[0]
	for k, o := range states {
		if o.Between() {
			return nil, &RejectedState{k, errors.New("it is what finish has written, and no shard's")}
		}
		if k == 0 {
			continue
		}
		if err := first.same(o); err != nil {
			return nil, &RejectedState{k, err}
		}
		for _, i := range o.done {
			if _, twice := slices.BinarySearch(first.done, i); twice {
				return nil, &RejectedState{k, fmt.Errorf("shard %d of %d is in an earlier one, too: %w", i, first.shards, distributed.ErrTwice)}
			}
		}
		first.done = append(slices.Clone(first.done), o.done...)
		slices.Sort(first.done)
		if first.spec.Search != nil {
			if err := mergeTried(first, o); err != nil {
				return nil, &RejectedState{k, err}
			}
		} else if first.pass == 0 {
			first.pieces = append(slices.Clone(first.pieces), o.pieces...)
			slices.SortFunc(first.pieces, func(a, b piece) int { return a.index - b.index })
		} else if err := first.tree.Merge(ctx, o.tree); err != nil {
			if ctx.Err() != nil {
				return nil, ctxerr.Check(ctx)
			}
			return nil, &RejectedState{k, err}
		}
	}
	return first, nil
}

// RejectedState is the error of a merge: which state does not belong, from 0, and why.
type RejectedState struct {
	State int
	Err   error
}

// Error says why.
func (r *RejectedState) Error() string { return fmt.Sprintf("job: state %d: %v", r.State, r.Err) }

// Unwrap returns why.
func (r *RejectedState) Unwrap() error { return r.Err }

// Finish ends a pass whose shards have all been merged. Of the options it reads Force alone.
func Finish(ctx context.Context, s *State, o Options) (*Outcome, error) {
	if s.Between() {
		return nil, errors.New("job: it is what finish has written already: the next parts begin from it")
	}
	if missing := s.Missing(); len(missing) > 0 {
		return nil, fmt.Errorf("job: %s: no part of that has been merged", are(missing, s.shards))
	}
	if s.spec.Search != nil {
		return choose(ctx, s, o.Force)
	}
	next := &State{spec: s.spec, values: s.values, text: s.text, own: s.own, pass: s.pass + 1, pieces: s.pieces, all: s.all, seen: s.seen}
	if s.pass == 0 {
		return endLook(ctx, s, next)
	}
	whole, err := s.tree.Whole()
	if err != nil {
		return nil, err
	}
	if d, first := whole.(*described); first {
		seen, err := profile.Finish(ctx, d.seen)
		if err == nil {
			next.seen, err = seen.Encode(1 << 20)
		}
		if err != nil {
			return nil, err
		}
		whole = d.learned
	}
	out := &Outcome{Pass: s.pass, Rows: s.all.Rows}
	if next.begun, err = whole.Next(ctx); err != nil {
		return nil, err
	}
	if next.begun != nil {
		out.Next, out.Learns = next, learns(next.begun)
		return out, nil
	}
	return out, makeModel(ctx, next, whole, out)
}
