// Package evidence learns a length scale per input (automatic relevance determination). It
// maximizes the evidence of a Gaussian process on random Fourier features or with the exact kernel,
// or minimizes the leave-one-out error.
//
// With m frequencies W drawn for unit scales, and scales s, the features of a row are
//
//	z(x) = sqrt(1/m)·[cos w₁ᵀ(s∘x), sin w₁ᵀ(s∘x), …],  D = 2m
//
// and the targets y have covariance K = a·ZZᵀ + σ²I, with amplitude a and noise σ². J is the
// negative log evidence, summed over the outputs. With A = aZᵀZ + σ²I, b = A⁻¹Zᵀy and α = K⁻¹y,
//
//	J       = Σ ½(σ²‖α‖² + a‖b‖²) + ½·log|A| + ½(n − D)·log σ² + ½n·log 2π
//	dJ/dZ   = a·Σ (ZA⁻¹ − αbᵀ)
//	dJ/dlog s_j = s_j·Σ_k W_jk·Σ_i x_ij·dJ/dangle_ik
//
// With fewer rows than features, the smaller matrix K is factored. The scales of irrelevant inputs
// tend to 0, since fitting noise lowers the evidence.
//
// [Problem] is the data, [New] returns its [Objective] in either precision, and [Minimize]
// optimizes it with different frequencies in each step. [Exact] uses the exact kernel, for few
// rows.
//
// Sources: Rasmussen and Williams, "Gaussian processes for machine learning", 2006, chapter 5;
// Lázaro-Gredilla et al., "Sparse spectrum gaussian process regression", JMLR 2010.
package evidence

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Problem is a set of rows, targets and frequencies.
type Problem struct {
	X           mat.Matrix // n×d, a *mat.Dense or *matrices.CSR
	Y           *mat.Dense // n×outputs, each of mean 0
	Frequencies *mat.Dense // d×m, for unit scales; [Minimize] sets its own
	Group       []int      // d, index of the scale of each input; nil for one scale per input
	LeaveOneOut bool       // minimize the mean squared leave-one-out error instead

	KeepNoise, KeepAmplitude bool // for [Minimize]: fix these
}

// Scales returns the number of scales.
func (p Problem) Scales() int {
	if p.Group == nil {
		_, d := p.X.Dims()
		return d
	}
	largest := -1
	for _, g := range p.Group {
		largest = max(largest, g)
	}
	return largest + 1
}

// group returns the index of input j's scale.
func (p Problem) group(j int) int {
	if p.Group == nil {
		return j
	}
	return p.Group[j]
}

// Objective is J as a function of the logarithms of scales, noise and amplitude, in this order.
// Large matrix products are in T. It reuses its buffers and is not safe for concurrent use.
type Objective[T kern.Float] struct {
	Problem
	x       kern.View[T]    // dense rows
	entries *kern.Sparse[T] // sparse rows
	n, m, D int
	q       int
	order   int // order of the smaller of K and A

	scaled kern.View[T] // d×m, scaled frequencies
	z      kern.View[T] // n×D, features; additional factors of the slope to the right or below
	angles kern.View[T] // n×m, angles of sparse rows, then derivatives by the angles
	gradW  kern.View[T] // d×m, Xᵀ·angles

	factored kern.View[float64] // Gram matrix, then the Cholesky factor of K or A
	root     kern.View[T]       // inverse of the Cholesky factor
	inverse  kern.View[T]       // inverse of K or A; additional factors of the slope to the right or below
	alpha, b kern.View[float64] // q×n, K⁻¹y, and q×D, ZᵀK⁻¹y
	system   system[T]

	// For the leave-one-out error.
	kinvZ       kern.View[T]       // n×D, K⁻¹Z, if A is factored
	u           kern.View[float64] // q×n
	kappa       []float64          // n, diagonal of K⁻¹
	weights     []T                // n, diagonal of V
	rowProducts []float64          // n, products of the rows of features and slope
}

// system solves with K or A. Σ is over the outputs.
type system[T kern.Float] interface {
	// factor computes the features, the inverse matrix, b, and α if b depends on it. It returns
	// whether the matrix is positive definite, log |K|, and the degrees of freedom of the fit.
	factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet, free float64, err error)
	// evidence returns factors of Σ (K⁻¹Z − αbᵀ), followed by α unless factor computed it.
	evidence(noise, amplitude float64) (left, right kern.View[T])
	// diagonal computes κ and α.
	diagonal(ctx context.Context, noise, amplitude float64) error
	// looFactors returns factors of 2K⁻¹VK⁻¹Z − Σ p(Zᵀα)ᵀ − Σ α(Zᵀp)ᵀ with p = K⁻¹u, without
	// V·kinvZ if kinvZ is used.
	looFactors(ctx context.Context, noise, amplitude float64) (left, right kern.View[T], err error)
}

// New returns the objective of a problem.
func New[T kern.Float](p Problem) *Objective[T] {
	n, d := p.X.Dims()
	_, q := p.Y.Dims()
	_, m := p.Frequencies.Dims()
	o := &Objective[T]{Problem: p, n: n, m: m, D: 2 * m, q: q}
	switch X := p.X.(type) {
	case *matrices.CSR:
		o.entries = sparseToPrecision[T](X)
	case *mat.Dense:
		o.x = toPrecision[T](X)
	}
	o.scaled, o.gradW, o.angles = newMatrix[T](d, m), newMatrix[T](d, m), newMatrix[T](n, m)
	o.alpha, o.b = newMatrix[float64](q, n), newMatrix[float64](q, o.D)
	extra := q
	if p.LeaveOneOut {
		extra = 2 * q
		o.u = newMatrix[float64](q, n)
		o.kappa, o.rowProducts, o.weights = make([]float64, n), make([]float64, n), make([]T, n)
	}
	if n < o.D {
		o.system, o.order = dual[T]{o}, n
		o.z, o.inverse = newMatrix[T](n+extra, o.D), newMatrix[T](n, n+extra)
		o.factored = newMatrix[float64](n, n)
	} else {
		o.system, o.order = primal[T]{o}, o.D
		o.z, o.inverse = newMatrix[T](n, o.D+extra), newMatrix[T](o.D+extra, o.D+q)
		o.factored = newMatrix[float64](o.D+q, o.D+q)
		for i := range n {
			design.Round(o.z.Row(i)[o.D:o.D+q], p.Y.RawRowView(i))
		}
		if p.LeaveOneOut {
			o.kinvZ = newMatrix[T](n, o.D)
		}
	}
	o.root = newMatrix[T](o.order, o.order)
	return o
}

// newMatrix returns a zero matrix whose rows start at cache lines.
func newMatrix[T kern.Float](rows, cols int) kern.View[T] {
	const line = 16
	stride := (cols + line - 1) / line * line
	return kern.Dense(rows, cols, stride, make([]T, rows*stride))
}

func toPrecision[T kern.Float](m *mat.Dense) kern.View[T] {
	n, d := m.Dims()
	out := newMatrix[T](n, d)
	for i := range n {
		design.Round(out.Row(i), m.RawRowView(i))
	}
	return out
}

func sparseToPrecision[T kern.Float](m *matrices.CSR) *kern.Sparse[T] {
	from := design.SparseView(m)
	to := kern.Sparse[T]{Rows: from.Rows, Cols: from.Cols, Indptr: from.Indptr, Indices: from.Indices,
		Scale: T(from.Scale)}
	if from.Values != nil {
		to.Values = make([]T, len(from.Values))
		design.Round(to.Values, from.Values)
	}
	return &to
}

// At returns the objective at a point and overwrites gradient. It returns +Inf if K is not positive
// definite to working precision. The point holds the logarithms of the scales, of σ² and of a.
func (o *Objective[T]) At(ctx context.Context, point, gradient []float64) (float64, error) {
	noise, amplitude := math.Exp(point[len(point)-2]), math.Exp(point[len(point)-1])
	o.scale(point)
	ok, logDet, free, err := o.system.factor(ctx, noise, amplitude)
	if err != nil {
		return 0, err
	}
	if !ok {
		return math.Inf(1), nil
	}
	var value float64
	if o.LeaveOneOut {
		value, err = o.leaveOneOut(ctx, noise, amplitude, gradient)
	} else if value, err = o.evidence(ctx, noise, amplitude, gradient); err == nil {
		q, n := float64(o.q), float64(o.n)
		value += q * (logDet + n*math.Log(2*math.Pi)) / 2
		gradient[len(gradient)-2] += q * (n - free) / 2
		gradient[len(gradient)-1] += q * free / 2
	}
	if err != nil {
		return 0, err
	}
	if !kern.AllFinite(gradient) || value-value != 0 {
		return math.Inf(1), nil
	}
	return value, nil
}

// scale computes the scaled frequencies.
func (o *Objective[T]) scale(point []float64) {
	for j := range o.scaled.Rows {
		s := math.Exp(point[o.group(j)])
		to := o.scaled.Row(j)
		for k, w := range o.Frequencies.RawRowView(j) {
			to[k] = T(s * w)
		}
	}
}

// chunkRows is the number of rows mapped at a time, so that they stay in the second-level cache.
const chunkRows = 512

// features maps the rows and calls add for each chunk.
func (o *Objective[T]) features(ctx context.Context, add func(lo, hi int) error) error {
	norm := T(math.Sqrt(1 / float64(o.m)))
	for lo := 0; lo < o.n; lo += chunkRows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+chunkRows, o.n)
		z := o.z.Slice(lo, hi, 0, o.D)
		if o.entries == nil {
			kern.SinCosMap(z, o.x.Slice(lo, hi, 0, o.x.Cols), o.scaled, norm)
		} else {
			angles := o.angles.Slice(lo, hi, 0, o.m)
			kern.SparseMul(angles, o.sparseRows(lo, hi), o.scaled, false)
			kern.SinCosRescaled(z, angles, 1, norm)
		}
		if err := add(lo, hi); err != nil {
			return err
		}
	}
	return nil
}

// sparseRows returns rows [lo, hi) of sparse rows.
func (o *Objective[T]) sparseRows(lo, hi int) kern.Sparse[T] {
	out := *o.entries
	out.Rows, out.Indptr = hi-lo, out.Indptr[lo:hi+1]
	return out
}

// evidence computes the gradient by the scales. It returns the part of J that depends on the
// targets, and writes its derivatives by noise and amplitude.
func (o *Objective[T]) evidence(ctx context.Context, noise, amplitude float64, gradient []float64) (float64, error) {
	left, right := o.system.evidence(noise, amplitude)
	if err := o.scaleGradients(ctx, left, right, amplitude, gradient); err != nil {
		return 0, err
	}
	fit, weight := noise*squares(o.alpha), amplitude*squares(o.b)
	gradient[len(gradient)-2], gradient[len(gradient)-1] = -fit/2, -weight/2
	return (fit + weight) / 2, nil
}

// squares returns the sum of squares of a matrix.
func squares(a kern.View[float64]) (sum float64) {
	for i := range a.Rows {
		sum += kern.Dot(a.Row(i), a.Row(i))
	}
	return sum
}

// scaleGradients computes the derivatives by the scales from the slope dJ/dZ = factor·left·right.
// The slope is not stored; its rows are converted to derivatives by the angles chunk by chunk.
func (o *Objective[T]) scaleGradients(ctx context.Context, left, right kern.View[T], factor float64,
	gradient []float64) error {
	err := kern.MulRows(ctx, left, right, func(first int, part kern.View[T]) {
		for i := range part.Rows {
			row := first + i
			slope := part.Row(i)[:o.D]
			for k, v := range part.Row(i)[o.D:] {
				o.alpha.Set(k, row, float64(v))
			}
			if o.LeaveOneOut {
				o.addLOOTerm(row, slope)
			}
			kern.SinCosGrad(o.angles.Row(row), o.z.Row(row)[:o.D], slope)
		}
	})
	if err != nil {
		return err
	}
	if o.entries != nil {
		kern.SparseMulT(o.gradW, *o.entries, o.angles, false)
	} else if err := kern.MulContext(ctx, o.gradW, o.x.T(), o.angles, false); err != nil {
		return err
	}
	clear(gradient)
	for j := range o.gradW.Rows {
		gradient[o.group(j)] += factor * float64(kern.Dot(o.gradW.Row(j), o.scaled.Row(j)))
	}
	return ctxerr.Check(ctx)
}
