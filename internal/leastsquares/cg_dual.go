package leastsquares

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/sparse"
)

// dual solves (X̃X̃' + alpha·I)a = ỹ, for weights X̃'a that are sums of rows whatever the residual. Each
// step takes two passes over the data.
func (c *ridgeCG) dual() (w []float64, report solve.Report, err error) {
	c.rows = c.rows.Widened()
	right, diagonal, err := c.dualStart()
	if err != nil {
		return nil, report, err
	}
	t := c.m.targets
	run := &cgRun{diagonal: diagonal, alpha: c.Alpha, columns: t, tol: 1, most: c.MaxIter, enough: c.dualGoal(diagonal)}
	run.apply = func(dst, v []float64) error {
		sum, err := c.combine(v)
		if err == nil {
			err = c.project(dst, sum)
		}
		kern.Axpy(c.Alpha, v, dst)
		return err
	}
	run.left = func(a []float64) ([]float64, error) {
		out := make([]float64, len(a))
		err := run.apply(out, a)
		kern.Scale(-1, out)
		kern.Axpy(1, right, out)
		return out, err
	}
	a := make([]float64, len(right))
	if report, err = run.solve(a, right); err != nil {
		return nil, report, err
	}
	w, err = c.combine(a)
	return w, report, err
}

// dualGoal is goal for inputs of the usual size, new ones too.
func (c *ridgeCG) dualGoal(diagonal []float64) []float64 {
	largest := 0.0
	for _, v := range diagonal {
		largest = max(largest, v)
	}
	out := c.m.spreads()
	for j, spread := range out {
		out[j] = 100 * c.Tol * math.Sqrt(spread/sumOf(diagonal)*c.Alpha/(largest+c.Alpha))
	}
	return out
}

// eachBlock calls f for each block with the roots of its rows' weights.
func (c *ridgeCG) eachBlock(f func(first int, X mat.Matrix, roots []float64, y []float64)) error {
	return c.rows.Again(c.ctx, c.m.rows, func(first int, block datasets.Set) error {
		y, _, weights, err := c.Block(first, block)
		if err != nil {
			return err
		}
		roots := make([]float64, block.Rows())
		for i := range roots {
			if roots[i] = 1; weights != nil {
				roots[i] = math.Sqrt(weights[i])
			}
		}
		f(first, block.X, roots, y)
		return nil
	})
}

// dualStart returns ỹ and the squared norms of the rows x̃.
func (c *ridgeCG) dualStart() (y, squares []float64, err error) {
	t, targetMean := c.m.targets, c.m.targetMean()
	mean := kern.Dot(c.mean, c.mean)
	row := make([]float64, c.m.Cols)
	err = c.eachBlock(func(_ int, X mat.Matrix, roots, targets []float64) {
		csr, isSparse := X.(*sparse.CSR)
		for i, s := range roots {
			for j, v := range targets[i*t : (i+1)*t] {
				y = append(y, s*(v-targetMean[j]))
			}
			square := 0.0
			if isSparse {
				square = c.offSquare(csr, i, mean)
			} else {
				design.WriteRow(row, X, i)
				kern.Axpy(-1, c.mean, row)
				square = kern.Dot(row, row)
			}
			squares = append(squares, s*s*square)
		}
	})
	return y, squares, err
}

// offSquare is the squared distance of a sparse row from the mean, whose own square is given, by what is not 0 of
// the row.
func (c *ridgeCG) offSquare(X *sparse.CSR, i int, mean float64) float64 {
	columns, values := X.Row(i)
	v, shared := X.Shared()
	square, along := 0.0, 0.0
	for k, j := range columns {
		if !shared {
			v = values[k]
		}
		square += v * v
		along += v * c.mean[j]
	}
	return max(square-2*along+mean, 0)
}

// combine returns X̃'a.
func (c *ridgeCG) combine(a []float64) ([]float64, error) {
	d, t := c.m.Cols, c.m.targets
	w, sums := make([]float64, d*t), make([]float64, t)
	err := c.eachBlock(func(first int, X mat.Matrix, roots, _ []float64) {
		n := len(roots)
		part := append([]float64(nil), a[first*t:(first+n)*t]...)
		for i, s := range roots {
			kern.Scale(s, part[i*t:(i+1)*t])
			kern.Axpy(1, part[i*t:(i+1)*t], sums)
		}
		out, right := kern.Dense(d, t, t, w), kern.Dense(n, t, t, part)
		if csr, ok := X.(*sparse.CSR); ok {
			kern.SparseMulT(out, design.Compressed(csr), right, true)
		} else {
			kern.Mul(out, design.View(X.(*mat.Dense)).T(), right, true)
		}
	})
	for i, v := range c.mean {
		kern.Axpy(-v, sums, w[i*t:(i+1)*t])
	}
	return w, err
}

// project writes X̃w to dst.
func (c *ridgeCG) project(dst, w []float64) error {
	d, t := c.m.Cols, c.m.targets
	offset := intercepts(w, c.mean, make([]float64, t))
	return c.eachBlock(func(first int, X mat.Matrix, roots, _ []float64) {
		n := len(roots)
		out, in := kern.Dense(n, t, t, dst[first*t:(first+n)*t]), kern.Dense(d, t, t, w)
		if csr, ok := X.(*sparse.CSR); ok {
			kern.SparseMul(out, design.Compressed(csr), in, false)
		} else {
			kern.Mul(out, design.View(X.(*mat.Dense)), in, false)
		}
		for i, s := range roots {
			row := dst[(first+i)*t : (first+i+1)*t]
			kern.Axpy(1, offset, row)
			kern.Scale(s, row)
		}
	})
}
