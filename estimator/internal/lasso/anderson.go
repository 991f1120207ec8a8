package lasso

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// iterates are the weights after consecutive sweeps and what depends on them linearly: the gradient or
// the residuals.
type iterates struct {
	w, linear [][]float64
	shift     []float64 // of sparse residuals
}

// depth is the number of changes that are combined.
const depth = 5

// add appends the listed weights. After depth sweeps, it replaces them by the affine combination of the
// iterates whose last change is the smallest, if that has a smaller objective: Anderson acceleration.
// (Bertrand & Massias, AISTATS 2021.)
func (h *iterates) add(q *quadratic, list []int) {
	if len(list) == 0 {
		return
	}
	state, shift := q.r, 0.0
	if q.e != nil {
		state, shift = q.e.e, q.e.shift
	}
	w := make([]float64, len(list))
	for a, j := range list {
		w[a] = q.w[j]
	}
	h.w, h.linear, h.shift = append(h.w, w), append(h.linear, slices.Clone(state)), append(h.shift, shift)
	if len(h.w) <= depth {
		return
	}
	past := *h
	*h = iterates{}
	if c := past.combination(); c != nil {
		old := q.objective(list)
		past.set(q, list, c)
		if q.objective(list) >= old {
			past.set(q, list, append(make([]float64, depth-1), 1))
		}
	}
	h.add(q, list)
}

// combination returns the factors of the last iterates, which sum to 1, or nil if there are none.
func (h *iterates) combination() []float64 {
	const ridge = 1e-12
	gram, c := kern.Dense(depth, depth, depth, make([]float64, depth*depth)), slices.Repeat([]float64{1}, depth)
	changes, largest := make([][]float64, depth), 0.0
	for a := range depth {
		changes[a] = slices.Clone(h.w[a+1])
		kern.Axpy(-1, h.w[a], changes[a])
		for b := range a + 1 {
			gram.Set(a, b, kern.Dot(changes[a], changes[b]))
		}
		largest = max(largest, gram.At(a, a))
	}
	for a := range depth {
		gram.Set(a, a, gram.At(a, a)+ridge*largest)
	}
	ctx := context.Background() // a few numbers
	if _, ok, err := kern.Cholesky(ctx, gram); err != nil || !ok || kern.SolveCholesky(ctx, gram, kern.Column(c)) != nil {
		return nil
	}
	if kern.Scale(1/kern.Sum(c), c); !kern.AllFinite(c) {
		return nil
	}
	return c
}

// set replaces the listed weights by a combination of the last iterates.
func (h *iterates) set(q *quadratic, list []int, c []float64) {
	state, shift := make([]float64, len(h.linear[0])), 0.0
	w := make([]float64, len(list))
	for a, factor := range c {
		kern.Axpy(factor, h.linear[a+1], state)
		kern.Axpy(factor, h.w[a+1], w)
		shift += factor * h.shift[a+1]
	}
	for a, j := range list {
		q.w[j] = w[a]
	}
	if q.e == nil {
		copy(q.r, state)
	} else {
		copy(q.e.e, state)
		q.e.shift = shift
	}
}
