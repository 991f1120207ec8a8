package modelfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowencoding"
	"github.com/bochner-ml/bochner/internal/rows/structrows"
	"github.com/bochner-ml/bochner/pipeline"
)

// Encode converts rows, which map column names to values, to a set for the model. Columns without
// names at fit are called x0, x1, ….
//
// Every row must have a value for every column. nil, NaN, the empty string, and the strings in
// Schema.Missing are missing values. A numeric column accepts numbers, true and false as 1 and 0,
// and strings with a number. A categorical column accepts a category, or a number or bool whose
// text is a category; unknown categories become [datasets.Unknown]. A [time.Time], or a date string
// with the year first, sets the columns that [datasets.Date] derives from a date: a value sold sets
// sold_year and sold_month.
//
// Rows may include the targets. The set then has targets, NaN where a row has none or an unknown
// class. All errors are joined, with a [datasets.RowError] for each.
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

// PredictRows predicts rows, which are maps as in [Model.Encode] or structs as in
// [datasets.FromStructs]; the target of structs is ignored.
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
	has := estimator.OutputsOf(m.Predictor)
	for i := range out {
		out[i] = rowPrediction(output, i, has.Classes, m.Schema.Targets)
		if has.Labels != nil {
			out[i].labels(output, i, has.Labels)
		}
	}
	return out, nil
}

// PredictRow predicts one row, a map or a struct (or a pointer to one) as in [Model.PredictRows].
//
//	answer, err := model.PredictRow(ctx, Flat{Size: 62, District: "harbour"})
func (m *Model) PredictRow(ctx context.Context, row any) (RowPrediction, error) {
	var rows any
	switch v := reflect.ValueOf(row); {
	case !v.IsValid():
		return RowPrediction{}, errors.New("pipeline: row must be a struct or a map, got nil")
	case v.Kind() == reflect.Map:
		named, ok := row.(map[string]any)
		if !ok {
			return RowPrediction{}, fmt.Errorf("pipeline: row must be a struct or a map[string]any, got %T", row)
		}
		rows = []map[string]any{named}
	default:
		list := reflect.MakeSlice(reflect.SliceOf(v.Type()), 1, 1)
		list.Index(0).Set(v)
		rows = list.Interface()
	}
	answers, err := m.PredictRows(ctx, rows)
	if err != nil {
		return RowPrediction{}, err
	}
	return answers[0], nil
}

// RowPrediction is the prediction of a model for one row. Its String method returns the class and
// its probability, the number or cluster index, or, for anomaly detection, "usual" or "unusual"
// with the score.
type RowPrediction struct {
	Value         float64            `json:"value"`                   // predicted number, or code of the class
	Class         string             `json:"class,omitempty"`         // name of the class; "" in regression
	Probabilities map[string]float64 `json:"probabilities,omitempty"` // by class or label; nil if unavailable
	// Scores contains decision scores by class or label, for a classifier without probabilities; with
	// two classes only that of the second.
	Scores map[string]float64 `json:"scores,omitempty"`
	// Std is the standard deviation of a new observation; nil if unavailable.
	Std *float64 `json:"std,omitempty"`
	// Lower and Upper are the ends of a prediction interval; nil if unavailable.
	Lower        *float64 `json:"lower,omitempty"`
	Upper        *float64 `json:"upper,omitempty"`
	AnomalyScore *float64 `json:"anomaly_score,omitempty"` // nil if unavailable
	// Targets contains all targets by name if there are several, labels with 1 or 0; Value, Std, Lower
	// and Upper then belong to the first one.
	Targets      map[string]float64 `json:"targets,omitempty"`
	TargetsStd   map[string]float64 `json:"targets_std,omitempty"`
	TargetsLower map[string]float64 `json:"targets_lower,omitempty"`
	TargetsUpper map[string]float64 `json:"targets_upper,omitempty"`
	Set          []string           `json:"set,omitempty"` // prediction set: names of the classes
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

// classes sets the class, the probabilities and the scores of row i.
func (p *RowPrediction) classes(output estimator.Prediction, i int, classes []string) {
	switch {
	case output.Probabilities != nil:
		p.Probabilities = byName(classes, output.Probabilities.RawRowView(i))
	case output.Scores != nil && len(classes) == 2: // score of the second class
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

// labels sets the labels of row i and their probabilities or scores.
func (p *RowPrediction) labels(output estimator.Prediction, i int, labels []string) {
	p.Targets = byName(labels, output.Targets.RawRowView(i))
	if output.Probabilities != nil {
		p.Probabilities = byName(labels, output.Probabilities.RawRowView(i))
	} else {
		p.Scores = byName(labels, output.Scores.RawRowView(i))
	}
}

func byName(names []string, values []float64) map[string]float64 {
	out := make(map[string]float64, len(values))
	for k, v := range values {
		out[names[k]] = v
	}
	return out
}

// String returns the class and, if known, its probability, or the number, or each target with its
// name, or whether the row is unusual.
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
