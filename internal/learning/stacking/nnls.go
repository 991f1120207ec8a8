package stacking

import (
	"math"
	"slices"
)

// NNLS returns the u ≥ 0 that minimizes ½uᵀGu − cᵀu, where G = AᵀA is m × m in row-major order and
// c = Aᵀb. This is non-negative least squares for Au ≈ b, by the active set method of Lawson &
// Hanson ("Solving Least Squares Problems", 1974, chapter 23). At the solution the gradient c − Gu
// is 0 where u > 0 and at most 0 elsewhere. Linearly dependent columns get weight 0.
func NNLS(G, c []float64) []float64 {
	p := &nnls{G: G, c: c, u: make([]float64, len(c))}
	for range 3 * len(c) * len(c) { // rounding may prevent termination
		j := p.selectColumn()
		if j < 0 {
			break
		}
		p.passive = append(p.passive, j)
		z, ok := p.solve()
		if !ok || !(z[len(z)-1] > 0) { // depends linearly on the passive columns
			p.passive = p.passive[:len(p.passive)-1]
			p.dependent = append(p.dependent, j)
			continue
		}
		p.dependent = p.dependent[:0]
		for !p.moveToward(z) {
			if z, ok = p.solve(); !ok {
				break
			}
		}
	}
	return p.u
}

type nnls struct {
	G, c, u   []float64
	passive   []int // columns with unconstrained weights (the passive set)
	dependent []int // columns that depend linearly on the passive set
}

// selectColumn returns the column of steepest normalized descent, -1 if none is left.
func (p *nnls) selectColumn() int {
	m, best, steepest := len(p.c), -1, 0.0
	for j := range p.c {
		if slices.Contains(p.passive, j) || slices.Contains(p.dependent, j) || !(p.G[j*m+j] > 0) {
			continue
		}
		gradient, size := p.c[j], math.Abs(p.c[j])
		for k, u := range p.u {
			gradient -= p.G[j*m+k] * u
			size += math.Abs(p.G[j*m+k] * u)
		}
		if gradient > 1e-13*size {
			if slope := gradient / math.Sqrt(p.G[j*m+j]); slope > steepest {
				best, steepest = j, slope
			}
		}
	}
	return best
}

// solve returns the unconstrained weights of the passive columns by a Cholesky factor, or false if
// it is singular.
func (p *nnls) solve() (z []float64, ok bool) {
	m, k := len(p.c), len(p.passive)
	L := make([]float64, k*k)
	z = make([]float64, k)
	for i, at := range p.passive {
		for j := 0; j <= i; j++ {
			sum := p.G[at*m+p.passive[j]]
			for h := range j {
				sum -= L[i*k+h] * L[j*k+h]
			}
			if i > j {
				L[i*k+j] = sum / L[j*k+j]
			} else if L[i*k+i] = math.Sqrt(sum); !(sum > 1e-13*p.G[at*m+at]) {
				return nil, false
			}
		}
		z[i] = p.c[at]
		for h := range i {
			z[i] -= L[i*k+h] * z[h]
		}
		z[i] /= L[i*k+i]
	}
	for i := k - 1; i >= 0; i-- {
		for h := i + 1; h < k; h++ {
			z[i] -= L[h*k+i] * z[h]
		}
		z[i] /= L[i*k+i]
	}
	return z, true
}

// moveToward moves u toward z until a weight reaches 0, and removes such columns from the passive
// set. It reports whether z was reached.
func (p *nnls) moveToward(z []float64) bool {
	step, stops := 1.0, -1
	for i, j := range p.passive {
		if z[i] <= 0 {
			if s := p.u[j] / (p.u[j] - z[i]); s < step || stops < 0 {
				step, stops = s, i
			}
		}
	}
	var remaining []int
	for i, j := range p.passive {
		p.u[j] += step * (z[i] - p.u[j])
		if stops >= 0 && (i == stops || p.u[j] <= 0) {
			p.u[j] = 0
			continue
		}
		if stops < 0 {
			p.u[j] = z[i]
		}
		remaining = append(remaining, j)
	}
	p.passive = remaining
	return stops < 0
}

// SimplexLeastSquares returns the u ≥ 0 with Σu = 1 that minimizes ‖Au − b‖², given Q = (A −
// b1ᵀ)ᵀ(A − b1ᵀ) in row-major order. On the simplex the objective is uᵀQu; its minimizer is a
// multiple of the u ≥ 0 that minimizes ½uᵀQu − 1ᵀu.
func SimplexLeastSquares(Q []float64, m int) []float64 {
	ones, size := make([]float64, m), 0.0
	for j := range m {
		ones[j] = 1
		size = max(size, Q[j*m+j])
	}
	Q = slices.Clone(Q)
	for j := range m { // keeps the minimum finite if Q is singular
		Q[j*m+j] += 1e-12*size + math.SmallestNonzeroFloat64
	}
	if size > 0 {
		for i := range Q {
			Q[i] /= size
		}
	}
	u, sum := NNLS(Q, ones), 0.0
	for _, v := range u {
		sum += v
	}
	for j := range u {
		if sum > 0 && !math.IsInf(sum, 0) {
			u[j] /= sum
		} else {
			u[j] = 1 / float64(m)
		}
	}
	return u
}
