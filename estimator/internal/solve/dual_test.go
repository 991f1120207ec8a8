package solve

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// messy returns a small problem of any loss with duplicate and zero rows, ties, zero weights, a
// single class, targets far from 0, and C from 1e-5 to 1e3.
func messy(seed int) (p *Dual, name string) {
	p, _, name = messyOfC(seed)
	return p, name
}

func messyOfC(seed int) (p *Dual, C float64, name string) {
	rng := rand.New(rand.NewPCG(uint64(seed), 77))
	n, d := 2+rng.IntN(39), 1+rng.IntN(6)
	kind, intercept := seed%5, seed/5%3 > 0
	regression, squared, logistic := kind == 2 || kind == 3, kind == 1 || kind == 3, kind == 4
	p = &Dual{Intercept: intercept, Logistic: logistic}
	if regression {
		p.Epsilon = []float64{0, 0.1, 1, 50}[rng.IntN(4)]
	}
	rows := make(table, n)
	C = math.Pow(10, 8*rng.Float64()-5)
	far, one := 10*rng.NormFloat64(), rng.IntN(10) == 0
	for i := range rows {
		rows[i] = make([]float64, d)
		y := 0.0
		for j := range d {
			rows[i][j] = rng.NormFloat64() + float64(j)
			y += rows[i][j]
		}
		y += rng.NormFloat64()
		switch rng.IntN(8) {
		case 0:
			copy(rows[i], rows[rng.IntN(i+1)])
		case 1:
			clear(rows[i])
		}
		s := []float64{0, 1, 1, 1, 2, 0.3}[rng.IntN(6)] * C
		low, high, target, diagonal := -s, s, math.Round(4*y)/4+far, 0.0
		if !regression {
			target, low = 1, 0
			if y < float64(d*(d-1)/2) && !one {
				target, low, high = -1, -s, 0
			}
		}
		if squared && s > 0 {
			low, high, diagonal = math.Inf(1)*low, math.Inf(1)*high, 1/(2*s)
			if low != low {
				low = 0
			}
			if high != high {
				high = 0
			}
		}
		p.Low, p.High, p.Target = append(p.Low, low), append(p.High, high), append(p.Target, target)
		p.Diagonal = append(p.Diagonal, diagonal)
	}
	p.Rows = rows
	return p, C, fmt.Sprintf("seed %d: %d×%d of loss %d, intercept %v, C %.2g", seed, n, d, kind, intercept, C)
}

// plainLoss is L_i(z) by definition.
func (p *Dual) plainLoss(i int, z float64) float64 {
	bound := p.High[i]
	if z > p.Target[i] {
		bound = -p.Low[i]
	}
	if p.Logistic {
		return (p.High[i] - p.Low[i]) * math.Log1p(math.Exp(-p.Target[i]*z))
	}
	over := math.Abs(p.Target[i]-z) - p.Epsilon
	switch {
	case over <= 0 || bound == 0:
		return 0
	case p.Diagonal != nil && p.Diagonal[i] > 0:
		return over * over / (2 * p.Diagonal[i])
	}
	return bound * over
}

func (p *Dual) plainObjective(w []float64, b float64) float64 {
	sum := 0.0
	for _, v := range w {
		sum += v * v / 2
	}
	for i := range p.Low {
		sum += p.plainLoss(i, p.Rows.Dot(i, w)+b)
	}
	return sum
}

// searchIntercept minimizes over b by golden section.
func (p *Dual) searchIntercept(w []float64) (value, b float64) {
	if !p.Intercept {
		return p.plainObjective(w, 0), 0
	}
	low, high := -2000.0, 2000.0
	const golden = 0.6180339887498949
	for range 140 {
		m1, m2 := high-golden*(high-low), low+golden*(high-low)
		if p.plainObjective(w, m1) <= p.plainObjective(w, m2) {
			high = m2
		} else {
			low = m1
		}
	}
	b = (low + high) / 2
	return p.plainObjective(w, b), b
}

// plainDual is the dual objective at β by definition, except for the logistic loss.
func (p *Dual) plainDual(beta []float64) float64 {
	w, sum := make([]float64, p.Rows.Width()), 0.0
	for i, v := range beta {
		p.Rows.Add(i, v, w)
		sum += p.Target[i]*v - p.Epsilon*math.Abs(v) - p.Diagonal[i]*v*v/2
	}
	for _, v := range w {
		sum -= v * v / 2
	}
	return sum
}

// accelerated solves the dual by Nesterov's method with projection by bisection, independently of
// Solve.
func (p *Dual) accelerated(steps int) (objective, dual float64) {
	n := len(p.Low)
	curve := 0.0
	for i := range n {
		curve = max(curve, p.Diagonal[i])
	}
	for i := range n {
		curve += p.Rows.Square(i)
	}
	beta, at, last := make([]float64, n), make([]float64, n), make([]float64, n)
	w := make([]float64, p.Rows.Width())
	project := func(b float64) (sum float64) {
		for i := range n {
			free := at[i] - b/curve
			tube := p.Epsilon / curve
			free = max(free-tube, min(free+tube, 0))
			beta[i] = min(max(free, p.Low[i]), p.High[i])
			sum += beta[i]
		}
		return sum
	}
	t := 1.0
	for range steps {
		clear(w)
		for i, v := range at {
			p.Rows.Add(i, v, w)
		}
		for i := range at {
			at[i] -= (p.Rows.Dot(i, w) - p.Target[i] + p.Diagonal[i]*at[i]) / curve
		}
		copy(last, beta)
		if !p.Intercept {
			project(0)
		} else {
			low, high := -1e6, 1e6
			for range 60 {
				if mid := (low + high) / 2; project(mid) > 0 {
					low = mid
				} else {
					high = mid
				}
			}
		}
		uphill := 0.0
		for i := range at {
			uphill += (at[i] - beta[i]) * (beta[i] - last[i])
		}
		next := (1 + math.Sqrt(1+4*t*t)) / 2
		if uphill > 0 {
			t, next = 1, 1 // start again
		}
		for i := range at {
			at[i] = beta[i] + (t-1)/next*(beta[i]-last[i])
		}
		t = next
	}
	clear(w)
	for i, v := range beta {
		p.Rows.Add(i, v, w)
	}
	objective, _ = p.searchIntercept(w)
	return objective, p.plainDual(beta)
}

// nothingBetter fails if a perturbation of the solution lowers the objective.
func (p *Dual) nothingBetter(t *testing.T, name string, r DualResult) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	w := make([]float64, len(r.W))
	for range 1000 {
		size := math.Pow(10, 1-6*rng.Float64())
		for j := range w {
			w[j] = r.W[j] + size*rng.NormFloat64()
		}
		b := r.B
		if p.Intercept {
			b += size * rng.NormFloat64()
		}
		if v := p.plainObjective(w, b); v < r.Objective*(1-2e-7)-1e-12 {
			t.Fatalf("%s: %.12g is not the optimum, there is %.12g", name, r.Objective, v)
		}
	}
}

// Small problems of every loss agree with the definitions and an independent solver.
func TestDualMatchesReferenceSolver(t *testing.T) {
	close := 0
	for seed := range 200 {
		p, name := messy(seed)
		r, err := p.Solve(context.Background(), 1e-7, 200_000)
		if err != nil || !r.Converged {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		at, small := p.plainObjective(r.W, r.B), 1e-9*(1+r.Trivial)
		if math.Abs(at-r.Objective) > 1e-9*at+1e-12 {
			t.Errorf("%s: objective %.12g reported, is %.12g", name, r.Objective, at)
		}
		if least, b := p.searchIntercept(r.W); r.Objective > least*(1+1e-9)+1e-12 {
			t.Errorf("%s: intercept %v has %.12g, %v has %.12g", name, r.B, r.Objective, b, least)
		}
		if trivial, _ := p.searchIntercept(make([]float64, p.Rows.Width())); r.Trivial > trivial*(1+1e-9)+1e-12 ||
			r.Objective > r.Trivial {
			t.Errorf("%s: objective %v, of w = 0 %v, reported %v", name, r.Objective, trivial, r.Trivial)
		}
		if p.Logistic {
			p.nothingBetter(t, name, r)
			continue
		}
		feasible(t, p, r)
		objective, dual := p.accelerated(1000)
		if r.Objective > objective*(1+1e-7)+small || r.Objective < dual*(1-1e-7)-small {
			t.Errorf("%s: %.12g, another solver ends between %.12g and %.12g", name, r.Objective, dual, objective)
		}
		if objective-dual <= 1e-4*objective+small {
			close++
		}
	}
	if close < 100 {
		t.Errorf("the other solver came close to %d optima only", close)
	}
}

// Warm starts reach the same optimum. More passes never increase the objective, which never exceeds
// that of w = 0.
func TestDualFromAnotherC(t *testing.T) {
	for seed := range 60 {
		p, C, name := messyOfC(seed)
		from, err := p.Solve(context.Background(), 1e-6, 200_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, factor := range []float64{1e-4, 0.1, 10, 1e4} {
			if factor*C > 1e3 {
				break
			}
			q := *p
			q.Low, q.High, q.Diagonal = slices.Clone(p.Low), slices.Clone(p.High), slices.Clone(p.Diagonal)
			for i := range q.Low {
				q.Low[i], q.High[i], q.Diagonal[i] = factor*q.Low[i], factor*q.High[i], q.Diagonal[i]/factor
			}
			alone, err := q.Solve(context.Background(), 1e-6, 200_000)
			if err != nil {
				t.Fatal(err)
			}
			q.WarmStart = &from
			path, err := q.Solve(context.Background(), 1e-6, 200_000)
			if err != nil || math.Abs(path.Objective-alone.Objective) > 2e-6*alone.Objective+1e-12 ||
				path.Converged != alone.Converged {
				t.Errorf("%s, times %v: %v alone, %v from another C; %v", name, factor, alone.Objective, path.Objective, err)
			}
			last := path.Trivial
			for passes := range 12 {
				r, err := q.Solve(context.Background(), 1e-12, passes)
				if err != nil || r.Objective > last || r.Epochs > passes {
					t.Errorf("%s, times %v: %v after %d passes, %v before; %v", name, factor, r.Objective, passes, last, err)
				}
				if r.Converged != (r.Gap <= 1e-12) {
					t.Errorf("%s: converged %v with a gap of %v", name, r.Converged, r.Gap)
				}
			}
		}
	}
}

func TestBestIntercept(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 2))
	for k := range 300 {
		p, name := messy(k)
		p.Intercept = true
		scores := make([]float64, len(p.Low))
		for i := range scores {
			scores[i] = math.Round(3*rng.NormFloat64()) / 2 // ties
		}
		if k%4 == 0 && !p.Logistic { // both bounds and curvature
			for i := range p.Low {
				p.Low[i], p.High[i], p.Diagonal[i] = max(p.Low[i], -2), min(p.High[i], 3), 0.5
			}
		}
		b := p.bestIntercept(scores)
		at := p.losses(scores, b)
		for range 400 {
			other := b + math.Pow(10, 4-8*rng.Float64())*rng.NormFloat64()
			if v := p.losses(scores, other); v < at*(1-1e-12)-1e-13 {
				t.Fatalf("%s: %.14g at %v, %.14g at %v", name, at, b, v, other)
			}
		}
	}
	many := &Dual{Intercept: true}
	for i := range 1000 {
		many.Target = append(many.Target, float64(i*7919%1000))
		many.Low, many.High = append(many.Low, -1), append(many.High, 1)
	}
	if value, b := many.Trivial(); b != 499.5 || value != 250_000 {
		t.Errorf("median of 0 to 999: %v, sum of distances %v", b, value)
	}
	for i := range many.Low {
		many.Low[i], many.High[i] = math.Inf(-1), math.Inf(1)
	}
	many.Diagonal = slices.Repeat([]float64{0.5}, 1000)
	if _, b := many.Trivial(); math.Abs(b-499.5) > 1e-9 {
		t.Errorf("mean of 0 to 999: %v", b)
	}
}

// Overflow is an error.
func TestDualNonFinite(t *testing.T) {
	p, _ := messy(0)
	for i := range p.Low {
		if p.Low[i] < 0 {
			p.Low[i] = -math.MaxFloat64
		}
		if p.High[i] > 0 {
			p.High[i] = math.MaxFloat64
		}
	}
	if r, err := p.Solve(context.Background(), 1e-3, 100); err != ErrNotFinite {
		t.Errorf("%+v, %v", r, err)
	}
}

// If steps overflow near the largest numbers, the best point found is returned as not converged.
func TestDualNearTheLargestNumbers(t *testing.T) {
	p, _ := messy(0)
	for i := range p.Low {
		p.Low[i], p.High[i] = max(1e308*p.Low[i], -math.MaxFloat64), min(1e308*p.High[i], math.MaxFloat64)
	}
	r, err := p.Solve(context.Background(), 1e-3, 100)
	if err != nil || r.Objective-r.Objective != 0 || r.Objective > r.Trivial || r.Converged != (r.Gap <= 1e-3) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, v := range r.W {
		if v-v != 0 {
			t.Errorf("the weights are %v", r.W)
		}
	}
}
