package predictions

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// Writer writes predictions as CSV, or as a JSON array of objects: row, true value, prediction, standard
// deviation, interval,
// probabilities, decision scores, and prediction sets or anomaly scores, as far as available.
type Writer struct {
	Numbers func(row int) int // number in the file of the k-th row
	Truth   bool              // whether the rows have true values
	Keep    []string          // columns of the rows to copy
	Row     int               // rows written
	JSON    bool              // whether to write JSON

	ExtraNames []string   // names of further columns
	Extra      *mat.Dense // their values in the next block

	w       *bufio.Writer
	coded   bool     // predictions are numbers of clusters or anomalies, not classes
	names   []string // of the classes or labels
	classes []string // the same as CSV fields
	targets []string
	line    []byte
	keys    []string // of the columns, as JSON
	at      int      // column of the next field
}

// NewWriter returns a writer of the predictions of a model for rows with the given schema.
func NewWriter(w *bufio.Writer, task datasets.Task, schema datasets.Schema, truth bool) *Writer {
	p := &Writer{w: w, Truth: truth, coded: task.Unsupervised(), names: schema.Classes(),
		Numbers: func(k int) int { return k }}
	for _, class := range p.names {
		p.classes = append(p.classes, field(class))
	}
	if len(schema.Targets) > 1 {
		for _, t := range schema.Targets {
			p.targets = append(p.targets, t.Name)
		}
		p.names = schema.Labels()
	}
	return p
}

// field quotes a CSV field if necessary.
func field(text string) string {
	if strings.ContainsAny(text, ",\"\r\n") || text != strings.TrimSpace(text) {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}

// Block writes one block; the first block determines the header.
func (p *Writer) Block(rows datasets.Set, output estimator.Prediction) error {
	values, word := output.Scores, "decision"
	if output.Probabilities != nil {
		values, word = output.Probabilities, "probability"
	}
	if len(output.Anomaly) > 0 {
		values, word = mat.NewDense(len(output.Anomaly), 1, output.Anomaly), "anomaly_score"
	}
	if p.Row == 0 {
		if err := p.header(output, values, word); err != nil {
			return err
		}
	}
	columns := sure(output)
	for i := range output.Values {
		p.line, p.at = p.line[:0], 0
		p.line = strconv.AppendInt(p.next(), int64(p.Numbers(p.Row)), 10)
		for k := range p.Keep {
			p.string(rows.Passthrough[i][k])
		}
		if p.targets != nil && output.Targets != nil {
			p.several(rows.Targets, output.Targets, columns, i)
		} else {
			if p.Truth {
				p.value(rows.Y[i])
			}
			if p.coded {
				p.float(output.Values[i])
			} else {
				p.value(output.Values[i])
			}
			for _, c := range columns {
				p.float(c.values[i])
			}
		}
		if values != nil {
			for _, v := range values.RawRowView(i) {
				p.float(v)
			}
		}
		if output.Sets != nil {
			p.set(output.Sets.RawRowView(i))
		}
		if p.Extra != nil {
			for _, v := range p.Extra.RawRowView(i) {
				p.float(v)
			}
		}
		end := "\n"
		if p.JSON {
			end = "}"
		}
		p.Row++
		if _, err := p.w.Write(append(p.line, end...)); err != nil {
			return err
		}
	}
	return nil
}

// sureColumn is a column of standard deviations or interval ends.
type sureColumn struct {
	name    string
	values  []float64  // of the rows
	targets *mat.Dense // rows × targets, for several targets
}

// sure returns the available columns of uncertainty.
func sure(output estimator.Prediction) (out []sureColumn) {
	for _, c := range []sureColumn{{"std", output.Std, output.StdTargets}, {"lower", output.Lower, output.LowerTargets},
		{"upper", output.Upper, output.UpperTargets}} {
		if c.values != nil {
			out = append(out, c)
		}
	}
	return out
}

func (p *Writer) header(output estimator.Prediction, values *mat.Dense, word string) error {
	names := []string{"row"}
	for _, name := range p.Keep {
		names = append(names, field(name))
	}
	if p.targets != nil {
		for _, t := range p.targets {
			if p.Truth {
				names = append(names, field("truth_"+t))
			}
			names = append(names, field("prediction_"+t))
			for _, c := range sure(output) {
				if c.targets != nil {
					names = append(names, field(c.name+"_"+t))
				}
			}
		}
	} else {
		if p.Truth {
			names = append(names, "truth")
		}
		names = append(names, "prediction")
		for _, c := range sure(output) {
			names = append(names, c.name)
		}
	}
	if values != nil {
		if _, cols := values.Dims(); cols == 1 {
			names = append(names, word)
		} else {
			for k := range cols {
				class := strconv.Itoa(k)
				if k < len(p.names) {
					class = p.names[k]
				}
				names = append(names, field(word+"_"+class))
			}
		}
	}
	if output.Sets != nil {
		names = append(names, "set")
	}
	for _, name := range p.ExtraNames {
		names = append(names, field(name))
	}
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			return fmt.Errorf("experiment: keep: duplicate output column %s", name)
		}
	}
	if !p.JSON {
		p.w.WriteString(strings.Join(names, ",") + "\n")
		return nil
	}
	for _, name := range names {
		if strings.HasPrefix(name, `"`) {
			name = strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
		}
		p.keys = append(p.keys, string(appendJSON(nil, name))+":")
	}
	return nil
}

// Close ends a JSON array, and does nothing for CSV.
func (p *Writer) Close() {
	switch {
	case p.JSON && p.Row == 0:
		p.w.WriteString("[]")
	case p.JSON:
		p.w.WriteString("\n]")
	}
}

// next begins the next field of the line, and returns the line.
func (p *Writer) next() []byte {
	switch {
	case p.JSON && p.at == 0:
		p.line = append(p.line, [...]string{"[\n{", ",\n{"}[min(p.Row, 1)]...)
	case p.at > 0:
		p.line = append(p.line, ',')
	}
	if p.JSON {
		p.line = append(p.line, p.keys[p.at]...)
	}
	p.at++
	return p.line
}

// string appends a field of text.
func (p *Writer) string(text string) {
	if p.JSON {
		p.line = appendJSON(p.next(), text)
		return
	}
	p.line = append(p.next(), field(text)...)
}

// appendJSON appends a string as JSON.
func appendJSON(dst []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // of a string there is no error
	return append(dst, quoted...)
}

// several appends the columns of several targets.
func (p *Writer) several(truth, output *mat.Dense, columns []sureColumn, i int) {
	for t := range p.targets {
		if p.Truth {
			p.float(truth.At(i, t))
		}
		p.float(output.At(i, t))
		for _, c := range columns {
			if c.targets != nil {
				p.float(c.targets.At(i, t))
			}
		}
	}
}

// set appends the classes of a prediction set, separated by |, which a backslash escapes.
func (p *Writer) set(within []float64) {
	var names []string
	for k, is := range within {
		if is != 0 && k < len(p.names) {
			names = append(names, strings.ReplaceAll(p.names[k], "|", `\|`))
		}
	}
	p.string(strings.Join(names, "|"))
}

// value appends a target or a class name.
func (p *Writer) value(v float64) {
	if p.classes == nil {
		p.float(v)
		return
	}
	switch k := int(v); {
	case v >= 0 && k < len(p.classes) && p.JSON: // v may be NaN
		p.string(p.names[k])
	case v >= 0 && k < len(p.classes):
		p.line = append(p.next(), p.classes[k]...)
	default:
		p.float(math.NaN())
	}
}

// float appends a number; NaN is empty, and non-finite numbers are null in JSON.
func (p *Writer) float(v float64) {
	p.next()
	switch {
	case p.JSON && (math.IsNaN(v) || math.IsInf(v, 0)):
		p.line = append(p.line, "null"...)
	case !math.IsNaN(v):
		p.line = strconv.AppendFloat(p.line, v, 'g', -1, 64)
	}
}
