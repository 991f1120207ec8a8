package transformer

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/sparse"
)

// moments are the number of values, the mean and the sum of squared deviations from it of every
// column, missing values left out.
type moments struct {
	count        []float64
	mean, square []float64
}

// columnMoments reads src once. Each block is summed by the corrected two-pass algorithm and merged
// into the total as Chan, Golub and LeVeque (1979) do, so that a large mean costs no digits.
func columnMoments(ctx context.Context, step string, src datasets.Source, missing bool) (*moments, int, error) {
	_, width := src.Dims()
	sums := newMomentSums(width)
	rows, err := fold(ctx, step, src, missing, func(first int, X mat.Matrix) error { return sums.add(ctx, first, X) })
	return sums.total, rows, err
}

// momentSums are moments as the sums of a pass.
type momentSums struct{ total, block *moments }

func newMomentSums(width int) *momentSums {
	return &momentSums{total: newMoments(width), block: newMoments(width)}
}

func (m *momentSums) add(_ context.Context, _ int, X mat.Matrix) error {
	m.block.of(X)
	m.total.merge(m.block)
	return nil
}

func (m *momentSums) merge(other inputSums) error {
	m.total.merge(other.(*momentSums).total)
	return nil
}

func (m *momentSums) next(context.Context) (inputSums, error) { return nil, nil }

func (m *momentSums) state(s *model.State) { m.total.state(s) }

func (m *moments) state(s *model.State) {
	width := len(m.mean)
	pass.Floats(s, "count", &m.count, width, pass.Count)
	pass.Floats(s, "mean", &m.mean, width, nil)
	pass.Floats(s, "square", &m.square, width, nil)
}

func newMoments(width int) *moments {
	return &moments{count: make([]float64, width), mean: make([]float64, width), square: make([]float64, width)}
}

// of replaces m by the moments of X.
func (m *moments) of(X mat.Matrix) {
	clear(m.count)
	clear(m.mean)
	clear(m.square)
	eachEntry(X, func(j int, v, times float64) {
		m.count[j] += times
		m.mean[j] += v * times
	})
	for j := range m.mean {
		m.mean[j] /= max(m.count[j], 1)
	}
	residual := make([]float64, len(m.mean))
	eachEntry(X, func(j int, v, times float64) {
		d := v - m.mean[j]
		residual[j] += d * times
		m.square[j] += d * d * times
	})
	for j, r := range residual {
		if n := m.count[j]; n > 0 {
			m.mean[j] += r / n
			m.square[j] = max(0, m.square[j]-r*r/n)
		}
	}
}

// merge adds the moments of other rows.
func (m *moments) merge(o *moments) {
	for j, n := range o.count {
		if n == 0 {
			continue
		}
		all := m.count[j] + n
		delta := o.mean[j] - m.mean[j]
		m.mean[j] += delta * (n / all)
		m.square[j] += o.square[j] + delta*delta*(m.count[j]*n/all)
		m.count[j] = all
	}
}

// deviation returns the standard deviation of column j (divisor n), 0 where its values differ by
// rounding only.
func (m *moments) deviation(j int) float64 {
	const rounding = 10 * 0x1p-52
	sd := math.Sqrt(m.square[j] / max(m.count[j], 1))
	if sd <= rounding*math.Abs(m.mean[j]) {
		return 0
	}
	return sd
}

// eachEntry calls f for every value of X that is not missing; the zeros that a sparse matrix does
// not store come at the end, those of a column together.
func eachEntry(X mat.Matrix, f func(j int, v, times float64)) {
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
