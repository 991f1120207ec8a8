package modelfile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rowencoding"
	"github.com/bochner-ml/bochner/internal/structrows"
	"github.com/bochner-ml/bochner/pipeline"
)

// Encode returns rows of values by the name of their column, such as programs and JSON documents
// have them, as a set for the model. Columns that had no names at fit are called x0, x1, ….
//
// Every row has a value for every column; nil is a missing one, and so are NaN, the empty string
// and the strings in Schema.Missing. A numeric column takes any number, true and false as 1 and 0,
// and a string that is a number with a decimal point. A categorical column takes a category, or a
// number or a bool that is written like one; one that the model does not know becomes
// [datasets.Unknown]. A [time.Time], or a string with the year first, stands for the columns that
// [datasets.Date] makes of a date: one called sold for sold_year and sold_month.
//
// Rows may also have the targets; the set then has them too, NaN where a row has none or a class
// that the model does not know. All errors are returned as one, which joins a [datasets.RowError]
// for each.
func (m *Model) Encode(rows []map[string]any) (datasets.Set, error) {
	p := pipeline.Find(m.Predictor)
	if p == nil {
		return datasets.Set{}, fmt.Errorf("pipeline: %T is no fitted pipeline", m.Predictor)
	}
	set, err := rowencoding.New(m.Schema, p.InputWidth(), nil, nil).Encode(rows)
	if err != nil {
		return datasets.Set{}, fmt.Errorf("pipeline: %w", err)
	}
	return set, nil
}

// PredictRows predicts rows: maps of values by the name of their column, as [Model.Encode] takes
// them, or structs of the type of [datasets.FromStructs], of which the target is ignored.
//
//	answers, err := model.PredictRows(ctx, []map[string]any{{"age": 39, "education": "Bachelors"}})
//	fmt.Println(answers[0])         // >50K (0.83)
//	fmt.Println(answers[0].Class)   // >50K
func (m *Model) PredictRows(ctx context.Context, rows any) ([]RowPrediction, error) {
	maps, ok := rows.([]map[string]any)
	if !ok && rows != nil {
		target := ""
		if len(m.Schema.Targets) == 1 {
			target = m.Schema.Targets[0].Name
		}
		list, err := structrows.Of(rows)
		if err != nil {
			return nil, fmt.Errorf("pipeline: %w", err)
		}
		if maps, err = structMaps(list, target); err != nil {
			return nil, err
		}
	}
	set, err := m.Encode(maps)
	if err != nil {
		return nil, err
	}
	out := make([]RowPrediction, len(maps))
	output, err := estimator.Predict(ctx, m.Predictor, set.X, estimator.Request{})
	if err != nil {
		return nil, err
	}
	classes := estimator.OutputsOf(m.Predictor).Classes
	for i := range out {
		out[i] = rowPrediction(output, i, classes, m.Schema.Targets)
	}
	return out, nil
}

// RowPrediction is what a model predicts for one row. It prints as the class and its probability, or as
// the number, that of a cluster among them; of a row that may be an anomaly as usual or unusual, and its score.
type RowPrediction struct {
	Value         float64            `json:"value"`                   // the number; of a class, its code
	Class         string             `json:"class,omitempty"`         // name of the class; "" in regression
	Probabilities map[string]float64 `json:"probabilities,omitempty"` // by class; nil where the model has none
	// by class, of a classifier without probabilities; of two classes that of the second
	Scores map[string]float64 `json:"scores,omitempty"`
	// standard deviation of a new observation; nil if unavailable
	Std *float64 `json:"std,omitempty"`
	// bounds of the prediction interval of a new observation
	Lower        *float64 `json:"lower,omitempty"`
	Upper        *float64 `json:"upper,omitempty"`
	AnomalyScore *float64 `json:"anomaly_score,omitempty"` // anomaly score; nil if unavailable
	// by name, if there are several targets; Value, Std, Lower and Upper are those of the first
	Targets      map[string]float64 `json:"targets,omitempty"`
	TargetsStd   map[string]float64 `json:"targets_std,omitempty"`
	TargetsLower map[string]float64 `json:"targets_lower,omitempty"`
	TargetsUpper map[string]float64 `json:"targets_upper,omitempty"`
	Set          []string           `json:"set,omitempty"` // names of the classes that a new class is to be among
}

func rowPrediction(output estimator.Prediction, i int, classes []string, targets []datasets.Column) RowPrediction {
	out := RowPrediction{Value: output.Values[i]}
	if k := int(out.Value); classes != nil && k >= 0 && k < len(classes) {
		out.Class = classes[k]
	}
	if classes != nil {
		out.classes(output, i, classes)
	}
	for _, one := range []struct {
		to     **float64
		values []float64
	}{{&out.Std, output.Std}, {&out.Lower, output.Lower}, {&out.Upper, output.Upper},
		{&out.AnomalyScore, output.Anomaly}} {
		if one.values != nil {
			*one.to = &one.values[i]
		}
	}
	for _, all := range []struct {
		to     *map[string]float64
		values *mat.Dense
	}{{&out.Targets, output.Targets}, {&out.TargetsStd, output.StdTargets}, {&out.TargetsLower, output.LowerTargets},
		{&out.TargetsUpper, output.UpperTargets}} {
		if all.values == nil || len(targets) < 2 {
			continue
		}
		*all.to = make(map[string]float64, len(targets))
		for t, v := range all.values.RawRowView(i) {
			(*all.to)[targets[t].Name] = v
		}
	}
	return out
}

// classes sets the class and the probabilities of row i.
func (p *RowPrediction) classes(output estimator.Prediction, i int, classes []string) {
	switch {
	case output.Probabilities != nil:
		p.Probabilities = byName(classes, output.Probabilities.RawRowView(i))
	case output.Scores != nil && len(classes) == 2: // of the second class
		p.Scores = byName(classes[1:], output.Scores.RawRowView(i))
	case output.Scores != nil:
		p.Scores = byName(classes, output.Scores.RawRowView(i))
	}
	if output.Sets != nil {
		p.Set = []string{}
		for k, is := range output.Sets.RawRowView(i) {
			if is != 0 {
				p.Set = append(p.Set, classes[k])
			}
		}
	}
}

func byName(names []string, values []float64) map[string]float64 {
	out := make(map[string]float64, len(values))
	for k, v := range values {
		out[names[k]] = v
	}
	return out
}

// String returns the class with its probability, if known; the number, or each target with its
// name; or whether the row is an anomaly.
func (p RowPrediction) String() string {
	switch {
	case p.Class != "" && p.Probabilities != nil:
		return p.Class + " (" + digits(p.Probabilities[p.Class], 3) + ")"
	case p.Class != "":
		return p.Class
	case p.Targets != nil:
		var words []string
		for _, name := range slices.Sorted(maps.Keys(p.Targets)) {
			words = append(words, name+" "+digits(p.Targets[name], 6))
		}
		return strings.Join(words, ", ")
	}
	if p.AnomalyScore != nil {
		word := "usual"
		if p.Value == 1 {
			word = "unusual"
		}
		return word + " (" + digits(*p.AnomalyScore, 3) + ")"
	}
	return digits(p.Value, 6)
}

// digits formats a number with n significant digits.
func digits(v float64, n int) string { return strconv.FormatFloat(v, 'g', n, 64) }
