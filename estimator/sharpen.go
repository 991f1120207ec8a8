package estimator

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// A factor of a Gram matrix X'X has the rounding of that matrix, whose condition is the square of
// that of the rows X. Where that is too much to refine a solution with, the factor is sharpened: the
// rows are solved by a factor L of X'X + (alpha + shift)·I, and XL⁻ᵀ has a Gram matrix so well
// conditioned that its factor M is right; LM is then the factor of X'X + alpha·I with the rounding of
// the rows. (Fukaya, Kannan, Nakatsukasa, Yamamoto & Yanagisawa, SIAM J. Sci. Comput. 2020.)
const (
	// sharpenings is how many passes over the rows are made at most.
	sharpenings = 3
	// sharp is the part of an error that a refinement by a sharpened factor may leave.
	sharp = 1e-6
)

// tileReader hands over all rows of a matrix, some at a time, to be overwritten.
type tileReader func(yield func(tile kern.View[float64])) error

// sharpened returns the factor of the Gram matrix of rows + alpha·I, nil where that is singular to
// the working precision of the rows. gram is the Gram matrix's lower triangle with the usual rounding.
func sharpened(ctx context.Context, gram []float64, k int, alpha float64, rows tileReader) (*factor, error) {
	trace := 0.0
	for i := range k {
		trace += gram[i*k+i]
	}
	f := &factor{cols: k, lower: make([]float64, k*k)}
	copy(f.lower, gram)
	addDiagonal(f.lower, k, alpha+float64(k)*epsilon*trace)
	if !cholesky(ctx, f.lower, k) {
		return nil, nil
	}
	for range sharpenings {
		m, err := f.rest(ctx, alpha, rows)
		if err != nil || m == nil {
			return nil, err
		}
		lower := make([]float64, k*k)
		kern.Mul(kern.Dense(k, k, k, lower), kern.Dense(k, k, k, f.lower), kern.Dense(k, k, k, m), false)
		f.lower = lower
		if f.left = 4 * epsilon * float64(k) / leastPivot(m, k); f.left <= sharp {
			return f, nil
		}
	}
	return nil, nil
}

// rest returns the factor M of L⁻¹AL⁻ᵀ for A, the Gram matrix of rows + alpha·I; nil where it is
// singular.
func (f *factor) rest(ctx context.Context, alpha float64, rows tileReader) ([]float64, error) {
	k := f.cols
	lower, m := kern.Dense(k, k, k, f.lower), make([]float64, k*k)
	add := func(tile kern.View[float64]) {
		kern.SolveLower(ctx, lower, tile.T())
		kern.Gram(ctx, kern.Dense(k, k, k, m), tile, nil)
	}
	if err := rows(add); err != nil {
		return nil, err
	}
	penalty := make([]float64, k*k)
	addDiagonal(penalty, k, math.Sqrt(alpha))
	add(kern.Dense(k, k, k, penalty))
	if !cholesky(ctx, m, k) {
		return nil, nil
	}
	return m, nil
}

// tiles reads the centred rows, each times the root of its weight.
func (p *ridgeProblem) tiles(ctx context.Context, m *moments) tileReader {
	const size = 512
	d, mean := m.cols, m.mean()
	hold := make([]float64, size*d)
	return func(yield func(kern.View[float64])) error {
		return p.rows.Again(ctx, m.rows, func(first int, block datasets.Set) error {
			weights, err := p.weights(first, block)
			if err != nil {
				return err
			}
			n := block.Rows()
			for lo := 0; lo < n; lo += size {
				hi := min(lo+size, n)
				tile := kern.Dense(hi-lo, d, d, hold)
				for i := range hi - lo {
					row := tile.Row(i)
					design.WriteRow(row, block.X, lo+i)
					kern.Axpy(-1, mean, row)
					if weights != nil {
						kern.Scale(math.Sqrt(weights[lo+i]), row)
					}
				}
				yield(tile)
			}
			return ctx.Err()
		})
	}
}

// sharpen returns a sharpened factor of the system of the moments, nil where that is singular.
func (p *ridgeProblem) sharpen(ctx context.Context, m *moments) (*factor, error) {
	gram := make([]float64, m.cols*m.cols)
	m.system(gram, 0)
	f, err := sharpened(ctx, gram, m.cols, p.Alpha, p.tiles(ctx, m))
	if f != nil {
		f.fixed = m.fixed(m.cols)
	}
	return f, err
}

// tiles reads the columns of the centred rows as rows, and one more where rows are centred: √τ·u with
// u_i = √(s_i/Σs), τ the trace of the kernel. The kernel has a zero there that is none of its rank's,
// for u meets no centred target.
func (c *centredRows) tiles(ctx context.Context, tau float64) tileReader {
	const size = 512
	hold := make([]float64, c.n*min(size, c.cols))
	return func(yield func(kern.View[float64])) error {
		for lo := 0; lo < c.cols; lo += size {
			if err := ctx.Err(); err != nil {
				return err
			}
			hi := min(lo+size, c.cols)
			tile := kern.Dense(c.n, hi-lo, hi-lo, hold)
			for i := range c.n {
				c.part(tile.Row(i), i, lo)
			}
			yield(tile.T())
		}
		if tau > 0 {
			yield(kern.Dense(1, c.n, c.n, c.along(math.Sqrt(tau))))
		}
		return nil
	}
}

// along returns the unit vector √(s/Σs) times a factor.
func (c *centredRows) along(factor float64) []float64 {
	u := make([]float64, c.n)
	for i, s := range c.weights {
		u[i] = factor * math.Sqrt(s/c.total)
	}
	return u
}

// lift adds τ·uu', which tiles says more of, to the lower triangle of a kernel of rows that are
// centred, and returns τ.
func (c *centredRows) lift(kernel []float64, centred bool) (tau float64) {
	if !centred {
		return 0
	}
	tau = trace(kernel, c.n)
	u := c.along(1)
	for i, v := range u {
		kern.Axpy(tau*v, u[:i+1], kernel[i*c.n:i*c.n+i+1])
	}
	return tau
}

// part writes row i from column lo on to dst.
func (c *centredRows) part(dst []float64, i, lo int) {
	if c.sparse == nil {
		copy(dst, c.x[i*c.cols+lo:])
		return
	}
	columns, values := c.sparse.Row(i)
	shared, _ := c.sparse.Shared()
	for j := range dst {
		dst[j] = -c.mean[lo+j]
	}
	from, _ := slices.BinarySearch(columns, uint32(lo))
	for at := from; at < len(columns) && int(columns[at]) < lo+len(dst); at++ {
		v := shared
		if values != nil {
			v = values[at]
		}
		dst[int(columns[at])-lo] += v
	}
	kern.Scale(math.Sqrt(c.weights[i]), dst)
}
