package newton

import (
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Tweedie is the mean of half the unit deviances of a Tweedie distribution with power 1 (Poisson),
// 2 (gamma) or between, a log link, and the penalty alpha/2·‖w‖². The weights of l are relative
// weights with sum [TweedieWeight].
//
// With an intercept, scores are relative to the logarithm of the mean target, so that zeros are the
// trivial model.
func Tweedie(l *design.Labels, power, alpha float64, intercept bool, tol float64) Task {
	t := Task{Outputs: 1, Groups: 1, Unpenalized: alpha == 0, y: l.Y, weights: l.Weights, intercept: intercept}
	total := kern.Sum(l.Weights)
	if intercept {
		t.offset = math.Log(kern.Dot(l.Y, l.Weights) / total)
	}
	loss := tweedieLoss{power, t.offset}
	t.Loss = loss
	unit := alpha
	if alpha == 0 {
		unit = 1 / total
	}
	t.finish = func(w, b []float64, report solve.Report) (solve.Linear, error) {
		b[0] += t.offset
		report.Objective *= unit
		return solve.NewLinear(w, b, report)
	}
	trivial := 0.0
	for i, y := range l.Y {
		half, _, _ := loss.row(y, t.offset)
		trivial += l.Weights[i] * half
	}
	t.ObjectiveBound = ObjectiveBound(trivial, trivial, tol)
	return t
}

// TweedieWeight returns the sum of the weights of a [Tweedie] task, C being 1. Without a penalty it
// is the number of rows, for then ½‖w‖² is a small part of the preconditioner.
func TweedieWeight(rows int, alpha float64) float64 {
	if alpha == 0 {
		return float64(rows)
	}
	return 1
}

// tweedieLoss is half the unit deviance of a target y with mean μ = exp(z),
//
//	y·log(y/μ) − y + μ                                       power 1
//	log(μ/y) + y/μ − 1                                       power 2
//	y^(2−p)/((1−p)(2−p)) − y·μ^(1−p)/(1−p) + μ^(2−p)/(2−p)   power p between
//
// Its derivative is μ^(2−p) − y·μ^(1−p). It is convex in z for these powers only.
type tweedieLoss struct{ power, offset float64 } // offset is added to scores

func (l tweedieLoss) evaluate(values, scores, curve, y, weights []float64) {
	value := 0.0
	for i, z := range scores {
		half, slope, bend := l.row(y[i], z+l.offset)
		value += weights[i] * half
		scores[i] = weights[i] * slope
		curve[i] = weights[i] * bend
	}
	values[0] += value
}

// row returns the loss of one row with its derivatives.
func (l tweedieLoss) row(y, z float64) (half, slope, bend float64) {
	a, b := l.power-1, 2-l.power
	scale, smallest := 1.0, 0.0 // y^b, and the smallest value of the terms that depend on z
	if y > 0 {
		v := z - math.Log(y)
		if b == 1 {
			scale = y
		} else if b > 0 {
			scale = math.Pow(y, b)
		}
		if math.Abs(v) < 1 { // without cancellation
			down, up := math.Expm1(-a*v), math.Expm1(b*v)
			return scale * (overOr(down, a, -v) + overOr(up, b, v)), scale * (up - down), scale * (1 + a*down + b*up)
		}
		switch {
		case a == 0:
			smallest = y * (1 - math.Log(y))
			half, slope = -y*z, -y
		case b == 0:
			smallest = 1 + math.Log(y)
		default:
			smallest = scale * (1/a + 1/b)
		}
		if a > 0 {
			value, grow := boundedExp(-a*z, maxExponent-a*l.offset)
			half, slope, bend = y*value/a, -y*grow, a*y*grow
		}
	}
	if b == 0 {
		return half + z - smallest, slope + 1, bend
	}
	value, grow := boundedExp(b*z, maxExponent+b*l.offset)
	return half + value/b - smallest, slope + grow, bend + b*grow
}

// overOr returns x/by, or its limit if by is 0.
func overOr(x, by, limit float64) float64 {
	if by == 0 {
		return limit
	}
	return x / by
}

// maxExponent bounds the exponents of evaluated functions relative to the offset, so that sums over
// the rows of a trial point are finite. It is far above those of a solution.
const maxExponent = 60

// boundedExp returns exp(t) and its derivative; above bound, those of the tangent there. The
// function stays convex.
func boundedExp(t, bound float64) (value, slope float64) {
	if t <= bound {
		value = math.Exp(t)
		return value, value
	}
	slope = math.Exp(bound)
	return slope * (1 + t - bound), slope
}

func (tweedieLoss) multiply(_, u, curve, _ []float64) { logisticLoss{}.multiply(nil, u, curve, nil) }

func (tweedieLoss) rowCurvature(dst, curve, weights []float64) {
	logisticLoss{}.rowCurvature(dst, curve, weights)
}
