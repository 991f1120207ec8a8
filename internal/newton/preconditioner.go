package newton

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/leastsquares"
)

// Problem is the problem of one C on one fold for one output.
type Problem struct {
	Loss    Loss      // one whose second derivative is all in its curve
	Y       []float64 // of all rows
	Weights []float64 // of all rows, without C
	C       float64   // as it is searched for
	Factor  float64   // of the weights: C times the square of what features are multiples of columns by
	Width   int       // the columns it has, the first ones; variables of others stay 0

	curve []float64 // rows, of the last evaluation
}

// preconditioners are those of the problems of a batch, the widest first.
type preconditioners struct {
	ctx       context.Context
	intercept bool
	problems  []Problem
	list      []preconditioner
	fresh     bool // whether all variables are 0 at the evaluation that renews
	sample    int  // every sample-th row
}

// newPreconditioners returns one for each C and width, of n rows and d columns.
func newPreconditioners(ctx context.Context, intercept bool, problems []Problem, n, d float64) *preconditioners {
	a := &preconditioners{ctx: ctx, intercept: intercept, problems: problems, fresh: true}
	for p, o := range problems {
		at := slices.IndexFunc(a.list, func(l preconditioner) bool { return l.factor == o.Factor && l.width == o.Width })
		if at < 0 {
			at = len(a.list)
			a.list = append(a.list, preconditioner{c: o.C, factor: o.Factor, width: o.Width})
		}
		a.list[at].problems = append(a.list[at].problems, p)
	}
	slices.SortStableFunc(a.list, func(x, y preconditioner) int { return y.width - x.width })
	enough := min(n, max(4*d, 2048))
	a.sample = max(1, int(n/enough))
	return a
}

// preconditioner is that of one C and width.
type preconditioner struct {
	c        float64
	factor   float64
	width    int
	problems []int
	gram     *leastsquares.Moments
	lower    []float32 // factor of gram + I, nil where only the diagonal could be had
	open     bool      // whether any of its problems moved when preconditioners were asked for
	mean     []float64
	weight   float64
}

// open notes which have any of some problems.
func (a *preconditioners) open(problems []int) {
	for i := range a.list {
		l := &a.list[i]
		l.open = slices.ContainsFunc(problems, func(p int) bool { return slices.Contains(l.problems, p) })
	}
}

// widest returns the widest of those like one whose problems still move.
func (a *preconditioners) widest(l *preconditioner) *preconditioner {
	return &a.list[slices.IndexFunc(a.list, func(o preconditioner) bool { return o.open && o.c == l.c })]
}

// summed calls f for those that are added up anew: at first all are like the
// first, later only those are made whose problems still move, the widest of each C for all that are like it.
func (a *preconditioners) summed(f func(l *preconditioner) error) error {
	for i := range a.list {
		if l := &a.list[i]; l.open && (i == 0 || !a.fresh && a.widest(l) == l) {
			if err := f(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget begins new preconditioners.
func (a *preconditioners) forget() {
	a.summed(func(l *preconditioner) error {
		if l.gram == nil {
			l.gram = leastsquares.NewMoments(l.width, 0, a.intercept)
		}
		l.gram.Clear()
		return nil
	})
}

// addSample adds sampled rows of a block to the preconditioners.
func (a *preconditioners) addSample(first int, X mat.Matrix) error {
	rows, _ := X.Dims()
	var picked []int
	for i := (a.sample - first%a.sample) % a.sample; i < rows; i += a.sample {
		picked = append(picked, i)
	}
	if len(picked) == 0 {
		return nil
	}
	part := datasets.SelectRows(X, picked)
	return a.summed(func(l *preconditioner) error {
		return l.gram.Add(a.ctx, design.Leading(part, l.width), nil, a.mass(l, first, rows, picked))
	})
}

// mass returns the mean second derivative, over the problems of those like one and as if all had its factor, of some rows of a
// block.
func (a *preconditioners) mass(l *preconditioner, first, rows int, picked []int) []float64 {
	sum := make([]float64, len(picked))
	one, weights := make([]float64, rows), make([]float64, rows)
	alike := 0.0
	for p := range a.problems {
		o := &a.problems[p]
		if o.C != l.c {
			continue
		}
		alike++
		copy(weights, o.Weights[first:first+rows])
		kern.Scale(o.Factor, weights)
		o.Loss.mass(one, o.curve[first:][:rows], weights)
		for r, i := range picked {
			sum[r] += one[i] * float64(a.sample) * l.factor / o.Factor
		}
	}
	kern.Scale(1/alike, sum)
	return sum
}

// factorise makes the preconditioners of what was added up.
func (a *preconditioners) factorise() {
	for i := range a.list {
		l, of := &a.list[i], &a.list[0]
		if !a.fresh && l.open {
			of = a.widest(l)
		}
		if (a.fresh || l.open) && of != l {
			l.gram = of.gram.Leading(l.width)
			l.gram.Scale(l.factor / of.factor)
		}
	}
	a.fresh = false
	kern.Parallel(len(a.list), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if l := &a.list[i]; l.open {
				l.factorise(a.ctx)
			}
		}
	})
}

// factorise makes the factor, in single precision: it is read once for each product, and what it
// solves is right enough.
func (l *preconditioner) factorise(ctx context.Context) {
	l.weight = l.gram.Weight
	if !(l.weight > 0) {
		l.gram.Weight = 1
	}
	l.mean = l.gram.Mean()
	f, ok := l.gram.Factorise(ctx, 1)
	if !ok {
		l.lower = nil
		return
	}
	if l.lower == nil {
		l.lower = make([]float32, l.width*l.width)
	}
	design.Round(l.lower, f.Lower)
	for i := range l.width {
		if d := l.lower[i*l.width+i]; d-d != 0 {
			l.lower = nil
			return
		}
	}
}

// solve preconditions its problems among k on d features.
func (l *preconditioner) solve(ctx context.Context, dst, v []float64, k, d int, intercept bool) {
	var active []int
	for _, p := range l.problems {
		if !isZero(v, p, k) {
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
	if l.lower == nil {
		for i := range l.width {
			kern.Scale(1/(1+max(0, l.gram.Gram[i*l.width+i])), w[i*t:(i+1)*t])
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

// solve computes dst = M⁻¹·v, for k problems on d columns.
func (a *preconditioners) solve(dst, v []float64, k, d int) error {
	kern.Parallel(len(a.list), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a.list[i].solve(a.ctx, dst, v, k, d, a.intercept)
		}
	})
	return a.ctx.Err()
}

// renewal is about how many products of two numbers it took to make those whose problems move.
func (a *preconditioners) renewal(n float64) float64 {
	sum := 0.0
	for i := range a.list {
		l := &a.list[i]
		w := float64(l.width)
		if l.open {
			sum += w * w * w / 3
		}
		if l.open && a.widest(l) == l {
			sum += n / float64(a.sample) * w * w
		}
	}
	return sum
}

// isZero reports whether column p of k is 0.
func isZero(v []float64, p, k int) bool {
	for i := p; i < len(v); i += k {
		if v[i] != 0 {
			return false
		}
	}
	return true
}
