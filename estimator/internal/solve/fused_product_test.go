package solve

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// A fused product equals the products element by element, for few and many outputs and both
// precisions. It has the same bits on any number of cores.
func TestBothWaysIsTheProductsByThemselves(t *testing.T) {
	const n, d = 700, 37
	random := rand.New(rand.NewPCG(1, 7))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			X.Set(i, j, random.NormFloat64())
		}
	}
	for _, k := range []int{1, 2, 3, 7, 26} {
		w, offsets := make([]float64, k*d), make([]float64, k)
		for i := range w {
			w[i] = random.NormFloat64()
		}
		for j := range offsets {
			offsets[j] = float64(j)
		}
		for _, rows := range []mat.Matrix{X, matrices.CopyDense32(X)} {
			_, short := rows.(*matrices.Dense32)
			rounding := 1e-12
			if short {
				rounding = 1e-5
			}
			var first []float64
			for _, cores := range []int{1, 2, 5} {
				before := runtime.GOMAXPROCS(cores)
				got := readBothWays(rows, short, w, offsets, nil)
				runtime.GOMAXPROCS(before)
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					t.Fatalf("%d outputs, single precision %v: other bits on %d cores", k, short, cores)
				}
			}
			for i, want := range bothWaysByHand(X, w, offsets) {
				if math.Abs(first[i]-want) > rounding*n {
					t.Fatalf("%d outputs, single precision %v: sum %d is %v, want %v", k, short, i, first[i], want)
				}
			}
		}
	}
}

// TestBothWaysOfWidths checks that sums beyond the width of a narrower output are zero.
func TestBothWaysOfWidths(t *testing.T) {
	const n, d = 700, 230
	random := rand.New(rand.NewPCG(2, 7))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			X.Set(i, j, random.NormFloat64())
		}
	}
	widths := []int{d, 200, 200, 100, 90, 30, 7}
	k := len(widths)
	w, offsets := make([]float64, k*d), make([]float64, k)
	for j, width := range widths {
		for q := range width {
			w[j*d+q] = random.NormFloat64() / 10
		}
	}
	want := bothWaysByHand(X, w, offsets)
	for j, width := range widths {
		clear(want[j*d+width : (j+1)*d])
	}
	for _, rows := range []mat.Matrix{X, matrices.CopyDense32(X)} {
		_, short := rows.(*matrices.Dense32)
		rounding := 1e-12
		if short {
			rounding = 1e-5
		}
		for i, got := range readBothWays(rows, short, w, offsets, widths) {
			if math.Abs(got-want[i]) > rounding*n {
				t.Fatalf("single precision %v: sum %d is %v, want %v", short, i, got, want[i])
			}
		}
	}
}

// readBothWays sums sines of scores, and their squares as values, in two blocks.
func readBothWays(X mat.Matrix, short bool, w, offsets []float64, widths []int) []float64 {
	n, d := X.Dims()
	k := len(offsets)
	pass := NewFusedProduct(short, w, offsets, widths, k)
	sine := func(p *Accumulator, scores kern.View[float64], _ int) {
		for j := range k {
			for i, v := range scores.Row(j) {
				p.Values[j] += math.Sin(v) * math.Sin(v)
				scores.Set(j, i, math.Sin(v))
			}
		}
	}
	for _, bounds := range [][2]int{{0, 600}, {600, n}} {
		if m, ok := X.(*matrices.Dense32); ok {
			pass.Add(m.Slice(bounds[0], bounds[1]), bounds[0], sine)
		} else {
			pass.Add(X.(*mat.Dense).Slice(bounds[0], bounds[1], 0, d), bounds[0], sine)
		}
	}
	sums := pass.Sums()
	return slices.Concat(sums.Rows, sums.Totals, sums.Values)
}

// bothWaysByHand is the reference implementation of readBothWays.
func bothWaysByHand(X *mat.Dense, w, offsets []float64) []float64 {
	n, d := X.Dims()
	k := len(offsets)
	out := make([]float64, k*(d+2))
	for i := range n {
		for j := range k {
			score := offsets[j]
			for q := range d {
				score += w[j*d+q] * X.At(i, q)
			}
			for q := range d {
				out[j*d+q] += math.Sin(score) * X.At(i, q)
			}
			out[k*d+j] += math.Sin(score)
			out[k*(d+1)+j] += math.Sin(score) * math.Sin(score)
		}
	}
	return out
}

// Non-finite inputs make the sums non-finite, even if the score is finite or the weight is 0.
func TestFusedProductDetectsNonFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		X := mat.NewDense(40, 3, nil)
		X.Set(17, 1, bad)
		for _, rows := range []mat.Matrix{X, matrices.CopyDense32(X)} {
			_, short := rows.(*matrices.Dense32)
			pass := NewFusedProduct(short, make([]float64, 3), make([]float64, 1), nil, 0)
			if !pass.Sums().Finite() {
				t.Error("not finite before there are rows")
			}
			pass.Add(rows, 0, func(_ *Accumulator, scores kern.View[float64], _ int) { clear(scores.Row(0)) })
			if pass.Sums().Finite() {
				t.Errorf("%v in single precision %v is not noticed", bad, short)
			}
		}
	}
}
