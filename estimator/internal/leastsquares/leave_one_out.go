package leastsquares

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// LOOResult holds leave-one-out predictions and scores for several alphas.
type LOOResult struct {
	Predictions      []*mat.Dense // rows × targets
	Errors           []float64    // mean squared errors
	GCV              []float64    // generalized cross-validation scores
	DegreesOfFreedom []float64    // effective
	Best             int          // first alpha of minimum error
	oneMinusH        [][]float64  // 1 − leverage up to a factor; 0 for rows of weight 0
}

// LeaveOneOut computes leave-one-out predictions without refitting, for alphas that replace
// s.Alpha.
func LeaveOneOut(ctx context.Context, s Ridge, data datasets.Set, alphas []float64) (*LOOResult, error) {
	l, err := newLOOSolver(ctx, s, data)
	if err != nil {
		return nil, err
	}
	out := &LOOResult{}
	for _, alpha := range alphas {
		l.problem.Alpha = alpha
		factor, err := l.solve(alpha)
		if err != nil {
			return nil, fmt.Errorf("alpha %v: %w", alpha, err)
		}
		if err := l.appendResult(out, factor); err != nil {
			return nil, fmt.Errorf("alpha %v: %w", alpha, err)
		}
	}
	for k, e := range out.Errors {
		if e < out.Errors[out.Best] {
			out.Best = k
		}
	}
	return out, nil
}

// errPredictions reports non-finite training predictions.
var errPredictions = errors.New("the predictions are not finite: the inputs or the targets are too large, or too " +
	"unequal in scale; standardize them")

// LeaveOneOutBytes returns the memory of [LeaveOneOut] for the given number of alphas.
func LeaveOneOutBytes(shape datasets.Shape, intercept bool, alphas int) int64 {
	n, d, t := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	numbers := 2*n*t + float64(alphas)*n*(t+1)
	if shape.Rows <= shape.Cols || intercept && shape.Rows == shape.Cols+1 {
		return design.Float64Bytes(numbers + n*d + 3*n*n)
	}
	return design.Float64Bytes(numbers + 3*d*d)
}

// looSolver computes residuals and 1 − h (h the leverage) for one alpha after another.
type looSolver struct {
	ctx        context.Context
	problem    *Problem
	rows       *design.Rows
	y, weights []float64
	targets    int
	sums       *Moments      // if there are more rows than columns
	dual       *centeredRows // otherwise
	kernel     []float64     // kernel of dual, lifted by tau
	tau        float64
	residual   []float64 // rows × targets
	oneMinusH  []float64 // 1 − h; 0 for rows of weight 0
	solve      func(alpha float64) (factor float64, err error)
	factor     *Factor // for the last alpha
}

// newLOOSolver prepares rows in memory, in primal or dual form.
func newLOOSolver(ctx context.Context, s Ridge, data datasets.Set) (*looSolver, error) {
	r, err := design.FromSet(data)
	if err != nil {
		return nil, err
	}
	y, targets, weights, err := design.BlockTargetsAndWeights(0, *r.Set)
	if err != nil {
		return nil, err
	}
	l := &looSolver{ctx: ctx, rows: r, y: y, weights: weights, targets: targets,
		problem: NewProblem(s, r, design.BlockTargetsAndWeights)}
	l.oneMinusH, l.residual = make([]float64, r.N), make([]float64, r.N*targets)
	l.solve = l.solvePrimal
	if r.N <= r.Cols || s.Intercept && r.N == r.Cols+1 {
		if l.dual, err = l.problem.readCentered(ctx); err != nil {
			return nil, err
		}
		if l.kernel, err = l.dual.kernel(ctx); err != nil {
			return nil, err
		}
		l.solve = l.solveDual
		l.tau = l.dual.liftNullspace(l.kernel, s.Intercept)
	} else {
		l.problem.rows = r.ToFloat64()
		if l.sums, err = l.problem.Moments(ctx); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *looSolver) weight(i int) float64 {
	if l.weights == nil {
		return 1
	}
	return l.weights[i]
}

// If rounding exceeds maxRoundingShare of 1 − h, the system is refactored. If it then exceeds
// maxErrorShare, the result is rejected.
const (
	maxRoundingShare = 1e-6
	maxErrorShare    = 1e-3
)

// solvePrimal uses the Cholesky factor of A, d × d: with LLᵀ = A, xᵀA⁻¹x = ‖L⁻¹x‖².
func (l *looSolver) solvePrimal(alpha float64) (factor float64, err error) {
	w, f, _, err := l.problem.solution(l.ctx, l.problem.sumsOf(l.sums))
	if err != nil {
		return 0, err
	}
	if f == nil {
		return 0, fmt.Errorf("the columns are linearly dependent; increase alpha")
	}
	rounding := f.contraction
	row, smallest := 0, 0.0
	for range 2 {
		if err := l.computeLeverages(w, f); err != nil {
			return 0, err
		}
		l.factor = f
		if row, smallest = l.minOneMinusH(); rounding <= maxRoundingShare*smallest {
			return 1, nil
		}
		if f, err = l.problem.refactor(l.ctx, l.sums); err != nil {
			return 0, err
		}
		if f == nil {
			return 0, fmt.Errorf("the columns are linearly dependent; increase alpha")
		}
		rounding = 4 * epsilon * math.Sqrt(1+l.sums.trace()/minPivot(f.Lower, f.cols))
	}
	if rounding <= maxErrorShare*smallest {
		return 1, nil
	}
	return 0, fmt.Errorf("row %d has leverage %v ± %.1g, so its leave-one-out prediction is undefined; increase alpha",
		row, 1-smallest, rounding)
}

// minOneMinusH returns the row of positive weight with the largest leverage and its 1 − h.
func (l *looSolver) minOneMinusH() (row int, smallest float64) {
	smallest = math.Inf(1)
	for i, m := range l.oneMinusH {
		if l.weight(i) > 0 && m < smallest {
			row, smallest = i, m
		}
	}
	return row, smallest
}

// computeLeverages computes the residuals of w and 1 − h from the factor.
func (l *looSolver) computeLeverages(w []float64, f *Factor) error {
	d := l.sums.Cols
	mean := l.sums.Mean()
	b := intercepts(w, mean, l.sums.TargetMean())
	const tile = 512
	buffer := make([]float64, tile*d)
	lower := kern.Dense(d, d, d, f.Lower)
	for lo := 0; lo < l.rows.N; lo += tile {
		if err := ctxerr.Check(l.ctx); err != nil {
			return err
		}
		n := min(tile, l.rows.N-lo)
		x := kern.Dense(n, d, d, buffer[:n*d])
		for i := range n {
			row := x.Row(i)
			design.WriteRow(row, l.rows.Set.X, lo+i)
			l.setResidual(lo+i, row, w, b)
			kern.Axpy(-1, mean, row)
		}
		kern.SolveLower(l.ctx, lower, x.T())
		for i := range n {
			s := l.weight(lo + i)
			h := s * kern.Dot(x.Row(i), x.Row(i))
			if l.problem.Intercept {
				h += s / l.sums.Weight
			}
			if l.oneMinusH[lo+i] = 1 - h; s == 0 {
				l.oneMinusH[lo+i] = 0
			}
		}
	}
	return nil
}

// setResidual computes the residuals of row i.
func (l *looSolver) setResidual(i int, row, w, b []float64) {
	t := l.targets
	out := l.residual[i*t : (i+1)*t]
	copy(out, b)
	if t == 1 {
		out[0] += kern.Dot(row, w)
	} else {
		for j, v := range row {
			kern.Axpy(v, w[j*t:(j+1)*t], out)
		}
	}
	for j := range out {
		out[j] = l.y[i*t+j] - out[j]
	}
}

// solveDual uses M = (K + α·I)⁻¹, n × n. For h near 1, 1 − h = α·M_ii suffers no cancellation. It
// returns the factor α, which residuals and oneMinusH omit.
func (l *looSolver) solveDual(alpha float64) (factor float64, err error) {
	d, n, t := l.dual, l.dual.n, l.targets
	f, err := l.kernelFactor(alpha)
	if err != nil {
		return 0, err
	}
	l.factor = f
	a := slices.Clone(d.y)
	f.Solve(l.ctx, a, t)
	w := d.primalWeights(a)
	d.refine(l.ctx, f, a, w, alpha, math.Sqrt(trace(l.kernel, n)))
	inverse, squares := make([]float64, n*n), make([]float64, n)
	addDiagonal(inverse, n, 1)
	kern.SolveLower(l.ctx, kern.Dense(n, n, n, f.Lower), kern.Dense(n, n, n, inverse))
	for i := range n {
		for j, v := range inverse[i*n : i*n+i+1] {
			squares[j] += v * v
		}
	}
	u := d.interceptVector(1)
	for k, i := range d.rowIndex {
		if l.oneMinusH[i] = squares[k]; l.problem.Intercept {
			l.oneMinusH[i] -= u[k] * u[k] / (alpha + l.tau)
		}
		if l.oneMinusH[i] <= 1e-12*squares[k] {
			return 0, fmt.Errorf("row %d has leverage 1, so its leave-one-out prediction is undefined; increase alpha", i)
		}
		bound := epsilon * relativeNorm(a, d.sumSquares()) * math.Sqrt(float64(n)) / l.oneMinusH[i]
		if bound > maxErrorShare {
			return 0, fmt.Errorf("rounding changes the prediction for row %d by %.1g relative to the targets; increase alpha", i,
				bound)
		}
		for j := range t {
			l.residual[i*t+j] = a[k*t+j] / math.Sqrt(d.weights[k])
		}
	}
	if len(d.rowIndex) < l.rows.N {
		return alpha, l.zeroWeightRows(w)
	}
	return alpha, nil
}

// kernelFactor returns the factor of kernel + alpha·I.
func (l *looSolver) kernelFactor(alpha float64) (*Factor, error) {
	n := l.dual.n
	f := &Factor{cols: n, Lower: slices.Clone(l.kernel)}
	addDiagonal(f.Lower, n, alpha)
	if cholesky(l.ctx, f.Lower, n) {
		if f.contraction = 4 * epsilon * trace(l.kernel, n) / minPivot(f.Lower, n); f.contraction <= maxRoundingShare {
			return f, nil
		}
	}
	f, err := shiftedCholeskyQR(l.ctx, l.kernel, n, alpha, l.dual.columnTiles(l.ctx, l.tau))
	if err == nil && f == nil {
		err = fmt.Errorf("the kernel matrix is singular; increase alpha")
	}
	return f, err
}

// zeroWeightRows computes the residuals of rows of weight 0, which the kernel omits.
func (l *looSolver) zeroWeightRows(w []float64) error {
	b := intercepts(w, l.dual.mean, l.dual.targetMean)
	row := make([]float64, l.dual.cols)
	for i := range l.rows.N {
		if l.weight(i) > 0 {
			continue
		}
		design.WriteRow(row, l.rows.Set.X, i)
		if !kern.AllFinite(row) {
			return design.NonFiniteError(0, *l.rows.Set)
		}
		l.oneMinusH[i] = 0
		l.setResidual(i, row, w, b)
	}
	return nil
}

// appendResult appends predictions and scores to out. factor is omitted in residuals and oneMinusH.
func (l *looSolver) appendResult(out *LOOResult, factor float64) error {
	t := l.targets
	predictions := mat.NewDense(l.rows.N, t, nil)
	total, rows, slack, plain, residual := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, m := range l.oneMinusH {
		s := l.weight(i)
		total += s
		if s > 0 {
			rows++
			slack += m
		} else {
			m = 1
		}
		for j, e := range l.residual[i*t : (i+1)*t] {
			plain += s * e * e
			e /= m
			residual += s * e * e
			predictions.Set(i, j, l.y[i*t+j]-e)
		}
	}
	mean := slack / rows
	out.Predictions = append(out.Predictions, predictions)
	out.Errors = append(out.Errors, residual/total/float64(t))
	out.GCV = append(out.GCV, plain/total/float64(t)/(mean*mean))
	out.DegreesOfFreedom = append(out.DegreesOfFreedom, rows-factor*slack)
	out.oneMinusH = append(out.oneMinusH, slices.Clone(l.oneMinusH))
	if !kern.AllFinite(predictions.RawMatrix().Data) {
		return errPredictions
	}
	return nil
}

// GCVPredictions returns the predictions for alpha number k with all leverages replaced by their
// mean. Their mean squared error is the GCV score.
func (out *LOOResult) GCVPredictions(k int, y []float64) *mat.Dense {
	_, t := out.Predictions[k].Dims()
	even := mat.DenseCopyOf(out.Predictions[k])
	slack, rows := 0.0, 0.0
	for _, m := range out.oneMinusH[k] {
		if m > 0 {
			slack, rows = slack+m, rows+1
		}
	}
	for i, m := range out.oneMinusH[k] {
		for j := range t {
			if m > 0 {
				residual := y[i*t+j] - out.Predictions[k].At(i, j)
				even.Set(i, j, y[i*t+j]-residual*m/(slack/rows))
			}
		}
	}
	return even
}
