package newton

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// coupled is a preconditioner of the softmax loss of k classes with different curvatures. The
// second derivative of a row's loss is uᵀ(diag p − ppᵀ)u = min over t of Σ_c p_c(u_c − t)².
// Restricting t to xᵀτ with a common τ for all rows gives
//
//	M(W) = min over τ of Σ_c (w_c − τ)ᵀB_c(w_c − τ) + ‖W‖²,  B_c = Σ s·p_c·x·xᵀ
//
// M bounds the Hessian from above and is close to it if τ has many entries. Its inverse needs
// factors of A_c = B_c + I and of Σ_c (I − A_c⁻¹): y_c = A_c⁻¹r_c, then τ from Σ_c (r_c − y_c), and
// w_c = y_c + τ − A_c⁻¹τ. Intercepts are eliminated by centering the rows of each class.
type coupled struct {
	grams       []*leastsquares.Moments // B_c of a sample of the rows
	factors     [][]float32             // Cholesky factors of A_c
	means       [][]float64
	weights     []float64
	shiftFactor []float32 // Cholesky factor of Σ_c (I − A_c⁻¹)
}

const (
	maxCoupledFloats     = 1 << 24 // float64 values of all B_c
	minCoupledColumns    = 64      // with fewer columns τ has too few degrees of freedom
	coupledRowsPerColumn = 2.5     // sampled rows per column and class, for equal class frequencies
	certainShare         = 0.05    // class probability from which a row is always sampled
	minClassWeight       = 0.01    // relative to the mean class weight, for the intercept
	shiftRidge           = 1e-5    // relative to the mean diagonal, above float32 rounding
)

// shouldCouple reports whether there are enough rows for a matrix per class and the matrices fit in
// memory.
func shouldCouple(n, d, k float64) bool {
	return k >= 3 && d >= minCoupledColumns && n >= 2*k*d && k*d*d <= maxCoupledFloats && d <= maxFactorColumns
}

// coupledFlops estimates the work of a preconditioner from picked rows, in GEMM flops.
func coupledFlops(picked, d, k float64) float64 { return 2*picked*d*d + 3*k*d*d*d }

func newCoupled(d, k int, intercept bool) *coupled {
	c := &coupled{}
	for range k {
		c.grams = append(c.grams, leastsquares.NewMoments(d, 0, intercept))
	}
	return c
}

// reset clears the sums.
func (c *coupled) reset() {
	for _, g := range c.grams {
		g.Clear()
	}
}

// Multiples of goldenFraction, modulo 1, are evenly spread (a Weyl sequence).
const goldenFraction = math.Phi - 1

// add adds every sample-th row of a block that begins at row first, with probabilities p, rows ×
// classes. A class samples rows of small probability at a proportional rate and weights them up.
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

// factorize computes the float32 factors and reports whether it succeeded.
func (c *coupled) factorize(ctx context.Context) bool {
	k, d := len(c.grams), c.grams[0].Cols
	c.factors, c.means, c.weights = nil, nil, nil
	sum, inverse := make([]float64, d*d), make([]float32, d*d) // Σ_c A_c⁻¹; L_c⁻¹
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
		if kern.SolveLower(ctx, kern.Dense(d, d, d, lower), right) != nil ||
			kern.GramMixed(ctx, kern.Dense(d, d, d, sum), right, nil) != nil {
			return false
		}
	}
	smallest := max(minClassWeight*kern.Sum(c.weights)/float64(k), 1e-300) // for classes unlikely to be sampled
	for class, weight := range c.weights {
		c.weights[class] = max(weight, smallest)
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

// diagonal returns 1 plus the mean diagonal of the B_c, followed by the mean weight.
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

// solve writes M⁻¹v to dst. Both are cols × classes, followed by the intercepts if there are any.
func (c *coupled) solve(ctx context.Context, dst, v []float64, intercept bool) error {
	k, d := len(c.grams), c.grams[0].Cols
	apart := make([]float64, k*d) // y_c by class
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
				own := y[i] - rest[i] // the intercept is eliminated from A_c alone
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

// solveFactor overwrites right with the solution by a Cholesky factor.
func (c *coupled) solveFactor(ctx context.Context, lower []float32, right []float64) {
	d := len(right)
	solve.CholeskyFloat32(ctx, kern.Dense(d, d, d, lower), kern.Dense(d, 1, 1, right))
}
