package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// evidenceOf returns the evidence of rows with three inputs and two targets, and a reference from
// the covariance of the targets.
func evidenceOf(t *testing.T, centered bool) (*Moments, *evidence, func(noise []float64, amplitude []float64) float64) {
	t.Helper()
	const n, d = 30, 3
	rng := rand.New(rand.NewPCG(4, 4))
	x, y := mat.NewDense(n, d, nil), make([]float64, 2*n)
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.NormFloat64()+0.3)
		}
		y[2*i], y[2*i+1] = 2+x.At(i, 0)+0.3*rng.NormFloat64(), 5*x.At(i, 1)-x.At(i, 2)+rng.NormFloat64()
	}
	m := NewMoments(d, 2, centered)
	if err := m.Add(context.Background(), x, y, nil); err != nil {
		t.Fatal(err)
	}
	e := m.evidence()
	if err := e.tridiagonalize(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	return m, e, func(noise, amplitude []float64) (value float64) {
		for k := range noise {
			c := mat.NewSymDense(n, nil)
			for i := range n {
				for j := range i + 1 {
					v := amplitude[k] * mat.Dot(x.RowView(i), x.RowView(j))
					if i == j {
						v += noise[k]
					}
					c.SetSym(i, j, v)
				}
			}
			var f mat.Cholesky
			if !f.Factorize(c) {
				t.Fatal("not positive definite")
			}
			ones, target := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
			for i := range n {
				ones.SetVec(i, 1)
				target.SetVec(i, y[2*i+k])
			}
			var a, b mat.VecDense
			if err := f.SolveVecTo(&a, target); err != nil {
				t.Fatal(err)
			}
			rows, square := float64(n), mat.Dot(target, &a)
			value += f.LogDet() / 2
			if centered { // the flat prior integrates the intercept out
				if err := f.SolveVecTo(&b, ones); err != nil {
					t.Fatal(err)
				}
				s := mat.Dot(ones, &b)
				square -= mat.Dot(ones, &a) * mat.Dot(ones, &a) / s
				value += math.Log(s) / 2
				rows--
			}
			value += square/2 + rows*math.Log(2*math.Pi)/2
		}
		return -value
	}
}

// The evidence agrees with the n×n covariance. Its derivative agrees with finite differences and
// vanishes at the maximum, with any known variance.
func TestEvidenceOfVariances(t *testing.T) {
	ctx := context.Background()
	for _, centered := range []bool{true, false} {
		m, e, slow := evidenceOf(t, centered)
		for _, g := range []KnownVariances{{}, {Noise: 0.4}, {Amplitude: 3}, {Noise: 0.4, Amplitude: 3}} {
			v, fitted, _, err := m.MaximizeEvidence(ctx, g)
			if err != nil {
				t.Fatal(err)
			}
			if g.Noise > 0 && g.Amplitude > 0 { // not tridiagonalized
				a, _ := e.evaluate(v.Ratio)
				if want := -e.negLog(a, g); math.Abs(v.LogEvidence-want) > 1e-12*math.Abs(want) {
					t.Errorf("centred %v: log evidence %v, by the tridiagonal form %v", centered, v.LogEvidence, want)
				}
			}
			if want, _, err := m.Weights(ctx, v.Ratio); err != nil || !slices.Equal(want.Weights, fitted.Weights) {
				t.Errorf("centred %v, given %+v: weights %v, want %v", centered, g, fitted.Weights, want.Weights)
			}
			if want := slow(v.Noise, v.Amplitude); math.Abs(v.LogEvidence-want) > 1e-9*math.Abs(want) {
				t.Errorf("centred %v, given %+v: log evidence %v, want %v", centered, g, v.LogEvidence, want)
			}
			if g.Noise > 0 && v.Noise[1] != g.Noise || g.Amplitude > 0 && math.Abs(v.Amplitude[1]-g.Amplitude) > 1e-12 {
				t.Errorf("given %+v became %+v", g, v)
			}
			for _, ratio := range []float64{0.01, 0.7, 20} {
				value := func(u float64) float64 {
					a, ok := e.evaluate(math.Exp(u))
					if !ok {
						t.Fatal("not positive definite")
					}
					j, _ := e.negLogSlope(a, g)
					return j
				}
				a, _ := e.evaluate(ratio)
				_, slope := e.negLogSlope(a, g)
				const h = 1e-4
				u := math.Log(ratio)
				if want := (value(u+h) - value(u-h)) / (2 * h); math.Abs(slope-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("centred %v, given %+v, ratio %v: derivative %v, by differences %v", centered, g, ratio, slope, want)
				}
			}
			if g.Noise > 0 && g.Amplitude > 0 {
				continue
			}
			for _, factor := range []float64{0.9, 1.1} { // a local maximum
				noise, amplitude := append([]float64{}, v.Noise...), append([]float64{}, v.Amplitude...)
				for k := range noise {
					if g.Noise == 0 {
						noise[k] *= factor
					} else {
						amplitude[k] *= factor
					}
				}
				if slow(noise, amplitude) >= v.LogEvidence {
					t.Errorf("centred %v, given %+v: the evidence is not the greatest", centered, g)
				}
				for k := range noise { // along the common ratio
					noise[k], amplitude[k] = v.Noise[k]*factor, v.Amplitude[k]*factor
				}
				if g == (KnownVariances{}) && slow(noise, amplitude) >= v.LogEvidence {
					t.Errorf("centred %v: the evidence is not the greatest along the ratio", centered)
				}
			}
		}
	}
}
