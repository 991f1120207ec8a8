// Package evidence learns how much each input matters: a scale for each, by the evidence of a gaussian process on
// random Fourier features, or by its leave-one-out error. Numbers in, numbers out.
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
// Where there are fewer rows than features K itself is factored, which is the smaller matrix. The features are a
// tells nothing about the targets goes towards 0, for it costs evidence to explain noise by it.
//
// [Problem] is what there is to learn from, [New] makes an [Objective] of it in either precision, [Learn] descends
// with other frequencies in each step.
//
// Sources: Rasmussen and Williams, "Gaussian processes for machine learning", 2006, chapter 5; Lázaro-Gredilla et
// al., "Sparse spectrum gaussian process regression", JMLR 2010, for the evidence on features.
package evidence

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/sparse"
)

// Problem is rows, their targets, and the frequencies that features are made with.
type Problem struct {
	X           mat.Matrix // n×d, a *mat.Dense or *sparse.CSR
	Y           *mat.Dense // n×outputs, each of mean 0
	Frequencies *mat.Dense // d×m, for the scales 1; [Learn] is given its own
	Group       []int      // d, number of the scale of each input; nil for a scale each
	LeaveOneOut bool       // descend on the mean squared leave-one-out error instead of the evidence
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

	scaled kern.View[T] // d×m, frequencies times scales
	z      kern.View[T] // n×D, features
	slope  kern.View[T] // n×D, derivative by the features, but for a factor
	turn   kern.View[T] // n×m, angles of sparse rows, then the derivative by the angles
	pull   kern.View[T] // d×m, X' times turn
	left   kern.View[T] // n×2q, what outer products of the slope are made of
	right  kern.View[T] // 2q×D
	fit    kern.View[T] // n×q, scratch
	coef   kern.View[T] // D×q, scratch

	inverse   kern.View[T]       // of K or A, or what else the features are multiplied by
	factored  kern.View[float64] // Cholesky factor of K or A
	root      kern.View[float64] // the inverse of the factor
	inverted  kern.View[float64] // the inverse of K or A
	alpha, b  kern.View[float64] // n×q, K⁻¹y, and D×q, Z'K⁻¹y
	turned    kern.View[float64] // n×q, K⁻¹u of the leave-one-out error
	back      kern.View[float64] // D×q, Z'K⁻¹u
	kappa     []float64          // n, diagonal of K⁻¹
	weights   []T                // n, diagonal of V
	narrowing [2]kern.View[float64]
	system    system
}

// system is K as it is solved with.
type system interface {
	// factor reports whether the matrix of the features is positive definite, log |K|, and the degrees of freedom
	// of the fit.
	factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet, free float64, err error)
	// solve makes K⁻¹y and Z'K⁻¹y.
	solve(ctx context.Context, x, back kern.View[float64], y []float64, noise, amplitude float64) error
	// spread makes the slope times·K⁻¹Z.
	spread(ctx context.Context, times float64) error
	// diagonal makes κ, the diagonal of K⁻¹; the slope is K⁻¹Z.
	diagonal(noise, amplitude float64)
	// between makes the slope, which is K⁻¹Z, 2K⁻¹VK⁻¹Z.
	between(ctx context.Context, noise, amplitude float64) error
}

// New returns the objective of a problem.
func New[T kern.Float](p Problem) *Objective[T] {
	n, d := p.X.Dims()
	_, q := p.Y.Dims()
	_, m := p.Frequencies.Dims()
	o := &Objective[T]{Problem: p, n: n, m: m, D: 2 * m, q: q}
	switch X := p.X.(type) {
	case *sparse.CSR:
		o.entries = roundedEntries[T](X)
	case *mat.Dense:
		o.x = rounded[T](X)
	}
	o.scaled, o.pull = room[T](d, m), room[T](d, m)
	o.z, o.slope, o.turn = room[T](n, o.D), room[T](n, o.D), room[T](n, m)
	o.left, o.right = room[T](n, 2*q), room[T](2*q, o.D)
	o.fit, o.coef = room[T](n, q), room[T](o.D, q)
	o.alpha, o.b = room[float64](n, q), room[float64](o.D, q)
	order := o.D
	if o.system = (primal[T]{o}); n < o.D {
		order, o.system = n, dual[T]{o}
	}
	o.inverse, o.factored = room[T](order, order), room[float64](order, order)
	o.root, o.inverted = room[float64](order, order), room[float64](order, order)
	if p.LeaveOneOut {
		o.turned, o.back = room[float64](n, q), room[float64](o.D, q)
		o.kappa, o.weights = make([]float64, n), make([]T, n)
		o.narrowing = [2]kern.View[float64]{room[float64](order, order), room[float64](order, order)}
	}
	return o
}

func room[T kern.Float](rows, cols int) kern.View[T] {
	return kern.Dense(rows, cols, cols, make([]T, rows*cols))
}

func rounded[T kern.Float](m *mat.Dense) kern.View[T] {
	n, d := m.Dims()
	out := room[T](n, d)
	for i := range n {
		design.Round(out.Row(i), m.RawRowView(i))
	}
	return out
}

func roundedEntries[T kern.Float](m *sparse.CSR) *kern.Sparse[T] {
	from := design.Compressed(m)
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
	if err := o.features(ctx, point); err != nil {
		return 0, err
	}
	ok, logDet, free, err := o.system.factor(ctx, noise, amplitude)
	if err != nil {
		return 0, err
	}
	if !ok {
		return math.Inf(1), nil
	}
	if err := o.system.solve(ctx, o.alpha, o.b, o.Y.RawMatrix().Data, noise, amplitude); err != nil {
		return 0, err
	}
	var value, factor float64
	if o.LeaveOneOut {
		value, factor, err = o.leaveOneOut(ctx, noise, amplitude, gradient)
	} else {
		value = o.evidence(noise, amplitude, logDet, free, gradient)
		factor, err = amplitude, o.slopeOfEvidence(ctx)
	}
	if err != nil {
		return 0, err
	}
	if err := o.chain(ctx, factor, gradient); err != nil {
		return 0, err
	}
	if !kern.Finite(gradient) || value-value != 0 {
		return math.Inf(1), nil
	}
	return value, nil
}

// rowsAtOnce is how many rows are mapped between two looks at the context.
const rowsAtOnce = 1024

// features maps the rows for the scales of a point.
func (o *Objective[T]) features(ctx context.Context, point []float64) error {
	for j := range o.scaled.Rows {
		s := math.Exp(point[o.group(j)])
		to := o.scaled.Row(j)
		for k, w := range o.Frequencies.RawRowView(j) {
			to[k] = T(s * w)
		}
	}
	norm := T(math.Sqrt(1 / float64(o.m)))
	for lo := 0; lo < o.n; lo += rowsAtOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+rowsAtOnce, o.n)
		z := o.z.Slice(lo, hi, 0, o.D)
		if o.entries == nil {
			kern.SinCosMap(z, o.x.Slice(lo, hi, 0, o.x.Cols), o.scaled, norm)
			continue
		}
		angles := o.turn.Slice(lo, hi, 0, o.m)
		kern.SparseMul(angles, o.some(lo, hi), o.scaled, false)
		kern.SinCosRescaled(z, angles, 1, norm)
	}
	return nil
}

// some returns rows lo to hi of sparse rows.
func (o *Objective[T]) some(lo, hi int) kern.Sparse[T] {
	out := *o.entries
	out.Rows, out.Indptr = hi-lo, out.Indptr[lo:hi+1]
	return out
}

// evidence returns the negative log evidence and its derivatives by the logarithms of noise and amplitude.
func (o *Objective[T]) evidence(noise, amplitude, logDet, free float64, gradient []float64) float64 {
	n, q := float64(o.n), float64(o.q)
	fit, weight := noise*kern.Dot(o.alpha.Data, o.alpha.Data), amplitude*kern.Dot(o.b.Data, o.b.Data)
	gradient[len(gradient)-2] = (q*(n-free) - fit) / 2
	gradient[len(gradient)-1] = (q*free - weight) / 2
	return (fit+weight)/2 + q*(logDet+n*math.Log(2*math.Pi))/2
}

// slopeOfEvidence makes Σ (K⁻¹Z − αb').
func (o *Objective[T]) slopeOfEvidence(ctx context.Context) error {
	if err := o.system.spread(ctx, float64(o.q)); err != nil {
		return err
	}
	left, right := o.left.Slice(0, o.n, 0, o.q), o.right.Slice(0, o.q, 0, o.D)
	o.outer(left, right, o.alpha, o.b)
	return kern.MulUntil(ctx, o.slope, left, right, true)
}

// outer makes of columns of a and b what their outer products are subtracted with.
func (o *Objective[T]) outer(left, right kern.View[T], a, b kern.View[float64]) {
	for k := range o.q {
		for i := range o.n {
			left.Set(i, k, T(-a.At(i, k)))
		}
		for i := range o.D {
			right.Set(k, i, T(b.At(i, k)))
		}
	}
}

// chain makes the derivatives by the scales of the slope, which is times factor.
func (o *Objective[T]) chain(ctx context.Context, factor float64, gradient []float64) error {
	f := T(factor)
	kern.Parallel(o.n, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			turnRow(o.turn.Row(i), o.z.Row(i), o.slope.Row(i), f)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.entries != nil {
		kern.SparseMulT(o.pull, *o.entries, o.turn, false)
	} else if err := kern.MulUntil(ctx, o.pull, o.x.T(), o.turn, false); err != nil {
		return err
	}
	clear(gradient[:len(gradient)-2])
	for j := range o.pull.Rows {
		gradient[o.group(j)] += float64(kern.Dot(o.pull.Row(j), o.scaled.Row(j)))
	}
	return ctx.Err()
}

// turnRow makes the derivative by the angles of that by cosines and sines.
func turnRow[T kern.Float](turn, z, slope []T, factor T) {
	z, slope = z[:2*len(turn)], slope[:2*len(turn)]
	for k := range turn {
		turn[k] = factor * (z[2*k]*slope[2*k+1] - z[2*k+1]*slope[2*k])
	}
}
