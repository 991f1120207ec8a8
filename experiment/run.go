package experiment

import (
	"bufio"
	"context"
	"time"
)

// Run does the whole experiment and writes its outputs into output.dir: all of them at the end, or
// none. A search keeps a journal there while it goes on, so that a run that was stopped takes up
// where it was; the result is the same but for the times.
//
// Where the folder holds a finished run of another spec or of other data, Run does nothing and returns an
// [*ExistingRunError], unless o.Force is set.
//
// It returns an error that matches ctx.Err() and context.Cause(ctx) when the context ends, as soon as the block or iteration at hand is done.
func Run(ctx context.Context, spec Spec, o Options) (Result, error) {
	out := newOutputs(spec, o, false)
	return out.end(ctx, run(ctx, spec, o, out))
}

// run does the phases of an experiment in turn.
func run(ctx context.Context, spec Spec, o Options, out *outputs) error {
	data, err := load(ctx, spec, o, out)
	if err != nil {
		return err
	}
	defer data.end()
	f, err := fit(ctx, data, o, out)
	if err != nil {
		return err
	}
	v, err := evaluate(ctx, data, f, o, out)
	if err != nil {
		return err
	}
	if err := examine(ctx, data, f, v, time.Time{}, o, out); err != nil {
		return err
	}
	o.Progress.report("write", 0, 0)
	if f.search != nil {
		if err := out.folder.Write("cv_results.csv", func(w *bufio.Writer) error { return f.search.WriteCSV(w) }); err != nil {
			return err
		}
	}
	return write(ctx, data, f.model, "spec.yaml", data.spec, out)
}
