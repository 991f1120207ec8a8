package leastsquares

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/single"
)

// leastPreconditioned is the number of dense columns and of rows from which conjugate gradients are preconditioned by
// more than the diagonal.
const leastPreconditioned = 1024

const (
	// contraction32 is the part of a residual that steps with inputs in single precision are to leave at least, before
	// the rows say in double precision what is left.
	contraction32 = 3e-5
	// mostRounds is how often they are asked. A round in which less than half of a residual goes is followed by steps in
	// double precision.
	mostRounds = 12
)

// inputs reads the inputs of rows, as often as its reader likes.
type inputs func(yield func(first int, X mat.Matrix) error) error

// preconditionedCG solves for the weights on dense rows by rounds: each asks the rows in double precision for the
// residual and solves for what is missing by conjugate gradients, on inputs in single precision where these can be had.
// So the solution is that of the system in double precision, and most readings of the rows cost half.
type preconditionedCG struct {
	*ridgeCG
	weights []float64 // of all rows, nil for ones
	inputs  inputs    // for steps
	short   bool      // whether they are in single precision
	by      *nystroem
}

// preconditioned is primal with a preconditioner.
func (c *ridgeCG) preconditioned() (w []float64, report solve.Report, err error) {
	s := &preconditionedCG{ridgeCG: c, weights: c.m.each}
	rows := c.rows
	if rows.Rounded != nil {
		rows = rows.Rounded
	}
	s.short = rows.Float32
	s.inputs = func(yield func(int, mat.Matrix) error) error {
		return rows.Again(c.ctx, c.m.rows, func(first int, block datasets.Set) error { return yield(first, block.X) })
	}
	trace := sumOf(s.diagonal)
	sums := newSketch(s.mean, rankOf(s.m.Cols, s.Alpha, trace))
	err = s.inputs(func(first int, X mat.Matrix) error {
		n, _ := X.Dims()
		return sums.add(s.ctx, X, part(s.weights, first, n))
	})
	if err != nil {
		return nil, report, err
	}
	if s.by, err = sums.precondition(s.ctx, s.Alpha, trace); err != nil {
		return nil, report, err
	}
	return s.solve()
}

// part returns the weights of n rows from first on; nil means ones.
func part(weights []float64, first, n int) []float64 {
	if weights == nil {
		return nil
	}
	return weights[first : first+n]
}

// goal returns the norms √(r'P⁻¹r) at which the predictions are right to Tol of the spread of each target. Of weights in
// the null space of fewer rows than columns these tell nothing: there those of new rows are to be right to 100·Tol.
func (s *preconditionedCG) goal() []float64 {
	tol := s.Tol
	if s.m.short() {
		tol = min(tol, 100*tol*math.Sqrt(s.Alpha/(s.Alpha+sumOf(s.diagonal))))
	}
	out := s.m.spreads()
	for j, spread := range out {
		if out[j] = tol * math.Sqrt(spread*s.by.alpha/s.by.penalty); spread <= constantBelow(s.m.rows)*s.m.squares[j] {
			out[j] = math.Inf(1) // the target is constant
		}
	}
	return out
}

func (s *preconditionedCG) solve() (w []float64, report solve.Report, err error) {
	t, goal := s.m.targets, s.goal()
	precondition := func(dst, v []float64) error { return s.by.solve(dst, v, t) }
	right := s.m.rightSide()
	w, step, z := make([]float64, len(right)), make([]float64, len(right)), make([]float64, len(right))
	report = solve.Report{Solver: "cg"}
	left, worst := make([]float64, t), math.Inf(1)
	for rounds := 0; ; rounds++ {
		if err := precondition(z, right); err != nil {
			return nil, report, err
		}
		if !lengths(left, right, z) {
			return nil, report, errRounding
		}
		before := worst
		if worst = worstOf(left, goal); worst <= 1 || report.Iterations >= s.MaxIter || rounds == mostRounds {
			break
		}
		if s.short && worst > before/2 {
			s.short, s.inputs = false, s.exact
		}
		result, err := solve.CG(s.apply, precondition, step, right, t, solve.Until{Tol: 1, Enough: s.aims(left, goal), MaxIter: s.MaxIter - report.Iterations})
		if err != nil {
			return nil, report, err
		}
		report.Iterations += result.Iterations
		kern.Axpy(1, step, w)
		if right, err = s.residual(w); err != nil {
			return nil, report, err
		}
	}
	report.Converged, report.Gradient = worst <= 1, s.Tol*worst
	report.Objective = -kern.Dot(w, right) // what is left of it where a residual is
	if !report.Converged {
		report.Warnings = append(report.Warnings, fmt.Sprintf("not converged after %d iterations: the predictions may be off by %.2g of the spread of the targets, wanted %.2g", report.Iterations, report.Gradient, s.Tol))
	}
	return w, report, nil
}

// lengths writes √(r'z) of each column to out, and reports whether they are lengths.
func lengths(out, r, z []float64) bool {
	clear(out)
	for i, v := range r {
		out[i%len(out)] += v * z[i]
	}
	for j, v := range out {
		if !(v >= 0) {
			return false
		}
		out[j] = math.Sqrt(v)
	}
	return true
}

// worstOf returns the largest ratio of norms to their goals.
func worstOf(norms, goal []float64) float64 {
	worst := 0.0
	for j, v := range norms {
		worst = max(worst, v/goal[j])
	}
	return worst
}

// aims returns the norms that a round is to get to: of the rounds that it takes from those that are left, each leaves an
// equal part.
func (s *preconditionedCG) aims(left, goal []float64) []float64 {
	out := make([]float64, len(left))
	for j, v := range left {
		out[j] = goal[j] / 2
		if s.short && v > out[j] {
			part := out[j] / v
			out[j] = v * math.Pow(part, 1/math.Ceil(math.Log(part)/math.Log(contraction32)))
		}
	}
	return out
}

// exact reads the inputs in double precision.
func (s *preconditionedCG) exact(yield func(first int, X mat.Matrix) error) error {
	return s.rows.Again(s.ctx, s.m.rows, func(first int, block datasets.Set) error {
		return inDouble(block.X, func(lo, _ int, X mat.Matrix) error { return yield(first+lo, X) })
	})
}

// widenedRows is the number of rows that are widened at a time.
const widenedRows = 256

// inDouble calls f with rows lo to hi of X in double precision: with some at a time where X is not.
func inDouble(X mat.Matrix, f func(lo, hi int, X mat.Matrix) error) error {
	n, _ := X.Dims()
	short, ok := X.(*single.Dense)
	if !ok {
		return f(0, n, X)
	}
	for lo := 0; lo < n; lo += widenedRows {
		hi := min(lo+widenedRows, n)
		if err := design.WhileWidened(short.Slice(lo, hi), func(X mat.Matrix) error { return f(lo, hi, X) }); err != nil {
			return err
		}
	}
	return nil
}

// apply multiplies by the matrix, on the inputs of steps.
func (s *preconditionedCG) apply(dst, v []float64) error {
	b := newBothWays(v, intercepts(v, s.mean, make([]float64, s.m.targets)))
	err := s.inputs(func(first int, X mat.Matrix) error {
		n, _ := X.Dims()
		b.add(X, nil, part(s.weights, first, n))
		return cause.Err(s.ctx)
	})
	b.centred(dst, s.mean)
	kern.Axpy(s.Alpha, v, dst)
	return err
}

// residual returns what w leaves of the right side, in double precision.
func (s *preconditionedCG) residual(w []float64) ([]float64, error) {
	b := newBothWays(w, intercepts(w, s.mean, s.m.targetMean()))
	err := s.rows.Again(s.ctx, s.m.rows, func(first int, block datasets.Set) error {
		y, _, weights, err := s.Block(first, block)
		if err != nil {
			return err
		}
		return inDouble(block.X, func(lo, hi int, X mat.Matrix) error {
			t := s.m.targets
			b.add(X, y[lo*t:hi*t], part(weights, lo, hi-lo))
			return cause.Err(s.ctx)
		})
	})
	out := make([]float64, len(w))
	b.centred(out, s.mean)
	kern.Axpy(s.Alpha, w, out)
	kern.Scale(-1, out)
	return out, err
}
