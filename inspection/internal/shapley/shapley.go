// Package shapley computes interventional Shapley values of functions of a row: exactly where a
// graph shows that the function is a sum of products over inputs, by permutation sampling
// otherwise.
//
// The players are inputs, each a group of columns. The value of a coalition S for a row x is the
// mean of f over a background, with the inputs in S taken from x:
//
//	v(S) = Σ_z w_z·f(x_S, z_rest) / Σ_z w_z
//
// A [Form] is a function of the form
//
//	f(x) = c + Σ_j a_j(x_j) + Σ_k β_k·cos(b_k + Σ_j h_kj(x_j)) + Σ_k γ_k·Π_j g_kj(x_j)
//
// The Shapley weights are moments, s!(d−1−s)!/d! = ∫ t^s·(1−t)^(d−1−s) dt over [0, 1], so that for
// one product and one background row, with p_j = g_j(x_j) and q_j = g_j(z_j),
//
//	φ_j = (p_j − q_j)·∫ Π_{l≠j} (q_l + t·(p_l − q_l)) dt over [0, 1]
//
// The integrand is a polynomial of degree d−1 in t: Gauss–Legendre quadrature with ⌈d/2⌉ nodes is
// exact. Products that leave one factor out are those of a prefix and a suffix.
//
// For a cosine the factors are e^{i·h}. With θ_l = h_l(x_l) − h_l(z_l) and s = 2t−1 they are
// e^{i(h_l(x_l)+h_l(z_l))/2}·(cos(θ_l/2) + i·s·sin(θ_l/2)), and the integral over s is real, because
// −s gives the complex conjugate: half of the nodes suffice.
//
// The Shapley interaction index of two inputs j and m has the weights s!(d−2−s)!/(d−1)!, so that for
// one product it is
//
//	φ_jm = (p_j − q_j)·(p_m − q_m)·∫ Π_{l≠j, l≠m} (q_l + t·(p_l − q_l)) dt over [0, 1]
//
// Sources: Štrumbelj and Kononenko, "Explaining prediction models and individual predictions with
// feature contributions", Knowledge and Information Systems 41, 2014 (the value function and
// sampling); Owen, "Multilinear extensions of games", Management Science 18, 1972 (the integral);
// Grabisch and Roubens, "An axiomatic approach to the concept of interaction among players in
// cooperative games", International Journal of Game Theory 28, 1999.
package shapley

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Values are the Shapley values of rows.
type Values struct {
	Inputs []*mat.Dense // for each output, rows × inputs
	// StdErrors has the standard errors of sampled values, nil of exact ones.
	StdErrors []*mat.Dense
	// Pairs has, for each output, rows × inputs², the matrices of interactions: half the Shapley interaction index of
	// two inputs, and in the diagonal the remaining value of an input; nil unless requested.
	Pairs []*mat.Dense
	Rows  *mat.Dense // rows × outputs: the function at the rows
	Base  []float64  // for each output: weighted mean of the function over the background
}

func newValues(rows, inputs, outputs int) Values {
	v := Values{Rows: mat.NewDense(rows, outputs, nil), Base: make([]float64, outputs)}
	for range outputs {
		v.Inputs = append(v.Inputs, mat.NewDense(rows, inputs, nil))
	}
	return v
}

// EfficiencyGap returns the largest |base + Σ_j φ_j − f(x)| of an output.
func (v Values) EfficiencyGap() float64 {
	largest := 0.0
	rows, _ := v.Rows.Dims()
	for q, values := range v.Inputs {
		for i := range rows {
			sum := v.Base[q]
			for _, phi := range values.RawRowView(i) {
				sum += phi
			}
			if gap := math.Abs(sum - v.Rows.At(i, q)); !(gap <= largest) {
				largest = gap
			}
		}
	}
	return largest
}

// completePairs mirrors the indices of pairs j < m, and sets the diagonals such that rows of the
// matrices sum to the values of the inputs.
func (v Values) completePairs() {
	for q, pairs := range v.Pairs {
		n, d := v.Inputs[q].Dims()
		for i := range n {
			matrix := mat.NewDense(d, d, pairs.RawRowView(i))
			for j := range d {
				rest := v.Inputs[q].At(i, j)
				for m := range d {
					if m > j {
						matrix.Set(j, m, matrix.At(j, m)/2)
						matrix.Set(m, j, matrix.At(j, m))
					}
					if m != j {
						rest -= matrix.At(j, m)
					}
				}
				matrix.Set(j, j, rest)
			}
		}
	}
}

// Background contains the rows that replace absent inputs.
type Background struct {
	X       *mat.Dense
	Weights []float64 // sum 1
}

// Inputs assigns columns to inputs.
type Inputs struct {
	Of    []int // input of each column
	Count int
}

// Changed appends to dst the inputs in which two rows differ. Missing values are equal.
func (p Inputs) Changed(dst []int, x, z []float64) []int {
	differs := make([]bool, p.Count)
	for j, v := range x {
		if v != z[j] && !(v != v && z[j] != z[j]) {
			differs[p.Of[j]] = true
		}
	}
	for input, yes := range differs {
		if yes {
			dst = append(dst, input)
		}
	}
	return dst
}

// Function returns the outputs of a function for rows, rows × outputs.
type Function func(ctx context.Context, X mat.Matrix) (*mat.Dense, error)
