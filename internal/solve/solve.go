// Package solve holds the iterative solvers of linear models: conjugate gradients, a truncated
// Newton method, and dual coordinate descent with interior point steps.
//
// They see the data only through small functions and interfaces, so that rows may be dense, sparse
// or streamed. A solver can work on several columns at once: independent problems of one size whose
// vectors are the columns of an n×columns matrix in row-major order. They go in lockstep, so that
// one pass over the data serves all, but every column takes its own steps and stops by itself.
//
// Nothing here is random beyond fixed seeds, and sums are made in a fixed order: the same input
// gives the same bits.
package solve

// Operator computes dst = A·v for n×columns row-major matrices. dst and v do not overlap.
type Operator func(dst, v []float64) error

// dots adds up x·y column by column into sums.
func dots(sums, x, y []float64) {
	clear(sums)
	k := len(sums)
	if k == 1 {
		var s0, s1 float64
		i := 0
		for ; i+1 < len(x); i += 2 {
			s0 += x[i] * y[i]
			s1 += x[i+1] * y[i+1]
		}
		if i < len(x) {
			s0 += x[i] * y[i]
		}
		sums[0] = s0 + s1
		return
	}
	for i := 0; i < len(x); i += k {
		for j := range sums {
			sums[j] += x[i+j] * y[i+j]
		}
	}
}

// axpys computes y += factors[j]·x in every column j.
func axpys(factors, x, y []float64) {
	k := len(factors)
	for i := 0; i < len(x); i += k {
		for j, f := range factors {
			y[i+j] += f * x[i+j]
		}
	}
}

// scaleAdd computes y = factors[j]·y + x in every column j.
func scaleAdd(factors, x, y []float64) {
	k := len(factors)
	for i := 0; i < len(x); i += k {
		for j, f := range factors {
			y[i+j] = f*y[i+j] + x[i+j]
		}
	}
}
