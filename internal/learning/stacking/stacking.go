// Package stacking finds the weights of models that predict together: those of least squared error
// on out-of-fold predictions. Inputs and outputs are numeric columns. (Wolpert, Neural Networks
// 1992; Breiman, Machine Learning 1996.)
package stacking

import (
	"math"
	"slices"
)

// Sums are the second moments of the outputs a of m models and of the true values b.
type Sums struct {
	m    int
	G, c []float64 // Σ w·aa', Σ w·ab
	b    float64   // Σ w·b²
}

// NewSums returns the sums of no rows.
func NewSums(models int) *Sums {
	return &Sums{m: models, G: make([]float64, models*models), c: make([]float64, models)}
}

// Add adds the outputs of the models for one number, and its true value, with a weight.
func (s *Sums) Add(weight float64, output []float64, truth float64) {
	for j, v := range output {
		s.c[j] += weight * v * truth
		for k := range j + 1 {
			s.G[j*s.m+k] += weight * v * output[k]
			s.G[k*s.m+j] = s.G[j*s.m+k]
		}
	}
	s.b += weight * truth * truth
}

// Finite reports whether all sums are finite.
func (s *Sums) Finite() bool {
	total := s.b + sum(s.G) + sum(s.c)
	return total-total == 0
}

// Sizes returns for each model the factor ≥ 0 that scales its outputs to the true values by least
// squares. If all are 0, because no output correlates with the true values, it returns [Sums.Norms]:
// otherwise the models together would predict the same for every row.
func (s *Sums) Sizes() []float64 {
	sizes := make([]float64, s.m)
	for k := range sizes {
		if s.G[k*s.m+k] > 0 {
			sizes[k] = max(s.c[k]/s.G[k*s.m+k], 0)
		}
	}
	if sum(sizes) == 0 {
		return s.Norms()
	}
	return sizes
}

// Norms returns for each model the factor that scales its outputs to the norm of the true values, 0 for
// outputs that are all 0.
func (s *Sums) Norms() []float64 {
	norms := make([]float64, s.m)
	for k := range norms {
		if s.G[k*s.m+k] > 0 {
			norms[k] = math.Sqrt(s.b / s.G[k*s.m+k])
		}
	}
	return norms
}

// Scale multiplies the outputs of each model by a factor.
func (s *Sums) Scale(factors []float64) {
	for j := range s.m {
		s.c[j] *= factors[j]
		for k := range s.m {
			s.G[j*s.m+k] *= factors[j] * factors[k]
		}
	}
}

// Weights returns the weights ≥ 0 with sum 1 that minimize the squared error.
func (s *Sums) Weights() []float64 {
	Q := make([]float64, s.m*s.m)
	for j := range s.m {
		for k := range s.m {
			Q[j*s.m+k] = s.G[j*s.m+k] - s.c[j] - s.c[k] + s.b
		}
	}
	return SimplexLeastSquares(Q, s.m)
}

// Precisions returns 1/variance of each of several outputs, rows × width, over the rows of weight above 0: the
// weights by which their errors are of one size. A single output, and one that does not vary, has 1.
func Precisions(y []float64, width int, weights []float64) []float64 {
	out := slices.Repeat([]float64{1}, width)
	if width == 1 {
		return out
	}
	for o := range out {
		total, mean, square := 0.0, 0.0, 0.0
		for i, w := range weights {
			if w > 0 {
				v := y[i*width+o]
				total += w
				d := v - mean
				mean += w / total * d
				square += w * d * (v - mean)
			}
		}
		if variance := square / total; variance > 0 {
			out[o] = 1 / variance
		}
	}
	return out
}

func sum(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}
