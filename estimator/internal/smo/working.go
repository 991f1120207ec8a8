package smo

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
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
	diagonal           []float32          // of values, nil if it is 1
	memory             []float32          // of values
	factor             []float64          // of newton
	grad, up, down     []float64
	beta, lower, upper []float64
	before             []float64
	epsilon            float64
	reductions         int     // matrices factorized by the last call of reduce
	exact              *Matrix // of which newton takes float64 kernel values; nil for those of values
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
	w.setDiagonal(s.m)
}

// setDiagonal sets the diagonal of the values.
func (w *working) setDiagonal(m *Matrix) {
	w.diagonal = w.diagonal[:0]
	if m.diagonal == nil {
		w.diagonal = nil
		return
	}
	for k := range w.values.Rows {
		w.diagonal = append(w.diagonal, w.values.Row(k)[k])
	}
}

// share makes w the problem of all rows of s, whose gradient and β it changes.
func (w *working) share(s *solver) {
	n := len(s.beta)
	w.grad, w.beta, w.lower, w.upper, w.epsilon, w.values = s.grad, s.beta, s.Lower, s.Upper, s.Epsilon, s.m.whole
	w.setDiagonal(s.m)
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

// minCurvature bounds the curvature K_ii + K_jj − 2K_ij of a pair from below, relative to K_ii + K_jj; kernel
// values are rounded to float32.
const minCurvature = 0x1p-23

// optimize makes steps until the violation is at most tol and returns their number. A step of newton comes
// after steps of pairs that have taken the same time.
func (w *working) optimize(ctx context.Context, tol float64, most int, newton bool) (steps int, err error) {
	const checked = 1 << 13 // steps of at most some microseconds each
	const hard = 1 << 11    // steps from which reducing the free rows pays
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
			moved, err := w.newton(ctx, steps >= hard || w.exact != nil)
			if err != nil {
				return steps, err
			}
			if due = steps + (1+w.reductions)*w.newtonCost(); !moved {
				due += steps
			}
			if moved && w.exact != nil {
				return steps, nil // gradients of pairs lose the precision
			}
			i, least = kern.PairStep(w.grad, w.up, row(0), row(0), 0)
		}
		own := row(i)[i]
		j, violation := kern.PairGain(w.grad, w.down, row(i), w.diagonal, own, least, minCurvature)
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
	curvature := max(diagonal-2*value(i, j), minCurvature*diagonal, math.SmallestNonzeroFloat32)
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
// their range and that it leaves at its end. It moves to the minimum of the objective on the way there. If no rows
// are left in their range, it moves only where reduce is set.
func (w *working) newton(ctx context.Context, reduce bool) (moved bool, err error) {
	const maxRounds = 6
	w.reductions = 0
	q := len(w.beta)
	delta, slope := make([]float64, q), slices.Clone(w.grad) // slope is the gradient at the ends of the other rows
	sum := 0.0                                               // of delta of rows at the ends
	free := w.free()
	for range maxRounds {
		if len(free) == 0 {
			break
		}
		if err := w.solve(ctx, free, slope, -sum, delta); err != nil {
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
			return w.move(ctx, delta)
		}
		free = inside
		if err := w.addProduct(ctx, slope, ends); err != nil {
			return false, err
		}
	}
	if !reduce {
		return false, nil
	}
	return w.reduce(ctx)
}

// reduce minimizes over the free rows until the first of them leaves its range, which it leaves at its end, and
// repeats that. It serves where the matrix of the free rows has a lower rank, as that of a polynomial of few inputs:
// the minimum over all of them is far outside of their ranges.
func (w *working) reduce(ctx context.Context) (moved bool, err error) {
	const maxReduced = 64
	delta := make([]float64, len(w.beta))
	for range maxReduced {
		free := w.free()
		if len(free) < 2 {
			break
		}
		clear(delta)
		if err := w.solve(ctx, free, w.grad, 0, delta); err != nil {
			return moved, err
		}
		w.reductions++
		t, first, end := 1.0, -1, 0.0
		for _, k := range free {
			lower, upper := w.smooth(k)
			bound := upper
			if delta[k] < 0 {
				bound = lower
			}
			if r := (bound - w.beta[k]) / delta[k]; r < t {
				t, first, end = r, k, bound
			}
		}
		kern.Scale(t, delta)
		if ok, err := w.move(ctx, delta); !ok || err != nil {
			return moved, err
		}
		if moved = true; first < 0 {
			break
		}
		w.beta[first] = end
		w.bounds(first)
	}
	return moved, nil
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
// matrix has a small ridge, relative to its diagonal, because of rounding; if it is not positive definite
// nevertheless, delta is 0.
func (w *working) solve(ctx context.Context, free []int, slope []float64, sum float64, delta []float64) error {
	const ridge, exactRidge = 0x1p-20, 0x1p-36
	f := len(free)
	if need := f * (f + 2); len(w.factor) < need {
		w.factor = kern.MakeLarge[float64](need)
	}
	a, b := kern.Dense(f, f, f, w.factor), kern.Dense(f, 2, 2, w.factor[f*f:])
	added := ridge
	if w.exact != nil {
		rows := make([]int, f)
		for i, k := range free {
			rows[i] = w.rows[k]
		}
		x := w.exact.rows64.Select(rows)
		kern.Parallel(f, pairwise.TileRows, func(lo, hi int) {
			if ctx.Err() == nil {
				tile := a.Slice(lo, hi, 0, f)
				pairwise.Distances(tile, x.Slice(lo, hi), x, w.exact.kernel.Metric)
				pairwise.Values(w.exact.kernel, 1, tile)
			}
		})
		added = exactRidge
	}
	for i, k := range free {
		row, out := w.values.Row(k), a.Row(i)
		if w.exact == nil {
			for j, l := range free[:i+1] {
				out[j] = float64(row[l])
			}
		}
		out[i] *= 1 + added
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
	ones, excess := 0.0, -sum
	for i := range free {
		sum, ones = sum-b.At(i, 0), ones+b.At(i, 1)
	}
	for i, k := range free {
		delta[k] = b.At(i, 0) + sum/ones*b.At(i, 1)
		excess += delta[k]
	}
	if w.exact != nil { // small ridges make changes large, and so is the rounding of their sum
		for _, k := range free {
			delta[k] -= excess / float64(f)
		}
	}
	return nil
}

// move adds delta, or the part of it that minimizes the objective, to β.
func (w *working) move(ctx context.Context, delta []float64) (moved bool, err error) {
	change := make([]float64, len(delta)) // of the gradient
	if err := w.addProduct(ctx, change, delta); err != nil {
		return false, err
	}
	linear := 0.0
	for k, d := range delta {
		if d != 0 {
			linear += d * (w.grad[k] + w.up[k])
		}
	}
	t := 1.0
	if curvature := kern.Dot(delta, change); curvature > -linear { // the curvature of a null vector may be negative
		t = -linear / curvature
	}
	if !(t > 0 && linear < 0) {
		return false, nil
	}
	kern.Axpy(t, change, w.grad)
	for k, d := range delta {
		if d != 0 {
			w.beta[k] = min(max(w.beta[k]+t*d, w.lower[k]), w.upper[k])
			w.bounds(k)
		}
	}
	return true, nil
}

// addProduct adds the product of the kernel values and v to dst.
func (w *working) addProduct(ctx context.Context, dst, v []float64) error {
	if w.exact == nil {
		kern.AddTMulMixed(dst, w.values, v)
		return nil
	}
	product := make([]float64, len(dst))
	err := w.exact.multiply(ctx, product, w.exact.rows64.Select(w.rows), w.rows, v)
	kern.Axpy(1, product, dst)
	return err
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
