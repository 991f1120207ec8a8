package kern

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// rotations is an orthogonal matrix to whose neighboring rows sweeps of Givens rotations are
// applied. Several sweeps are applied together: their rotations of the same rows are accumulated in
// a small matrix, so that nearly all work is in products. (Lang, Using Level 3 BLAS in
// Rotation-Based Algorithms, SIAM J. Sci. Comput. 1998.)
type rotations struct {
	n       int
	rows    []float64 // n × n
	sweeps  []sweep   // pending
	factor  []float64 // the accumulated rotations
	product []float64 // factor times rows
}

// sweep rotates rows top and top+1, then rows top−1 and top, and so on.
type sweep struct {
	top       int
	rotations []rotation
}

// rotation replaces rows x and y by c·x − s·y and s·x + c·y.
type rotation struct{ c, s float64 }

// sweepsAtOnce is the number of sweeps applied together, and the number of rows that each advances
// per product.
const sweepsAtOnce = 64

// newRotations returns the identity.
func newRotations(n int) *rotations {
	wide := min(n, 2*sweepsAtOnce)
	t := &rotations{n: n, rows: make([]float64, n*n), factor: make([]float64, wide*wide), product: make([]float64, wide*n)}
	for i := range n {
		t.rows[i*n+i] = 1
	}
	return t
}

// begin starts a sweep.
func (t *rotations) begin(top int) { t.sweeps = append(t.sweeps, sweep{top: top}) }

// rotate adds a rotation to the last sweep.
func (t *rotations) rotate(c, s float64) {
	last := &t.sweeps[len(t.sweeps)-1]
	last.rotations = append(last.rotations, rotation{c, s})
}

// settle applies the pending sweeps. Each sweep follows the previous one at a distance of one row.
func (t *rotations) settle(ctx context.Context) error {
	top, bottom := 0, t.n
	for _, s := range t.sweeps {
		top, bottom = max(top, s.top), min(bottom, s.top+1-len(s.rotations))
	}
	for low := top + 1 - sweepsAtOnce; low+sweepsAtOnce+len(t.sweeps) > bottom; low -= sweepsAtOnce {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		t.pass(low)
	}
	t.sweeps = t.sweeps[:0]
	return ctxerr.Check(ctx)
}

// pass applies the rotations of rows [low+k, low+k+sweepsAtOnce) of sweep number k.
func (t *rotations) pass(low int) {
	first, last := max(low, 0), min(low+sweepsAtOnce+len(t.sweeps), t.n)
	width := last - first
	if width <= 0 {
		return
	}
	factor := Dense(width, width, width, t.factor)
	clear(t.factor[:width*width])
	for i := range width {
		factor.Set(i, i, 1)
	}
	moved := false
	for k, s := range t.sweeps {
		end := max(low+k, s.top+1-len(s.rotations))
		for i := min(low+k+sweepsAtOnce-1, s.top); i >= end; i-- {
			r := s.rotations[s.top-i]
			rotate(factor.Row(i-first), factor.Row(i+1-first), r.c, r.s)
			moved = true
		}
	}
	if !moved {
		return
	}
	rows := t.rows[first*t.n : last*t.n]
	Mul(Dense(width, t.n, t.n, t.product), factor, Dense(width, t.n, t.n, rows), false)
	copy(rows, t.product)
}

func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for k, v := range x {
		w := y[k]
		x[k] = c*v - s*w
		y[k] = s*v + c*w
	}
}

// row returns row i.
func (t *rotations) row(i int) []float64 { return t.rows[i*t.n : (i+1)*t.n] }

// implicitQL overwrites diagonal with the eigenvalues of a tridiagonal matrix, unordered, and
// overwrites offDiagonal. If t is not nil, its rows become the eigenvectors.
func implicitQL(ctx context.Context, diagonal, offDiagonal []float64, t *rotations) error {
	const epsilon, maxSteps = 0x1p-52, 100 // maximum steps per eigenvalue
	n := len(diagonal)
	// Off-diagonals below the rounding error of the largest entry count as 0. Otherwise a large
	// entry above small ones prevents convergence.
	tolerance := 0.0
	for i := range n {
		tolerance = max(tolerance, epsilon*math.Abs(diagonal[i]), epsilon*math.Abs(offDiagonal[i]))
	}
	for l := range n {
		for step := 0; ; step++ {
			m := l // no zero off-diagonals between l and m
			for m < n-1 {
				size := math.Abs(diagonal[m]) + math.Abs(diagonal[m+1])
				if math.Abs(offDiagonal[m]) <= max(epsilon*size, tolerance) {
					break
				}
				m++
			}
			if m == l {
				break
			}
			if step == maxSteps {
				return ErrNoConvergence
			}
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			stepQL(diagonal, offDiagonal, l, m, t)
			if t != nil && len(t.sweeps) == sweepsAtOnce {
				if err := t.settle(ctx); err != nil {
					return err
				}
			}
		}
	}
	if t == nil {
		return ctxerr.Check(ctx)
	}
	return t.settle(ctx)
}

// stepQL chases one shifted QL step through the block from l to m.
func stepQL(d, e []float64, l, m int, t *rotations) {
	// The shift is the eigenvalue of the first two rows that is nearer to the first entry.
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
	s, c, p := 1.0, 1.0, 0.0
	if t != nil {
		t.begin(m - 1)
	}
	for i := m - 1; i >= l; i-- {
		f, b := s*e[i], c*e[i]
		r := math.Hypot(f, g)
		e[i+1] = r
		if r == 0 { // the block falls into two
			d[i+1] -= p
			e[m] = 0
			return
		}
		s, c = f/r, g/r
		g = d[i+1] - p
		r = (d[i]-g)*s + 2*c*b
		p = s * r
		d[i+1] = g + p
		g = c*r - b
		if t != nil {
			t.rotate(c, s)
		}
	}
	d[l] -= p
	e[l] = g
	e[m] = 0
}
