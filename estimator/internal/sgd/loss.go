package sgd

import "math"

// Loss is a loss function of a score.
type Loss struct {
	Classes bool                         // whether targets are ±1
	value   func(p, t float64) float64   // of a score p for target t
	slope   func(p, t float64) float64   // a (sub)derivative by p
	curve   float64                      // bound of the second derivative; 1 for a kink
	start   func(list []float64) float64 // initial intercept; nil for 0
}

// Hinge is max(0, 1 − m) of a margin m = t·p. Classification losses have the names of scikit-learn
// and targets t = ±1.
func Hinge() Loss {
	return marginLoss(1, func(m float64) float64 { return max(0, 1-m) }, func(m float64) float64 { return -step(m <= 1) })
}

// Perceptron is max(0, −m).
func Perceptron() Loss {
	return marginLoss(1, func(m float64) float64 { return max(0, -m) }, func(m float64) float64 { return -step(m <= 0) })
}

// SquaredHinge is the square of the hinge.
func SquaredHinge() Loss {
	return marginLoss(2, func(m float64) float64 { return max(0, 1-m) * max(0, 1-m) },
		func(m float64) float64 { return -2 * max(0, 1-m) })
}

// LogLoss is log(1 + exp(−m)).
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

// ModifiedHuber is the squared hinge for m ≥ −1, extended linearly below (Zhang, ICML 2004).
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

// marginLoss returns a loss of the margin m = t·p.
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

// Huber is half the squared residual up to epsilon, extended linearly above.
func Huber(epsilon float64) Loss {
	return Loss{curve: 1, start: median, value: func(p, t float64) float64 {
		if r := math.Abs(p - t); r > epsilon {
			return epsilon*r - epsilon*epsilon/2
		}
		return (p - t) * (p - t) / 2
	}, slope: func(p, t float64) float64 { return min(max(p-t, -epsilon), epsilon) }}
}

// EpsilonInsensitive is max(0, |p − t| − epsilon).
func EpsilonInsensitive(epsilon float64) Loss {
	return Loss{curve: 1, start: median, value: func(p, t float64) float64 { return max(0, math.Abs(p-t)-epsilon) },
		slope: func(p, t float64) float64 { return step(p-t > epsilon) - step(t-p > epsilon) }}
}

// SquaredEpsilonInsensitive is max(0, |p − t| − epsilon)².
func SquaredEpsilonInsensitive(epsilon float64) Loss {
	return Loss{curve: 2, start: meanOf, value: func(p, t float64) float64 {
		over := max(0, math.Abs(p-t)-epsilon)
		return over * over
	}, slope: func(p, t float64) float64 { return 2 * (max(0, p-t-epsilon) - max(0, t-p-epsilon)) }}
}

// step returns 1 if condition is true, otherwise 0.
func step(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
