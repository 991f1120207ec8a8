// Package solve implements iterative solvers of linear models: conjugate gradients, a truncated
// Newton method, dual coordinate descent with an interior point method; and the products of rows
// with scores that these need.
//
// Solvers access the data through small interfaces, so that rows may be dense, sparse or streamed.
// A solver can work on several independent problems of equal size. Their vectors are the columns of
// an n × columns matrix in row-major order. They share passes over the data; step lengths and
// termination are individual.
//
// Results are deterministic: seeds are fixed and sums have a fixed order.
package solve

// Operator computes dst = A·v for n×columns row-major matrices. dst and v do not overlap.
type Operator func(dst, v []float64) error

// dots computes Σ x·y of each column.
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
