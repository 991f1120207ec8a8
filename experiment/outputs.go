package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/experiment/internal/runfolder"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/codec/jsonfloat"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// outputs contains the outputs of a run: its result and its directory.
type outputs struct {
	result  result.Result
	started time.Time
	auto    bool // whether package auto chooses the pipeline
	// comments are those of the experiment file, by name of the member of an ensemble; "" for the pipeline.
	comments map[string]string

	folder *runfolder.Folder // nil before open
}

// newOutputs returns the empty outputs of a new run.
func newOutputs(spec Spec, auto bool) *outputs {
	found := result.Result{Name: spec.Name, Seed: spec.Seed, Versions: Version(), Warnings: []string{}}
	return &outputs{result: found, started: time.Now(), auto: auto}
}

// open creates and locks the directory. Without force it refuses to replace the results of another
// run.
func (out *outputs) open(spec Spec, force bool) (err error) {
	names, other := runOutputs, append(slices.Clone(autoOutputs), autoJournal)
	if out.auto {
		names, other = autoOutputs, runOutputs
	}
	if out.folder, err = runfolder.NewFolder(spec.Output.Dir); errors.Is(err, runfolder.ErrLocked) {
		return fmt.Errorf("experiment: cannot write into %s: %w; wait until it ends, or use another output directory",
			spec.Output.Dir, runfolder.ErrLocked)
	}
	if err != nil {
		return err
	}
	if err := checkOutputs(spec, names, force); err != nil {
		return err
	}
	if out.auto {
		if err := checkExistingAuto(spec, force); err != nil {
			return err
		}
	} else if !force {
		if err := existingRun(spec, out.result); err != nil {
			return err
		}
	}
	if replaced, err := resultIn(spec.Output.Dir); err == nil && out.auto != (replaced.Auto != nil) {
		names = slices.Concat(names, other)
	}
	out.folder.Outputs = names
	return nil
}

// warn adds warnings to the result.
func (out *outputs) warn(strs ...string) {
	out.result.Warnings = append(out.result.Warnings, strs...)
}

// write writes a string as one of the outputs.
func (out *outputs) write(name string, text []byte) error {
	return out.folder.Write(name, func(w *bufio.Writer) error { _, err := w.Write(text); return err })
}

// writeResult writes result.json.
func (out *outputs) writeResult() error {
	text, lost, err := jsonfloat.Marshal(out.result)
	if err == nil && len(lost) > 0 {
		out.warn("result.json: not finite, written as null: " + jsonfloat.Paths(lost))
		text, _, err = jsonfloat.Marshal(out.result)
	}
	if err != nil {
		return err
	}
	return out.write("result.json", append(text, '\n'))
}

// end ends a run with its error and returns its result. It removes the files of a failed run.
func (out *outputs) end(ctx context.Context, err error) (result.Result, error) {
	if out.folder != nil {
		out.folder.Close()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctxerr.Check(ctx)
		}
		out.result = result.Result{}
	}
	return out.result, err
}
