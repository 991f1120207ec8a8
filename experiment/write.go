package experiment

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// writeModel writes the model and the experiment file under the given name.
func writeModel(data *loaded, model estimator.Predictor, name string, spec Spec, out *outputs) error {
	if err := out.folder.Write(files.ModelName, func(w *bufio.Writer) error {
		return saveModel(w, data, model, out.result)
	}); err != nil {
		return err
	}
	encode := spec.Encode
	if out.auto { // a file to continue from
		encode = func(file string) ([]byte, error) { return spec.EncodeBrief(file, out.comments) }
	}
	resolved, err := encode(filepath.Join(data.spec.Output.Dir, name))
	if err != nil {
		return err
	}
	out.result.Members = membersOf(model)
	out.result.Spec, out.result.Diagram = string(resolved), diagram(spec.Pipeline, out.result.Search)
	return out.write(name, resolved)
}

// write writes the remaining outputs and moves all of them into the output directory.
func write(ctx context.Context, data *loaded, model estimator.Predictor, name string, spec Spec, out *outputs) error {
	if err := writeModel(data, model, name, spec, out); err != nil {
		return err
	}
	found := &out.result
	found.Memory = memory.Peak()
	found.Seconds.Total = time.Since(out.started).Seconds()
	if data.spec.Report.HTML {
		page, err := reportPage(*found)
		if err != nil {
			out.warn("cannot write report.html: " + err.Error())
		} else if err := out.write("report.html", page); err != nil {
			return err
		}
	}
	if err := out.writeResult(); err != nil {
		return err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	var err error
	found.Files, err = out.folder.Publish()
	return err
}

// saveModel writes the model file.
func saveModel(w io.Writer, data *loaded, model estimator.Predictor, found result.Result) error {
	m, err := modelfile.New(model)
	if err != nil {
		return err
	}
	scores := map[string]float64{}
	for part, list := range map[string]map[string]float64{"train.": found.Train, "test.": found.Test} {
		for name, v := range list {
			if v-v == 0 { // JSON has no other numbers
				scores[part+name] = v
			}
		}
	}
	pass, err := data.spec.Data.Encode()
	if err != nil {
		return err
	}
	if data.Task.Unsupervised() {
		m.Schema.Targets = data.Train.Schema().Targets // which the fit has not seen
	}
	m.Name, m.Task, m.Metrics, m.Reading = data.spec.Name, data.Task, scores, pass
	if found.Rows.Fitted > 0 {
		m.ScoredRows, m.FittedRows = found.Rows.Train, found.Rows.Fitted
	}
	m.Versions, m.Profile = map[string]string{"bochner": found.Versions.Bochner}, found.Profile
	return m.Write(w)
}
