package sgd

import "github.com/bochner-ml/bochner/internal/kern"

// center moves the origin of the inputs to a point μ, the mean of the first rows, for the steps: the weights go
// along x−μ, and the intercept is that at μ. What is minimised stays as it is. Features that are all above 0, as
// those of wide kernels are, have most of their size in common, and steps would be as short as that asks for.
//
// The weights are scale·direct − along·μ', so that rows which are sparse change few of them; dense rows change
// all anyway, and there along stays 0.
type center struct {
	mean        []float64 // μ, nil for none
	meanNormSq  float64   // ‖μ‖²
	meanCoef    []float64 // by output
	meanDot     []float64 // weights·μ by output, where the rows are sparse
	sumMeanCoef []float64 // over the steps

	total, part []float64 // of the step: Σ steps, and Σ steps·(x·μ), by output
	rows        []float64 // x·μ
	shifted     []float64
}

// newCenter returns a centre there.
func (l *Learner) newCenter(at []float64) center {
	k := l.Outputs
	room := make([]float64, 6*k)
	return center{mean: at, meanNormSq: kern.Dot(at, at), meanCoef: room[:k], meanDot: room[k : 2*k], sumMeanCoef: room[2*k : 3*k], total: room[3*k : 4*k], part: room[4*k : 5*k], shifted: room[5*k:]}
}

// stepScores returns the scores of rows on the way, and begins the sums of their steps.
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

// countStep adds the step of row i along output c to the sums.
func (m *center) countStep(i, c int, step float64) {
	if m.mean == nil {
		return
	}
	if m.total[c] += step; len(m.rows) > 0 {
		m.part[c] += step * m.rows[i]
	}
}

// applyStep takes the part of a step along μ, of sparse rows.
func (m *center) applyStep() {
	if m.mean == nil {
		return
	}
	for c, t := range m.total {
		m.meanCoef[c] += t
		m.meanDot[c] += m.part[c] - t*m.meanNormSq
	}
}

// shrink multiplies the weights.
func (m *center) shrink(by float64) {
	if m.mean != nil {
		kern.Scale(by, m.meanCoef)
		kern.Scale(by, m.meanDot)
	}
}

// foldCenter puts all of the weights of sparse rows into direct.
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

// updateCenterDots sets the products of sparse rows' weights with μ, which fold has made direct.
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

// subtract takes along·μ' from weights in the order of direct.
func (l *Learner) subtract(weights, along []float64, by float64) {
	if l.center.mean == nil || l.Storage != Sparse {
		return
	}
	k := l.Outputs
	for j, v := range l.center.mean {
		for c, a := range along {
			weights[j*k+c] -= by * a * v
		}
	}
}

// uncenter makes intercepts at μ those at 0.
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
