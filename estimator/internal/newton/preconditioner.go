package newton

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Problem is the problem of one C, fold and output.
type Problem struct {
	Loss         Loss      // second derivative depends only on curve
	Y            []float64 // all rows
	Weights      []float64 // all rows, without C
	C            float64   // as searched
	WeightFactor float64   // C times the squared scale of the features
	Width        int       // leading columns used; other variables stay 0

	curve []float64 // by row, of the last evaluation
}

// preconditioners are the preconditioners of a batch, by descending width.
type preconditioners struct {
	ctx        context.Context
	intercept  bool
	problems   []Problem
	list       []preconditioner
	initial    bool // whether the next renewal is at zero
	sampleStep int  // every sampleStep-th row
}

// newPreconditioners returns a preconditioner per C and width, for n rows and d columns.
func newPreconditioners(ctx context.Context, intercept bool, problems []Problem, n, d float64) *preconditioners {
	a := &preconditioners{ctx: ctx, intercept: intercept, problems: problems, initial: true}
	for p, o := range problems {
		at := slices.IndexFunc(a.list, func(l preconditioner) bool {
			return l.factor == o.WeightFactor && l.width == o.Width
		})
		if at < 0 {
			at = len(a.list)
			a.list = append(a.list, preconditioner{c: o.C, factor: o.WeightFactor, width: o.Width, stale: true})
		}
		a.list[at].problems = append(a.list[at].problems, p)
	}
	slices.SortStableFunc(a.list, func(x, y preconditioner) int { return y.width - x.width })
	a.sampleStep = sampleInterval(n, d)
	return a
}

// sampleInterval returns the sampling interval for n rows and d columns.
func sampleInterval(n, d float64) int {
	enough := min(n, max(4*d, 2048))
	return max(1, int(n/enough))
}

// preconditioner belongs to one C and width.
type preconditioner struct {
	c        float64
	factor   float64
	width    int
	problems []int
	gram     *leastsquares.Moments // nil if it uses the sums of another
	lower    []float32             // Cholesky factor
	diagonal []float64             // used if Cholesky fails
	scale    float64               // ratio of the matrix to the factored one
	mean     []float64
	weight   float64

	stale        bool // to be renewed
	maxActive    int  // largest number of its problems in a product of the last step
	productCount int  // products of the last step
}

// countProducts records a product with the active problems.
func (a *preconditioners) countProducts(active []int) {
	for i := range a.list {
		l, n := &a.list[i], 0
		for _, p := range l.problems {
			if slices.Contains(active, p) {
				n++
			}
		}
		if n > 0 {
			l.productCount++
			l.maxActive = max(l.maxActive, n)
		}
	}
}

// markStale marks as stale the preconditioners whose last step cost as much in products as a
// renewal, jointly for each C. It reports whether there are any.
func (a *preconditioners) markStale(n, d float64) (any bool) {
	all := 0.0
	for _, l := range a.list {
		all += float64(l.maxActive)
	}
	for i := range a.list {
		l := &a.list[i]
		l.stale = false
		products, making, numbers, problems := 0, 0.0, 0.0, 0.0 // over the preconditioners with equal C
		for _, o := range a.list {
			if o.c != l.c || o.productCount == 0 {
				continue
			}
			w := float64(o.width)
			if making == 0 { // the widest
				making = n / float64(a.sampleStep) * w * w
			}
			products = max(products, o.productCount)
			making += w * w * w / 3
			numbers += w * float64(o.maxActive)
			problems += float64(o.maxActive)
		}
		const few = 50 // few problems are memory-bound
		pass := n * max(4*numbers, few*d*problems/max(all, 1))
		l.stale = l.productCount > 0 && float64(products) > 1+0.3*making/pass
		any = any || l.stale
	}
	a.resetCounts()
	return any
}

// markAllStale marks all preconditioners stale.
func (a *preconditioners) markAllStale() {
	for i := range a.list {
		a.list[i].stale = true
	}
	a.resetCounts()
}

// resetCounts clears the product counts.
func (a *preconditioners) resetCounts() {
	for i := range a.list {
		a.list[i].productCount, a.list[i].maxActive = 0, 0
	}
}

// widestStale returns the widest stale preconditioner with the same C, whose sums the others share.
func (a *preconditioners) widestStale(l *preconditioner) *preconditioner {
	return &a.list[slices.IndexFunc(a.list, func(o preconditioner) bool { return o.stale && o.c == l.c })]
}

// source returns the preconditioner whose sums l uses.
func (a *preconditioners) source(l *preconditioner) *preconditioner {
	if a.initial {
		return &a.list[0]
	}
	return a.widestStale(l)
}

// eachSummed calls f for the preconditioners that need new sums. Initially that is the first; later
// the widest stale one of each C.
func (a *preconditioners) eachSummed(f func(l *preconditioner) error) error {
	for i := range a.list {
		if l := &a.list[i]; l.stale && a.source(l) == l {
			if err := f(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// resetSums clears the sums of stale preconditioners.
func (a *preconditioners) resetSums() {
	a.eachSummed(func(l *preconditioner) error {
		if l.gram == nil {
			l.gram = leastsquares.NewMoments(l.width, 0, a.intercept)
		}
		l.gram.Clear()
		return nil
	})
}

// addSample adds the sampled rows of a block.
func (a *preconditioners) addSample(first int, X mat.Matrix) error {
	rows, _ := X.Dims()
	picked := sampledRows(a.sampleStep, first, rows)
	if len(picked) == 0 {
		return nil
	}
	sampled := rowblock.Select(X, picked)
	return a.eachSummed(func(l *preconditioner) error {
		return a.addTo(l, sampled, a.meanCurvature(l, first, rows, picked))
	})
}

// addTo adds rows with the given curvatures, which it overwrites, to the sums of l.
func (a *preconditioners) addTo(l *preconditioner, X mat.Matrix, mass []float64) error {
	kern.Scale(l.factor, mass)
	return l.gram.Add(a.ctx, design.LeadingColumns(X, l.width), nil, mass)
}

// meanCurvature returns the second derivatives of the picked rows of a block, averaged over the
// problems with the same C and divided by WeightFactor.
func (a *preconditioners) meanCurvature(l *preconditioner, first, rows int, picked []int) []float64 {
	sum := make([]float64, len(picked))
	one, weights := make([]float64, rows), make([]float64, rows)
	problems := 0.0
	for p := range a.problems {
		o := &a.problems[p]
		if o.C != l.c {
			continue
		}
		problems++
		copy(weights, o.Weights[first:first+rows])
		kern.Scale(o.WeightFactor, weights)
		o.Loss.rowCurvature(one, o.curve[first:][:rows], weights)
		for r, i := range picked {
			sum[r] += one[i] / o.WeightFactor
		}
	}
	kern.Scale(float64(a.sampleStep)/problems, sum)
	return sum
}

// factorize computes the stale preconditioners from the sums.
func (a *preconditioners) factorize() {
	sums := make([]*preconditioner, len(a.list)) // source of each, nil if not stale
	for i := range a.list {
		if l := &a.list[i]; l.stale {
			sums[i] = a.source(l)
		}
	}
	kern.Parallel(len(a.list), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if of := sums[i]; of != nil {
				a.list[i].factorize(a.ctx, *of.gram, a.list[i].factor/of.factor)
			}
		}
	})
	a.initial = false
}

// factorize computes the float32 Cholesky factor of gram + I/scale for the leading columns. The
// preconditioner is scale times that matrix.
func (l *preconditioner) factorize(ctx context.Context, gram leastsquares.Moments, share float64) {
	l.scale, l.weight = share, share*gram.Weight
	if !(gram.Weight > 0) {
		gram.Weight = 1
	}
	l.mean, l.diagonal = gram.Mean()[:l.width], nil
	if l.lower == nil {
		l.lower = make([]float32, l.width*l.width)
	}
	if gram.FactorizeLeading(ctx, 1/share, l.width, l.lower) {
		return
	}
	l.diagonal = make([]float64, l.width)
	for i := range l.diagonal {
		l.diagonal[i] = 1/share + max(0, gram.Gram[i*gram.Cols+i])
	}
}

// solve applies the preconditioner to its problems among k problems on d features.
func (l *preconditioner) solve(ctx context.Context, dst, v []float64, k, d int, intercept bool) {
	var active []int
	for _, p := range l.problems {
		if !columnIsZero(v, p, k) {
			active = append(active, p)
			continue
		}
		for i := p; i < len(v); i += k {
			dst[i] = 0
		}
	}
	t := len(active)
	w, b := make([]float64, l.width*t), make([]float64, t)
	for j, p := range active {
		for i := range l.width {
			w[i*t+j] = v[i*k+p]
		}
		if intercept {
			b[j] = v[d*k+p]
		}
	}
	if l.diagonal != nil {
		for i, v := range l.diagonal {
			kern.Scale(1/(l.scale*v), w[i*t:(i+1)*t])
		}
		kern.Scale(1/math.Max(l.weight, 1e-300), b)
	} else {
		if intercept {
			for i, m := range l.mean {
				kern.Axpy(-m, b, w[i*t:(i+1)*t])
			}
		}
		short := make([]float32, len(w))
		design.Round(short, w)
		kern.SolveCholesky(ctx, kern.Dense(l.width, l.width, l.width, l.lower), kern.Dense(l.width, t, t, short))
		design.Widen(w, short)
		kern.Scale(1/l.scale, w)
		if intercept {
			kern.Scale(1/math.Max(l.weight, 1e-300), b)
			for i, m := range l.mean {
				kern.Axpy(-m, w[i*t:(i+1)*t], b)
			}
		}
	}
	for j, p := range active {
		for i := range d {
			dst[i*k+p] = 0
			if i < l.width {
				dst[i*k+p] = w[i*t+j]
			}
		}
		if intercept {
			dst[d*k+p] = b[j]
		}
	}
}

// solve computes dst = M⁻¹·v for k problems on d columns.
func (a *preconditioners) solve(dst, v []float64, k, d int) error {
	kern.Parallel(len(a.list), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a.list[i].solve(a.ctx, dst, v, k, d, a.intercept)
		}
	})
	return ctxerr.Check(a.ctx)
}

// columnIsZero reports whether column p of k is 0.
func columnIsZero(v []float64, p, k int) bool {
	for i := p; i < len(v); i += k {
		if v[i] != 0 {
			return false
		}
	}
	return true
}

// sampledRows lists every every-th row of a block that begins at row first.
func sampledRows(every, first, rows int) (list []int) {
	for i := (every - first%every) % every; i < rows; i += every {
		list = append(list, i)
	}
	return list
}
