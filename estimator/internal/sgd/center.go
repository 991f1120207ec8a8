package sgd

import "github.com/bochner-ml/bochner/internal/kern"

// center shifts the origin of the inputs to the mean μ of the first rows during the steps.
// Gradients are then along x−μ and the intercept is that at μ; the objective is unchanged. Without
// it, nonnegative features such as those of wide kernels have a large common component that forces
// short steps.
//
// With sparse rows the weights are scale·direct − meanCoef·μᵀ, so that a step changes few of them.
// With dense rows a step changes all weights, and meanCoef stays 0.
type center struct {
	mean        []float64 // μ, nil for none
	meanNormSq  float64   // ‖μ‖²
	meanCoef    []float64 // by output
	meanDot     []float64 // weightsᵀμ by output, for sparse rows
	sumMeanCoef []float64 // summed over steps

	total, part []float64 // of a step, by output: Σ steps and Σ steps·(xᵀμ)
	rows        []float64 // xᵀμ
	shifted     []float64
}

// newCenter returns a center at μ.
func (l *Learner) newCenter(at []float64) center {
	k := l.Outputs
	buf := make([]float64, 6*k)
	return center{mean: at, meanNormSq: kern.Dot(at, at), meanCoef: buf[:k], meanDot: buf[k : 2*k],
		sumMeanCoef: buf[2*k : 3*k], total: buf[3*k : 4*k], part: buf[4*k : 5*k], shifted: buf[5*k:]}
}

// stepScores returns the scores of rows for a step and resets the sums of the step.
func (l *Learner) stepScores(x Rows) []float64 {
	m := &l.center
	if m.mean == nil {
		return l.score(x, l.direct, l.scale, l.intercept)
	}
	clear(m.total)
	clear(m.part)
	if x.Storage != Sparse {
		for c, b := range l.intercept {
			m.shifted[c] = b - l.scale*kern.Dot(l.direct[c*l.Cols:(c+1)*l.Cols], m.mean)
		}
		return l.score(x, l.direct, l.scale, m.shifted)
	}
	for c, b := range l.intercept {
		m.shifted[c] = b - m.meanDot[c]
	}
	scores, k := l.score(x, l.direct, l.scale, m.shifted), l.Outputs
	m.rows = resize(m.rows, x.Len())
	kern.SparseMulVec(m.rows, x.Sparse, m.mean, false)
	for i := range scores {
		scores[i] -= m.meanCoef[i%k] * m.rows[i/k]
	}
	return scores
}

// countStep adds the step of row i for output c to the sums.
func (m *center) countStep(i, c int, step float64) {
	if m.mean == nil {
		return
	}
	if m.total[c] += step; len(m.rows) > 0 {
		m.part[c] += step * m.rows[i]
	}
}

// applyStep adds the component along μ of a step, for sparse rows.
func (m *center) applyStep() {
	if m.mean == nil {
		return
	}
	for c, t := range m.total {
		m.meanCoef[c] += t
		m.meanDot[c] += m.part[c] - t*m.meanNormSq
	}
}

// shrink multiplies the weights by a factor.
func (m *center) shrink(by float64) {
	if m.mean != nil {
		kern.Scale(by, m.meanCoef)
		kern.Scale(by, m.meanDot)
	}
}

// foldCenter moves the component along μ of sparse weights into direct.
func (l *Learner) foldCenter() {
	m, k := &l.center, l.Outputs
	if m.mean == nil || l.Storage != Sparse {
		return
	}
	for c, a := range m.meanCoef {
		step := a / l.scale
		for j, v := range m.mean {
			if l.direct[j*k+c] -= step * v; l.Average {
				l.sumRest[j*k+c] += l.sumScale * step * v
			}
		}
		m.meanCoef[c] = 0
	}
}

// updateCenterDots recomputes weightsᵀμ after foldCenter.
func (l *Learner) updateCenterDots() {
	m, k := &l.center, l.Outputs
	if m.mean == nil || l.Storage != Sparse {
		return
	}
	clear(m.meanDot)
	for j, v := range m.mean {
		for c := range m.meanDot {
			m.meanDot[c] += l.scale * v * l.direct[j*k+c]
		}
	}
}

// subtract subtracts by·coef·μᵀ from weights in the order of direct.
func (l *Learner) subtract(weights, coef []float64, by float64) {
	if l.center.mean == nil || l.Storage != Sparse {
		return
	}
	k := l.Outputs
	for j, v := range l.center.mean {
		for c, a := range coef {
			weights[j*k+c] -= by * a * v
		}
	}
}

// uncenter converts intercepts at μ to intercepts at 0.
func (l *Learner) uncenter(weights, intercept []float64) {
	m, k := &l.center, l.Outputs
	if m.mean == nil {
		return
	}
	for c := range intercept {
		if l.Storage != Sparse {
			intercept[c] -= kern.Dot(weights[c*l.Cols:(c+1)*l.Cols], m.mean)
			continue
		}
		for j, v := range m.mean {
			intercept[c] -= v * weights[j*k+c]
		}
	}
}
