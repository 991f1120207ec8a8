// Package lasso fits linear models with an L1 penalty by coordinate descent, for one penalty or a
// path of them.
//
// Only few features have nonzero weights. The solver therefore works on a growing set of features,
// and checks the optimality conditions of all others. Coordinate descent updates residuals, one for
// each row, or the gradient of the set with the products of its features. Counts of operations
// decide: products are summed once sweeps and checks without them have cost as much.
package lasso

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
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
	root       []float64  // square roots of the weights
	mean       []float64  // of the features; 0 without an intercept
	targetMean float64
	unit       float64   // power of two by which targets are divided
	y          []float64 // centered, in units
	yy         float64
	c          []float64 // Σ s·x·y by feature, centered

	set     []int       // features in the order in which they joined
	place   []int       // of each feature in set, or -1
	columns []column    // the first features of the set
	gram    [][]float64 // products of the first features of the set with each other
	rows    [][]float64 // products of the first features of the set with all features
	sparse  []column    // all features of sparse rows

	swept, passed float64 // numbers read by sweeps and by checks since products were summed
}

const (
	// maxStored bounds the numbers of stored products.
	maxStored = 1 << 26
	// DenseProducts and sparseProducts are the products of features of a row that take the time of a
	// number of a sweep or a check: a sum of products reads the caches. Measured on Zen 3.
	DenseProducts, sparseProducts = 24, 1
	// Products of features are summed at once if they take the time of freeSweeps sweeps, as those of up
	// to 384 features of dense rows do. Others are once sweeps have taken patience times their time.
	freeSweeps = 16
	patience   = 2
)

// storesRows reports whether products with all features may be stored.
func (m *Problem) storesRows() bool {
	return !m.isSparse() && float64(m.p)*float64(min(m.n, m.p)) <= maxStored
}

// New centers the rows, which are in memory, and their targets.
func New(ctx context.Context, r *design.Rows, l *design.Labels, intercept bool) (*Problem, error) {
	m := &Problem{n: len(l.Y), p: r.Cols, x: design.ToFloat64(design.Native(r.Set.X)), weights: slices.Clone(l.Weights),
		unit: 1, mean: make([]float64, r.Cols), y: slices.Clone(l.Y), c: make([]float64, r.Cols),
		place: slices.Repeat([]int{-1}, r.Cols)}
	total := kern.Sum(m.weights)
	if !(total > 0) {
		return nil, errors.New("every weight is 0")
	}
	kern.Scale(1/total, m.weights)
	for _, s := range m.weights {
		m.root = append(m.root, math.Sqrt(s))
	}
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
	return m, ctxerr.Check(ctx)
}

// FromMoments returns the problem of a number of rows whose products are summed, with a single target. It takes over
// the sums. Several paths may use the problem, one after another.
func FromMoments(m *leastsquares.Moments, rows int) *Problem {
	products, c, yy := m.Centered()
	gram, set := rowsOf(products), make([]int, m.Cols)
	for j := range set {
		set[j] = j
	}
	return &Problem{n: rows, p: m.Cols, mean: m.Mean(), targetMean: m.TargetMean()[0], unit: 1, yy: yy, c: c,
		set: set, place: slices.Clone(set), gram: gram, rows: gram}
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

// sumProducts sums the products of the set that are missing.
func (m *Problem) sumProducts(ctx context.Context) error {
	old, list := len(m.gram), m.set[len(m.gram):]
	if len(list) == 0 {
		return nil
	}
	var own, cross [][]float64
	var err error
	switch {
	case len(m.rows) == len(m.set):
		own = m.rows[old:]
	case m.isSparse():
		own, err = m.sparseProducts(ctx, old)
	case old > 0 && len(m.rows) == old:
		own, _, _, err = m.products(ctx, list, nil)
	default:
		own, cross, _, err = m.products(ctx, list, m.set[:old])
	}
	if err != nil {
		return err
	}
	for a, j := range list {
		row := make([]float64, len(m.set), len(m.set)+len(m.set)/2)
		for position, k := range m.set {
			switch {
			case len(m.rows) == len(m.set):
				row[position] = own[a][k]
			case m.isSparse():
				row[position] = own[a][position]
			case position >= old:
				row[position] = own[a][position-old]
			case cross != nil:
				row[position] = cross[a][position]
			default:
				row[position] = m.rows[position][j]
			}
		}
		for b := range a { // symmetric, to the bit
			row[old+b] = m.gram[old+b][old+a]
		}
		m.gram = append(m.gram, row)
	}
	for position := range old {
		for a := range list {
			m.gram[position] = append(m.gram[position], m.gram[old+a][position])
		}
	}
	return nil
}

// constant reports whether a feature of a variance is constant up to rounding.
func (m *Problem) constant(j int, variance float64) bool {
	return variance <= (16+float64(m.n)/2)*0x1p-52*m.mean[j]*m.mean[j]
}

// products returns the products of the listed features with each other and with other features, and
// the sums of the listed features.
func (m *Problem) products(ctx context.Context, list, others []int) (own, cross [][]float64, sums []float64,
	err error) {
	const height = 512
	k, wide := len(list), len(list)+len(others)
	sum, with := square(k, k), square(k, len(others))
	sums = make([]float64, k)
	both, buffer := slices.Concat(list, others), make([]float64, min(height, m.n)*wide)
	slot := m.slots(both)
	for lo := 0; lo < m.n; lo += height {
		hi := min(lo+height, m.n)
		all := kern.Dense(hi-lo, wide, wide, buffer)
		m.gather(all, lo, both, slot)
		z := all.Slice(0, hi-lo, 0, k)
		kern.MulVecT(sums, z, m.weights[lo:hi], true)
		if err = kern.Gram(ctx, sum, z, m.weights[lo:hi]); err == nil && len(others) > 0 {
			scaleRows(z, m.weights[lo:hi])
			err = kern.MulContext(ctx, with, z.T(), all.Slice(0, hi-lo, k, wide), true)
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	kern.MirrorLower(sum)
	return rowsOf(sum), rowsOf(with), sums, nil
}

// sumRows sums the missing products of the set with all features if they cost less than the passes of
// checks over the rows, which they replace.
func (m *Problem) sumRows(ctx context.Context) error {
	const height, packing = 512, 3
	list := m.set[len(m.rows):]
	cost := m.whole() * (packing + 2*float64(len(list))/DenseProducts)
	if len(list) == 0 || len(m.set) == m.p || !m.storesRows() || cost > m.passed {
		return nil
	}
	m.passed -= cost
	k, out, sums := len(list), square(len(list), m.p), make([]float64, len(list))
	buffer, slot := make([]float64, min(height, m.n)*k), m.slots(list)
	for lo := 0; lo < m.n; lo += height {
		hi := min(lo+height, m.n)
		z := kern.Dense(hi-lo, k, k, buffer)
		m.gather(z, lo, list, slot)
		scaleRows(z, m.weights[lo:hi])
		for i := range z.Rows {
			kern.Axpy(1, z.Row(i), sums)
		}
		err := kern.MulContext(ctx, out, z.T(), design.View(m.x.(*mat.Dense)).Slice(lo, hi, 0, m.p), true)
		if err != nil {
			return err
		}
	}
	for a, row := range rowsOf(out) { // what rounding of the means has left
		kern.Axpy(-sums[a], m.mean, row)
		m.rows = append(m.rows, row)
	}
	return nil
}

func square(rows, columns int) kern.View[float64] {
	return kern.Dense(rows, columns, columns, kern.MakeLarge[float64](rows*columns))
}

func rowsOf(v kern.View[float64]) (out [][]float64) {
	for i := range v.Rows {
		out = append(out, slices.Clip(v.Row(i)))
	}
	return out
}

// scaleRows multiplies each row by its weight.
func scaleRows(z kern.View[float64], weights []float64) {
	for i := range z.Rows {
		kern.Scale(weights[i], z.Row(i))
	}
}

// slots returns 1 plus the position of each feature in the list, or 0.
func (m *Problem) slots(list []int) []int32 {
	slot := make([]int32, m.p)
	for a, j := range list {
		slot[j] = int32(a) + 1
	}
	return slot
}

// gather writes the centered values of the listed features in the rows from lo on, given the
// slots of the list.
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

// Cost estimates a fit with the rows in memory and a fifth of the features in the set.
func Cost(shape datasets.Shape) datasets.Cost {
	n, p := float64(shape.Rows), float64(shape.Cols)
	set := min(n, p)
	numbers := n*min(shape.Entries()*3, p+set) + 6*n + 6*p + min(p*set, maxStored) + min(set*set, maxStored)
	return datasets.Cost{Flops: 2*n*shape.Entries()*(4+set/5) + p*set, OutputWidth: 1,
		Bytes: design.Float64Bytes(numbers)}
}
