package experiment

import (
	"bufio"
	"context"
	"time"

	"github.com/bochner-ml/bochner/experiment/result"
)

// Run runs an experiment and writes its outputs into output.dir. A search writes a journal there,
// so that an interrupted run resumes with the same result.
//
// If the directory contains a finished run with other settings or data, Run returns an error unless
// o.Force is set. When ctx ends it returns an error that matches
// ctx.Err() and context.Cause(ctx).
func Run(ctx context.Context, spec Spec, o Options) (result.Result, error) {
	out := newOutputs(spec, false)
	return out.end(ctx, run(ctx, spec, o, out))
}

// run executes the phases of an experiment.
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
		if err := out.folder.Write(candidatesName,
			func(w *bufio.Writer) error { return f.search.WriteCSV(w) }); err != nil {
			return err
		}
	}
	return write(ctx, data, f.model, "spec.yaml", data.spec, out)
}
