package sgd

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// eta returns the learning rate of the current step.
func (l *Learner) eta(x Rows, weights []float64) float64 {
	t := float64(l.steps)
	switch l.Rate {
	case "optimal": // as in scikit-learn (Bottou): the first step has the size of typical weights
		typical := math.Sqrt(1 / math.Sqrt(l.Alpha))
		return 1 / (l.Alpha * (1/(typical*l.Alpha) + t - 1))
	case "invscaling":
		return l.Eta0 / math.Pow(t, l.PowerT)
	case "constant", "adaptive":
		return l.Eta0 * l.factor
	}
	eta := l.baseRate * math.Pow(1+l.Alpha*l.baseRate*t, -0.75)
	// Rows with norms far above those of the probe would overshoot; their step is limited to the
	// minimum of their own losses.
	if norm := x.norm(weights, l.interceptScale); norm > 2*l.baseNorm {
		eta = min(eta, 1/(l.Loss.curve*norm))
	}
	return eta
}

// Bounds of the rows probed for the first step and of power iterations.
const (
	maxProbeRows = 2048
	powerRounds  = 10
)

// Prepare chooses the center μ and the learning rate from the first rows, if the rate is auto. The
// center is the mean of the rows. The step is about the inverse of the largest expected curvature
// of the mean loss of a minibatch,
//
//	1 / (curve·(E s·‖x−μ‖² / batch + λ)),  λ the largest eigenvalue of E s·(x−μ)(x−μ)ᵀ
//
// (Ma, Bassily and Belkin, ICML 2018). The intercept acts as an input of size √λ, so that it
// converges as fast as the weights. Eta0 > 0 replaces the step.
func (l *Learner) Prepare(x Rows, y, weights []float64) {
	if l.Rate != "auto" || l.baseRate > 0 {
		return
	}
	n := min(x.Len(), maxProbeRows)
	x, y = x.slice(n), y[:n]
	shares := make([]float64, n) // weights of the mean
	for i := range shares {
		if shares[i] = 1 / float64(n); weights != nil {
			shares[i] *= weights[i]
		}
	}
	one := *l // a single output
	one.Outputs, one.scores, one.buf, one.weights32, one.scores32 = 1, nil, nil, nil, nil
	if l.Intercept {
		at := make([]float64, l.Cols)
		own := append([]float64(nil), shares...)
		kern.Scale(1/kern.Sum(shares), own)
		if x.collect(&one, at, own); kern.AllFinite(at) {
			l.center = l.newCenter(at)
		}
		if l.Loss.start != nil {
			l.intercept[0] = l.Loss.start(y)
			l.initialIntercept[0] = l.intercept[0]
		}
	}
	largest := one.largestEigenvalue(x, l.mean, shares)
	if l.interceptScale = largest; !(largest > 0) || largest > math.MaxFloat64 {
		l.interceptScale = 1
	}
	if weights != nil {
		weights = weights[:n]
	}
	l.baseNorm = x.norm(weights, l.interceptScale)
	spread := max(l.baseNorm-l.meanNormSq*kern.Sum(shares), largest)
	if l.baseRate = l.Eta0; l.baseRate == 0 {
		l.baseRate = min(1/(l.Loss.curve*(spread/float64(l.Batch)+largest)), maxFirstStep)
	}
	if l.baseRate-l.baseRate != 0 || l.baseRate == 0 {
		l.baseRate = 1 / maxFirstStep
	}
}

// maxFirstStep bounds the first step for inputs near 0.
const maxFirstStep = 1e12

// largestEigenvalue estimates the largest eigenvalue of the weighted mean of (x−μ)(x−μ)ᵀ by power
// iteration.
func (l *Learner) largestEigenvalue(x Rows, at, shares []float64) (value float64) {
	v, z := make([]float64, l.Cols), make([]float64, l.Cols)
	for j := range v {
		v[j] = 1 + 0.3*float64(j%7) - float64(j%2)
	}
	for range powerRounds {
		size := math.Sqrt(kern.Dot(v, v))
		if size == 0 || size-size != 0 {
			break
		}
		kern.Scale(1/size, v)
		shift := []float64{0}
		if at != nil {
			shift[0] = -kern.Dot(v, at)
		}
		scores := l.score(x, v, 1, shift)
		sum, fit := 0.0, 0.0
		for i, p := range scores {
			fit += shares[i] * p * p
			scores[i] *= shares[i]
			sum += scores[i]
		}
		clear(z)
		if x.collect(l, z, scores); at != nil {
			kern.Axpy(-sum, at, z)
		}
		v, z, value = z, v, max(value, fit)
	}
	return value
}

func meanOf(list []float64) float64 { return kern.Sum(list) / float64(len(list)) }

func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}
