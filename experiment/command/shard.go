package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/shardfit"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/internal/runtime/store"
)

// shardCommand is a sharded fit: its steps run as separate processes, on any hosts.
type shardCommand struct {
	Fit    shardFitCommand    `cmd:"" help:"Process one shard of the rows in one pass."`
	Merge  shardMergeCommand  `cmd:"" help:"Merge the states of several shards."`
	Finish shardFinishCommand `cmd:"" help:"Complete a pass: write the model or the state that the next pass starts from."`
}

func (shardCommand) Help() string {
	return `Fits an experiment on several hosts; see docs/distributed.md.
Each pass over the rows runs "fit" once for each shard, optionally "merge", and "finish" once. The first pass infers
the columns. Later passes start --from the file that finish wrote. Finish reports when this file is the final model.
An experiment with a search takes a single pass: each shard runs its share of the fits, and finish completes the run
with their scores.

Example:
  bochner shard fit adult.yaml --shard 0/2 -o 0.state
  bochner shard fit adult.yaml --shard 1/2 -o 1.state
  bochner shard merge 0.state 1.state -o all.state
  bochner shard finish all.state -o model.bochner`
}

// shard is the index of a shard and the number of shards, such as 3/64.
type shard struct{ index, of int }

// UnmarshalText parses I/N.
func (s *shard) UnmarshalText(text []byte) error {
	one, all, found := strings.Cut(string(text), "/")
	var err error
	if s.index, err = strconv.Atoi(one); err == nil && found {
		s.of, err = strconv.Atoi(all)
	}
	if !found || err != nil || s.of < 1 || s.of > config.MaxShards || s.index < 0 || s.index >= s.of {
		return fmt.Errorf("must be I/N with 0 ≤ I < N ≤ %d, such as 0/64 or 63/64, got %q", config.MaxShards, text)
	}
	return nil
}

// stateFile is the name of an output file for a state or model.
type stateFile string

// UnmarshalText rejects -, which means standard output elsewhere: schedulers rely on a complete file.
func (f *stateFile) UnmarshalText(text []byte) error {
	if string(text) == "-" || len(text) == 0 {
		return fmt.Errorf("must be a file name, got %q: states and models cannot be written to standard output", text)
	}
	*f = stateFile(text)
	return nil
}

// check returns an error if the file cannot be written, or would replace an input.
func (s *session) check(f stateFile, inputs ...string) error {
	if err := s.Stores.Check(string(f)); err != nil {
		return err
	}
	return rowfile.CheckOutput(strings.TrimPrefix(string(f), "file://"), inputs...)
}

type shardFitCommand struct {
	Spec  string                `arg:"" files:"" name:"experiment.yaml" help:"Experiment file."`
	Shard shard                 `required:"" placeholder:"I/N" help:"Index of the shard, from 0, and number of shards, such as 3/64."`
	Out   stateFile             `short:"o" required:"" files:"" placeholder:"STATE" help:"File to write the state of the shard to."`
	From  string                `files:"" placeholder:"MODEL" help:"Output of finish of the previous pass; required for all passes but the first."`
	Data  string                `files:"" placeholder:"FILE" help:"File with exactly the rows of this shard, - for standard input. Default: a share of the rows of data.train."`
	Set   []experiment.Override `sep:"none" placeholder:"PATH=VALUE" help:"Override a value, the same for every shard; may be repeated."`
}

func (shardFitCommand) Help() string {
	return "Example: bochner shard fit adult.yaml --shard 3/64 --from model.bochner -o 3.state"
}

func (c shardFitCommand) Run(s *session) error {
	text, err := config.ReadText(c.Spec)
	if err != nil {
		return err
	}
	spec, err := shardfit.Parse(c.Spec, text, c.Set...)
	if err != nil {
		return err
	}
	if err := s.check(c.Out, append([]string{c.Spec, c.From, c.Data}, spec.Data.Train...)...); err != nil {
		return err
	}
	o := shardfit.Options{Shard: c.Shard.index, Shards: c.Shard.of, Data: c.Data}
	if c.From != "" {
		if o.From, err = s.readState(c.From); err != nil {
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
	state, err := shardfit.Fit(s.ctx, spec, o)
	end()
	if err != nil {
		return err
	}
	if err := s.Stores.Write(s.ctx, string(c.Out), state.Write); err != nil {
		return err
	}
	if s.json {
		return s.print(map[string]any{"file": c.Out, "shard": c.Shard.index, "shards": c.Shard.of, "pass": state.Pass(),
			"rows": rows})
	}
	if spec.Search != nil {
		s.printf("%s written: shard %d of %d of the search, %d fits\n", c.Out, c.Shard.index, c.Shard.of, rows)
	} else {
		s.printf("%s written: shard %d of %d, %s, %d rows\n", c.Out, c.Shard.index, c.Shard.of, passName(state.Pass()), rows)
	}
	return nil
}

// passName names a pass; pass 0 infers the columns.
func passName(k int) string {
	if k == 0 {
		return "pass 0 (columns)"
	}
	return fmt.Sprintf("pass %d", k)
}

type shardMergeCommand struct {
	States []string  `arg:"" files:"" name:"state" help:"States of shards or merged states; STATE* matches all with this prefix."`
	Out    stateFile `short:"o" required:"" files:"" placeholder:"STATE" help:"File to write."`
}

func (shardMergeCommand) Help() string {
	return "Example: bochner shard merge 0.state 1.state 2.state -o all.state"
}

func (c shardMergeCommand) Run(s *session) error {
	merged, err := s.mergeStates(c.States, c.Out)
	if err != nil {
		return err
	}
	if err := s.Stores.Write(s.ctx, string(c.Out), merged.Write); err != nil {
		return err
	}
	missing := merged.Missing()
	if s.json {
		return s.print(map[string]any{"file": c.Out, "pass": merged.Pass(), "missing": append([]int{}, missing...)})
	}
	if len(missing) > 0 {
		s.printf("%s written: %d shards missing\n", c.Out, len(missing))
	} else {
		s.printf("%s written: all shards merged\n", c.Out)
	}
	return nil
}

// mergeStates merges the states that the patterns match; out must be none of them. It reads the
// states sequentially; at most two are in memory.
func (s *session) mergeStates(patterns []string, out stateFile) (merged *shardfit.State, err error) {
	files, err := store.Expand(s.ctx, s.Stores, patterns)
	if err != nil {
		return nil, err
	}
	if err := s.check(out, files...); err != nil {
		return nil, err
	}
	for k, name := range files {
		next, err := s.readState(name)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			if merged, err = shardfit.Merge(s.ctx, next); err != nil {
				return nil, mergeError(err, files[:1])
			}
			continue
		}
		if merged, err = shardfit.Merge(s.ctx, merged, next); err != nil {
			return nil, mergeError(err, []string{files[0], name})
		}
	}
	return merged, nil
}

// mergeError adds the name of the rejected file to an error of a merge.
func mergeError(err error, files []string) error {
	var r *shardfit.RejectedState
	if errors.As(err, &r) {
		return fmt.Errorf("%s: %w", files[r.State], r.Err)
	}
	return err
}

type shardFinishCommand struct {
	State []string  `arg:"" files:"" name:"state" help:"State of all shards; several states are merged first, and STATE* matches all with this prefix."`
	Out   stateFile `short:"o" required:"" files:"" placeholder:"MODEL" help:"File to write: the model or the state that the next pass starts from."`
	Force bool      `short:"f" help:"After a search: overwrite the results of a different run in output.dir."`
}

func (shardFinishCommand) Help() string {
	return "Example: bochner shard finish all.state -o model.bochner --json"
}

func (c shardFinishCommand) Run(s *session) error {
	state, err := s.mergeStates(c.State, c.Out)
	if err != nil {
		return err
	}
	out, err := state.Finish(s.ctx, c.Force)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return out.Model.Write(w) }
	if out.Next != nil {
		write = out.Next.Write
	}
	if err := s.Stores.Write(s.ctx, string(c.Out), write); err != nil {
		return err
	}
	if s.json {
		return s.print(map[string]any{"file": c.Out, "done": out.Model != nil, "pass": out.Pass, "rows": out.Rows,
			"learns": out.Learns, "warnings": append([]string{}, out.Warnings...)})
	}
	for _, text := range out.Warnings {
		s.printf("warning: %s\n", text)
	}
	switch {
	case out.Result != nil:
		s.printf("%s written: best model of %d candidates; the outputs of the run are in %s\n", c.Out,
			out.Result.Search.Candidates, filepath.Dir(out.Result.Files[0]))
	case out.Model != nil:
		s.printf("%s written: final model, %s over %d rows\n", c.Out, passes(out.Pass), out.Rows)
	case len(out.Again) > 0:
		s.printf("%s written: %s not numeric in all shards; repeat pass 0 with shard fit --from %s\n", c.Out,
			columnsAre(out.Again), c.Out)
	default:
		s.printf("%s written: %s complete; continue with shard fit --from %s: pass %d fits %s\n", c.Out, passName(out.Pass),
			c.Out, out.Next.Pass(), out.Learns)
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

// readState reads a file that shard fit, merge or finish wrote.
func (s *session) readState(name string) (*shardfit.State, error) {
	content, err := s.readFile(name)
	if err != nil {
		return nil, err
	}
	state, err := shardfit.Read(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return state, nil
}

// readFile returns the content of a file or URL.
func (s *session) readFile(name string) ([]byte, error) {
	file, err := s.Stores.Read(s.ctx, name)
	if err != nil {
		return nil, err
	}
	content, err := memory.ReadAll(file)
	return content, errors.Join(err, file.Close())
}
