package solve

import (
	"errors"
	"math"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
)

// ErrNotFinite is the error of a problem whose numbers are beyond what can be added up.
var ErrNotFinite = errors.New("the objective is not finite: the inputs, the targets or C are too large; standardize them")

// look moves β to Σβ = 0 and computes the objective, with the best b for w, and the dual there. It
// keeps β where the objective is the least so far, and goes on from that b.
func (d *descent) look() error {
	d.repair()
	half := 0.0
	for _, v := range d.w {
		half += v * v / 2
	}
	for i, v := range d.beta {
		half += d.own(i) * v * v / 2
	}
	n := len(d.beta)
	gains := make([]float64, (n+rowsAtOnce-1)/rowsAtOnce)
	kern.Parallel(n, rowsAtOnce, func(lo, hi int) {
		gain := 0.0
		for i := lo; i < hi && !d.stopped(i); i++ {
			d.scores[i] = d.Rows.Dot(i, d.w) + d.own(i)*d.beta[i]
			gain += d.gain(i, d.beta[i])
		}
		gains[lo/rowsAtOnce] = gain
	})
	b := 0.0
	if d.Intercept {
		b = d.bestIntercept(d.scores)
		d.b = b + d.offset
	}
	primal, dual := half+d.losses(d.scores, b), kern.Sum(gains)-half
	if err := ctxerr.Check(d.ctx); err != nil { // which may have stopped the sums
		return err
	}
	if primal-primal != 0 || dual-dual != 0 {
		return ErrNotFinite
	}
	d.best.dual = max(d.best.dual, dual)
	if primal < d.best.primal {
		copy(d.best.beta, d.beta)
		d.best.b, d.best.primal = b, primal
	}
	return nil
}

// losses returns Σ L_i(scores_i + b).
func (p *Dual) losses(scores []float64, b float64) float64 {
	n := len(scores)
	parts := make([]float64, (n+rowsAtOnce-1)/rowsAtOnce)
	kern.Parallel(n, rowsAtOnce, func(lo, hi int) {
		sum := 0.0
		for i := lo; i < hi; i++ {
			sum += p.loss(i, scores[i]+b)
		}
		parts[lo/rowsAtOnce] = sum
	})
	return kern.Sum(parts)
}

// gap is that between the least objective and the largest dual value met, relative to the former.
func (d *descent) gap() float64 {
	if d.best.primal <= d.best.dual+d.noise {
		return 0
	}
	return (d.best.primal - d.best.dual) / d.best.primal
}

// result is the best solution met.
func (d *descent) result(tol float64) DualResult {
	d.combine(d.w, d.best.beta)
	return DualResult{W: d.w, B: d.best.b, Beta: d.best.beta, Epochs: d.epochs, InteriorSteps: d.steps,
		Converged: d.gap() <= tol, Gap: d.gap(), Objective: d.best.primal, Trivial: d.start}
}

// repair moves β to Σβ = 0, by moving those that are between their bounds in proportion to what room
// they have there: their derivatives are small, so that the dual hardly falls. Where there is not
// enough room, the heavier side is scaled down.
func (d *descent) repair() {
	d.sum()
	if !d.Intercept || d.total == 0 {
		return
	}
	room := 0.0
	for i, v := range d.beta {
		room += d.room(i, v)
	}
	part := d.total / room
	if !(math.Abs(part) <= 1) {
		d.scaleDown()
		return
	}
	for i, v := range d.beta {
		if step := -part * d.room(i, v); step != 0 {
			d.beta[i] += step
			d.Rows.Add(i, step, d.w)
		}
	}
	d.sum()
}

// sum finds Σβ_i and Σβ_i·along_i.
func (d *descent) sum() {
	d.total, d.offset = 0, 0
	for i, v := range d.beta {
		d.total += v
		if d.along != nil {
			d.offset += v * d.along[i]
		}
	}
}

// room is what a β_i of this value can move by on its side of 0, at most the way to either end.
func (d *descent) room(i int, v float64) float64 {
	switch {
	case v > 0:
		return v * (1 - v/d.High[i])
	case v < 0:
		return -v * (1 - v/d.Low[i])
	}
	return 0
}

// scaleDown makes the heavier side as light as the other.
func (d *descent) scaleDown() {
	up, down := 0.0, 0.0
	for _, v := range d.beta {
		up += max(v, 0)
		down -= min(v, 0)
	}
	for i, v := range d.beta {
		switch {
		case v > 0 && up > down:
			d.beta[i] = v * (down / up)
		case v < 0 && down > up:
			d.beta[i] = v * (up / down)
		}
	}
	d.combine(d.w, d.beta)
	d.sum()
}
