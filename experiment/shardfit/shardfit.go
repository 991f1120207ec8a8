// Package shardfit fits one experiment in shards, on any hosts and in any order; it implements
// `bochner shard`.
//
//	spec, err := shardfit.Parse("adult.yaml", text)
//	s, err := shardfit.Fit(ctx, spec, shardfit.Options{Shard: 3, Shards: 64}) // on each worker
//	all, err := shardfit.Merge(ctx, states...)                                // in any order and grouping
//	out, err := all.Finish(ctx, false)                                        // out.Model, or out.Next for the next pass
//
// Pass 0 infers the columns and counts the rows of each file. Later passes fit the steps of the
// pipeline that need data, and finally the estimator. Every pass starts from the outcome of the
// previous one (Options.From).
//
// The result of a shard is a [State], which can be stored in a file. Merge rejects states of other
// experiments, rows or passes, duplicate shards and damaged files. Repeating a shard gives the same
// bytes. Sums are ordered by the rows alone (package distributed), so the model has the same bits
// for any number of shards.
//
// For an experiment with a search, each shard fits its share of the candidates on all rows, and
// Finish completes the run with their scores.
package shardfit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/distributed"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/param"
)

// Parse reads the content of an experiment file with overridden values and reports all errors that prevent a
// sharded fit. It does not read the data. Paths are relative to the directory of file.
func Parse(file string, text []byte, overrides ...config.Override) (config.Spec, error) {
	d := config.Decode(file, text, overrides...)
	if d.Steps {
		d.Errors = append(d.Errors, fieldErrors(d.Spec)...)
	}
	return d.Spec, d.Err()
}

// fieldErrors returns the settings that a sharded fit does not support.
func fieldErrors(s config.Spec) (errs param.FieldErrors) {
	add := func(path string, f param.FieldError) { errs = append(errs, s.Locate(path, f)) }
	if s.Data.Dataset != "" {
		add("data.dataset", param.FieldError{Problem: "a sharded fit requires files", Hint: "use bochner run"})
	}
	if s.Search != nil {
		if s.Search.Coordinate() {
			add("search.strategy", param.FieldError{Problem: "cannot be sharded: candidates depend on the scores of others"})
		}
		if s.Search.Halving.MinResources > 0 {
			add("search.halving", param.FieldError{Problem: "cannot be sharded: a round depends on the scores of all " +
				"candidates"})
		}
		if s.Search.Budget > 0 {
			add("search.budget", param.FieldError{Problem: "cannot be sharded",
				Hint: "limit the candidates by --set search.random=N"})
		}
		return errs
	}
	if s.Data.Split.Test > 0 {
		add("data.split.test", param.FieldError{Problem: "a sharded fit trains on all rows of data.train",
			Hint: "use --set data.split.test=0, and bochner evaluate for a test file"})
	}
	if s.Intervals != nil {
		add("intervals", param.FieldError{Problem: "intervals cannot be sharded", Hint: "remove the section"})
	}
	if s.Data.Gram.Given() {
		add("data.gram", param.FieldError{Problem: "the rows of a Gram matrix cannot be sharded", Hint: "use bochner run"})
	}
	if _, err := s.Pipeline.Start(context.Background(), datasets.Schema{}, 1); errors.Is(err, datasets.ErrNoPasses) {
		add("pipeline", param.FieldError{Problem: config.Problem(err)})
	}
	return errs
}

// Fit processes one shard in one pass.
func Fit(ctx context.Context, spec config.Spec, o Options) (*State, error) {
	if o.Shards < 1 || o.Shards > config.MaxShards || o.Shard < 0 || o.Shard >= o.Shards {
		return nil, fmt.Errorf("shardfit: shard must be 0 ≤ I < N ≤ %[3]d, got %[1]d/%[2]d", o.Shard, o.Shards,
			config.MaxShards)
	}
	if err := fieldErrors(spec).Err(); err != nil {
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
		return nil, param.FieldErrors{spec.Locate("data.sql", param.FieldError{
			Problem: "the rows of a query cannot be sharded",
			Hint:    "pipe a query for each shard as CSV into bochner shard fit --data -"})}
	}
	if s.pass == 0 {
		return s, inspectColumns(ctx, s, o)
	}
	return s, learn(ctx, s, o)
}

// Merge merges states of disjoint shards of one pass. It modifies its arguments, which are invalid
// after an error.
func Merge(ctx context.Context, states ...*State) (*State, error) {
	if len(states) == 0 {
		return nil, errors.New("shardfit: states must not be empty")
	}
	first := states[0]
	for k, o := range states {
		if o.Between() {
			return nil, &RejectedState{k, errors.New("must be the state of a shard, got the output of finish")}
		}
		if k == 0 {
			continue
		}
		if err := first.same(o); err != nil {
			return nil, &RejectedState{k, err}
		}
		for _, i := range o.done {
			if _, twice := slices.BinarySearch(first.done, i); twice {
				return nil, &RejectedState{k, fmt.Errorf("shard %d of %d is already merged: %w", i, first.shards,
					distributed.ErrTwice)}
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

// RejectedState is the error of [Merge] for the state with index State.
type RejectedState struct {
	State int
	Err   error
}

// Error returns the index and the reason.
func (r *RejectedState) Error() string { return fmt.Sprintf("shardfit: state %d: %v", r.State, r.Err) }

// Unwrap returns the reason.
func (r *RejectedState) Unwrap() error { return r.Err }

// Finish completes a pass from the merged states of all shards. With force, a search overwrites the results of a
// different run.
func (s *State) Finish(ctx context.Context, force bool) (*Outcome, error) {
	if s.Between() {
		return nil, errors.New("shardfit: must be merged shards, got the output of finish; pass it to shard fit --from")
	}
	if missing := s.Missing(); len(missing) > 0 {
		return nil, fmt.Errorf("shardfit: %s", are(missing, s.shards))
	}
	if s.spec.Search != nil {
		return choose(ctx, s, force)
	}
	next := &State{spec: s.spec, values: s.values, text: s.text, own: s.own, pass: s.pass + 1, pieces: s.pieces,
		all: s.all, seen: s.seen}
	if s.pass == 0 {
		return finishInspection(ctx, s, next)
	}
	whole, err := s.tree.Whole()
	if err != nil {
		return nil, err
	}
	if d, first := whole.(*profiledPass); first {
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
