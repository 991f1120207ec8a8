package kern

import (
	"context"
	"math"
)

// turned is an orthogonal matrix to which plane rotations of neighbouring rows
// are applied, many together: each strip of columns, which stays in the cache,
// goes through all of them.
type turned struct {
	n       int
	strips  []float64 // strip after strip, each n × turnedStrip
	pending []rotation
	most    int // of pending, so many that they are worth a look at the context
}

// rotation replaces rows at and at+1 by c·x − s·y and s·x + c·y.
type rotation struct {
	at   int
	c, s float64
}

// turnedStrip is the number of columns of a strip.
const turnedStrip = 32

// newTurned returns the unit matrix.
func newTurned(n int) *turned {
	strips := (n + turnedStrip - 1) / turnedStrip
	t := &turned{n: n, strips: make([]float64, strips*n*turnedStrip), most: max(n, 1<<25/max(n, 1))}
	for i := range n {
		t.strips[t.at(i/turnedStrip, i)+i%turnedStrip] = 1
	}
	return t
}

// at returns where row i of a strip begins.
func (t *turned) at(strip, i int) int { return (strip*t.n + i) * turnedStrip }

// turn adds a rotation.
func (t *turned) turn(at int, c, s float64) {
	t.pending = append(t.pending, rotation{at, c, s})
}

// settle applies the rotations that are pending.
func (t *turned) settle(ctx context.Context) error {
	Parallel(len(t.strips)/max(1, t.n*turnedStrip), 1, func(lo, hi int) {
		for strip := lo; strip < hi && ctx.Err() == nil; strip++ {
			for _, r := range t.pending {
				at := t.at(strip, r.at)
				rotate((*[turnedStrip]float64)(t.strips[at:]), (*[turnedStrip]float64)(t.strips[at+turnedStrip:]), r.c, r.s)
			}
		}
	})
	t.pending = t.pending[:0]
	return ctx.Err()
}

func rotate(x, y *[turnedStrip]float64, c, s float64) {
	for k, v := range x {
		w := y[k]
		x[k] = c*v - s*w
		y[k] = s*v + c*w
	}
}

// row writes row i to dst.
func (t *turned) row(dst []float64, i int) {
	for lo := 0; lo < t.n; lo += turnedStrip {
		at := t.at(lo/turnedStrip, i)
		copy(dst[lo:], t.strips[at:at+turnedStrip])
	}
}

// implicitQL overwrites diagonal with the eigenvalues of a tridiagonal matrix,
// in no order, and turns t, where it is not nil, so that its rows become the
// eigenvectors. beside is used up.
func implicitQL(ctx context.Context, diagonal, beside []float64, t *turned) error {
	const epsilon, most = 0x1p-52, 100 // most steps for one eigenvalue
	n := len(diagonal)
	// What is below the rounding of the largest entry counts as 0. Without this end a large
	// entry above small ones keeps them from settling.
	least := 0.0
	for i := range n {
		least = max(least, epsilon*math.Abs(diagonal[i]), epsilon*math.Abs(beside[i]))
	}
	for l := range n {
		for step := 0; ; step++ {
			m := l // the block from l to m has no zeros beside the diagonal
			for m < n-1 {
				size := math.Abs(diagonal[m]) + math.Abs(diagonal[m+1])
				if math.Abs(beside[m]) <= max(epsilon*size, least) {
					break
				}
				m++
			}
			if m == l {
				break
			}
			if step == most {
				return ErrNoConvergence
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			stepQL(diagonal, beside, l, m, t)
			if t != nil && len(t.pending) >= t.most {
				if err := t.settle(ctx); err != nil {
					return err
				}
			}
		}
	}
	if t == nil {
		return ctx.Err()
	}
	return t.settle(ctx)
}

// stepQL chases one shifted QL step through the block from l to m.
func stepQL(d, e []float64, l, m int, t *turned) {
	// The shift is the eigenvalue of the first two rows that is nearer to the first entry.
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
	s, c, p := 1.0, 1.0, 0.0
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
			t.turn(i, c, s)
		}
	}
	d[l] -= p
	e[l] = g
	e[m] = 0
}
