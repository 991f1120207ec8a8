package design

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/sparse"
)

// Moments are the number of values, the mean and the sum of squared deviations from it of every column, missing values
// left out. Those of a block are summed by the corrected two-pass algorithm and merged into those of all rows as Chan,
// Golub and LeVeque (1979) do, so that a large mean costs no digits.
type Moments struct {
	Count        []float64
	Mean, Square []float64
}

// NewMoments returns those of no rows of a width.
func NewMoments(width int) *Moments {
	return &Moments{Count: make([]float64, width), Mean: make([]float64, width), Square: make([]float64, width)}
}

// Of replaces m by the moments of X, a *mat.Dense or *sparse.CSR.
func (m *Moments) Of(X mat.Matrix) {
	clear(m.Count)
	clear(m.Mean)
	clear(m.Square)
	EachEntry(X, func(j int, v, times float64) {
		m.Count[j] += times
		m.Mean[j] += v * times
	})
	for j := range m.Mean {
		m.Mean[j] /= max(m.Count[j], 1)
	}
	residual := make([]float64, len(m.Mean))
	EachEntry(X, func(j int, v, times float64) {
		d := v - m.Mean[j]
		residual[j] += d * times
		m.Square[j] += d * d * times
	})
	for j, r := range residual {
		if n := m.Count[j]; n > 0 {
			m.Mean[j] += r / n
			m.Square[j] = max(0, m.Square[j]-r*r/n)
		}
	}
}

// Merge adds the moments of other rows.
func (m *Moments) Merge(o *Moments) {
	for j, n := range o.Count {
		if n == 0 {
			continue
		}
		all := m.Count[j] + n
		delta := o.Mean[j] - m.Mean[j]
		m.Mean[j] += delta * (n / all)
		m.Square[j] += o.Square[j] + delta*delta*(m.Count[j]*n/all)
		m.Count[j] = all
	}
}

// Whole returns the moments of the entries of all columns together, as those of a single one.
func (m *Moments) Whole() *Moments {
	all := NewMoments(1)
	for j := range m.Count {
		all.Merge(&Moments{Count: m.Count[j : j+1], Mean: m.Mean[j : j+1], Square: m.Square[j : j+1]})
	}
	return all
}

// Deviation returns the standard deviation of column j (divisor n), 0 where its values differ by
// rounding only.
func (m *Moments) Deviation(j int) float64 {
	const rounding = 10 * 0x1p-52
	sd := math.Sqrt(m.Square[j] / max(m.Count[j], 1))
	if sd <= rounding*math.Abs(m.Mean[j]) {
		return 0
	}
	return sd
}

// EachEntry calls f for every value of X, a *mat.Dense or *sparse.CSR, that is not missing; the zeros that a sparse matrix does
// not store come at the end, those of a column together.
func EachEntry(X mat.Matrix, f func(j int, v, times float64)) {
	n, d := X.Dims()
	m, ok := X.(*sparse.CSR)
	if !ok {
		dense := X.(*mat.Dense)
		for i := range n {
			for j, v := range dense.RawRowView(i) {
				if v == v {
					f(j, v, 1)
				}
			}
		}
		return
	}
	shared, _ := m.Shared()
	stored := make([]int, d)
	for i := range n {
		columns, values := m.Row(i)
		for k, j := range columns {
			stored[j]++
			v := shared
			if values != nil {
				v = values[k]
			}
			if v == v {
				f(int(j), v, 1)
			}
		}
	}
	for j, k := range stored {
		if k < n {
			f(j, 0, float64(n-k))
		}
	}
}
