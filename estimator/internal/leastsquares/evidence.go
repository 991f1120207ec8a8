package leastsquares

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// evidence is the marginal likelihood of the targets for weights w ~ N(0, amplitude·I), a flat
// prior of the intercept, and Gaussian noise. A row of weight s counts as s rows. Let ρ =
// noise/amplitude, A = X̃ᵀSX̃ + ρI, D the number of columns, and N = Σs, minus 1 with an intercept.
// r(ρ) = ỹᵀSỹ − ỹᵀSX̃A⁻¹X̃ᵀSỹ is the penalized residual sum of squares. The negative logarithm,
// summed over targets, is
//
//	J = Σ ½·[r/noise + N·log(2π·noise) + log|A| − D·log ρ (+ log Σs with an intercept)]
//
// To optimize ρ, X̃ᵀSX̃ is tridiagonalized once (4D³/3 flops); each evaluation then costs O(D).
type evidence struct {
	cols, targets  int
	rows           float64 // N
	intercept      float64 // log Σs, 0 without an intercept
	form           *kern.Tridiagonal
	right          [][]float64 // QᵀX̃ᵀSỹ of each target
	sumSquares     []float64   // total sum of squares ỹᵀSỹ
	logMin, logMax float64     // search interval of log ρ
}

// MaximizeEvidence returns the noise and amplitude that maximize the evidence, with known variances
// fixed, and the results of [Moments.Weights] for their ratio. If both are known, it computes the
// evidence from weights and factor without tridiagonalization.
func (m *Moments) MaximizeEvidence(ctx context.Context, g KnownVariances) (Variances, solve.Linear, *Factor, error) {
	e := m.evidence()
	v, err := Variances{Ratio: g.Noise / g.Amplitude}, e.validate()
	looks := g.Noise == 0 || g.Amplitude == 0
	if err == nil && looks {
		if err = e.tridiagonalize(ctx, m); err == nil {
			v, err = e.maximize(ctx, g)
		}
	}
	if err != nil {
		return Variances{}, solve.Linear{}, nil, err
	}
	fitted, f, err := m.Weights(ctx, v.Ratio)
	if err != nil {
		noise, amplitude := g.Noise, g.Amplitude
		if looks {
			noise, amplitude = v.Noise[0], v.Amplitude[0]
		}
		return Variances{}, solve.Linear{}, nil, cmp.Or(ctxerr.Check(ctx),
			fmt.Errorf("noise %v is too small relative to amplitude %v", noise, amplitude))
	}
	if !looks {
		v = e.variances(e.fromSolution(m, v.Ratio, fitted, f), g)
	}
	if v.LogEvidence-v.LogEvidence != 0 {
		return Variances{}, solve.Linear{}, nil, errNotFinite
	}
	return v, fitted, f, nil
}

// evidence returns the evidence of the added rows, not yet tridiagonalized.
func (m *Moments) evidence() *evidence {
	e := &evidence{cols: m.Cols, targets: m.targets, rows: m.Weight, sumSquares: m.sumSquares()}
	if m.centered {
		e.rows, e.intercept = m.Weight-1, math.Log(m.Weight)
	}
	return e
}

// validate returns an error if the rows cannot determine the noise.
func (e *evidence) validate() error {
	if !kern.AllFinite([]float64{e.rows, e.intercept}) {
		return errNotFinite
	}
	if e.rows <= 0 {
		return errors.New("the total weight of the rows is too small to learn the noise")
	}
	return nil
}

// tridiagonalize computes the tridiagonal form.
func (e *evidence) tridiagonalize(ctx context.Context, m *Moments) error {
	gram := make([]float64, m.Cols*m.Cols)
	m.system(gram, m.Cols, 0)
	trace, largest := 0.0, 0.0
	for i := range m.Cols {
		trace += gram[i*m.Cols+i]
		largest = max(largest, gram[i*m.Cols+i])
	}
	if trace == 0 {
		trace, largest = 1, 1
	}
	e.logMin, e.logMax = math.Log(64*epsilon*float64(m.Cols)*largest), math.Log(1e4*trace)
	if !(largest > 0) || !kern.AllFinite([]float64{e.logMin, e.logMax}) {
		return errNotFinite
	}
	right := m.rightSide()
	clearConstant(m.constantColumns(m.Cols), right, m.targets)
	var err error
	if e.form, err = kern.NewTridiagonal(ctx, kern.Dense(m.Cols, m.Cols, m.Cols, gram)); err != nil {
		return err
	}
	for t := range m.targets {
		b := make([]float64, m.Cols)
		for i := range b {
			b[i] = right[i*m.targets+t]
		}
		e.form.ApplyQ(b)
		e.right = append(e.right, b)
	}
	return nil
}

// fromSolution returns the terms of J, without slopes, from the weights for a ratio.
func (e *evidence) fromSolution(m *Moments, ratio float64, fitted solve.Linear, f *Factor) evidencePoint {
	a := evidencePoint{ratio: ratio, logDet: f.logDeterminant() - float64(e.cols)*math.Log(ratio),
		rss: slices.Clone(e.sumSquares)}
	for i, v := range m.rightSide() {
		a.rss[i%e.targets] -= v * fitted.Weights[i]
	}
	for t, spread := range e.sumSquares {
		a.rss[t] = max(a.rss[t], spread*epsilon)
	}
	return a
}

var errNotFinite = errors.New("the evidence is not finite; scale inputs and targets")

// ConstantTarget returns the index of a constant target, -1 if there is none.
func (m *Moments) ConstantTarget() int {
	for t, spread := range m.sumSquares() {
		mean := m.targetShift[t] + m.targetSum[t]/m.Weight
		if spread <= 64*epsilon*epsilon*mean*mean*m.Weight {
			return t
		}
	}
	return -1
}

// Variance returns the mean variance of the targets, about 0 without an intercept.
func (m *Moments) Variance() float64 { return m.totalSumSquares() / m.Weight / float64(m.targets) }

// evidencePoint holds the terms of J for one ρ.
type evidencePoint struct {
	ratio     float64
	logDet    float64   // log|A| − D·log ρ
	dof       float64   // D − ρ·tr A⁻¹, the effective degrees of freedom
	rss       []float64 // r of each target
	rssSlopes []float64 // dr/dlog ρ
}

// evaluate returns the terms for a ratio. ok is false if A is not positive definite to working
// precision.
func (e *evidence) evaluate(ratio float64) (a evidencePoint, ok bool) {
	a = evidencePoint{ratio: ratio, rss: make([]float64, e.targets), rssSlopes: make([]float64, e.targets)}
	diagonal, offDiagonal := e.form.Diagonal, e.form.OffDiagonal
	pivots, x := make([]float64, e.cols), make([]float64, e.cols)
	trace, slope := 0.0, 1.0 // tr A⁻¹, and the derivative of a pivot by ρ
	for i := range pivots {
		pivots[i] = diagonal[i] + ratio
		if i > 0 {
			l := offDiagonal[i-1] / pivots[i-1]
			pivots[i] -= l * offDiagonal[i-1]
			slope = 1 + l*l*slope
		}
		if !(pivots[i] > 0) {
			return a, false
		}
		a.logDet += math.Log(pivots[i] / ratio)
		trace += slope / pivots[i]
	}
	a.dof = float64(e.cols) - ratio*trace
	for t, c := range e.right {
		explained := 0.0
		for i, v := range c {
			if i > 0 {
				v -= offDiagonal[i-1] / pivots[i-1] * x[i-1]
			}
			x[i] = v
			explained += v * v / pivots[i]
		}
		a.rss[t] = max(e.sumSquares[t]-explained, e.sumSquares[t]*epsilon)
		for i := e.cols - 1; i >= 0; i-- {
			x[i] /= pivots[i]
			if i+1 < e.cols {
				x[i] -= offDiagonal[i] / pivots[i] * x[i+1]
			}
		}
		a.rssSlopes[t] = ratio * kern.Dot(x, x)
	}
	return a, true
}

// Variances are the noise and amplitude of each target, with a common ratio.
type Variances struct {
	Ratio                      float64
	Noise, Amplitude           []float64
	LogEvidence                float64 // logarithm of the evidence
	AtLowerBound, AtUpperBound bool    // whether the ratio is at an end of the search interval
}

// KnownVariances are fixed variances, common to all targets; 0 means unknown. If both are unknown,
// each target has its own noise and amplitude with a common ratio.
type KnownVariances struct{ Noise, Amplitude float64 }

// noises returns the noise of each target for a ratio.
func (e *evidence) noises(a evidencePoint, g KnownVariances) []float64 {
	out := make([]float64, e.targets)
	for t := range out {
		switch {
		case g.Noise > 0:
			out[t] = g.Noise
		case g.Amplitude > 0:
			out[t] = g.Amplitude * a.ratio
		default:
			out[t] = a.rss[t] / e.rows
		}
	}
	return out
}

// negLog returns J.
func (e *evidence) negLog(a evidencePoint, g KnownVariances) (value float64) {
	for t, noise := range e.noises(a, g) {
		value += (a.rss[t]/noise + e.rows*math.Log(2*math.Pi*noise) + a.logDet + e.intercept) / 2
	}
	return value
}

// negLogSlope returns J and its derivative by log ρ.
func (e *evidence) negLogSlope(a evidencePoint, g KnownVariances) (value, slope float64) {
	for t, noise := range e.noises(a, g) {
		r, dr := a.rss[t], a.rssSlopes[t]
		slope += (dr/noise - a.dof) / 2
		if g.Amplitude > 0 && g.Noise == 0 { // noise is proportional to ρ
			slope += (e.rows - r/noise) / 2
		}
	}
	return e.negLog(a, g), slope
}

// maximize returns the variances of maximum evidence. At least one must be unknown.
func (e *evidence) maximize(ctx context.Context, g KnownVariances) (Variances, error) {
	const step = 0.5
	best, smallest := e.logMin, math.Inf(1)
	for u := e.logMin; u <= e.logMax; u += step {
		if err := ctxerr.Check(ctx); err != nil {
			return Variances{}, err
		}
		if a, ok := e.evaluate(math.Exp(u)); ok {
			if value := e.negLog(a, g); value < smallest {
				best, smallest = u, value
			}
		}
	}
	if math.IsInf(smallest, 1) {
		return Variances{}, errNotFinite
	}
	a, err := e.bisect(ctx, max(best-step, e.logMin), min(best+step, e.logMax), g)
	if err != nil {
		return Variances{}, err
	}
	out := e.variances(a, g)
	const end = 1e-6
	out.AtLowerBound, out.AtUpperBound = math.Log(a.ratio) < e.logMin+end, math.Log(a.ratio) > e.logMax-end
	return out, nil
}

// bisect returns a root of dJ/dlog ρ between two logarithms.
func (e *evidence) bisect(ctx context.Context, low, high float64, g KnownVariances) (evidencePoint, error) {
	falls := func(u float64) bool {
		a, ok := e.evaluate(math.Exp(u))
		if !ok {
			return true
		}
		_, slope := e.negLogSlope(a, g)
		return slope < 0
	}
	for high-low > 1e-13*max(1, math.Abs(low)) {
		if err := ctxerr.Check(ctx); err != nil {
			return evidencePoint{}, err
		}
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break
		}
		if falls(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	a, ok := e.evaluate(math.Exp(high))
	if !ok {
		return evidencePoint{}, errNotFinite
	}
	return a, nil
}

func (e *evidence) variances(a evidencePoint, g KnownVariances) Variances {
	out := Variances{Ratio: a.ratio, Noise: e.noises(a, g), LogEvidence: -e.negLog(a, g)}
	for _, noise := range out.Noise {
		out.Amplitude = append(out.Amplitude, noise/a.ratio)
	}
	return out
}
