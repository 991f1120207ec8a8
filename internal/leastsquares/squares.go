package leastsquares

import (
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Squares is the sum of the squared errors of a model, made of sums of products of rows and not of the rows, and the least
// that it has to be for rounding not to show in it.
type Squares struct{ Sum, Least float64 }

// squaresTold is the part of the sum of squared errors that rounding may be; of sums in single precision it is
// visibleFloat32. The bound is for the worst of rows: on a thousand random features it was some hundred times what rounding
// did in double, and a thousand times or more in single precision.
const squaresTold = 1e-8

// Told reports whether rounding does not show.
func (s Squares) Told() bool { return s.Sum >= s.Least }

// With returns the squares of these rows and of others.
func (s Squares) With(o Squares) Squares { return Squares{s.Sum + o.Sum, s.Least + o.Least} }

// SquaredErrors returns for each of some models of one target, w'x + offset on the leading columns,
//
//	Σ s·(y − w'x − offset)² = Σ s·y² − 2w'(Σ s·x·y) − 2c·Σ s·y + w'(Σ s·x·x')w + 2c·w'(Σ s·x) + c²·Σ s,
//
// all measured from the shifts, which are in c with the offset. Each term is at most (‖y‖ + ‖w‖·√trace + |c|·√Σs)² and
// has a few roundings of that, whatever is left of them all. Half of the matrix is read, once for all models: D² flops for
// each.
func (m *Moments) SquaredErrors(width int, weights [][]float64, offsets []float64) []Squares {
	out, trace := make([]Squares, len(weights)), 0.0
	for j := range width {
		trace += m.Gram[j*m.Cols+j]
	}
	told := squaresTold
	if m.Float32 {
		told = visibleFloat32
	}
	forms := m.forms(width, weights)
	for k, w := range weights {
		c := offsets[k] - m.targetShift[0]
		if m.shift != nil {
			c += kern.Dot(w, m.shift[:width])
		}
		cross := 0.0 // w'(Σ s·x·y)
		for j, v := range w {
			cross += v * m.cross[j]
		}
		size := math.Sqrt(m.squares[0]) + math.Sqrt(kern.Dot(w, w)*trace) + math.Abs(c)*math.Sqrt(m.Weight)
		out[k].Sum = m.squares[0] - 2*cross + forms[k] + c*(2*(kern.Dot(w, m.sum[:width])-m.targetSum[0])+c*m.Weight)
		out[k].Least = 4 * precisionOf(m.Float32).epsilon * size * size / told
	}
	return out
}

// forms returns w'Gw for each of the weights, G being the leading columns' Gram matrix, of which there is the lower
// triangle.
func (m *Moments) forms(width int, weights [][]float64) []float64 {
	const rows = 64
	k, out := len(weights), make([]float64, len(weights))
	all, part := design.Borrow[float64](width*k), design.Borrow[float64](rows*k)
	defer all.Release()
	defer part.Release()
	for at, w := range weights {
		for i, v := range w {
			all.List[i*k+at] = v
		}
	}
	gram := kern.Dense(m.Cols, m.Cols, m.Cols, m.Gram)
	for lo := 0; lo < width; lo += rows {
		hi := min(lo+rows, width)
		left := kern.Dense(hi-lo, k, k, part.List) // what the rows make of the columns before them
		if lo > 0 {
			kern.Mul(left, gram.Slice(lo, hi, 0, lo), kern.Dense(lo, k, k, all.List), false)
		}
		for i := lo; i < hi; i++ {
			row := m.Gram[i*m.Cols+lo : i*m.Cols+i]
			for at, w := range weights {
				sum := kern.Dot(row, w[lo:i])
				if lo > 0 {
					sum += left.At(i-lo, at)
				}
				out[at] += w[i] * (2*sum + m.Gram[i*m.Cols+i]*w[i])
			}
		}
	}
	return out
}
