package newton

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Pairs improve a preconditioner as the rule of BFGS says, by the last ones that were known when a step began.
func TestPairsImproveAPreconditioner(t *testing.T) {
	const d, older, later = 30, 5, mostPairs + 3
	rng := rand.New(rand.NewPCG(3, 3))
	random := func(n int) *mat.Dense {
		m := mat.NewDense(d, n, nil)
		for i := range d {
			for j := range n {
				m.Set(i, j, rng.NormFloat64())
			}
		}
		return m
	}
	var A mat.Dense
	half := random(2 * d)
	A.Mul(half, half.T())
	inverse := mat.NewDense(d, d, nil) // M⁻¹
	for i := range d {
		inverse.Set(i, i, 1/A.At(i, i))
	}
	var own pairs
	var s, y []*mat.Dense
	step := func(n int) {
		for range n {
			a := random(1)
			var b mat.Dense
			b.Mul(&A, a)
			s, y = append(s, a), append(y, &b)
			own.add(mat.Col(nil, 0, a), mat.Col(nil, 0, &b))
		}
	}
	check := func(what string, from, to int) {
		t.Helper()
		H := mat.DenseCopyOf(inverse)
		for k := from; k < to; k++ {
			rho := 1 / mat.Dot(s[k].ColView(0), y[k].ColView(0))
			var left, turned, back, square mat.Dense
			left.Mul(s[k], y[k].T())
			left.Scale(-rho, &left)
			for i := range d {
				left.Set(i, i, left.At(i, i)+1)
			}
			turned.Mul(&left, H)
			back.Mul(&turned, left.T())
			square.Mul(s[k], s[k].T())
			square.Scale(rho, &square)
			H.Add(&back, &square)
		}
		v := random(1)
		var want mat.Dense
		want.Mul(H, v)
		got := mat.Col(nil, 0, v)
		shares := own.before(got)
		for i := range got {
			got[i] *= inverse.At(i, i)
		}
		own.after(got, shares)
		for i, g := range got {
			if w := want.At(i, 0); math.Abs(g-w) > 1e-10*mat.Norm(&want, 2) {
				t.Errorf("%s: entry %d is %g, wanted %g", what, i, g, w)
			}
		}
	}
	step(older)
	check("none are known to a step that finds them", 0, 0)
	own.turn()
	check("a step later", 0, older)
	step(later)
	check("others that a step finds", 0, older)
	own.turn()
	check("as many as are kept", older+later-mostPairs, older+later)
	own.add(make([]float64, d), make([]float64, d))
	own.turn()
	check("one without a curvature", older+later-mostPairs, older+later)
	own.move(2)
	step(1)
	own.turn()
	check("the first point", len(s)-1, len(s))
	own.move(1.5)
	check("curvatures that are near", len(s)-1, len(s))
	own.move(1)
	check("others", 0, 0)
}
