package estimator

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/leastsquares"
)

// level is the preconditioner of one C and width.
type level struct {
	factor   float64
	width    int
	problems []int
	gram     *leastsquares.Moments
	lower    []float32 // factor of gram + I, nil where only the diagonal could be had
	open     bool      // whether any of its problems moved when preconditioners were asked for
	mean     []float64
	weight   float64
}

// open notes which levels have any of some problems.
func (a *abreast) open(problems []int) {
	for i := range a.levels {
		l := &a.levels[i]
		l.open = slices.ContainsFunc(problems, func(p int) bool { return slices.Contains(l.problems, p) })
	}
}

// summed calls f for the levels whose preconditioners are added up anew: at first all are like the
// first, later only those are made whose problems still move.
func (a *abreast) summed(f func(l *level) error) error {
	for i := range a.levels {
		if l := &a.levels[i]; l.open && (i == 0 || !a.fresh) {
			if err := f(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget begins new preconditioners.
func (a *abreast) forget() {
	a.summed(func(l *level) error {
		if l.gram == nil {
			l.gram = leastsquares.NewMoments(l.width, 0, a.intercept)
		}
		l.gram.Clear()
		return nil
	})
}

// addSample adds sampled rows of a block to the preconditioners.
func (a *abreast) addSample(first int, X *mat.Dense) error {
	rows, d := X.Dims()
	var kept []int
	for i := (a.sample - first%a.sample) % a.sample; i < rows; i += a.sample {
		kept = append(kept, i)
	}
	if len(kept) == 0 {
		return nil
	}
	part := mat.NewDense(len(kept), d, nil)
	for r, i := range kept {
		part.SetRow(r, X.RawRowView(i))
	}
	return a.summed(func(l *level) error {
		return l.gram.Add(a.ctx, part.Slice(0, len(kept), 0, l.width), nil, a.mass(l, first, rows, kept))
	})
}

// mass returns the mean second derivative, over the problems of a level, of some rows of a block.
func (a *abreast) mass(l *level, first, rows int, kept []int) []float64 {
	sum := make([]float64, len(kept))
	one, weights := make([]float64, rows), make([]float64, rows)
	for _, p := range l.problems {
		o := &a.problems[p]
		copy(weights, o.weights[first:first+rows])
		kern.Scale(o.factor, weights)
		o.loss.mass(one, a.curve[p*a.rows.N+first:][:rows], weights)
		for r, i := range kept {
			sum[r] += one[i] * float64(a.sample) / float64(len(l.problems))
		}
	}
	return sum
}

// factorise makes the preconditioners of what was added up.
func (a *abreast) factorise() {
	if a.fresh {
		first := a.levels[0]
		for i := range a.levels[1:] {
			l := &a.levels[i+1]
			l.gram = first.gram.Leading(l.width)
			l.gram.Scale(l.factor / first.factor)
		}
		a.fresh = false
	}
	kern.Parallel(len(a.levels), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if l := &a.levels[i]; l.open {
				l.factorise(a.ctx)
			}
		}
	})
}

// factorise makes the factor, in single precision: it is read once for each product, and what it
// solves is right enough.
func (l *level) factorise(ctx context.Context) {
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

// solve preconditions the level's problems among k on d features.
func (l *level) solve(ctx context.Context, dst, v []float64, k, d int, intercept bool) {
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
