package leastsquares

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// krylov is a symmetric matrix A in the Krylov space of a right side b, where it is a tridiagonal T. All systems
// (A + s·I)x = b are solved there at once, since the space is the same for every shift s: x = V(T + s·I)⁻¹‖b‖e₁ (Lanczos
// 1950; Frommer, BiCGStab(ℓ) for families of shifted linear systems, 2003). The vectors are kept orthogonal to all of them,
// so that rounding makes no copies of eigenvalues.
type krylov struct {
	n                int
	basis            []float64 // V, vector by vector
	diagonal, beside []float64 // of T; the last number beside is that to the next vector
	norm             float64   // of the right side
	least            float64   // eigenvalue of T
}

const (
	// krylovSteps is how many vectors there are at most, for all right sides: a product with A takes the time of a
	// hundred-and-fiftieth of its reduction to a band.
	krylovSteps = 72
	// krylovLook is after how many steps each time it is asked whether so many will do.
	krylovLook = 8
	// krylovLeft is the residual of the system with the least shift, against the right side, that is left.
	krylovLeft = 1e-15
)

// newKrylov returns the space for the lower triangle of A in which the system with the least shift is solved; nil where more
// steps than given would be needed, which is so of all but well conditioned systems.
func newKrylov(ctx context.Context, gram []float64, n int, b []float64, shift float64, steps int) *krylov {
	k := &krylov{n: n, norm: math.Sqrt(kern.Dot(b, b))}
	if !(k.norm > 0) {
		return nil
	}
	next, pivot, left := slices.Clone(b), math.Inf(1), k.norm
	kern.Scale(1/k.norm, next)
	for j := 1; j <= steps && ctx.Err() == nil; j++ {
		pivot = k.step(gram, next) + shift - k.before(j)*k.before(j)/pivot
		left *= math.Abs(k.beside[j-1] / pivot)
		if left <= krylovLeft*k.norm {
			k.least = k.smallest()
			return k
		}
		if j%krylovLook == 0 && !(math.Log(left/k.norm)*float64(steps) <= math.Log(krylovLeft)*float64(j)) {
			return nil
		}
		kern.Scale(1/k.beside[j-1], next)
	}
	return nil
}

// step takes v into the basis, leaves in its place what A·v has beyond the basis, and returns v'Av. A·v is made orthogonal to
// the last two vectors, as it is by theory to all others then; what rounding has left is taken away after that.
func (k *krylov) step(gram, v []float64) float64 {
	k.basis = append(k.basis, v...)
	end := len(k.basis)
	own := k.basis[end-k.n:]
	multiplySymmetric(v, gram, k.n, own)
	a := kern.Dot(v, own)
	for _, from := range []int{max(0, end-2*k.n), 0} {
		for at := from; at < end; at += k.n {
			other := k.basis[at : at+k.n]
			kern.Axpy(-kern.Dot(v, other), other, v)
		}
	}
	k.diagonal, k.beside = append(k.diagonal, a), append(k.beside, math.Sqrt(kern.Dot(v, v)))
	return a
}

// before returns the entry of T beside the diagonal that links vector j to the one before, counted from 1.
func (k *krylov) before(j int) float64 {
	if j < 2 {
		return 0
	}
	return k.beside[j-2]
}

// solve writes the solution for a shift to x, whose elements lie stride apart.
func (k *krylov) solve(shift float64, x []float64, stride int) {
	steps := len(k.diagonal)
	pivots, y := make([]float64, steps), make([]float64, steps)
	for j := range steps {
		pivots[j], y[j] = k.diagonal[j]+shift, k.norm
		if j > 0 {
			factor := k.beside[j-1] / pivots[j-1]
			pivots[j] -= factor * k.beside[j-1]
			y[j] = -factor * y[j-1]
		}
	}
	sum := make([]float64, k.n)
	for j := steps - 1; j >= 0; j-- {
		if y[j] /= pivots[j]; j < steps-1 {
			y[j] -= k.beside[j] / pivots[j] * y[j+1]
		}
		kern.Axpy(y[j], k.basis[j*k.n:(j+1)*k.n], sum)
	}
	for i, v := range sum {
		x[i*stride] = v
	}
}

// smallest returns the least eigenvalue of T, or 0, by bisection: below it all pivots are positive.
func (k *krylov) smallest() float64 {
	lo, hi := 0.0, slices.Min(k.diagonal)
	for range 60 {
		middle := (lo + hi) / 2
		pivot, positive := math.Inf(1), true
		for j, a := range k.diagonal {
			pivot = a - middle - k.before(j+1)*k.before(j+1)/pivot
			positive = positive && pivot > 0
		}
		if positive {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo
}

// multiplySymmetric writes the product of the symmetric matrix of which a has the lower triangle with x to y, and reads the
// triangle once.
func multiplySymmetric(y, a []float64, n int, x []float64) {
	const rows = 32
	clear(y)
	for lo := 0; lo < n; lo += rows {
		hi := min(lo+rows, n)
		kern.MulBothWays(y[lo:hi], y[:lo], kern.Dense(n, n, n, a).Slice(lo, hi, 0, lo), x[:lo], x[lo:hi])
		for i := lo; i < hi; i++ {
			row := a[i*n+lo : i*n+i+1]
			y[i] += kern.Dot(row, x[lo:i+1])
			kern.Axpy(x[i], row[:i-lo], y[lo:i])
		}
	}
}
