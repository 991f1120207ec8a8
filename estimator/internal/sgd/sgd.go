// Package sgd trains linear models by minibatch stochastic gradient descent. A [Learner] holds the
// weights and makes the steps; a [Fit] runs it over rows of any kind, one pass per epoch. Time is
// linear in the number of rows; memory is independent of it.
//
// With n rows of inputs x, targets t and weights s, the objective of each output is
//
//	1/n·Σ s·loss(wᵀx + b, t) + l2·½‖w‖² + l1·‖w‖₁
//
// Results depend on the order of the rows, so that states of disjoint rows cannot be merged.
package sgd

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Plan configures a [Learner].
type Plan struct {
	Loss          Loss
	Cols, Outputs int
	Storage       Storage // of the rows
	L2, L1        float64
	Alpha         float64 // of the learning rate schedule, independent of the penalty
	Rate          string  // auto, optimal, invscaling, constant or adaptive
	Eta0, PowerT  float64
	Average       bool
	AverageFrom   int // first step in a uniform average; 0 weights step t by t
	Batch         int // rows per step
	Intercept     bool
}

// Learner is the state of SGD. The weights are scale·direct and their sum over the steps is
// sumScale·direct + sumRest, so that the l2 penalty costs nothing per step for sparse rows.
type Learner struct {
	Plan
	center
	direct    []float64 // cols × outputs for sparse rows, outputs × cols for dense ones
	scale     float64
	intercept []float64

	sumRest      []float64 // nil without averaging
	sumScale     float64
	sumIntercept []float64
	sumCount     float64 // total weight of the steps in the sums

	l1Total   float64   // cumulative l1 penalty of every weight
	l1Applied []float64 // minus the l1 penalty applied to each weight; nil without l1

	steps            int // steps made
	rows             int // rows read
	epochs           int // epochs started
	initialIntercept []float64
	baseRate         float64 // first step size of rate auto
	baseNorm         float64 // mean squared norm for baseRate
	interceptScale   float64 // relative step of the intercept; 1 unless auto
	factor           float64 // step factor of rate adaptive

	weights32, scores32 []float32 // buffers
	scores, buf         []float64
	gradient            []float64
}

// New returns a learner with zero weights.
func New(p Plan) *Learner {
	size := p.Cols * p.Outputs
	l := &Learner{Plan: p, direct: make([]float64, size), scale: 1, intercept: make([]float64, p.Outputs),
		initialIntercept: make([]float64, p.Outputs), factor: 1, interceptScale: 1}
	if p.Average {
		l.sumRest, l.sumIntercept = make([]float64, size), make([]float64, p.Outputs)
	}
	if p.L1 > 0 {
		l.l1Applied = make([]float64, size)
	}
	return l
}

// Rows returns the number of rows read, counting repetitions.
func (l *Learner) Rows() int { return l.rows }

// Steps returns the number of steps.
func (l *Learner) Steps() int { return l.steps }

// errDiverged reports that steps diverged.
func errDiverged(steps int) error {
	return fmt.Errorf("%w: the scores are not finite after %d steps; standardize the inputs or decrease eta0",
		solve.ErrDiverged, steps)
}

// Step makes one step on a minibatch and returns the sum of its losses before the step. If scores
// are not finite, it fails and the weights are unchanged.
func (l *Learner) Step(x Rows, y, weights []float64) (loss float64, err error) {
	n, k := x.Len(), l.Outputs
	scores := l.stepScores(x)
	if !kern.AllFinite(scores) {
		return 0, errDiverged(l.steps)
	}
	l.steps++
	l.rows += n
	eta := l.eta(x, weights)
	l.shrink(eta)
	factor := -eta / float64(n)
	for i := range n {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		for c := range k {
			t, at := l.target(y[i], c), i*k+c
			loss += w * l.Loss.value(scores[at], t)
			step := factor * w * min(max(l.Loss.slope(scores[at], t), -maxSlope), maxSlope)
			l.countStep(i, c, step)
			if scores[at] = step / l.scale; l.Intercept {
				l.intercept[c] += l.interceptScale * step
			}
		}
	}
	l.addGradient(x, scores)
	if l.L1 > 0 {
		l.l1Total += eta * l.L1
		l.applyL1()
	}
	if l.Average {
		l.addToSums()
	}
	return loss, nil
}

// maxSlope bounds the derivative of a loss, as in scikit-learn.
const maxSlope = 1e12

// target returns the target of output c: the number, or ±1 for a class code.
func (l *Learner) target(y float64, c int) float64 {
	if !l.Loss.Classes {
		return y
	}
	if l.Outputs == 1 {
		return 2*y - 1
	}
	if int(y) == c {
		return 1
	}
	return -1
}

// shrink applies the l2 penalty.
func (l *Learner) shrink(eta float64) {
	const least = 1e-2 // smaller scales would lose digits of the sums
	by := max(0, 1-eta*l.L2)
	l.center.shrink(by)
	if l.scale *= by; l.scale >= least {
		return
	}
	if l.Average {
		kern.Axpy(l.sumScale, l.direct, l.sumRest)
		l.sumScale = 0
	}
	kern.Scale(l.scale, l.direct)
	l.scale = 1
}

// addGradient computes direct += stepsᵀ·X.
func (l *Learner) addGradient(x Rows, steps []float64) {
	if x.Storage == Sparse {
		k := l.Outputs
		kern.SparseMulT(kern.Dense(l.Cols, k, k, l.direct), x.Sparse, kern.Dense(x.Len(), k, k, steps), true)
		if l.Average && l.sumScale != 0 {
			kern.Scale(-l.sumScale, steps)
			kern.SparseMulT(kern.Dense(l.Cols, k, k, l.sumRest), x.Sparse, kern.Dense(x.Len(), k, k, steps), true)
		}
		l.applyStep()
		return
	}
	l.gradient = resize(l.gradient, len(l.direct))
	clear(l.gradient)
	x.collect(l, l.gradient, steps)
	if l.mean != nil {
		for c, t := range l.total {
			kern.Axpy(-t/l.scale, l.mean, l.gradient[c*l.Cols:(c+1)*l.Cols])
		}
	}
	kern.Axpy(1, l.gradient, l.direct)
	if l.Average && l.sumScale != 0 {
		kern.Axpy(-l.sumScale, l.gradient, l.sumRest)
	}
}

// applyL1 applies the cumulative l1 penalty, clipped at 0; the rest is applied after later
// gradients (Tsuruoka, Tsujii and Ananiadou, ACL 2009).
func (l *Learner) applyL1() {
	l.foldCenter()
	defer l.updateCenterDots()
	for j, v := range l.direct {
		to := v
		switch {
		case v > 0:
			to = max(0, v-(l.l1Total+l.l1Applied[j])/l.scale)
		case v < 0:
			to = min(0, v+(l.l1Total-l.l1Applied[j])/l.scale)
		default:
			continue
		}
		l.l1Applied[j] += l.scale * (to - v)
		if l.direct[j] = to; l.Average {
			l.sumRest[j] -= l.sumScale * (to - v)
		}
	}
}

// addToSums adds the weights of the step to the average.
func (l *Learner) addToSums() {
	count := 1.0
	switch {
	case l.AverageFrom == 0:
		count = float64(l.steps)
	case l.steps < l.AverageFrom:
		return
	}
	l.sumScale += count * l.scale
	l.sumCount += count
	kern.Axpy(count, l.intercept, l.sumIntercept)
	if l.mean != nil {
		kern.Axpy(count, l.meanCoef, l.sumMeanCoef)
	}
}

// currentModel writes the averaged or last weights, in the order of direct.
func (l *Learner) currentModel(weights, intercept []float64) {
	if l.sumCount == 0 {
		for j, v := range l.direct {
			weights[j] = l.scale * v
		}
		l.subtract(weights, l.meanCoef, 1)
		copy(intercept, l.intercept)
		l.uncenter(weights, intercept)
		return
	}
	for j, v := range l.direct {
		weights[j] = (l.sumScale*v + l.sumRest[j]) / l.sumCount
	}
	l.subtract(weights, l.sumMeanCoef, 1/l.sumCount)
	for c, v := range l.sumIntercept {
		intercept[c] = v / l.sumCount
	}
	l.uncenter(weights, intercept)
}

// Model returns the weights, inputs × outputs, and the intercepts.
func (l *Learner) Model() (weights, intercept []float64) {
	weights, intercept = make([]float64, len(l.direct)), make([]float64, l.Outputs)
	l.currentModel(weights, intercept)
	return l.inputMajor(weights), intercept
}

// inputMajor returns weights in the order inputs × outputs.
func (l *Learner) inputMajor(weights []float64) []float64 {
	if l.Storage == Sparse || l.Outputs == 1 {
		return weights
	}
	return transpose(weights, l.Outputs, l.Cols)
}

// storageMajor returns weights in the order of direct.
func (l *Learner) storageMajor(weights []float64) []float64 {
	if l.Storage == Sparse || l.Outputs == 1 {
		return weights
	}
	return transpose(weights, l.Cols, l.Outputs)
}

// transpose returns the transpose of a rows × cols matrix.
func transpose(list []float64, rows, cols int) []float64 {
	out := make([]float64, len(list))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = list[i*cols+j]
		}
	}
	return out
}

// penalty returns the penalty of weights.
func (l *Learner) penalty(weights []float64) float64 {
	sum := 0.0
	for _, v := range weights {
		sum += l.L2/2*v*v + l.L1*math.Abs(v)
	}
	return sum
}

// resize returns a slice of n elements, reusing buf if it is large enough.
func resize[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
