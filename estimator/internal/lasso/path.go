package lasso

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Path solves for one penalty after another, each from the solution before.
type Path struct {
	*Problem
	Options
	q    quadratic
	g    []float64 // c − G·w at the last solution
	last float64   // l1 of the last solution
	full bool      // whether all features joined because their products cost less than checks
	// summing is set while the products of a small support are needed, whatever they cost.
	summing bool
	before  solution // of the penalty before the last one
}

// solution is that of a penalty, with the products of all features of the set.
type solution struct {
	l1   float64
	w, r []float64
}

// NewPath returns a path of a number of penalties that starts at zero weights. The more there are, the
// earlier are products of features summed.
func NewPath(m *Problem, o Options, penalties int) *Path {
	t := &Path{Problem: m, Options: o, g: slices.Clone(m.c)}
	t.q.yy = m.yy
	m.passed = float64(penalties-1) * m.whole()
	for _, v := range m.c {
		t.last = max(t.last, math.Abs(v))
	}
	t.q.gram = t.gram
	t.extend()
	return t
}

// Solve returns the model for a penalty. Penalties should descend: the set for the next one starts
// with the features that the sequential strong rule leaves. All others are checked.
// (Tibshirani et al., J. R. Stat. Soc. B 74, 2012.)
func (t *Path) Solve(ctx context.Context, alpha float64) (solve.Linear, error) {
	const preload = 0.8  // features that may be needed for the next penalty join, too
	const grows = 1.05   // a larger gradient, relative to l1, announces that many features will join
	const reduction = 10 // of the gap, in each stage
	q := &t.q
	alpha /= t.unit // scales l1 like the weights; l2 has no unit
	t.extrapolate(alpha * t.L1Ratio)
	q.l1, q.l2, q.epochs = alpha*t.L1Ratio, alpha*t.unit*(1-t.L1Ratio), 0
	trivial := t.yy / 2
	tol := t.Tol * trivial
	strong := min(2*q.l1-t.last, q.l1)
	chosen := make([]bool, t.p)
	var list []int
	for position, j := range t.set {
		if chosen[j] = q.w[position] != 0; chosen[j] {
			list = append(list, position)
		}
	}
	top := t.violations(chosen, strong, preload*strong)
	converged, gap := true, q.gap(list, top)
	t.summing = false
	for over := math.Nextafter(q.l1, math.Inf(1)); ; {
		var err error
		rough := max(tol, gap/reduction)
		if rough < reduction*tol {
			rough = tol
		}
		growing := top > grows*q.l1
		exact := rough == tol && !growing
		if list, converged, err = t.descend(ctx, chosen, rough, exact, growing); err != nil {
			return solve.Linear{}, err
		}
		t.gradient()
		top = t.violations(chosen, over, preload*q.l1)
		gap = q.gap(list, top)
		if !converged || q.epochs >= t.MaxIter {
			break
		}
		if gap <= tol && exact && q.e == nil && top <= q.l1*(1+1e-10) {
			break
		}
		if gap <= tol && q.e != nil {
			if q.support() > maxExact {
				break
			}
			// The products make a small support exact: it does not depend on the penalties before.
			keep, _ := t.needed()
			t.prune(keep, chosen)
			t.summing = true
		}
	}
	for position, w := range q.w {
		t.g[t.set[position]] -= q.l2 * w
	}
	t.last = q.l1
	report := solve.Report{Solver: "coordinate descent", Iterations: q.epochs, Converged: converged,
		Objective: q.objective(list) * t.unit * t.unit, Gap: max(gap, 0) / cmp.Or(trivial, 1)}
	if !converged {
		report.Warnings = []string{fmt.Sprintf("not converged after %d sweeps: relative duality gap %.2g, tolerance %.2g",
			q.epochs, report.Gap, t.Tol)}
	}
	w := make([]float64, t.p)
	for position, j := range t.set[:len(q.w)] {
		w[j] = q.w[position]
	}
	b := (t.targetMean - kern.Dot(w, t.mean)) * t.unit
	kern.Scale(t.unit, w)
	return solve.NewLinear(w, []float64{b}, report)
}

// extrapolate continues the line through the last two solutions to a penalty: between two changes of the support,
// the path is a line. It ends where weights become 0.
func (t *Path) extrapolate(l1 float64) {
	q, before := &t.q, t.before
	if q.e != nil || len(q.w) == 0 {
		t.before = solution{}
		return
	}
	t.before = solution{q.l1, slices.Clone(q.w), slices.Clone(q.r)}
	step := (l1 - q.l1) / (q.l1 - before.l1)
	if len(before.w) != len(q.w) || !(step > 0 && step <= 1) {
		return
	}
	for j, r := range before.r {
		q.r[j] += step * (q.r[j] - r)
	}
	for j, w := range q.w {
		if v := w + step*(w-before.w[j]); v*w > 0 {
			q.w[j] = v
		} else if v != 0 {
			q.w[j] = 0
			kern.Axpy(v, q.gram[j], q.r)
		}
	}
}

// descend minimizes over the chosen features, whose positions in the set it returns, until their gap is
// at most tol; if exact, up to rounding where the support is small. It reports whether that was
// reached. If the set still grows, a few sweeps suffice.
func (t *Path) descend(ctx context.Context, chosen []bool, tol float64, exact, grows bool) (list []int, ok bool,
	err error) {
	const maxGrowing = 10
	for {
		missing, err := t.prepare(ctx, chosen)
		if err != nil {
			return nil, false, err
		}
		list = list[:0]
		for j, position := range t.place { // neighbors may be correlated, as in series: in their order
			if chosen[j] && position >= 0 {
				list = append(list, position)
			}
		}
		sweeps := t.MaxIter - min(t.q.epochs, t.MaxIter-1)
		if grows {
			sweeps = min(sweeps, maxGrowing)
		}
		if t.q.e == nil {
			ok, err = t.q.descend(ctx, list, tol, exact, sweeps)
			return list, ok || grows, err
		}
		until := int(min(float64(sweeps), 1+missing/(t.entries()*float64(max(len(list), 1)))))
		ok, err = t.q.descend(ctx, list, tol, false, until)
		t.swept, t.q.e.read = t.swept+t.q.e.read, 0
		if ok || err != nil || until == sweeps {
			return list, ok || grows, err
		}
	}
}

// prepare makes the quadratic problem one of the features of the set. It sums their products, if need
// be after it pruned the set, or computes residuals and returns how many numbers sweeps still have to
// read until it sums products.
func (t *Path) prepare(ctx context.Context, chosen []bool) (missing float64, err error) {
	q := &t.q
	if err := t.sumRows(ctx); err != nil {
		return 0, err
	}
	if missing = t.missing(len(t.set), len(t.gram)); missing > 0 && q.e != nil {
		if keep, summed := t.needed(); t.missing(len(keep), summed) <= 0 {
			t.prune(keep, chosen)
			missing = 0
		} else {
			missing = min(missing, t.missing(len(keep), summed))
		}
	}
	changed := q.e != nil
	if missing <= 0 {
		t.swept = max(0, t.swept-t.cost(len(t.set), len(t.gram)))
		if err := t.sumProducts(ctx); err != nil {
			return 0, err
		}
		q.gram, q.e = t.gram, nil
	} else if t.loadColumns(); q.e == nil {
		q.e = t.residualsOf(q.w)
	} else {
		q.e.columns = t.columns
	}
	t.extend()
	if changed && q.e == nil {
		q.residuals()
	}
	return missing, nil
}

// extend adds the features of the set that are missing in the quadratic problem, with weights 0.
func (t *Path) extend() {
	q := &t.q
	for position := len(q.w); position < len(t.set); position++ {
		j := t.set[position]
		q.c, q.w, q.r = append(q.c, t.c[j]), append(q.w, 0), append(q.r, t.g[j])
		d := 0.0
		if q.e == nil {
			d = q.gram[position][position]
		} else {
			d = t.variance(t.columns[position])
		}
		if t.constant(j, d) {
			d = 0
		}
		q.d = append(q.d, d)
	}
}

// cost returns the numbers that sweeps read in the time in which the products of k features are summed,
// given those of the first ones.
func (t *Path) cost(k, summed int) float64 {
	ratio := float64(DenseProducts)
	if t.isSparse() {
		ratio = sparseProducts
	}
	return t.entries() * (float64(k)*float64(k) - float64(summed)*float64(summed)) / ratio
}

// missing returns how many numbers sweeps have to read before products of k features are worthwhile.
func (t *Path) missing(k, summed int) float64 {
	switch {
	case len(t.rows) == len(t.set) || t.full && k == t.p || t.summing: // they are among those, or were decided on
		return 0
	case float64(k)*float64(k) > maxStored:
		return math.Inf(1)
	}
	return patience*(t.cost(k, summed)-freeSweeps*t.entries()*float64(k)) - t.swept
}

// needed returns the positions of the features of the set that are nonzero or may become so, and how
// many of them have their products summed.
func (t *Path) needed() (keep []int, summed int) {
	const near = 0.9
	for position, j := range t.set {
		if position < len(t.q.w) && t.q.w[position] != 0 || math.Abs(t.g[j]) >= near*t.q.l1 {
			if keep = append(keep, position); position < len(t.gram) {
				summed++
			}
		}
	}
	return keep, summed
}

// prune removes the features of the set from it that are not kept.
func (t *Path) prune(keep []int, chosen []bool) {
	q, set := &t.q, t.set
	t.before = solution{}
	for _, j := range set {
		t.place[j] = -1
	}
	t.set, t.columns, t.gram, t.rows = take(set, keep), take(t.columns, keep), take(t.gram, keep), take(t.rows, keep)
	for position, row := range t.gram {
		t.gram[position] = take(row, keep)
	}
	for position, j := range t.set {
		t.place[j] = position
	}
	for _, j := range set {
		chosen[j] = chosen[j] && t.place[j] >= 0
	}
	q.c, q.d, q.w, q.r = take(q.c, keep), take(q.d, keep), take(q.w, keep), take(q.r, keep)
}

// take returns the elements at ascending positions, those after the end excepted.
func take[T any](list []T, positions []int) (out []T) {
	for _, k := range positions {
		if k < len(list) {
			out = append(out, list[k])
		}
	}
	return out
}

// gradient computes c − G·w of all features.
func (t *Path) gradient() {
	q := &t.q
	switch {
	case len(t.set) == 0:
		copy(t.g, t.c)
		return
	case len(t.set) == t.p && q.e == nil:
		for position, j := range t.set {
			t.g[j] = q.r[position]
		}
		return
	case len(t.rows) == len(t.set):
		kern.Parallel(t.p, 2048, func(lo, hi int) {
			copy(t.g[lo:hi], t.c[lo:hi])
			for position, w := range q.w {
				if w != 0 {
					kern.Axpy(-w, t.rows[position][lo:hi], t.g[lo:hi])
				}
			}
		})
	default:
		e := t.residualsOf(q.w)
		if t.pass(t.g, e); q.e != nil {
			q.e = e
		}
	}
	if q.e != nil {
		for position, j := range t.set {
			q.r[position] = t.g[j]
		}
	}
}

// violations chooses the features whose gradient is at least over, and returns the largest gradient of
// the others, those that violated included. Features outside of the set join it first if one of them
// exceeds over: those with the largest gradients, of at least preload.
func (t *Path) violations(chosen []bool, over, preload float64) (top float64) {
	const batch, few, much = 32, 128, 8192
	var join []int
	needed, many := false, 0
	for j, g := range t.g {
		g, position := math.Abs(g), t.place[j]
		if chosen[j] || position >= 0 && t.q.d[position] == 0 {
			continue
		}
		top = max(top, g)
		switch {
		case position >= 0:
			chosen[j] = g >= over
		case g >= preload:
			join, needed = append(join, j), needed || g >= over
			if g > t.q.l1 {
				many++
			}
		}
	}
	if !needed {
		return top
	}
	slices.SortStableFunc(join, func(i, j int) int { return cmp.Compare(math.Abs(t.g[j]), math.Abs(t.g[i])) })
	join = join[:min(len(join), max(batch, t.q.support(), many/2))]
	if n := len(t.set) + len(join); t.p <= few || n > t.p/4 && t.p <= much && t.storesRows() &&
		(len(t.rows) > 0 || t.cost(t.p, len(t.gram)) <= t.passed) {
		join, t.full = join[:0], true
		for j, position := range t.place {
			if position < 0 {
				join = append(join, j)
			}
		}
	}
	for _, j := range join {
		t.place[j] = len(t.set)
		t.set = append(t.set, j)
		chosen[j] = math.Abs(t.g[j]) >= over
	}
	return top
}
