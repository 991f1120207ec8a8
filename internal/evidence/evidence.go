// Package evidence learns how much each input matters: a scale for each, by the evidence of a gaussian process on
// random Fourier features or with the kernel itself, or by its leave-one-out error. Numbers in, numbers out.
//
// With m frequencies W drawn once for the scales 1, and scales s, the features of a row are
//
//	z(x) = sqrt(1/m)·[cos w₁'(s∘x), sin w₁'(s∘x), …],  D = 2m
//
// and the targets y have the covariance K = a·ZZ' + σ²I. The evidence is what the model gives the targets for a
// density; J is its negative logarithm, summed over the outputs y. With A = aZ'Z + σ²I, b = A⁻¹Z'y and α = K⁻¹y,
//
//	J       = Σ ½(σ²‖α‖² + a‖b‖²) + ½·log|A| + ½(n − D)·log σ² + ½n·log 2π
//	dJ/dZ   = a·Σ (ZA⁻¹ − αb')
//	dJ/dlog s_j = s_j·Σ_k W_jk·Σ_i x_ij·dJ/dangle_ik
//
// Where there are fewer rows than features K itself is factored, which is the smaller matrix. The scale of an input
// that tells nothing about the targets goes towards 0, for it costs evidence to explain noise by it.
//
// [Problem] is what there is to learn from, [New] makes an [Objective] of it in either precision, [Minimize] descends
// with other frequencies in each step. [Exact] is the same of few rows with the kernel itself.
//
// Sources: Rasmussen and Williams, "Gaussian processes for machine learning", 2006, chapter 5; Lázaro-Gredilla et
// al., "Sparse spectrum gaussian process regression", JMLR 2010, for the evidence on features.
package evidence

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/sparse"
)

// Problem is rows, their targets, and the frequencies that features are made with.
type Problem struct {
	X           mat.Matrix // n×d, a *mat.Dense or *sparse.CSR
	Y           *mat.Dense // n×outputs, each of mean 0
	Frequencies *mat.Dense // d×m, for the scales 1; [Minimize] is given its own
	Group       []int      // d, number of the scale of each input; nil for a scale each
	LeaveOneOut bool       // descend on the mean squared leave-one-out error instead of the evidence

	KeepNoise, KeepAmplitude bool // for [Minimize]: these stay where they start
}

// Scales is how many scales there are.
func (p Problem) Scales() int {
	if p.Group == nil {
		_, d := p.X.Dims()
		return d
	}
	most := -1
	for _, g := range p.Group {
		most = max(most, g)
	}
	return most + 1
}

// group returns the number of input j's scale.
func (p Problem) group(j int) int {
	if p.Group == nil {
		return j
	}
	return p.Group[j]
}

// Objective is a function of the logarithms of scales, noise and amplitude, in this order, whose products of
// large matrices are made in T. It owns room that is used again and serves one caller at a time.
type Objective[T kern.Float] struct {
	Problem
	x       kern.View[T]    // the rows where they are dense
	entries *kern.Sparse[T] // the rows where they are sparse
	n, m, D int
	q       int
	order   int // of K or A, whichever is smaller

	scaled kern.View[T] // d×m, frequencies times scales
	z      kern.View[T] // n×D, features; and beside or below them what the slope is made of too
	angles kern.View[T] // n×m, angles of sparse rows, then the derivative by the angles
	gradW  kern.View[T] // d×m, X' times turn

	factored kern.View[float64] // Gram matrix, then the Cholesky factor of K or A
	root     kern.View[T]       // the inverse of the factor
	inverse  kern.View[T]       // of K or A; and beside or below it what the slope is made of too
	alpha, b kern.View[float64] // q×n, K⁻¹y, and q×D, Z'K⁻¹y
	system   system[T]

	// Of the leave-one-out error.
	kinvZ   kern.View[T]       // n×D, K⁻¹Z, where A is factored
	u       kern.View[float64] // q×n
	kappa   []float64          // n, diagonal of K⁻¹
	weights []T                // n, diagonal of V
	along   []float64          // n, products of the rows of the features and of the slope
}

// system is K as it is solved with. Σ is over the outputs.
type system[T kern.Float] interface {
	// factor makes the features, the inverse of their matrix, b, and α where that is the way to b. It reports whether
	// the matrix is positive definite, log |K|, and the degrees of freedom of the fit.
	factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet, free float64, err error)
	// evidence returns factors of Σ (K⁻¹Z − αb'), which has α behind it where the call before has not made that.
	evidence(noise, amplitude float64) (left, right kern.View[T])
	// diagonal makes κ and α.
	diagonal(ctx context.Context, noise, amplitude float64) error
	// looFactors returns factors of 2K⁻¹VK⁻¹Z − Σ p(Z'α)' − Σ α(Z'p)' with p = K⁻¹u, less V·spread where there is that.
	looFactors(ctx context.Context, noise, amplitude float64) (left, right kern.View[T], err error)
}

// New returns the objective of a problem.
func New[T kern.Float](p Problem) *Objective[T] {
	n, d := p.X.Dims()
	_, q := p.Y.Dims()
	_, m := p.Frequencies.Dims()
	o := &Objective[T]{Problem: p, n: n, m: m, D: 2 * m, q: q}
	switch X := p.X.(type) {
	case *sparse.CSR:
		o.entries = sparseToPrecision[T](X)
	case *mat.Dense:
		o.x = toPrecision[T](X)
	}
	o.scaled, o.gradW, o.angles = newMatrix[T](d, m), newMatrix[T](d, m), newMatrix[T](n, m)
	o.alpha, o.b = newMatrix[float64](q, n), newMatrix[float64](q, o.D)
	beside := q
	if p.LeaveOneOut {
		beside = 2 * q
		o.u = newMatrix[float64](q, n)
		o.kappa, o.along, o.weights = make([]float64, n), make([]float64, n), make([]T, n)
	}
	if n < o.D {
		o.system, o.order = dual[T]{o}, n
		o.z, o.inverse = newMatrix[T](n+beside, o.D), newMatrix[T](n, n+beside)
		o.factored = newMatrix[float64](n, n)
	} else {
		o.system, o.order = primal[T]{o}, o.D
		o.z, o.inverse = newMatrix[T](n, o.D+beside), newMatrix[T](o.D+beside, o.D+q)
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

// newMatrix returns a matrix of zeros whose rows begin at lines of the cache.
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

func sparseToPrecision[T kern.Float](m *sparse.CSR) *kern.Sparse[T] {
	from := design.SparseView(m)
	to := kern.Sparse[T]{Rows: from.Rows, Cols: from.Cols, Indptr: from.Indptr, Indices: from.Indices, Scale: T(from.Scale)}
	if from.Values != nil {
		to.Values = make([]T, len(from.Values))
		design.Round(to.Values, from.Values)
	}
	return &to
}

// At returns the objective at a point, infinite where K is not positive definite to working precision, and
// overwrites gradient with its derivatives there. The point has a logarithm for each scale, that of the noise σ² and
// that of the amplitude a.
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

// scale scales the frequencies.
func (o *Objective[T]) scale(point []float64) {
	for j := range o.scaled.Rows {
		s := math.Exp(point[o.group(j)])
		to := o.scaled.Row(j)
		for k, w := range o.Frequencies.RawRowView(j) {
			to[k] = T(s * w)
		}
	}
}

// chunkRows is how many rows are mapped between two looks at the context: as many as stay in the second-level cache
// for who adds them up.
const chunkRows = 512

// features maps the rows and hands them on, some at a time.
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

// sparseRows returns rows lo to hi of sparse rows.
func (o *Objective[T]) sparseRows(lo, hi int) kern.Sparse[T] {
	out := *o.entries
	out.Rows, out.Indptr = hi-lo, out.Indptr[lo:hi+1]
	return out
}

// evidence makes the slope of the evidence, and returns that part of its negative logarithm which depends on the
// targets. The derivatives by noise and amplitude are of that part.
func (o *Objective[T]) evidence(ctx context.Context, noise, amplitude float64, gradient []float64) (float64, error) {
	left, right := o.system.evidence(noise, amplitude)
	if err := o.scaleGradients(ctx, left, right, amplitude, gradient); err != nil {
		return 0, err
	}
	fit, weight := noise*squares(o.alpha), amplitude*squares(o.b)
	gradient[len(gradient)-2], gradient[len(gradient)-1] = -fit/2, -weight/2
	return (fit + weight) / 2, nil
}

// squares returns the sum of the squares of a matrix.
func squares(a kern.View[float64]) (sum float64) {
	for i := range a.Rows {
		sum += kern.Dot(a.Row(i), a.Row(i))
	}
	return sum
}

// scaleGradients makes the derivatives by the scales of the slope, which is factor·left·right. The slope is never stored: the
// derivatives by the angles are made of some rows of it at a time.
func (o *Objective[T]) scaleGradients(ctx context.Context, left, right kern.View[T], factor float64, gradient []float64) error {
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
