package sgd

import "math"

// Loss is what a score costs.
type Loss struct {
	Classes bool                         // whether targets are ±1, for classes, and not numbers
	value   func(p, t float64) float64   // of a score p where t is wanted
	slope   func(p, t float64) float64   // its derivative by p, one of them where there are several
	curve   float64                      // a bound of the second derivative; of a kink 1
	start   func(list []float64) float64 // score without weights to begin at; nil for 0
}

// Losses of classes, as scikit-learn names them. The targets are t = ±1.
func Hinge() Loss {
	return marginLoss(1, func(m float64) float64 { return max(0, 1-m) }, func(m float64) float64 { return -step(m <= 1) })
}

// Perceptron is the hinge at 0: only rows on the wrong side cost.
func Perceptron() Loss {
	return marginLoss(1, func(m float64) float64 { return max(0, -m) }, func(m float64) float64 { return -step(m <= 0) })
}

// SquaredHinge is the square of the hinge.
func SquaredHinge() Loss {
	return marginLoss(2, func(m float64) float64 { return max(0, 1-m) * max(0, 1-m) }, func(m float64) float64 { return -2 * max(0, 1-m) })
}

// LogLoss is log(1 + exp(−m)) of a margin m.
func LogLoss() Loss {
	return marginLoss(0.25, func(m float64) float64 { return max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m))) },
		func(m float64) float64 {
			small := math.Exp(-math.Abs(m))
			if m > 0 {
				return -small / (1 + small)
			}
			return -1 / (1 + small)
		})
}

// ModifiedHuber is the squared hinge for margins from −1 on, and goes on along its tangent before
// (Zhang, ICML 2004).
func ModifiedHuber() Loss {
	return marginLoss(2, func(m float64) float64 {
		if m < -1 {
			return -4 * m
		}
		return max(0, 1-m) * max(0, 1-m)
	}, func(m float64) float64 {
		if m < -1 {
			return -4
		}
		return -2 * max(0, 1-m)
	})
}

// marginLoss is a loss of the margin m = t·p.
func marginLoss(curve float64, value, slope func(m float64) float64) Loss {
	return Loss{Classes: true, curve: curve,
		value: func(p, t float64) float64 { return value(t * p) },
		slope: func(p, t float64) float64 { return t * slope(t*p) }}
}

// SquaredError is half the squared residual.
func SquaredError() Loss {
	return Loss{curve: 1, start: meanOf, value: func(p, t float64) float64 { return (p - t) * (p - t) / 2 },
		slope: func(p, t float64) float64 { return p - t }}
}

// Huber is half the squared residual up to epsilon, and goes on along its tangent behind it.
func Huber(epsilon float64) Loss {
	return Loss{curve: 1, start: median, value: func(p, t float64) float64 {
		if r := math.Abs(p - t); r > epsilon {
			return epsilon*r - epsilon*epsilon/2
		}
		return (p - t) * (p - t) / 2
	}, slope: func(p, t float64) float64 { return min(max(p-t, -epsilon), epsilon) }}
}

// EpsilonInsensitive is what a residual exceeds epsilon by.
func EpsilonInsensitive(epsilon float64) Loss {
	return Loss{curve: 1, start: median, value: func(p, t float64) float64 { return max(0, math.Abs(p-t)-epsilon) },
		slope: func(p, t float64) float64 { return step(p-t > epsilon) - step(t-p > epsilon) }}
}

// SquaredEpsilonInsensitive is the square of that.
func SquaredEpsilonInsensitive(epsilon float64) Loss {
	return Loss{curve: 2, start: meanOf, value: func(p, t float64) float64 {
		over := max(0, math.Abs(p-t)-epsilon)
		return over * over
	}, slope: func(p, t float64) float64 { return 2 * (max(0, p-t-epsilon) - max(0, t-p-epsilon)) }}
}

// step is 1 where it is so, else 0.
func step(so bool) float64 {
	if so {
		return 1
	}
	return 0
}
