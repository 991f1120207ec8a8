package network

import (
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Decay rates of the moments of the gradient, and the term that keeps steps finite.
const (
	fade       = 0.9
	fadeSquare = 0.999
	tiny       = 1e-8
)

// adam contains the moment estimates of the gradient.
type adam[T kern.Float] struct {
	first, second []T
	steps         int
}

func newAdam[T kern.Float](size int) *adam[T] {
	return &adam[T]{first: make([]T, size), second: make([]T, size)}
}

// stepGrain is the number of weights per task.
const stepGrain = 1 << 14

// step updates the weights of the trained parts.
func (a *adam[T]) step(n *net[T], rate float64) {
	a.steps++
	root := math.Sqrt(1 - math.Pow(fadeSquare, float64(a.steps)))
	for _, p := range n.trained {
		length := T(rate * p.rate * root / (1 - math.Pow(fade, float64(a.steps))))
		kern.Parallel(p.to-p.from, stepGrain, func(lo, hi int) {
			lo, hi = lo+p.from, hi+p.from
			move(n.weights[lo:hi], n.slope[lo:hi], a.first[lo:hi], a.second[lo:hi], length, T(tiny*root))
		})
	}
}

// move makes an Adam step of the given length for a range of weights. least is added to the
// denominator.
func move[T kern.Float](weights, slope, first, second []T, length, epsilon T) {
	slope, first, second = slope[:len(weights)], first[:len(weights)], second[:len(weights)]
	for i, g := range slope {
		m := fade*first[i] + (1-fade)*g
		v := fadeSquare*second[i] + (1-fadeSquare)*g*g
		first[i], second[i] = m, v
		weights[i] -= length * m / (T(math.Sqrt(float64(v))) + epsilon)
	}
}
