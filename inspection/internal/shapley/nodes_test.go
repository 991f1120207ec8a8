package shapley_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

// leaveOneOut returns the values of the product of p_j for a row and q_j for the background, with
// ⌈d/2⌉ nodes and products from the start.
func leaveOneOut(p, q []complex128) []complex128 {
	m := (len(p) + 1) / 2
	at, weight := make([]float64, m), make([]float64, m)
	quad.Legendre{}.FixedLocations(at, weight, 0, 1)
	out := make([]complex128, len(p))
	for j := range p {
		for k, t := range at {
			product := complex(weight[k], 0) * (p[j] - q[j])
			for l := range p {
				if l != j {
					product *= q[l] + complex(t, 0)*(p[l]-q[l])
				}
			}
			out[j] += product
		}
	}
	return out
}

// With many inputs fewer nodes than ⌈d/2⌉ are as exact, for narrow and wide kernels.
func TestFewerNodesAreExact(t *testing.T) {
	for _, d := range []int{1, 2, 3, 8, 17, 40, 101} {
		for _, scale := range []float64{0.01, 0.1, 1, 10} {
			t.Run(fmt.Sprintf("d=%d/scale=%v", d, scale), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(d), 1))
				const terms = 11
				W := normal(rng, d, terms, scale/math.Sqrt(float64(d)))
				X, background := normal(rng, 2, d, 1), normal(rng, 3, d, 1)
				compareTerms(t, W, X, background, true)
				compareTerms(t, W, X, background, false)
			})
		}
	}
}

// compareTerms compares values of sums of cosines, or of products of exp(−|w_j·x_j|).
func compareTerms(t *testing.T, W, X, background *mat.Dense, cosines bool) {
	t.Helper()
	d, terms := W.Dims()
	g := graph.New(make([]graph.Input, d))
	var features graph.Value
	if cosines {
		features = g.Cos(g.MatMul(g.Input(), g.Matrix(W)))
	} else {
		var sum graph.Value
		for j := range d {
			one := g.Abs(g.Mul(g.Columns(g.Input(), []int{j}), g.Row(W.RawRowView(j))))
			if j > 0 {
				one = g.Add(sum, one)
			}
			sum = one
		}
		features = g.Exp(g.Neg(sum))
	}
	found := explain(t, g, features, single(d), X, background)
	factor := func(j, k int, x float64) complex128 {
		if cosines {
			return cmplx.Exp(complex(0, W.At(j, k)*x))
		}
		return complex(math.Exp(-math.Abs(W.At(j, k)*x)), 0)
	}
	n, _ := background.Dims()
	rows, _ := X.Dims()
	for i := range rows {
		for k := range terms {
			want, largest := make([]float64, d), 0.0
			for z := range n {
				var p, q []complex128
				for j := range d {
					p, q = append(p, factor(j, k, X.At(i, j))), append(q, factor(j, k, background.At(z, j)))
				}
				for j, v := range leaveOneOut(p, q) {
					want[j] += real(v) / float64(n)
					largest = max(largest, math.Abs(want[j]))
				}
			}
			for j, v := range want {
				if off := math.Abs(found.Inputs[k].At(i, j) - v); !(off <= 1e-13*largest+1e-15) {
					t.Fatalf("term %d, input %d: %v, want %v (off by %.1e)", k, j, found.Inputs[k].At(i, j), v, off)
				}
			}
		}
	}
}
