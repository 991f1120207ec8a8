package leastsquares

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// diagonalMoments are moments with only the diagonal of the Gram matrix, for conjugate gradients.
// They are not shifted.
type diagonalMoments struct {
	Moments
	diagonal []float64 // Σ s·x²
	weights  []float64 // row weights, nil for ones
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
				Cols: p.rows.Cols, targets: count, centered: p.Intercept, targetShift: make([]float64, count),
				sum: make([]float64, p.rows.Cols), targetSum: make([]float64, count),
				cross: make([]float64, p.rows.Cols*count), squares: make([]float64, count)}}
		}
		if count != m.targets {
			return fmt.Errorf("rows from %d: must have %d targets, got %d", first, m.targets, count)
		}
		if weights != nil {
			m.weights = append(m.weights, weights...)
		}
		err = eachFloat64(block.X, func(lo, hi int, X mat.Matrix) error {
			m.addBlock(X, y[lo*count:hi*count], rowWeights(weights, lo, hi-lo))
			return ctxerr.Check(ctx)
		})
		if err != nil {
			return err
		}
		if !kern.AllFinite(m.diagonal) {
			return design.NonFiniteError(first, block)
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
	case *matrices.CSR:
		design.AddSquares(m.diagonal, X, weights)
		kern.SparseMulVecT(m.sum, design.SparseView(x), weights, true)
		kern.SparseMulT(cross, design.SparseView(x), right, true)
	case *mat.Dense:
		m.addDense(design.View(x), weighted, weights)
		if m.targets > 1 {
			kern.Mul(cross, design.View(x).T(), right, true)
		}
	}
}

// addDense adds dense rows by stripes of columns, except products with several targets.
func (m *diagonalMoments) addDense(x kern.View[float64], weighted, weights []float64) {
	const stripe = 512
	kern.Parallel(x.Cols, stripe, func(lo, hi int) {
		squares := make([]float64, hi-lo)
		for i, s := range weights {
			row := x.Row(i)[lo:hi]
			kern.MulElem(squares, row, row)
			kern.Axpy(s, squares, m.diagonal[lo:hi])
			kern.Axpy(s, row, m.sum[lo:hi])
			if m.targets == 1 {
				kern.Axpy(weighted[i], row, m.cross[lo:hi])
			}
		}
	})
}

// centeredDiagonal returns the diagonal of the centered Gram matrix.
func (m *diagonalMoments) centeredDiagonal() []float64 {
	out := slices.Clone(m.diagonal)
	if m.centered {
		for j, s := range m.sum {
			if out[j] -= s * s / m.Weight; out[j] <= 16*epsilon*m.diagonal[j] {
				out[j] = 0
			}
		}
	}
	return out
}
