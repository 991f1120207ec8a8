package newton

import (
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Loss is a convex, differentiable function of the k scores of a row, summed over rows with
// weights. It decomposes into independent groups: single columns of scores, or all columns
// together.
type Loss interface {
	// evaluate replaces scores, rows × k, by the derivatives. It writes to curve, rows × k, what
	// multiply needs, and adds the value of each group to values.
	evaluate(values, scores, curve, y, weights []float64)
	// multiply replaces u, rows × k, by the second derivative times u. Values are those of a problem
	// with more variables than those of linear scores, else nil.
	multiply(values, u, curve, weights []float64)
	// rowCurvature writes a scalar second derivative per row, for preconditioning.
	rowCurvature(dst, curve, weights []float64)
}

// logisticLoss is log(1 + exp(−t·z)), with t = ±1 for codes 1 and 0.
type logisticLoss struct{}

func (logisticLoss) evaluate(values, scores, curve, y, weights []float64) {
	for i, z := range scores {
		if y[i] == 0 {
			scores[i] = -z
		}
	}
	// With margin m = t·z, the derivative is −t·p and the curvature p(1−p), where p = 1/(1+exp(m))
	// = exp(−log1pexp(m)).
	kern.Log1pExp(curve, scores)
	value := 0.0
	for i, m := range scores {
		value += weights[i] * (curve[i] - m)
		curve[i] = -curve[i]
	}
	kern.Exp(curve, curve)
	for i, p := range curve {
		scores[i] = -weights[i] * p
		if y[i] == 0 {
			scores[i] = -scores[i]
		}
		curve[i] = weights[i] * p * (1 - p)
	}
	values[0] += value
}

func (logisticLoss) multiply(_, u, curve, _ []float64) {
	for i, c := range curve {
		u[i] *= c
	}
}

func (logisticLoss) rowCurvature(dst, curve, weights []float64) {
	for i, s := range weights {
		dst[i] = max(curve[i], minCurvature*s)
	}
}

// minCurvature bounds the second derivatives in a preconditioner. Far from the boundary they
// vanish, possibly for all sampled rows.
const minCurvature = 1e-8

// softmaxLoss is log Σ_c exp(z_c) − z_y, a single group.
type softmaxLoss struct{ classes int }

func (l softmaxLoss) evaluate(values, scores, curve, y, weights []float64) {
	k := l.classes
	value := 0.0
	for i, s := range weights {
		row := scores[i*k : (i+1)*k]
		top, own := row[kern.ArgMax(row)], row[int(y[i])]
		for j := range row {
			row[j] -= top
		}
		value += s * (top - own)
	}
	kern.Exp(curve, scores)
	for i, s := range weights {
		p := curve[i*k : (i+1)*k]
		total := kern.Sum(p)
		kern.Scale(1/total, p)
		value += s * math.Log(total)
		for j, v := range p {
			scores[i*k+j] = s * v
		}
		scores[i*k+int(y[i])] -= s
	}
	values[0] += value
}

func (l softmaxLoss) multiply(values, u, curve, weights []float64) {
	k := l.classes
	for i, s := range weights {
		p, row := curve[i*k:(i+1)*k], u[i*k:(i+1)*k]
		mean := kern.Dot(p, row)
		for j, v := range p {
			row[j] = s * v * (row[j] - mean)
		}
	}
}

// rowCurvature averages p(1−p), scaled to be exact for equal probabilities.
func (l softmaxLoss) rowCurvature(dst, curve, weights []float64) {
	k := l.classes
	for i, s := range weights {
		p := curve[i*k : (i+1)*k]
		dst[i] = s * max(minCurvature, (1-kern.Dot(p, p))/float64(k-1))
	}
}

// hingeLoss is max(0, 1 − t·z)², one group per column. With one column, t = 1 is code 1. Otherwise
// t = 1 in column c is code c.
type hingeLoss struct{ outputs int }

func (l hingeLoss) evaluate(values, scores, curve, y, weights []float64) {
	k := l.outputs
	for i, s := range weights {
		for j := range k {
			t := -1.0
			if int(y[i]) == j+max(0, 2-k) {
				t = 1
			}
			at := i*k + j
			slack := max(0, 1-t*scores[at])
			values[j] += s * slack * slack
			scores[at] = -2 * s * t * slack
			curve[at] = 0
			if slack > 0 {
				curve[at] = 2 * s
			}
		}
	}
}

func (hingeLoss) multiply(_, u, curve, _ []float64) { logisticLoss{}.multiply(nil, u, curve, nil) }

func (l hingeLoss) rowCurvature(dst, curve, _ []float64) {
	k := l.outputs
	for i := range dst {
		dst[i] = kern.Sum(curve[i*k:(i+1)*k]) / float64(k)
	}
}

// squaredEpsilonInsensitiveLoss is max(0, |y − z| − epsilon)².
type squaredEpsilonInsensitiveLoss struct{ epsilon float64 }

func (l squaredEpsilonInsensitiveLoss) evaluate(values, scores, curve, y, weights []float64) {
	for i, s := range weights {
		r := scores[i] - y[i]
		over := max(0, math.Abs(r)-l.epsilon)
		values[0] += s * over * over
		scores[i] = 2 * s * math.Copysign(over, r)
		curve[i] = 0
		if over > 0 {
			curve[i] = 2 * s
		}
	}
}

func (squaredEpsilonInsensitiveLoss) multiply(_, u, curve, _ []float64) {
	logisticLoss{}.multiply(nil, u, curve, nil)
}

func (squaredEpsilonInsensitiveLoss) rowCurvature(dst, curve, _ []float64) { copy(dst, curve) }
