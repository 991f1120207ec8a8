package sgd

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// eta is the size of the step that was begun.
func (l *Learner) eta(x Rows, weights []float64) float64 {
	t := float64(l.steps)
	switch l.Rate {
	case "optimal": // as Bottou's and scikit-learn's: the first step is that of weights of a typical size
		typical := math.Sqrt(1 / math.Sqrt(l.Alpha))
		return 1 / (l.Alpha * (1/(typical*l.Alpha) + t - 1))
	case "invscaling":
		return l.Eta0 / math.Pow(t, l.PowerT)
	case "constant", "adaptive":
		return l.Eta0 * l.factor
	}
	eta := l.base * math.Pow(1+l.Alpha*l.base*t, -0.75)
	// Rows that are far larger than those that the first step was chosen by would overshoot.
	if norm := x.norm(weights); norm > 2*l.norm {
		eta *= 2 * l.norm / norm
	}
	return eta
}

// most rows that the first step is chosen by, and rounds of the power iteration.
const (
	probed      = 2048
	powerRounds = 10
)

// Prepare chooses where to begin, and how large the first steps are, by some of the first rows, where the
// rate is auto: the step is at most the inverse of the largest curvature that the mean loss of a minibatch
// can be expected to have along a direction,
//
//	1 / (curve·(E s·(‖x‖²+1) / batch + λ)),  λ the largest eigenvalue of E s·(x,1)(x,1)'
//
// as the noise of a minibatch and the mean make it (Ma, Bassily and Belkin, ICML 2018). Eta0 above 0 is taken
// instead.
func (l *Learner) Prepare(x Rows, y, weights []float64) {
	if l.Rate != "auto" || l.base > 0 {
		return
	}
	n := min(x.Len(), probed)
	x, y = x.slice(n), y[:n]
	if weights != nil {
		weights = weights[:n]
	}
	l.norm = x.norm(weights)
	if l.Intercept && l.Loss.start != nil {
		l.intercept[0] = l.Loss.start(y)
		l.began[0] = l.intercept[0]
	}
	if l.base = l.Eta0; l.base == 0 {
		l.base = 1 / (l.Loss.curve * max(l.norm/float64(l.Batch)+l.largest(x, weights), math.SmallestNonzeroFloat64))
	}
	if l.base = min(l.base, 1e6); l.base-l.base != 0 || l.base == 0 {
		l.base = 1e-6
	}
}

// largest returns about the largest eigenvalue of the mean of s·(x,1)(x,1)', by the power iteration.
func (l *Learner) largest(x Rows, weights []float64) float64 {
	one := *l // of one output, without weights
	one.Outputs, one.scores, one.room, one.short, one.shortRoom = 1, nil, nil, nil, nil
	v, z, bias := make([]float64, l.Cols), make([]float64, l.Cols), []float64{0}
	for j := range v {
		v[j] = 1 + 0.01*float64(j%7) // no eigenvector of rows that are alike
	}
	value := 0.0
	for range powerRounds {
		size := math.Sqrt(kern.Dot(v, v) + bias[0]*bias[0])
		if size == 0 || size-size != 0 {
			break
		}
		kern.Scale(1/size, v)
		bias[0] /= size
		scores := one.score(x, v, 1, bias)
		sum, fit := 0.0, 0.0
		for i, p := range scores {
			w := 1 / float64(len(scores))
			if weights != nil {
				w *= weights[i]
			}
			fit += w * p * p
			scores[i] = w * p
			sum += scores[i]
		}
		clear(z)
		x.collect(&one, z, scores)
		v, z, value = z, v, max(value, fit)
		if bias[0] = 0; l.Intercept {
			bias[0] = sum
		}
	}
	return value
}

func mean(list []float64) float64 { return kern.Sum(list) / float64(len(list)) }

func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}
