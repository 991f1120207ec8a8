package model

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/learning/coverage"
)

// Prediction contains the outputs of a model for rows. Outputs that were not requested, or that the
// model does not have, are nil.
type Prediction struct {
	Values  []float64  // rows: targets, the first of several, or class codes
	Targets *mat.Dense // rows × targets; of labels 1 for a row that has it, else 0
	// rows × classes, the largest is the prediction; one column, positive for the second class, for
	// two classes; one column for each label, positive for rows that have it
	Scores        *mat.Dense
	Probabilities *mat.Dense // rows × classes; of labels the probabilities of 1
	Std           []float64  // rows: standard deviation of a new observation
	Lower, Upper  []float64  // rows: ends of an interval that contains a new observation with the probability level
	// The same for several targets, rows × targets.
	StdTargets, LowerTargets, UpperTargets *mat.Dense

	// rows × classes: 1 for each class of a set that contains the class with the probability level,
	// else 0
	Sets    *mat.Dense
	Anomaly []float64 // rows: anomaly score, positive for rows that are predicted to be anomalies
}

// Parts returns pointers to the fields of p with one number per row, and to those with one matrix
// row per row.
func (p *Prediction) Parts() (vectors []*[]float64, matrices []**mat.Dense) {
	return []*[]float64{&p.Values, &p.Std, &p.Lower, &p.Upper, &p.Anomaly},
		[]**mat.Dense{&p.Targets, &p.Scores, &p.Probabilities, &p.StdTargets, &p.LowerTargets, &p.UpperTargets, &p.Sets}
}

// Put copies row k of block to row at(k) of p, which has n rows, unless at(k) is negative. Outputs
// of which p has none are allocated.
func (p *Prediction) Put(block Prediction, n int, at func(k int) int) {
	to, toMatrices := p.Parts()
	from, fromMatrices := block.Parts()
	for k, v := range from {
		if *to[k] == nil && *v != nil {
			*to[k] = make([]float64, n)
		}
		for i, x := range *v {
			if row := at(i); row >= 0 {
				(*to[k])[row] = x
			}
		}
	}
	for k, m := range fromMatrices {
		if *m == nil || (*m).IsEmpty() {
			continue
		}
		rows, cols := (*m).Dims()
		if *toMatrices[k] == nil {
			*toMatrices[k] = mat.NewDense(n, cols, nil)
		}
		for i := range rows {
			if row := at(i); row >= 0 {
				copy((*toMatrices[k]).RawRowView(row), (*m).RawRowView(i))
			}
		}
	}
}

// Append returns p followed by the prediction for more rows, with capacity for the given number of rows. It may reuse
// the arrays of p.
func (p Prediction) Append(more Prediction, rows int) Prediction {
	to, toMatrices := p.Parts()
	from, fromMatrices := more.Parts()
	for k := range to {
		if *to[k] == nil && *from[k] != nil {
			*to[k] = make([]float64, 0, rows)
		}
		*to[k] = append(*to[k], *from[k]...)
	}
	for k, m := range fromMatrices {
		if *m == nil {
			continue
		}
		n, cols := (*m).Dims()
		data := make([]float64, 0, max(rows, n)*cols)
		if *toMatrices[k] != nil {
			data = (*toMatrices[k]).RawMatrix().Data
		}
		for i := range n {
			data = append(data, (*m).RawRowView(i)...)
		}
		if *toMatrices[k] = (&mat.Dense{}); len(data) > 0 {
			*toMatrices[k] = mat.NewDense(len(data)/cols, cols, data)
		}
	}
	return p
}

// WithNormalIntervals returns p with the intervals that contain a new observation with the probability level if it
// has a normal distribution: see normalInterval. Level 0 means 0.9.
func (p Prediction) WithNormalIntervals(level float64) Prediction {
	if level == 0 {
		level = coverage.DefaultLevel
	}
	p.Lower, p.Upper = normalInterval(p.Values, p.Std, level)
	if p.StdTargets == nil {
		return p
	}
	if p.LowerTargets, p.UpperTargets = (&mat.Dense{}), (&mat.Dense{}); !p.StdTargets.IsEmpty() {
		n, t := p.StdTargets.Dims()
		lower, upper := normalInterval(p.Targets.RawMatrix().Data, p.StdTargets.RawMatrix().Data, level)
		p.LowerTargets, p.UpperTargets = mat.NewDense(n, t, lower), mat.NewDense(n, t, upper)
	}
	return p
}

// normalInterval returns the ends of the intervals that contain numbers of normal distributions with the given means
// and standard deviations with the probability level: mean ± std·√2·erf⁻¹(level).
func normalInterval(mean, std []float64, level float64) (lower, upper []float64) {
	reach := coverage.Deviations(level)
	lower, upper = make([]float64, len(mean)), make([]float64, len(mean))
	for i, m := range mean {
		lower[i], upper[i] = m-reach*std[i], m+reach*std[i]
	}
	return lower, upper
}
