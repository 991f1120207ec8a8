package leastsquares

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// centeredRows is a data set in memory with x̃_i = √s_i·(x_i − x̄), ỹ_i = √s_i·(y_i − ȳ), for the
// dual form. x̄ and ȳ are 0 without an intercept. Rows of weight 0 are omitted. Sparse rows are
// centered implicitly.
type centeredRows struct {
	n, cols, targets int
	x                []float64     // n × cols, x̃; nil for sparse rows
	sparse           *matrices.CSR // x
	y                []float64     // n × targets, ỹ
	mean, targetMean []float64
	weights          []float64
	total            float64
	rowIndex         []int // row number in the data
}

// readCentered reads all rows.
func (p *Problem) readCentered(ctx context.Context) (*centeredRows, error) {
	r, err := p.rows.InMemory(ctx)
	if err != nil {
		return nil, err
	}
	y, t, weights, err := p.Block(0, *r.Set)
	if err != nil {
		return nil, err
	}
	c := &centeredRows{cols: r.Cols, targets: t, mean: make([]float64, r.Cols), targetMean: make([]float64, t)}
	for i := range r.N {
		s := 1.0
		if weights != nil {
			s = weights[i]
		}
		if s > 0 {
			c.weights, c.rowIndex = append(c.weights, s), append(c.rowIndex, i)
			c.y = append(c.y, y[i*t:(i+1)*t]...)
			c.total += s
		}
	}
	if c.n = len(c.rowIndex); c.n == 0 {
		return nil, errors.New("every weight is 0")
	}
	if p.Intercept {
		subtractMean(ctx, c.y, c.targetMean, c.weights, c.total)
	}
	scaleRows(c.y, t, c.weights)
	take := c.setDense
	if _, ok := r.Set.X.(*matrices.CSR); ok {
		take = c.setSparse
	}
	if !take(ctx, r.Set.X, p.Intercept) {
		return nil, design.NonFiniteError(0, *r.Set)
	}
	return c, ctxerr.Check(ctx)
}

// setDense stores dense rows and reports whether all inputs are finite.
func (c *centeredRows) setDense(ctx context.Context, X mat.Matrix, intercept bool) bool {
	c.x = make([]float64, c.n*c.cols)
	for k, i := range c.rowIndex {
		if k%design.ChunkRows == 0 && ctx.Err() != nil {
			break
		}
		design.WriteRow(c.x[k*c.cols:(k+1)*c.cols], X, i)
	}
	if !kern.AllFinite(c.x) {
		return false
	}
	if intercept {
		subtractMean(ctx, c.x, c.mean, c.weights, c.total)
	}
	scaleRows(c.x, c.cols, c.weights)
	return true
}

// setSparse stores sparse rows and reports whether all inputs are finite.
func (c *centeredRows) setSparse(_ context.Context, X mat.Matrix, intercept bool) bool {
	c.sparse = X.(*matrices.CSR)
	if n, _ := X.Dims(); n != c.n {
		c.sparse = c.sparse.Select(c.rowIndex)
	}
	if _, _, values := c.sparse.Raw(); !kern.AllFinite(values) {
		return false
	}
	if intercept {
		kern.SparseMulVecT(c.mean, design.SparseView(c.sparse), c.weights, false)
		kern.Scale(1/c.total, c.mean)
	}
	return true
}

// scaleRows multiplies each row by the square root of its weight.
func scaleRows(x []float64, cols int, weights []float64) {
	for i, s := range weights {
		if s != 1 {
			kern.Scale(math.Sqrt(s), x[i*cols:(i+1)*cols])
		}
	}
}

// subtractMean writes the weighted mean of the rows of x to mean and subtracts it, unless ctx is
// done.
func subtractMean(ctx context.Context, x, mean, weights []float64, total float64) {
	d := len(mean)
	copy(mean, x[:d])
	for range 2 { // the second pass removes the rounding of the first
		shift := make([]float64, d)
		for i, s := range weights {
			if i%design.ChunkRows == 0 && ctx.Err() != nil {
				return
			}
			row := x[i*d : (i+1)*d]
			for j, v := range row {
				shift[j] += s * (v - mean[j])
			}
		}
		kern.Axpy(1/total, shift, mean)
	}
	for i := range weights {
		kern.Axpy(-1, mean, x[i*d:(i+1)*d])
	}
}

// kernel returns the lower triangle of X̃X̃ᵀ, n × n.
func (c *centeredRows) kernel(ctx context.Context) ([]float64, error) {
	k := make([]float64, c.n*c.n)
	if c.sparse == nil {
		return k, kern.Gram(ctx, kern.Dense(c.n, c.n, c.n, k), kern.Dense(c.n, c.cols, c.cols, c.x).T(), nil)
	}
	addSparseKernel(ctx, k, c.sparse)
	meanProducts := make([]float64, c.n) // x_iᵀx̄
	kern.SparseMulVec(meanProducts, design.SparseView(c.sparse), c.mean, false)
	square := kern.Dot(c.mean, c.mean)
	kern.Parallel(c.n, 64, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			row := k[i*c.n : i*c.n+i+1]
			for j := range row {
				row[j] = math.Sqrt(c.weights[i]*c.weights[j]) * (row[j] - meanProducts[i] - meanProducts[j] + square)
			}
		}
	})
	return k, ctxerr.Check(ctx)
}

// addSparseKernel adds the lower triangle of XXᵀ to k. It visits the nonzeros of row i and, by
// column, those of rows up to i. Columns of c_j entries cost Σ_j c_j²/2 products.
func addSparseKernel(ctx context.Context, k []float64, X *matrices.CSR) {
	n, cols := X.Dims()
	entry := func(values []float64, at int) float64 {
		if values == nil {
			shared, _ := X.Shared()
			return shared
		}
		return values[at]
	}
	start := make([]int, cols+1) // of each column, in rows and values
	_, indices, _ := X.Raw()
	for _, j := range indices {
		start[j+1]++
	}
	for j := range cols {
		start[j+1] += start[j]
	}
	rows, values := make([]uint32, len(indices)), make([]float64, len(indices))
	next := append([]int(nil), start[:cols]...)
	for i := range n {
		columns, entries := X.Row(i)
		for at, j := range columns {
			rows[next[j]], values[next[j]] = uint32(i), entry(entries, at)
			next[j]++
		}
	}
	kern.Parallel(n, 16, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			columns, entries := X.Row(i)
			row := k[i*n : i*n+i+1]
			for at, j := range columns {
				v := entry(entries, at)
				for p := start[j]; p < start[j+1] && int(rows[p]) <= i; p++ {
					row[rows[p]] += v * values[p]
				}
			}
		}
	})
}

// primalWeights returns X̃ᵀa, cols × targets, where a is n × targets.
func (c *centeredRows) primalWeights(a []float64) []float64 {
	t := c.targets
	w := make([]float64, c.cols*t)
	if c.sparse == nil {
		kern.Mul(kern.Dense(c.cols, t, t, w), kern.Dense(c.n, c.cols, c.cols, c.x).T(), kern.Dense(c.n, t, t, a), false)
		return w
	}
	a = append([]float64(nil), a...)
	scaleRows(a, t, c.weights)
	kern.SparseMulT(kern.Dense(c.cols, t, t, w), design.SparseView(c.sparse), kern.Dense(c.n, t, t, a), false)
	total := columnSums(a, t)
	for j, m := range c.mean {
		kern.Axpy(-m, total, w[j*t:(j+1)*t])
	}
	return w
}

// residuals returns ỹ − X̃w, n × targets.
func (c *centeredRows) residuals(w []float64) []float64 {
	t := c.targets
	out := make([]float64, c.n*t)
	if c.sparse == nil {
		kern.Mul(kern.Dense(c.n, t, t, out), kern.Dense(c.n, c.cols, c.cols, c.x), kern.Dense(c.cols, t, t, w), false)
	} else {
		kern.SparseMul(kern.Dense(c.n, t, t, out), design.SparseView(c.sparse), kern.Dense(c.cols, t, t, w), false)
		offset := make([]float64, t) // x̄ᵀw
		kern.MulVecT(offset, kern.Dense(c.cols, t, t, w), c.mean, false)
		for i := range c.n {
			kern.Axpy(-1, offset, out[i*t:(i+1)*t])
		}
		scaleRows(out, t, c.weights)
	}
	kern.Scale(-1, out)
	kern.Axpy(1, c.y, out)
	return out
}

// meanSquares returns Σ s·x² / Σ s of each column of dense rows.
func (c *centeredRows) meanSquares() []float64 {
	out := make([]float64, c.cols)
	for at, v := range c.x {
		out[at%c.cols] += v * v / c.total
	}
	for j, m := range c.mean {
		out[j] += m * m
	}
	return out
}

// columnSums returns the sum of each column of x.
func columnSums(x []float64, cols int) []float64 {
	sums := make([]float64, cols)
	for at := 0; at < len(x); at += cols {
		kern.Axpy(1, x[at:at+cols], sums)
	}
	return sums
}

// columnTiles reads X̃ᵀ tile by tile. If tau > 0, it appends a row √τ·uᵀ with u_i = √(s_i/Σs), to
// match liftNullspace.
func (c *centeredRows) columnTiles(ctx context.Context, tau float64) tileReader {
	const size = 512
	buffer := make([]float64, c.n*min(size, c.cols))
	return func(yield func(kern.View[float64])) error {
		for lo := 0; lo < c.cols; lo += size {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			hi := min(lo+size, c.cols)
			tile := kern.Dense(c.n, hi-lo, hi-lo, buffer)
			for i := range c.n {
				c.centeredRow(tile.Row(i), i, lo)
			}
			yield(tile.T())
		}
		if tau > 0 {
			yield(kern.Dense(1, c.n, c.n, c.interceptVector(math.Sqrt(tau))))
		}
		return nil
	}
}

// interceptVector returns the unit vector √(s/Σs) times a factor.
func (c *centeredRows) interceptVector(factor float64) []float64 {
	u := make([]float64, c.n)
	for i, s := range c.weights {
		u[i] = factor * math.Sqrt(s/c.total)
	}
	return u
}

// liftNullspace adds τ·uuᵀ to the lower triangle of the kernel of centered rows and returns τ, the
// trace. Centering makes u a null vector of the kernel and orthogonal to every centered target.
func (c *centeredRows) liftNullspace(kernel []float64, centered bool) (tau float64) {
	if !centered {
		return 0
	}
	tau = trace(kernel, c.n)
	u := c.interceptVector(1)
	for i, v := range u {
		kern.Axpy(tau*v, u[:i+1], kernel[i*c.n:i*c.n+i+1])
	}
	return tau
}

// centeredRow writes columns lo, lo+1, … of row i to dst.
func (c *centeredRows) centeredRow(dst []float64, i, lo int) {
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
