package newton

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Quantile is the mean pinball loss of a quantile with the penalty alpha·‖w‖₁, a linear program. An
// interior point method solves it, see [interiorPoint].
func Quantile(l *design.Labels, quantile, alpha float64, intercept bool, tol float64) Task {
	q := &quantileTask{quantile: quantile, alpha: alpha}
	if intercept {
		q.center = weightedQuantile(l.Y, l.Weights, quantile)
	}
	total, trivial := kern.Sum(l.Weights), 0.0
	for i, y := range l.Y {
		r := y - q.center
		q.unit += l.Weights[i] / total * math.Abs(r)
		trivial += l.Weights[i] / total * pinball(quantile, r)
	}
	return Task{Outputs: 1, Groups: 1, Unpenalized: true, y: l.Y, weights: l.Weights, intercept: intercept,
		minimize: q.minimize, finish: solve.NewLinear,
		ObjectiveBound: ObjectiveBound(trivial, trivial, tol) + residualRounding*q.unit}
}

// residualRounding is the relative rounding error of residuals, which exceeds the objective of
// quantiles near 0 and 1: a residual on the wrong side of 0 costs its full size there.
const residualRounding = 1e-14

func pinball(quantile, r float64) float64 { return max(quantile*r, (quantile-1)*r) }

// quantileTask has the trivial model, from which the minimization starts. The problem is solved
// for targets divided by unit and weights with the mean 1.
type quantileTask struct {
	quantile, alpha float64
	center, unit    float64
}

const quantileSolver = "interior-point"

// QuantileCost estimates the cost of [Quantile].
func QuantileCost(shape datasets.Shape) datasets.Cost {
	const steps, vectors, rowVectors = 20, 12, 8
	n, d := float64(shape.Rows), float64(shape.Cols)
	return datasets.Cost{OutputWidth: 1, Flops: steps * (n*d*d + d*d*d/3),
		Bytes: design.Float64Bytes(rowVectors*n + vectors*d + 3*d*d + solve.FusedProductFloats(d, 2))}
}

func (q *quantileTask) minimize(a *Batch, tol float64, maxIter int) (solve.Linear, error) {
	size, n, o := a.size(), float64(a.n), &a.problems[0]
	p := &interiorPoint{Batch: a, x: make([]float64, size), infeasible: make([]float64, size), unit: q.unit,
		tol: tol}
	if a.intercept {
		p.x[size-1] = q.center
	}
	report := solve.Report{Solver: quantileSolver, Converged: true}
	if q.unit == 0 { // every residual is 0
		return a.model(p.x, 0, 1, report), ctxerr.Check(a.ctx)
	}
	if a.rows.Cols > maxFactorColumns {
		return solve.Linear{}, fmt.Errorf("must have at most %d columns, got %d: the solver factorizes a matrix; reduce "+
			"the features, or use svr or sgd_regressor", maxFactorColumns, a.rows.Cols)
	}
	a.preconditioners.usesMatrix = true
	kern.Scale(1/q.unit, p.x)
	p.loss = newBox(a.n, q.quantile, n/kern.Sum(o.Weights), o.Weights)
	for i, y := range o.Y {
		p.loss.start(i, y/q.unit-p.offset(), 1)
	}
	if q.alpha > 0 {
		p.penalty = newBox(a.rows.Cols, 0.5, 2*q.alpha*n, nil)
		for j := range a.rows.Cols {
			p.penalty.start(j, 0, 1/(q.alpha*n))
		}
	}
	err := p.solve(maxIter)
	if err = cmp.Or(ctxerr.Check(a.ctx), err); err != nil { // errors after cancellation are consequences of it
		return solve.Linear{}, err
	}
	report.Iterations, report.Gap, report.Objective = p.steps, p.relativeGap(), p.value/n*q.unit
	if report.Converged = report.Gap <= tol; !report.Converged {
		report.Warnings = []string{fmt.Sprintf("not converged after %d steps: relative duality gap %.2g, tolerance %.2g",
			p.steps, report.Gap, tol)}
	}
	kern.Scale(q.unit, p.x)
	return a.model(p.x, 0, 1, report), nil
}

// interiorPoint is a primal-dual interior point method for the pinball loss and its dual,
//
//	max Σ y_i·a_i,  X̃ᵀa = 0,  low_i ≤ a_i ≤ high_i
//
// The solution has a_i at a bound where the residual r_i is not 0. The penalty |w_j| adds rows with
// the input e_j and the target 0. With p = high − a, q = a − low and r = u − v, u, v ≥ 0, Newton's
// equations for up = vq = μ are
//
//	X̃ᵀΩX̃·Δx = X̃ᵀ(Ω·(u − v − μ/p + μ/q) + a),  Ω = 1/(u/p + v/q)
//
// A step makes three passes: for the matrix, the predictor with μ = 0, and the corrector. Some
// twenty steps suffice for any problem. (Portnoy & Koenker, Statistical Science 1997; Mehrotra,
// SIAM J. Optimization 1992.)
//
// The duality gap Σ up + vq bounds the distance to the optimum x* only if X̃ᵀa = 0; otherwise the
// bound is the gap + (X̃ᵀa)ᵀ(x* − x). Steps start from a = 0 and keep X̃ᵀa = 0 up to the error of
// the factorized matrix.
type interiorPoint struct {
	*Batch  // its preconditioner is the matrix
	x       []float64
	unit    float64 // of the targets
	tol     float64 // largest acceptable gap, relative to the objective
	loss    *box
	penalty *box // nil for none

	steps      int
	value, gap float64         // objective, and the bound of its distance to the optimum
	trivial    float64         // objective at the start
	infeasible []float64       // X̃ᵀa
	first      *preconditioner // with the matrix of the first step
}

func (p *interiorPoint) offset() float64 {
	if p.intercept {
		return p.x[len(p.x)-1]
	}
	return 0
}

// boxes returns the loss and the penalty, if there is one.
func (p *interiorPoint) boxes() []*box {
	if p.penalty == nil {
		return []*box{p.loss}
	}
	return []*box{p.loss, p.penalty}
}

// solve makes steps until the gap is at most half of the tolerance, or rounding hides further progress.
func (p *interiorPoint) solve(maxIter int) error {
	if err := p.measure(); err != nil {
		return err
	}
	p.trivial = p.value
	best, bestGap := append([]float64(nil), p.x...), math.Inf(1)
	value := p.value
	stalled := 0
	for ; p.steps < maxIter && p.relativeGap() > p.tol/2 && stalled < 5; p.steps++ {
		if p.gap < bestGap {
			bestGap, value, stalled = p.gap, p.value, 0
			copy(best, p.x)
		}
		stalled++
		moved, err := p.step()
		if err != nil {
			return err
		}
		if !moved {
			break
		}
		if err := p.measure(); err != nil {
			return err
		}
	}
	if !(p.gap <= bestGap) {
		copy(p.x, best)
		p.gap, p.value = bestGap, value
	}
	return nil
}

// measure computes objective and gap.
func (p *interiorPoint) measure() error {
	value, gap := 0.0, 0.0
	for _, b := range p.boxes() {
		v, g := b.measure()
		value, gap = value+v, gap+g
	}
	infeasibility, err := p.infeasibility(p.infeasible)
	p.value, p.gap = value, gap+infeasibility
	return err
}

// infeasibility estimates |eᵀ(x* − x)|, e = X̃ᵀa, by the norms of the first matrix, whose weights are near
// those of the rows. It assumes that X̃x* and X̃x differ by twice the mean absolute residual.
func (p *interiorPoint) infeasibility(e []float64) (float64, error) {
	if p.first == nil {
		return 0, nil // a is 0
	}
	z := slices.Clone(e)
	if err := p.first.apply(p.ctx, z, 1); err != nil {
		return 0, err
	}
	total, residual := 0.0, 0.0
	for i, u := range p.loss.u {
		if high, low, ok := p.loss.slacks(i); ok {
			total += high + low
			residual += (high + low) * math.Abs(u-p.loss.v[i])
		}
	}
	return 2 * residual / total * math.Sqrt(p.first.weight*kern.Dot(z, e)), nil
}

// relativeGap returns the gap relative to the objective, which is 0 if the rows are fitted exactly.
func (p *interiorPoint) relativeGap() float64 {
	const exact = 1e-12
	return p.gap / max(p.value, exact*p.trivial)
}

// step makes one step. It reports false if the equations have no finite solution.
func (p *interiorPoint) step() (moved bool, err error) {
	size := len(p.x)
	right, barrier, err := p.system()
	if err != nil {
		return false, err
	}
	predictor := make([]float64, size)
	if err := p.Precondition(predictor, right); err != nil || !kern.AllFinite(predictor) {
		return false, err
	}
	second, err := p.predict(predictor)
	if err != nil {
		return false, err
	}
	var mu, after float64
	rows := 0.0
	primal, dual := 1.0, 1.0
	for _, b := range p.boxes() {
		x, a := b.maxSteps(b.affine)
		primal, dual = min(primal, x), min(dual, a)
	}
	for _, b := range p.boxes() {
		now, then := b.complementarity(primal, dual)
		mu, after, rows = mu+now, after+then, rows+float64(2*len(b.a))
	}
	mu /= rows
	ratio := after / rows / mu
	center := mu * ratio * ratio * ratio
	for i := range right {
		right[i] += second[i] - center*barrier[i]
	}
	corrector := make([]float64, size)
	if err := p.Precondition(corrector, right); err != nil || !kern.AllFinite(corrector) {
		return false, err
	}
	next, err := p.multiply(corrector, center)
	if err != nil {
		return false, err
	}
	const maxRefinements = 5
	for range maxRefinements { // X̃ᵀ(a + Δa) is the residual of the equations
		size, err := p.infeasibility(next)
		if err != nil {
			return false, err
		}
		if size <= p.tol/4*p.value {
			break
		}
		if err := p.Precondition(predictor, next); err != nil {
			return false, err
		}
		kern.Axpy(1, predictor, corrector)
		if next, err = p.multiply(corrector, center); err != nil {
			return false, err
		}
	}
	p.move(corrector, next, center)
	return true, nil
}

// move makes the corrector step dx, which leaves the point inside the boxes. A full step would end at
// X̃ᵀa = infeasible.
func (p *interiorPoint) move(dx, infeasible []float64, center float64) {
	const inside = 0.9995
	primal, dual := 1/inside, 1/inside
	for _, b := range p.boxes() {
		x, a := b.maxSteps(func(i int) delta { return b.corrected(i, center) })
		primal, dual = min(primal, x), min(dual, a)
	}
	for _, b := range p.boxes() {
		b.move(center, inside*primal, inside*dual)
	}
	kern.Axpy(inside*primal, dx, p.x)
	kern.Scale(1-inside*dual, p.infeasible)
	kern.Axpy(inside*dual, infeasible, p.infeasible)
}

// system sums and factorizes the matrix. It returns X̃ᵀ(Ω(u − v) + a) and X̃ᵀΩ(1/p − 1/q).
func (p *interiorPoint) system() (right, barrier []float64, err error) {
	size, d, matrix := len(p.x), p.rows.Cols, &p.preconditioners.list[0]
	p.preconditioners.resetSums()
	both := make([]float64, 2*size)
	sums := pass{cols: d, outputs: 2, active: []int{0, 1}, widths: []int{d, d}, intercept: p.intercept}
	sums.start(make([]float64, 2*size), both, nil)
	err = p.eachFloat64(func(first int, X mat.Matrix) error {
		n, _ := X.Dims()
		omega := make([]float64, n)
		for i := range omega {
			omega[i] = p.loss.omega(first + i)
		}
		sums.add(X, first, func(_ []float64, scores kern.View[float64], first int) {
			for i := range scores.Cols {
				r, c := p.loss.right(first + i)
				scores.Set(0, i, r)
				scores.Set(1, i, c)
			}
		})
		return matrix.gram.Add(p.ctx, X, nil, omega)
	})
	if err != nil {
		return nil, nil, err
	}
	sums.end()
	right, barrier = make([]float64, size), make([]float64, size)
	for i := range right {
		right[i], barrier[i] = both[2*i], both[2*i+1]
	}
	if p.penalty != nil {
		for j := range d {
			r, c := p.penalty.right(j)
			right[j] += r
			barrier[j] += c
			matrix.gram.Gram[j*d+j] += p.penalty.omega(j)
		}
	}
	p.preconditioners.factorize()
	if p.first == nil {
		first := *matrix
		p.first = &first
	}
	return right, barrier, ctxerr.Check(p.ctx)
}

// predict stores the products of rows and the predictor, and returns the second-order terms of the
// right side.
func (p *interiorPoint) predict(dx []float64) ([]float64, error) {
	second := make([]float64, len(dx))
	err := p.scores(dx, second, p.loss.predictor, func(i int) float64 { return p.loss.secondOrder(i) })
	if p.penalty != nil {
		copy(p.penalty.predictor, dx)
		for j := range p.penalty.a {
			second[j] += p.penalty.secondOrder(j)
		}
	}
	return second, err
}

// multiply stores the corrector steps Δa of rows and returns X̃ᵀ(a + Δa).
func (p *interiorPoint) multiply(dx []float64, center float64) ([]float64, error) {
	out := make([]float64, len(dx))
	err := p.scores(dx, out, p.loss.corrector, func(i int) float64 { return p.loss.correct(i, center) })
	if p.penalty != nil {
		copy(p.penalty.corrector, dx)
		for j := range p.penalty.a {
			out[j] += p.penalty.correct(j, center)
		}
	}
	return out, err
}

// scores writes X̃·dx to dst and adds X̃ᵀf to out.
func (p *interiorPoint) scores(dx, out, dst []float64, f func(row int) float64) error {
	sums := p.newPass(p.byWidth)
	sums.start(dx, out, nil)
	err := p.eachFloat64(func(first int, X mat.Matrix) error {
		sums.add(X, first, func(_ []float64, scores kern.View[float64], first int) {
			row := scores.Row(0)
			copy(dst[first:], row)
			for i := range row {
				row[i] = f(first + i)
			}
		})
		return nil
	})
	sums.end()
	return err
}

// eachFloat64 calls f with the rows in float64.
func (p *interiorPoint) eachFloat64(f func(first int, X mat.Matrix) error) error {
	return p.rows.EachExpected(p.ctx, p.n, func(first int, block datasets.Set) error {
		err := design.WithFloat64(block.X, func(X mat.Matrix) error { return f(first, X) })
		if err != nil && p.ctx.Err() == nil {
			return design.NonFiniteError(first, block)
		}
		return err
	})
}

// box has the variables of rows: a in [low, high], and the parts u, v ≥ 0 of the residual.
type box struct {
	quantile, factor     float64
	weights              []float64 // nil for ones
	a, u, v              []float64
	predictor, corrector []float64 // X̃·Δx; Δa of the corrector step
}

// delta is a step of the variables of a row.
type delta struct{ a, u, v float64 }

func newBox(n int, quantile, factor float64, weights []float64) *box {
	all := make([]float64, 5*n)
	return &box{quantile: quantile, factor: factor, weights: weights, a: all[:n], u: all[n : 2*n], v: all[2*n : 3*n],
		predictor: all[3*n : 4*n], corrector: all[4*n:]}
}

// start sets the variables of a row to the residual r and the dual solution 0.
func (b *box) start(i int, r, size float64) { b.u[i], b.v[i] = max(r, 0)+size, max(-r, 0)+size }

// slacks returns high − a and a − low, and false for a row of weight 0, which has no variables.
func (b *box) slacks(i int) (p, q float64, ok bool) {
	s := b.factor
	if b.weights != nil {
		s *= b.weights[i]
	}
	return b.quantile*s - b.a[i], b.a[i] + (1-b.quantile)*s, s > 0
}

func (b *box) omega(i int) float64 {
	p, q, ok := b.slacks(i)
	if !ok {
		return 0
	}
	return 1 / (b.u[i]/p + b.v[i]/q)
}

// right returns the terms of the right side of a row: for μ = 0, and the factor of −μ.
func (b *box) right(i int) (right, barrier float64) {
	p, q, ok := b.slacks(i)
	if !ok {
		return 0, 0
	}
	omega := b.omega(i)
	return omega*(b.u[i]-b.v[i]) + b.a[i], omega * (1/p - 1/q)
}

// affine returns the predictor step.
func (b *box) affine(i int) (d delta) {
	p, q, ok := b.slacks(i)
	if !ok {
		return d
	}
	u, v := b.u[i], b.v[i]
	d.a = b.omega(i) * (u - v - b.predictor[i])
	d.u, d.v = u*(d.a/p-1), -v*(d.a/q+1)
	return d
}

// secondOrder returns the term of the right side of the products of predictor steps.
func (b *box) secondOrder(i int) float64 {
	p, q, ok := b.slacks(i)
	if !ok {
		return 0
	}
	d := b.affine(i)
	return -b.omega(i) * d.a * (d.u/p + d.v/q)
}

// correct replaces the product of a row and the corrector by Δa, and returns a + Δa.
func (b *box) correct(i int, center float64) float64 {
	p, q, ok := b.slacks(i)
	if !ok {
		b.corrector[i] = 0
		return 0
	}
	first := b.affine(i)
	cu, cv := center+first.u*first.a, center-first.v*first.a
	b.corrector[i] = b.omega(i) * (b.u[i] - cu/p - b.v[i] + cv/q - b.corrector[i])
	return b.a[i] + b.corrector[i]
}

// corrected returns the corrector step.
func (b *box) corrected(i int, center float64) (d delta) {
	p, q, ok := b.slacks(i)
	if !ok {
		return d
	}
	u, v, first := b.u[i], b.v[i], b.affine(i)
	cu, cv := center+first.u*first.a, center-first.v*first.a
	d.a = b.corrector[i]
	d.u, d.v = (cu-u*p+u*d.a)/p, (cv-v*q-v*d.a)/q
	return d
}

// maxSteps returns the lengths at which a step leaves u, v ≥ 0, and the box.
func (b *box) maxSteps(step func(i int) delta) (primal, dual float64) {
	primal, dual = math.Inf(1), math.Inf(1)
	for i := range b.a {
		p, q, _ := b.slacks(i)
		d := step(i)
		if d.u < 0 {
			primal = min(primal, -b.u[i]/d.u)
		}
		if d.v < 0 {
			primal = min(primal, -b.v[i]/d.v)
		}
		if d.a > 0 {
			dual = min(dual, p/d.a)
		} else if d.a < 0 {
			dual = min(dual, -q/d.a)
		}
	}
	return primal, dual
}

// complementarity returns Σ up + vq, and that after the predictor step.
func (b *box) complementarity(primal, dual float64) (now, then float64) {
	for i := range b.a {
		p, q, ok := b.slacks(i)
		if !ok {
			continue
		}
		d := b.affine(i)
		now += b.u[i]*p + b.v[i]*q
		then += (b.u[i]+primal*d.u)*(p-dual*d.a) + (b.v[i]+primal*d.v)*(q+dual*d.a)
	}
	return now, then
}

// move makes the corrector step.
func (b *box) move(center, primal, dual float64) {
	for i := range b.a {
		d := b.corrected(i, center)
		b.a[i] += dual * d.a
		b.u[i] += primal * d.u
		b.v[i] += primal * d.v
	}
}

// measure returns the loss of the residuals and the duality gap, Σ up + vq.
func (b *box) measure() (value, gap float64) {
	for i, u := range b.u {
		p, q, ok := b.slacks(i)
		if !ok {
			continue
		}
		value += (p + q) * pinball(b.quantile, u-b.v[i])
		gap += u*p + b.v[i]*q
	}
	return value, gap
}
