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

// A bound on the rounding of sums in single precision holds for the worst of rows. Those there are round a thousand times
// better, for signs of products differ and rounding errors do. So the sums are checked while they are made: their matrix A
// times a few vectors g of random signs is compared to Σ s·x·(x'g), which is summed in double precision from the same rows.
// Of the error E of the matrix, E·g then is known; with L the factor of the system, ‖L⁻¹E·g‖² is ‖L⁻¹E‖² (Frobenius) in the
// mean over signs, and ‖L⁻¹E‖·‖w‖ bounds what E moves in the predictions of the rows. The right side is compared likewise;
// sums of inputs, by which both are centred, are in double precision anyway.
const (
	// probeCount is how many vectors of signs there are.
	probeCount = 4
	// errorMargin is how much larger the error may be than the probes show: with four of them it is larger less than once in a hundred
	// times, even for a matrix E of rank one.
	errorMargin = 4
)

// roundingCheck is what there is to compare sums in single precision with.
type roundingCheck struct {
	signs []float64 // vectors g, cols × (probes + 1); the last column, for the right side, is 0
	g     *Gradient // −Σ s·x·(x'g), and Σ s·x·(y'h) for signs h of targets
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

// targetSigns returns a sign for each target.
func targetSigns(targets int) []float64 {
	out, draw := make([]float64, targets), rand.New(rand.NewPCG(uint64(targets), probeCount+1))
	for t := range out {
		out[t] = randomSign(draw)
	}
	return out
}

// add adds rows whose targets are y.
func (c *roundingCheck) add(X mat.Matrix, y, weights []float64) {
	n, _ := X.Dims()
	signs := targetSigns(len(y) / n)
	hold := design.Borrow[float64](n * (probeCount + 1))
	defer hold.Release()
	clear(hold.Data)
	for i := range n {
		hold.Data[i*(probeCount+1)+probeCount] = kern.Dot(signs, y[i*len(signs):(i+1)*len(signs)])
	}
	c.g.Add(X, hold.Data, c.signs, make([]float64, probeCount+1), weights)
}

// merge adds the check of other rows.
func (c *roundingCheck) merge(o *roundingCheck) { kern.Axpy(1, o.g.inputs, c.g.inputs) }

// roundingBound returns how much the error of the sums m may move the predictions of w, which f solves for, against the spreads
// of the targets, and which part of an error is left after a refinement. The smallest pivot of f is least.
func (c *roundingCheck) roundingBound(ctx context.Context, m *Moments, f *Factor, w []float64, least float64) (size, left float64) {
	matrix, right := c.solvedErrors(ctx, m, f)
	spreads, narrowest := m.sumSquares(), math.Inf(1)
	for _, spread := range spreads {
		if spread > 0 {
			narrowest = min(narrowest, spread)
		}
	}
	left = matrix / math.Sqrt(least)
	if !(left < 1) {
		return math.Inf(1), left
	}
	return matrix*relativeNorm(w, spreads)/(1-left) + right/math.Sqrt(narrowest), left
}

// maxContraction returns what roughness does of refinements, where there is no solution yet.
func (c *roundingCheck) contraction(ctx context.Context, m *Moments, f *Factor, least float64) float64 {
	matrix, _ := c.solvedErrors(ctx, m, f)
	return matrix / math.Sqrt(least)
}

// solvedErrors returns ‖L⁻¹E‖ for the error E of the matrix and the factor L, and the same for the right side.
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

// errors returns what the sums times signs are beyond what they should be, cols × (probes + 1).
func (c *roundingCheck) errors(m *Moments) []float64 {
	d, k, out := m.Cols, probeCount+1, slices.Clone(c.g.inputs)
	turned, sums := make([]float64, d*k), make([]float64, d*k)
	design.Transpose(turned, c.signs, k)
	for i := range d {
		row := m.Gram[i*d : i*d+i+1]
		for p := range probeCount {
			g, to := turned[p*d:(p+1)*d], sums[p*d:(p+1)*d]
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

// state carries the sums of the check.
func (c *roundingCheck) state(s *model.State) {
	pass.Floats(s, "inputs", &c.g.inputs, len(c.signs), pass.Finite)
}
