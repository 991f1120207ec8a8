package experiment

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	pipeyaml "github.com/bochner-ml/bochner/pipeline/yaml"
)

// Evaluation is how a model does on rows.
type Evaluation struct {
	Name     string             `json:"name"`
	Task     string             `json:"task"`
	Positive string             `json:"positive,omitempty"` // class that the scores of two classes speak of
	Rows     int                `json:"rows"`
	Scores   map[string]float64 `json:"scores"`
	Warnings []string           `json:"warnings"`
}

// Model is what a model file holds, in words.
type Model struct {
	Name     string             `json:"name"`
	Task     string             `json:"task"`
	Columns  []Column           `json:"columns"`
	Targets  []string           `json:"targets"`
	Classes  []string           `json:"classes,omitempty"`
	Positive string             `json:"positive,omitempty"` // class that the metrics of two classes speak of
	Metrics  map[string]float64 `json:"metrics"`
	Versions Versions           `json:"versions"`
	// Precision is that of the features: float64 or float32.
	Precision string `json:"precision"`
	Spec      string `json:"spec"` // the pipeline as fitted, as YAML
}

// Column is an input of a model.
type Column struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Levels []string `json:"levels,omitempty"`
}

// saveModel writes the model file.
func (r *run) saveModel(w io.Writer) error {
	m, err := modelfile.New(r.model)
	if err != nil {
		return err
	}
	scores := map[string]float64{}
	for name, v := range r.result.Train {
		scores["train."+name] = v
	}
	for name, v := range r.result.Test {
		scores["test."+name] = v
	}
	reading, err := r.spec.reading()
	if err != nil {
		return err
	}
	m.Name, m.Task, m.Metrics, m.Reading = r.spec.Name, string(r.rows.task), scores, reading
	m.Versions = map[string]string{"bochner": r.result.Versions.Bochner}
	return m.Write(w)
}

// reading is how files of rows are read, without the files' names, as YAML.
func (s Spec) reading() (string, error) {
	s.Data.Train, s.Data.Test, s.Data.Dataset, s.Data.Split = "", "", "", Split{}
	text, err := yaml.Marshal(s.section("data"))
	return string(text), err
}

// opened is a model with how its rows are read.
type opened struct {
	*modelfile.Model
	data Data
}

// openModel reads a model file.
func openModel(path string) (*opened, error) {
	m, err := modelfile.Load(path)
	if err != nil {
		return nil, err
	}
	d := &document{file: path}
	spec := New()
	if root := d.parse([]byte(m.Reading)); root != nil && m.Reading != "" {
		spec = d.section(spec, &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{nodeOf("data"), root}}, "", nil).(Spec)
		if err := d.faults.Err(); err != nil {
			return nil, err
		}
	}
	return &opened{m, spec.Data}, nil
}

// rows opens a file of rows for the model, or what comes once, for one pass. The function returned
// ends the reading.
func (m *opened) rows(ctx context.Context, path string, scored bool, o Options) (datasets.Source, func(), error) {
	data, name, end := m.data, path, func() {}
	var s *stream
	if comesOnce(path) {
		if s = newStream(ctx, path, o.Input); path == standardInput {
			name = "standard input"
		}
		data.files, end = s, s.close
	}
	data, err := m.readAs(data, name, o)
	if err != nil {
		end()
		return nil, nil, err
	}
	like := likeness{m.Schema, pipeline.Unwrap(m.Predictor).InputWidth(), scored, o.Drop, o.Keep}
	source, err := data.openLike(ctx, name, like)
	if err != nil {
		end()
		return nil, nil, err
	}
	if s != nil {
		s.last = true
	}
	return source, end, nil
}

// readAs says how the rows are written: as the options say, then as the name of the file, then as
// the rows that the model has learned from, then as the first lines look.
func (m *opened) readAs(data Data, name string, o Options) (Data, error) {
	known := slices.Clone(data.CSV.Missing)
	if len(known) == 0 {
		known = slices.Clone(m.Schema.Missing)
	}
	if len(known) == 0 && len(o.Missing) > 0 {
		known = Texts{"NaN", "nan"} // as a reader has it that is told nothing
	}
	data.CSV.Missing = append(known, o.Missing...)
	if o.Header != nil {
		data.CSV.Header = Header{Given: *o.Header}
	}
	if data.CSV.Header.Given {
		data.CSV.Columns = nil // they are named by the file
	}
	if o.Format != "" && o.Format != "auto" {
		data.Format = o.Format
	} else {
		data = data.writtenAs(name)
	}
	if o.Delimiter != "" {
		data.CSV.Delimiter = o.Delimiter
	}
	if err := param.Check(data); err != nil {
		return data, err
	}
	if data.Format == "auto" && formatOf(name) == "" {
		return data.guessed(name)
	}
	return data, nil
}

// guessed returns the section with the format that the first lines of a file show.
func (s Data) guessed(path string) (Data, error) {
	var file io.ReadCloser
	var err error
	if s.files != nil {
		file, err = s.files.Open(path)
	} else {
		file, err = os.Open(path)
	}
	if err != nil {
		return s, fmt.Errorf("experiment: %w", tell(err))
	}
	defer file.Close()
	lines, _, err := linesOf(file, path)
	if err != nil {
		return s, err
	}
	s.Format = guessFormat(lines)
	if s.Format == "csv" && s.CSV.Delimiter == "" && guessDelimiter(lines, ",") == "tab" {
		s.Format = "tsv"
	}
	return s, nil
}

// Evaluate scores the model in a file on the labelled rows of another, by the metrics of its task.
// Columns may stand in any order.
func Evaluate(ctx context.Context, model, data string, o Options) (Evaluation, error) {
	m, err := openModel(model)
	if err != nil {
		return Evaluation{}, err
	}
	o.report("load", 0, 0)
	rows, end, err := m.rows(ctx, data, true, o)
	if err != nil {
		return Evaluation{}, err
	}
	defer end()
	if len(m.Schema.Targets) == 0 {
		return Evaluation{}, fmt.Errorf("experiment: %s: the model does not say what its target is called", model)
	}
	v, err := judge(ctx, m.Predictor, rows, nil, func(done int) { o.report("evaluate", done, 0) })
	if err != nil {
		return Evaluation{}, err
	}
	out := Evaluation{Name: m.Name, Task: m.Task, Positive: metrics.PositiveClass(m.Schema.Classes()), Rows: v.rows, Warnings: []string{}}
	var warnings []string
	out.Scores, warnings, err = v.score(metrics.Task(m.Task))
	out.Warnings = append(out.Warnings, warnings...)
	return out, err
}

// Predict writes the predictions of the model in a file for the rows of another to w as CSV, with
// the truth beside them where the rows have it, and returns how many there are. It holds a block of
// rows at a time.
func Predict(ctx context.Context, model, data string, w io.Writer, o Options) (rows int, err error) {
	m, err := openModel(model)
	if err != nil {
		return 0, err
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	rows, err = m.predict(ctx, data, buffered, o)
	if wrong := buffered.Flush(); err == nil { // what was written of an incomplete output ends with a line
		err = wrong
	}
	return rows, err
}

// PredictFile is Predict into a file, which is there whole or not at all. It may not be the file of the
// model or of the rows.
func PredictFile(ctx context.Context, model, data, out string, o Options) (rows int, err error) {
	m, err := openModel(model)
	if err != nil {
		return 0, err
	}
	for _, path := range []string{model, data} {
		if sameFile(path, out) {
			return 0, fmt.Errorf("experiment: %s would be written over by its own predictions", path)
		}
	}
	err = replace(out, func(w *bufio.Writer) error {
		rows, err = m.predict(ctx, data, w, o)
		return err
	})
	return rows, err
}

func (m *opened) predict(ctx context.Context, data string, w *bufio.Writer, o Options) (rows int, err error) {
	o.report("load", 0, 0)
	source, end, err := m.rows(ctx, data, false, o)
	if err != nil {
		return 0, err
	}
	defer end()
	p := newPredictionWriter(w, m.Schema, false)
	p.keep = o.Keep
	err = source.Blocks(ctx, func(block datasets.Set) error {
		said, err := predict(ctx, m.Predictor, block.X)
		if err != nil {
			return datasets.FromRow(err, p.row)
		}
		p.truth = block.Y != nil || block.Targets != nil
		if err := p.block(block, said); err != nil {
			return err
		}
		o.report("predict", p.row, 0)
		return nil
	})
	return p.row, err
}

// Inspect says what a model file holds.
func Inspect(path string) (Model, error) {
	m, err := openModel(path)
	if err != nil {
		return Model{}, err
	}
	out := Model{
		Name: m.Name, Task: m.Task, Classes: m.Schema.Classes(), Positive: metrics.PositiveClass(m.Schema.Classes()), Metrics: m.Metrics,
		Versions: Versions{Bochner: m.Versions["bochner"], Go: m.Versions["go"]}, Precision: m.Spec().Precision,
	}
	for j := range m.Schema.Columns {
		c := m.Schema.Columns[j]
		out.Columns = append(out.Columns, Column{Name: m.Schema.Name(j), Kind: c.Kind.String(), Levels: c.Levels})
	}
	for _, t := range m.Schema.Targets {
		out.Targets = append(out.Targets, t.Name)
	}
	node, err := pipeyaml.Encode(m.Spec())
	if err != nil {
		return Model{}, err
	}
	text, err := yaml.Marshal(node)
	if err != nil {
		return Model{}, fmt.Errorf("experiment: %w", err)
	}
	out.Spec = strings.TrimRight(string(text), "\n") + "\n"
	return out, nil
}
