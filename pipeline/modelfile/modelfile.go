// Package modelfile saves a fitted pipeline to a file, with its spec as YAML, the schema of its
// inputs and metadata, and loads it:
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
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/yaml"
)

// Model is a fitted pipeline with its metadata, the content of a model file.
type Model struct {
	Name      string
	Task      datasets.Task       // what it predicts
	Schema    datasets.Schema     // schema of the training rows; an unsupervised model may have a target for scoring
	Predictor estimator.Predictor // result of [pipeline.Pipeline.Fit]
	Metrics   map[string]float64  // scores by name, such as "test.accuracy"
	Reading   string              // how the writing program reads data files; may be empty
	Versions  map[string]string   // versions of the writing programs; Save adds that of Go
	Profile   *profile.Profile    // profile of the training rows; may be nil

	// FittedRows is the number of rows that the predictor was fitted to after Metrics were known, with held-out ones, and
	// ScoredRows the number of training rows of the model with these scores. Both are 0 without such a refit.
	ScoredRows, FittedRows int
}

// New returns the model of a fitted pipeline, or of the result of a search over pipelines. Spec and
// schema are those of the fit. The model has no Profile; bochner.NewModel adds that of the training
// rows.
func New(fitted estimator.Predictor) (*Model, error) {
	p := fittedPipeline(fitted)
	if p == nil {
		return nil, fmt.Errorf("pipeline: %T is no fitted pipeline", fitted)
	}
	return &Model{Task: taskOf(p), Schema: p.InputSchema(), Predictor: p}, nil
}

// fittedPipeline returns p, or the pipeline that p wraps, such as the result of a search. A wrapper
// with its own state is not unwrapped, because it predicts differently.
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
	if task := p.Spec().Tags().Task; task.Unsupervised() {
		return task
	}
	_, last := p.Model()
	switch outputs := estimator.OutputsOf(last); {
	case outputs.Labels != nil:
		return datasets.MultiLabel
	case outputs.Classes != nil:
		return datasets.Classification
	}
	return datasets.Regression
}

// Spec returns the spec of the fitted pipeline, or the zero pipeline if the predictor is not a
// pipeline.
func (m *Model) Spec() pipeline.Pipeline {
	if p := pipeline.Find(m.Predictor); p != nil {
		return p.Spec()
	}
	return pipeline.Pipeline{}
}

// Save writes the model to a file at path atomically. The same model yields the same bytes.
func (m *Model) Save(path string) error {
	if path == "" {
		return errors.New("pipeline: cannot save the model: the path must not be empty")
	}
	err := files.Replace(path, func(w *bufio.Writer) error { return m.Write(w) })
	if wrong := (*files.WriteError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("pipeline: cannot save %s: %w", wrong.Path, wrong.Err)
	}
	return err
}

// Write writes the model to w.
func (m *Model) Write(w io.Writer) error {
	fitted := pipeline.Find(m.Predictor)
	if fitted == nil {
		return fmt.Errorf("pipeline: %T is no fitted pipeline", m.Predictor)
	}
	if err := m.checkConsistent(fitted); err != nil {
		return fmt.Errorf("pipeline: %w; start from modelfile.New", err)
	}
	spec, err := yaml.MarshalFitted(fitted)
	if err != nil {
		return err
	}
	state, err := model.Record(fitted)
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	h := archive.Header{
		Name: m.Name, Task: string(m.Task), Spec: string(spec), Metrics: m.Metrics,
		ScoredRows: m.ScoredRows, FittedRows: m.FittedRows,
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
	return archive.Write(w, h, state)
}

// maxProfile is the maximum size of a profile in bytes, sufficient for about a thousand columns.
const maxProfile = 1 << 20

// profileText encodes the profile of as many columns as fit, and checks that it can be decoded.
func (m *Model) profileText(fitted *pipeline.FittedPipeline) (string, error) {
	if m.Profile == nil {
		return "", nil
	}
	seen := *m.Profile
	if len(m.Schema.Targets) == 0 {
		seen.Targets = nil // the model does not use targets
	}
	text, err := seen.Encode(maxProfile)
	if err == nil {
		_, err = profile.Decode(text, m.Schema, fitted.InputWidth())
	}
	return text, err
}

// Load reads the model in the file at path, or in the run directory at path. Custom steps must be
// registered first. It returns an error that wraps [model.ErrDamaged] if the file is damaged,
// truncated or not a model file, and one that wraps [model.ErrNewer] if a later version wrote it.
func Load(path string) (*Model, error) {
	path, err := files.Model(path)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	h, state, err := archive.ReadFile(path)
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

// Read is Load from r, which contains size bytes.
func Read(r io.ReaderAt, size int64) (*Model, error) {
	h, state, err := archive.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	m, err := restore(h, state)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return m, nil
}

// restore returns the model of the content of a file.
func restore(h archive.Header, state *archive.Archive) (*Model, error) {
	if datasets.Task(h.Task).Check() != nil {
		return nil, fmt.Errorf("%w: it is %s, not a model", model.ErrDamaged, h.Task)
	}
	m := &Model{Name: h.Name, Task: datasets.Task(h.Task), Metrics: h.Metrics, Reading: h.Reading, Versions: h.Versions,
		ScoredRows: h.ScoredRows, FittedRows: h.FittedRows}
	spec, err := yaml.Unmarshal([]byte(h.Spec), yaml.Origin{Path: "spec", Fitted: true})
	if err != nil {
		return nil, fmt.Errorf("%w: its spec: %w", model.ErrDamaged, err)
	}
	if m.Schema.Columns, err = columnsIn(h.Columns); err == nil {
		m.Schema.Targets, err = columnsIn(h.Targets)
	}
	m.Schema.Missing = h.Missing
	if err == nil {
		m.Predictor, err = spec.Restore(h.Missing, state)
	}
	if err == nil {
		err = m.checkConsistent(pipeline.Find(m.Predictor))
	}
	if err == nil && h.Profile != "" {
		m.Profile = new(profile.Profile)
		*m.Profile, err = profile.Decode(h.Profile, m.Schema, pipeline.Find(m.Predictor).InputWidth())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return m, m.checkPrediction()
}

// checkConsistent returns an error if the fields of the model contradict its fitted pipeline.
func (m *Model) checkConsistent(fitted *pipeline.FittedPipeline) error {
	task := taskOf(fitted)
	switch in := fitted.InputSchema(); {
	case m.ScoredRows < 0 || m.FittedRows < 0:
		return fmt.Errorf("the numbers of rows must be ≥ 0, got %d and %d", m.ScoredRows, m.FittedRows)
	case m.Task != datasets.AnyTask && m.Task != task:
		return fmt.Errorf("the task is %s, the model is for %s", m.Task, task)
	case task == datasets.MultiLabel && len(in.Targets) > 0 &&
		!slices.EqualFunc(estimator.OutputsOf(fitted).Labels, in.Targets, func(label string, target datasets.Column) bool {
			return label == target.Name
		}):
		return errors.New("the labels of the model are not the targets")
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
	return a.Name == b.Name && a.Kind == b.Kind && a.Format == b.Format && slices.Equal(a.Categories, b.Categories)
}

// checkPrediction predicts one row of zeros, to find incompatible steps when the model is loaded.
// Errors about the values of that row are ignored, because zeros may be outside the domain of a step.
func (m *Model) checkPrediction() error {
	var X mat.Matrix = zeros(pipeline.Find(m.Predictor).InputWidth())
	if cols := int(X.(zeros)); cols <= archive.UncheckedCount {
		X = pick.Blank(m.Schema, cols)
	}
	_, err := m.Predictor.Predict(context.Background(), X)
	if refused := (*datasets.RowError)(nil); err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return nil
}

// zeros is a 1×n matrix of zeros that uses no memory.
type zeros int

// Dims returns 1 and the number of columns.
func (z zeros) Dims() (rows, cols int) { return 1, int(z) }

// At returns 0.
func (z zeros) At(i, j int) float64 { return 0 }

// T returns the transpose.
func (z zeros) T() mat.Matrix { return mat.Transpose{Matrix: z} }

func columnsOut(columns []datasets.Column) []archive.Column {
	var out []archive.Column
	for _, c := range columns {
		column := archive.Column{Name: c.Name, Kind: c.Kind.String(), Levels: c.Categories, Format: c.Format.String()}
		if c.EncodedFrom != "" {
			column.EncodedFrom, column.EncodedKind = c.EncodedFrom, c.EncodedKind.String()
		}
		out = append(out, column)
	}
	return out
}

// kinds are the kinds of columns by their names.
var kinds = map[string]datasets.Kind{"numeric": datasets.Numeric, "categorical": datasets.Categorical,
	"text": datasets.Text}

func columnsIn(columns []archive.Column) ([]datasets.Column, error) {
	var out []datasets.Column
	for _, c := range columns {
		kind, ok := kinds[c.Kind]
		if !ok {
			return nil, fmt.Errorf("column %q is of kind %q", c.Name, c.Kind)
		}
		from, ok := kinds[c.EncodedKind]
		if ok != (c.EncodedFrom != "") {
			return nil, fmt.Errorf("column %q is encoded from %q of kind %q", c.Name, c.EncodedFrom, c.EncodedKind)
		}
		format, err := datasets.Format{}.Parse(c.Format)
		if err != nil || format != (datasets.Format{}) && format.Kind() != kind {
			return nil, fmt.Errorf("column %q is of format %q", c.Name, c.Format)
		}
		out = append(out, datasets.Column{Name: c.Name, Kind: kind, Categories: c.Levels, Format: format,
			EncodedFrom: c.EncodedFrom, EncodedKind: from})
	}
	return out, nil
}
