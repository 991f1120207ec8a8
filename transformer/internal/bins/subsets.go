package bins

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Subsets is a distribution of sets of k inputs: the probability of a set is proportional to the
// product of its weights (conditional Poisson sampling: independent draws, given that k are drawn).
// Sums over all sets are coefficients of polynomial products, computed in k·d steps.
//
// (Chen, Dempster and Liu, "Weighted finite population sampling to maximize entropy", Biometrika, 1994.)
type Subsets struct {
	Group []int // the input that each column belongs to; nil where every column is one

	weights []float64
	inputs  []int     // of a positive weight
	chances []float64 // inclusion probabilities of independent draws
	k       int
}

// NewSubsets returns the distribution of sets of k inputs with weights ≥ 0. An input of weight 0 is
// never drawn; if fewer than k have positive weight, a set contains all of these. If all weights
// are 0, they count as equal.
func NewSubsets(weights []float64, k int) *Subsets {
	s := &Subsets{weights: make([]float64, len(weights))}
	largest := 0.0
	for _, w := range weights {
		largest = max(largest, w)
	}
	for j, w := range weights {
		s.weights[j] = 1
		if largest > 0 {
			s.weights[j] = w / largest
		}
		if s.weights[j] > 0 {
			s.inputs = append(s.inputs, j)
		}
	}
	s.k = min(k, len(s.inputs))
	s.balance()
	return s
}

// Size returns the number of inputs of a set.
func (s *Subsets) Size() int { return s.k }

// Weights returns the weight of each input, the largest being 1.
func (s *Subsets) Weights() []float64 { return s.weights }

// balance sets inclusion probabilities with odds proportional to the weights and sum k.
func (s *Subsets) balance() {
	s.chances = make([]float64, len(s.inputs))
	low, high := -1100.0, 1100.0 // of the exponent of the odds of weight 1
	if s.k == len(s.inputs) {    // all are drawn for sure
		low, high = math.Inf(1), math.Inf(1)
	}
	for range 100 {
		middle, sum := (low+high)/2, 0.0
		for i, j := range s.inputs {
			s.chances[i] = 1 / (1 + 1/(s.weights[j]*math.Exp2(middle)))
			sum += s.chances[i]
		}
		if sum < float64(s.k) {
			low = middle
		} else {
			high = middle
		}
	}
}

// extend replaces row by that of one input more: row[r] is the mean, over sets of some of the last inputs and
// zero where a set has not r of them, of the product of their values. The input i has value v.
func (s *Subsets) extend(row []float64, i int, v float64) {
	p := s.chances[i]
	for r := s.k; r > 0; r-- {
		row[r] = float64((1-p)*row[r]) + float64(p*v*row[r-1])
	}
	row[0] *= 1 - p
}

// Mean returns the mean over sets of the product of the values of their inputs.
func (s *Subsets) Mean(values []float64) float64 {
	product, all := make([]float64, s.k+1), make([]float64, s.k+1)
	product[0], all[0] = 1, 1
	for i := len(s.inputs) - 1; i >= 0; i-- {
		s.extend(product, i, values[s.inputs[i]])
		s.extend(all, i, 1)
	}
	return product[s.k] / all[s.k]
}

// draws draws sets from a table of size d·k.
type draws struct {
	*Subsets
	rows [][]float64 // rows[i][r] is the chance that r of inputs[i:] are drawn
}

func (s *Subsets) draws() (*draws, error) {
	if err := memory.Check(8 * int64(len(s.inputs)+1) * int64(s.k+1)); err != nil {
		return nil, fmt.Errorf("sets of %d of %d columns: %w", s.k, len(s.inputs), err)
	}
	rows := make([][]float64, len(s.inputs)+1)
	row := make([]float64, s.k+1)
	row[0] = 1
	for i := len(s.inputs); i >= 0; i-- {
		if i < len(s.inputs) {
			s.extend(row, i, 1)
		}
		rows[i] = slices.Clone(row)
	}
	return &draws{s, rows}, nil
}

// set fills set with inputs, ascending.
func (d *draws) set(rng *rand.Rand, set []int) {
	left := d.k
	for i, j := range d.inputs {
		if left == 0 {
			return
		}
		u := rng.Float64() * d.rows[i][left]
		if u < d.chances[i]*d.rows[i+1][left-1] || len(d.inputs)-i == left {
			set[d.k-left] = j
			left--
		}
	}
}
