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
	effectRows   = 500 // looked at for an effect where nothing is said
	effectValues = 20  // of an input of numbers
	effectLevels = 12  // of a category, the most frequent
	effectMost   = 3   // classes of many, those whose probability changes most
)

// Effect is what a model predicts on average where an input has a value, whatever the others are.
type Effect struct {
	Input  string    `json:"input"`
	Class  string    `json:"class,omitempty"`  // whose probability or decision score it is
	Target string    `json:"target,omitempty"` // of several
	Of     string    `json:"of"`               // prediction, probability or decision
	Values []float64 `json:"values,omitempty"` // of a number, rising
	Levels []string  `json:"levels,omitempty"` // of a category, the most frequent first
	Mean   []float64 `json:"mean"`             // for each value or level
}

// PartialDependence returns what the model predicts on average over the rows where an input has each of some values and
// the others are as they are:
//
//	effect(v) = Σ w_i·f(x_i with column j set to v) / Σ w_i
//
// The values are those of the column where these are at most 20, else 20 of its quantiles from 2.5 to 97.5 %; of a
// category its 12 most frequent levels. There is an effect for each target; of two classes for the second, of more for
// the three that change most. Rows without a value in the column count as others do. o.Rows is 500 where it is 0; score
// and repeats are not read. The cost is that of values × rows predictions.
func PartialDependence(ctx context.Context, model estimator.Predictor, data datasets.Set, column int, o Options) (Effects, error) {
	if o.Rows == 0 {
		o.Rows = effectRows
	}
	if err := o.check(model, data); err != nil {
		return nil, err
	}
	if column < 0 || column >= data.Cols() {
		return nil, fmt.Errorf("importance: column %d, wanted one of 0 to %d", column, data.Cols()-1)
	}
	data = data.EvenlySpaced(o.Rows)
	v := newVaried(data.X)
	base := Effect{Input: data.Schema.Name(column)}
	grid := base.grid(data.Schema.Column(column), v.values(column))
	if len(grid) == 0 {
		return nil, fmt.Errorf("importance: no row has a value of %s", base.Input)
	}
	var means [][]float64 // by output, then value
	var names []string
	several := false
	for k, value := range grid {
		v.fill(column, value)
		said, err := estimator.Predict(ctx, model, v.rows(), averaged)
		if err != nil {
			return nil, wrapped(ctx, err)
		}
		var outputs []float64
		outputs, base.Of = averages(said, data.Weights)
		if k == 0 {
			means = make([][]float64, len(outputs))
			several = said.Targets != nil && base.Of == "prediction"
			names = namesOf(model, data, len(outputs), base.Of)
		}
		for q, mean := range outputs {
			means[q] = append(means[q], mean)
		}
	}
	order := make([]int, len(means))
	for q := range order {
		order[q] = q
	}
	if base.Of != "prediction" && len(means) == 2 {
		order = []int{1}
	} else if base.Of != "prediction" && len(means) > effectMost {
		change := func(q int) float64 { return slices.Max(means[q]) - slices.Min(means[q]) }
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(change(b), change(a)) })
		order = order[:effectMost]
		slices.Sort(order)
	}
	var out []Effect
	for _, q := range order {
		e := base
		e.Mean = means[q]
		if several {
			e.Target = names[q]
		} else if base.Of != "prediction" {
			e.Class = names[q]
		}
		out = append(out, e)
	}
	return out, nil
}

// grid chooses the values that are looked at, and notes them.
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
		distinct = distinct[:min(len(distinct), effectLevels)]
		for _, x := range distinct {
			name := fmt.Sprint(x)
			if k := int(x); k >= 0 && k < len(column.Categories) {
				name = column.Categories[k]
			}
			e.Levels = append(e.Levels, name)
		}
		return distinct
	}
	if len(distinct) > effectValues {
		sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
		slices.Sort(sorted)
		distinct = distinct[:0]
		for k := range effectValues {
			share := 0.025 + 0.95*float64(k)/(effectValues-1)
			distinct = append(distinct, sorted[int(math.Round(share*float64(len(sorted)-1)))])
		}
		distinct = slices.Compact(distinct)
	}
	e.Values = distinct
	return distinct
}

// averaged are the outputs that averages reads.
var averaged = estimator.Request{Outputs: estimator.Values | estimator.Targets | estimator.Scores | estimator.Probabilities}

// averages returns the means of what a model said over the rows, and what that is.
func averages(p estimator.Prediction, weights []float64) ([]float64, string) {
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

// namesOf are the names of classes or targets.
func namesOf(model estimator.Predictor, data datasets.Set, outputs int, of string) []string {
	names := make([]string, outputs)
	if of == "prediction" {
		for q := range names {
			if names[q] = fmt.Sprintf("target %d", q); q < len(data.Schema.Targets) {
				names[q] = data.Schema.Targets[q].Name
			}
		}
		return names
	}
	classes := data.Schema.Classes()
	if len(classes) == 0 {
		classes = estimator.OutputsOf(model).Classes
	}
	for q := range names {
		switch {
		case outputs == 1 && len(classes) == 2: // a decision score is that of the second
			names[q] = classes[1]
		case q < len(classes):
			names[q] = classes[q]
		default:
			names[q] = fmt.Sprint(q)
		}
	}
	return names
}
