package predictions

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// Writer writes predictions as CSV: row, truth where it is known, prediction, and then
// probabilities, decision values or scores of anomalies.
type Writer struct {
	Numbers func(row int) int // number in the file of the k-th row
	Truth   bool              // whether the rows have it
	Keep    []string          // columns of the rows that are copied
	Row     int               // rows written

	w       *bufio.Writer
	coded   bool     // whether the predictions are numbers of clusters or of anomalies, and no classes
	names   []string // of the classes
	classes []string // the same as CSV fields
	targets []string
	line    []byte
}

// NewWriter writes the predictions of rows that have this schema by a model for the task.
func NewWriter(w *bufio.Writer, task datasets.Task, schema datasets.Schema, truth bool) *Writer {
	p := &Writer{w: w, Truth: truth, coded: task.Targetless(), names: schema.Classes(), Numbers: func(k int) int { return k }}
	for _, class := range p.names {
		p.classes = append(p.classes, field(class))
	}
	if len(schema.Targets) > 1 {
		for _, t := range schema.Targets {
			p.targets = append(p.targets, t.Name)
		}
	}
	return p
}

// field quotes a CSV field where it must be.
func field(text string) string {
	if strings.ContainsAny(text, ",\"\r\n") || text != strings.TrimSpace(text) {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}

// Block writes one block; the first one decides on the header.
func (p *Writer) Block(rows datasets.Set, said estimator.Prediction) error {
	values, word := said.Scores, "decision"
	if said.Probabilities != nil {
		values, word = said.Probabilities, "probability"
	}
	if len(said.Anomaly) > 0 {
		values, word = mat.NewDense(len(said.Anomaly), 1, said.Anomaly), "anomaly_score"
	}
	if p.Row == 0 {
		if err := p.header(values, word); err != nil {
			return err
		}
	}
	for i := range said.Values {
		p.line = strconv.AppendInt(p.line[:0], int64(p.Numbers(p.Row)), 10)
		for k := range p.Keep {
			p.line = append(append(p.line, ','), field(rows.Kept[i][k])...)
		}
		if p.targets != nil && said.Targets != nil {
			p.several(rows.Targets, said.Targets, i)
		} else {
			if p.Truth {
				p.value(rows.Y[i])
			}
			if p.coded {
				p.float(said.Values[i])
			} else {
				p.value(said.Values[i])
			}
		}
		if values != nil {
			for _, v := range values.RawRowView(i) {
				p.float(v)
			}
		}
		p.Row++
		if _, err := p.w.Write(append(p.line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (p *Writer) header(values *mat.Dense, word string) error {
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
		}
	} else {
		if p.Truth {
			names = append(names, "truth")
		}
		names = append(names, "prediction")
	}
	if values != nil {
		if _, cols := values.Dims(); cols == 1 {
			names = append(names, word)
		} else {
			for k := range cols {
				class := strconv.Itoa(k)
				if k < len(p.classes) {
					class = p.names[k]
				}
				names = append(names, field(word+"_"+class))
			}
		}
	}
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			return fmt.Errorf("experiment: keep: two columns of the predictions would be called %s", name)
		}
	}
	p.w.WriteString(strings.Join(names, ",") + "\n")
	return nil
}

// several adds truth and prediction of each of several targets.
func (p *Writer) several(truth, said *mat.Dense, i int) {
	for t := range p.targets {
		if p.Truth {
			p.float(truth.At(i, t))
		}
		p.float(said.At(i, t))
	}
}

// value adds a target, or the name of a class.
func (p *Writer) value(v float64) {
	if p.classes == nil {
		p.float(v)
		return
	}
	p.line = append(p.line, ',')
	if k := int(v); v >= 0 && k < len(p.classes) { // v may be NaN
		p.line = append(p.line, p.classes[k]...)
	}
}

// float adds a number, nothing where it is missing.
func (p *Writer) float(v float64) {
	p.line = append(p.line, ',')
	if !math.IsNaN(v) {
		p.line = strconv.AppendFloat(p.line, v, 'g', -1, 64)
	}
}
