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
// The features are a differentiable function of the scales because W stays as it is. The scale of an input that
// tells nothing about the targets goes towards 0, for it costs evidence to explain noise by it.
//
// [Problem] is what there is to learn from, [New] makes an [Objective] of it in either precision, [Learn] descends
// from several starts and returns the best.
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
	Frequencies *mat.Dense // d×m, for the scales 1
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
	targets kern.View[T]    // n×q
	n, m, D int
	q       int

	scaled  kern.View[T] // d×m, frequencies times scales
	z       kern.View[T] // n×D, features
	slope   kern.View[T] // n×D, derivative by the features over the amplitude
	turn    kern.View[T] // n×m, angles of sparse rows, then the derivative by the angles
	pull    kern.View[T] // d×m, X' times turn
	precise precise      // D×D and smaller, in double precision
	inverse kern.View[T] // D×D, A⁻¹ or what else the features are multiplied by
	left    kern.View[T] // n×2q, what outer products of the slope are made of
	right   kern.View[T] // 2q×D
	fit     kern.View[T] // n×q, scratch
	coef    kern.View[T] // D×q, scratch
	weights []T          // n, of the leave-one-out error
	kappa   []float64    // n, diagonal of K⁻¹
}

// precise are the small matrices.
type precise struct {
	gram, factor, inverse, second, third kern.View[float64] // D×D
	moment                               kern.View[float64] // D×q, Z'y, then b
	back                                 kern.View[float64] // D×q, Z'u, then A⁻¹Z'u
	alpha                                kern.View[float64] // n×q
	turned                               kern.View[float64] // n×q, K⁻¹u
}

// New returns the objective of a problem.
func New[T kern.Float](p Problem) *Objective[T] {
	n, d := p.X.Dims()
	_, q := p.Y.Dims()
	_, m := p.Frequencies.Dims()
	o := &Objective[T]{Problem: p, n: n, m: m, D: 2 * m, q: q}
	switch X := p.X.(type) {
	case *sparse.CSR:
		from := design.Compressed(X)
		to := kern.Sparse[T]{Rows: n, Cols: d, Indptr: from.Indptr, Indices: from.Indices, Scale: T(from.Scale)}
		if from.Values != nil {
			to.Values = make([]T, len(from.Values))
			design.Round(to.Values, from.Values)
		}
		o.entries = &to
	case *mat.Dense:
		o.x = rounded[T](X)
	}
	o.targets = rounded[T](p.Y)
	o.scaled, o.pull = room[T](d, m), room[T](d, m)
	o.z, o.slope, o.turn = room[T](n, o.D), room[T](n, o.D), room[T](n, m)
	o.inverse = room[T](o.D, o.D)
	o.left, o.right = room[T](n, 2*q), room[T](2*q, o.D)
	o.fit, o.coef = room[T](n, q), room[T](o.D, q)
	o.precise = precise{
		gram: room[float64](o.D, o.D), factor: room[float64](o.D, o.D), inverse: room[float64](o.D, o.D),
		moment: room[float64](o.D, q), alpha: room[float64](n, q),
	}
	if p.LeaveOneOut {
		o.precise.second, o.precise.third = room[float64](o.D, o.D), room[float64](o.D, o.D)
		o.precise.back, o.precise.turned = room[float64](o.D, q), room[float64](n, q)
		o.weights, o.kappa = make([]T, n), make([]float64, n)
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

// At returns the objective at a point, infinite where A is not positive definite to working precision, and
// overwrites gradient with its derivatives there. The point has a logarithm for each scale, that of the noise σ² and
// that of the amplitude a.
func (o *Objective[T]) At(ctx context.Context, point, gradient []float64) (float64, error) {
	noise, amplitude := math.Exp(point[len(point)-2]), math.Exp(point[len(point)-1])
	if err := o.features(ctx, point); err != nil {
		return 0, err
	}
	ok, logDet, err := o.factor(ctx, noise, amplitude)
	if err != nil {
		return 0, err
	}
	if !ok {
		return math.Inf(1), nil
	}
	if err := o.solve(ctx, noise, amplitude); err != nil {
		return 0, err
	}
	descend := o.evidence
	if o.LeaveOneOut {
		descend = o.leaveOneOut
	}
	value, factor, err := descend(ctx, noise, amplitude, logDet, gradient)
	if err != nil {
		return 0, err
	}
	return value, o.chain(ctx, factor, gradient)
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

// factor makes A, its Cholesky factor and its inverse, and returns the logarithm of its determinant.
func (o *Objective[T]) factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet float64, err error) {
	p := &o.precise
	clear(p.gram.Data)
	if err := gram(ctx, p.gram, o.z, nil); err != nil {
		return false, 0, err
	}
	for i := range o.D {
		from, to := p.gram.Row(i)[:i+1], p.factor.Row(i)
		for j, v := range from {
			to[j] = amplitude * v
		}
		to[i] += noise
	}
	_, ok, err = kern.Cholesky(ctx, p.factor)
	if !ok || err != nil {
		return false, 0, err
	}
	for i := range o.D {
		logDet += 2 * math.Log(p.factor.At(i, i))
	}
	return true, logDet, o.invert(ctx)
}

// gram adds A'SA to c, sums over many rows in double precision.
func gram[T kern.Float](ctx context.Context, c kern.View[float64], a kern.View[T], weights []T) error {
	switch a := any(a).(type) {
	case kern.View[float32]:
		w, _ := any(weights).([]float32)
		return kern.GramMixed(ctx, c, a, w)
	case kern.View[float64]:
		w, _ := any(weights).([]float64)
		return kern.Gram(ctx, c, a, w)
	}
	return nil
}

// invert makes A⁻¹ = L⁻ᵀL⁻¹ of the factor L.
func (o *Objective[T]) invert(ctx context.Context) error {
	p := &o.precise
	root := o.slope // not in use yet
	_ = root
	clear(p.inverse.Data)
	for i := range o.D {
		p.inverse.Set(i, i, 1)
	}
	return kern.SolveCholesky(ctx, p.factor, p.inverse)
}

// solve makes b = A⁻¹Z'y and α = K⁻¹y.
func (o *Objective[T]) solve(ctx context.Context, noise, amplitude float64) error {
	p := &o.precise
	if err := o.moments(ctx, p.moment, o.targets); err != nil {
		return err
	}
	return o.residual(ctx, p.alpha, p.moment, o.Y.RawMatrix().Data, noise, amplitude)
}

// moments makes A⁻¹Z'y of some y.
func (o *Objective[T]) moments(ctx context.Context, dst kern.View[float64], y kern.View[T]) error {
	if err := kern.MulUntil(ctx, o.coef, o.z.T(), y, false); err != nil {
		return err
	}
	for i, v := range o.coef.Data {
		dst.Data[i] = float64(v)
	}
	return kern.SolveCholesky(ctx, o.precise.factor, dst)
}

// residual makes K⁻¹y = (y − aZb)/σ² of some y and its b.
func (o *Objective[T]) residual(ctx context.Context, dst, b kern.View[float64], y []float64, noise, amplitude float64) error {
	design.Round(o.coef.Data, b.Data)
	if err := kern.MulUntil(ctx, o.fit, o.z, o.coef, false); err != nil {
		return err
	}
	for i, v := range o.fit.Data {
		dst.Data[i] = (y[i] - amplitude*float64(v)) / noise
	}
	return nil
}

// evidence returns the negative log evidence, and the factor that the slope has to be multiplied by.
func (o *Objective[T]) evidence(ctx context.Context, noise, amplitude, logDet float64, gradient []float64) (value, factor float64, err error) {
	p, n, q := &o.precise, float64(o.n), float64(o.q)
	fit, weight := kern.Dot(p.alpha.Data, p.alpha.Data), kern.Dot(p.moment.Data, p.moment.Data)
	trace := 0.0
	for i := range o.D {
		trace += p.inverse.At(i, i)
	}
	free := float64(o.D) - noise*trace // degrees of freedom of the fit
	value = (noise*fit+amplitude*weight)/2 + q*(logDet+(n-float64(o.D))*math.Log(noise)+n*math.Log(2*math.Pi))/2
	gradient[len(gradient)-2] = (q*(n-free) - noise*fit) / 2
	gradient[len(gradient)-1] = (q*free - amplitude*weight) / 2
	if trace-trace != 0 {
		return math.Inf(1), 0, nil
	}
	if gradient[len(gradient)-2] != gradient[len(gradient)-2] {
		return math.Inf(1), 0, nil
	}
	for i, v := range p.inverse.Data {
		o.inverse.Data[i] = T(q * v)
	}
	if err := kern.MulUntil(ctx, o.slope, o.z, o.inverse, false); err != nil {
		return 0, 0, err
	}
	left, right := o.left.Slice(0, o.n, 0, o.q), o.right.Slice(0, o.q, 0, o.D)
	o.outer(left, right, p.alpha, p.moment)
	return value, amplitude, kern.MulUntil(ctx, o.slope, left, right, true)
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
