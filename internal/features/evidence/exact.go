package evidence

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Exact is a Gaussian process with the exact kernel. With scales s and M = k(s∘x, s∘xᵀ) + ρI,
// target t has covariance a_t·M: amplitude a_t and noise ρ·a_t. An intercept with a flat prior
// replaces M⁻¹ by P = M⁻¹ − M⁻¹11ᵀM⁻¹/1ᵀM⁻¹1 and N = n by n − 1; otherwise P = M⁻¹. With r_t =
// y_tᵀPy_t, the negative log evidence is
//
//	J     = Σ_t ½·[r_t/a_t + N·log(2π·a_t) + log|M| (+ log 1ᵀM⁻¹1)]
//	dJ/dM = ½·Σ_t (P − Py_t·y_tᵀP/a_t) = ½G
//	dJ/dlog s_j = Σ_il H_il·(s_j·x_ij − s_j·x_lj)²,  H = G ∘ (derivative of the kernel by the squared distance)
//
// For a kernel of the L1 distance, H has the derivative by that distance and
//
//	dJ/dlog s_j = ½·Σ_il H_il·|s_j·x_ij − s_j·x_lj|
//
// If neither noise nor amplitude is given, a_t = r_t/N, which minimizes J. Otherwise a is common to
// all targets: the given amplitude, or the noise over ρ.
//
// LeaveOneOut minimizes the leave-one-out errors e_ti = (Py_t)_i/P_ii instead. With q targets, the sum
// S of their squares, u_t = e_t/diag P and V = diag(Σ_t e_t²/diag P),
//
//	J     = ½qn·log(S/qn)
//	dJ/dM = ½G,  G = (qn/S)·(2PVP − Σ_t (Pu_t·y_tᵀP + Py_t·u_tᵀP))
//
// Held adds the errors of further rows, whose targets the n rows predict, to S and to the number n, without a gradient.
// If there are at least n, they replace the leave-one-out errors, which cost n³ more.
//
// Value and gradient cost n³ + 4n²·d flops and 4n² values; the leave-one-out error costs n³ more. The
// loop over pairs of the L1 distance is slower than the matrix product of the squared one.
//
// With Product, the kernel is a product of kernels of groups of inputs; X, Kernel and Group are unused.
//
// Sources: Rasmussen and Williams, "Gaussian processes for machine learning", 2006, sections 2.7, 5.4
// and 5.4.2; Dubrule, "Cross validation of kriging in a unique neighborhood", Mathematical Geology 1983.
type Exact struct {
	X           *mat.Dense       // n×d
	Y           *mat.Dense       // n×outputs
	Kernel      *pairwise.Kernel // with metric Squared or L1
	Group       []int            // d, index of the scale of each input; nil for one scale per input
	Product     *Product         // replaces X, Kernel and Group
	Intercept   bool             // whether there is an intercept
	LeaveOneOut bool             // minimize the leave-one-out error instead
	Held        *mat.Dense       // targets of the rows of Product after those of Y, with LeaveOneOut; or nil

	Noise, Amplitude float64 // of all targets; 0 means optimized. Their ratio is at least 1e-8
}

const (
	minRatio = 1e-8 // of noise to amplitude: the resolution of the factor of M
	maxRatio = 1e4  // pure noise
)

// Minimize runs L-BFGS from each of the starts, with at most the given steps, and returns the best
// result. Only the ratio of noise and amplitude of a start matters; those of the result are means
// over the targets. Value is +Inf if M is nowhere positive definite. Finally the scales of a Product
// that do not lower J by more than ½·log n become 0, one after the other.
func (e Exact) Minimize(ctx context.Context, starts []Point, steps int) (Result, error) {
	o := newExact(e)
	var best []float64
	out := Result{Value: math.Inf(1)}
	for _, start := range starts {
		point, lower, upper := e.region(start)
		value, iterations, err := minimize(ctx, o.at, point, lower, upper, steps)
		if err != nil {
			return Result{}, err
		}
		out.Steps += iterations
		if best == nil || value < out.Value {
			last := len(point) - 1
			best, out.Value, out.AtMinNoise = point, value, lower[last] < upper[last] && point[last] <= lower[last]
		}
	}
	if e.Product != nil && !math.IsInf(out.Value, 1) {
		s := search{exact: o, point: best, best: out.Value, parsimony: math.Log(float64(o.n)) / 2}
		if err := s.prune(ctx); err != nil {
			return Result{}, err
		}
		out.Value = s.best
	}
	return out, o.finish(ctx, best, &out)
}

// finish sets the scales, noise and amplitude of a result.
func (o *exact) finish(ctx context.Context, best []float64, out *Result) error {
	if _, _, err := o.value(ctx, best); err != nil {
		*out = Result{}
		return err
	}
	last := len(best) - 1
	for _, u := range best[:last] {
		out.Scales = append(out.Scales, math.Exp(u))
	}
	out.Amplitude = kern.Sum(o.factors) / float64(o.q)
	out.Noise = math.Exp(best[last]) * out.Amplitude
	return nil
}

// region returns the initial logarithms of scales and ratio, and their bounds.
func (e Exact) region(start Point) (point, lower, upper []float64) {
	for _, s := range start.Scales {
		u := math.Log(s)
		point, lower, upper = append(point, u), append(lower, min(u, -maxLogScale)), append(upper, max(u, maxLogScale))
	}
	for g := range upper {
		if e.Product != nil {
			upper[g] = max(point[g], min(upper[g], e.Product.maxLog(g)))
		}
	}
	low, high := math.Log(minRatio), math.Log(maxRatio)
	noise, amplitude := cmp.Or(e.Noise, start.Noise), cmp.Or(e.Amplitude, start.Amplitude)
	u := min(max(math.Log(noise/amplitude), low), high)
	if e.Noise > 0 && e.Amplitude > 0 {
		low, high = u, u
	}
	return append(point, u), append(lower, low), append(upper, high)
}

// covariance is M as a function of the logarithms of the scales.
type covariance interface {
	// compute writes the lower triangle of M, or more, to dst.
	compute(ctx context.Context, dst kern.View[float64], point []float64, ratio float64) error
	// slope writes the derivatives by the logarithms of the scales, given G, to the first elements of
	// gradient, after compute for the same point.
	slope(ctx context.Context, gradient []float64, g kern.View[float64], point []float64) error
}

// exact evaluates J as a function of the logarithms of scales and ratio. It reuses its buffers and
// is not safe for concurrent use.
type exact struct {
	Exact
	n, q int
	covariance

	factored kern.View[float64] // n×n, M, then its Cholesky factor
	root     kern.View[float64] // n×n, inverse of the Cholesky factor, then PVP
	inverse  kern.View[float64] // n×n, M⁻¹, then P or G
	solved   kern.View[float64] // (q+1)×n, Py_t and, last, M⁻¹1
	level    float64            // 1ᵀM⁻¹1, or 0 without an intercept
	means    []float64          // intercepts
	factors  []float64          // a_t
	traces   []float64          // n, diagonal of G

	// For the leave-one-out error.
	diagonal  []float64  // n, of P
	squares   float64    // S
	predicted *mat.Dense // of Held
}

func newExact(e Exact) *exact {
	n, q := e.Y.Dims()
	o := &exact{Exact: e, n: n, q: q, factors: make([]float64, q), traces: make([]float64, n),
		means: make([]float64, q), solved: newMatrix[float64](q+1, n)}
	if e.Held != nil {
		o.predicted = mat.NewDense(e.Held.RawMatrix().Rows, q, nil)
	}
	for _, v := range []*kern.View[float64]{&o.factored, &o.root, &o.inverse} {
		*v = newMatrix[float64](n, n)
	}
	if e.Product != nil {
		o.covariance = e.Product
	} else {
		o.covariance = newScaledRows(e)
	}
	if e.LeaveOneOut {
		o.diagonal = make([]float64, n)
	}
	return o
}

// at returns J and overwrites gradient. It returns +Inf if M is not positive definite to working
// precision.
func (o *exact) at(ctx context.Context, point, gradient []float64) (float64, error) {
	value, ok, err := o.value(ctx, point)
	if !ok || err != nil {
		return math.Inf(1), err
	}
	if err := o.sensitivity(ctx); err != nil {
		return 0, err
	}
	clear(gradient)
	if err := o.slope(ctx, gradient, o.inverse, point); err != nil {
		return 0, err
	}
	last := len(point) - 1
	gradient[last] = math.Exp(point[last]) * kern.Sum(o.traces) / 2
	if o.Noise > 0 && !o.LeaveOneOut { // the amplitude decreases with the ratio
		for t, a := range o.factors {
			gradient[last] += (o.rss(t)/a - o.dof()) / 2
		}
	}
	if value-value != 0 || !kern.AllFinite(gradient) {
		return math.Inf(1), nil
	}
	return value, nil
}

// value returns J and reports whether M is positive definite.
func (o *exact) value(ctx context.Context, point []float64) (value float64, ok bool, err error) {
	ratio := math.Exp(point[len(point)-1])
	if err := o.compute(ctx, o.factored, point, ratio); err != nil {
		return 0, false, err
	}
	if _, ok, err := kern.Cholesky(ctx, o.factored); !ok || err != nil {
		return math.Inf(1), false, err
	}
	if value, err = o.evidence(ctx, ratio); err == nil && o.LeaveOneOut {
		value, err = o.squaredErrors(ctx, point)
	}
	return value, true, err
}

// dof returns N.
func (o *exact) dof() float64 {
	if o.Intercept {
		return float64(o.n - 1)
	}
	return float64(o.n)
}

// evidence returns the negative log evidence, given the factor. It computes Py_t, M⁻¹1 and a_t.
func (o *exact) evidence(ctx context.Context, ratio float64) (value float64, err error) {
	ones := o.solved.Row(o.q)
	for i := range o.n {
		for t, y := range o.Y.RawRowView(i) {
			o.solved.Set(t, i, y)
		}
		ones[i] = 1
	}
	if err := kern.SolveCholesky(ctx, o.factored, o.solved.T()); err != nil {
		return 0, err
	}
	logDet := 0.0
	for i := range o.n {
		logDet += 2 * math.Log(o.factored.At(i, i))
	}
	if o.Intercept {
		o.level = kern.Sum(ones)
		logDet += math.Log(o.level)
	}
	for t := range o.q {
		p := o.solved.Row(t)
		if o.Intercept {
			o.means[t] = kern.Sum(p) / o.level
			kern.Axpy(-o.means[t], ones, p)
		}
		r := o.rss(t)
		switch {
		case o.Amplitude > 0:
			o.factors[t] = o.Amplitude
		case o.Noise > 0:
			o.factors[t] = o.Noise / ratio
		default: // a constant target has r = 0
			o.factors[t] = max(r/o.dof(), math.SmallestNonzeroFloat64/epsilon)
		}
		a := o.factors[t]
		value += (r/a + o.dof()*math.Log(2*math.Pi*a) + logDet) / 2
	}
	return value, nil
}

const epsilon = 0x1p-52

// rss returns r_t.
func (o *exact) rss(t int) (sum float64) {
	p := o.solved.Row(t)
	for i := range p {
		sum += p[i] * o.Y.At(i, t)
	}
	return max(sum, 0)
}

// sensitivity computes G in place of the inverse.
func (o *exact) sensitivity(ctx context.Context) error {
	if !o.LeaveOneOut {
		if err := invertLower(ctx, o.root, o.factored); err != nil {
			return err
		}
	}
	if err := squareLower(ctx, o.inverse, o.root); err != nil {
		return err
	}
	if o.LeaveOneOut {
		return o.leaveOneOutSensitivity(ctx)
	}
	ones := o.solved.Row(o.q)
	kern.Parallel(o.n, pairwise.TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g := o.inverse.Row(i)
			kern.Scale(float64(o.q), g)
			if o.Intercept {
				kern.Axpy(-float64(o.q)*ones[i]/o.level, ones, g)
			}
			for t, a := range o.factors {
				p := o.solved.Row(t)
				kern.Axpy(-p[i]/a, p, g)
			}
			o.traces[i] = g[i]
		}
	})
	return ctxerr.Check(ctx)
}

// squaredErrors returns the objective of the leave-one-out and the held-out errors, given the factor and Py_t.
func (o *exact) squaredErrors(ctx context.Context, point []float64) (float64, error) {
	o.squares = math.SmallestNonzeroFloat64 / epsilon
	count := 0
	if o.Held != nil {
		count = o.Product.held
		if err := o.Product.predict(ctx, o.predicted, point, o.solved); err != nil {
			return 0, err
		}
		for i := range count {
			for t, f := range o.predicted.RawRowView(i) {
				e := o.Held.At(i, t) - f - o.means[t]
				o.squares += e * e
			}
		}
	}
	if count < o.n {
		if err := o.leaveOneOut(ctx); err != nil {
			return 0, err
		}
		count += o.n
	}
	size := float64(count * o.q)
	return size / 2 * math.Log(o.squares/size), nil
}

// leaveOneOut adds the squares of the leave-one-out errors.
func (o *exact) leaveOneOut(ctx context.Context) error {
	if err := invertLower(ctx, o.root, o.factored); err != nil {
		return err
	}
	clear(o.diagonal)
	for i := range o.n {
		row := o.root.Row(i)[:i+1]
		for j, v := range row {
			o.diagonal[j] += v * v
		}
	}
	if o.Intercept {
		for i, v := range o.solved.Row(o.q) {
			o.diagonal[i] -= v * v / o.level
		}
	}
	for t := range o.q {
		for i, p := range o.solved.Row(t) {
			e := p / o.diagonal[i]
			o.squares += e * e
		}
	}
	return nil
}

// leaveOneOutSensitivity computes G in place of the inverse.
func (o *exact) leaveOneOutSensitivity(ctx context.Context) error {
	ones, weights := o.solved.Row(o.q), make([]float64, o.n)
	if o.Intercept {
		kern.Parallel(o.n, pairwise.TileRows, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				kern.Axpy(-ones[i]/o.level, ones, o.inverse.Row(i))
			}
		})
	}
	pulls := newMatrix[float64](o.q, o.n) // Pu_t
	u := make([]float64, o.n)
	for t := range o.q {
		for i, p := range o.solved.Row(t) {
			e := p / o.diagonal[i]
			u[i] = e / o.diagonal[i]
			weights[i] += e * u[i]
		}
		kern.MulVec(pulls.Row(t), o.inverse, u, false)
	}
	clear(o.root.Data)
	if err := kern.Gram(ctx, o.root, o.inverse, weights); err != nil {
		return err
	}
	kern.MirrorLower(o.root)
	factor := float64(o.n*o.q) / o.squares
	kern.Parallel(o.n, pairwise.TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g := o.root.Row(i)
			kern.Scale(2*factor, g)
			for t := range o.q {
				kern.Axpy(-factor*pulls.At(t, i), o.solved.Row(t), g)
				kern.Axpy(-factor*o.solved.At(t, i), pulls.Row(t), g)
			}
			o.traces[i] = g[i]
		}
	})
	o.root, o.inverse = o.inverse, o.root
	return ctxerr.Check(ctx)
}
