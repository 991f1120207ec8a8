package estimator

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// moments is all that ridge needs to know of rows: weighted sums of their products. Rows can be
// added to it block by block, other moments can be merged into it, and those of some of its rows be
// subtracted.
//
// Inputs and targets are measured from a fixed point, the shift, near their mean, so that centring
// at the end, Σs·x·x' − (Σs·x)(Σs·x)'/Σs, does not cancel. The shift only moves columns whose mean is
// far from 0 against their spread; where there are none, it is nil and blocks are used as they are.
type moments struct {
	cols, targets int
	centred       bool // whether there is an intercept to be eliminated, else shifts stay 0
	single        bool // whether products were summed up in single precision
	rows          int
	weight        float64   // Σ s
	placed        bool      // whether the shifts were given, else the first rows choose them
	shift         []float64 // of inputs, nil for 0
	targetShift   []float64
	sum           []float64 // Σ s·(x−shift)
	targetSum     []float64 // Σ s·(y−targetShift)
	gram          []float64 // lower triangle of Σ s·(x−shift)(x−shift)', cols × cols
	cross         []float64 // Σ s·(x−shift)(y−targetShift)', cols × targets
	squares       []float64 // Σ s·(y−targetShift)², by target
}

func newMoments(cols, targets int, centred bool) *moments {
	return &moments{cols: cols, targets: targets, centred: centred,
		targetShift: make([]float64, targets), sum: make([]float64, cols), targetSum: make([]float64, targets),
		gram: make([]float64, cols*cols), cross: make([]float64, cols*targets), squares: make([]float64, targets)}
}

// beside returns moments without rows, measured from the same point.
func (m *moments) beside() *moments {
	out := newMoments(m.cols, m.targets, m.centred)
	out.placed, out.shift, out.targetShift = true, m.shift, m.targetShift
	return out
}

// leading returns the moments of the first columns.
func (m *moments) leading(cols int) *moments {
	out := newMoments(cols, m.targets, m.centred)
	out.rows, out.weight, out.single = m.rows, m.weight, m.single
	if m.shift != nil {
		out.shift = slices.Clone(m.shift[:cols])
	}
	for i := range cols {
		copy(out.gram[i*cols:i*cols+i+1], m.gram[i*m.cols:])
	}
	copy(out.sum, m.sum)
	copy(out.cross, m.cross)
	copy(out.targetShift, m.targetShift)
	copy(out.targetSum, m.targetSum)
	copy(out.squares, m.squares)
	return out
}

// clear forgets all rows, and the shift with them.
func (m *moments) clear() {
	m.rows, m.weight, m.shift = 0, 0, nil
	for _, list := range [][]float64{m.targetShift, m.sum, m.targetSum, m.gram, m.cross, m.squares} {
		clear(list)
	}
}

// add adds rows: X has m.cols columns, y is rows × targets, weights nil means ones. It fails where
// a sum is no longer finite, which nameFault can explain, and where ctx is done.
func (m *moments) add(ctx context.Context, X mat.Matrix, y, weights []float64) error {
	n, _ := X.Dims()
	if m.rows == 0 && m.centred && !m.placed {
		m.choose(X, y, weights)
	}
	m.rows += n
	total := float64(n)
	if weights != nil {
		total = kern.Sum(weights)
	}
	m.weight += total
	weighted, unit := design.Borrow[float64](len(y)), design.Borrow[float64](n)
	defer weighted.Release()
	defer unit.Release()
	m.addTargets(weighted.List, y, weights, n)
	ones := weights == nil
	if ones {
		weights = unit.List
		for i := range weights {
			weights[i] = 1
		}
	}
	if err := m.addInputs(ctx, X, weighted.List, weights, ones); err != nil {
		return err
	}
	for j := range m.cols {
		if d := m.gram[j*m.cols+j]; d-d != 0 {
			return fmt.Errorf("the sum of squares of column %d is %v", j, d)
		}
	}
	return nil
}

// addTargets adds what depends on the targets alone and writes s·(y−targetShift) to weighted.
func (m *moments) addTargets(weighted, y, weights []float64, n int) {
	for i := range n {
		s := 1.0
		if weights != nil {
			s = weights[i]
		}
		for t := range m.targets {
			v := y[i*m.targets+t] - m.targetShift[t]
			weighted[i*m.targets+t] = s * v
			m.targetSum[t] += s * v
			m.squares[t] += s * v * v
		}
	}
}

// addInputs adds what depends on the inputs; ones says that every weight is 1.
func (m *moments) addInputs(ctx context.Context, X mat.Matrix, weighted, weights []float64, ones bool) error {
	n, d := X.Dims()
	if csr, ok := X.(*sparse.CSR); ok && m.shift == nil {
		if err := m.scatter(ctx, csr, weights); err != nil {
			return err
		}
		kern.SparseMulVecT(m.sum, design.Compressed(csr), weights, true)
		if m.targets > 0 {
			kern.SparseMulT(kern.Dense(d, m.targets, m.targets, m.cross), design.Compressed(csr), kern.Dense(n, m.targets, m.targets, weighted), true)
		}
		return nil
	}
	if dense, ok := X.(*mat.Dense); ok && m.shift == nil {
		m.addSums(design.View(dense), weighted, weights)
		return addGram(ctx, kern.Dense(d, d, d, m.gram), design.View(dense), weights, ones)
	}
	if narrow, ok := X.(*single.Dense); ok {
		return m.addSingle(ctx, narrow, weighted, weights, ones)
	}
	// The sums over a tile of moderate size cost what they cost over all rows.
	size := min(n, 512)
	tile := design.Borrow[float64](size * d)
	defer tile.Release()
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		m.shifted(tile.List, X, lo, hi)
		part := kern.Dense(hi-lo, d, d, tile.List)
		if err := addGram(ctx, kern.Dense(d, d, d, m.gram), part, weights[lo:hi], ones); err != nil {
			return err
		}
		m.addSums(part, weighted[lo*m.targets:hi*m.targets], weights[lo:hi])
	}
	return nil
}

// addSingle adds rows in single precision: products and sums over a few rows in single, sums over
// all rows in double precision.
func (m *moments) addSingle(ctx context.Context, X *single.Dense, weighted, weights []float64, ones bool) error {
	m.single = true
	n, d := X.Dims()
	short := design.Borrow[float32](n)
	defer short.Release()
	design.Round(short.List, weights)
	gram, rows := kern.Dense(d, d, d, m.gram), design.ViewFloat32(X)
	if m.shift == nil {
		if err := kern.GramMixed(ctx, gram, rows, unless(ones, short.List)); err != nil {
			return err
		}
	}
	const size = 256
	own := design.Borrow[float32](size*m.targets + size + d*max(m.targets, 1))
	defer own.Release()
	var tile *design.Buffer[float32]
	if m.shift != nil {
		tile = design.Borrow[float32](min(n, size) * d)
		defer tile.Release()
	}
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		part := rows.Slice(lo, hi, 0, d)
		if m.shift != nil {
			part = m.shiftedSingle(tile.List[:(hi-lo)*d], part)
			if err := kern.GramMixed(ctx, gram, part, unless(ones, short.List[lo:hi])); err != nil {
				return err
			}
		}
		design.Collect(m.sum, part, weights[lo:hi], own.List)
		m.addCross(part, weighted[lo*m.targets:hi*m.targets], own.List)
	}
	return nil
}

// addCross adds the products of rows in single precision with the targets.
func (m *moments) addCross(rows kern.View[float32], weighted []float64, room []float32) {
	t := m.targets
	if t == 0 {
		return
	}
	cross := design.Borrow[float64](t * m.cols)
	defer cross.Release()
	clear(cross.List)
	design.Collect(cross.List, rows, weighted, room)
	design.AddTransposed(m.cross, cross.List, t)
}

// unless returns weights, or nil for ones.
func unless(ones bool, weights []float32) []float32 {
	if ones {
		return nil
	}
	return weights
}

// shiftedSingle returns the rows less the shift, in hold.
func (m *moments) shiftedSingle(hold []float32, rows kern.View[float32]) kern.View[float32] {
	n, d := rows.Rows, rows.Cols
	out := kern.Dense(n, d, d, hold)
	for i := range n {
		to := out.Row(i)
		for j, v := range rows.Row(i) {
			to[j] = float32(float64(v) - m.shift[j])
		}
	}
	return out
}

func addGram(ctx context.Context, gram, x kern.View[float64], weights []float64, ones bool) error {
	if ones {
		weights = nil
	}
	return kern.Gram(ctx, gram, x, weights)
}

// addSums adds the sums of inputs and of their products with the targets.
func (m *moments) addSums(x kern.View[float64], weighted, weights []float64) {
	d := m.cols
	kern.MulVecT(m.sum, x, weights, true)
	switch m.targets {
	case 0:
	case 1:
		kern.MulVecT(m.cross, x, weighted, true)
	default:
		kern.Mul(kern.Dense(d, m.targets, m.targets, m.cross), x.T(), kern.Dense(x.Rows, m.targets, m.targets, weighted), true)
	}
}

// shifted writes rows lo to hi of X less the shift to tile.
func (m *moments) shifted(tile []float64, X mat.Matrix, lo, hi int) {
	d := m.cols
	kern.Parallel(hi-lo, max(1, 1<<14/d), func(a, b int) {
		for i := a; i < b; i++ {
			row := tile[i*d : (i+1)*d]
			design.WriteRow(row, X, lo+i)
			if m.shift != nil {
				kern.Axpy(-1, m.shift, row)
			}
		}
	})
}

// scatter adds the products of the stored entries of each row.
func (m *moments) scatter(ctx context.Context, X *sparse.CSR, weights []float64) error {
	n, d := X.Dims()
	scale, _ := X.Shared()
	for i := range n {
		if i%design.RowsAtOnce == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		columns, values := X.Row(i)
		for p, j := range columns {
			row := m.gram[int(j)*d : int(j)*d+int(j)+1]
			f := weights[i] * scale * scale
			if values == nil {
				for _, c := range columns[:p+1] {
					row[c] += f
				}
				continue
			}
			f = weights[i] * values[p]
			for q, c := range columns[:p+1] {
				row[c] += f * values[q]
			}
		}
	}
	return nil
}

// choose sets the shifts from the first rows.
func (m *moments) choose(X mat.Matrix, y, weights []float64) {
	n, _ := X.Dims()
	probe := make([]float64, m.cols)
	mean, square := make([]float64, m.cols), make([]float64, m.cols)
	total := 0.0
	n = min(n, 512)
	for i := range n {
		s := 1.0
		if weights != nil {
			s = weights[i]
		}
		if s == 0 {
			continue
		}
		total += s
		design.WriteRow(probe, X, i)
		for j, v := range probe {
			delta := v - mean[j]
			mean[j] += delta * s / total
			square[j] += s * delta * (v - mean[j])
		}
		for t := range m.targets {
			m.targetShift[t] += (y[i*m.targets+t] - m.targetShift[t]) * s / total
		}
	}
	const far = 10 // standard deviations
	needed := false
	for j := range mean {
		if mean[j]*mean[j]*total <= far*far*square[j] || mean[j]-mean[j] != 0 {
			mean[j] = 0
		}
		needed = needed || mean[j] != 0
	}
	if _, isSparse := X.(*sparse.CSR); needed && !isSparse {
		m.shift = mean
	}
}

// merge adds the moments of other rows.
func (m *moments) merge(other *moments) { m.combine(other, 1) }

// subtract takes away the moments of some of m's rows. Where those are nearly all of the weight
// there is little left to be right about: what remains has the rounding of what was there.
func (m *moments) subtract(other *moments) { m.combine(other, -1) }

func (m *moments) combine(other *moments, sign float64) {
	if m.rows == 0 && sign > 0 {
		m.shift = slices.Clone(other.shift)
		copy(m.targetShift, other.targetShift)
	}
	o := other
	if !slices.Equal(m.shift, o.shift) || !slices.Equal(m.targetShift, o.targetShift) {
		o = other.rebased(m.shift, m.targetShift)
	}
	m.rows += int(sign) * o.rows
	m.weight += sign * o.weight
	m.single = m.single || o.single
	kern.Axpy(sign, o.sum, m.sum)
	kern.Axpy(sign, o.targetSum, m.targetSum)
	kern.Axpy(sign, o.gram, m.gram)
	kern.Axpy(sign, o.cross, m.cross)
	kern.Axpy(sign, o.squares, m.squares)
}

// rebased returns the same moments measured from another point: with δ = old − new shift,
// Σs(x−new)(y−new)' = Σs(x−old)(y−old)' + (Σs(x−old))δ_y' + δ_x(Σs(y−old))' + W·δ_x·δ_y'.
func (m *moments) rebased(shift, targetShift []float64) *moments {
	out := *m
	out.shift, out.targetShift = slices.Clone(shift), slices.Clone(targetShift)
	dx, dy := difference(m.shift, shift, m.cols), difference(m.targetShift, targetShift, m.targets)
	out.sum, out.targetSum = slices.Clone(m.sum), slices.Clone(m.targetSum)
	kern.Axpy(m.weight, dx, out.sum)
	kern.Axpy(m.weight, dy, out.targetSum)
	out.gram, out.cross, out.squares = slices.Clone(m.gram), slices.Clone(m.cross), slices.Clone(m.squares)
	for i := range m.cols {
		row := out.gram[i*m.cols : i*m.cols+i+1]
		kern.Axpy(m.sum[i]+m.weight*dx[i], dx[:i+1], row)
		kern.Axpy(dx[i], m.sum[:i+1], row)
		cross := out.cross[i*m.targets : (i+1)*m.targets]
		kern.Axpy(m.sum[i]+m.weight*dx[i], dy, cross)
		kern.Axpy(dx[i], m.targetSum, cross)
	}
	for t := range m.targets {
		out.squares[t] += 2*m.targetSum[t]*dy[t] + m.weight*dy[t]*dy[t]
	}
	return &out
}

// difference returns a − b, nil meaning zeros.
func difference(a, b []float64, n int) []float64 {
	out := make([]float64, n)
	copy(out, a)
	if b != nil {
		kern.Axpy(-1, b, out)
	}
	return out
}

// mean returns the weighted mean of the inputs where it is to be eliminated, else zeros.
func (m *moments) mean() []float64 {
	out := make([]float64, m.cols)
	if m.centred {
		copy(out, m.shift)
		kern.Axpy(1/m.weight, m.sum, out)
	}
	return out
}

// targetMean returns the weighted mean of the targets where it is to be eliminated, else zeros.
func (m *moments) targetMean() []float64 {
	out := make([]float64, m.targets)
	if m.centred {
		copy(out, m.targetShift)
		kern.Axpy(1/m.weight, m.targetSum, out)
	}
	return out
}

// system writes the lower triangle of the centred Gram matrix + alpha·I to dst, cols × cols.
func (m *moments) system(dst []float64, alpha float64) {
	d, fixed := m.cols, m.fixed(m.cols)
	kern.Parallel(d, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := dst[i*d : i*d+i+1]
			copy(row, m.gram[i*d:i*d+i+1])
			if m.centred {
				kern.Axpy(-m.sum[i]/m.weight, m.sum[:i+1], row)
			}
			for j := range row {
				if fixed[i] || fixed[j] {
					row[j] = 0
				}
			}
			row[i] += alpha
		}
	})
}

// fixed reports which of the leading columns are constant: what centring leaves of their squares is
// rounding, which grows with the rows. They get no weight, for rounding would choose it.
func (m *moments) fixed(cols int) []bool {
	out := make([]bool, cols)
	for i := range out {
		square := m.gram[i*m.cols+i]
		left := square
		if m.centred {
			left -= m.sum[i] / m.weight * m.sum[i]
		}
		out[i] = left <= constantBelow(m.rows)*square
	}
	return out
}

// constantBelow is the share of a column's squares that centring leaves where the column is constant.
func constantBelow(rows int) float64 { return (16 + float64(rows)/2) * epsilon }

// clearFixed makes rows of b, fixed × k, zeros.
func clearFixed(fixed []bool, b []float64, k int) {
	for i, is := range fixed {
		if is {
			clear(b[i*k : (i+1)*k])
		}
	}
}

// rightSide returns the centred cross products, cols × targets.
func (m *moments) rightSide() []float64 {
	out := slices.Clone(m.cross)
	if m.centred {
		for i := range m.cols {
			kern.Axpy(-m.sum[i]/m.weight, m.targetSum, out[i*m.targets:(i+1)*m.targets])
		}
	}
	return out
}

// trace returns that of the centred Gram matrix.
func (m *moments) trace() float64 {
	total := 0.0
	for j := range m.cols {
		total += m.gram[j*m.cols+j]
		if m.centred {
			total -= m.sum[j] * m.sum[j] / m.weight
		}
	}
	return total
}

// spreads returns Σ s·(y−ȳ)², or Σ s·y² where there is no intercept, of each target.
func (m *moments) spreads() []float64 {
	out := make([]float64, m.targets)
	for t, v := range m.squares {
		if m.centred {
			v -= m.targetSum[t] * m.targetSum[t] / m.weight
		}
		out[t] = max(v, 0)
	}
	return out
}

// spread returns the sum of spreads.
func (m *moments) spread() float64 { return sumOf(m.spreads()) }

// sumOf adds up a few numbers in their order.
func sumOf(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum
}

// factor is the Cholesky factor of a centred Gram matrix + alpha·I.
type factor struct {
	cols  int
	lower []float64
	left  float64 // the part of an error that a refinement with the factor may leave
	fixed []bool  // columns whose weights stay 0; nil for none
}

// factorise returns the factor, or ok false where the matrix is singular to working precision: a
// pivot has lost all its digits against the diagonal entry it came from. Here and in what follows
// nothing is ok, and nothing solved, once ctx is done: who returns a model asks ctx before.
func (m *moments) factorise(ctx context.Context, alpha float64) (f *factor, ok bool) {
	f = &factor{cols: m.cols, lower: make([]float64, m.cols*m.cols), fixed: m.fixed(m.cols)}
	m.system(f.lower, alpha)
	return f, cholesky(ctx, f.lower, m.cols)
}

// cholesky factorises in place and reports whether it could, with digits to spare.
func cholesky(ctx context.Context, a []float64, n int) bool {
	diagonal := make([]float64, n)
	for i := range diagonal {
		diagonal[i] = a[i*n+i]
	}
	if _, ok, err := kern.Cholesky(ctx, kern.Dense(n, n, n, a)); !ok || err != nil {
		return false
	}
	for i, d := range diagonal {
		if p := a[i*n+i]; p*p <= 4*float64(n)*epsilon*d {
			return false
		}
	}
	return true
}

// epsilon is the distance from 1 to the next float64.
const epsilon = 0x1p-52

// solve overwrites b, cols × k, with the solution.
func (f *factor) solve(ctx context.Context, b []float64, k int) error {
	clearFixed(f.fixed, b, k)
	return kern.SolveCholesky(ctx, kern.Dense(f.cols, f.cols, f.cols, f.lower), kern.Dense(f.cols, k, k, b))
}

// logDeterminant returns log|A|.
func (f *factor) logDeterminant() float64 {
	s := 0.0
	for i := range f.cols {
		s += 2 * math.Log(f.lower[i*f.cols+i])
	}
	return s
}

// leastNorm overwrites b, n × k, with the solution of least norm of A·x = b for the lower triangle
// a of a positive semidefinite A, by its eigenvectors, and returns its rank. Cost about 9n³ flops.
func leastNorm(ctx context.Context, a []float64, n int, b []float64, k int) (rank int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	eigen, err := kern.NewEigen(ctx, kern.Dense(n, n, n, slices.Clone(a)), true)
	if err != nil {
		return 0, fmt.Errorf("the Gram matrix is singular, and of its eigenvectors: %w; use alpha > 0", err)
	}
	list, err := eigen.Vectors(ctx, 0, n)
	if err != nil {
		return 0, err
	}
	threshold := float64(n) * epsilon * max(eigen.Values[n-1], 0)
	vectors, right := kern.Dense(n, n, n, list), kern.Dense(n, k, k, b)
	projected := kern.Dense(n, k, k, make([]float64, n*k))
	if err := kern.MulUntil(ctx, projected, vectors, right, false); err != nil {
		return 0, err
	}
	for i, v := range eigen.Values {
		if v <= threshold {
			clear(projected.Row(i))
			continue
		}
		rank++
		kern.Scale(1/v, projected.Row(i))
	}
	return rank, kern.MulUntil(ctx, right, vectors.T(), projected, false)
}
