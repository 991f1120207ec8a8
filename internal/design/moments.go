package design

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// Moments are the count, the mean and the sum of squared deviations of every column, without
// missing values. A block uses the corrected two-pass algorithm. Blocks are merged by the update of
// Chan, Golub and LeVeque (1979), which is stable for large means.
type Moments struct {
	Count, Mean                            []float64
	SumSquares, SmallSquares, LargeSquares []float64 // sum of squared deviations, split by magnitude
}

// NewMoments returns the moments of no rows.
func NewMoments(width int) *Moments {
	return &Moments{
		Count: make([]float64, width), Mean: make([]float64, width),
		SumSquares: make([]float64, width), SmallSquares: make([]float64, width), LargeSquares: make([]float64, width),
	}
}

// Compute sets m to the moments of X, a *mat.Dense or *matrices.CSR.
func (m *Moments) Compute(X mat.Matrix) {
	clear(m.Count)
	clear(m.Mean)
	clear(m.SumSquares)
	clear(m.SmallSquares)
	clear(m.LargeSquares)
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
		m.addSquare(j, d, times)
	})
	for j, r := range residual {
		if n := m.Count[j]; n > 0 {
			m.Mean[j] += r / n
			switch { // r is rounding error, of the magnitude of the deviations
			case m.LargeSquares[j] > 0:
				m.LargeSquares[j] = max(0, m.LargeSquares[j]-(r*scaleLarge)*(r*scaleLarge)/n)
			case m.SumSquares[j] > 0:
				m.SumSquares[j] = max(0, m.SumSquares[j]-r*r/n)
			default:
				m.SmallSquares[j] = max(0, m.SmallSquares[j]-(r*scaleSmall)*(r*scaleSmall)/n)
			}
		}
	}
}

// Merge adds the moments of disjoint rows.
func (m *Moments) Merge(o *Moments) {
	for j, n := range o.Count {
		if n == 0 {
			continue
		}
		all := m.Count[j] + n
		delta := o.Mean[j] - m.Mean[j]
		m.Mean[j] += delta * (n / all)
		m.SmallSquares[j] += o.SmallSquares[j]
		m.LargeSquares[j] += o.LargeSquares[j]
		switch size := math.Abs(delta); {
		case size > largeLimit:
			m.SumSquares[j] += o.SumSquares[j]
			m.LargeSquares[j] += (delta * scaleLarge) * (delta * scaleLarge) * (m.Count[j] * n / all)
		case size < smallLimit:
			m.SumSquares[j] += o.SumSquares[j]
			m.SmallSquares[j] += (delta * scaleSmall) * (delta * scaleSmall) * (m.Count[j] * n / all)
		default:
			m.SumSquares[j] += o.SumSquares[j] + delta*delta*(m.Count[j]*n/all)
		}
		m.Count[j] = all
	}
}

// Pool returns the moments of all entries, as of a single column.
func (m *Moments) Pool() *Moments {
	all := NewMoments(1)
	for j := range m.Count {
		all.Merge(&Moments{
			Count: m.Count[j : j+1], Mean: m.Mean[j : j+1],
			SumSquares: m.SumSquares[j : j+1], SmallSquares: m.SmallSquares[j : j+1], LargeSquares: m.LargeSquares[j : j+1],
		})
	}
	return all
}

// Deviation returns the standard deviation of column j (divisor n), or 0 if its values differ only
// by rounding.
func (m *Moments) Deviation(j int) float64 {
	const rounding = 10 * 0x1p-52
	n := max(m.Count[j], 1)
	sd := math.Sqrt(m.SumSquares[j] / n)
	switch {
	case m.LargeSquares[j] > 0:
		sd = math.Sqrt((m.LargeSquares[j]+m.SumSquares[j]*scaleLarge*scaleLarge)/n) / scaleLarge
	case m.SmallSquares[j] > 0 && m.SumSquares[j] < 0x1p-900:
		sd = math.Sqrt((m.SmallSquares[j]+m.SumSquares[j]*scaleSmall*scaleSmall)/n) / scaleSmall
	}
	if sd <= rounding*math.Abs(m.Mean[j]) || sd < 0x1p-1022 { // the reciprocal of a subnormal number overflows
		return 0
	}
	return sd
}

// Deviations below smallLimit or above largeLimit are scaled before they are squared, so that
// squares neither underflow nor overflow (J. L. Blue, ACM TOMS 4, 1978).
const (
	smallLimit, scaleSmall = 0x1p-500, 0x1p500
	largeLimit, scaleLarge = 0x1p500, 0x1p-500
)

// addSquare adds times·d² to column j.
func (m *Moments) addSquare(j int, d, times float64) {
	switch size := math.Abs(d); {
	case size > largeLimit:
		m.LargeSquares[j] += (d * scaleLarge) * (d * scaleLarge) * times
	case size < smallLimit:
		m.SmallSquares[j] += (d * scaleSmall) * (d * scaleSmall) * times
	default:
		m.SumSquares[j] += d * d * times
	}
}

// EachEntry calls f for every non-missing value of X, a *mat.Dense or *matrices.CSR. The implicit
// zeros of a sparse matrix come last, one call per column with their number in times.
func EachEntry(X mat.Matrix, f func(j int, v, times float64)) {
	n, d := X.Dims()
	m, ok := X.(*matrices.CSR)
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
