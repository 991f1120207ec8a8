package metrics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// WithRows returns the input with Rows for unsupervised metrics: the numeric columns with mean 0 and variance 1;
// missing values are 0. Sparse matrices are scaled but not centered, which leaves distances unchanged. Rows is
// nil if no column is numeric.
//
// It uses the raw inputs: distances between the features of a pipeline depend on its
// hyperparameters, so that scores of different candidates would not be comparable.
//
// Shapes: n×d → n×(numeric columns). Cost: O(nd). Moments are weighted by data.Weights.
func (in Input) WithRows(data datasets.Set) Input {
	in.Rows = standardize(data)
	return in
}

func standardize(data datasets.Set) mat.Matrix {
	columns := numericColumns(data)
	if len(columns) == 0 || data.Rows() == 0 {
		return nil
	}
	if m, ok := data.X.(*matrices.CSR); ok {
		return standardizeSparse(m, data.Weights)
	}
	out, weighted := mat.NewDense(data.Rows(), len(columns), nil), Input{Weights: data.Weights}
	for to, from := range columns {
		c := columnStats{}
		for i := range data.Rows() {
			c.add(data.X.At(i, from), weighted.weight(i))
		}
		mean, scale := c.mean(), c.scale()
		for i := range data.Rows() {
			if v := data.X.At(i, from); !math.IsNaN(v) {
				out.Set(i, to, (v-mean)*scale)
			}
		}
	}
	return out
}

// numericColumns returns the indices of the numeric columns.
func numericColumns(data datasets.Set) []int {
	var out []int
	for j := range data.Cols() {
		if j >= len(data.Schema.Columns) || data.Schema.Columns[j].Kind == datasets.Numeric {
			out = append(out, j)
		}
	}
	return out
}

// columnStats accumulates the moments of a column about its first value, which avoids cancellation
// for a large mean.
type columnStats struct {
	origin        float64
	weight, x, xx sum
}

func (c *columnStats) add(value, weight float64) {
	if math.IsNaN(value) || weight == 0 {
		return
	}
	if c.weight.value() == 0 {
		c.origin = value
	}
	value -= c.origin
	c.weight.add(weight)
	c.x.add(weight * value)
	c.xx.add(weight * value * value)
}

func (c *columnStats) mean() float64 {
	if c.weight.value() == 0 {
		return 0
	}
	return c.origin + c.x.value()/c.weight.value()
}

// scale returns 1/(standard deviation), or 0 for a constant column.
func (c *columnStats) scale() float64 {
	w := c.weight.value()
	if w == 0 {
		return 0
	}
	mean := c.x.value() / w
	if variance := c.xx.value()/w - mean*mean; variance > 1e-14*c.xx.value()/w {
		return 1 / math.Sqrt(variance)
	}
	return 0
}

// standardizeSparse scales sparse rows without centering.
func standardizeSparse(m *matrices.CSR, weights []float64) mat.Matrix {
	rows, cols := m.Dims()
	indptr, indices, values := m.Raw()
	if shared, ok := m.Shared(); ok {
		values = slices.Repeat([]float64{shared}, len(indices))
	}
	columns, total, weighted := make([]columnStats, cols), sum{}, Input{Weights: weights}
	for i := range rows {
		w := weighted.weight(i)
		total.add(w)
		for k := indptr[i]; k < indptr[i+1]; k++ {
			if v := values[k]; !math.IsNaN(v) {
				columns[indices[k]].x.add(w * v)
				columns[indices[k]].xx.add(w * v * v)
			}
		}
	}
	for j := range columns {
		columns[j].weight = total // entries that are not stored are 0
	}
	out := make([]float64, len(indices))
	for k, j := range indices {
		v := values[k]
		if math.IsNaN(v) {
			v = columns[j].mean()
		}
		out[k] = v * columns[j].scale()
	}
	scaled, err := matrices.NewCSR(rows, cols, indptr, indices, out)
	if err != nil {
		panic("metrics: " + err.Error()) // the shape is that of m
	}
	return scaled
}
