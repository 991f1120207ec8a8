package solve

import (
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// interior is a primal-dual interior point method for the dual with narrow rows. Its variables are
// the β_i; if Epsilon makes a kink at 0, the positive and negative parts of β_i. A step solves
//
//	(I + ΣΩ_i(x_i−x̄)(x_i−x̄)ᵀ)·Δw = Σq_i(x_i−x̄) − x̄·Σβ_i
//
// where x̄ is the Ω-weighted mean of the rows. Ω_i is the sum of 1/θ over the variables of row i,
// with θ the curvature of a variable and its barriers. q_i is the sum of residual/θ. The matrix
// costs O(rows·width²) flops and serves the predictor and the corrector. About 10 to 30 steps
// suffice for any C. (Mehrotra, SIAM J. Optimization 1992; Ferris & Munson, SIAM J. Optimization
// 2002.)
type interior struct {
	*descent
	vars     []boundedVar
	b        float64
	sumVars  float64   // Σβ
	omega, q []float64 // by row
	mean     []float64 // x̄, zeros without an intercept
	sumOmega float64   // ΣΩ
	factor   []float64 // Cholesky factor of the matrix
	dw       []float64
	db       float64
	block    []float64
}

// boundedVar is a variable in [low, high]. At least one bound is finite if its row has no
// curvature.
type boundedVar struct {
	row                int
	v, low, high       float64
	cost               float64 // linear cost ±Epsilon
	lower, upper       float64 // multipliers of the bounds
	gradient, theta    float64
	dv, dlower, dupper float64
}

// MaxInteriorColumns bounds the columns for which the matrix is formed.
const MaxInteriorColumns = 2048

// gramRows is the number of rows per update of the matrix. After maxInteriorSteps steps only
// rounding keeps the gap open.
const gramRows, maxInteriorSteps = 512, 60

// interiorEpoch returns the pass from which on interior point steps are made. By then descent has
// cost as much as about 15 steps. A pass takes 4nd memory-bound flops. A step takes nd² GEMM flops,
// which are 5 times as fast, and d³/3 for the factor.
func (d *descent) interiorEpoch() int {
	n, cols := float64(max(1, len(d.beta))), float64(d.Rows.Width())
	if d.Logistic || cols > MaxInteriorColumns || cols == 0 {
		return math.MaxInt
	}
	return 20 + int(cols*(1+cols/n))
}

// solveInterior makes interior point steps until the gap is closed or no progress is possible, and
// sets β to the best point found.
func (d *descent) solveInterior(tol float64, maxEpochs int) error {
	p := newInterior(d)
	for range maxInteriorSteps {
		if d.epochs >= maxEpochs || d.gap() <= tol {
			break
		}
		moved := p.step()
		if err := ctxerr.Check(d.ctx); err != nil { // a canceled step is invalid
			return err
		}
		if !moved {
			break
		}
		d.epochs++
		d.interiorSteps++
		p.syncBeta()
		if err := d.updateGap(); err != nil {
			return err
		}
	}
	copy(d.beta, d.best.beta)
	d.combine(d.w, d.beta)
	d.unshrink()
	return d.updateGap()
}

// newInterior starts at the midpoint of two-sided bounds.
func newInterior(d *descent) *interior {
	n, cols := len(d.beta), d.Rows.Width()
	p := &interior{descent: d, b: d.best.b, omega: make([]float64, n), q: make([]float64, n), mean: kern.NewHuge(cols),
		factor: make([]float64, cols*cols), dw: kern.NewHuge(cols), block: make([]float64, gramRows*cols)}
	for i := range n {
		low, high := d.Low[i], d.High[i]
		if low < 0 && (d.Epsilon > 0 || high == 0) {
			p.vars = append(p.vars, boundedVar{row: i, low: low, high: 0, cost: -d.Epsilon})
			low = 0
		}
		if high > 0 {
			cost := d.Epsilon
			if low < 0 {
				cost = 0
			}
			p.vars = append(p.vars, boundedVar{row: i, low: low, high: high, cost: cost})
		}
	}
	for k := range p.vars {
		a := &p.vars[k]
		distance := d.scale() / max(d.diagonal(a.row), 1e-300)
		switch {
		case a.hasLow() && a.hasHigh():
			a.v = a.low + (a.high-a.low)/2
		case a.hasLow():
			a.v = a.low + distance
		case a.hasHigh():
			a.v = a.high - distance
		}
	}
	p.syncBeta()
	p.updateGradients()
	size := 0.0
	for _, a := range p.vars {
		size += math.Abs(a.gradient) / float64(len(p.vars))
	}
	for k := range p.vars {
		a := &p.vars[k]
		if a.hasLow() {
			a.lower = max(a.gradient, 0) + size
		}
		if a.hasHigh() {
			a.upper = max(-a.gradient, 0) + size
		}
	}
	return p
}

func (a *boundedVar) hasLow() bool  { return !math.IsInf(a.low, -1) }
func (a *boundedVar) hasHigh() bool { return !math.IsInf(a.high, 1) }

// syncBeta sets β and w from the variables.
func (p *interior) syncBeta() {
	clear(p.beta)
	for _, a := range p.vars {
		p.beta[a.row] += a.v
	}
	p.combine(p.w, p.beta)
}

// updateGradients computes the gradient and θ of every variable, and Σβ.
func (p *interior) updateGradients() {
	kern.Parallel(len(p.beta), chunkRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.q[i] = p.Rows.Dot(i, p.w)
		}
	})
	clear(p.omega)
	p.sumVars = 0
	for k := range p.vars {
		a := &p.vars[k]
		curve := p.diagonal(a.row) + p.privateSquare(a.row)
		a.gradient = p.q[a.row] + p.b + curve*a.v + a.cost - p.Target[a.row]
		a.theta = curve
		if a.hasLow() {
			a.theta += a.lower / (a.v - a.low)
		}
		if a.hasHigh() {
			a.theta += a.upper / (a.high - a.v)
		}
		p.omega[a.row] += 1 / a.theta
		p.sumVars += a.v
	}
}

// step makes a predictor-corrector step and reports whether it succeeded.
func (p *interior) step() bool {
	p.syncBeta()
	p.updateGradients()
	if !p.factorize() {
		return false
	}
	mu := p.complementarity(0)
	p.computeDirection(0) // predictor
	near := p.complementarity(p.maxStep(1))
	p.computeDirection(mu * math.Pow(near/mu, 3)) // corrector
	t := p.maxStep(0.995)
	if !(t > 1e-9) || !p.directionFinite() {
		return false
	}
	for k := range p.vars {
		a := &p.vars[k]
		a.v += t * a.dv
		a.lower += t * a.dlower
		a.upper += t * a.dupper
	}
	p.b += t * p.db
	return true
}

// factorize forms the matrix and its Cholesky factor. It returns false if canceled or not positive
// definite.
func (p *interior) factorize() bool {
	n, cols := len(p.beta), len(p.w)
	p.sumOmega = kern.Sum(p.omega)
	if p.Intercept {
		p.combine(p.mean, p.omega)
		kern.Scale(1/p.sumOmega, p.mean)
	}
	clear(p.factor)
	for j := range cols {
		p.factor[j*cols+j] = 1
	}
	for first := 0; first < n; first += gramRows {
		if p.ctx.Err() != nil {
			return false
		}
		count := min(gramRows, n-first)
		kern.Parallel(count, 16, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				row := p.block[r*cols : (r+1)*cols]
				clear(row)
				p.Rows.Add(first+r, 1, row)
				kern.Axpy(-1, p.mean, row)
			}
		})
		kern.Gram(p.ctx, kern.Dense(cols, cols, cols, p.factor), kern.Dense(count, cols, cols, p.block),
			p.omega[first:first+count])
	}
	_, ok, err := kern.Cholesky(p.ctx, kern.Dense(cols, cols, cols, p.factor))
	return ok && err == nil
}

// computeDirection solves for the direction that moves every product of multiplier and distance to
// mu. If mu is not 0, it includes the second-order products of the previous direction (Mehrotra's
// corrector).
func (p *interior) computeDirection(mu float64) {
	clear(p.q)
	for k := range p.vars {
		a := &p.vars[k]
		p.q[a.row] += a.rhs(mu) / a.theta
	}
	cols, total := len(p.w), kern.Sum(p.q)+p.sumVars
	p.combine(p.dw, p.q)
	kern.Axpy(-total, p.mean, p.dw)
	kern.SolveCholesky(p.ctx, kern.Dense(cols, cols, cols, p.factor), kern.Dense(cols, 1, 1, p.dw))
	p.db = 0
	if p.Intercept {
		p.db = total/p.sumOmega - kern.Dot(p.mean, p.dw)
	}
	kern.Parallel(len(p.beta), chunkRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.q[i] = p.Rows.Dot(i, p.dw) + p.db
		}
	})
	for k := range p.vars {
		a := &p.vars[k]
		a.setDirection(mu, (a.rhs(mu)-p.q[a.row])/a.theta)
	}
}

// rhs returns the right-hand side of a variable's equation.
func (a *boundedVar) rhs(mu float64) float64 {
	r := -a.gradient
	if a.hasLow() {
		r += a.targetProduct(mu, a.dlower) / (a.v - a.low)
	}
	if a.hasHigh() {
		r -= a.targetProduct(mu, -a.dupper) / (a.high - a.v)
	}
	return r
}

func (a *boundedVar) targetProduct(mu, d float64) float64 {
	if mu == 0 {
		return 0
	}
	return mu - a.dv*d
}

// setDirection sets the direction of a variable and its multipliers.
func (a *boundedVar) setDirection(mu, dv float64) {
	lower, upper := 0.0, 0.0
	if a.hasLow() {
		lower = (a.targetProduct(mu, a.dlower)-a.lower*dv)/(a.v-a.low) - a.lower
	}
	if a.hasHigh() {
		upper = (a.targetProduct(mu, -a.dupper)+a.upper*dv)/(a.high-a.v) - a.upper
	}
	a.dv, a.dlower, a.dupper = dv, lower, upper
}

// directionFinite reports whether the direction is finite. It is not if rounding has placed a
// variable on its bound.
func (p *interior) directionFinite() bool {
	sum := p.db
	for k := range p.vars {
		a := &p.vars[k]
		sum += a.dv + a.dlower + a.dupper
	}
	return sum-sum == 0
}

// maxStep returns the step, at most 1, that uses at most the given part of the distance to a bound.
func (p *interior) maxStep(part float64) float64 {
	t := 1 / part
	reach := func(at, by float64) {
		if by < 0 {
			t = min(t, -at/by)
		}
	}
	for k := range p.vars {
		a := &p.vars[k]
		if a.hasLow() {
			reach(a.v-a.low, a.dv)
			reach(a.lower, a.dlower)
		}
		if a.hasHigh() {
			reach(a.high-a.v, -a.dv)
			reach(a.upper, a.dupper)
		}
	}
	return part * t
}

// complementarity returns the mean product of multiplier and distance after a step of length t.
func (p *interior) complementarity(t float64) float64 {
	sum, count := 0.0, 0.0
	for k := range p.vars {
		a := &p.vars[k]
		if a.hasLow() {
			sum += (a.lower + t*a.dlower) * (a.v + t*a.dv - a.low)
			count++
		}
		if a.hasHigh() {
			sum += (a.upper + t*a.dupper) * (a.high - a.v - t*a.dv)
			count++
		}
	}
	return sum / max(count, 1)
}
