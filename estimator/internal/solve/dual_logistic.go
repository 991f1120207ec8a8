package solve

import "math"

// descendLogistic minimizes over one β_i of the logistic loss. With α = |β_i|, c its bound, t its
// sign, and u = log(α/(c−α)), it finds the root of
//
//	h(u) = u + q·c·σ(u) + t·score − q·α_old,   σ(u) = 1/(1+exp(−u))
//
// h has slope at least 1. With k = t·score − q·α_old, the root lies in [−k−q·c, −k]. It is found by
// Newton's method, safeguarded by bisection. The substitution keeps full precision near both ends
// of (0, c). (Yu, Huang & Lin, Machine Learning 2011, solve the same problem in α and c−α.)
func (d *descent) descendLogistic(i int) (violation float64, stuck bool) {
	sign, bound := d.signAndBound(i)
	if bound == 0 {
		return 0, false
	}
	q, old := d.curvature[i], d.beta[i]
	k := sign*d.score(i) - q*math.Abs(old)
	to := sign * bound * logistic(logisticRoot(k, q*bound))
	if to == old {
		return 0, false
	}
	d.updateSolution(i, to-old)
	d.beta[i] = to
	return math.Abs(to-old) * q, false
}

// signAndBound returns the sign of β_i and the bound of |β_i|.
func (p *Dual) signAndBound(i int) (sign, bound float64) {
	if p.High[i] > 0 {
		return 1, p.High[i]
	}
	return -1, -p.Low[i]
}

// logisticRoot returns the root of u + c·σ(u) + k.
func logisticRoot(k, c float64) float64 {
	low, high := -k-c, -k
	u, last := low+c/2, c // last is the length of the last step
	for range 200 {
		s := logistic(u)
		h := u + c*s + k
		if h > 0 {
			high = u
		} else {
			low = u
		}
		next := u - h/(1+c*s*(1-s))
		if !(next > low && next < high && math.Abs(next-u) <= last/2) {
			next = low + (high-low)/2
		}
		last = math.Abs(next - u)
		if last <= 1e-14*(1+math.Abs(u)) {
			return next
		}
		u = next
	}
	return u
}

// logistic returns 1/(1+exp(−u)) to full relative precision.
func logistic(u float64) float64 {
	e := math.Exp(-math.Abs(u))
	if u < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// logisticLoss returns L_i(z).
func (p *Dual) logisticLoss(i int, z float64) float64 {
	sign, bound := p.signAndBound(i)
	if m := sign * z; m < 0 {
		return bound * (math.Log1p(math.Exp(m)) - m)
	} else {
		return bound * math.Log1p(math.Exp(-m))
	}
}

// entropy returns the dual term −α·log(α/c) − (c−α)·log((c−α)/c).
func (p *Dual) entropy(i int, beta float64) float64 {
	_, bound := p.signAndBound(i)
	alpha := math.Abs(beta)
	return -entropyTerm(alpha, bound) - entropyTerm(bound-alpha, bound)
}

func entropyTerm(part, total float64) float64 {
	if part <= 0 {
		return 0
	}
	return part * math.Log(part/total)
}

// logisticIntercept is bestIntercept by Newton's method, safeguarded by bisection. If all rows are
// on one side, there is no minimizer; it returns a b with zero loss.
func (p *Dual) logisticIntercept(scores []float64) float64 {
	low, high := math.Inf(1), math.Inf(-1) // of −scores
	up, down := 0.0, 0.0
	for i, z := range scores {
		if p.Low[i] < p.High[i] {
			low, high = min(low, -z), max(high, -z)
			up, down = up+p.High[i], down-p.Low[i]
		}
	}
	const none = 800 // exp(−none) is 0
	switch {
	case up == 0 && down == 0:
		return 0
	case down == 0:
		return high + none
	case up == 0:
		return low - none
	}
	low, high = low+math.Log(up/down), high+math.Log(up/down)
	b := low + (high-low)/2
	for range 200 {
		slope, curve := p.logisticDerivatives(scores, b)
		if slope > 0 {
			high = b
		} else {
			low = b
		}
		next := b - slope/curve
		if !(next >= low && next <= high) {
			next = low + (high-low)/2
		}
		if math.Abs(next-b) <= 1e-15*(1+math.Abs(b)) {
			return next
		}
		b = next
	}
	return b
}

// logisticDerivatives returns the first two derivatives of Σ L_i(scores_i + b).
func (p *Dual) logisticDerivatives(scores []float64, b float64) (slope, curve float64) {
	for i, z := range scores {
		sign, bound := p.signAndBound(i)
		share := logistic(-sign * (z + b))
		slope -= sign * bound * share
		curve += bound * share * (1 - share)
	}
	return slope, curve
}
