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

// preconditioners are the preconditioners of a batch, by descending width: Cholesky factors of
// Σ s_i·loss″_i·(x_i−x̄)(x_i−x̄)ᵀ + I, centered to eliminate b, over a sample of the rows. They are
// summed during an evaluation and renewed when CG needs many products.
//
// Problems of a batch with equal C and features share a float32 factor. The mean of loss″ is taken
// over all problems with the same C, whatever their features, since similar predictions have similar
// curvatures. The first factor uses the curvature at 0.
//
// All outputs of a single task share a float64 factor, until a matrix per class pays (see
// [coupled]). If the matrix is too large, its diagonal is used.
type preconditioners struct {
	ctx        context.Context
	intercept  bool
	list       []preconditioner
	initial    bool // whether the next renewal is at zero
	renew      bool // whether the next evaluation renews preconditioners
	sampleStep int  // every sampleStep-th row

	// Of a single task:
	single       bool
	outputs      int
	unpenalized  bool
	usesMatrix   bool // a matrix, not a diagonal
	renewAfter   int  // Hessian products that cost as much as a renewal
	coupledAfter int  // products that cost as much as a matrix per class, 0 if unavailable
	useCoupled   bool // whether a matrix per class is used
	coupled      *coupled
}

// newPreconditioners returns a preconditioner per C and width, for n rows and d columns.
func newPreconditioners(ctx context.Context, intercept bool, problems []Problem, n, d float64) *preconditioners {
	a := &preconditioners{ctx: ctx, intercept: intercept, initial: true, renew: true, usesMatrix: true}
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

// Largest numbers of columns with a factored preconditioner, dense and sparse.
const (
	maxFactorColumns       = 8192
	MaxSparseFactorColumns = 512
)

// planSingle chooses the preconditioner of a single task of outputs scores per row by its cost
// relative to a pass over n rows of d columns.
func (a *preconditioners) planSingle(n, d, outputs float64, sparse, softmax bool) {
	a.single, a.outputs = true, int(outputs)
	few := d > MaxSparseFactorColumns && n < 0.3*d // n CG steps cost less than a factor
	if sparse && d > MaxSparseFactorColumns || d > maxFactorColumns || few {
		a.usesMatrix, a.sampleStep, a.renewAfter = false, 1, 20
		return
	}
	pass := 4 * n * d * gemmEquivalent(outputs)
	// More sampled rows save products up to about 32 rows per column. A renewal may therefore cost
	// as much as one product.
	picked := min(n, max(4*d, 2e9/(d*d), 2048, min(32*d, pass/(d*d))))
	a.sampleStep = max(1, int(n/picked))
	if a.sampleStep < 3 && n*d*d < 8e9 {
		a.sampleStep = 1
	}
	cost := n/float64(a.sampleStep)*d*d + d*d*d/3
	a.renewAfter = 1 + int(cost/pass)
	if softmax && shouldCouple(n, d, outputs) {
		a.sampleStep = max(1, int(n/max(picked, min(n, coupledRowsPerColumn*outputs*d))))
		a.coupledAfter = 1 + int(coupledFlops(n/float64(a.sampleStep), d, outputs)/pass)
	}
}

// gemmEquivalent returns the number of GEMM outputs that take as long as the given outputs of a
// pass (measured). One or two outputs are memory-bound. A few cost as much as a full panel. Many
// are nearly as fast as GEMM.
func gemmEquivalent(outputs float64) float64 {
	if outputs <= 2 {
		return 5 * outputs
	}
	return max(12, 1.4*outputs)
}

// preconditioner belongs to one C and width.
type preconditioner struct {
	c        float64
	factor   float64
	width    int
	problems []int
	gram     *leastsquares.Moments // nil if it uses the sums of another
	lower    []float32             // Cholesky factor of a batch
	exact    *leastsquares.Factor  // of a single task
	diagonal []float64             // used if there is no factor, followed by that of the intercept
	scale    float64               // ratio of the matrix to the factored one
	mean     []float64
	weight   float64

	stale        bool // to be renewed
	maxActive    int  // largest number of its problems in a product of the last step
	productCount int  // products of the last step
}

// advance marks as stale the preconditioners whose last step cost as much in products as a renewal,
// of n rows and d columns. math.MaxInt marks all as stale. A single task switches to a matrix per
// class if that pays.
func (a *preconditioners) advance(products int, n, d float64) {
	switch {
	case a.single:
		a.useCoupled = a.coupledAfter > 0 && products < math.MaxInt && (a.useCoupled || products > a.coupledAfter)
		a.renew = products > a.renewAfter
		if a.useCoupled {
			a.renew = products > a.coupledAfter
		}
	case products == math.MaxInt:
		a.markAllStale()
	default:
		a.renew = a.markStale(n, d)
	}
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
	a.renew = true
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
	if a.useCoupled {
		if l := &a.list[0]; a.coupled == nil {
			a.coupled = newCoupled(l.width, a.outputs, a.intercept)
		}
		a.coupled.reset()
		return
	}
	a.eachSummed(func(l *preconditioner) error {
		if !a.usesMatrix {
			l.diagonal = make([]float64, l.width+1)
			return nil
		}
		if l.gram == nil {
			l.gram = leastsquares.NewMoments(l.width, 0, a.intercept)
		}
		l.gram.Clear()
		return nil
	})
}

// addSample adds the sampled rows of a block that begins at row first, which is row at of the
// problems.
func (a *preconditioners) addSample(problems []Problem, at, first int, X mat.Matrix) error {
	rows, _ := X.Dims()
	if a.useCoupled {
		o := &problems[0]
		return a.coupled.add(a.ctx, X, first, a.sampleStep, o.curve[at*o.outputs:(at+rows)*o.outputs], o.Weights[at:at+rows])
	}
	picked := sampledRows(a.sampleStep, first, rows)
	if len(picked) == 0 {
		return nil
	}
	if len(picked) < rows {
		X = rowblock.Select(X, picked)
	}
	return a.eachSummed(func(l *preconditioner) error {
		mass := a.meanCurvature(l, problems, at, rows, picked)
		if !a.usesMatrix {
			l.diagonal[l.width] += kern.Sum(mass)
			design.AddSquares(l.diagonal, X, mass)
			return nil
		}
		return l.gram.Add(a.ctx, design.LeadingColumns(X, l.width), nil, mass)
	})
}

// meanCurvature returns the second derivatives of the picked rows of a block, averaged over the
// problems with the same C, for the features and weights of l.
func (a *preconditioners) meanCurvature(l *preconditioner, problems []Problem, at, rows int, picked []int) []float64 {
	sum := make([]float64, len(picked))
	one, weights := make([]float64, rows), make([]float64, rows)
	count := 0.0
	for p := range problems {
		o := &problems[p]
		if o.C != l.c {
			continue
		}
		count++
		copy(weights, o.Weights[at:at+rows])
		kern.Scale(o.WeightFactor, weights)
		o.Loss.rowCurvature(one, o.curve[at*o.outputs:(at+rows)*o.outputs], weights)
		for r, i := range picked {
			sum[r] += one[i] / o.WeightFactor
		}
	}
	kern.Scale(float64(a.sampleStep)/count, sum)
	kern.Scale(l.factor, sum)
	return sum
}

// factorize computes the stale preconditioners from the sums.
func (a *preconditioners) factorize() {
	a.renew = false
	if a.useCoupled {
		if a.coupled.factorize(a.ctx) {
			return
		}
		a.list[0].exact, a.list[0].scale, a.list[0].diagonal = nil, 1, a.coupled.diagonal()
		a.coupled, a.useCoupled, a.coupledAfter = nil, false, 0
		return
	}
	sums := make([]*preconditioner, len(a.list)) // source of each, nil if not stale
	for i := range a.list {
		if l := &a.list[i]; l.stale {
			sums[i] = a.source(l)
		}
	}
	kern.Parallel(len(a.list), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if l, of := &a.list[i], sums[i]; of != nil {
				l.scale = l.factor / of.factor
				if a.usesMatrix && l.factorize(a, *of.gram) {
					continue
				}
				for j, v := range l.diagonal[:l.width] {
					if !a.unpenalized || v == 0 { // without a penalty only columns that are 0 change
						l.diagonal[j] += 1 / l.scale
					}
				}
				l.diagonal[l.width] = max(l.diagonal[l.width], 1e-300)
			}
		}
	})
	a.initial = false
}

// factorize computes the Cholesky factor of gram + I/scale for the leading columns. The
// preconditioner is scale times that matrix. If Cholesky fails, it sets the diagonal of gram and
// returns false.
func (l *preconditioner) factorize(a *preconditioners, gram leastsquares.Moments) (ok bool) {
	weight := gram.Weight
	if l.weight = l.scale * weight; !(weight > 0) {
		gram.Weight = 1 // no curvature: factor I
	}
	l.mean, l.diagonal = gram.Mean()[:l.width], nil
	switch {
	case !a.single:
		if l.lower == nil {
			l.lower = make([]float32, l.width*l.width)
		}
		ok = gram.FactorizeLeading(a.ctx, 1/l.scale, l.width, l.lower)
	case a.unpenalized:
		const part = 1e-11 // keeps the factor positive definite
		l.exact, ok = gram.FactorizeScaled(a.ctx, part)
	default:
		l.exact, ok = gram.Factorize(a.ctx, 1)
	}
	if ok {
		return true
	}
	l.diagonal = make([]float64, l.width+1)
	for j := range l.width {
		l.diagonal[j] = max(0, gram.Gram[j*gram.Cols+j])
	}
	l.diagonal[l.width] = weight
	return false
}

// solve applies the preconditioner to its problems among k problems on d features.
func (l *preconditioner) solve(ctx context.Context, dst, v []float64, k, d int) {
	var active []int
	for _, p := range l.problems {
		if !columnIsZero(v, p, k) {
			active = append(active, p)
		}
		for i := p; i < len(v); i += k {
			dst[i] = 0
		}
	}
	rows := l.width + len(v)/k - d // with that of the intercept
	row := func(i int) int {
		if i == l.width {
			return d * k
		}
		return i * k
	}
	t := len(active)
	x := make([]float64, rows*t)
	for i := range rows {
		for j, p := range active {
			x[i*t+j] = v[row(i)+p]
		}
	}
	l.apply(ctx, x, t)
	for i := range rows {
		for j, p := range active {
			dst[row(i)+p] = x[i*t+j]
		}
	}
}

// apply overwrites x, width × t, followed by intercepts if there are any, with the solutions. With
// the centered factor A, w = A⁻¹(v_w − x̄·v_b) and b = v_b/Σs − x̄ᵀw.
func (l *preconditioner) apply(ctx context.Context, x []float64, t int) (err error) {
	if l.diagonal != nil {
		for i := range x {
			x[i] /= l.scale * l.diagonal[i/t]
		}
		return nil
	}
	w, b := x[:l.width*t], x[l.width*t:]
	if len(b) > 0 {
		for i, m := range l.mean {
			kern.Axpy(-m, b, w[i*t:(i+1)*t])
		}
	}
	if l.exact != nil {
		err = l.exact.Solve(ctx, w, t)
	} else {
		short := make([]float32, len(w))
		design.Round(short, w)
		err = kern.SolveCholesky(ctx, kern.Dense(l.width, l.width, l.width, l.lower), kern.Dense(l.width, t, t, short))
		design.Widen(w, short)
		kern.Scale(1/l.scale, w)
	}
	if err != nil || len(b) == 0 {
		return err
	}
	kern.Scale(1/math.Max(l.weight, 1e-300), b)
	for i, m := range l.mean {
		kern.Axpy(-m, w[i*t:(i+1)*t], b)
	}
	return nil
}

// solve computes dst = M⁻¹·v for k outputs on d columns.
func (a *preconditioners) solve(dst, v []float64, k, d int) error {
	switch {
	case a.useCoupled:
		return a.coupled.solve(a.ctx, dst, v, a.intercept)
	case a.single:
		copy(dst, v)
		return a.list[0].apply(a.ctx, dst, k)
	}
	kern.Parallel(len(a.list), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a.list[i].solve(a.ctx, dst, v, k, d)
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
