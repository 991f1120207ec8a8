package metrics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/sparse"
)

// Standardised returns rows as metrics without a truth are to look at them, for [Input.Rows]: the numeric columns,
// each with mean 0 and variance 1, a missing value being the mean of its column. It is nil where no column is
// numeric. Sparse rows stay sparse and keep their means, which no distance between rows depends on.
//
// These are the rows as they come, not what a pipeline makes of them: distances there shrink and grow with gamma and
// the number of features, so that scores of two candidates would not be of one kind.
//
// Shapes: n×d → n×(numeric columns). Cost: O(nd). Rows of weight 0 and weights count as they do in a score.
func Standardised(data datasets.Set) mat.Matrix {
	columns := numericColumns(data)
	if len(columns) == 0 || data.Rows() == 0 {
		return nil
	}
	if m, ok := data.X.(*sparse.CSR); ok {
		return standardisedSparse(m, data.Weights)
	}
	out, weighted := mat.NewDense(data.Rows(), len(columns), nil), Input{Weights: data.Weights}
	for to, from := range columns {
		c := column{}
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

// numericColumns returns the numbers of the columns that are no categories.
func numericColumns(data datasets.Set) []int {
	var out []int
	for j := range data.Cols() {
		if j >= len(data.Schema.Columns) || data.Schema.Columns[j].Kind == datasets.Numeric {
			out = append(out, j)
		}
	}
	return out
}

// column is what there is to know of a column: sums over the rows that have a value, as differences from the first of
// them, so that a large mean takes no digits from the variance.
type column struct {
	origin        float64
	weight, x, xx sum
}

func (c *column) add(value, weight float64) {
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

func (c *column) mean() float64 {
	if c.weight.value() == 0 {
		return 0
	}
	return c.origin + c.x.value()/c.weight.value()
}

// scale is one over the standard deviation, 0 where that is 0.
func (c *column) scale() float64 {
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

// standardisedSparse is Standardised of sparse rows, which are not moved to mean 0.
func standardisedSparse(m *sparse.CSR, weights []float64) mat.Matrix {
	rows, cols := m.Dims()
	indptr, indices, values := m.Raw()
	if shared, ok := m.Shared(); ok {
		values = slices.Repeat([]float64{shared}, len(indices))
	}
	columns, total, weighted := make([]column, cols), sum{}, Input{Weights: weights}
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
		columns[j].weight = total // what is not stored is 0
	}
	out := make([]float64, len(indices))
	for k, j := range indices {
		v := values[k]
		if math.IsNaN(v) {
			v = columns[j].mean()
		}
		out[k] = v * columns[j].scale()
	}
	scaled, err := sparse.New(rows, cols, indptr, indices, out)
	if err != nil {
		panic("metrics: " + err.Error()) // the shape is that of m
	}
	return scaled
}
