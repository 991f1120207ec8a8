package estimator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// diagonalMoments is moments with no more than the diagonal of the Gram matrix, for conjugate
// gradients. Nothing is shifted.
type diagonalMoments struct {
	moments
	diagonal []float64 // Σ s·x²
}

func (p *ridgeProblem) diagonalMoments(ctx context.Context) (*diagonalMoments, error) {
	var m *diagonalMoments
	err := p.rows.each(ctx, func(first int, block datasets.Set) error {
		y, count, weights, err := p.block(first, block)
		if err != nil {
			return err
		}
		if m == nil {
			m = &diagonalMoments{diagonal: make([]float64, p.rows.cols), moments: moments{
				cols: p.rows.cols, targets: count, centred: p.Intercept, targetShift: make([]float64, count),
				sum: make([]float64, p.rows.cols), targetSum: make([]float64, count),
				cross: make([]float64, p.rows.cols*count), squares: make([]float64, count)}}
		}
		if count != m.targets {
			return fmt.Errorf("rows from %d: %d targets, wanted %d", first, count, m.targets)
		}
		m.addBlock(block.X, y, weights)
		if !finite(m.diagonal) {
			return nameFault(first, block)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	case m.weight == 0:
		return nil, errors.New("every weight is 0")
	}
	return m, nil
}

func (m *diagonalMoments) addBlock(X mat.Matrix, y, weights []float64) {
	X = widened(X)
	n, d := X.Dims()
	if weights == nil {
		weights = slices.Repeat([]float64{1}, n)
	}
	m.rows += n
	m.weight += kern.Sum(weights)
	weighted := make([]float64, len(y))
	m.addTargets(weighted, y, weights, n)
	right, cross := kern.Dense(n, m.targets, m.targets, weighted), kern.Dense(d, m.targets, m.targets, m.cross)
	switch x := X.(type) {
	case *sparse.CSR:
		kern.SparseMulVecT(m.sum, compressed(x), weights, true)
		kern.SparseMulT(cross, compressed(x), right, true)
		scale, _ := x.Shared()
		for i := range n {
			columns, values := x.Row(i)
			for q, j := range columns {
				v := scale
				if values != nil {
					v = values[q]
				}
				m.diagonal[j] += weights[i] * v * v
			}
		}
	case *mat.Dense:
		kern.MulVecT(m.sum, view(x), weights, true)
		kern.Mul(cross, view(x).T(), right, true)
		for i := range n {
			for j, v := range x.RawRowView(i) {
				m.diagonal[j] += weights[i] * v * v
			}
		}
	}
}

// centredDiagonal returns the diagonal of the centred Gram matrix.
func (m *diagonalMoments) centredDiagonal() []float64 {
	out := slices.Clone(m.diagonal)
	if m.centred {
		for j, s := range m.sum {
			if out[j] -= s * s / m.weight; out[j] <= 16*epsilon*m.diagonal[j] {
				out[j] = 0
			}
		}
	}
	return out
}

// product adds X'S(Xv) over rows to dst; v is cols × targets.
func (m *diagonalMoments) product(dst, v []float64, X mat.Matrix, weights []float64) {
	if narrow, ok := X.(*single.Dense); ok {
		m.productSingle(dst, v, viewSingle(narrow), weights)
		return
	}
	n, d := X.Dims()
	t := m.targets
	scores := make([]float64, n*t)
	inner, out, in := kern.Dense(n, t, t, scores), kern.Dense(d, t, t, dst), kern.Dense(d, t, t, v)
	weigh := func() {
		for i, s := range weights {
			kern.Scale(s, scores[i*t:(i+1)*t])
		}
	}
	switch x := X.(type) {
	case *sparse.CSR:
		if t == 1 {
			kern.SparseMulVec(scores, compressed(x), v, false)
		} else {
			kern.SparseMul(inner, compressed(x), in, false)
		}
		weigh()
		kern.SparseMulT(out, compressed(x), inner, true)
	case *mat.Dense:
		if t == 1 {
			kern.MulVec(scores, view(x), v, false)
			weigh()
			kern.MulVecT(dst, view(x), scores, true)
			return
		}
		kern.Mul(inner, view(x), in, false)
		weigh()
		kern.Mul(out, view(x).T(), inner, true)
	}
}

// productSingle is product of rows in single precision, with sums over tiles of them in double.
func (m *diagonalMoments) productSingle(dst, v []float64, X kern.View[float32], weights []float64) {
	const size = 256
	n, d, t := X.Rows, X.Cols, m.targets
	scores, short, own := borrow[float64](size*t), borrow[float32](d*t), borrow[float32]((size+d)*t)
	defer scores.release()
	defer short.release()
	defer own.release()
	turned(short.list, v, t)
	sums := borrow[float64](d * t)
	defer sums.release()
	clear(sums.list)
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		part, rows := scores.list[:(hi-lo)*t], X.Slice(lo, hi, 0, d)
		project(part, rows, short.list, own.list)
		if weights != nil {
			for i, s := range weights[lo:hi] {
				kern.Scale(s, part[i*t:(i+1)*t])
			}
		}
		collect(sums.list, rows, part, own.list)
	}
	addTurned(dst, sums.list, t)
}
