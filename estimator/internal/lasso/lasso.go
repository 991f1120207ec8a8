// Package lasso fits linear models with an L1 penalty by coordinate descent, for one penalty or a
// path of them.
//
// Only few features have nonzero weights. The solver therefore works on a growing set of features,
// and sums products of these with all others in one pass over the rows for each group that joins
// the set. The gradient of all features, which tells the features that have to join, follows from
// these sums without a pass.
package lasso

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Options are the settings of a path, which minimizes, with weights that sum to 1,
//
//	½·Σ s_i·(y_i − w'x_i − b)² + alpha·(L1Ratio·‖w‖₁ + ½(1 − L1Ratio)·‖w‖²).
type Options struct {
	L1Ratio float64
	Tol     float64 // duality gap, relative to the objective of w = 0
	MaxIter int     // sweeps over the features of the set
}

// Problem is a least-squares problem in memory with the products of features that were needed so
// far.
type Problem struct {
	n, p       int
	x          mat.Matrix // *mat.Dense or *matrices.CSR
	weights    []float64  // sum to 1
	mean       []float64  // of the features; 0 without an intercept
	targetMean float64
	unit       float64   // power of two by which targets are divided
	y          []float64 // centered, in units
	yy         float64
	c          []float64 // Σ s·x·y by feature, centered

	set   []int       // features in the order in which they joined
	place []int       // of each feature in set, or -1
	rows  [][]float64 // products of a feature of the set with all features; nil if they are not stored
	gram  [][]float64 // products of features of the set
}

// maxStored bounds the numbers of the stored products of features of the set with all others.
const maxStored = 1 << 26

// storesRows reports whether the products with all features are stored. Otherwise the gradient takes
// a pass over the rows.
func storesRows(n, p int) bool { return float64(p)*float64(min(n, p)) <= maxStored }

// New centers the rows, which are in memory, and their targets.
func New(ctx context.Context, r *design.Rows, l *design.Labels, intercept bool) (*Problem, error) {
	m := &Problem{n: len(l.Y), p: r.Cols, x: design.ToFloat64(design.Native(r.Set.X)), weights: slices.Clone(l.Weights),
		unit: 1, mean: make([]float64, r.Cols), y: slices.Clone(l.Y), c: make([]float64, r.Cols), place: make([]int, r.Cols)}
	total := kern.Sum(m.weights)
	if !(total > 0) {
		return nil, errors.New("every weight is 0")
	}
	kern.Scale(1/total, m.weights)
	largest := 0.0
	for _, y := range m.y {
		largest = max(largest, math.Abs(y))
	}
	if _, power := math.Frexp(largest); largest > 0 {
		m.unit = math.Ldexp(1, max(power-1, -1000))
		kern.Scale(1/m.unit, m.y)
	}
	for range 2 { // the second pass removes the rounding of the first
		if shift := kern.Dot(m.weights, m.y); intercept {
			m.targetMean += shift
			for i := range m.y {
				m.y[i] -= shift
			}
		}
	}
	weighted := make([]float64, m.n)
	kern.MulElem(weighted, m.weights, m.y)
	m.yy = kern.Dot(weighted, m.y)
	m.transposed(m.c, weighted)
	if intercept {
		m.transposed(m.mean, m.weights)
		kern.Axpy(-kern.Sum(weighted), m.mean, m.c)
	}
	if !kern.AllFinite(m.c) || !kern.AllFinite(m.mean) {
		return nil, design.NonFiniteError(0, *r.Set)
	}
	for j := range m.place {
		m.place[j] = -1
	}
	return m, ctxerr.Check(ctx)
}

// transposed writes X'v to dst.
func (m *Problem) transposed(dst, v []float64) {
	if csr, ok := m.x.(*matrices.CSR); ok {
		kern.SparseMulVecT(dst, design.SparseView(csr), v, false)
		return
	}
	kern.MulVecT(dst, design.View(m.x.(*mat.Dense)), v, false)
}

// multiplied writes X·v to dst.
func (m *Problem) multiplied(dst, v []float64) {
	if csr, ok := m.x.(*matrices.CSR); ok {
		kern.SparseMulVec(dst, design.SparseView(csr), v, false)
		return
	}
	kern.MulVec(dst, design.View(m.x.(*mat.Dense)), v, false)
}

// join adds features to the set, and their products.
func (m *Problem) join(ctx context.Context, list []int) error {
	k, old := len(list), len(m.set)
	for a, j := range list {
		m.place[j] = old + a
	}
	m.set = append(m.set, list...)
	whole := len(m.set) == m.p && (old == 0 || m.rows != nil)
	products, _, err := m.products(ctx, list, whole)
	if err != nil {
		return err
	}
	with := func(a, position int) float64 { // product of list[a] with a feature of the set
		switch {
		case !whole:
			return products[a*m.p+m.set[position]]
		case position < old:
			return m.rows[position][list[a]]
		}
		return products[a*k+position-old]
	}
	for a := range list {
		row := make([]float64, len(m.set), len(m.set)+len(m.set)/2)
		for position := range row {
			row[position] = with(a, position)
		}
		for b := range a { // symmetric, to the bit
			row[old+b] = m.gram[old+b][old+a]
		}
		m.gram = append(m.gram, row)
		if m.constant(old + a) {
			m.gram[old+a][old+a] = 0
		}
	}
	for position := range old {
		for a := range list {
			m.gram[position] = append(m.gram[position], m.gram[old+a][position])
		}
	}
	switch {
	case len(m.set) == m.p:
		m.rows = nil // gram has all
	case storesRows(m.n, m.p):
		for a := range list {
			m.rows = append(m.rows, products[a*m.p:(a+1)*m.p:(a+1)*m.p])
		}
	}
	return nil
}

// constant reports whether the feature of the set is constant up to rounding.
func (m *Problem) constant(position int) bool {
	mean := m.mean[m.set[position]]
	return m.gram[position][position] <= (16+float64(m.n)/2)*0x1p-52*mean*mean
}

// products returns the products of the listed features with all features, or only with each other, and
// the sums of the listed features.
func (m *Problem) products(ctx context.Context, list []int, whole bool) (out, sums []float64, err error) {
	k, wide := len(list), m.p
	if whole {
		wide = len(list)
	}
	out, sums = kern.MakeLarge[float64](k*wide), make([]float64, k)
	const size = 512
	height := size
	csr, sparse := m.x.(*matrices.CSR)
	if sparse {
		height = max(m.n, 1)
	}
	buffer, sum := make([]float64, min(height, m.n)*k), kern.Dense(k, wide, wide, out)
	slot := make([]int32, m.p)
	for a, j := range list {
		slot[j] = int32(a) + 1
	}
	for lo := 0; lo < m.n; lo += height {
		hi := min(lo+height, m.n)
		z := kern.Dense(hi-lo, k, k, buffer)
		m.gather(z, lo, list, slot)
		kern.MulVecT(sums, z, m.weights[lo:hi], true)
		switch {
		case whole:
			err = kern.Gram(ctx, sum, z, m.weights[lo:hi])
		case sparse:
			scaleRows(z, m.weights)
			transposed := make([]float64, k*wide)
			kern.SparseMulT(kern.Dense(wide, k, k, transposed), design.SparseView(csr), z, false)
			for j := range wide {
				for a := range k {
					out[a*wide+j] = transposed[j*k+a]
				}
			}
			err = ctxerr.Check(ctx)
		default:
			scaleRows(z, m.weights[lo:hi])
			err = kern.MulContext(ctx, sum, z.T(), design.View(m.x.(*mat.Dense)).Slice(lo, hi, 0, m.p), true)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if whole {
		kern.MirrorLower(sum)
		return out, sums, nil
	}
	for a := range k { // what rounding of the means has left
		kern.Axpy(-sums[a], m.mean, out[a*wide:(a+1)*wide])
	}
	return out, sums, nil
}

// scaleRows multiplies each row by its weight.
func scaleRows(z kern.View[float64], weights []float64) {
	for i := range z.Rows {
		kern.Scale(weights[i], z.Row(i))
	}
}

// gather writes the centered values of the listed features in the rows from lo on. slot is 1 plus
// the position of each feature in the list.
func (m *Problem) gather(z kern.View[float64], lo int, list []int, slot []int32) {
	csr, sparse := m.x.(*matrices.CSR)
	means := make([]float64, len(list))
	for a, j := range list {
		means[a] = m.mean[j]
	}
	kern.Parallel(z.Rows, 128, func(from, to int) {
		for i := from; i < to; i++ {
			row := z.Row(i)
			if !sparse {
				x := m.x.(*mat.Dense).RawRowView(lo + i)
				for a, j := range list {
					row[a] = x[j] - means[a]
				}
				continue
			}
			for a := range row {
				row[a] = -means[a]
			}
			columns, values := csr.Row(lo + i)
			scale, _ := csr.Shared()
			for p, j := range columns {
				switch a := slot[j]; {
				case a == 0:
				case values == nil:
					row[a-1] += scale
				default:
					row[a-1] += values[p]
				}
			}
		}
	})
}

// gradient writes c − G·w of all features to dst, for weights of the set.
func (m *Problem) gradient(dst []float64, q *quadratic) {
	switch {
	case len(m.set) == m.p:
		for position, j := range m.set {
			dst[j] = q.r[position]
		}
	case len(m.set) == 0:
		copy(dst, m.c)
	case storesRows(m.n, m.p):
		kern.Parallel(m.p, 2048, func(lo, hi int) {
			copy(dst[lo:hi], m.c[lo:hi])
			for position, w := range q.w {
				if w != 0 {
					kern.Axpy(-w, m.rows[position][lo:hi], dst[lo:hi])
				}
			}
		})
	default:
		w, residuals := m.all(q.w), make([]float64, m.n)
		m.multiplied(residuals, w)
		moved := kern.Dot(w, m.mean)
		for i, z := range residuals {
			residuals[i] = m.weights[i] * (m.y[i] - z + moved)
		}
		m.transposed(dst, residuals)
		kern.Axpy(-kern.Sum(residuals), m.mean, dst)
	}
}

// all returns the weights of all features.
func (m *Problem) all(w []float64) []float64 {
	out := make([]float64, m.p)
	for position, j := range m.set {
		out[j] = w[position]
	}
	return out
}

// Path solves for one penalty after another, each from the solution before.
type Path struct {
	*Problem
	Options
	q    quadratic
	g    []float64 // c − G·w at the last solution
	last float64   // l1 of the last solution
}

// NewPath returns a path that starts at zero weights.
func NewPath(m *Problem, o Options) *Path {
	t := &Path{Problem: m, Options: o, g: slices.Clone(m.c)}
	t.q.yy = m.yy
	for _, v := range m.c {
		t.last = max(t.last, math.Abs(v))
	}
	return t
}

// Solve returns the model for a penalty. Penalties should descend: the set for the next one starts
// with the features that the sequential strong rule leaves. All others are checked.
// (Tibshirani et al., J. R. Stat. Soc. B 74, 2012.)
func (t *Path) Solve(ctx context.Context, alpha float64) (solve.Linear, error) {
	q := &t.q
	alpha /= t.unit // scales l1 like the weights; l2 has no unit
	q.l1, q.l2, q.epochs = alpha*t.L1Ratio, alpha*t.unit*(1-t.L1Ratio), 0
	trivial := t.yy / 2
	tol := t.Tol * trivial
	strong := min(2*q.l1-t.last, q.l1)
	chosen := make([]bool, t.p)
	for j, g := range t.g {
		position := t.place[j]
		chosen[j] = position >= 0 && (position < len(q.w) && q.w[position] != 0 || math.Abs(g) >= strong)
	}
	var list []int
	converged, gap := true, 0.0
	for {
		t.grow()
		list = list[:0]
		for position, j := range t.set {
			if chosen[j] {
				list = append(list, position)
			}
		}
		var err error
		if converged, err = q.descend(ctx, list, tol, t.MaxIter-min(q.epochs, t.MaxIter-1)); err != nil {
			return solve.Linear{}, err
		}
		t.gradient(t.g, q)
		join, top := t.violations(chosen)
		if gap = q.gap(list, top); !converged || top <= q.l1*(1+1e-10) {
			break
		}
		if len(join) > 0 {
			if err := t.join(ctx, join); err != nil {
				return solve.Linear{}, err
			}
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
	w := t.all(q.w)
	b := (t.targetMean - kern.Dot(w, t.mean)) * t.unit
	kern.Scale(t.unit, w)
	return solve.NewLinear(w, []float64{b}, report)
}

// grow makes the quadratic problem one of all features of the set.
func (t *Path) grow() {
	q := &t.q
	q.gram = t.Problem.gram
	for position := len(q.w); position < len(t.set); position++ {
		j := t.set[position]
		q.c, q.w, q.r = append(q.c, t.c[j]), append(q.w, 0), append(q.r, t.g[j])
	}
}

// violations chooses the features whose gradient exceeds l1, and returns the largest gradient of the
// others, those that violated included. Features outside of the set are to join it first: those
// with the largest gradients, and some that may be needed for the next penalty.
func (t *Path) violations(chosen []bool) (join []int, top float64) {
	const batch, next, few, much = 32, 0.8, 128, 8192
	l1, missing := t.q.l1, 0
	for j, g := range t.g {
		g, position := math.Abs(g), t.place[j]
		if chosen[j] || position >= 0 && t.gram[position][position] == 0 {
			continue
		}
		top = max(top, g)
		switch {
		case position >= 0:
			chosen[j] = g > l1
		case g >= next*l1:
			if join = append(join, j); g > l1 {
				missing++
			}
		}
	}
	if missing == 0 {
		return nil, top
	}
	slices.SortStableFunc(join, func(i, j int) int { return cmp.Compare(math.Abs(t.g[j]), math.Abs(t.g[i])) })
	most := max(batch, t.q.support())
	if most*t.p > maxStored/4 {
		most = max(1, maxStored/4/t.p)
	}
	join = join[:min(len(join), most)]
	if n := len(t.set) + len(join); t.p <= few || n > t.p/4 && t.p <= much && storesRows(t.n, t.p) {
		join = join[:0]
		for j, position := range t.place {
			if position < 0 {
				join = append(join, j)
			}
		}
	}
	for _, j := range join {
		chosen[j] = math.Abs(t.g[j]) > l1
	}
	return join, top
}

// Cost estimates a fit with the rows in memory and a fifth of the features in the set.
func Cost(shape datasets.Shape) datasets.Cost {
	n, p := float64(shape.Rows), float64(shape.Cols)
	set := min(n, p)
	numbers := n*min(shape.Entries()*1.5, p) + 6*n + 6*p + min(p*set, maxStored) + min(set*set, maxStored)
	return datasets.Cost{Flops: 2*n*shape.Entries()*(4+set/5) + p*set, OutputWidth: 1,
		Bytes: design.Float64Bytes(numbers)}
}
