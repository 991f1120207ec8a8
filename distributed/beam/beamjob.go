// Package beamjob fits the pipeline of a Bochner experiment file on Apache Beam: on prism, Flink,
// Dataflow and other runners.
//
//	p, s := beam.NewPipelineWithRoot()
//	model := beamjob.Fit(s, beamjob.Job{
//		Spec: text, File: "gs://rows/adult.yaml", Shards: 64, Store: "gs://jobs/adult", Passes: 10})
//	err := beamx.Run(ctx, p)
//
// It implements the operations of package experiment/shardfit as a graph. A pass over the
// rows is a stage of one element for each shard, stages that merge 16 states into one until one
// is left, and a final stage; the next pass waits for the name of its result:
//
//	shards ─▶ part ─▶ by 16 ─▶ merge ─▶ by 16 ─▶ merge ─▶ finish ─▶ model of the pass ─┐
//	shards ─▶ part ◀── side input ─────────────────────────────────────────────────────┘
//
// Tasks write their states to a store, a directory or a URL that all hosts can access, and pass on
// names: sums are never elements of Beam's collections. A name contains the experiment, the pass,
// the shards and their initial state, and equal work writes equal bytes. A bundle that is repeated,
// or run on two hosts, therefore changes nothing, and a new run of the pipeline resumes from the
// store.
//
// Beam's graphs have no loops, so a [Job] declares the maximum number of passes; unneeded ones pass
// on the model. The model has the same bits as that of `bochner shard` on the same rows, for any
// number of shards.
package beamjob

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/shardfit"
)

// init registers the steps by their types. The generic functions of Beam's package register save some reflection for an
// element, of which there are a few for each shard, and take the compiler a minute.
func init() {
	for _, step := range []any{partFn{}, keyFn{}, mergeFn{}, finishFn{}, doneFn{}} {
		beam.RegisterType(reflect.TypeOf(step))
	}
	beam.RegisterType(reflect.TypeOf(State{}))
	beam.RegisterType(reflect.TypeOf(Round{}))
}

// fanIn is the number of states that a task merges into one.
const fanIn = 16

// Job describes a fit.
type Job struct {
	Spec   string   // text of the experiment file
	File   string   // path of the experiment file; data.train is relative to its directory
	Set    []string // "rff.gamma=0.1": values of the file that are replaced
	Shards int      // into how many the rows are cut
	Store  string   // directory or URL of states and the model, accessible from all workers
	Model  string   // name of the model to write; "" is model.bochner in Store
	Passes int      // maximum number of passes over the rows, including the schema pass
}

// repetitions is the number of times that each part is computed. Tests set it to simulate runners that
// retry bundles.
var repetitions = 1

// Round is the result of a pass.
type Round struct {
	From string // name of the state that the next pass starts from, or of the model; "" before the first pass
	Done bool   // whether From is the model
	Pass int    // passes so far
}

// State names the stored state of one or several parts.
type State struct {
	Index int
	Name  string
	Round Round // round that they started from
}

// errPasses is the error of a fit that needs more passes than [Job.Passes]. The finished passes are
// in the store, and the same job with more passes resumes.
var errPasses = errors.New("the fit requires more passes than the job allows")

// Fit adds the fit of a job to a pipeline. It returns a collection of one element, the name of the model, or panics
// where the job cannot be done, as Beam's own transforms do: call [Job.Check] before.
func Fit(s beam.Scope, j Job) beam.PCollection {
	if err := j.Check(); err != nil {
		panic(err)
	}
	s = s.Scope("bochner.Fit")
	var shards []int
	for i := range j.Shards {
		shards = append(shards, slices.Repeat([]int{i}, repetitions)...)
	}
	round := beam.Create(s, Round{})
	for k := range j.Passes {
		pass := s.Scope(fmt.Sprintf("pass %d", k))
		all := beam.Reshuffle(pass, beam.CreateList(pass, shards))
		states := beam.ParDo(pass, &partFn{Job: j}, all, beam.SideInput{Input: round})
		for n := j.Shards; ; {
			groups := beam.GroupByKey(pass, beam.ParDo(pass, &keyFn{}, states))
			states = beam.ParDo(pass, &mergeFn{Job: j}, groups)
			if n = (n + fanIn - 1) / fanIn; n == 1 {
				break
			}
		}
		round = beam.ParDo(pass, &finishFn{Job: j}, states)
	}
	return beam.ParDo(s, &doneFn{Passes: j.Passes}, round)
}

// Check returns the errors of a job and of its experiment.
func (j Job) Check() error {
	switch {
	case j.Shards < 1:
		return fmt.Errorf("beamjob: %d shards", j.Shards)
	case j.Passes < 2:
		return fmt.Errorf("beamjob: Passes must be ≥ 2, one for the schema and at least one for the fit, got %d", j.Passes)
	case j.Store == "":
		return errors.New("beamjob: no store")
	}
	_, err := j.spec()
	return err
}

func (j Job) spec() (experiment.Spec, error) {
	var set []experiment.Override
	for _, text := range j.Set {
		var o experiment.Override
		if err := o.UnmarshalText([]byte(text)); err != nil {
			return experiment.Spec{}, fmt.Errorf("beamjob: %w", err)
		}
		set = append(set, o)
	}
	return shardfit.Parse(j.File, []byte(j.Spec), set...)
}

// name returns the name of a state, unique to the job, the state it starts from, and its shard or
// group.
func (j Job) name(round Round, level string, index int) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %d %q", j.Spec, j.File, j.Set, j.Shards, round.From)
	return fmt.Sprintf("%s/%s/pass-%d/%s-%d.state", j.Store, hex.EncodeToString(h.Sum(nil)[:8]), round.Pass, level, index)
}

// partFn does the part of a shard.
type partFn struct{ Job Job }

// ProcessElement fits the part of a shard and returns its state.
func (f *partFn) ProcessElement(ctx context.Context, shard int, round Round) (State, error) {
	out := State{shard, f.Job.name(round, "part", shard), round}
	if round.Done || exists(ctx, out.Name) {
		return out, nil
	}
	spec, err := f.Job.spec()
	if err != nil {
		return out, err
	}
	o := shardfit.Options{Shard: shard, Shards: f.Job.Shards}
	if round.From != "" {
		if o.From, err = readState(ctx, round.From); err != nil {
			return out, err
		}
	}
	part, err := shardfit.Fit(ctx, spec, o)
	if err != nil {
		return out, err
	}
	log.Infof(ctx, "bochner: shard %d of %d of pass %d is done", shard, f.Job.Shards, round.Pass)
	return out, writeFile(ctx, out.Name, part.Write)
}

// keyFn groups neighboring shards.
type keyFn struct{}

// ProcessElement returns a state with the number of its group.
func (keyFn) ProcessElement(s State, emit func(int, State)) { emit(s.Index/fanIn, s) }

// mergeFn merges the states of a group.
type mergeFn struct{ Job Job }

// ProcessElement merges the states of a group and returns the result.
func (f *mergeFn) ProcessElement(ctx context.Context, group int, next func(*State) bool) (State, error) {
	var list []State
	for s := (State{}); next(&s); {
		list = append(list, s)
	}
	// Remove duplicates: a runner may emit the results of a bundle that it has retried.
	slices.SortFunc(list, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Name, b.Name))
	})
	list = slices.Compact(list)
	names := sha256.New()
	for _, s := range list {
		fmt.Fprintf(names, "%q\n", s.Name)
	}
	out := State{group, f.Job.name(list[0].Round, "merge-"+hex.EncodeToString(names.Sum(nil)[:6]), group), list[0].Round}
	if out.Round.Done || exists(ctx, out.Name) {
		return out, nil
	}
	var merged *shardfit.State
	for k, s := range list {
		read, err := readState(ctx, s.Name)
		if err == nil && k > 0 {
			merged, err = shardfit.Merge(ctx, merged, read)
		} else {
			merged = read
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return out, writeFile(ctx, out.Name, merged.Write)
}

// finishFn ends a pass.
type finishFn struct{ Job Job }

// ProcessElement ends the pass and returns its round.
func (f *finishFn) ProcessElement(ctx context.Context, all State) (Round, error) {
	if all.Round.Done {
		return all.Round, nil
	}
	merged, err := readState(ctx, all.Name)
	if err != nil {
		return Round{}, err
	}
	out, err := merged.Finish(ctx, false)
	if err != nil {
		return Round{}, err
	}
	round := Round{Pass: all.Round.Pass + 1, Done: out.Model != nil}
	for _, text := range out.Warnings {
		log.Warnf(ctx, "bochner: %s", text)
	}
	if !round.Done {
		round.From = f.Job.name(all.Round, "next", 0)
		return round, writeFile(ctx, round.From, out.Next.Write)
	}
	round.From = cmp.Or(f.Job.Model, f.Job.Store+"/model.bochner")
	return round, writeFile(ctx, round.From, out.Model.Write)
}

// doneFn outputs the name of the model.
type doneFn struct{ Passes int }

// ProcessElement returns its name.
func (f *doneFn) ProcessElement(ctx context.Context, last Round) (string, error) {
	if !last.Done {
		return "", fmt.Errorf("beamjob: %w: %d; completed passes are in the store; run the job again to continue", errPasses,
			f.Passes)
	}
	log.Infof(ctx, "bochner: %s is the model, after %d passes", last.From, last.Pass)
	return last.From, nil
}

// exists reports whether a state exists. Files are complete or absent; a damaged one is computed
// again.
func exists(ctx context.Context, name string) bool {
	_, err := readState(ctx, name)
	return err == nil
}
