package evidence

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
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
// Value and gradient cost n³ + 4n²·d flops and 4n² values. The loop over pairs of the L1 distance is slower than
// the matrix product of the squared one.
//
// Source: Rasmussen and Williams, "Gaussian processes for machine learning", 2006, sections 2.7 and
// 5.4.
type Exact struct {
	X         *mat.Dense       // n×d
	Y         *mat.Dense       // n×outputs
	Kernel    *pairwise.Kernel // with metric Squared or L1
	Group     []int            // d, index of the scale of each input; nil for one scale per input
	Intercept bool             // whether there is an intercept

	Noise, Amplitude float64 // of all targets; 0 means optimized. Their ratio is at least 1e-8
}

const (
	minRatio = 1e-8 // of noise to amplitude: the resolution of the factor of M
	maxRatio = 1e4  // pure noise
)

// Minimize runs L-BFGS from each of the starts, with at most the given steps, and returns the best
// result. Only the ratio of noise and amplitude of a start matters; those of the result are means
// over the targets. Value is +Inf if M is nowhere positive definite.
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
	last := len(best) - 1
	for _, u := range best[:last] {
		out.Scales = append(out.Scales, math.Exp(u))
	}
	if _, err := o.at(ctx, best, make([]float64, len(best))); err != nil {
		return Result{}, err
	}
	out.Amplitude = kern.Sum(o.factors) / float64(o.q)
	out.Noise = math.Exp(best[last]) * out.Amplitude
	return out, nil
}

// region returns the initial logarithms of scales and ratio, and their bounds.
func (e Exact) region(start Point) (point, lower, upper []float64) {
	for _, s := range start.Scales {
		u := math.Log(s)
		point, lower, upper = append(point, u), append(lower, min(u, -maxLogScale)), append(upper, max(u, maxLogScale))
	}
	low, high := math.Log(minRatio), math.Log(maxRatio)
	noise, amplitude := cmp.Or(e.Noise, start.Noise), cmp.Or(e.Amplitude, start.Amplitude)
	u := min(max(math.Log(noise/amplitude), low), high)
	if e.Noise > 0 && e.Amplitude > 0 {
		low, high = u, u
	}
	return append(point, u), append(lower, low), append(upper, high)
}

// exact evaluates J as a function of the logarithms of scales and ratio. It reuses its buffers and
// is not safe for concurrent use.
type exact struct {
	Exact
	n, d, q int
	rows    pairwise.Rows[float64]
	frame   pairwise.Frame
	scaled  *mat.Dense // n×d, s∘x

	factored kern.View[float64] // n×n, M, then its Cholesky factor
	root     kern.View[float64] // n×n, inverse of the Cholesky factor
	inverse  kern.View[float64] // n×n, M⁻¹
	weights  kern.View[float64] // n×n, distances, then kernel derivatives, then H
	gradX    kern.View[float64] // n×d, H times scaled, or sums of H times differences
	solved   kern.View[float64] // (q+1)×n, Py_t and, last, M⁻¹1
	factors  []float64          // a_t
	sums     []float64          // n, row sums of H
	traces   []float64          // n, diagonal of G
}

func newExact(e Exact) *exact {
	n, d := e.X.Dims()
	_, q := e.Y.Dims()
	o := &exact{Exact: e, n: n, d: d, q: q, scaled: mat.NewDense(n, d, nil), factors: make([]float64, q),
		sums: make([]float64, n), traces: make([]float64, n)}
	o.frame.Factor = make([]float64, d)
	for j := range o.frame.Factor {
		o.frame.Factor[j] = 1
	}
	for _, v := range []*kern.View[float64]{&o.factored, &o.root, &o.inverse, &o.weights} {
		*v = newMatrix[float64](n, n)
	}
	o.gradX, o.solved = newMatrix[float64](n, d), newMatrix[float64](q+1, n)
	return o
}

// group returns the index of input j's scale.
func (o *exact) group(j int) int {
	if o.Group == nil {
		return j
	}
	return o.Group[j]
}

// at returns J and overwrites gradient. It returns +Inf if M is not positive definite to working
// precision.
func (o *exact) at(ctx context.Context, point, gradient []float64) (float64, error) {
	ratio := math.Exp(point[len(point)-1])
	if err := o.covariance(ctx, point, ratio); err != nil {
		return 0, err
	}
	if _, ok, err := kern.Cholesky(ctx, o.factored); !ok || err != nil {
		return math.Inf(1), err
	}
	value, level, err := o.value(ctx, ratio)
	if err != nil {
		return 0, err
	}
	if err := o.slope(ctx, point, gradient, level); err != nil {
		return 0, err
	}
	last := len(point) - 1
	gradient[last] = ratio * kern.Sum(o.traces) / 2
	if o.Noise > 0 { // the amplitude decreases with the ratio
		for t, a := range o.factors {
			gradient[last] += (o.rss(t)/a - o.dof()) / 2
		}
	}
	if value-value != 0 || !kern.AllFinite(gradient) {
		return math.Inf(1), nil
	}
	return value, nil
}

// dof returns N.
func (o *exact) dof() float64 {
	if o.Intercept {
		return float64(o.n - 1)
	}
	return float64(o.n)
}

// covariance computes M and the distances.
func (o *exact) covariance(ctx context.Context, point []float64, ratio float64) error {
	for j := range o.d {
		s := math.Exp(point[o.group(j)])
		for i := range o.n {
			o.scaled.Set(i, j, s*o.X.At(i, j))
		}
	}
	o.rows.Prepare(o.frame, o.scaled, 0, o.n)
	if err := pairwise.Tiles(ctx, o.weights, o.rows, o.rows, o.Kernel.Metric); err != nil {
		return err
	}
	kern.Parallel(o.n, pairwise.TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(o.factored.Row(i)[:hi], o.weights.Row(i))
		}
		pairwise.Values(o.Kernel, 1, o.factored.Slice(lo, hi, 0, hi))
		for i := lo; i < hi; i++ {
			o.factored.Row(i)[i] += ratio
		}
	})
	return ctxerr.Check(ctx)
}

// value returns J, given the factor, and 1ᵀM⁻¹1, or 0 without an intercept.
func (o *exact) value(ctx context.Context, ratio float64) (value, level float64, err error) {
	ones := o.solved.Row(o.q)
	for i := range o.n {
		for t, y := range o.Y.RawRowView(i) {
			o.solved.Set(t, i, y)
		}
		ones[i] = 1
	}
	if err := kern.SolveCholesky(ctx, o.factored, o.solved.T()); err != nil {
		return 0, 0, err
	}
	logDet := 0.0
	for i := range o.n {
		logDet += 2 * math.Log(o.factored.At(i, i))
	}
	if o.Intercept {
		level = kern.Sum(ones)
		logDet += math.Log(level)
	}
	for t := range o.q {
		p := o.solved.Row(t)
		if o.Intercept {
			kern.Axpy(-kern.Sum(p)/level, ones, p)
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
	return value, level, nil
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

// slope computes the diagonal of G and the derivatives by the scales.
func (o *exact) slope(ctx context.Context, point, gradient []float64, level float64) error {
	if err := invertLower(ctx, o.root, o.factored); err != nil {
		return err
	}
	if err := squareLower(ctx, o.inverse, o.root); err != nil {
		return err
	}
	ones := o.solved.Row(o.q)
	kern.Parallel(o.n, pairwise.TileRows, func(lo, hi int) {
		pairwise.Slopes(o.Kernel, o.weights.Slice(lo, hi, 0, o.n))
		for i := lo; i < hi; i++ {
			g, h := o.inverse.Row(i), o.weights.Row(i)
			kern.Scale(float64(o.q), g)
			if o.Intercept {
				kern.Axpy(-float64(o.q)*ones[i]/level, ones, g)
			}
			for t, a := range o.factors {
				p := o.solved.Row(t)
				kern.Axpy(-p[i]/a, p, g)
			}
			o.traces[i] = g[i]
			for l, v := range g {
				h[l] *= v
			}
			o.sums[i] = kern.Sum(h)
			if o.Kernel.Metric == pairwise.L1 {
				o.differences(i)
			}
		}
	})
	clear(gradient)
	if o.Kernel.Metric == pairwise.L1 {
		for i := range o.n {
			for j, v := range o.gradX.Row(i) {
				gradient[o.group(j)] += v
			}
		}
		return ctxerr.Check(ctx)
	}
	x := o.scaled.RawMatrix()
	if err := kern.MulContext(ctx, o.gradX, o.weights, kern.Dense(o.n, o.d, x.Stride, x.Data), false); err != nil {
		return err
	}
	for i := range o.n {
		pull := o.gradX.Row(i)
		for j, v := range o.scaled.RawRowView(i) {
			gradient[o.group(j)] += 2 * v * (o.sums[i]*v - pull[j])
		}
	}
	return ctxerr.Check(ctx)
}

// differences writes Σ_{l<i} H_il·|s_j·x_ij − s_j·x_lj| to row i of gradX; H is symmetric.
func (o *exact) differences(i int) {
	sums, x := o.gradX.Row(i), o.scaled.RawRowView(i)
	clear(sums)
	for l, h := range o.weights.Row(i)[:i] {
		for j, v := range o.scaled.RawRowView(l) {
			sums[j] += h * math.Abs(x[j]-v)
		}
	}
}
