package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// sumsOf returns the sums of rows of normal columns, of which the first are by more and more larger, with two targets;
// column 7 is constant.
func sumsOf(t *testing.T, n, d int, more float64) *Moments {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(d)))
	x, y := mat.NewDense(n, d, nil), make([]float64, 2*n)
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		for j := range 60 {
			row[j] *= 1 + more*float64(j)
		}
		row[7] = 2
		y[2*i], y[2*i+1] = row[0]+row[70]+rng.NormFloat64(), row[90]-row[1]
	}
	sums := NewMoments(d, 2, true)
	if err := sums.Add(context.Background(), x, y, nil); err != nil {
		t.Fatal(err)
	}
	return sums
}

// Where a matrix is well conditioned all alphas have their weights from Krylov spaces, which are those of a factor each, with
// the least eigenvalue; a constant column has none.
func TestKrylovSpacesSolveWellConditionedSystems(t *testing.T) {
	const d = 400
	sums := sumsOf(t, 4000, d, 0.002)
	path := func(alphas int) *Path {
		p, err := NewPath(context.Background(), sums, d, make([]float64, d*d), alphas, 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole, spaces := path(1), path(20)
	if spaces.spaces == nil || whole.spaces != nil {
		t.Fatal("there are no Krylov spaces, or such of one alpha")
	}
	var eigen mat.EigenSym
	system := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			system.SetSym(i, j, whole.gram[i*d+j])
		}
	}
	if !eigen.Factorize(system, false) {
		t.Fatal("no eigenvalues")
	}
	smallest := eigen.Values(nil)[1] // the first one is of the constant column
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	onOneCore := path(20)
	for _, alpha := range []float64{1e-3, 1, 1e3, 1e6} {
		want, _ := whole.weights(alpha)
		got, least := spaces.weights(alpha)
		scale := 0.0
		for _, w := range want {
			scale = max(scale, math.Abs(w))
		}
		for i, w := range want {
			if math.Abs(got[i]-w) > 1e-12*scale || i/2 == 7 && got[i] != 0 {
				t.Fatalf("alpha %v: weight %d is %v, wanted %v", alpha, i, got[i], w)
			}
		}
		if found := least - alpha; !(found > smallest*(1-1e-9) && found < 1.05*smallest) {
			t.Errorf("alpha %v: least eigenvalue %v, wanted %v", alpha, found, smallest)
		}
		if other, _ := onOneCore.weights(alpha); !same(got, other) {
			t.Errorf("alpha %v: other bits on one core", alpha)
		}
	}
}

// The vectors of a space stay orthogonal to all others: rounding would grow by a factor of three or four with each of them.
func TestKrylovVectorsAreOrthogonal(t *testing.T) {
	const d = 400
	p, err := NewPath(context.Background(), sumsOf(t, 4000, d, 0.002), d, make([]float64, d*d), 20, 0)
	if err != nil || p.spaces == nil {
		t.Fatalf("no Krylov spaces: %v", err)
	}
	for _, k := range p.spaces {
		steps := len(k.diagonal)
		v, products := mat.NewDense(steps, d, k.basis), mat.NewDense(steps, steps, nil)
		products.Mul(v, v.T())
		for i := range steps {
			for j := range i {
				if math.Abs(products.At(i, j)) > 1e-13 {
					t.Errorf("the product of vectors %d and %d is %v", i, j, products.At(i, j))
				}
			}
		}
	}
}

// Spread eigenvalues would take more steps than a band, which there is then.
func TestSpreadEigenvaluesHaveABand(t *testing.T) {
	const d = 400
	p, err := NewPath(context.Background(), sumsOf(t, 1000, d, 1e3), d, make([]float64, d*d), 20, 1e-3)
	if err != nil || p.spaces != nil || p.band == nil {
		t.Errorf("spaces %v, a band %v: %v", p.spaces != nil, p.band != nil, err)
	}
}

// The product of a symmetric matrix reads its lower triangle.
func TestMultiplySymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 5, 32, 33, 100} {
		a, x, y := make([]float64, n*n), make([]float64, n), make([]float64, n)
		for i := range a {
			if a[i] = rng.NormFloat64(); i%n > i/n {
				a[i] = math.NaN()
			}
		}
		for i := range x {
			x[i], y[i] = rng.NormFloat64(), math.NaN()
		}
		multiplySymmetric(y, a, n, x)
		for i := range n {
			want := 0.0
			for j := range n {
				want += a[max(i, j)*n+min(i, j)] * x[j]
			}
			if !(math.Abs(y[i]-want) < 1e-12) {
				t.Errorf("order %d: element %d is %v, wanted %v", n, i, y[i], want)
			}
		}
	}
}
