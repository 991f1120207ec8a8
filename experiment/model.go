package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/internal/diagnostics"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	pipeyaml "github.com/bochner-ml/bochner/pipeline/yaml"
)

// Evaluation contains the scores and diagnostics of a model on labeled rows.
type Evaluation struct {
	Name     string             `json:"name"`
	Task     string             `json:"task"`
	Positive string             `json:"positive,omitempty"` // positive class of binary metrics
	Rows     int                `json:"rows"`
	Scores   map[string]float64 `json:"scores"`
	// Intervals are the prediction intervals with their coverage of these rows.
	Intervals *result.Uncertainty `json:"intervals,omitempty"`
	Clusters  []int               `json:"clusters,omitempty"`  // rows in each cluster
	Anomalies *float64            `json:"anomalies,omitempty"` // share of rows classified as anomalies
	result.Findings
	// Drift compares the rows with the training rows; nil if the model file has no profile.
	Drift *profile.Drift `json:"drift,omitempty"`
	// UnknownCategories is the number of rows, by column, with a category that the training rows do not have.
	UnknownCategories map[string]int `json:"unknown_categories,omitempty"`
	Warnings          []string       `json:"warnings"`
}

// Model describes a model file.
type Model struct {
	Name     string             `json:"name"`
	Task     string             `json:"task"`
	Columns  []modelColumn      `json:"columns"` // the inputs: Name, Kind and Levels
	Targets  []string           `json:"targets"`
	Classes  []string           `json:"classes,omitempty"`
	Positive string             `json:"positive,omitempty"` // positive class of binary metrics
	Metrics  map[string]float64 `json:"metrics"`
	// FittedRows is the number of training and held-out rows that the model was fitted to after Metrics were known, and
	// ScoredRows the number of training rows of the model with these scores; 0 without such a refit.
	ScoredRows int `json:"scored_rows,omitempty"`
	FittedRows int `json:"fitted_rows,omitempty"`

	Members []result.MemberWeight `json:"members,omitempty"` // of an ensemble
	// Intervals are the prediction intervals of the model, if any.
	Intervals *result.Uncertainty `json:"intervals,omitempty"`
	// Threshold is the tuned decision threshold, if any.
	Threshold *meta.Cutoff    `json:"threshold,omitempty"`
	Versions  result.Versions `json:"versions"`
	// Precision is the precision of the features: float64 or float32.
	Precision string `json:"precision"`
	// KeptRows is the number of training rows in the model, SupportVectors whether these are the support vectors of a
	// machine, and Bytes the size of its file.
	KeptRows       int    `json:"kept_rows,omitempty"`
	SupportVectors bool   `json:"support_vectors,omitempty"`
	Bytes          int64  `json:"bytes,omitempty"`
	Spec           string `json:"spec"` // the pipeline as fitted, as YAML
	// Profile describes the training rows, if the file has a profile.
	Profile *profile.Profile `json:"profile,omitempty"`
	// Relevance is the learned relevance of the inputs of steps.
	Relevance []result.Relevance `json:"relevance,omitempty"`
}

// modelColumn is an input column of a model.
type modelColumn struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Levels []string `json:"levels,omitempty"`
}

// opened is a model with the format of its rows.
type opened struct {
	*modelfile.Model
	path string // of the file
	data config.Data
}

// openModel reads the model file at path, or model.bochner in the directory path.
func openModel(path string) (*opened, error) {
	path, err := files.Model(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	m, err := modelfile.Load(path)
	if err != nil {
		return nil, err
	}
	data, err := config.DecodeData(path, m.Reading)
	if err != nil {
		return nil, err
	}
	return &opened{m, path, data}, nil
}

// known returns the schema of the training rows.
func (m *opened) known() *config.Known {
	return &config.Known{Schema: m.Schema, Cols: pipeline.Find(m.Predictor).InputWidth()}
}

// unknown returns a count of the unknown categories of rows.
func (m *opened) unknown() *profile.Unknown {
	return profile.NewUnknown(m.Schema, pipeline.Find(m.Predictor).InputWidth())
}

// warnUnknown warns about unknown categories and returns their counts.
func (o Options) warnUnknown(u *profile.Unknown) map[string]int {
	if text := u.Warning(); text != "" && o.OnWarning != nil {
		o.OnWarning(text)
	}
	return u.Counts()
}

// rows opens input rows for the model; end closes them. Streams are read in one pass.
func (m *opened) rows(ctx context.Context, path string, scored bool, o Options) (datasets.Source, func(), error) {
	file, names, end := dataload.Files(m.data), append([]string{path}, o.ExtraFiles...), func() {}
	var s *reader.Stream
	if at := slices.IndexFunc(names, reader.ReadOnce); at >= 0 {
		if len(names) > 1 {
			return nil, nil, fmt.Errorf("experiment: %s is a stream and must be the only input, got %d inputs", names[at],
				len(names))
		}
		if s = reader.NewStream(ctx, path, o.Input); path == reader.StandardInput {
			names[0] = "standard input"
		}
		file.FS, end = s, s.Close
	}
	file, err := m.readAs(file, names, o)
	if err != nil {
		end()
		return nil, nil, err
	}
	if s != nil && reader.NeedsSeek(file.Format) {
		if file.FS, err = s.Spool(names[0]); err != nil {
			end()
			return nil, nil, fmt.Errorf("experiment: %w", err)
		}
		s = nil
	}
	like := reader.MatchOptions{Schema: m.Schema, Cols: pipeline.Find(m.Predictor).InputWidth(), Scored: scored,
		Targetless: m.Task.Unsupervised(), Drop: o.Drop, Keep: o.Keep, OnInvalid: o.onInvalid}
	source, err := file.OpenMatching(ctx, names, like)
	if err != nil {
		end()
		return nil, nil, err
	}
	if s != nil {
		s.LastPass()
	}
	return source, end, nil
}

// readAs returns the format of input rows: from the options, else the first file name, the training
// data, or the first lines.
func (m *opened) readAs(file reader.Files, names []string, o Options) (reader.Files, error) {
	known := slices.Clone(file.CSV.Missing)
	if len(known) == 0 {
		known = slices.Clone(m.Schema.Missing)
	}
	if len(known) == 0 && len(o.Missing) > 0 {
		known = reader.Strings{"NaN", "nan"} // as without read settings
	}
	file.CSV.Missing = append(known, o.Missing...)
	if o.Header != nil {
		file.CSV.Header = reader.Header{Given: *o.Header}
	}
	if o.Header != nil && *o.Header {
		file.CSV.Columns = nil // the file names them
	}
	if o.Format != "" && o.Format != "auto" {
		file.Format = o.Format
	} else {
		file = file.WithFormatOf(names)
	}
	for _, option := range []struct {
		to    *string
		value string
	}{{&file.CSV.Delimiter, o.Delimiter}, {&file.CSV.Encoding, o.Encoding}, {&file.CSV.Decimal, o.Decimal}} {
		if option.value != "" {
			*option.to = option.value
		}
	}
	if o.Decimal != "" && file.CSV.Thousands == o.Decimal {
		file.CSV.Thousands = "none" // it was the mark of the training data
	}
	data := m.data
	data.Files = file
	if err := param.Check(data); err != nil {
		return file, err
	}
	if list, err := file.List(names); err == nil && file.Format == "auto" && reader.FormatOf(list[0]) == "" {
		return file.Guess(list[0])
	}
	return file, nil
}

// Evaluate scores a model file on labeled rows by the metrics of its task and measures their drift
// from the training rows. The data are a file, a pattern or a directory, with columns in any order.
// Unsupervised tasks need no target.
func Evaluate(ctx context.Context, model, data string, o Options) (Evaluation, error) {
	m, err := openModel(model)
	if err != nil {
		return Evaluation{}, err
	}
	o.Progress.report("load", 0, 0)
	source, end, err := m.rows(ctx, data, true, o)
	if err != nil {
		return Evaluation{}, err
	}
	defer end()
	if len(m.Schema.Targets) == 0 && !m.Task.Unsupervised() {
		return Evaluation{}, fmt.Errorf("experiment: %s: the model has no target name", model)
	}
	var compared *profile.Comparison
	if m.Profile != nil {
		if compared, err = profile.NewComparison(*m.Profile, m.Schema, pipeline.Find(m.Predictor).InputWidth()); err != nil {
			return Evaluation{}, fmt.Errorf("experiment: %s: %w", model, err)
		}
	}
	unknown := m.unknown()
	look := func(block datasets.Set, _ estimator.Prediction) error {
		if err := unknown.Add(ctx, block.X); err != nil || compared == nil {
			return err
		}
		return compared.Add(ctx, block)
	}
	v, err := predictions.Judge(ctx, m.Predictor, m.Task, source, look,
		func(done int) { o.Progress.report("evaluate", done, 0) })
	if err != nil {
		return Evaluation{}, m.explain(ctx, err, source, data)
	}
	out := Evaluation{Name: m.Name, Task: string(m.Task), Positive: positiveOf(m.Task, m.Schema), Rows: v.Rows,
		Warnings: []string{}}
	out.UnknownCategories = o.warnUnknown(unknown)
	var warnings []string
	out.Scores, warnings, err = v.Score(lossMetrics(m.Predictor)...)
	switch m.Task {
	case datasets.Clustering:
		out.Clusters = v.Clusters()
	case datasets.Anomaly:
		share := v.Anomalies()
		out.Anomalies = &share
	}
	out.Warnings = append(out.Warnings, warnings...)
	if err != nil {
		return out, err
	}
	if err := diagnostics.Judged(&out.Findings, v.Input(), m.Task, m.Schema, quantileOf(m.Predictor),
		func(row int) int { return row }); err != nil {
		return out, err
	}
	addThresholds(&out.Findings, m.Predictor)
	if compared != nil {
		drift, err := compared.Drift()
		if err != nil {
			return out, fmt.Errorf("experiment: %s: %w", data, err)
		}
		out.Drift, out.Warnings = &drift, append(out.Warnings, drift.Warnings()...)
	}
	out.Intervals = surenessOf(m.Predictor)
	err = judgeSureness(out.Intervals, v)
	out.Warnings = append(out.Warnings, coverageWarnings(out.Intervals, v)...)
	return out, err
}

// writeFile writes a file atomically, which must be neither the model nor an input.
func (m *opened) writeFile(data, out string, o Options, write func(w *bufio.Writer) error) error {
	inputs, err := rowfile.List(nil, append([]string{data}, o.ExtraFiles...)...)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if err := files.CheckOutput(out, append(inputs, m.path)...); err != nil {
		return err
	}
	return files.Replace(out, write)
}

// explain adds the file and line, or the row of a stream, to the error of a missing value that the
// model does not accept.
func (m *opened) explain(ctx context.Context, err error, source datasets.Source, path string) error {
	var at *datasets.RowError
	if !errors.Is(err, datasets.ErrMissing) || !errors.As(err, &at) {
		return err
	}
	if path == reader.StandardInput {
		path = "standard input"
	}
	where := fmt.Sprintf("%s: row %d, counted from 1", path, at.Row+1)
	content, wrong := datasets.ScanContent(ctx, source)
	for j, c := range content {
		if wrong == nil && m.Schema.Name(j) == at.Column && c.Missing != nil && c.Missing.File != "" {
			where = c.Missing.String()
		}
	}
	return fmt.Errorf("experiment: %s: column %s: %w, but the training rows have none; fill the field or fit with an "+
		"impute step",
		where, at.Column, datasets.ErrMissing)
}

// Inspect describes a model file.
func Inspect(path string) (Model, error) {
	m, err := openModel(path)
	if err != nil {
		return Model{}, err
	}
	out := Model{
		Name: m.Name, Task: string(m.Task), Classes: m.Schema.Classes(), Positive: positiveOf(m.Task, m.Schema),
		Metrics: m.Metrics, ScoredRows: m.ScoredRows, FittedRows: m.FittedRows,
		Versions: result.Versions{Bochner: m.Versions["bochner"], Go: m.Versions["go"],
			ScikitLearn: m.Versions["scikit-learn"]}, Precision: m.Spec().Precision,
		Profile: m.Profile, Members: membersOf(m.Predictor), Intervals: surenessOf(m.Predictor),
		Threshold: thresholdOf(m.Predictor),
	}
	for j := range m.Schema.Columns {
		c := m.Schema.Columns[j]
		out.Columns = append(out.Columns, modelColumn{m.Schema.Name(j), c.Kind.String(), c.Categories})
	}
	if out.Relevance, err = relevanceOf(context.Background(), pipeline.Find(m.Predictor)); err != nil {
		return Model{}, fmt.Errorf("experiment: %s: %w", path, err)
	}
	if tags := estimator.FittedTags(m.Predictor); tags.StoredRows > 0 {
		out.KeptRows, out.SupportVectors = tags.StoredRows, tags.SupportVectors
		if at, err := os.Stat(m.path); err == nil {
			out.Bytes = at.Size()
		}
	}
	for _, t := range m.Schema.Targets {
		out.Targets = append(out.Targets, t.Name)
	}
	node, err := pipeyaml.Encode(m.Spec(), false)
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
