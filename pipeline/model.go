package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
)

// Model is a fitted pipeline with all that is worth keeping of it: what a model file holds.
type Model struct {
	Name      string
	Task      datasets.Task       // Classification or Regression
	Schema    datasets.Schema     // of the rows it was fitted to
	Predictor estimator.Predictor // what [Pipeline.Fit] returned
	Metrics   map[string]float64  // scores, as "test.accuracy"
	Reading   string              // how files of rows are read, for the program that made it; may be empty
	Versions  map[string]string   // of the programs that made it; Save adds Go's
}

// NewModel returns the model of a fitted pipeline: what [Pipeline.Fit] has returned, or a search over
// pipelines. Spec and schema are those it was fitted with.
func NewModel(fitted estimator.Predictor) (*Model, error) {
	p := fittedPipeline(fitted)
	if p == nil {
		return nil, fmt.Errorf("pipeline: %T is no fitted pipeline", fitted)
	}
	return &Model{Task: p.task(), Schema: p.InputSchema(), Predictor: p}, nil
}

// fittedPipeline returns p or the pipeline that p merely holds, as the result of a search does. What has a
// state of its own would predict otherwise than the pipeline in it.
func fittedPipeline(p estimator.Predictor) *FittedPipeline {
	for {
		if f, ok := p.(*FittedPipeline); ok {
			return f
		}
		w, ok := p.(estimator.Wrapper)
		if _, keeps := p.(model.Stateful); !ok || keeps {
			return nil
		}
		p, _ = w.Unwrap()
	}
}

// Spec returns the pipeline that was fitted, and the zero pipeline where the predictor is none.
func (m *Model) Spec() Pipeline {
	if p := Find(m.Predictor); p != nil {
		return p.Spec()
	}
	return Pipeline{}
}

// Save writes the model to a file at path, all or nothing. The same model gives the same bytes.
func (m *Model) Save(path string) error {
	return model.Replace(path, m.Write)
}

// Write writes the model.
func (m *Model) Write(w io.Writer) error {
	fitted := Find(m.Predictor)
	if fitted == nil {
		return fmt.Errorf("pipeline: %T is no fitted pipeline", m.Predictor)
	}
	if err := m.agrees(fitted); err != nil {
		return fmt.Errorf("pipeline: %w; start from NewModel", err)
	}
	node, err := Encode(fitted.spec)
	if err != nil {
		return err
	}
	spec, err := yaml.Marshal(node)
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	state, err := model.Record(fitted)
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	h := model.Header{
		Name: m.Name, Task: string(m.Task), Spec: string(spec), Metrics: m.Metrics,
		Reading: m.Reading, Columns: columnsOut(m.Schema.Columns), Targets: columnsOut(m.Schema.Targets), Classes: m.Schema.Classes(), Missing: m.Schema.Missing,
		Versions: map[string]string{"go": runtime.Version()},
	}
	for name, version := range m.Versions {
		h.Versions[name] = version
	}
	return model.Write(w, h, state)
}

// Load reads the model in the file at path. Steps that are not built in are to be registered
// before. A file that is damaged, cut off, or no model file at all is refused with an error that
// wraps [model.ErrDamaged], one from a later version with one that wraps [model.ErrNewer].
func Load(path string) (*Model, error) {
	h, state, err := model.ReadFile(path)
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

// restore makes a model of what a file holds.
func restore(h model.Header, state *model.Archive) (*Model, error) {
	m := &Model{Name: h.Name, Task: datasets.Task(h.Task), Metrics: h.Metrics, Reading: h.Reading, Versions: h.Versions}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(h.Spec), &node); err != nil {
		return nil, fmt.Errorf("%w: its spec: %w", model.ErrDamaged, err)
	}
	spec, faults := Decode(&node, Origin{Path: "spec"})
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("%w: its spec: %w", model.ErrDamaged, err)
	}
	var err error
	if m.Schema.Columns, err = columnsIn(h.Columns); err == nil {
		m.Schema.Targets, err = columnsIn(h.Targets)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	inside := &FittedPipeline{}
	if err := model.Restore(state, inside); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	if err := inside.isOf(spec); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	inside.spec = spec
	inside.spec.Precision = inside.precision
	m.Schema.Missing, inside.in.Missing = h.Missing, h.Missing
	m.Predictor = inside
	if err := m.agrees(inside); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return m, m.try()
}

// task is what the fitted model is for.
func (p *FittedPipeline) task() datasets.Task {
	var c estimator.Classifier
	if estimator.As(p.model, &c) {
		return datasets.Classification
	}
	return datasets.Regression
}

// agrees reports what the model says of itself that is not so of its fitted pipeline.
func (m *Model) agrees(fitted *FittedPipeline) error {
	task := fitted.task()
	switch in := fitted.in; {
	case m.Task != datasets.AnyTask && m.Task != task:
		return fmt.Errorf("the task is %s, the model is for %s", m.Task, task)
	case len(m.Schema.Columns) != len(in.Columns):
		return fmt.Errorf("it names %d columns of %d", len(m.Schema.Columns), fitted.InputWidth())
	case !slices.EqualFunc(m.Schema.Columns, in.Columns, sameColumn):
		return errors.New("the columns are not those of the fitted pipeline")
	case !slices.EqualFunc(m.Schema.Targets, in.Targets, sameColumn):
		return errors.New("the targets are not those of the fitted pipeline")
	}
	return nil
}

func sameColumn(a, b datasets.Column) bool {
	return a.Name == b.Name && a.Kind == b.Kind && slices.Equal(a.Levels, b.Levels)
}

// isOf reports whether the fitted pipeline has other steps than spec.
func (p *FittedPipeline) isOf(spec Pipeline) error {
	var want, have []string
	for _, s := range spec.Steps {
		want = append(want, s.path())
	}
	for _, s := range p.chain.steps {
		have = append(have, s.name)
	}
	want, have = append(want, spec.path()), append(have, p.name)
	if !slices.Equal(want, have) {
		return fmt.Errorf("its spec has the steps %s, and fitted are %s", strings.Join(want, ", "), strings.Join(have, ", "))
	}
	return nil
}

// try predicts one row of zeros: steps that do not fit together are found now and not later.
func (m *Model) try() error {
	var X mat.Matrix = zeros(Find(m.Predictor).InputWidth())
	if cols := int(X.(zeros)); cols <= model.FreeCount {
		X = mat.NewDense(1, cols, nil)
	}
	if _, err := m.Predictor.Predict(context.Background(), X); err != nil {
		return fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return nil
}

// zeros is a row of so many zeros, which take no memory.
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
		out = append(out, model.Column{Name: c.Name, Kind: c.Kind.String(), Levels: c.Levels})
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
		default:
			return nil, fmt.Errorf("column %q is of kind %q", c.Name, c.Kind)
		}
		out = append(out, datasets.Column{Name: c.Name, Kind: kind, Levels: c.Levels})
	}
	return out, nil
}

// Align returns data as the model wants it: columns matched by name and put into the model's order,
// levels of categorical columns and classes recoded, a level that the model does not know as
// [datasets.Unknown]. A column that is missing, too many or of another kind is an error that names
// it. Data whose columns have no names must have as many as the model.
func (m *Model) Align(data datasets.Set) (datasets.Set, error) {
	in := data.Schema
	want := m.Schema.Columns
	if len(want) == 0 || len(in.Columns) == 0 {
		if cols := Find(m.Predictor).InputWidth(); data.Cols() != cols {
			return data, fmt.Errorf("pipeline: %d columns, the model has %d", data.Cols(), cols)
		}
		return m.alignTargets(data)
	}
	order, err := match(in, m.Schema)
	if err != nil {
		return data, err
	}
	if !isIdentity(order) {
		data.X = new(desk).pick(data.X, order)
	}
	data.X = recodeLevels(data.X, pickSchema(in, order).Columns, want)
	data.Schema = in.WithColumns(want)
	return m.alignTargets(data)
}

// match returns for each column of want its number in have.
func match(have, want datasets.Schema) ([]int, error) {
	var missing, extra, faults []string
	order := make([]int, len(want.Columns))
	for j := range want.Columns {
		name := want.Name(j)
		order[j] = slices.IndexFunc(have.Columns, func(c datasets.Column) bool { return c.Name == name })
		if order[j] < 0 && want.Columns[j].Name == "" && j < len(have.Columns) && have.Columns[j].Name == "" {
			order[j] = j
		}
		if order[j] < 0 {
			missing = append(missing, name)
			continue
		}
		if got := have.Columns[order[j]].Kind; got != want.Columns[j].Kind {
			faults = append(faults, fmt.Sprintf("column %s is %s, the model has it as %s", name, got, want.Columns[j].Kind))
		}
	}
	for j := range have.Columns {
		if !slices.Contains(order, j) {
			extra = append(extra, have.Name(j))
		}
	}
	if len(missing) > 0 {
		faults = append(faults, "missing "+nouns("column", missing))
	}
	if len(extra) > 0 {
		faults = append(faults, nouns("column", extra)+" the model does not know")
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("pipeline: %s", strings.Join(faults, "; "))
	}
	return order, nil
}

func nouns(what string, names []string) string {
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(names, ", ")
}

func isIdentity(order []int) bool {
	for j, k := range order {
		if j != k {
			return false
		}
	}
	return true
}

// recodeLevels returns X with the codes of categorical columns changed from the levels they had to
// those of want; X itself where no code changes.
func recodeLevels(X mat.Matrix, have, want []datasets.Column) mat.Matrix {
	var out *mat.Dense
	for j := range want {
		if want[j].Kind != datasets.Categorical || slices.Equal(have[j].Levels, want[j].Levels) {
			continue
		}
		if out == nil {
			out = mat.DenseCopyOf(X)
		}
		codes := translation(have[j].Levels, want[j].Levels)
		n, _ := out.Dims()
		for i := range n {
			out.Set(i, j, translate(codes, out.At(i, j)))
		}
	}
	if out == nil {
		return X
	}
	return out
}

// translation returns for each level of have its code in want.
func translation(have, want []string) []float64 {
	codes := make([]float64, len(have))
	for i, level := range have {
		codes[i] = float64(slices.Index(want, level)) // -1 is datasets.Unknown
	}
	return codes
}

// translate returns the new code of an old one; a missing value stays missing.
func translate(codes []float64, code float64) float64 {
	switch {
	case code != code:
		return code
	case code >= 0 && int(code) < len(codes):
		return codes[int(code)]
	}
	return datasets.Unknown
}

// alignTargets recodes the classes of data to those of the model.
func (m *Model) alignTargets(data datasets.Set) (datasets.Set, error) {
	have, want := data.Schema.Classes(), m.Schema.Classes()
	if data.Y == nil || len(have) == 0 || len(want) == 0 || slices.Equal(have, want) {
		return data, nil
	}
	codes := translation(have, want)
	y := make([]float64, len(data.Y))
	for i, code := range data.Y {
		if y[i] = translate(codes, code); y[i] == datasets.Unknown {
			return data, fmt.Errorf("pipeline: row %d: the model does not know the class %s", i, className(have, code))
		}
	}
	data.Y, data.Schema.Targets = y, m.Schema.Targets
	return data, nil
}

func className(classes []string, code float64) string {
	if code >= 0 && int(code) < len(classes) {
		return classes[int(code)]
	}
	return fmt.Sprint(code)
}
