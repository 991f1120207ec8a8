package leastsquares

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// Gradient accumulates Σ s·x·e and Σ s·e with e = y − xᵀw − offset, for any number of weight
// vectors.
type Gradient struct {
	cols, Columns int
	inputs        []float64 // cols × columns
	sum           []float64 // by column
	squares       []float64 // Σ s·e², by column
}

// NewGradient returns a gradient without rows for the given number of weight vectors.
func NewGradient(cols, columns int) *Gradient {
	return &Gradient{cols: cols, Columns: columns, inputs: make([]float64, cols*columns), sum: make([]float64, columns),
		squares: make([]float64, columns)}
}

// Add adds rows of X with targets y, rows × columns, which it overwrites. w is cols × columns; nil
// weights are ones.
func (g *Gradient) Add(X mat.Matrix, y, w, offset, weights []float64) {
	k := g.Columns
	if float32Rows, ok := X.(*matrices.Dense32); ok {
		if k < design.MinGEMMOutputs {
			g.addFloat32(design.ViewFloat32(float32Rows), y, w, offset, weights)
			return
		}
		design.WithFloat64(X, func(X mat.Matrix) error {
			g.Add(X, y, w, offset, weights)
			return nil
		})
		return
	}
	g.AddSelected(X, y, w, offset, weights, nil)
}

// AddSelected is Add for float64 rows that belong only to the selected columns. Nil means all.
func (g *Gradient) AddSelected(X mat.Matrix, y, w, offset, weights []float64, selected []bool) {
	n, _ := X.Dims()
	k := g.Columns
	scores := design.Borrow[float64](n * k)
	defer scores.Release()
	inner, in, out := kern.Dense(n, k, k, scores.Data), kern.Dense(g.cols, k, k, w), kern.Dense(g.cols, k, k, g.inputs)
	csr, scattered := X.(*matrices.CSR)
	var dense kern.View[float64]
	if scattered {
		kern.SparseMul(inner, design.SparseView(csr), in, false)
	} else {
		dense = design.View(X.(*mat.Dense))
		kern.Mul(inner, dense, in, false)
	}
	for i := range n {
		row := y[i*k : (i+1)*k]
		for c := range row {
			if selected != nil && !selected[c] {
				row[c] = 0
				continue
			}
			row[c] -= scores.Data[i*k+c] + offset[c]
			s := 1.0
			if weights != nil {
				s = weights[i]
			}
			g.squares[c] += s * row[c] * row[c]
			row[c] *= s
		}
		kern.Axpy(1, row, g.sum)
	}
	errors := kern.Dense(n, k, k, y)
	if scattered {
		kern.SparseMulT(out, design.SparseView(csr), errors, true)
	} else {
		kern.Mul(out, dense.T(), errors, true)
	}
}

// Float32 rows are added in blocks; each chunk of a block has its own sums.
const (
	float32BlockRows = 8192
	float32ChunkRows = 256
)

// addFloat32 is Add for float32 rows, with float64 products and sums.
func (g *Gradient) addFloat32(X kern.View[float32], y, w, offset, weights []float64) {
	d, k := g.cols, g.Columns
	wT, total := design.Borrow[float64](d*k), design.Borrow[float64](d*k)
	defer wT.Release()
	defer total.Release()
	kern.Transpose(wT.Data, w, k)
	clear(total.Data)
	for at := 0; at < X.Rows; at += float32BlockRows {
		n := min(float32BlockRows, X.Rows-at)
		size := d*k + 2*k
		buffer := design.Borrow[float64]((n + float32ChunkRows - 1) / float32ChunkRows * size)
		kern.Parallel(n, float32ChunkRows, func(lo, hi int) {
			part, sample := &Gradient{cols: d, Columns: k}, weights
			part.initIn(buffer.Data[lo/float32ChunkRows*size:][:size])
			if weights != nil {
				sample = weights[at+lo : at+hi]
			}
			part.addChunk(X.Slice(at+lo, at+hi, 0, d), y[(at+lo)*k:(at+hi)*k], wT.Data, offset, sample)
		})
		for lo := 0; lo < len(buffer.Data); lo += size {
			mine := buffer.Data[lo : lo+size]
			kern.Axpy(1, mine[:d*k], total.Data)
			kern.Axpy(1, mine[d*k:d*k+k], g.sum)
			kern.Axpy(1, mine[d*k+k:], g.squares)
		}
		buffer.Release()
	}
	design.AddTransposed(g.inputs, total.Data, k)
}

// initIn sets g to a zero gradient that uses list as its memory.
func (g *Gradient) initIn(list []float64) {
	clear(list)
	d, k := g.cols, g.Columns
	g.inputs, g.sum, g.squares = list[:d*k], list[d*k:d*k+k], list[d*k+k:]
}

// addChunk adds rows in cache-resident tiles; w and the sums of inputs are columns × cols.
func (g *Gradient) addChunk(X kern.View[float32], y, w, offset, weights []float64) {
	k, size := g.Columns, max(8, 1<<16/g.cols&^7)
	buffer := design.Borrow[float64](size * k)
	defer buffer.Release()
	for lo := 0; lo < X.Rows; lo += size {
		hi := min(lo+size, X.Rows)
		rows, errors := X.Slice(lo, hi, 0, g.cols), buffer.Data[:(hi-lo)*k]
		kern.MulTMixed(errors, rows, w)
		for i := lo; i < hi; i++ {
			row, s := errors[(i-lo)*k:(i-lo+1)*k], 1.0
			if weights != nil {
				s = weights[i]
			}
			for c, score := range row {
				e := y[i*k+c] - (score + offset[c])
				g.squares[c] += s * e * e
				row[c] = s * e
				g.sum[c] += row[c]
			}
		}
		kern.AddTMulMixed(g.inputs, rows, errors)
	}
}

// newtonStep returns the step A⁻¹g for the weight vectors in columns [from, from+t), one per
// target, and the relative prediction change √(gᵀA⁻¹g).
func (g *Gradient) newtonStep(w []float64, from int, spreads, mean []float64, alpha float64,
	solve func([]float64)) (step []float64, size float64) {
	right := g.rhs(w, from, len(spreads), mean, alpha)
	step = slices.Clone(right)
	solve(step)
	return step, predictionChange(right, step, spreads)
}

// rhs returns the gradient of t columns from the given one on.
func (g *Gradient) rhs(w []float64, from, t int, mean []float64, alpha float64) []float64 {
	out := make([]float64, len(w))
	for i := range len(w) / t {
		row := out[i*t : (i+1)*t]
		copy(row, g.inputs[i*g.Columns+from:])
		kern.Axpy(-mean[i], g.sum[from:from+t], row)
	}
	kern.Axpy(-alpha, w, out)
	return out
}

// predictionChange returns the largest √(rightᵀstep / sumSquares) over the targets.
func predictionChange(right, step, spreads []float64) float64 {
	t, largest := len(spreads), 0.0
	for j, spread := range spreads {
		square := 0.0
		for i := j; i < len(step); i += t {
			square += right[i] * step[i]
		}
		if spread > 0 {
			largest = max(largest, math.Sqrt(max(0, square)/spread))
		}
	}
	return largest
}
