// Package sgd learns linear models by stochastic gradient descent: steps along the gradient of the loss of a
// few rows at a time, a minibatch. A [Learner] holds the weights and takes the steps; a [Fit] drives it over
// rows of any kind, epoch by epoch, each of them one reading of the rows. What it costs grows as the number
// of rows does, and what it holds does not.
//
// The objective is, with n rows of inputs x, targets t and weights s,
//
//	1/n·Σ s·loss(w'x + b, t) + l2·½‖w‖² + l1·‖w‖₁
//
// for each output. Steps depend on the order of the rows, so that what is learned from parts of them cannot
// be merged to what all of them make: there are no passes of sums here.
package sgd

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Plan says what is minimised, and by which steps.
type Plan struct {
	Loss          Loss
	Cols, Outputs int
	Storage       Storage // of the rows
	L2, L1        float64
	Alpha         float64 // by which steps shrink, whatever the penalty
	Rate          string  // auto, optimal, invscaling, constant or adaptive
	Eta0, PowerT  float64
	Average       bool
	AverageFrom   int // first step whose weights count alike; 0: those of step t count t times
	Batch         int // rows of a step
	Intercept     bool
}

// Learner is the weights of a model on their way, and what the next step needs to know. Weights are
// scale·direct, so that a penalty on their squares costs nothing where rows are sparse; their sum over the
// steps is sumScale·direct + sumRest, for the same reason.
type Learner struct {
	Plan
	center
	direct    []float64 // cols × outputs for sparse rows, outputs × cols for dense ones
	scale     float64
	intercept []float64

	sumRest      []float64 // nil without averaging
	sumScale     float64
	sumIntercept []float64
	sumCount     float64 // what the weights of the steps count in the sums

	l1Total   float64   // the l1 penalty that every weight owes by now,
	l1Applied []float64 // and minus what each has paid; nil without it

	steps            int // that were taken
	rows             int // that they have read
	epochs           int // that have begun
	initialIntercept []float64
	baseRate         float64 // first step size, where it is chosen from the rows, and
	baseNorm         float64 // the mean squared norm that it is for
	interceptScale   float64 // how much longer the steps of the intercept are than those of weights; 1 but for auto
	factor           float64 // on the steps of adaptive

	short, shortRoom []float32 // room
	scores, room     []float64
	gradient         []float64
}

// New returns a learner without weights.
func New(p Plan) *Learner {
	size := p.Cols * p.Outputs
	l := &Learner{Plan: p, direct: make([]float64, size), scale: 1, intercept: make([]float64, p.Outputs), initialIntercept: make([]float64, p.Outputs), factor: 1, interceptScale: 1}
	if p.Average {
		l.sumRest, l.sumIntercept = make([]float64, size), make([]float64, p.Outputs)
	}
	if p.L1 > 0 {
		l.l1Applied = make([]float64, size)
	}
	return l
}

// Rows returns how many rows the steps have read, each as often as it was.
func (l *Learner) Rows() int { return l.rows }

// Steps returns how many steps were taken.
func (l *Learner) Steps() int { return l.steps }

// errDiverged is the error of steps that lead away.
func errDiverged(steps int) error {
	return fmt.Errorf("%w: the scores are not finite after %d steps; standardize the inputs, or take a smaller eta0", solve.ErrDiverged, steps)
}

// Step goes along the gradient of the loss of some rows, and returns the sum of the losses that they had
// before. Scores that are not finite are an error, and the weights are as they were.
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

// maxSlope bounds the derivative of a loss, as scikit-learn does.
const maxSlope = 1e12

// target is what output c is to be for a row: the row's number, or the code ±1 of its class.
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

// shrink multiplies the weights by what the penalty on their squares leaves of them.
func (l *Learner) shrink(eta float64) {
	const least = 1e-2 // smaller ones would cost digits of the sums
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

// addGradient adds steps'·X to the direct weights.
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

// applyL1 takes from each weight what it owes of the l1 penalty, as far as it reaches: the rest is paid by what
// gradients add to it later (Tsuruoka, Tsujii and Ananiadou, ACL 2009).
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

// addToSums counts the weights of the step.
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

// currentModel writes the model of the steps so far, in the order of direct: the averaged weights, or the last ones.
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

// penalty is that of weights.
func (l *Learner) penalty(weights []float64) float64 {
	sum := 0.0
	for _, v := range weights {
		sum += l.L2/2*v*v + l.L1*math.Abs(v)
	}
	return sum
}

// resize returns room for n numbers, the same where it is large enough.
func resize[T any](room []T, n int) []T {
	if cap(room) < n {
		return make([]T, n)
	}
	return room[:n]
}
