package design

import (
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
	"gonum.org/v1/gonum/mat"
)

// MinGEMMOutputs is the number of outputs from which one matrix product is faster than one
// matrix-vector product per output.
const MinGEMMOutputs = 24

// MulT computes scores = X·Wᵀ. X is n × d, W is k × d, scores is n × k. scratch needs n·k elements.
func MulT[T kern.Float](scores []float64, X kern.View[T], w, scratch []T) {
	n, k := X.Rows, len(w)/X.Cols
	own := scratch[:n]
	if k >= MinGEMMOutputs {
		own = scratch[:n*k]
		kern.Mul(kern.Dense(n, k, k, own), X, kern.Dense(k, X.Cols, X.Cols, w).T(), false)
		for i, v := range own {
			scores[i] = float64(v)
		}
		return
	}
	for j := range k {
		kern.MulVec(own, X, w[j*X.Cols:(j+1)*X.Cols], false)
		for i, v := range own {
			scores[i*k+j] = float64(v)
		}
	}
}

// AddTMul computes out += scoresᵀ·X. scores is n × k, X is n × d, out is k × d. Sums over rows are
// in T. scratch needs (n+d)·k elements.
func AddTMul[T kern.Float](out []float64, X kern.View[T], scores []float64, scratch []T) {
	n, d, k := X.Rows, X.Cols, len(scores)/X.Rows
	if k >= MinGEMMOutputs {
		own, sums := scratch[:n*k], scratch[n*k:(n+d)*k]
		Round(own, scores)
		kern.Mul(kern.Dense(k, d, d, sums), kern.Dense(n, k, k, own).T(), X, false)
		addWidened(out, sums)
		return
	}
	own, sums := scratch[:n], scratch[n:n+d]
	for j := range k {
		for i := range own {
			own[i] = T(scores[i*k+j])
		}
		to := out[j*d : (j+1)*d]
		if same, ok := any(to).([]T); ok {
			kern.MulVecT(same, X, own, true)
			continue
		}
		kern.MulVecT(sums, X, own, false)
		addWidened(to, sums)
	}
}

// AddTransposed adds sums, outputs × cols, to dst, cols × outputs.
func AddTransposed(dst, sums []float64, outputs int) {
	if outputs == 1 {
		kern.Axpy(1, sums, dst)
		return
	}
	d := len(dst) / outputs
	for j := range outputs {
		for i, v := range sums[j*d : (j+1)*d] {
			dst[i*outputs+j] += v
		}
	}
}

// addWidened computes out += sums.
func addWidened[T kern.Float](out []float64, sums []T) {
	for i, v := range sums {
		out[i] += float64(v)
	}
}

// DotFloat32 returns Σ x[j]·w[j]. Chunks are summed in float32, their totals in float64.
func DotFloat32(x, w []float32) float64 {
	const chunk = 256
	sum := 0.0
	for ; len(x) > chunk; x, w = x[chunk:], w[chunk:] {
		sum += float64(kern.Dot(x[:chunk], w[:chunk]))
	}
	return sum + float64(kern.Dot(x, w))
}

// SparseDot returns Σ values[p]·w[columns[p]], with four partial sums. Nil values are ones.
func SparseDot(columns []uint32, values, w []float64) float64 {
	var a, b, c, d float64
	if values == nil {
		for ; len(columns) >= 4; columns = columns[4:] {
			a += w[columns[0]]
			b += w[columns[1]]
			c += w[columns[2]]
			d += w[columns[3]]
		}
		for _, j := range columns {
			a += w[j]
		}
		return (a + b) + (c + d)
	}
	for ; len(columns) >= 4 && len(values) >= 4; columns, values = columns[4:], values[4:] {
		a += values[0] * w[columns[0]]
		b += values[1] * w[columns[1]]
		c += values[2] * w[columns[2]]
		d += values[3] * w[columns[3]]
	}
	for p, j := range columns {
		a += values[p] * w[j]
	}
	return (a + b) + (c + d)
}

// AddSquares computes dst[j] += Σ weights[i]·x[i,j]² in float64.
func AddSquares(dst []float64, X mat.Matrix, weights []float64) {
	switch x := X.(type) {
	case *matrices.CSR:
		scale, _ := x.Shared()
		for i, s := range weights {
			columns, values := x.Row(i)
			for p, j := range columns {
				v := scale
				if values != nil {
					v = values[p]
				}
				dst[j] += s * v * v
			}
		}
	case *matrices.Dense32:
		for i, s := range weights {
			for j, short := range x.Row(i) {
				v := float64(short)
				dst[j] += s * v * v
			}
		}
	case *mat.Dense:
		for i, s := range weights {
			for j, v := range x.RawRowView(i) {
				dst[j] += s * v * v
			}
		}
	}
}
