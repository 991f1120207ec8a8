package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/runfolder"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// Report writes report.html into the directory of a finished run and returns its path. It first computes the
// diagnostics that the time limit of [Auto] has left out, if there are any, and adds them to result.json; scores do
// not change. They are those of the model of the training rows: the saved one or, if that has learned from the
// held-out rows, the pipeline of the experiment file, fitted again.
func (o Options) Report(ctx context.Context, folder string) (path string, err error) {
	r, err := ReadRun(folder)
	if err != nil {
		return "", err
	}
	if path = filepath.Join(folder, "report.html"); len(r.LeftOut) > 0 {
		if err := addLeftOut(ctx, folder, r, o); err != nil {
			return "", fmt.Errorf("experiment: cannot complete the report of %s: %w", folder, err)
		}
		return filepath.ToSlash(path), nil
	}
	page, err := reportPage(r)
	if err != nil {
		return "", fmt.Errorf("experiment: cannot write a report of %s: %w; result.json is damaged", folder, err)
	}
	err = files.ReplaceText(path, page)
	return filepath.ToSlash(path), err
}

// addLeftOut computes the left out diagnostics of a run and writes them with its report.
func addLeftOut(ctx context.Context, folder string, r result.Result, o Options) (err error) {
	at, _ := specOf(folder)
	if at == "" {
		return errors.New("it has no experiment file")
	}
	spec, err := Load(ctx, at)
	if err != nil {
		return err
	}
	completed := &outputs{result: r}
	if completed.folder, err = runfolder.NewFolder(folder); err != nil {
		return err
	}
	defer completed.folder.Close()
	dir, err := os.MkdirTemp("", "bochner-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	spec.Output = config.Output{Dir: dir}
	again := newOutputs(spec, false)
	defer again.end(ctx, nil)
	data, err := load(ctx, spec, o, again)
	if err != nil {
		return err
	}
	defer data.end()
	if again.result.SHA256 != r.SHA256 {
		return errors.New("the data files are not those of the run")
	}
	f, err := trainedModel(ctx, folder, data, r, o, again)
	if err != nil {
		return err
	}
	v, err := evaluate(ctx, data, f, o, again)
	if err == nil {
		err = sameScores(again.result, r)
	}
	if err != nil {
		return err
	}
	names := r.LeftOut
	completed.result.LeftOut = nil
	o.Progress.report("report", 0, 0)
	e := examination{data: data, fitted: f, evaluated: v, model: f.model, found: &completed.result}
	if err := e.compute(ctx, names); err != nil {
		return err
	}
	page, err := reportPage(completed.result)
	if err == nil {
		err = completed.write("report.html", page)
	}
	if err == nil {
		err = completed.writeResult()
	}
	if err == nil {
		completed.folder.KeepJournals = true
		_, err = completed.folder.Publish()
	}
	return err
}

// trainedModel returns the model of the training rows of a run, which has the scores in its result.
func trainedModel(ctx context.Context, folder string, data *loaded, r result.Result, o Options, out *outputs) (f fitted,
	err error) {
	if r.Rows.Fitted > 0 {
		f, err = fit(ctx, data, o, out)
	} else {
		var m *opened
		if m, err = openModel(folder); err == nil {
			f.model = m.Predictor
		}
	}
	if r.Auto != nil {
		f.score = r.Auto.Score
	}
	if r.Rows.Judged > 0 {
		f.judged = rowblock.EvenlySpaced(r.Rows.Train, r.Rows.Judged)
	}
	return f, err
}

// sameScores returns an error if the scores of the rows with diagnostics differ from those of the run.
func sameScores(now, then result.Result) error {
	found, want := now.Test, then.Test
	if then.On == "train" {
		found, want = now.Train, then.Train
	}
	for name, v := range want {
		if got := found[name]; math.Abs(got-v) > 1e-6*math.Abs(v) {
			return fmt.Errorf("%s of its model is %v, in result.json %v; run the experiment file instead", name, got, v)
		}
	}
	return nil
}
