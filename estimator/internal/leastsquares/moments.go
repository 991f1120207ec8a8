package leastsquares

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Moments are weighted sums of products of rows, the sufficient statistics of ridge regression.
// Rows are added by block; moments of other rows can be merged and those of a subset subtracted.
//
// Inputs and targets are measured from a fixed shift near their mean, so that the final centering,
// Σs·x·xᵀ − (Σs·x)(Σs·x)ᵀ/Σs, does not cancel. Only columns whose mean is large relative to their
// standard deviation are shifted. Without such columns the shift is nil.
type Moments struct {
	Cols, targets int
	centered      bool // whether an intercept is eliminated; otherwise shifts are 0
	Float32       bool // whether products were summed in float32
	rows          int
	Weight        float64   // Σ s
	shiftGiven    bool      // shifts were given, not chosen from the first rows
	shift         []float64 // of inputs, nil for 0
	targetShift   []float64
	sum           []float64 // Σ s·(x−shift)
	targetSum     []float64 // Σ s·(y−targetShift)
	Gram          []float64 // lower triangle of Σ s·(x−shift)(x−shift)', cols × cols
	cross         []float64 // Σ s·(x−shift)(y−targetShift)', cols × targets
	squares       []float64 // Σ s·(y−targetShift)², by target
}

// NewMoments returns moments without rows.
func NewMoments(cols, targets int, centered bool) *Moments {
	return &Moments{Cols: cols, targets: targets, centered: centered,
		targetShift: make([]float64, targets), sum: make([]float64, cols), targetSum: make([]float64, targets),
		Gram: kern.MakeLarge[float64](cols * cols), cross: make([]float64, cols*targets), squares: make([]float64, targets)}
}

// EmptyLike returns moments without rows and with the same shift.
func (m *Moments) EmptyLike() *Moments {
	out := NewMoments(m.Cols, m.targets, m.centered)
	out.shiftGiven, out.shift, out.targetShift = true, m.shift, m.targetShift
	return out
}

// Clear removes all rows and the shift.
func (m *Moments) Clear() {
	m.rows, m.Weight, m.shift = 0, 0, nil
	for _, list := range [][]float64{m.targetShift, m.sum, m.targetSum, m.Gram, m.cross, m.squares} {
		clear(list)
	}
}

// Add adds rows. X has Cols columns, y is rows × targets, nil weights are ones. It fails if a sum
// is not finite or ctx is done.
func (m *Moments) Add(ctx context.Context, X mat.Matrix, y, weights []float64) error {
	n, _ := X.Dims()
	if m.rows == 0 && m.centered && !m.shiftGiven {
		m.chooseShift(X, y, weights)
	}
	m.rows += n
	total := float64(n)
	if weights != nil {
		total = kern.Sum(weights)
	}
	m.Weight += total
	weighted, equal := design.Borrow[float64](len(y)), design.Borrow[float64](n)
	defer weighted.Release()
	defer equal.Release()
	m.addTargets(weighted.Data, y, weights, n)
	ones := weights == nil
	if ones {
		weights = equal.Data
		for i := range weights {
			weights[i] = 1
		}
	}
	if err := m.addInputs(ctx, X, weighted.Data, weights, ones); err != nil {
		return err
	}
	for j := range m.Cols {
		if d := m.Gram[j*m.Cols+j]; d-d != 0 {
			return fmt.Errorf("the sum of squares of column %d is %v", j, d)
		}
	}
	return nil
}

// addTargets adds the sums of targets and writes s·(y−targetShift) to weighted.
func (m *Moments) addTargets(weighted, y, weights []float64, n int) {
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

// addInputs adds the sums that depend on inputs. ones reports that all weights are 1.
func (m *Moments) addInputs(ctx context.Context, X mat.Matrix, weighted, weights []float64, ones bool) error {
	n, d := X.Dims()
	if csr, ok := X.(*matrices.CSR); ok && m.shift == nil {
		if err := m.addSparseGram(ctx, csr, weights); err != nil {
			return err
		}
		kern.SparseMulVecT(m.sum, design.SparseView(csr), weights, true)
		if m.targets > 0 {
			kern.SparseMulT(kern.Dense(d, m.targets, m.targets, m.cross), design.SparseView(csr),
				kern.Dense(n, m.targets, m.targets, weighted), true)
		}
		return nil
	}
	if dense, ok := X.(*mat.Dense); ok && m.shift == nil {
		m.addSums(design.View(dense), weighted, weights)
		return addGram(ctx, kern.Dense(d, d, d, m.Gram), design.View(dense), weights, ones)
	}
	if float32Rows, ok := X.(*matrices.Dense32); ok {
		return m.addFloat32(ctx, float32Rows, weighted, weights, ones)
	}
	// Tiles need little memory and cost no extra time.
	size := min(n, 512)
	tile := design.Borrow[float64](size * d)
	defer tile.Release()
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		m.shifted(tile.Data, X, lo, hi)
		part := kern.Dense(hi-lo, d, d, tile.Data)
		if err := addGram(ctx, kern.Dense(d, d, d, m.Gram), part, weights[lo:hi], ones); err != nil {
			return err
		}
		m.addSums(part, weighted[lo*m.targets:hi*m.targets], weights[lo:hi])
	}
	return nil
}

// addFloat32 adds float32 rows. Products are summed in float32 within blocks of rows and in float64
// over blocks. Column sums are float64.
func (m *Moments) addFloat32(ctx context.Context, X *matrices.Dense32, weighted, weights []float64, ones bool) error {
	m.Float32 = true
	n, d := X.Dims()
	weights32 := design.Borrow[float32](n)
	defer weights32.Release()
	design.Round(weights32.Data, weights)
	gram, rows := kern.Dense(d, d, d, m.Gram), design.ViewFloat32(X)
	if m.shift == nil {
		if err := kern.GramMixed(ctx, gram, rows, weightsOrNil(ones, weights32.Data)); err != nil {
			return err
		}
	}
	const size = 256
	buffer := design.Borrow[float32]((size + d) * max(m.targets, 1))
	defer buffer.Release()
	var tile *design.Buffer[float32]
	if m.shift != nil {
		tile = design.Borrow[float32](min(n, size) * d)
		defer tile.Release()
	}
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		part := rows.Slice(lo, hi, 0, d)
		if m.shift != nil {
			part = m.shiftedFloat32(tile.Data[:(hi-lo)*d], part)
			if err := kern.GramMixed(ctx, gram, part, weightsOrNil(ones, weights32.Data[lo:hi])); err != nil {
				return err
			}
		}
		kern.AddTMulMixed(m.sum, part, weights[lo:hi])
		m.addCross(part, weighted[lo*m.targets:hi*m.targets], buffer.Data)
	}
	return nil
}

// addCross adds the products of float32 rows with the targets.
func (m *Moments) addCross(rows kern.View[float32], weighted []float64, buf []float32) {
	t := m.targets
	if t == 0 {
		return
	}
	cross := design.Borrow[float64](t * m.Cols)
	defer cross.Release()
	clear(cross.Data)
	design.AddTMul(cross.Data, rows, weighted, buf)
	design.AddTransposed(m.cross, cross.Data, t)
}

// weightsOrNil returns weights, or nil for ones.
func weightsOrNil(ones bool, weights []float32) []float32 {
	if ones {
		return nil
	}
	return weights
}

// shiftedFloat32 returns the rows minus the shift, in buffer.
func (m *Moments) shiftedFloat32(buffer []float32, rows kern.View[float32]) kern.View[float32] {
	n, d := rows.Rows, rows.Cols
	out := kern.Dense(n, d, d, buffer)
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

// addSums adds column sums and products with the targets.
func (m *Moments) addSums(x kern.View[float64], weighted, weights []float64) {
	d := m.Cols
	kern.MulVecT(m.sum, x, weights, true)
	switch m.targets {
	case 0:
	case 1:
		kern.MulVecT(m.cross, x, weighted, true)
	default:
		kern.Mul(kern.Dense(d, m.targets, m.targets, m.cross), x.T(), kern.Dense(x.Rows, m.targets, m.targets, weighted),
			true)
	}
}

// shifted writes rows [lo, hi) of X minus the shift to tile.
func (m *Moments) shifted(tile []float64, X mat.Matrix, lo, hi int) {
	d := m.Cols
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

// addSparseGram adds the outer products of sparse rows.
func (m *Moments) addSparseGram(ctx context.Context, X *matrices.CSR, weights []float64) error {
	n, d := X.Dims()
	scale, _ := X.Shared()
	for i := range n {
		if i%design.ChunkRows == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		columns, values := X.Row(i)
		for p, j := range columns {
			row := m.Gram[int(j)*d : int(j)*d+int(j)+1]
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

// chooseShift sets the shifts from the first rows.
func (m *Moments) chooseShift(X mat.Matrix, y, weights []float64) {
	n, _ := X.Dims()
	probe := make([]float64, m.Cols)
	mean, square := make([]float64, m.Cols), make([]float64, m.Cols)
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
	const maxDistance = 10 // standard deviations
	needed := false
	for j := range mean {
		if mean[j]*mean[j]*total <= maxDistance*maxDistance*square[j] || mean[j]-mean[j] != 0 {
			mean[j] = 0
		}
		needed = needed || mean[j] != 0
	}
	if _, isSparse := X.(*matrices.CSR); needed && !isSparse {
		m.shift = mean
	}
}

// merge adds the moments of disjoint rows.
func (m *Moments) merge(other *Moments) { m.combine(other, 1) }

// subtract removes the moments of a subset of the rows. If the subset has most of the weight, the
// result suffers cancellation.
func (m *Moments) subtract(other *Moments) { m.combine(other, -1) }

func (m *Moments) combine(other *Moments, sign float64) {
	if m.rows == 0 && sign > 0 {
		m.shift = slices.Clone(other.shift)
		copy(m.targetShift, other.targetShift)
	}
	o := other
	if !slices.Equal(m.shift, o.shift) || !slices.Equal(m.targetShift, o.targetShift) {
		o = other.shiftedTo(m.shift, m.targetShift)
	}
	m.rows += int(sign) * o.rows
	m.Weight += sign * o.Weight
	m.Float32 = m.Float32 || o.Float32
	kern.Axpy(sign, o.sum, m.sum)
	kern.Axpy(sign, o.targetSum, m.targetSum)
	kern.Axpy(sign, o.Gram, m.Gram)
	kern.Axpy(sign, o.cross, m.cross)
	kern.Axpy(sign, o.squares, m.squares)
}

// SetSum sets m to the sum of parts with the same shift as first. It reuses the matrix of m if it
// is large enough.
func (m *Moments) SetSum(first *Moments, parts []*Moments) {
	d, t := first.Cols, first.targets
	gram := m.Gram
	if cap(gram) < d*d {
		gram = kern.MakeLarge[float64](d * d)
	}
	gram = gram[:d*d]
	*m = Moments{Cols: d, targets: t, centered: first.centered, Float32: first.Float32, shift: first.shift,
		targetShift: first.targetShift,
		sum:         make([]float64, d), targetSum: make([]float64, t), cross: make([]float64, d*t),
		squares: make([]float64, t), Gram: gram}
	for _, part := range parts {
		m.rows += part.rows
		m.Weight += part.Weight
		kern.Axpy(1, part.sum, m.sum)
		kern.Axpy(1, part.targetSum, m.targetSum)
		kern.Axpy(1, part.cross, m.cross)
		kern.Axpy(1, part.squares, m.squares)
	}
	kern.Parallel(d, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := gram[i*d : i*d+i+1]
			clear(row)
			for _, part := range parts {
				kern.Axpy(1, part.Gram[i*d:i*d+i+1], row)
			}
		}
	})
}

// Complement returns the moments of the rows not in part. It returns nil if they have less than
// half of the weight or cancellation is severe in a column.
func (m *Moments) Complement(part *Moments) *Moments {
	if part.Weight > m.Weight/2 {
		return nil
	}
	out := NewMoments(m.Cols, m.targets, m.centered)
	out.merge(m)
	out.subtract(part)
	const little = 1e-9
	for j := range m.Cols {
		at := j*m.Cols + j
		remaining := out.Gram[at]
		if out.centered {
			remaining -= out.sum[j] * out.sum[j] / out.Weight
		}
		if remaining < little*m.Gram[at] {
			return nil
		}
	}
	return out
}

// float32Contraction estimates the contraction factor of refinement for float32 sums of the given
// number of rows, of which m has the first.
func (m *Moments) float32Contraction(ctx context.Context, alpha float64, rows int, buf []float64) float64 {
	f, ok := m.factorizeInto(ctx, alpha*float64(m.rows)/float64(rows), buf)
	if !ok {
		return math.Inf(1)
	}
	_, contraction := precisionOf(true).roundingBound(nil, nil, m.trace(), minPivot(f.Lower, f.cols))
	return contraction
}

// NeedsFloat64 reports whether float32 sums of the given number of rows would be too inaccurate for
// a [Path]. m has the first rows.
func (m *Moments) NeedsFloat64(ctx context.Context, alpha float64, rows int) bool {
	buffer := design.Borrow[float64](m.Cols * m.Cols)
	defer buffer.Release()
	clear(buffer.Data)
	return m.float32Contraction(ctx, alpha, rows, buffer.Data) >= maxContraction/2
}

// ProbeRows returns the number of first rows that NeedsFloat64 requires.
func ProbeRows(cols int) int { return probeRows * cols }

// shiftedTo returns the moments with another shift. With δ = old − new shift, Σs(x−new)(y−new)ᵀ =
// Σs(x−old)(y−old)ᵀ + (Σs(x−old))δ_yᵀ + δ_x(Σs(y−old))ᵀ + W·δ_x·δ_yᵀ.
func (m *Moments) shiftedTo(shift, targetShift []float64) *Moments {
	out := *m
	out.shift, out.targetShift = slices.Clone(shift), slices.Clone(targetShift)
	dx, dy := difference(m.shift, shift, m.Cols), difference(m.targetShift, targetShift, m.targets)
	out.sum, out.targetSum = slices.Clone(m.sum), slices.Clone(m.targetSum)
	kern.Axpy(m.Weight, dx, out.sum)
	kern.Axpy(m.Weight, dy, out.targetSum)
	out.Gram, out.cross, out.squares = slices.Clone(m.Gram), slices.Clone(m.cross), slices.Clone(m.squares)
	for i := range m.Cols {
		row := out.Gram[i*m.Cols : i*m.Cols+i+1]
		kern.Axpy(m.sum[i]+m.Weight*dx[i], dx[:i+1], row)
		kern.Axpy(dx[i], m.sum[:i+1], row)
		cross := out.cross[i*m.targets : (i+1)*m.targets]
		kern.Axpy(m.sum[i]+m.Weight*dx[i], dy, cross)
		kern.Axpy(dx[i], m.targetSum, cross)
	}
	for t := range m.targets {
		out.squares[t] += 2*m.targetSum[t]*dy[t] + m.Weight*dy[t]*dy[t]
	}
	return &out
}

// difference returns a − b; nil means zeros.
func difference(a, b []float64, n int) []float64 {
	out := make([]float64, n)
	copy(out, a)
	if b != nil {
		kern.Axpy(-1, b, out)
	}
	return out
}

// Mean returns the weighted mean of the inputs, zeros without an intercept.
func (m *Moments) Mean() []float64 {
	out := make([]float64, m.Cols)
	if m.centered {
		copy(out, m.shift)
		kern.Axpy(1/m.Weight, m.sum, out)
	}
	return out
}

// TargetMean returns the weighted mean of the targets, zeros without an intercept.
func (m *Moments) TargetMean() []float64 {
	out := make([]float64, m.targets)
	if m.centered {
		copy(out, m.targetShift)
		kern.Axpy(1/m.Weight, m.targetSum, out)
	}
	return out
}

// system writes the lower triangle of the centered Gram matrix + alpha·I of the leading columns to
// dst, cols × cols.
func (m *Moments) system(dst []float64, cols int, alpha float64) {
	fixed := m.constantColumns(cols)
	kern.Parallel(cols, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := dst[i*cols : i*cols+i+1]
			copy(row, m.Gram[i*m.Cols:])
			if m.centered {
				kern.Axpy(-m.sum[i]/m.Weight, m.sum[:i+1], row)
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

// constantColumns reports which leading columns are constant up to rounding. They get weight 0.
func (m *Moments) constantColumns(cols int) []bool {
	out := make([]bool, cols)
	for i := range out {
		square := m.Gram[i*m.Cols+i]
		centeredSquare := square
		if m.centered {
			centeredSquare -= m.sum[i] / m.Weight * m.sum[i]
		}
		out[i] = centeredSquare <= constantTol(m.rows)*square
	}
	return out
}

// constantTol bounds the share of a constant column's squares that centering leaves.
func constantTol(rows int) float64 { return (16 + float64(rows)/2) * epsilon }

// Centered returns the centered sums of products per unit of weight: the symmetric Gram matrix, that of inputs and the
// first target, and of the target with itself. They are zeros for constant columns. The Gram matrix takes the place of
// the sums, which are lost.
func (m *Moments) Centered() (gram kern.View[float64], cross []float64, square float64) {
	gram, cross = kern.Dense(m.Cols, m.Cols, m.Cols, m.Gram), make([]float64, m.Cols)
	m.system(gram.Data, m.Cols, 0)
	right := m.rightSide()
	for j := range m.Cols {
		kern.Scale(1/m.Weight, gram.Row(j)[:j+1])
		if gram.At(j, j) > 0 {
			cross[j] = right[j*m.targets] / m.Weight
		}
	}
	kern.MirrorLower(gram)
	return gram, cross, m.sumSquares()[0] / m.Weight
}

// rightSide returns the centered cross products, cols × targets.
func (m *Moments) rightSide() []float64 {
	out := slices.Clone(m.cross)
	if m.centered {
		for i := range m.Cols {
			kern.Axpy(-m.sum[i]/m.Weight, m.targetSum, out[i*m.targets:(i+1)*m.targets])
		}
	}
	return out
}

// trace returns the trace of the centered Gram matrix.
func (m *Moments) trace() float64 {
	total := 0.0
	for j := range m.Cols {
		total += m.Gram[j*m.Cols+j]
		if m.centered {
			total -= m.sum[j] * m.sum[j] / m.Weight
		}
	}
	return total
}

// sumSquares returns TSS of each target: Σ s·(y−ȳ)², or Σ s·y² without an intercept.
func (m *Moments) sumSquares() []float64 {
	out := make([]float64, m.targets)
	for t, v := range m.squares {
		if m.centered {
			v -= m.targetSum[t] * m.targetSum[t] / m.Weight
		}
		out[t] = max(v, 0)
	}
	return out
}

// totalSumSquares returns the sum of sumSquares.
func (m *Moments) totalSumSquares() float64 { return sum(m.sumSquares()) }

// Factorize returns the Cholesky factor. ok is false if the matrix is singular to working precision
// or ctx is done; callers must check ctx before they return a model.
func (m *Moments) Factorize(ctx context.Context, alpha float64) (f *Factor, ok bool) {
	return m.factorizeInto(ctx, alpha, make([]float64, m.Cols*m.Cols))
}

// FactorizeScaled is Factorize with the given part of the variance of each column added to it, which
// keeps the factor positive definite and does not depend on the scales of the columns. Constant
// columns have the weight 0.
func (m *Moments) FactorizeScaled(ctx context.Context, part float64) (f *Factor, ok bool) {
	d := m.Cols
	f = &Factor{cols: d, Lower: make([]float64, d*d), constant: m.constantColumns(d)}
	m.system(f.Lower, d, 0)
	for j, fixed := range f.constant {
		if f.Lower[j*d+j] *= 1 + part; fixed {
			f.Lower[j*d+j] = 1
		}
	}
	return f, cholesky(ctx, f.Lower, d)
}

// factorizeInto is Factorize in the given memory, whose upper triangle is zero.
func (m *Moments) factorizeInto(ctx context.Context, alpha float64, buf []float64) (f *Factor, ok bool) {
	f = &Factor{cols: m.Cols, Lower: buf, constant: m.constantColumns(m.Cols)}
	m.system(f.Lower, m.Cols, alpha)
	return f, cholesky(ctx, f.Lower, m.Cols)
}

// FactorizeLeading writes the Cholesky factor of the leading columns to lower, cols × cols, in
// float32. It reports whether it exists and is finite.
func (m *Moments) FactorizeLeading(ctx context.Context, alpha float64, cols int, lower []float32) (ok bool) {
	lower64 := make([]float64, cols*cols)
	m.system(lower64, cols, alpha)
	ok = cholesky(ctx, lower64, cols)
	design.Round(lower, lower64)
	return ok && kern.AllFinite(lower)
}

// intercepts returns ȳ − wᵀx̄ of each target.
func intercepts(w, mean, targetMean []float64) []float64 {
	t := len(targetMean)
	out := slices.Clone(targetMean)
	for i, v := range mean {
		kern.Axpy(-v, w[i*t:(i+1)*t], out)
	}
	return out
}

// meanSquares returns Σ s·x² / Σ s of the leading columns.
func (m *Moments) meanSquares(cols int) []float64 {
	out := make([]float64, cols)
	for j := range out {
		out[j] = m.Gram[j*m.Cols+j] / m.Weight
		if m.shift != nil {
			out[j] += m.shift[j] * (2*m.sum[j]/m.Weight + m.shift[j])
		}
	}
	return out
}

// newRowFactor bounds the ratio of the prediction error for new rows to that for training rows. If
// weights are underdetermined, null-space components are controlled only by the smallest
// eigenvalue.
func (m *Moments) newRowFactor(pivot float64) float64 {
	if !m.underdetermined() {
		return 1
	}
	return math.Sqrt(1 + m.trace()/pivot)
}

// underdetermined reports whether there are too few rows to determine the weights.
func (m *Moments) underdetermined() bool { return m.rows < m.Cols || m.centered && m.rows == m.Cols }
