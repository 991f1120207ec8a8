package serve

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// loaded is a version of a model that predicts, with all that is needed to read rows for it. It never changes.
type loaded struct {
	name, version string
	model         *modelfile.Model
	at            time.Time // when it was loaded
	bytes         int64     // of its file

	width   int     // of the rows
	fields  []field // what a row may have: the columns, in their order, then dates, then what is no input
	byName  map[string]int
	missing map[string]bool // texts that stand for a missing value
	numeric bool            // whether all columns are

	classes []string // names of the classes, nil where there are none
	labels  [][]byte // the same
	has     estimator.Prediction
	outputs []TensorSpec
	keys    keys   // of its answers
	batch   *batch // for requests of a row; nil for a model that is better asked for each alone
}

// field is something that a row may have: a column of the model, a date that becomes some, or a column that training
// had and the model has not.
type field struct {
	name    string
	use     use
	at      int // number of the column
	codes   map[string]float64
	numbers map[float64]float64 // codes of the categories that are numbers
	date    datasets.Date
	parts   []int // numbers of the columns that a date becomes
	named   bool  // whether the experiment has the date
}

type use uint8

const (
	quantity use = iota
	category
	date
	ignored
)

// newLoaded makes a model ready.
func newLoaded(name, version string, m *modelfile.Model) (*loaded, error) {
	p := pipeline.Find(m.Predictor)
	if p == nil {
		return nil, fmt.Errorf("serve: %T is no fitted pipeline", m.Predictor)
	}
	data, err := document.DecodeData(name, m.Reading)
	if err != nil {
		return nil, fmt.Errorf("serve: how its rows are read: %w", err)
	}
	out := &loaded{name: name, version: version, model: m, at: time.Now(), width: p.InputWidth(), numeric: true, byName: map[string]int{}, missing: map[string]bool{}}
	texts := []string(data.CSV.Missing)
	if len(texts) == 0 {
		texts = m.Schema.Missing
	}
	if texts == nil {
		texts = []string{"NaN", "nan"}
	}
	for _, text := range append([]string{""}, texts...) {
		out.missing[text] = true
	}
	out.columns()
	out.dates(data.Dates)
	for _, t := range m.Schema.Targets {
		out.add(field{name: t.Name, use: ignored})
	}
	for _, name := range slices.Concat([]string(data.Target), []string{data.Weight, data.Group}, data.Drop) {
		out.add(field{name: name, use: ignored})
	}
	var c estimator.Classifier
	if estimator.As(m.Predictor, &c) {
		out.classes = c.Classes()
	}
	for _, name := range out.classes {
		out.labels = append(out.labels, []byte(name))
	}
	if out.has, err = estimator.Predict(context.Background(), m.Predictor, &mat.Dense{}); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	out.outputs = out.outputsOf()
	out.keys = out.keysOf()
	if out.together() {
		out.batch = new(batch)
	}
	return out, nil
}

// add makes a field, unless there is one of that name.
func (m *loaded) add(f field) {
	if _, known := m.byName[f.name]; known || f.name == "" {
		return
	}
	m.byName[f.name] = len(m.fields)
	m.fields = append(m.fields, f)
}

// columns makes the fields of the inputs.
func (m *loaded) columns() {
	for j := range m.width {
		c := m.model.Schema.Column(j)
		f := field{name: m.model.Schema.Name(j), at: j}
		if c.Kind == datasets.Categorical {
			m.numeric = false
			f.use, f.codes, f.numbers = category, make(map[string]float64, len(c.Levels)), map[float64]float64{}
			for k, level := range c.Levels {
				f.codes[level] = float64(k)
				if v, ok := decimal(level); ok {
					if _, known := f.numbers[v]; !known {
						f.numbers[v] = float64(k)
					}
				}
			}
		}
		m.byName[f.name] = len(m.fields)
		m.fields = append(m.fields, f)
	}
}

// dates makes a field of each date whose parts are columns: sold, where there are sold_year and sold_month.
func (m *loaded) dates(written map[string]datasets.Date) {
	parts := map[string][]int{}
	for j := range m.width {
		f := &m.fields[j]
		if at := strings.LastIndexByte(f.name, '_'); f.use == quantity && at > 0 && slices.Contains(datasets.DateParts, f.name[at+1:]) {
			parts[f.name[:at]] = append(parts[f.name[:at]], j)
		}
	}
	for name, columns := range parts {
		read, named := written[name]
		d := datasets.Date{Order: read.Order}
		for _, j := range columns {
			d.Parts = append(d.Parts, m.fields[j].name[len(name)+1:])
		}
		m.add(field{name: name, use: date, date: d, parts: columns, named: named})
	}
}

// decimal reads a number as it stands in a file: decimal and finite.
func decimal(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// ofText returns the number that a text stands for in a column, or what was wanted instead.
func (m *loaded) ofText(f *field, v []byte) (x float64, wanted string) {
	if m.missing[string(v)] {
		return math.NaN(), ""
	}
	if f.use == category {
		if code, ok := f.codes[string(v)]; ok {
			return code, ""
		}
		if code, ok := f.codes[strings.TrimSpace(string(v))]; ok {
			return code, ""
		}
		return datasets.Unknown, ""
	}
	if x, ok := decimal(string(v)); ok {
		return x, ""
	}
	return 0, "a number"
}

// ofNumber returns the number that another one, which may be written somewhere, stands for in a column.
func (f *field) ofNumber(written []byte, v float64) float64 {
	if f.use != category || math.IsNaN(v) {
		return v
	}
	if written == nil {
		written = strconv.AppendFloat(make([]byte, 0, 32), v, 'f', -1, 64)
	}
	if code, ok := f.codes[string(written)]; ok {
		return code
	}
	if code, ok := f.numbers[v]; ok {
		return code
	}
	return datasets.Unknown
}

// ofTruth returns the number that true or false stands for in a column.
func (f *field) ofTruth(is bool) float64 {
	if f.use == category {
		for _, text := range [...][2]string{{"false", "true"}, {"False", "True"}} {
			word := text[0]
			if is {
				word = text[1]
			}
			if code, ok := f.codes[word]; ok {
				return code
			}
		}
		return datasets.Unknown
	}
	if is {
		return 1
	}
	return 0
}

// named lists the columns, for messages.
func (m *loaded) named() string {
	const most = 12
	var names []string
	for j := range min(m.width, most) {
		names = append(names, m.fields[j].name)
	}
	text := strings.Join(names, ", ")
	if more := m.width - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// predict returns what the model says of n rows, of which it makes sure that it is numbers. It calls wait before it waits
// for what another request computes.
func (m *loaded) predict(ctx context.Context, x []float64, n int, wait func()) (said estimator.Prediction, err error) {
	if n == 0 {
		return m.has, nil
	}
	if n == 1 && m.batch != nil {
		said, err = m.batch.predict(m, x, wait)
	} else {
		said, err = estimator.Predict(ctx, m.model.Predictor, mat.NewDense(n, m.width, x))
	}
	if err != nil {
		return said, err
	}
	for _, list := range [][]float64{said.Values, said.Std, said.Lower, said.Upper, said.Anomaly} {
		if i := notFinite(list); i >= 0 {
			return said, refuse(Invalid, "row %d: what the model predicts is no number; the row's numbers are too large for it", i)
		}
	}
	for i, v := range said.Values {
		if m.classes != nil && !(v >= 0 && v < float64(len(m.classes))) {
			return said, refuse(Internal, "row %d: the model predicts class number %v of %d", i, v, len(m.classes))
		}
	}
	for _, list := range []*mat.Dense{said.Targets, said.Scores, said.Probabilities, said.StdTargets, said.LowerTargets, said.UpperTargets} {
		if list == nil {
			continue
		}
		raw := list.RawMatrix()
		if i := notFinite(raw.Data[:min(len(raw.Data), raw.Rows*raw.Stride)]); i >= 0 {
			return said, refuse(Invalid, "row %d: what the model predicts is no number; the row's numbers are too large for it", i/max(raw.Stride, 1))
		}
	}
	return said, nil
}

// notFinite returns the number of the first that is NaN or infinite, or -1.
func notFinite(list []float64) int {
	for i, v := range list {
		if v-v != 0 {
			return i
		}
	}
	return -1
}

// answerBytes is about how many bytes the answer for a row takes.
func (m *loaded) answerBytes() int64 {
	cells := int64(2)
	for _, o := range m.outputs {
		cells += max(o.Width, 1)
	}
	return cells * (8 + 24)
}
