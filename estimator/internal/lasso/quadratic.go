package lasso

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// quadratic is the problem min ½w'Gw − c'w + ½yy + l1·‖w‖₁ + ½l2·‖w‖². The variables are features of
// positive variance in the order in which they were added.
type quadratic struct {
	gram   [][]float64 // G, if its products are summed
	d      []float64   // diagonal of G; 0 for constant features
	e      *residuals  // of the rows, instead of gram
	c      []float64
	yy     float64
	l1, l2 float64
	w, r   []float64 // r = c − G·w; with residuals, as of the last visit of a variable
	epochs int       // sweeps so far
}

const (
	// A support of at most this size is solved for by a Cholesky factorization once the gap is small,
	// so that the solution is exact up to rounding.
	maxExact = 256
	// A larger one, of at most this size, is if coordinate descent has made slowSweeps sweeps.
	maxFactor  = 4096
	slowSweeps = 16
	// A small gap suffices after maxTries factorizations, as of features that depend on each other.
	maxTries = 6
)

// descend minimizes over the given variables by cyclic coordinate descent until the duality gap is
// at most tol, for at most the given number of sweeps; if exact, up to rounding where the support is
// small. It reports whether the gap was reached.
func (q *quadratic) descend(ctx context.Context, list []int, tol float64, exact bool, sweeps int) (bool, error) {
	if len(list) == 0 {
		return true, nil
	}
	end := q.epochs + sweeps
	next, tries := q.nextFactor(), 0 // epoch of the next factorization; those at a small gap
	for {
		if err := ctxerr.Check(ctx); err != nil {
			return false, err
		}
		first := q.sweep(list, false)
		if q.e != nil { // a gap costs half a sweep
			if err := q.sweepNonzero(ctx, list, first, end); err != nil {
				return false, err
			}
			for _, j := range list {
				q.r[j] = q.e.dot(j)
			}
		}
		small := q.gap(list, 0) <= tol
		switch {
		case small && (!exact || q.support() > maxExact):
			return true, nil
		case q.e == nil && (small || q.epochs >= next):
			next = q.nextFactor()
			solved, err := q.solveSupport(ctx, list)
			if err != nil || solved {
				return true, err
			}
			if small {
				tries++
			}
		}
		if q.epochs >= end || tries == maxTries {
			return q.gap(list, 0) <= tol, nil
		}
		if q.e == nil && small { // the signs were not those of the solution
			if err := q.sweepNonzero(ctx, list, first, min(end, next)); err != nil {
				return false, err
			}
		}
	}
}

// nextFactor returns the epoch of the next factorization, after sweeps that take twice its time.
func (q *quadratic) nextFactor() int {
	k := q.support()
	return q.epochs + slowSweeps + k*k/(32*len(q.w))
}

// sweepNonzero minimizes over the nonzero variables until a sweep reduces the objective by much less than
// first, or until an epoch.
func (q *quadratic) sweepNonzero(ctx context.Context, list []int, first float64, end int) error {
	for moved, k := first, 0; k < 10 && q.epochs < end && moved > first/10; k++ {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		moved = q.sweep(list, true)
	}
	return nil
}

// sweep minimizes over each variable once, or over each nonzero one. It returns the largest
// reduction of the objective.
func (q *quadratic) sweep(list []int, active bool) (moved float64) {
	q.epochs++
	for _, j := range list {
		old, d := q.w[j], q.d[j]
		if active && old == 0 || d == 0 {
			continue
		}
		if q.e != nil {
			q.r[j] = q.e.dot(j)
		}
		z, v := q.r[j]+d*old, 0.0
		if shrunk := math.Abs(z) - q.l1; shrunk > 0 {
			v = math.Copysign(shrunk, z) / (d + q.l2)
		}
		if v != old {
			if q.w[j] = v; q.e == nil {
				kern.Axpy(old-v, q.gram[j], q.r)
			} else {
				q.e.add(j, old-v)
			}
			moved = max(moved, (d+q.l2)*(v-old)*(v-old))
		}
	}
	return moved
}

// support returns the number of nonzero variables.
func (q *quadratic) support() (count int) {
	for _, w := range q.w {
		if w != 0 {
			count++
		}
	}
	return count
}

// gap returns the duality gap of the problem restricted to the given variables and others, whose
// weights are 0 and whose largest |c − G·w| is top. The residual, scaled into the dual feasible
// set, is the dual point. (Kim et al., IEEE J. Sel. Top. Signal Process. 1, 2007.)
func (q *quadratic) gap(list []int, top float64) float64 {
	cw, rw, norm := 0.0, 0.0, 0.0
	for _, j := range list {
		if q.d[j] == 0 {
			continue
		}
		w, r := q.w[j], q.r[j]-q.l2*q.w[j]
		cw, rw, norm, top = cw+q.c[j]*w, rw+r*w, norm+math.Abs(w), max(top, math.Abs(r))
	}
	scale := 1.0
	if top > q.l1 {
		scale = q.l1 / top
	}
	squares := max(q.yy-cw-rw, 0) // of the residuals, including the l2 penalty
	return squares*(1+scale*scale)/2 + q.l1*norm - scale*(q.yy-cw)
}

// objective returns the objective; variables that are not listed are 0.
func (q *quadratic) objective(list []int) float64 {
	sum := q.yy
	if q.e != nil {
		sum = q.e.squares()
		for _, j := range list {
			w := q.w[j]
			sum += q.l2*w*w + 2*q.l1*math.Abs(w)
		}
		return sum / 2
	}
	for _, j := range list {
		w := q.w[j]
		sum += -(q.c[j]+q.r[j])*w + q.l2*w*w + 2*q.l1*math.Abs(w)
	}
	return max(sum/2, 0)
}

// solveSupport minimizes over the nonzero variables with their signs fixed, by a Cholesky
// factorization. Where signs would change, it stops at the first zero and drops that variable, as
// the feature-sign search of Lee et al. (NIPS 2006). It reports whether the result satisfies the
// optimality conditions of the listed variables up to rounding.
func (q *quadratic) solveSupport(ctx context.Context, list []int) (exact bool, err error) {
	const maxDrops = 64
	for drops, left := 0, maxDrops; drops < left; drops++ {
		var at []int
		for _, j := range list {
			if q.w[j] != 0 {
				at = append(at, j)
			}
		}
		if len(at) > maxFactor {
			return false, nil
		}
		left = min(maxDrops, max(2, 2048/max(len(at), 1))) // a factorization of many costs as much as many sweeps
		target, ok, err := q.minimum(ctx, at)
		if err != nil || !ok {
			return false, err
		}
		step := 1.0
		for a, j := range at {
			if target[a]*q.w[j] <= 0 {
				step = min(step, q.w[j]/(q.w[j]-target[a]))
			}
		}
		for a, j := range at {
			if w := q.w[j]; step == 1 || w/(w-target[a]) != step {
				target[a] = w + step*(target[a]-w)
			} else {
				target[a] = 0
			}
			q.w[j] = target[a]
		}
		q.residuals()
		if step == 1 {
			return q.optimal(list), nil
		}
	}
	return false, nil
}

// minimum returns the minimum over the variables at, whose signs are fixed. If G is singular on them,
// it is that of the objective plus a small multiple of the squared distance to w, a proximal step.
func (q *quadratic) minimum(ctx context.Context, at []int) (x []float64, ok bool, err error) {
	const singular, proximal = 1e-7, 1e-10
	n := len(at)
	lower := kern.Dense(n, n, n, make([]float64, n*n))
	for _, part := range []float64{0, proximal} {
		for a, j := range at {
			row := lower.Row(a)
			for b, k := range at[:a+1] {
				row[b] = q.gram[j][k]
			}
			row[a] += q.l2 + part*row[a]
		}
		if _, ok, err = kern.Cholesky(ctx, lower); err != nil {
			return nil, false, err
		}
		for a, j := range at {
			ok = ok && (part > 0 || lower.At(a, a) > singular*math.Sqrt(q.gram[j][j]+q.l2))
		}
		if ok {
			break
		}
	}
	x, side := make([]float64, n), make([]float64, n)
	whole := make([]float64, len(q.w))
	for range 2 { // the second step refines the first
		for a, j := range at {
			whole[j] = x[a]
		}
		for a, j := range at {
			side[a] = q.r[j] - q.l2*(q.w[j]+x[a]) - math.Copysign(q.l1, q.w[j]) - kern.Dot(q.gram[j], whole)
		}
		if err := kern.SolveCholesky(ctx, lower, kern.Column(side)); err != nil {
			return nil, false, err
		}
		kern.Axpy(1, side, x)
	}
	for a, j := range at {
		x[a] += q.w[j]
	}
	return x, ok && kern.AllFinite(x), nil
}

// residuals recomputes r, without the rounding of many updates.
func (q *quadratic) residuals() {
	copy(q.r, q.c)
	for j, w := range q.w {
		if w != 0 {
			kern.Axpy(-w, q.gram[j], q.r)
		}
	}
}

// optimal reports whether the weights satisfy the optimality conditions up to rounding.
func (q *quadratic) optimal(list []int) bool {
	const rounding = 1e-10
	for _, j := range list {
		w, r := q.w[j], q.r[j]-q.l2*q.w[j]
		switch {
		case q.d[j] == 0:
		case w == 0 && math.Abs(r) > q.l1*(1+rounding),
			w != 0 && math.Abs(r-math.Copysign(q.l1, w)) > rounding*max(q.l1, math.Abs(q.c[j])):
			return false
		}
	}
	return true
}
