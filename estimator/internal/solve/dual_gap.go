package solve

import (
	"errors"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// ErrNotFinite reports that the objective overflows.
var ErrNotFinite = errors.New("the objective is not finite: the inputs, the targets or C are too large; " +
	"standardize them")

// updateGap projects β to Σβ = 0 and computes the primal objective, with the optimal b, and the
// dual objective. It stores β if the primal objective is the lowest so far.
func (d *descent) updateGap() error {
	d.restoreSum()
	half := 0.0
	for _, v := range d.w {
		half += v * v / 2
	}
	for i, v := range d.beta {
		half += d.privateSquare(i) * v * v / 2
	}
	n := len(d.beta)
	gains := make([]float64, (n+chunkRows-1)/chunkRows)
	kern.Parallel(n, chunkRows, func(lo, hi int) {
		gain := 0.0
		for i := lo; i < hi && !d.canceled(i); i++ {
			d.scores[i] = d.Rows.Dot(i, d.w) + d.privateSquare(i)*d.beta[i]
			gain += d.dualTerm(i, d.beta[i])
		}
		gains[lo/chunkRows] = gain
	})
	b := 0.0
	if d.Intercept {
		b = d.bestIntercept(d.scores)
		d.b = b + d.meanDotBeta
	}
	primal, dual := half+d.losses(d.scores, b), kern.Sum(gains)-half
	if err := ctxerr.Check(d.ctx); err != nil { // cancellation may have truncated the sums
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
	parts := make([]float64, (n+chunkRows-1)/chunkRows)
	kern.Parallel(n, chunkRows, func(lo, hi int) {
		sum := 0.0
		for i := lo; i < hi; i++ {
			sum += p.loss(i, scores[i]+b)
		}
		parts[lo/chunkRows] = sum
	})
	return kern.Sum(parts)
}

// gap returns the relative gap between the lowest primal and the largest dual value found.
func (d *descent) gap() float64 {
	if d.best.primal <= d.best.dual+d.roundingNoise {
		return 0
	}
	return (d.best.primal - d.best.dual) / d.best.primal
}

// result returns the best solution found.
func (d *descent) result(tol float64) DualResult {
	d.combine(d.w, d.best.beta)
	return DualResult{W: d.w, B: d.best.b, Beta: d.best.beta, Epochs: d.epochs, InteriorSteps: d.interiorSteps,
		Converged: d.gap() <= tol, Gap: d.gap(), Objective: d.best.primal, Trivial: d.trivialObjective}
}

// restoreSum moves β to Σβ = 0. It moves the β_i strictly between their bounds in proportion to
// their distance to the bounds, where the dual objective is flat. If that does not suffice, it
// rescales the heavier side.
func (d *descent) restoreSum() {
	d.updateSums()
	if !d.Intercept || d.sumBeta == 0 {
		return
	}
	buf := 0.0
	for i, v := range d.beta {
		buf += d.feasibleMove(i, v)
	}
	part := d.sumBeta / buf
	if !(math.Abs(part) <= 1) {
		d.rescaleHeavierSide()
		return
	}
	for i, v := range d.beta {
		if step := -part * d.feasibleMove(i, v); step != 0 {
			d.beta[i] += step
			d.Rows.Add(i, step, d.w)
		}
	}
	d.updateSums()
}

// updateSums computes Σβ_i and Σβ_i·meanDots_i.
func (d *descent) updateSums() {
	d.sumBeta, d.meanDotBeta = 0, 0
	for i, v := range d.beta {
		d.sumBeta += v
		if d.meanDots != nil {
			d.meanDotBeta += v * d.meanDots[i]
		}
	}
}

// feasibleMove bounds the change of a β_i with value v that keeps it on its side of 0 and within
// its bound.
func (d *descent) feasibleMove(i int, v float64) float64 {
	switch {
	case v > 0:
		return v * (1 - v/d.High[i])
	case v < 0:
		return -v * (1 - v/d.Low[i])
	}
	return 0
}

// rescaleHeavierSide scales the positive or negative β_i so that Σβ = 0.
func (d *descent) rescaleHeavierSide() {
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
	d.updateSums()
}
