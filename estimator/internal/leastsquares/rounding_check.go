package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
)

// A worst-case bound of the error of float32 sums is too large by a factor of about 1000, since
// rounding errors have random signs. The error is therefore estimated by probes during the pass:
// the Gram matrix times random sign vectors g is compared with Σ s·x·(xᵀg), summed in float64. This
// yields E·g for the error E of the matrix. With the Cholesky factor L of the system, ‖L⁻¹E·g‖² has
// expectation ‖L⁻¹E‖² (Frobenius), and ‖L⁻¹E‖·‖w‖ bounds the effect of E on training predictions.
// The right-hand side is checked likewise. Column sums are always float64.
const (
	// probeCount is the number of sign vectors.
	probeCount = 4
	// errorMargin is a safety factor on the probed error. With four probes it is exceeded with
	// probability below 1 %, even for E of rank 1.
	errorMargin = 4
)

// roundingCheck holds the probes of float32 sums.
type roundingCheck struct {
	signs []float64 // sign vectors, cols × (probeCount + 1); the last column, for the right-hand side, is 0
	g     *Gradient // −Σ s·x·(xᵀg), and Σ s·x·(yᵀh) for signs h of the targets
}

func newRoundingCheck(cols int) *roundingCheck {
	c := &roundingCheck{signs: make([]float64, cols*(probeCount+1)), g: NewGradient(cols, probeCount+1)}
	draw := rand.New(rand.NewPCG(uint64(cols), probeCount))
	for j := range cols {
		for p := range probeCount {
			c.signs[j*(probeCount+1)+p] = randomSign(draw)
		}
	}
	return c
}

func randomSign(draw *rand.Rand) float64 { return float64(2*draw.IntN(2) - 1) }

// targetSigns returns a random sign per target.
func targetSigns(targets int) []float64 {
	out, draw := make([]float64, targets), rand.New(rand.NewPCG(uint64(targets), probeCount+1))
	for t := range out {
		out[t] = randomSign(draw)
	}
	return out
}

// add adds rows with targets y.
func (c *roundingCheck) add(X mat.Matrix, y, weights []float64) {
	n, _ := X.Dims()
	signs := targetSigns(len(y) / n)
	buffer := design.Borrow[float64](n * (probeCount + 1))
	defer buffer.Release()
	clear(buffer.Data)
	for i := range n {
		buffer.Data[i*(probeCount+1)+probeCount] = kern.Dot(signs, y[i*len(signs):(i+1)*len(signs)])
	}
	c.g.Add(X, buffer.Data, c.signs, make([]float64, probeCount+1), weights)
}

// merge adds the check of disjoint rows.
func (c *roundingCheck) merge(o *roundingCheck) { kern.Axpy(1, o.g.inputs, c.g.inputs) }

// roundingBound bounds the relative prediction error that rounding in the sums m causes in w, and
// the contraction factor of one refinement step with the factor f, whose smallest squared pivot is
// pivot.
func (c *roundingCheck) roundingBound(ctx context.Context, m *Moments, f *Factor, w []float64, pivot float64) (size,
	contraction float64) {
	matrix, right := c.solvedErrors(ctx, m, f)
	spreads, narrowest := m.sumSquares(), math.Inf(1)
	for _, spread := range spreads {
		if spread > 0 {
			narrowest = min(narrowest, spread)
		}
	}
	contraction = matrix / math.Sqrt(pivot)
	if !(contraction < 1) {
		return math.Inf(1), contraction
	}
	return matrix*relativeNorm(w, spreads)/(1-contraction) + right/math.Sqrt(narrowest), contraction
}

// contraction returns the contraction factor of roundingBound before a solution is known.
func (c *roundingCheck) contraction(ctx context.Context, m *Moments, f *Factor, pivot float64) float64 {
	matrix, _ := c.solvedErrors(ctx, m, f)
	return matrix / math.Sqrt(pivot)
}

// solvedErrors estimates ‖L⁻¹E‖ for the error E of the matrix, and likewise for the right-hand
// side.
func (c *roundingCheck) solvedErrors(ctx context.Context, m *Moments, f *Factor) (matrix, right float64) {
	d, k := m.Cols, probeCount+1
	errs := c.errors(m)
	clearConstant(f.constant, errs, k)
	if kern.SolveLower(ctx, kern.Dense(d, d, d, f.Lower), kern.Dense(d, k, k, errs)) != nil {
		return math.Inf(1), math.Inf(1)
	}
	for i := range d {
		row := errs[i*k : (i+1)*k]
		matrix += kern.Dot(row[:probeCount], row[:probeCount])
		right += row[probeCount] * row[probeCount]
	}
	return errorMargin * math.Sqrt(matrix/probeCount), errorMargin * math.Sqrt(right)
}

// errors returns E·g for each sign vector, cols × (probeCount + 1).
func (c *roundingCheck) errors(m *Moments) []float64 {
	d, k, out := m.Cols, probeCount+1, slices.Clone(c.g.inputs)
	transposed, sums := make([]float64, d*k), make([]float64, d*k)
	kern.Transpose(transposed, c.signs, k)
	for i := range d {
		row := m.Gram[i*d : i*d+i+1]
		for p := range probeCount {
			g, to := transposed[p*d:(p+1)*d], sums[p*d:(p+1)*d]
			kern.Axpy(g[i], row[:i], to[:i])
			to[i] += kern.Dot(row, g[:i+1])
		}
	}
	signs := targetSigns(m.targets)
	shift := kern.Dot(signs, m.targetShift)
	for i := range d {
		sums[probeCount*d+i] = -kern.Dot(signs, m.cross[i*m.targets:(i+1)*m.targets]) - shift*m.sum[i]
	}
	design.AddTransposed(out, sums, k)
	return out
}

// state serializes the sums of the check.
func (c *roundingCheck) state(s *model.State) {
	pass.Floats(s, "inputs", &c.g.inputs, len(c.signs), pass.Finite)
}
