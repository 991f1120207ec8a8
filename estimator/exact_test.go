package estimator

import (
	"math"
	"math/big"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
)

// exactBits is the precision of the reference arithmetic, far above that of float64.
const exactBits = 300

func exactOf(v float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(v) }

// exactRidge is a ridge regression of one target in extended precision, by the n×n or the d×d matrix.
type exactRidge struct {
	coef   []*big.Float
	offset *big.Float
}

func newExactRidge(t *testing.T, data datasets.Set, alpha float64, intercept bool) exactRidge {
	t.Helper()
	n, d := data.X.Dims()
	weight := func(i int) float64 {
		if data.Weights == nil {
			return 1
		}
		return data.Weights[i]
	}
	x, y := make([][]*big.Float, n), make([]*big.Float, n)
	total, meanY, mean := exactOf(0), exactOf(0), make([]*big.Float, d)
	for j := range mean {
		mean[j] = exactOf(0)
	}
	for i := range n {
		s := exactOf(weight(i))
		total.Add(total, s)
		x[i] = make([]*big.Float, d)
		for j := range d {
			x[i][j] = exactOf(data.X.At(i, j))
			mean[j].Add(mean[j], exactOf(0).Mul(s, x[i][j]))
		}
		y[i] = exactOf(data.Y[i])
		meanY.Add(meanY, exactOf(0).Mul(s, y[i]))
	}
	for _, m := range append(mean, meanY) {
		if m.Quo(m, total); !intercept {
			m.SetInt64(0)
		}
	}
	for i := range n {
		root := exactOf(0).Sqrt(exactOf(weight(i)))
		for j := range d {
			x[i][j].Sub(x[i][j], mean[j]).Mul(x[i][j], root)
		}
		y[i].Sub(y[i], meanY).Mul(y[i], root)
	}
	out := exactRidge{coef: make([]*big.Float, d), offset: meanY}
	if n < d {
		a := exactSolve(t, exactGram(x, alpha), y)
		for j := range d {
			out.coef[j] = exactOf(0)
			for i := range n {
				out.coef[j].Add(out.coef[j], exactOf(0).Mul(x[i][j], a[i]))
			}
		}
	} else {
		columns, right := make([][]*big.Float, d), make([]*big.Float, d)
		for j := range d {
			right[j] = exactOf(0)
			for i := range n {
				columns[j] = append(columns[j], x[i][j])
				right[j].Add(right[j], exactOf(0).Mul(x[i][j], y[i]))
			}
		}
		out.coef = exactSolve(t, exactGram(columns, alpha), right)
	}
	for j, m := range mean {
		out.offset.Sub(out.offset, exactOf(0).Mul(m, out.coef[j]))
	}
	return out
}

// exactGram returns the products of rows with each other, and alpha on the diagonal.
func exactGram(rows [][]*big.Float, alpha float64) [][]*big.Float {
	out := make([][]*big.Float, len(rows))
	for i := range rows {
		for k := range i + 1 {
			sum := exactOf(0)
			for j := range rows[i] {
				sum.Add(sum, exactOf(0).Mul(rows[i][j], rows[k][j]))
			}
			out[i] = append(out[i], sum)
		}
		out[i][i].Add(out[i][i], exactOf(alpha))
	}
	return out
}

// exactSolve solves by Cholesky's factor of the lower triangle a.
func exactSolve(t *testing.T, a [][]*big.Float, b []*big.Float) []*big.Float {
	t.Helper()
	n := len(a)
	out := make([]*big.Float, n)
	for i := range n {
		for j := range i + 1 {
			for k := range j {
				a[i][j].Sub(a[i][j], exactOf(0).Mul(a[i][k], a[j][k]))
			}
			switch {
			case j < i:
				a[i][j].Quo(a[i][j], a[j][j])
			case a[i][i].Sign() <= 0:
				t.Fatal("singular: the test shows nothing")
			default:
				a[i][i].Sqrt(a[i][i])
			}
		}
		out[i] = exactOf(0).Set(b[i])
		for k := range i {
			out[i].Sub(out[i], exactOf(0).Mul(a[i][k], out[k]))
		}
		out[i].Quo(out[i], a[i][i])
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			out[i].Sub(out[i], exactOf(0).Mul(a[k][i], out[k]))
		}
		out[i].Quo(out[i], a[i][i])
	}
	return out
}

// predict returns the prediction of row i of data.
func (e exactRidge) predict(data datasets.Set, i int) float64 {
	sum := exactOf(0).Set(e.offset)
	for j, w := range e.coef {
		sum.Add(sum, exactOf(0).Mul(w, exactOf(data.X.At(i, j))))
	}
	f, _ := sum.Float64()
	return f
}

// spreadOf returns the root mean square of numbers about their mean.
func spreadOf(list []float64) float64 {
	mean, square := 0.0, 0.0
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		square += (v - mean) * (v - mean) / float64(len(list))
	}
	return math.Sqrt(square)
}
