package estimator

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/sparse"
)

// Sums of products are right to a few roundings of their trace, and the weights that solve for them
// are off by that times ‖w‖ in the inverse of the system A. What shows in the predictions of the
// training rows is at most its product with 1/(2√λ) for the smallest eigenvalue λ of A, which the
// smallest pivot stands in for. Where that is more than visible, weights are refined: a pass over
// the rows themselves adds up the gradient g = Σ s·(x−x̄)·(y−ȳ−(x−x̄)'w) − α·w, and w moves by A⁻¹g.
// What is then left is a rounding of √trace where it was one of the trace, times ‖w‖ (Björck,
// Numerical Methods for Least Squares Problems, 1996, section 2.9).
const (
	// visible is the change of predictions, against the spread of the targets, that is not to depend
	// on the order of summation.
	visible = 1e-9
	// refinements is how many passes over the rows are made at most.
	refinements = 4
	// contraction is the part of an error that a refinement may leave, else it is not tried.
	contraction = 0.1
)

// roughness returns how much the rounding of a system's sums may move the predictions of its solution
// w, and which part of an error is left after a refinement. The sums have the given trace, and least
// is the smallest pivot.
func roughness(w []float64, trace, least float64) (size, left float64) {
	norm := math.Sqrt(kern.Dot(w, w))
	return 4 * epsilon * trace * norm / (2 * math.Sqrt(least)), 4 * epsilon * trace / least
}

// leastPivot returns the smallest of the pivots of a Cholesky factor.
func leastPivot(lower []float64, n int) float64 {
	least := math.Inf(1)
	for i := range n {
		least = min(least, lower[i*n+i]*lower[i*n+i])
	}
	return least
}

// gradient is what a refinement adds up over the rows, for any number of weight vectors: Σ s·x·e and
// Σ s·e with e = y − x'w − offset.
type gradient struct {
	cols, columns int
	inputs        []float64 // cols × columns
	sum           []float64 // by column
}

func newGradient(cols, columns int) *gradient {
	return &gradient{cols: cols, columns: columns, inputs: make([]float64, cols*columns), sum: make([]float64, columns)}
}

// add adds rows of X, whose targets y are rows × columns and are overwritten; w is cols × columns,
// weights nil means ones.
func (g *gradient) add(X mat.Matrix, y, w, offset, weights []float64) {
	n, _ := X.Dims()
	k := g.columns
	scores := borrow[float64](n * k)
	defer scores.release()
	inner, in, out := kern.Dense(n, k, k, scores.list), kern.Dense(g.cols, k, k, w), kern.Dense(g.cols, k, k, g.inputs)
	csr, scattered := X.(*sparse.CSR)
	var dense kern.View[float64]
	if scattered {
		kern.SparseMul(inner, compressed(csr), in, false)
	} else {
		dense = view(asDense(X))
		kern.Mul(inner, dense, in, false)
	}
	for i := range n {
		row := y[i*k : (i+1)*k]
		for c := range row {
			row[c] -= scores.list[i*k+c] + offset[c]
			if weights != nil {
				row[c] *= weights[i]
			}
		}
		kern.Axpy(1, row, g.sum)
	}
	errors := kern.Dense(n, k, k, y)
	if scattered {
		kern.SparseMulT(out, compressed(csr), errors, true)
	} else {
		kern.Mul(out, dense.T(), errors, true)
	}
}

// asDense returns X as a dense matrix, itself if it is one.
func asDense(X mat.Matrix) *mat.Dense {
	if x, ok := X.(*mat.Dense); ok {
		return x
	}
	return mat.DenseCopyOf(widened(X))
}

// step turns the gradient of columns from to from+t, those of one weight vector for each target,
// into the step A⁻¹g, and returns it with √(g'A⁻¹g), by how much it moves the predictions.
func (g *gradient) step(w []float64, from, t int, mean []float64, alpha float64, solve func([]float64)) (step []float64, size float64) {
	d := len(w) / t
	right := make([]float64, d*t)
	for i := range d {
		row := right[i*t : (i+1)*t]
		copy(row, g.inputs[i*g.columns+from:])
		kern.Axpy(-mean[i], g.sum[from:from+t], row)
	}
	kern.Axpy(-alpha, w, right)
	step = slices.Clone(right)
	solve(step)
	return step, math.Sqrt(max(0, kern.Dot(right, step)))
}

// refine improves the solution w of the system that lower is the factor of by passes over the rows,
// where it is rough.
func (p *ridgeProblem) refine(ctx context.Context, m *moments, f *factor, w []float64) error {
	if m.single {
		return nil // sums in single precision are not meant to be that right
	}
	scale := math.Sqrt(m.spread())
	size, left := roughness(w, m.trace(), leastPivot(f.lower, f.cols))
	if size <= visible*scale || left >= contraction {
		return nil
	}
	mean, targetMean := m.mean(), m.targetMean()
	for range refinements {
		g := newGradient(m.cols, m.targets)
		offset := intercepts(w, mean, targetMean)
		err := p.rows.again(ctx, m.rows, func(first int, block datasets.Set) error {
			y, _, weights, err := p.block(first, block)
			if err != nil {
				return err
			}
			g.add(block.X, slices.Clone(y), w, offset, weights)
			return nil
		})
		if err != nil {
			return err
		}
		step, moved := g.step(w, 0, m.targets, mean, p.Alpha, func(b []float64) { f.solve(ctx, b, m.targets) })
		kern.Axpy(1, step, w)
		if refined(left*moved, scale) {
			return nil
		}
	}
	return nil
}

// refined reports whether an error in the predictions is out of sight, for targets of that scale.
func refined(left, scale float64) bool { return !(left > visible/32*scale) }
