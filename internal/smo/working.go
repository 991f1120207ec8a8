package smo

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
)

// A working set has workingRows rows at first and at most maxWorkingRows, fewer if no more are cached.
const (
	minWorkingRows = 4
	workingRows    = 1024
	maxWorkingRows = 4096
)

// selectRows returns the working set, ascending: rows with the smallest upSlopes and the largest
// downSlopes, and rows of the previous set.
func (s *solver) selectRows(up, down float64) []int {
	size := min(s.size, s.m.capacity, len(s.beta))
	var rising, falling []candidate
	for i := range s.grad {
		if u := s.upSlope(i); u < down {
			rising = append(rising, candidate{u, i})
		}
		if d := s.downSlope(i); d > up {
			falling = append(falling, candidate{-d, i})
		}
	}
	previous := s.local.rows
	fresh := size
	if len(previous) > 0 {
		fresh = size - len(previous)/2
	}
	rising, falling = smallest(rising, fresh/2), smallest(falling, fresh/2)
	used := s.local.used(len(s.grad))
	list := make([]int, 0, size)
	add := func(i int) {
		if len(list) < size && !used[i] {
			used[i] = true
			list = append(list, i)
		}
	}
	for k := range max(len(rising), len(falling)) {
		if k < len(rising) {
			add(rising[k].row)
		}
		if k < len(falling) {
			add(falling[k].row)
		}
	}
	// Of the previous rows those that are strictly within bounds come first.
	for _, free := range []bool{true, false} {
		for _, i := range previous {
			if free == (s.beta[i] > s.Lower[i] && s.beta[i] < s.Upper[i] && s.beta[i] != 0) {
				add(i)
			}
		}
	}
	for _, i := range list {
		used[i] = false
	}
	slices.Sort(list)
	return list
}

// candidate is a row with a key, of which the smallest come first.
type candidate struct {
	key float64
	row int
}

// compare orders by key. Equal keys, as those of all rows at the start, are ordered by a hash, so that
// sorted data contribute rows from everywhere.
func (a candidate) compare(b candidate) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(uint32(a.row)*2654435761, uint32(b.row)*2654435761))
}

// smallest returns the n smallest candidates, in order; it reorders the list.
func smallest(list []candidate, n int) []candidate {
	n = min(n, len(list))
	for lo, hi := 0, len(list); hi-lo > 1; {
		pivot := list[(lo+hi)/2]
		i, j := lo, hi-1
		for i <= j {
			for list[i].compare(pivot) < 0 {
				i++
			}
			for list[j].compare(pivot) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			hi = j + 1
		case n > i:
			lo = i
		default:
			lo = hi
		}
	}
	slices.SortFunc(list[:n], candidate.compare)
	return list[:n]
}

// working is a working set with its part of the problem.
type working struct {
	rows               []int
	marks              []bool
	values             kern.View[float32] // kernel values, rows × rows
	memory             []float32          // of values
	factor             []float64          // of newton
	grad, up, down     []float64
	beta, lower, upper []float64
	before             []float64
	epsilon            float64
}

// used returns marks of all rows, none set.
func (w *working) used(n int) []bool {
	if len(w.marks) < n {
		w.marks = make([]bool, n)
	}
	return w.marks
}

// load makes w the problem of the rows. Kernel values are incomplete if ctx is done.
func (w *working) load(ctx context.Context, s *solver, rows []int) {
	q := len(rows)
	same := slices.Equal(w.rows, rows)
	w.rows, w.epsilon = rows, s.Epsilon
	for _, list := range []*[]float64{&w.grad, &w.up, &w.down, &w.beta, &w.lower, &w.upper, &w.before} {
		*list = slices.Grow((*list)[:0], q)[:q]
	}
	for k, i := range rows {
		w.grad[k], w.beta[k], w.before[k], w.lower[k], w.upper[k] = s.grad[i], s.beta[i], s.beta[i], s.Lower[i], s.Upper[i]
		w.bounds(k)
	}
	if same {
		return
	}
	if len(w.memory) < q*q {
		w.memory = kern.MakeLarge[float32](q * q)
	}
	w.values = kern.Dense(q, q, q, w.memory)
	s.m.square(ctx, w.values, rows)
}

// share makes w the problem of all rows of s, whose gradient and β it changes.
func (w *working) share(s *solver) {
	n := len(s.beta)
	w.grad, w.beta, w.lower, w.upper, w.epsilon, w.values = s.grad, s.beta, s.Lower, s.Upper, s.Epsilon, s.m.whole
	w.up, w.down = slices.Grow(w.up[:0], n)[:n], slices.Grow(w.down[:0], n)[:n]
	for k := range n {
		w.bounds(k)
	}
}

// bounds updates what depends on β_k.
func (w *working) bounds(k int) {
	w.up[k] = upOffset(w.beta[k], w.upper[k], w.epsilon)
	w.down[k] = downOffset(w.beta[k], w.lower[k], w.epsilon)
}

// store writes the solution to s and returns the changed rows with their changes.
func (w *working) store(s *solver) (rows []int, change []float64) {
	for k, i := range w.rows {
		if d := w.beta[k] - w.before[k]; d != 0 {
			s.beta[i] = w.beta[k]
			rows, change = append(rows, i), append(change, d)
		}
	}
	return rows, change
}

// minCurvature bounds the curvature of a pair from below; kernel values are rounded to float32.
const minCurvature = 0x1p-22

// optimize makes steps until the violation is at most tol and returns their number. A step of newton comes
// after steps of pairs that have taken the same time.
func (w *working) optimize(ctx context.Context, tol float64, most int, newton bool) (steps int, err error) {
	const checked = 1 << 13 // steps of at most some microseconds each
	row := w.values.Row
	i, least := kern.PairStep(w.grad, w.up, row(0), row(0), 0)
	due := most
	if newton {
		due = w.newtonCost()
	}
	for ; steps < most; steps++ {
		if steps%checked == 0 && ctx.Err() != nil {
			return steps, ctxerr.Check(ctx)
		}
		if steps >= due {
			moved, err := w.newton(ctx)
			if err != nil {
				return steps, err
			}
			if due = steps + w.newtonCost(); !moved {
				due += steps
			}
			i, least = kern.PairStep(w.grad, w.up, row(0), row(0), 0)
		}
		j, violation := kern.PairGain(w.grad, w.down, row(i), least, minCurvature)
		if j < 0 || violation <= tol {
			break
		}
		t := w.step(i, j)
		if t == 0 {
			break
		}
		i, least = kern.PairStep(w.grad, w.up, row(i), row(j), t)
	}
	return steps, nil
}

// step increases β_i and decreases β_j by the returned amount, which minimizes the objective. Where
// one of them becomes 0 the slope grows by 2ε.
func (w *working) step(i, j int) (t float64) {
	value := func(i, j int) float64 { return float64(w.values.Row(i)[j]) }
	diagonal := value(i, i) + value(j, j)
	curvature := max(diagonal-2*value(i, j), minCurvature*diagonal/2, math.SmallestNonzeroFloat32)
	slope := w.grad[i] + w.up[i] - w.grad[j] - w.down[j]
	limit := min(w.upper[i]-w.beta[i], w.beta[j]-w.lower[j])
	kinks := [2]float64{math.Inf(1), math.Inf(1)}
	if w.epsilon > 0 {
		if w.beta[i] < 0 {
			kinks[0] = -w.beta[i]
		}
		if w.beta[j] > 0 {
			kinks[1] = w.beta[j]
		}
		if kinks[1] < kinks[0] {
			kinks[0], kinks[1] = kinks[1], kinks[0]
		}
	}
	for _, kink := range kinks {
		if next := t - slope/curvature; next <= kink {
			t = next
			break
		}
		slope += curvature*(kink-t) + 2*w.epsilon
		if t = kink; slope >= 0 {
			break
		}
		if kink == kinks[1] {
			t -= slope / curvature
			break
		}
	}
	t = min(t, limit)
	bi, bj := moved(w.beta[i], t, w.upper[i]), moved(w.beta[j], -t, w.lower[j])
	if bi == w.beta[i] && bj == w.beta[j] {
		return 0 // below the rounding of β
	}
	w.beta[i], w.beta[j] = bi, bj
	w.bounds(i)
	w.bounds(j)
	return t
}

// newtonCost returns the number of steps of pairs that take the time of newton.
func (w *working) newtonCost() int {
	const minSteps, ratio = 256, 60
	f := len(w.free())
	return max(minSteps, f*f/(ratio*len(w.beta))*f)
}

// free returns the rows between bounds and kinks, where the objective is smooth.
func (w *working) free() (list []int) {
	for k, u := range w.up {
		if u == w.down[k] {
			list = append(list, k)
		}
	}
	return list
}

// newton minimizes over the free rows by Cholesky factorizations, which it repeats without those that leave
// their range and that it leaves at its end. It moves to the minimum of the objective on the way there.
func (w *working) newton(ctx context.Context) (moved bool, err error) {
	const maxRounds = 6
	q := len(w.beta)
	delta, slope := make([]float64, q), slices.Clone(w.grad) // slope is the gradient at the ends of the other rows
	sum := 0.0                                               // of delta of rows at the ends
	free := w.free()
	for range maxRounds {
		if err := w.solve(ctx, free, slope, -sum, delta); err != nil || len(free) == 0 {
			return false, err
		}
		var inside []int
		ends := make([]float64, q)
		for _, k := range free {
			lower, upper := w.smooth(k)
			if next := w.beta[k] + delta[k]; next > lower && next < upper {
				inside = append(inside, k)
				continue
			}
			delta[k] = min(max(delta[k], lower-w.beta[k]), upper-w.beta[k])
			ends[k] = delta[k]
			sum += delta[k]
		}
		if len(inside) == len(free) {
			return w.move(delta), nil
		}
		free = inside
		kern.AddTMulMixed(slope, w.values, ends)
	}
	return false, nil
}

// smooth returns the range of a free β_k without a kink.
func (w *working) smooth(k int) (lower, upper float64) {
	switch lower, upper = w.lower[k], w.upper[k]; {
	case w.epsilon > 0 && w.beta[k] > 0:
		lower = 0
	case w.epsilon > 0:
		upper = 0
	}
	return lower, upper
}

// solve writes the changes of the free rows that minimize the objective, and whose sum is given, to delta. The
// matrix has a small ridge because of rounding; if it is not positive definite nevertheless, delta is 0.
func (w *working) solve(ctx context.Context, free []int, slope []float64, sum float64, delta []float64) error {
	const ridge = 0x1p-20
	f := len(free)
	if need := f * (f + 2); len(w.factor) < need {
		w.factor = kern.MakeLarge[float64](need)
	}
	a, b := kern.Dense(f, f, f, w.factor), kern.Dense(f, 2, 2, w.factor[f*f:])
	for i, k := range free {
		row, out := w.values.Row(k), a.Row(i)
		for j, l := range free[:i+1] {
			out[j] = float64(row[l])
		}
		out[i] += ridge
		b.Set(i, 0, -slope[k]-w.up[k])
		b.Set(i, 1, 1)
	}
	if _, ok, err := kern.Cholesky(ctx, a); !ok || err != nil {
		clear(delta)
		return err
	}
	if err := kern.SolveCholesky(ctx, a, b); err != nil {
		return err
	}
	ones := 0.0
	for i := range free {
		sum, ones = sum-b.At(i, 0), ones+b.At(i, 1)
	}
	for i, k := range free {
		delta[k] = b.At(i, 0) + sum/ones*b.At(i, 1)
	}
	return nil
}

// move adds delta, or the part of it that minimizes the objective, to β.
func (w *working) move(delta []float64) (moved bool) {
	change := make([]float64, len(delta)) // of the gradient
	kern.AddTMulMixed(change, w.values, delta)
	linear := 0.0
	for k, d := range delta {
		if d != 0 {
			linear += d * (w.grad[k] + w.up[k])
		}
	}
	t := min(1, -linear/kern.Dot(delta, change))
	if !(t > 0) {
		return false
	}
	kern.Axpy(t, change, w.grad)
	for k, d := range delta {
		if d != 0 {
			w.beta[k] = min(max(w.beta[k]+t*d, w.lower[k]), w.upper[k])
			w.bounds(k)
		}
	}
	return true
}

// moved returns b + t, and the bound or 0 where rounding leaves it next to them.
func moved(b, t, bound float64) float64 {
	switch {
	case math.Abs(t) >= math.Abs(bound-b):
		return bound
	case t == -b:
		return 0
	}
	return b + t
}
