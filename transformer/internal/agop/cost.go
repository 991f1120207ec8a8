package agop

import "math"

// Cost returns the approximate GEMM flops in float64 and the bytes of Learn, for the maximum number
// of rounds.
func (o Options) Cost(rows, held, inputs, targets float64) (flops, bytes float64) {
	n, h, d := rows, held, inputs
	// A map is judged by some factors and some kernels, and once a round by larger ones, which are too small for
	// full speed.
	const factors, kernels, slow = 6, 3, 2
	judged := func(size float64) (factor, kernel float64) {
		size = min(size, n-h)
		return slow * size * size * size / 3, (size*size/2 + h*size) * pair(d)
	}
	factor, kernel := judged(searched)
	large, values := judged(scored)
	maps := float64(len(o.powers()))
	if !o.Diagonal {
		maps *= 2
	}
	rounds := float64(o.Rounds)
	flops = (1+rounds*maps)*(factors*factor+kernels*kernel) + (1+rounds)*(large+values)
	fit, bytes := o.machineCost(n-h, d, targets)
	flops += rounds * fit
	size := min(scored, n-h)
	bytes += 8*(2*size*size+h*size) + 8*3*n*d
	if !o.Diagonal {
		flops += rounds * 9 * d * d * d
		bytes += 10 * 8 * d * d
	}
	return flops, bytes
}

// machineCost returns the cost of fitting machines and computing their gradients. Flops in float32
// count half.
func (o Options) machineCost(n, d, t float64) (flops, bytes float64) {
	if o.Features > 0 {
		D := float64(o.Features)
		return n*D*(D+2*d)/2 + min(n, maxSlopes)*D*d*(1+t) + D*D*D/3, 4*8*D*D + 4*stripe*D
	}
	parts := math.Ceil(n / float64(o.Part))
	n /= parts
	fit := n*n*n/6 + n*n/4*pair(d)
	slopes := min(n, maxSlopes) * n * (pair(d) + t*(2*d+10)) / 2
	return parts * (fit + slopes), 4 * n * n
}

// pair is the cost of a kernel value of two rows of d inputs.
func pair(d float64) float64 {
	const value = 60 // of a distance
	return 2*d + value
}
