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
	Form          Storage // of the rows
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
	centre
	direct    []float64 // cols × outputs for sparse rows, outputs × cols for dense ones
	scale     float64
	intercept []float64

	sumRest      []float64 // nil without averaging
	sumScale     float64
	sumIntercept []float64
	sumCount     float64 // what the weights of the steps count in the sums

	owed     float64   // the l1 penalty that every weight owes by now,
	received []float64 // and minus what each has paid; nil without it

	steps  int // that were taken
	rows   int // that they have read
	epochs int // that have begun
	began  []float64
	base   float64 // first step size, where it is chosen from the rows, and
	norm   float64 // the mean squared norm that it is for
	bias   float64 // how much longer the steps of the intercept are than those of weights; 1 but for auto
	factor float64 // on the steps of adaptive

	short, shortRoom []float32 // room
	scores, room     []float64
	gradient         []float64
}

// New returns a learner without weights.
func New(p Plan) *Learner {
	size := p.Cols * p.Outputs
	l := &Learner{Plan: p, direct: make([]float64, size), scale: 1, intercept: make([]float64, p.Outputs), began: make([]float64, p.Outputs), factor: 1, bias: 1}
	if p.Average {
		l.sumRest, l.sumIntercept = make([]float64, size), make([]float64, p.Outputs)
	}
	if p.L1 > 0 {
		l.received = make([]float64, size)
	}
	return l
}

// Rows returns how many rows the steps have read, each as often as it was.
func (l *Learner) Rows() int { return l.rows }

// Steps returns how many steps were taken.
func (l *Learner) Steps() int { return l.steps }

// errTooFar is the error of steps that lead away.
func errTooFar(steps int) error {
	return fmt.Errorf("%w: the scores are not finite after %d steps; standardize the inputs, or take a smaller eta0", solve.ErrDiverged, steps)
}

// Step goes along the gradient of the loss of some rows, and returns the sum of the losses that they had
// before. Scores that are not finite are an error, and the weights are as they were.
func (l *Learner) Step(x Rows, y, weights []float64) (loss float64, err error) {
	n, k := x.Len(), l.Outputs
	scores := l.stepScores(x)
	if !kern.AllFinite(scores) {
		return 0, errTooFar(l.steps)
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
			step := factor * w * min(max(l.Loss.slope(scores[at], t), -steepest), steepest)
			l.count(i, c, step)
			if scores[at] = step / l.scale; l.Intercept {
				l.intercept[c] += l.bias * step
			}
		}
	}
	l.collect(x, scores)
	if l.L1 > 0 {
		l.owed += eta * l.L1
		l.clip()
	}
	if l.Average {
		l.addToSums()
	}
	return loss, nil
}

// steepest bounds the derivative of a loss, as scikit-learn does.
const steepest = 1e12

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
	l.centre.shrink(by)
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

// collect adds steps'·X to the direct weights.
func (l *Learner) collect(x Rows, steps []float64) {
	if x.Form == Sparse {
		k := l.Outputs
		kern.SparseMulT(kern.Dense(l.Cols, k, k, l.direct), x.Sparse, kern.Dense(x.Len(), k, k, steps), true)
		if l.Average && l.sumScale != 0 {
			kern.Scale(-l.sumScale, steps)
			kern.SparseMulT(kern.Dense(l.Cols, k, k, l.sumRest), x.Sparse, kern.Dense(x.Len(), k, k, steps), true)
		}
		l.moveOn()
		return
	}
	l.gradient = sized(l.gradient, len(l.direct))
	clear(l.gradient)
	x.collect(l, l.gradient, steps)
	if l.at != nil {
		for c, t := range l.total {
			kern.Axpy(-t/l.scale, l.at, l.gradient[c*l.Cols:(c+1)*l.Cols])
		}
	}
	kern.Axpy(1, l.gradient, l.direct)
	if l.Average && l.sumScale != 0 {
		kern.Axpy(-l.sumScale, l.gradient, l.sumRest)
	}
}

// clip takes from each weight what it owes of the l1 penalty, as far as it reaches: the rest is paid by what
// gradients add to it later (Tsuruoka, Tsujii and Ananiadou, ACL 2009).
func (l *Learner) clip() {
	l.fold()
	defer l.project()
	for j, v := range l.direct {
		to := v
		switch {
		case v > 0:
			to = max(0, v-(l.owed+l.received[j])/l.scale)
		case v < 0:
			to = min(0, v+(l.owed-l.received[j])/l.scale)
		default:
			continue
		}
		l.received[j] += l.scale * (to - v)
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
	if l.at != nil {
		kern.Axpy(count, l.along, l.sumAlong)
	}
}

// now writes the model of the steps so far, in the order of direct: the averaged weights, or the last ones.
func (l *Learner) now(weights, intercept []float64) {
	if l.sumCount == 0 {
		for j, v := range l.direct {
			weights[j] = l.scale * v
		}
		l.subtract(weights, l.along, 1)
		copy(intercept, l.intercept)
		l.uncentre(weights, intercept)
		return
	}
	for j, v := range l.direct {
		weights[j] = (l.sumScale*v + l.sumRest[j]) / l.sumCount
	}
	l.subtract(weights, l.sumAlong, 1/l.sumCount)
	for c, v := range l.sumIntercept {
		intercept[c] = v / l.sumCount
	}
	l.uncentre(weights, intercept)
}

// Model returns the weights, inputs × outputs, and the intercepts.
func (l *Learner) Model() (weights, intercept []float64) {
	weights, intercept = make([]float64, len(l.direct)), make([]float64, l.Outputs)
	l.now(weights, intercept)
	return l.byInputs(weights), intercept
}

// byInputs returns weights in the order inputs × outputs.
func (l *Learner) byInputs(weights []float64) []float64 {
	if l.Form == Sparse || l.Outputs == 1 {
		return weights
	}
	return turned(weights, l.Outputs, l.Cols)
}

// byForm returns weights in the order of direct.
func (l *Learner) byForm(weights []float64) []float64 {
	if l.Form == Sparse || l.Outputs == 1 {
		return weights
	}
	return turned(weights, l.Cols, l.Outputs)
}

// turned returns the transpose of a rows × cols matrix.
func turned(list []float64, rows, cols int) []float64 {
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

// sized returns room for n numbers, the same where it is large enough.
func sized[T any](room []T, n int) []T {
	if cap(room) < n {
		return make([]T, n)
	}
	return room[:n]
}
