package solve

import (
	"math"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
)

// interior is the primal-dual interior point method on the dual of narrow rows. Its variables are the
// parts of β: each β_i or, where Epsilon makes a corner at 0, what it has above 0 and what below. A
// step solves
//
//	(I + ΣΩ_i(x_i−x̄)(x_i−x̄)')·Δw = Σq_i(x_i−x̄) − x̄·Σβ_i
//
// where x̄ is the mean of the rows by Ω, in O(rows·width²) operations for the matrix, which serves to
// predict the step and to correct it. Ω_i is the sum of 1/θ over the parts of row i, θ being the curvature of
// a part and its barriers, and q_i that of residual/θ. Some 10 to 30 steps do, whatever C is.
// (Mehrotra, SIAM J. Optimization 1992; for this problem Ferris & Munson, SIAM J. Optimization 2002.)
type interior struct {
	*descent
	vars     []boundedVar
	b        float64
	sumVars  float64   // Σβ
	omega, q []float64 // by row
	mean     []float64 // x̄, 0 without an intercept
	sumOmega float64   // ΣΩ
	factor   []float64 // of the matrix
	dw       []float64
	db       float64
	block    []float64
}

// boundedVar is a variable between low and high, at least one of which is finite where its row has no curvature of its own.
type boundedVar struct {
	row                int
	v, low, high       float64
	cost               float64 // beside target and score: ±Epsilon
	lower, upper       float64 // multipliers of the bounds
	gradient, theta    float64
	dv, dlower, dupper float64
}

// MaxInteriorColumns is the most columns that a matrix is made for.
const MaxInteriorColumns = 2048

// gramRows is the number of rows that are added to the matrix at once, and mostSteps that of steps after
// which rounding is what keeps the gap open.
const gramRows, maxInteriorSteps = 512, 60

// interiorEpoch is the number of passes after which steps of the interior point method are taken: when they
// have cost as much as the 15 steps or so that close the gap. A pass takes 4·n·d operations that wait for memory, a step
// n·d² of a kind that is 5 times as fast, and d³/3 for the factor.
func (d *descent) interiorEpoch() int {
	n, cols := float64(max(1, len(d.beta))), float64(d.Rows.Width())
	if d.Logistic || cols > MaxInteriorColumns || cols == 0 {
		return math.MaxInt
	}
	return 20 + int(cols*(1+cols/n))
}

// solveInterior takes steps until the gap is closed, or no more can be done, and leaves β at the best it met.
func (d *descent) solveInterior(tol float64, maxEpochs int) error {
	p := newInterior(d)
	for range maxInteriorSteps {
		if d.epochs >= maxEpochs || d.gap() <= tol {
			break
		}
		moved := p.step()
		if err := ctxerr.Check(d.ctx); err != nil { // what the step found comes of stopping
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

// newInterior begins in the middle of the bounds, where there are two.
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
		far := d.scale() / max(d.diagonal(a.row), 1e-300)
		switch {
		case a.hasLow() && a.hasHigh():
			a.v = a.low + (a.high-a.low)/2
		case a.hasLow():
			a.v = a.low + far
		case a.hasHigh():
			a.v = a.high - far
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

// syncBeta makes β and w of the parts.
func (p *interior) syncBeta() {
	clear(p.beta)
	for _, a := range p.vars {
		p.beta[a.row] += a.v
	}
	p.combine(p.w, p.beta)
}

// updateGradients finds the gradient of every part, θ and Σβ.
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

// step moves the parts, and reports whether it could.
func (p *interior) step() bool {
	p.syncBeta()
	p.updateGradients()
	if !p.factorize() {
		return false
	}
	mu := p.complementarity(0)
	p.computeDirection(0) // predict
	near := p.complementarity(p.maxStep(1))
	p.computeDirection(mu * math.Pow(near/mu, 3)) // correct
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

// factorize makes the matrix of a step and its factor, unless it is told to stop or rounding forbids.
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
		kern.Gram(p.ctx, kern.Dense(cols, cols, cols, p.factor), kern.Dense(count, cols, cols, p.block), p.omega[first:first+count])
	}
	_, ok, err := kern.Cholesky(p.ctx, kern.Dense(cols, cols, cols, p.factor))
	return ok && err == nil
}

// computeDirection finds the direction towards where every product of a multiplier and its distance is mu. Where
// mu is not 0 the products of the last direction, which the linear equations leave out, are taken off.
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

// rhs is the right side of a part's equation.
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

// setDirection sets the direction of a part and its multipliers.
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

// directionFinite reports whether the direction is made of numbers: it is not where a part is so near to its bound
// that rounding has put it there.
func (p *interior) directionFinite() bool {
	sum := p.db
	for k := range p.vars {
		a := &p.vars[k]
		sum += a.dv + a.dlower + a.dupper
	}
	return sum-sum == 0
}

// maxStep is how far, at most 1, one can go by the direction before a part of what is positive is gone.
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

// complementarity is the mean product of a multiplier and its distance after a step of length t.
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
