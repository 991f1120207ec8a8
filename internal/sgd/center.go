package sgd

import "github.com/bochner-ml/bochner/internal/kern"

// centre moves the origin of the inputs to a point μ, the mean of the first rows, for the steps: the weights go
// along x−μ, and the intercept is that at μ. What is minimised stays as it is. Features that are all above 0, as
// those of wide kernels are, have most of their size in common, and steps would be as short as that asks for.
//
// The weights are scale·direct − along·μ', so that rows which are sparse change few of them; dense rows change
// all anyway, and there along stays 0.
type centre struct {
	at       []float64 // μ, nil for none
	size     float64   // ‖μ‖²
	along    []float64 // by output
	dot      []float64 // weights·μ by output, where the rows are sparse
	sumAlong []float64 // over the steps

	total, part []float64 // of the step: Σ steps, and Σ steps·(x·μ), by output
	rows        []float64 // x·μ
	shifted     []float64
}

// moved returns a centre there.
func (l *Learner) moved(at []float64) centre {
	k := l.Outputs
	room := make([]float64, 6*k)
	return centre{at: at, size: kern.Dot(at, at), along: room[:k], dot: room[k : 2*k], sumAlong: room[2*k : 3*k], total: room[3*k : 4*k], part: room[4*k : 5*k], shifted: room[5*k:]}
}

// stepScores returns the scores of rows on the way, and begins the sums of their steps.
func (l *Learner) stepScores(x Rows) []float64 {
	m := &l.centre
	if m.at == nil {
		return l.score(x, l.direct, l.scale, l.intercept)
	}
	clear(m.total)
	clear(m.part)
	if x.Form != Sparse {
		for c, b := range l.intercept {
			m.shifted[c] = b - l.scale*kern.Dot(l.direct[c*l.Cols:(c+1)*l.Cols], m.at)
		}
		return l.score(x, l.direct, l.scale, m.shifted)
	}
	for c, b := range l.intercept {
		m.shifted[c] = b - m.dot[c]
	}
	scores, k := l.score(x, l.direct, l.scale, m.shifted), l.Outputs
	m.rows = sized(m.rows, x.Len())
	kern.SparseMulVec(m.rows, x.Sparse, m.at, false)
	for i := range scores {
		scores[i] -= m.along[i%k] * m.rows[i/k]
	}
	return scores
}

// count adds the step of row i along output c to the sums.
func (m *centre) count(i, c int, step float64) {
	if m.at == nil {
		return
	}
	if m.total[c] += step; len(m.rows) > 0 {
		m.part[c] += step * m.rows[i]
	}
}

// moveOn takes the part of a step along μ, of sparse rows.
func (m *centre) moveOn() {
	if m.at == nil {
		return
	}
	for c, t := range m.total {
		m.along[c] += t
		m.dot[c] += m.part[c] - t*m.size
	}
}

// shrink multiplies the weights.
func (m *centre) shrink(by float64) {
	if m.at != nil {
		kern.Scale(by, m.along)
		kern.Scale(by, m.dot)
	}
}

// fold puts all of the weights of sparse rows into direct.
func (l *Learner) fold() {
	m, k := &l.centre, l.Outputs
	if m.at == nil || l.Form != Sparse {
		return
	}
	for c, a := range m.along {
		step := a / l.scale
		for j, v := range m.at {
			if l.direct[j*k+c] -= step * v; l.Average {
				l.sumRest[j*k+c] += l.sumScale * step * v
			}
		}
		m.along[c] = 0
	}
}

// project sets the products of sparse rows' weights with μ, which fold has made direct.
func (l *Learner) project() {
	m, k := &l.centre, l.Outputs
	if m.at == nil || l.Form != Sparse {
		return
	}
	clear(m.dot)
	for j, v := range m.at {
		for c := range m.dot {
			m.dot[c] += l.scale * v * l.direct[j*k+c]
		}
	}
}

// subtract takes along·μ' from weights in the order of direct.
func (l *Learner) subtract(weights, along []float64, by float64) {
	if l.centre.at == nil || l.Form != Sparse {
		return
	}
	k := l.Outputs
	for j, v := range l.centre.at {
		for c, a := range along {
			weights[j*k+c] -= by * a * v
		}
	}
}

// uncentre makes intercepts at μ those at 0.
func (l *Learner) uncentre(weights, intercept []float64) {
	m, k := &l.centre, l.Outputs
	if m.at == nil {
		return
	}
	for c := range intercept {
		if l.Form != Sparse {
			intercept[c] -= kern.Dot(weights[c*l.Cols:(c+1)*l.Cols], m.at)
			continue
		}
		for j, v := range m.at {
			intercept[c] -= v * weights[j*k+c]
		}
	}
}
