package pairwise

import (
	"math"
	"sync"

	"github.com/bochner-ml/bochner/internal/features/spectral"
)

// table is a piecewise polynomial approximation of a kernel as a function of the squared distance:
// each octave of distances is divided into equal parts, and on each a polynomial interpolates the
// exact values at the Chebyshev points. The function is analytic except at 0, so each term reduces
// the error by at least a digit; it is below 1e-11.
type table struct {
	exact func(s float64) float64
	nu    float64               // of a Matérn function
	least int                   // binary exponent of the first octave
	parts [][tableTerms]float64 // coefficients of powers of the place in the part, from −1 to 1

	once   sync.Once
	slopes *table // of smoothness |ν − 1|
}

const (
	partBits   = 2 // mantissa bits of a squared distance that select the interval
	tableParts = 1 << partBits
	tableTerms = 11
	tableLeast = 1e-11 // z = sqrt(2νs) below which the exact function is not smooth, but rounded to 1
)

// tables caches the tables by tableKey.
var tables sync.Map

type tableKey struct {
	shape     shape
	parameter float64
}

// tableOf returns the table of the Matérn function of smoothness nu.
func tableOf(nu float64) *table {
	t := &table{nu: nu, exact: func(s float64) float64 { return spectral.Matern(nu, math.Sqrt(s), 1.0/8) }}
	return t.made(tableKey{maternTable, nu}, math.Ilogb(tableLeast*tableLeast/(2*nu))+1)
}

// poweredTable returns the table of exp(−s^half).
func poweredTable(half float64) *table {
	t := &table{exact: func(s float64) float64 { return math.Exp(-math.Pow(s, half)) }}
	return t.made(tableKey{poweredExponential, half}, -1022)
}

// made returns the table with its polynomials from octave first on, or from where the value is less than 1.
func (t *table) made(key tableKey, first int) *table {
	if t, ok := tables.Load(key); ok {
		return t.(*table)
	}
	for t.least = min(0, first); t.least > first && t.exact(math.Ldexp(1, t.least)) < 1; {
		t.least--
	}
	fit := chebyshev()
	for e := t.least; t.exact(math.Ldexp(1, e)) > 0; e++ {
		for p := range tableParts {
			lo, half := math.Ldexp(1+float64(p)/tableParts, e), math.Ldexp(0.5/tableParts, e)
			t.parts = append(t.parts, fit.of(func(x float64) float64 { return t.exact(lo + half*(1+x)) }))
		}
	}
	got, _ := tables.LoadOrStore(key, t)
	return got.(*table)
}

// value returns the kernel at squared distance s.
func (t *table) value(s float64) float64 {
	if !(s > 0) {
		return 1
	}
	bits := math.Float64bits(s)
	octave := int(bits>>52) - 1023 - t.least
	part := octave*tableParts + int(bits>>(52-partBits)&(tableParts-1))
	switch {
	case octave < 0:
		return t.exact(s)
	case part >= len(t.parts):
		return 0
	}
	// The lower bits are the position within the part, from 0 to 1.
	x := 2*math.Float64frombits(bits<<partBits&(1<<52-1)|1023<<52) - 3
	c := &t.parts[part]
	sum := c[tableTerms-1]
	for i := tableTerms - 2; i >= 0; i-- {
		sum = sum*x + c[i]
	}
	return sum
}

// slope returns the derivative of the kernel at squared distance s, 0 if it has none. With z =
// sqrt(2νs) and c the constant of the Matérn function c·z^ν·K_ν(z), it is −cν·z^(ν−1)·K_(ν−1)(z),
// and K_(−μ) = K_μ.
func (t *table) slope(s float64) float64 {
	const nearest = 1e-9 // replaces 0, where the Matérn function is not defined
	mu := max(math.Abs(t.nu-1), nearest)
	if t.nu > 1 {
		return -t.nu / (2 * mu) * t.other(mu).value(s*t.nu/mu)
	}
	if s <= 0 {
		return 0
	}
	z := math.Sqrt(2 * t.nu * s)
	return -t.nu * math.Exp(logConstant(t.nu)-logConstant(mu)) * math.Pow(z, 2*t.nu-2) * t.other(mu).value(z*z/(2*mu))
}

// other returns the table that derivatives are found in.
func (t *table) other(mu float64) *table {
	t.once.Do(func() { t.slopes = tableOf(mu) })
	return t.slopes
}

// logConstant returns log(2^(1−ν)/Γ(ν)).
func logConstant(nu float64) float64 {
	gamma, _ := math.Lgamma(nu)
	return (1-nu)*math.Ln2 - gamma
}

// interpolation contains the Chebyshev points and the matrix that maps values there to polynomial
// coefficients.
type interpolation struct {
	points [tableTerms]float64
	matrix [tableTerms][tableTerms]float64
}

// chebyshev returns the interpolation on [−1, 1].
func chebyshev() *interpolation {
	const n = tableTerms
	p := &interpolation{}
	for k := range n {
		p.points[k] = math.Cos(math.Pi * (float64(k) + 0.5) / n)
	}
	// before and last are the coefficients of the polynomials T_(j−1) and T_j.
	var before, last [n]float64
	last[0] = 1
	for j := range n {
		weight := 2.0 / n
		if j == 0 {
			weight = 1.0 / n
		}
		for k := range n {
			value := weight * math.Cos(float64(j)*math.Pi*(float64(k)+0.5)/n)
			for i, c := range last {
				p.matrix[i][k] += c * value
			}
		}
		var next [n]float64
		for i := range n - 1 {
			next[i+1] = 2 * last[i]
			if j == 0 {
				next[i+1] = last[i]
			}
		}
		for i := range n {
			next[i] -= before[i]
		}
		before, last = last, next
	}
	return p
}

// of returns the coefficients of the polynomial through f.
func (p *interpolation) of(f func(x float64) float64) (out [tableTerms]float64) {
	for k, x := range p.points {
		v := f(x)
		for i := range out {
			out[i] += p.matrix[i][k] * v
		}
	}
	return out
}
