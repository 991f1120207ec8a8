package leastsquares

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// diagonalMoments is moments with no more than the diagonal of the Gram matrix, for conjugate
// gradients. Nothing is shifted.
type diagonalMoments struct {
	Moments
	diagonal []float64 // Σ s·x²
	each     []float64 // the weights of all dense rows, nil for ones
}

func (p *Problem) diagonalMoments(ctx context.Context) (*diagonalMoments, error) {
	var m *diagonalMoments
	err := p.rows.Each(ctx, func(first int, block datasets.Set) error {
		y, count, weights, err := p.Block(first, block)
		if err != nil {
			return err
		}
		if m == nil {
			m = &diagonalMoments{diagonal: make([]float64, p.rows.Cols), Moments: Moments{
				Cols: p.rows.Cols, targets: count, centred: p.Intercept, targetShift: make([]float64, count),
				sum: make([]float64, p.rows.Cols), targetSum: make([]float64, count),
				cross: make([]float64, p.rows.Cols*count), squares: make([]float64, count)}}
		}
		if count != m.targets {
			return fmt.Errorf("rows from %d: %d targets, wanted %d", first, count, m.targets)
		}
		if weights != nil && !p.rows.Sparse {
			m.each = append(m.each, weights...)
		}
		err = inDouble(block.X, func(lo, hi int, X mat.Matrix) error {
			m.addBlock(X, y[lo*count:hi*count], part(weights, lo, hi-lo))
			return cause.Err(ctx)
		})
		if err != nil {
			return err
		}
		if !kern.Finite(m.diagonal) {
			return design.NameFault(first, block)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	case m.Weight == 0:
		return nil, errors.New("every weight is 0")
	}
	return m, nil
}

func (m *diagonalMoments) addBlock(X mat.Matrix, y, weights []float64) {
	n, d := X.Dims()
	if weights == nil {
		weights = slices.Repeat([]float64{1}, n)
	}
	m.rows += n
	m.Weight += kern.Sum(weights)
	weighted := make([]float64, len(y))
	m.addTargets(weighted, y, weights, n)
	right, cross := kern.Dense(n, m.targets, m.targets, weighted), kern.Dense(d, m.targets, m.targets, m.cross)
	switch x := X.(type) {
	case *sparse.CSR:
		design.AddSquares(m.diagonal, X, weights)
		kern.SparseMulVecT(m.sum, design.Compressed(x), weights, true)
		kern.SparseMulT(cross, design.Compressed(x), right, true)
	case *mat.Dense:
		m.addDense(design.View(x), weighted, weights)
		if m.targets > 1 {
			kern.Mul(cross, design.View(x).T(), right, true)
		}
	}
}

// addDense adds dense rows, some of their columns at a time, but for the products with several targets.
func (m *diagonalMoments) addDense(x kern.View[float64], weighted, weights []float64) {
	const stripe = 512
	kern.Parallel(x.Cols, stripe, func(lo, hi int) {
		squares := make([]float64, hi-lo)
		for i, s := range weights {
			row := x.Row(i)[lo:hi]
			kern.Multiply(squares, row, row)
			kern.Axpy(s, squares, m.diagonal[lo:hi])
			kern.Axpy(s, row, m.sum[lo:hi])
			if m.targets == 1 {
				kern.Axpy(weighted[i], row, m.cross[lo:hi])
			}
		}
	})
}

// centredDiagonal returns the diagonal of the centred Gram matrix.
func (m *diagonalMoments) centredDiagonal() []float64 {
	out := slices.Clone(m.diagonal)
	if m.centred {
		for j, s := range m.sum {
			if out[j] -= s * s / m.Weight; out[j] <= 16*epsilon*m.diagonal[j] {
				out[j] = 0
			}
		}
	}
	return out
}

// product adds X'S(Xv) over rows to dst; v is cols × targets.
func (m *diagonalMoments) product(dst, v []float64, X mat.Matrix, weights []float64) {
	if short, ok := X.(*single.Dense); ok {
		m.productFloat32(dst, v, design.ViewFloat32(short), weights)
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
			kern.SparseMulVec(scores, design.Compressed(x), v, false)
		} else {
			kern.SparseMul(inner, design.Compressed(x), in, false)
		}
		weigh()
		kern.SparseMulT(out, design.Compressed(x), inner, true)
	case *mat.Dense:
		if t == 1 {
			kern.MulVec(scores, design.View(x), v, false)
			weigh()
			kern.MulVecT(dst, design.View(x), scores, true)
			return
		}
		kern.Mul(inner, design.View(x), in, false)
		weigh()
		kern.Mul(out, design.View(x).T(), inner, true)
	}
}

// productFloat32 is product of rows in single precision, with sums over tiles of them in double.
func (m *diagonalMoments) productFloat32(dst, v []float64, X kern.View[float32], weights []float64) {
	const size = 256
	n, d, t := X.Rows, X.Cols, m.targets
	scores, short, own := design.Borrow[float64](size*t), design.Borrow[float32](d*t), design.Borrow[float32]((size+d)*t)
	defer scores.Release()
	defer short.Release()
	defer own.Release()
	design.Transpose(short.List, v, t)
	sums := design.Borrow[float64](d * t)
	defer sums.Release()
	clear(sums.List)
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		part, rows := scores.List[:(hi-lo)*t], X.Slice(lo, hi, 0, d)
		design.Project(part, rows, short.List, own.List)
		if weights != nil {
			for i, s := range weights[lo:hi] {
				kern.Scale(s, part[i*t:(i+1)*t])
			}
		}
		design.Collect(sums.List, rows, part, own.List)
	}
	design.AddTransposed(dst, sums.List, t)
}
