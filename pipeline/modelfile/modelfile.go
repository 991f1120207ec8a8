// Package modelfile keeps a fitted pipeline in a file, with its spec as YAML, the schema of its inputs
// and what else is worth keeping, and reads it back:
//
//	m, err := modelfile.New(fitted)
//	err = m.Save("model.bochner")
//	…
//	m, err = modelfile.Load("model.bochner")
//	rows, err := m.Align(data)
//	values, err := m.Predictor.Predict(ctx, rows.X)
package modelfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/files"
	"github.com/bochner-ml/bochner/internal/profile"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/yaml"
)

// Model is the content of a model file: a fitted pipeline with its metadata.
type Model struct {
	Name      string
	Task      datasets.Task       // task of the model
	Schema    datasets.Schema     // schema of the training rows; may include targets of an unsupervised model
	Predictor estimator.Predictor // result of [pipeline.Pipeline.Fit]
	Metrics   map[string]float64  // scores, as "test.accuracy"
	Reading   string              // format of data files, defined by the program that wrote the model; may be empty
	Versions  map[string]string   // of the programs that made it; Save adds Go's
	Profile   *profile.Profile    // of the rows it was fitted to; may be nil
}

// New returns the model of a fitted pipeline: the result of [pipeline.Pipeline.Fit], or of a search
// over pipelines. Spec and schema are those of the fit.
func New(fitted estimator.Predictor) (*Model, error) {
	p := fittedPipeline(fitted)
	if p == nil {
		return nil, fmt.Errorf("pipeline: %T is no fitted pipeline", fitted)
	}
	return &Model{Task: taskOf(p), Schema: p.InputSchema(), Predictor: p}, nil
}

// fittedPipeline returns the pipeline that p is or wraps, as the result of a search does. A wrapper
// with state of its own predicts differently and is not unwrapped.
func fittedPipeline(p estimator.Predictor) *pipeline.FittedPipeline {
	for {
		if f, ok := p.(*pipeline.FittedPipeline); ok {
			return f
		}
		w, ok := p.(estimator.Wrapper)
		if _, keeps := p.(model.Stateful); !ok || keeps {
			return nil
		}
		p, _ = w.Unwrap()
	}
}

// taskOf returns the task of the model.
func taskOf(p *pipeline.FittedPipeline) datasets.Task {
	if task := share.TaskOf(p.Spec()); task.Unsupervised() {
		return task
	}
	_, last := p.Model()
	if estimator.OutputsOf(last).Classes != nil {
		return datasets.Classification
	}
	return datasets.Regression
}

// Spec returns the pipeline that was fitted, and the zero pipeline where the predictor is none.
func (m *Model) Spec() pipeline.Pipeline {
	if p := pipeline.Find(m.Predictor); p != nil {
		return p.Spec()
	}
	return pipeline.Pipeline{}
}

// Save writes the model to a file at path atomically. Equal models give equal bytes.
func (m *Model) Save(path string) error {
	return files.Replace(path, func(w *bufio.Writer) error { return m.Write(w) })
}

// Write writes the model.
func (m *Model) Write(w io.Writer) error {
	fitted := pipeline.Find(m.Predictor)
	if fitted == nil {
		return fmt.Errorf("pipeline: %T is no fitted pipeline", m.Predictor)
	}
	if err := m.agrees(fitted); err != nil {
		return fmt.Errorf("pipeline: %w; start from modelfile.New", err)
	}
	spec, err := yaml.Marshal(fitted.Spec())
	if err != nil {
		return err
	}
	state, err := model.Record(fitted)
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	h := model.Header{
		Name: m.Name, Task: string(m.Task), Spec: string(spec), Metrics: m.Metrics,
		Reading: m.Reading, Columns: columnsOut(m.Schema.Columns), Targets: columnsOut(m.Schema.Targets),
		Classes: m.Schema.Classes(), Missing: m.Schema.Missing,
		Versions: map[string]string{"go": runtime.Version()},
	}
	for name, version := range m.Versions {
		h.Versions[name] = version
	}
	if h.Profile, err = m.profileText(fitted); err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	return model.Write(w, h, state)
}

// maxProfile is the maximum size of the profile in bytes, enough for a thousand columns.
const maxProfile = 1 << 20

// profileText encodes the profile with as many columns as fit, and checks that it can be decoded.
func (m *Model) profileText(fitted *pipeline.FittedPipeline) (string, error) {
	if m.Profile == nil {
		return "", nil
	}
	seen := *m.Profile
	if len(m.Schema.Targets) == 0 {
		seen.Targets = nil // the fit has not used them
	}
	text, err := seen.Encode(maxProfile)
	if err == nil {
		_, err = profile.Decode(text, m.Schema, fitted.InputWidth())
	}
	return text, err
}

// Load reads the model from the file at path, or from the directory of a run. Custom steps must be
// registered first. For a file that is damaged, truncated or not a model file, the error wraps
// [model.ErrDamaged]; for one of a later version, [model.ErrNewer].
func Load(path string) (*Model, error) {
	path, err := files.Model(path)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	h, state, err := model.ReadFile(path)
	if errors.Is(err, model.ErrDamaged) {
		if what := files.KindOf(path); what != "" && what != files.ModelKind {
			return nil, fmt.Errorf("pipeline: %w: %s is %s; give a file that a fit has written, such as %s",
				model.ErrDamaged, path, what, files.ModelName)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	m, err := restore(h, state)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %s: %w", path, err)
	}
	return m, nil
}

// Read is Load from memory or an open file of the given size.
func Read(r io.ReaderAt, size int64) (*Model, error) {
	h, state, err := model.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	m, err := restore(h, state)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return m, nil
}

// restore returns the model with the content of a file.
func restore(h model.Header, state *model.Archive) (*Model, error) {
	if datasets.Task(h.Task).Check() != nil {
		return nil, fmt.Errorf("%w: it is %s, not a model", model.ErrDamaged, h.Task)
	}
	m := &Model{Name: h.Name, Task: datasets.Task(h.Task), Metrics: h.Metrics, Reading: h.Reading, Versions: h.Versions}
	spec, err := yaml.Unmarshal([]byte(h.Spec), yaml.Origin{Path: "spec"})
	if err != nil {
		return nil, fmt.Errorf("%w: its spec: %w", model.ErrDamaged, err)
	}
	if m.Schema.Columns, err = columnsIn(h.Columns); err == nil {
		m.Schema.Targets, err = columnsIn(h.Targets)
	}
	m.Schema.Missing = h.Missing
	if err == nil {
		m.Predictor, err = pipeline.Restore(spec, h.Missing, state)
	}
	if err == nil {
		err = m.agrees(pipeline.Find(m.Predictor))
	}
	if err == nil && h.Profile != "" {
		m.Profile = new(profile.Profile)
		*m.Profile, err = profile.Decode(h.Profile, m.Schema, pipeline.Find(m.Predictor).InputWidth())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return m, m.try()
}

// agrees returns an error if the fields of the model contradict its fitted pipeline.
func (m *Model) agrees(fitted *pipeline.FittedPipeline) error {
	task := taskOf(fitted)
	switch in := fitted.InputSchema(); {
	case m.Task != datasets.AnyTask && m.Task != task:
		return fmt.Errorf("the task is %s, the model is for %s", m.Task, task)
	case len(m.Schema.Columns) != len(in.Columns):
		return fmt.Errorf("it names %d columns of %d", len(m.Schema.Columns), fitted.InputWidth())
	case !slices.EqualFunc(m.Schema.Columns, in.Columns, sameColumn):
		return errors.New("the columns are not those of the fitted pipeline")
	case !(task.Unsupervised() && len(in.Targets) == 0) && !slices.EqualFunc(m.Schema.Targets, in.Targets, sameColumn):
		return errors.New("the targets are not those of the fitted pipeline")
	}
	return nil
}

func sameColumn(a, b datasets.Column) bool {
	return a.Name == b.Name && a.Kind == b.Kind && slices.Equal(a.Categories, b.Categories)
}

// try predicts one row of zeros: steps that do not fit together are found now and not later.
func (m *Model) try() error {
	var X mat.Matrix = zeros(pipeline.Find(m.Predictor).InputWidth())
	if cols := int(X.(zeros)); cols <= model.UncheckedCount {
		X = pick.Blank(m.Schema, cols)
	}
	if _, err := m.Predictor.Predict(context.Background(), X); err != nil {
		return fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return nil
}

// zeros is a row of zeros that takes no memory.
type zeros int

// Dims returns 1 and the number of columns.
func (z zeros) Dims() (rows, cols int) { return 1, int(z) }

// At returns 0.
func (z zeros) At(i, j int) float64 { return 0 }

// T returns the column of zeros.
func (z zeros) T() mat.Matrix { return mat.Transpose{Matrix: z} }

func columnsOut(columns []datasets.Column) []model.Column {
	var out []model.Column
	for _, c := range columns {
		out = append(out, model.Column{Name: c.Name, Kind: c.Kind.String(), Levels: c.Categories})
	}
	return out
}

func columnsIn(columns []model.Column) ([]datasets.Column, error) {
	var out []datasets.Column
	for _, c := range columns {
		kind := datasets.Numeric
		switch c.Kind {
		case "numeric":
		case "categorical":
			kind = datasets.Categorical
		case "text":
			kind = datasets.Text
		default:
			return nil, fmt.Errorf("column %q is of kind %q", c.Name, c.Kind)
		}
		out = append(out, datasets.Column{Name: c.Name, Kind: kind, Categories: c.Levels})
	}
	return out, nil
}
