package leastsquares

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// Ridge regression by the Gram matrix is one pass of sums. If its solution is inaccurate (see
// refine.go), more passes follow: one in float64 after float32 sums, up to three of shifted
// Cholesky QR, and up to four of refinement.
const (
	summing = iota
	refactoring
	refining
)

// Sums are the sums of one pass. Later passes do not modify the results of earlier ones and may
// share them.
type Sums struct {
	Ridge
	cols  int
	block blockOf
	stage int
	round int  // of refactoring or refining
	widen bool // sum float32 rows in float64

	sums        *Moments       // of this or an earlier pass; nil before the first rows
	float32Sums *Moments       // first sums, if replaced by float64 sums
	check       *roundingCheck // of float32 sums in the first pass; nil if none

	rowsSeen int       // in a later pass
	f        *Factor   // latest factor
	gram     []float64 // Gram matrix of the solved rows, for refactoring
	w        []float64 // weights to refine
	g        *Gradient // gradient at w

	factorBuffer []float64    // memory for a factor, nil if none
	outcome      *passOutcome // cached result of advance
}

// blockOf returns the targets, rows × count, and weights, nil for ones, of a block that begins at
// row first.
type blockOf func(first int, block datasets.Set) (y []float64, count int, weights []float64, err error)

// passOutcome is the next pass or the solution.
type passOutcome struct {
	next   *Sums
	w      []float64
	f      *Factor // nil if the system is singular
	report solve.Report
}

// NewSums returns the sums of a first pass without rows.
func NewSums(s Ridge, cols int, block blockOf) *Sums {
	return &Sums{Ridge: s, cols: cols, block: block, check: newRoundingCheck(cols)}
}

// Add adds a block; first is the number of its first row in the shard.
func (r *Sums) Add(ctx context.Context, first int, block datasets.Set) error {
	r.outcome = nil
	if r.widen {
		return design.WithFloat64(block.X, func(X mat.Matrix) error {
			block.X = X
			return r.addRows(ctx, first, block)
		})
	}
	return r.addRows(ctx, first, block)
}

func (r *Sums) addRows(ctx context.Context, first int, block datasets.Set) error {
	y, count, weights, err := r.block(first, block)
	if err != nil {
		return err
	}
	if r.stage == summing && r.sums == nil {
		r.sums = NewMoments(r.cols, count, r.Intercept)
	}
	if count != r.sums.targets {
		return fmt.Errorf("rows from %d: must have %d targets, got %d", first, r.sums.targets, count)
	}
	switch r.stage {
	case summing:
		if r.sums.Add(ctx, block.X, y, weights) != nil {
			return cmp.Or(ctxerr.Check(ctx), design.NonFiniteError(first, block))
		}
		if !r.sums.Float32 || r.sums.shift != nil {
			r.check = nil
		}
		if r.check != nil {
			r.check.add(block.X, y, weights)
		}
	case refactoring:
		r.rowsSeen += block.Rows()
		return r.addTiles(ctx, block.X, weights)
	case refining:
		r.rowsSeen += block.Rows()
		r.g.Add(block.X, slices.Clone(y), r.w, intercepts(r.w, r.sums.Mean(), r.sums.TargetMean()), weights)
		return ctxerr.Check(ctx)
	}
	return nil
}

// addTiles adds the Gram matrix of the centered, weighted rows solved by the factor.
func (r *Sums) addTiles(ctx context.Context, X mat.Matrix, weights []float64) error {
	const size = 512
	d, mean := r.cols, r.sums.Mean()
	n, _ := X.Dims()
	buffer := design.Borrow[float64](min(n, size) * d)
	defer buffer.Release()
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		tile := kern.Dense(hi-lo, d, d, buffer.Data)
		for i := range hi - lo {
			row := tile.Row(i)
			design.WriteRow(row, X, lo+i)
			kern.Axpy(-1, mean, row)
			if weights != nil {
				kern.Scale(math.Sqrt(weights[lo+i]), row)
			}
		}
		kern.SolveLower(ctx, kern.Dense(d, d, d, r.f.Lower), tile.T())
		kern.Gram(ctx, kern.Dense(d, d, d, r.gram), tile, nil)
	}
	return ctxerr.Check(ctx)
}

// Merge adds the sums of disjoint rows of the same pass.
func (r *Sums) Merge(_ context.Context, o *Sums) error {
	r.outcome = nil
	if r.stage != o.stage || r.round != o.round || r.widen != o.widen {
		return errRowsChanged
	}
	if r.stage == summing {
		if o.sums == nil {
			return nil
		}
		if r.sums == nil {
			r.sums = NewMoments(r.cols, o.sums.targets, r.Intercept)
		}
		if r.check != nil && o.check != nil {
			r.check.merge(o.check)
		} else {
			r.check = nil
		}
		if r.sums.targets != o.sums.targets {
			return fmt.Errorf("must have %d targets, got %d", r.sums.targets, o.sums.targets)
		}
		r.sums.merge(o.sums)
		return nil
	}
	if r.sums.rows != o.sums.rows || r.sums.Weight != o.sums.Weight || !slices.Equal(r.w, o.w) {
		return errRowsChanged
	}
	r.rowsSeen += o.rowsSeen
	if r.stage == refactoring {
		kern.Axpy(1, o.gram, r.gram)
		return nil
	}
	kern.Axpy(1, o.g.inputs, r.g.inputs)
	kern.Axpy(1, o.g.sum, r.g.sum)
	kern.Axpy(1, o.g.squares, r.g.squares)
	return nil
}

// Next returns the next pass, or nil if the solution is known. The receiver remains usable.
func (r *Sums) Next(ctx context.Context) (*Sums, error) {
	step, err := r.advance(ctx)
	if err != nil || step.next == nil {
		return nil, err
	}
	return step.next.withEmptySums(), nil
}

// First reports whether this is the first pass.
func (r *Sums) First() bool { return r.stage == summing && !r.widen }

// Targets returns the number of targets, -1 without rows.
func (r *Sums) Targets() int {
	if r.firstSums() == nil {
		return -1
	}
	return r.firstSums().targets
}

// withEmptySums returns the pass without rows and with its own sums.
func (r *Sums) withEmptySums() *Sums {
	next := *r
	switch r.stage {
	case refactoring:
		next.gram = make([]float64, r.cols*r.cols)
	case refining:
		next.g = NewGradient(r.cols, r.sums.targets)
	}
	return &next
}

// advance returns the outcome of the pass.
func (r *Sums) advance(ctx context.Context) (*passOutcome, error) {
	if r.outcome != nil {
		return r.outcome, ctxerr.Check(ctx)
	}
	if r.sums == nil {
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	}
	if r.stage != summing && r.rowsSeen != r.sums.rows {
		return nil, fmt.Errorf("%w: %d rows in the first pass, %d in this one", errRowsChanged, r.sums.rows, r.rowsSeen)
	}
	if r.sums.Weight == 0 {
		return nil, errors.New("every weight is 0")
	}
	var step *passOutcome
	var err error
	switch r.stage {
	case summing:
		step, err = r.afterSums(ctx)
	case refactoring:
		step, err = r.afterRefactoring(ctx)
	default:
		step, err = r.afterRefining(ctx)
	}
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // errors after cancellation are consequences of it
		return nil, err
	}
	r.outcome = step
	return step, nil
}

// precision returns the precision of the sums.
func (r *Sums) precision() precision { return precisionOf(r.sums.Float32) }

// afterSums solves by Cholesky. It returns a solution, a refinement, a float64 pass or a
// refactoring, depending on the rounding bound.
func (r *Sums) afterSums(ctx context.Context) (*passOutcome, error) {
	m, w := r.sums, r.sums.rightSide()
	buf := r.factorBuffer
	if r.factorBuffer = nil; buf == nil { // the factor is retained
		buf = make([]float64, r.cols*r.cols)
	}
	f, ok := m.factorizeInto(ctx, r.Alpha, buf)
	prec := r.precision()
	if ok {
		if err := f.Solve(ctx, w, m.targets); err != nil {
			return nil, err
		}
		var size float64
		pivot := minPivot(f.Lower, f.cols)
		size, f.contraction = prec.roundingBound(w, m.sumSquares(), m.trace(), pivot)
		if r.check != nil && size*m.newRowFactor(pivot) > prec.visible {
			if bound, contraction := r.check.roundingBound(ctx, m, f, w, pivot); contraction < maxContraction {
				size, f.contraction = min(size, bound), min(f.contraction, contraction)
			}
		}
		if size*m.newRowFactor(pivot) <= prec.visible {
			return &passOutcome{w: w, f: f, report: solve.Report{Solver: "cholesky", Converged: true}}, nil
		}
	}
	switch {
	case ok && f.contraction < maxContraction:
		return r.refinePass(f, w, 1), nil
	case m.Float32:
		return r.float64Pass(), nil
	case !ok && r.Alpha == 0:
		return r.solveSingular(ctx)
	}
	if outcome := r.startRefactoring(ctx); outcome != nil {
		return outcome, nil
	}
	return r.solveSingular(ctx)
}

// needsFloat64 reports whether float32 sums of the given number of rows would be too inaccurate for
// refinement. The first rows, with their share of the penalty, estimate the pivots and errors of
// the whole system; see [probeRows].
func (r *Sums) needsFloat64(ctx context.Context, rows int) bool {
	m := r.sums
	r.factorBuffer = make([]float64, r.cols*r.cols)
	f, ok := m.factorizeInto(ctx, r.Alpha*float64(m.rows)/float64(rows), r.factorBuffer)
	if !ok {
		return true
	}
	pivot := minPivot(f.Lower, f.cols)
	_, contraction := precisionOf(true).roundingBound(nil, nil, m.trace(), pivot)
	if contraction >= maxContraction && r.check != nil {
		contraction = min(contraction, r.check.contraction(ctx, m, f, pivot))
	}
	return contraction >= 1
}

// startRefactoring returns the first pass of shifted Cholesky QR, nil if the shifted system is
// singular.
func (r *Sums) startRefactoring(ctx context.Context) *passOutcome {
	m, trace := r.sums, 0.0
	f := &Factor{cols: m.Cols, Lower: make([]float64, m.Cols*m.Cols), constant: m.constantColumns(m.Cols)}
	m.system(f.Lower, m.Cols, 0)
	for i := range m.Cols {
		trace += f.Lower[i*m.Cols+i]
	}
	addDiagonal(f.Lower, m.Cols, r.Alpha+float64(m.Cols)*epsilon*trace)
	if !cholesky(ctx, f.Lower, m.Cols) {
		return nil
	}
	return r.refactorPass(f, 1)
}

// nextPass returns a pass over the same rows without sums.
func (r *Sums) nextPass(stage, round int) *Sums {
	return &Sums{Ridge: r.Ridge, cols: r.cols, block: r.block, stage: stage, round: round, widen: r.widen, sums: r.sums,
		float32Sums: r.float32Sums}
}

func (r *Sums) float64Pass() *passOutcome {
	next := r.nextPass(summing, 0)
	next.widen, next.float32Sums, next.sums = true, r.sums, nil
	return &passOutcome{next: next}
}

func (r *Sums) refactorPass(f *Factor, round int) *passOutcome {
	next := r.nextPass(refactoring, round)
	next.f = f
	return &passOutcome{next: next}
}

func (r *Sums) refinePass(f *Factor, w []float64, round int) *passOutcome {
	next := r.nextPass(refining, round)
	next.f, next.w = f, w
	return &passOutcome{next: next}
}

// solveSingular solves a singular system.
func (r *Sums) solveSingular(ctx context.Context) (*passOutcome, error) {
	m, w := r.sums, r.sums.rightSide()
	system := make([]float64, m.Cols*m.Cols)
	m.system(system, m.Cols, r.Alpha)
	clearConstant(m.constantColumns(m.Cols), w, m.targets)
	rank, err := minNormSolve(ctx, system, m.Cols, w, m.targets)
	report := solve.Report{Solver: "eigenvectors", Converged: true,
		Warnings: []string{singularWarning(r.Alpha, rank, m.Cols)}}
	return &passOutcome{w: w, report: report}, err
}

// afterRefactoring multiplies the factor by that of the pass and refines if it is accurate enough.
func (r *Sums) afterRefactoring(ctx context.Context) (*passOutcome, error) {
	k := r.cols
	gram := slices.Clone(r.gram)
	penalty := make([]float64, k*k)
	addDiagonal(penalty, k, math.Sqrt(r.Alpha))
	tile := kern.Dense(k, k, k, penalty)
	kern.SolveLower(ctx, kern.Dense(k, k, k, r.f.Lower), tile.T())
	kern.Gram(ctx, kern.Dense(k, k, k, gram), tile, nil)
	if !cholesky(ctx, gram, k) {
		return r.solveSingular(ctx)
	}
	f := &Factor{cols: k, Lower: make([]float64, k*k), constant: r.f.constant}
	kern.Mul(kern.Dense(k, k, k, f.Lower), kern.Dense(k, k, k, r.f.Lower), kern.Dense(k, k, k, gram), false)
	f.contraction = 4 * epsilon * float64(k) / minPivot(gram, k)
	switch {
	case f.contraction <= refinedTol:
		w := r.sums.rightSide()
		if err := f.Solve(ctx, w, r.sums.targets); err != nil {
			return nil, err
		}
		return r.refinePass(f, w, 1), nil
	case r.round < maxRefactorings:
		return r.refactorPass(f, r.round+1), nil
	}
	return r.solveSingular(ctx)
}

// afterRefining updates the weights and bounds their error. If float32 sums are too inaccurate, it
// returns a float64 pass.
func (r *Sums) afterRefining(ctx context.Context) (*passOutcome, error) {
	m, prec := r.sums, r.precision()
	pivot, floor := minPivot(r.f.Lower, r.cols), 0.0
	spreads := m.sumSquares()
	if m.underdetermined() {
		for j, spread := range spreads {
			if spread > 0 {
				floor = max(floor, epsilon*m.trace()/pivot*math.Sqrt(r.g.squares[j]/spread))
			}
		}
	}
	step, size := r.g.newtonStep(r.w, 0, spreads, m.Mean(), r.Alpha, func(b []float64) { r.f.Solve(ctx, b, m.targets) })
	w := slices.Clone(r.w)
	kern.Axpy(1, step, w)
	remaining := r.f.contraction * size * m.newRowFactor(pivot)
	switch {
	case !negligible(remaining, prec.visible) && r.round < MaxRefinements:
		return r.refinePass(r.f, w, r.round+1), nil
	case remaining > prec.visible && m.Float32:
		return r.float64Pass(), nil
	}
	report := solve.Report{Solver: "cholesky", Converged: true}
	warnRounding(&report, r.Alpha, remaining, floor, prec.visible)
	return &passOutcome{w: w, f: r.f, report: report}, nil
}

// firstSums returns the sums of the first pass.
func (r *Sums) firstSums() *Moments {
	if r.float32Sums != nil {
		return r.float32Sums
	}
	return r.sums
}

// Solution returns the solution after the last pass.
func (r *Sums) Solution(ctx context.Context) (solve.Linear, error) {
	step, err := r.advance(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	m, w, report := r.firstSums(), step.w, step.report
	report.Warnings = slices.Clone(report.Warnings)
	if m.Float32 {
		warnFeatureRounding(&report, r.Alpha, featureRounding(w, m.meanSquares(m.Cols), m.sumSquares(), m.Weight))
	}
	report.Objective = max(0, m.totalSumSquares()-kern.Dot(w, m.rightSide()))
	return solve.NewLinear(w, intercepts(w, m.Mean(), m.TargetMean()), report)
}

// State serializes the sums. It restores into sums of the same problem.
func (r *Sums) State(s *model.State) {
	r.outcome = nil
	empty, replaced := r.sums == nil, r.float32Sums != nil
	s.Int("stage", &r.stage)
	s.Int("round", &r.round)
	s.Bool("wide", &r.widen)
	s.Bool("empty", &empty)
	s.Bool("twice", &replaced)
	s.Require(r.stage >= summing && r.stage <= refining && r.round >= 0 && r.round <= MaxRefinements,
		"the stage or round of the pass is invalid")
	s.Require(r.widen == replaced && (!empty || r.stage == summing), "the stage does not match its sums")
	if s.Err() != nil {
		return
	}
	if s.Restoring() {
		r.sums, r.float32Sums, r.f, r.g, r.check = nil, nil, nil, nil, nil
	}
	r.checkState(s, empty)
	if !empty {
		r.sums = r.stateMoments(s.Child("moments"), r.sums)
	}
	if replaced {
		r.float32Sums = r.stateMoments(s.Child("given"), r.float32Sums)
		s.Require(s.Err() != nil || r.float32Sums.Float32 && (empty || r.float32Sums.targets == r.sums.targets),
			"the float32 sums do not match")
	}
	if r.stage == summing || s.Err() != nil {
		return
	}
	s.Int("seen", &r.rowsSeen)
	s.Require(r.rowsSeen >= 0, "the number of rows must be ≥ 0")
	if r.f == nil {
		r.f = &Factor{}
	}
	r.f.state(s.Child("factor"), r.cols)
	if r.stage == refactoring {
		pass.Floats(s, "gram", &r.gram, r.cols*r.cols, pass.Finite)
		return
	}
	if r.g == nil {
		r.g = NewGradient(r.cols, r.sums.targets)
	}
	t := r.sums.targets
	pass.Floats(s, "weights", &r.w, r.cols*t, pass.Finite)
	pass.Floats(s, "inputs", &r.g.inputs, r.cols*t, pass.Finite)
	pass.Floats(s, "errors", &r.g.sum, t, pass.Finite)
	pass.Floats(s, "squares", &r.g.squares, t, pass.NonNegative)
}

// checkState serializes the rounding check, which old states lack.
func (r *Sums) checkState(s *model.State, empty bool) {
	checked := r.check != nil
	if !s.Has("checked") {
		return
	}
	s.Bool("checked", &checked)
	if !checked || s.Err() != nil {
		return
	}
	if s.Require(r.stage == summing && !r.widen, "only the first sums are checked"); r.check == nil {
		r.check = newRoundingCheck(r.cols)
	}
	if !empty {
		r.check.state(s.Child("check"))
	}
}

// stateMoments serializes moments.
func (r *Sums) stateMoments(s *model.State, m *Moments) *Moments {
	if s.Restoring() {
		m = readMoments(r.cols)
	}
	m.state(s)
	s.Require(m.centered == r.Intercept && m.targets >= 1, "the moments do not match the spec")
	return m
}

// errRowsChanged reports that a pass read other rows than the first.
var errRowsChanged = errors.New("the rows differ from those of the previous pass")
