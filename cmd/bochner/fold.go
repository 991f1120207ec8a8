package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/distributed/store"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/job"
	"github.com/bochner-ml/bochner/internal/memory"
)

// foldCommand is a fit in parts, which run on any machines.
type foldCommand struct {
	Part   foldPartCommand   `cmd:"" help:"Do one part of one pass over the rows."`
	Merge  foldMergeCommand  `cmd:"" help:"Put the states of parts together."`
	Finish foldFinishCommand `cmd:"" help:"End a pass: write the model, or what the parts of the next pass begin from."`
}

func (foldCommand) Help() string {
	return `Fits the pipeline of an experiment file in parts that run anywhere and in any order; see docs/distributed.md.
Each pass over the rows is a round of parts, a merge and a finish. The first pass looks at the columns; the ones behind it begin --from what finish has written. When finish says that the model is done, that file is the model. Of an experiment with a search there is one round: each part does its share of the fits, and finish is the run that takes up their scores.

Example:
  bochner fold part adult.yaml --shard 0/2 -o 0.state
  bochner fold part adult.yaml --shard 1/2 -o 1.state
  bochner fold merge 0.state 1.state -o all.state
  bochner fold finish all.state -o model.bochner`
}

// shard is one of several, as 3/64.
type shard struct{ index, of int }

// UnmarshalText reads it.
func (s *shard) UnmarshalText(text []byte) error {
	one, all, found := strings.Cut(string(text), "/")
	var err error
	if s.index, err = strconv.Atoi(one); err == nil && found {
		s.of, err = strconv.Atoi(all)
	}
	if !found || err != nil || s.of < 1 || s.of > job.MaxShards || s.index < 0 || s.index >= s.of {
		return fmt.Errorf("shard %q, wanted one such as 0/64 or 63/64, of at most %d: the shards of 64 count from 0", text, job.MaxShards)
	}
	return nil
}

// stateFile is the name of a state or model that is written.
type stateFile string

// UnmarshalText refuses what means standard output elsewhere: a state is done when its file is there, whole.
func (f *stateFile) UnmarshalText(text []byte) error {
	if string(text) == "-" || len(text) == 0 {
		return fmt.Errorf("%q is no file: states and models are not written to standard output", text)
	}
	*f = stateFile(text)
	return nil
}

// check returns an error if writing the file would replace an input.
func (f stateFile) check(inputs ...string) error {
	return experiment.CheckOutput(strings.TrimPrefix(string(f), "file://"), inputs...)
}

type foldPartCommand struct {
	Spec  string                `arg:"" files:"" name:"experiment.yaml" help:"Experiment file."`
	Shard shard                 `required:"" placeholder:"I/N" help:"Which of how many shards of the rows it is, from 0: 3/64."`
	Out   stateFile             `short:"o" required:"" files:"" placeholder:"STATE" help:"File to write what the part has found to."`
	From  string                `files:"" placeholder:"MODEL" help:"What finish has written, of every pass but the first."`
	Data  string                `files:"" placeholder:"FILE" help:"Rows that are the whole of this shard, - for standard input; otherwise it is a share of the rows that data.train names."`
	Set   []experiment.Override `sep:"none" placeholder:"PATH=VALUE" help:"Override a value, the same in every part; may be repeated."`
}

func (foldPartCommand) Help() string {
	return "Example: bochner fold part adult.yaml --shard 3/64 --from model.bochner -o 3.state"
}

func (c foldPartCommand) Run(s *session) error {
	spec, err := job.Load(c.Spec, c.Set...)
	if err != nil {
		return err
	}
	if err := c.Out.check(append([]string{c.Spec, c.From, c.Data}, spec.Data.Train...)...); err != nil {
		return err
	}
	o := job.Options{Shard: c.Shard.index, Shards: c.Shard.of, Data: c.Data}
	if c.From != "" {
		if o.From, err = readState(s.ctx, c.From); err != nil {
			return err
		}
	}
	rows := 0
	progress, _, end := s.progress()
	o.Progress = func(n int) {
		if rows += n; progress != nil {
			progress("load", rows, 0)
		}
	}
	state, err := job.Part(s.ctx, spec, o)
	end()
	if err != nil {
		return err
	}
	if err := writeFile(s.ctx, string(c.Out), state.Write); err != nil {
		return err
	}
	if s.json {
		return s.print(map[string]any{"file": c.Out, "shard": c.Shard.index, "shards": c.Shard.of, "pass": state.Pass(), "rows": rows})
	}
	switch {
	case spec.Search != nil:
		s.say("%s written: shard %d of %d of the search, %d fits\n", c.Out, c.Shard.index, c.Shard.of, rows)
	default:
		s.say("%s written: shard %d of %d, %s, %d rows\n", c.Out, c.Shard.index, c.Shard.of, nameOfPass(state.Pass()), rows)
	}
	return nil
}

// nameOfPass says which pass it is.
func nameOfPass(k int) string {
	if k == 0 {
		return "the look at the columns"
	}
	return fmt.Sprintf("pass %d", k)
}

type foldMergeCommand struct {
	States []string  `arg:"" files:"" name:"state" help:"States of parts, or of merges; one that ends in * stands for all that begin so."`
	Out    stateFile `short:"o" required:"" files:"" placeholder:"STATE" help:"File to write."`
}

func (foldMergeCommand) Help() string {
	return "Example: bochner fold merge 0.state 1.state 2.state -o all.state"
}

func (c foldMergeCommand) Run(s *session) error {
	names, err := store.Expand(s.ctx, stores, c.States)
	if err != nil {
		return err
	}
	if err := c.Out.check(names...); err != nil {
		return err
	}
	merged, err := mergeStates(s.ctx, names)
	if err != nil {
		return err
	}
	if err := writeFile(s.ctx, string(c.Out), merged.Write); err != nil {
		return err
	}
	missing := merged.Missing()
	if s.json {
		return s.print(map[string]any{"file": c.Out, "pass": merged.Pass(), "missing": append([]int{}, missing...)})
	}
	if len(missing) > 0 {
		s.say("%s written: %d shards are missing yet\n", c.Out, len(missing))
	} else {
		s.say("%s written: all shards are in it\n", c.Out)
	}
	return nil
}

// mergeStates reads states one after the other, so that two are in memory at once.
func mergeStates(ctx context.Context, files []string) (merged *job.State, err error) {
	for k, name := range files {
		next, err := readState(ctx, name)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			if merged, err = job.Merge(ctx, next); err != nil {
				return nil, refused(err, files[:1])
			}
			continue
		}
		if merged, err = job.Merge(ctx, merged, next); err != nil {
			return nil, refused(err, []string{files[0], name})
		}
	}
	return merged, nil
}

// refused says which file a merge has refused.
func refused(err error, files []string) error {
	var r *job.RejectedState
	if errors.As(err, &r) {
		return fmt.Errorf("%s: %w", files[r.State], r.Err)
	}
	return err
}

type foldFinishCommand struct {
	State []string  `arg:"" files:"" name:"state" help:"State of all shards; several are merged first, and one that ends in * stands for all that begin so."`
	Out   stateFile `short:"o" required:"" files:"" placeholder:"MODEL" help:"File to write: the model, or what the parts of the next pass begin from."`
	Force bool      `short:"f" help:"Replace the results of another run in output.dir, after a search."`
}

func (foldFinishCommand) Help() string {
	return "Example: bochner fold finish all.state -o model.bochner --json"
}

func (c foldFinishCommand) Run(s *session) error {
	names, err := store.Expand(s.ctx, stores, c.State)
	if err != nil {
		return err
	}
	if err := c.Out.check(names...); err != nil {
		return err
	}
	state, err := mergeStates(s.ctx, names)
	if err != nil {
		return err
	}
	out, err := job.Finish(s.ctx, state, job.Options{Force: c.Force})
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return out.Model.Write(w) }
	if out.Next != nil {
		write = out.Next.Write
	}
	if err := writeFile(s.ctx, string(c.Out), write); err != nil {
		return err
	}
	if s.json {
		return s.print(map[string]any{"file": c.Out, "done": out.Model != nil, "pass": out.Pass, "rows": out.Rows, "learns": out.Learns, "warnings": append([]string{}, out.Warnings...)})
	}
	for _, text := range out.Warnings {
		s.say("warning: %s\n", text)
	}
	switch {
	case out.Result != nil:
		s.say("%s written: the model that the search has chosen of %d candidates; what a run writes is in %s\n", c.Out, out.Result.Search.Candidates, filepath.Dir(out.Result.Files[0]))
	case out.Model != nil:
		s.say("%s written: the model, after %s over %d rows\n", c.Out, passes(out.Pass), out.Rows)
	case len(out.Again) > 0:
		s.say("%s written: %s text in some shards and numbers in others; go on with a round of parts --from %s, which looks at the columns again\n", c.Out, columnsAre(out.Again), c.Out)
	default:
		s.say("%s written: %s is done; go on with a round of parts --from %s for pass %d, which is for %s\n", c.Out, nameOfPass(out.Pass), c.Out, out.Next.Pass(), out.Learns)
	}
	return nil
}

func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}

func columnsAre(names []string) string {
	if len(names) == 1 {
		return "column " + names[0] + " is"
	}
	return "columns " + strings.Join(names, ", ") + " are"
}

// readState reads the state of a part, of a merge, or of a finish.
func readState(ctx context.Context, name string) (*job.State, error) {
	content, err := readFile(ctx, name)
	if err != nil {
		return nil, err
	}
	state, err := job.Read(bytes.NewReader(content), int64(len(content)))
	if errors.Is(err, job.ErrNoState) {
		return nil, fmt.Errorf("%s: it is not what a part, a merge or a finish has written; a finished model needs no more parts", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return state, nil
}

// readFile returns what is in a file.
func readFile(ctx context.Context, name string) ([]byte, error) {
	file, err := stores.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	content, err := memory.ReadAll(file)
	return content, errors.Join(err, file.Close())
}

// writeFile makes a file, all of it or nothing.
func writeFile(ctx context.Context, name string, write func(w io.Writer) error) error {
	return stores.Write(ctx, name, write)
}
