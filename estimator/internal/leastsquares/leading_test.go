package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// FactorizeLeading is accurate even if two columns are so similar that a float32 factorization
// would lose all digits of a pivot.
func TestLeadingFactorInSinglePrecision(t *testing.T) {
	const n, d, cols = 500, 90, 70
	rng := rand.New(rand.NewPCG(1, 1))
	for _, apart := range []float64{1, 3e-3, 1e-5} {
		X := mat.NewDense(n, d, nil)
		for i := range n {
			for j := range d {
				X.Set(i, j, 1+rng.NormFloat64())
			}
			X.Set(i, 9, X.At(i, 3)+apart*X.At(i, 9))
		}
		const alpha = 1e-9
		m := NewMoments(d, 0, true)
		if err := m.Add(context.Background(), X, nil, nil); err != nil {
			t.Fatal(err)
		}
		lower := make([]float32, cols*cols)
		if !m.FactorizeLeading(context.Background(), alpha, cols, lower) {
			t.Fatalf("%g apart: no factor", apart)
		}
		want := mat.NewSymDense(cols, nil)
		for i := range cols {
			for j := range i + 1 {
				a, b := mat.Col(nil, i, X), mat.Col(nil, j, X)
				ma, mb, sum := 0.0, 0.0, 0.0
				for k := range n {
					ma, mb = ma+a[k]/n, mb+b[k]/n
				}
				for k := range n {
					sum += (a[k] - ma) * (b[k] - mb)
				}
				if i == j {
					sum += alpha
				}
				want.SetSym(i, j, sum)
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(want) {
			t.Fatal("not positive definite")
		}
		var l mat.TriDense
		chol.LTo(&l)
		for i := range cols {
			for j := range i + 1 {
				if e := math.Abs(float64(lower[i*cols+j]) - l.At(i, j)); e > 1e-4*max(math.Abs(l.At(i, i)), math.Abs(l.At(i, j))) {
					t.Errorf("%g apart: entry %d, %d is %g, want %g", apart, i, j, lower[i*cols+j], l.At(i, j))
				}
			}
		}
	}
}
