package newton

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/rowblock"
)

// coupled is a preconditioner of the softmax of k classes, whose curvatures differ and hang together. A row's loss has the
// second derivative u'(diag p − pp')u = min over t of Σ_c p_c(u_c − t)². With t = x'τ, the same τ for all rows, it becomes
//
//	M(W) = min over τ of Σ_c (w_c − τ)'B_c(w_c − τ) + ‖W‖²,  B_c = Σ s·p_c·x·x'
//
// which is nowhere below the Hessian, and near it where τ has many entries. Its inverse needs the factors of A_c = B_c + I and of
// Σ_c (I − A_c⁻¹): y_c = A_c⁻¹r_c, then τ from Σ_c (r_c − y_c), and w_c = y_c + τ − A_c⁻¹τ. Intercepts are
// eliminated by centring each class's rows.
type coupled struct {
	grams       []*leastsquares.Moments // B_c of a sample of the rows
	factors     [][]float32             // factors of A_c
	means       [][]float64
	weights     []float64
	shiftFactor []float32 // factor of Σ_c (I − A_c⁻¹)
}

const (
	maxCoupledFloats     = 1 << 24 // numbers of all matrices B_c
	minCoupledColumns    = 64      // columns: with few of them τ has too little to say
	coupledRowsPerColumn = 2.5     // sampled rows for each column and class, if all classes are as frequent
	certainShare         = 0.05    // of a class in a row that is surely added to its B_c
	minClassWeight       = 0.01    // of a class beside the mean, as its intercept sees it
	shiftRidge           = 1e-5    // of the mean diagonal, which rounding in single precision cannot tell from 0
)

// shouldCouple reports whether classes have rows enough for matrices of their own, and these have room.
func shouldCouple(n, d, k float64) bool {
	return k >= 3 && d >= minCoupledColumns && n >= 2*k*d && k*d*d <= maxCoupledFloats && d <= maxFactorColumns
}

// coupledFlops is about what a preconditioner costs, in flops of a product of large matrices, of so many sampled rows.
func coupledFlops(picked, d, k float64) float64 { return 2*picked*d*d + 3*k*d*d*d }

func newCoupled(d, k int, intercept bool) *coupled {
	c := &coupled{}
	for range k {
		c.grams = append(c.grams, leastsquares.NewMoments(d, 0, intercept))
	}
	return c
}

// clone returns a copy of what was added up.
func (c *coupled) clone() *coupled {
	out := &coupled{}
	for _, g := range c.grams {
		out.grams = append(out.grams, g.Clone())
	}
	return out
}

// reset forgets all rows.
func (c *coupled) reset() {
	for _, g := range c.grams {
		g.Clear()
	}
}

// goldenFraction times integers, less what is whole, spreads evenly from 0 to 1.
const goldenFraction = math.Phi - 1

// add adds every sample-th row of a block that begins at row first, of probabilities p, rows × classes. A class takes those
// of small probability as seldom as they have it, and so much heavier.
func (c *coupled) add(ctx context.Context, X mat.Matrix, first, sample int, p, weights []float64) error {
	k := len(c.grams)
	for class, g := range c.grams {
		var picked []int
		var mass []float64
		for i := (sample - first%sample) % sample; i < len(weights); i += sample {
			share := p[i*k+class]
			if _, at := math.Modf(goldenFraction * float64(first+i+class)); weights[i] > 0 && at*certainShare < share {
				picked, mass = append(picked, i), append(mass, weights[i]*max(share, certainShare)*float64(sample))
			}
		}
		if len(picked) == 0 {
			continue
		}
		if err := g.Add(ctx, rowblock.Select(X, picked), nil, mass); err != nil {
			return err
		}
	}
	return nil
}

// factorize makes the factors, in single precision, and reports whether they could be had.
func (c *coupled) factorize(ctx context.Context) bool {
	k, d := len(c.grams), c.grams[0].Cols
	c.factors, c.means, c.weights = nil, nil, nil
	sum, inverse := make([]float64, d*d), make([]float32, d*d) // of A_c⁻¹; L_c⁻¹
	for _, g := range c.grams {
		weight := g.Weight
		if !(weight > 0) {
			g.Weight = 1
		}
		c.means, c.weights = append(c.means, g.Mean()), append(c.weights, weight)
		f, ok := g.Factorize(ctx, 1)
		g.Weight = weight
		if !ok {
			return false
		}
		lower := make([]float32, d*d)
		design.Round(lower, f.Lower)
		c.factors = append(c.factors, lower)
		clear(inverse)
		for i := range d {
			inverse[i*d+i] = 1
		}
		right := kern.Dense(d, d, d, inverse)
		if kern.SolveLower(ctx, kern.Dense(d, d, d, lower), right) != nil || kern.GramMixed(ctx, kern.Dense(d, d, d, sum), right, nil) != nil {
			return false
		}
	}
	least := max(minClassWeight*kern.Sum(c.weights)/float64(k), 1e-300) // of a class that no sampled row is likely to be of
	for class, weight := range c.weights {
		c.weights[class] = max(weight, least)
	}
	trace := 0.0
	for i := range d {
		row := sum[i*d : i*d+i+1]
		kern.Scale(-1, row)
		row[i] += float64(k)
		trace += row[i]
	}
	for i := range d {
		sum[i*d+i] += max(shiftRidge*trace/float64(d), shiftRidge)
	}
	_, ok, err := kern.Cholesky(ctx, kern.Dense(d, d, d, sum))
	c.shiftFactor = inverse
	design.Round(c.shiftFactor, sum)
	return ok && err == nil && kern.AllFinite(c.shiftFactor)
}

// diagonal returns 1 and the mean of the diagonals of B_c, and at the end of the weights.
func (c *coupled) diagonal() []float64 {
	d, share := c.grams[0].Cols, 1/float64(len(c.grams))
	out := make([]float64, d+1)
	for j := range d {
		out[j] = 1
	}
	for _, g := range c.grams {
		for j := range d {
			out[j] += share * max(0, g.Gram[j*d+j])
		}
		out[d] += share * g.Weight
	}
	out[d] = max(out[d], 1e-300)
	return out
}

// solve writes M⁻¹v to dst, both cols × classes with intercepts at the end where there are some.
func (c *coupled) solve(ctx context.Context, dst, v []float64, intercept bool) error {
	k, d := len(c.grams), c.grams[0].Cols
	apart := make([]float64, k*d) // y_c, class by class
	kern.Parallel(k, 1, func(lo, hi int) {
		for class := lo; class < hi; class++ {
			b := 0.0
			if intercept {
				b = v[d*k+class]
			}
			y := apart[class*d : (class+1)*d]
			for i, m := range c.means[class] {
				y[i] = v[i*k+class] - m*b
			}
			c.solveFactor(ctx, c.factors[class], y)
		}
	})
	shift := make([]float64, d)
	for class := range k {
		for i, y := range apart[class*d : (class+1)*d] {
			shift[i] += v[i*k+class] - y
		}
	}
	c.solveFactor(ctx, c.shiftFactor, shift)
	kern.Parallel(k, 1, func(lo, hi int) {
		rest := make([]float64, d)
		for class := lo; class < hi; class++ {
			copy(rest, shift)
			c.solveFactor(ctx, c.factors[class], rest)
			moved, y := 0.0, apart[class*d:(class+1)*d]
			for i, m := range c.means[class] {
				own := y[i] - rest[i] // the intercept sees no τ: it is eliminated from A_c alone
				dst[i*k+class] = own + shift[i]
				moved += m * own
			}
			if intercept {
				dst[d*k+class] = v[d*k+class]/c.weights[class] - moved
			}
		}
	})
	return ctxerr.Check(ctx)
}

// solveFactor overwrites right by the solution with a factor.
func (c *coupled) solveFactor(ctx context.Context, lower []float32, right []float64) {
	d := len(right)
	short := design.Borrow[float32](d)
	defer short.Release()
	top := math.Abs(right[0])
	for _, v := range right {
		top = max(top, math.Abs(v))
	}
	if !(top > 0) {
		return
	}
	for i, v := range right { // so that nothing small is lost to the range of single precision
		short.Data[i] = float32(v / top)
	}
	if kern.SolveCholesky(ctx, kern.Dense(d, d, d, lower), kern.Dense(d, 1, 1, short.Data)) != nil {
		return
	}
	for i, v := range short.Data {
		right[i] = float64(v) * top
	}
}
