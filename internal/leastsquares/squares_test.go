package leastsquares

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Squared errors of the sums of two parts of the rows are those of the rows, with weights, inputs far from 0 and models of
// leading columns, wherever they are told; they are not where the terms are so large that nothing is left of them.
func TestSquaredErrorsOfSumsAreThoseOfTheRows(t *testing.T) {
	const n, d = 300, 90
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, weights := mat.NewDense(n, d, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.NormFloat64())
		}
		x.Set(i, 3, 1000+rng.NormFloat64())
		y[i], weights[i] = 50+rng.NormFloat64(), float64(rng.IntN(3))
	}
	add := func(m *Moments, lo, hi int) *Moments {
		if err := m.Add(t.Context(), x.Slice(lo, hi, 0, d), y[lo:hi], weights[lo:hi]); err != nil {
			t.Fatal(err)
		}
		return m
	}
	some := add(NewMoments(d, 1, true), 0, 100)
	rest := add(some.Beside(), 100, n)
	if some.shift == nil {
		t.Fatal("nothing is measured from its mean")
	}
	for _, width := range []int{2, 64, d} {
		var list [][]float64
		var offsets []float64
		for _, size := range []float64{0, 0.1, 1, 1e8} {
			w, offset := make([]float64, width), 50.0
			for j := range w {
				w[j] = size * rng.NormFloat64()
			}
			if width > 3 {
				offset -= 1000 * w[3]
			}
			list, offsets = append(list, w), append(offsets, offset)
		}
		list = append(list, make([]float64, width)) // far from the targets, but for rounding all the same
		offsets = append(offsets, 1e9)
		first, second := some.SquaredErrors(width, list, offsets), rest.SquaredErrors(width, list, offsets)
		for k, w := range list {
			want := 0.0
			for i := range n {
				e := y[i] - offsets[k]
				for j, v := range w {
					e -= v * x.At(i, j)
				}
				want += weights[i] * e * e
			}
			got := first[k].With(second[k])
			if !got.Told() || math.Abs(got.Sum-want) > squaresTold*want {
				t.Errorf("width %d, model %d: %v of the rows, %+v of the sums", width, k, want, got)
			}
		}
	}
	exact, sum := make([]float64, n), some.Beside()
	w := make([]float64, d)
	for j := range w {
		w[j] = 1e3 * rng.NormFloat64()
	}
	for i := range n {
		for j, v := range w {
			exact[i] += v * x.At(i, j)
		}
		exact[i] += 1e-3 * rng.NormFloat64()
	}
	if err := sum.Add(t.Context(), x, exact, nil); err != nil {
		t.Fatal(err)
	}
	if got := sum.SquaredErrors(d, [][]float64{w}, []float64{0})[0]; got.Told() {
		t.Errorf("errors of 1e-3 of targets of 1e6 are told, %+v", got)
	}
}
