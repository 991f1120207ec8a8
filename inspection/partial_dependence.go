package inspection

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

const (
	defaultEffectRows = 500 // default number of rows
	maxGridValues     = 20  // for numeric inputs
	maxCategories     = 12  // most frequent categories
	maxClasses        = 3   // of a multiclass model: those whose probability changes most
)

// Effect is the partial dependence of one output of a model on one input.
type Effect struct {
	Input      string    `json:"input"`
	Class      string    `json:"class,omitempty"`  // class of the probability or decision score
	Target     string    `json:"target,omitempty"` // name, for several targets
	Output     string    `json:"of"`               // prediction, probability or decision
	Values     []float64 `json:"values,omitempty"` // of a numeric input, ascending
	Categories []string  `json:"levels,omitempty"` // of a categorical input, in descending order of frequency
	Mean       []float64 `json:"mean"`             // mean output per value or category
}

// PartialDependence returns the mean output of the model with one input set to each value of a grid
// and all other inputs unchanged:
//
//	effect(v) = Σ w_i·f(x_i with column j set to v) / Σ w_i
//
// The grid of a numeric input consists of its distinct values, or of 20 quantiles between 2.5 and
// 97.5 % if there are more than 20; that of a categorical input of its 12 most frequent categories.
// There is one effect per target. Binary classification returns the effect on the second class,
// multiclass classification on the three classes that change most. Rows with a missing value in the
// column are included. A zero o.Rows means 500; Metric and Repeats are ignored. Cost: grid values ×
// rows predictions.
func PartialDependence(ctx context.Context, model estimator.Predictor, data datasets.Set, column int,
	o Options) (Effects, error) {
	if o.Rows == 0 {
		o.Rows = defaultEffectRows
	}
	if err := o.check(model, data); err != nil {
		return nil, err
	}
	if column < 0 || column >= data.Cols() {
		return nil, fmt.Errorf("inspection: column must be 0 to %d, got %d", data.Cols()-1, column)
	}
	if data.Schema.Column(column).Kind == datasets.Text {
		return nil, fmt.Errorf("inspection: column %s must be numeric or categorical, got text", data.Schema.Name(column))
	}
	data = data.EvenlySpaced(o.Rows)
	rows := newColumnEditor(data.X)
	base := Effect{Input: data.Schema.Name(column)}
	grid := base.grid(data.Schema.Column(column), rows.values(column))
	if len(grid) == 0 {
		return nil, fmt.Errorf("inspection: column %s has no values", base.Input)
	}
	var means [][]float64 // by output, then value
	var names []string
	multiTarget := false
	for k, value := range grid {
		rows.fill(column, value)
		prediction, err := estimator.Predict(ctx, model, rows.matrix(), averagedOutputs)
		if err != nil {
			return nil, wrapError(ctx, err)
		}
		var outputs []float64
		outputs, base.Output = meanOutputs(prediction, data.Weights)
		if k == 0 {
			means = make([][]float64, len(outputs))
			multiTarget = prediction.Targets != nil && base.Output == "prediction"
			names = outputNames(model, data, len(outputs), base.Output)
		}
		for q, mean := range outputs {
			means[q] = append(means[q], mean)
		}
	}
	order := make([]int, len(means))
	for q := range order {
		order[q] = q
	}
	if base.Output != "prediction" && len(means) == 2 && estimator.OutputsOf(model).Labels == nil {
		order = []int{1}
	} else if base.Output != "prediction" && len(means) > maxClasses {
		change := func(q int) float64 { return slices.Max(means[q]) - slices.Min(means[q]) }
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(change(b), change(a)) })
		order = order[:maxClasses]
		slices.Sort(order)
	}
	var out []Effect
	for _, q := range order {
		e := base
		e.Mean = means[q]
		if multiTarget {
			e.Target = names[q]
		} else if base.Output != "prediction" {
			e.Class = names[q]
		}
		out = append(out, e)
	}
	return out, nil
}

// grid returns the grid of an input and stores it in e.
func (e *Effect) grid(column datasets.Column, values []float64) []float64 {
	counts := map[float64]int{}
	for _, x := range values {
		if x == x && x != float64(datasets.Unknown) {
			counts[x]++
		}
	}
	var distinct []float64
	for x := range counts {
		distinct = append(distinct, x)
	}
	slices.Sort(distinct)
	if column.Kind == datasets.Categorical {
		slices.SortStableFunc(distinct, func(a, b float64) int { return cmp.Compare(counts[b], counts[a]) })
		distinct = distinct[:min(len(distinct), maxCategories)]
		for _, x := range distinct {
			name := fmt.Sprint(x)
			if k := int(x); k >= 0 && k < len(column.Categories) {
				name = column.Categories[k]
			}
			e.Categories = append(e.Categories, name)
		}
		return distinct
	}
	if len(distinct) > maxGridValues {
		sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
		slices.Sort(sorted)
		distinct = distinct[:0]
		for k := range maxGridValues {
			share := 0.025 + 0.95*float64(k)/(maxGridValues-1)
			distinct = append(distinct, sorted[int(math.Round(share*float64(len(sorted)-1)))])
		}
		distinct = slices.Compact(distinct)
	}
	e.Values = distinct
	return distinct
}

// averagedOutputs are the outputs that meanOutputs reads.
var averagedOutputs = estimator.Request{
	Outputs: estimator.OutputValues | estimator.OutputTargets | estimator.OutputScores | estimator.OutputProbabilities,
}

// meanOutputs returns the mean outputs over the rows and their kind.
func meanOutputs(p estimator.Prediction, weights []float64) ([]float64, string) {
	switch {
	case p.Probabilities != nil && !p.Probabilities.IsEmpty():
		return columnMeans(p.Probabilities, weights), "probability"
	case p.Scores != nil && !p.Scores.IsEmpty():
		return columnMeans(p.Scores, weights), "decision"
	case p.Targets != nil && !p.Targets.IsEmpty():
		return columnMeans(p.Targets, weights), "prediction"
	}
	return columnMeans(mat.NewDense(len(p.Values), 1, p.Values), weights), "prediction"
}

func columnMeans(m *mat.Dense, weights []float64) []float64 {
	n, q := m.Dims()
	out, total := make([]float64, q), 0.0
	for i := range n {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		total += w
		for k, x := range m.RawRowView(i) {
			out[k] += w * x
		}
	}
	for k := range out {
		out[k] /= total
	}
	return out
}

// outputNames returns the names of classes, labels or targets.
func outputNames(model estimator.Predictor, data datasets.Set, outputs int, of string) []string {
	names := make([]string, outputs)
	if of == "prediction" {
		for q := range names {
			if names[q] = fmt.Sprintf("target %d", q); q < len(data.Schema.Targets) {
				names[q] = data.Schema.Targets[q].Name
			}
		}
		return names
	}
	classes, known := data.Schema.Classes(), estimator.OutputsOf(model)
	if len(classes) == 0 {
		classes = append(known.Classes, known.Labels...)
	}
	for q := range names {
		switch {
		case outputs == 1 && len(classes) == 2: // a binary decision score refers to the second class
			names[q] = classes[1]
		case q < len(classes):
			names[q] = classes[q]
		default:
			names[q] = fmt.Sprint(q)
		}
	}
	return names
}
