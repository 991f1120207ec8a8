package newton

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Preconditioners are the inverse of factor·XᵀSX + I with the mean curvature S of all problems that
// share sums: initially all, later those of one C. Preconditioners that are not stale do not
// change.
func TestPreconditionersAreMadeForCurvatures(t *testing.T) {
	const n, d, narrow = 300, 8, 5
	rng := rand.New(rand.NewPCG(2, 2))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
	}
	ones := slices.Repeat([]float64{1}, n)
	var problems []Problem
	for _, C := range []float64{1, 2, 4, 8} {
		for _, width := range []int{narrow, d} {
			problems = append(problems, Problem{Loss: logisticLoss{}, Y: ones, Weights: ones, C: C,
				WeightFactor: C / float64(width), Width: width, curve: make([]float64, n)})
		}
	}
	shape := make([]float64, n) // by row, of the curvatures
	for i := range shape {
		shape[i] = 0.05 + 0.2*rng.Float64()
	}
	bend := func(by ...float64) { // by C
		for p := range problems {
			for i, v := range shape {
				if i%2 == 1 {
					v *= by[p/2]
				}
				problems[p].curve[i] = problems[p].WeightFactor * v
			}
		}
	}
	a := newPreconditioners(context.Background(), false, problems, n, d)
	check := func(what string, factors []float64) { // by C: for odd rows, in their curvatures
		t.Helper()
		k := len(problems)
		for p, o := range problems {
			A := mat.NewDense(o.Width, o.Width, nil)
			for r := range o.Width {
				for c := range o.Width {
					for i, v := range shape {
						if i%2 == 1 {
							v *= factors[p/2]
						}
						A.Set(r, c, A.At(r, c)+o.WeightFactor*v*X.At(i, r)*X.At(i, c))
					}
				}
				A.Set(r, r, A.At(r, r)+1)
			}
			v, dst := make([]float64, d*k), make([]float64, d*k)
			right := mat.NewVecDense(o.Width, nil)
			for i := range o.Width {
				right.SetVec(i, rng.NormFloat64())
				v[i*k+p] = right.AtVec(i)
			}
			if err := a.solve(dst, v, k, d); err != nil {
				t.Fatal(err)
			}
			var want mat.VecDense
			if err := want.SolveVec(A, right); err != nil {
				t.Fatal(err)
			}
			for i := range o.Width {
				if e := math.Abs(dst[i*k+p] - want.AtVec(i)); e > 1e-4*mat.Norm(&want, math.Inf(1)) {
					t.Errorf("%s: problem %d: entry %d is %g, want %g", what, p, i, dst[i*k+p], want.AtVec(i))
				}
			}
		}
	}
	renew := func() {
		t.Helper()
		a.resetSums()
		if err := a.addSample(0, X); err != nil {
			t.Fatal(err)
		}
		a.factorize()
	}
	bend(1, 1, 1, 1)
	renew()
	check("at first", []float64{1, 1, 1, 1})
	bend(1.1, 3, 3.2, 10)
	a.markAllStale()
	renew()
	check("each C for itself", []float64{1.1, 3, 3.2, 10})
	bend(2, 4, 5, 6)
	for i := range a.list {
		a.list[i].stale = a.list[i].c == 4
	}
	renew()
	check("one C", []float64{1.1, 3, 5, 10})
}
