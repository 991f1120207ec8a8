package estimator

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/param"
)

// LeaveOneOut is what ridge regression would predict for every row, had that row been left out, for
// each of several penalties; and what follows from it.
type LeaveOneOut struct {
	Alphas []float64
	// Predictions has, for each alpha, rows × targets predictions of models that have not seen the
	// row. A row of weight 0 is seen by no model.
	Predictions []*mat.Dense
	// Errors has, for each alpha, the mean over the rows, by weight, and over the targets of the
	// squared error of Predictions.
	Errors []float64
	// GCV has, for each alpha, the generalised cross-validation score (1/n)‖e‖² / (1 − df/n)², a
	// mean squared error that treats all rows alike. (Golub, Heath & Wahba, Technometrics 1979.)
	GCV []float64
	// Freedom has, for each alpha, the effective degrees of freedom tr(H), the intercept's included.
	Freedom []float64
	// Best is the number of the alpha of the smallest of Errors, the first where several are.
	Best int
}

// LeaveOneOut computes exact leave-one-out predictions for each of alphas, which take the place of
// s.Alpha, without fitting again: with residual e_i and leverage h_i,
//
//	y_i − ŷ₋ᵢ = e_i / (1 − h_i),  h_i = s_i·(1/Σs + x̃_i'(X̃'SX̃ + α·I)⁻¹x̃_i),
//
// x̃ centred, and the 1/Σs, where there is an intercept. With no more rows than columns, the intercept
// being one, 1 − h would cancel. There the n×n matrix K = S^½X̃X̃'S^½ serves,
//
//	y_i − ŷ₋ᵢ = a_i / (√s_i·M_ii),  M = P(K + α·I)⁻¹P,  a = M·S^½(y − ȳ),
//
// P projecting the intercept out. It reads the data once for the sums and once for each alpha, and
// costs nd² + a·(d³/3 + nd²) flops for a alphas. Ill-conditioned systems take two or three passes more
// for each alpha. A row without which the others do not determine the model, or so nearly that
// rounding decides, is an error. (Allen, Technometrics 1974.)
func (s Ridge) LeaveOneOut(ctx context.Context, data datasets.Set, alphas []float64) (*LeaveOneOut, error) {
	if err := forNumbers(data.Schema, "ridge"); err != nil {
		return nil, fmt.Errorf("estimator: ridge: leave one out: %w", err)
	}
	out, err := s.leaveOneOut(ctx, data, alphas)
	if err = cmp.Or(ctx.Err(), err); err != nil { // whatever else there is comes of stopping
		return nil, fmt.Errorf("estimator: ridge: leave one out: %w", err)
	}
	return out, nil
}

func (s Ridge) leaveOneOut(ctx context.Context, data datasets.Set, alphas []float64) (*LeaveOneOut, error) {
	if len(alphas) == 0 {
		return nil, fmt.Errorf("no alphas")
	}
	for _, a := range alphas {
		s.Alpha = a
		if err := param.CheckFit(s); err != nil {
			return nil, err
		}
	}
	out, err := leaveOneOut(ctx, leastRidge(s), data, alphas)
	if err != nil {
		return nil, err
	}
	return &LeaveOneOut{slices.Clone(alphas), out.Predictions, out.Errors, out.GCV, out.Freedom, out.Best}, nil
}

// oneOut is what the models of all rows but one predict for that row, for each of several alphas.
type oneOut struct {
	Predictions []*mat.Dense // rows × targets
	Errors      []float64    // the mean squared errors
	GCV         []float64    // generalised cross-validation scores
	Freedom     []float64    // effective degrees of freedom
	Best        int          // the first alpha of the least error
	slacks      [][]float64  // of the rows, but for a factor; 0 for rows of weight 0
}

// leaveOneOut computes the predictions without fitting again, for alphas that take the place of
// s.Alpha.
func leaveOneOut(ctx context.Context, s leastRidge, data datasets.Set, alphas []float64) (*oneOut, error) {
	r, err := design.OfSet(data)
	if err != nil {
		return nil, err
	}
	y, targets, err := design.BlockTargets(0, *r.Set)
	if err != nil {
		return nil, err
	}
	weights, err := design.BlockWeights(0, *r.Set)
	if err != nil {
		return nil, err
	}
	l := &leaver{ctx: ctx, rows: r, y: y, weights: weights, targets: targets, problem: newProblem(s, r, design.BlockTargets, design.BlockWeights)}
	l.slack, l.residual = make([]float64, r.N), make([]float64, r.N*targets)
	by := l.primal
	if r.N <= r.Cols || s.Intercept && r.N == r.Cols+1 {
		if l.dual, err = l.problem.centred(ctx); err != nil {
			return nil, err
		}
		if l.kernel, err = l.dual.kernel(ctx); err != nil {
			return nil, err
		}
		by = l.wide
		l.tau = l.dual.lift(l.kernel, s.Intercept)
	} else {
		l.problem.rows = r.Widened()
		if l.sums, err = l.problem.moments(ctx); err != nil {
			return nil, err
		}
	}
	out := &oneOut{}
	for _, alpha := range alphas {
		l.problem.Alpha = alpha
		factor, err := by(alpha)
		if err != nil {
			return nil, fmt.Errorf("alpha %v: %w", alpha, err)
		}
		if err := l.finish(out, factor); err != nil {
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

// leaver computes, for one alpha after another, residuals and slacks: what is divided by what.
type leaver struct {
	ctx        context.Context
	problem    *ridgeProblem
	rows       *design.Rows
	y, weights []float64
	targets    int
	sums       *moments     // with more rows than columns
	dual       *centredRows // with fewer
	kernel     []float64    // its kernel, with the zero of centred rows lifted by tau
	tau        float64
	residual   []float64 // rows × targets
	slack      []float64 // 1 − h; 0 for rows of weight 0
}

func (l *leaver) weight(i int) float64 {
	if l.weights == nil {
		return 1
	}
	return l.weights[i]
}

// Of 1 − h, as the factor gives it, no more than mostLost is to be rounding, else the factor is
// sharpened; and no more than refused, else there is no result.
const (
	mostLost = 1e-6
	refused  = 1e-3
)

// primal solves with the factor of the d×d matrix: with LL' = A, x'A⁻¹x = ‖L⁻¹x‖².
func (l *leaver) primal(alpha float64) (factor float64, err error) {
	w, f, _, err := l.problem.solution(l.ctx, l.sums)
	if err != nil {
		return 0, err
	}
	if f == nil {
		return 0, fmt.Errorf("the columns depend on each other; use a larger alpha")
	}
	rounding := f.left
	row, least := 0, 0.0
	for range 2 {
		if err := l.measure(w, f); err != nil {
			return 0, err
		}
		if row, least = l.leastSlack(); rounding <= mostLost*least {
			return 1, nil
		}
		if f, err = l.problem.sharpen(l.ctx, l.sums); err != nil {
			return 0, err
		}
		if f == nil {
			return 0, fmt.Errorf("the columns depend on each other; use a larger alpha")
		}
		rounding = 4 * epsilon * math.Sqrt(1+l.sums.trace()/leastPivot(f.lower, f.cols))
	}
	if rounding <= refused*least {
		return 1, nil
	}
	return 0, fmt.Errorf("row %d alone determines a part of the model (leverage %v, known to %.1g); use a larger alpha", row, 1-least, rounding)
}

// leastSlack returns the row of positive weight that has the smallest slack.
func (l *leaver) leastSlack() (row int, least float64) {
	least = math.Inf(1)
	for i, m := range l.slack {
		if l.weight(i) > 0 && m < least {
			row, least = i, m
		}
	}
	return row, least
}

// measure writes the residuals by w and the slacks by the factor.
func (l *leaver) measure(w []float64, f *factor) error {
	d := l.sums.cols
	mean := l.sums.mean()
	b := intercepts(w, mean, l.sums.targetMean())
	const tile = 512
	hold := make([]float64, tile*d)
	lower := kern.Dense(d, d, d, f.lower)
	for lo := 0; lo < l.rows.N; lo += tile {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		n := min(tile, l.rows.N-lo)
		x := kern.Dense(n, d, d, hold[:n*d])
		for i := range n {
			row := x.Row(i)
			design.WriteRow(row, l.rows.Set.X, lo+i)
			l.residue(lo+i, row, w, b)
			kern.Axpy(-1, mean, row)
		}
		kern.SolveLower(l.ctx, lower, x.T())
		for i := range n {
			s := l.weight(lo + i)
			h := s * kern.Dot(x.Row(i), x.Row(i))
			if l.problem.Intercept {
				h += s / l.sums.weight
			}
			if l.slack[lo+i] = 1 - h; s == 0 {
				l.slack[lo+i] = 0
			}
		}
	}
	return nil
}

// residue writes the residuals of row i.
func (l *leaver) residue(i int, row, w, b []float64) {
	t := l.targets
	out := l.residual[i*t : (i+1)*t]
	copy(out, b)
	for j, v := range row {
		kern.Axpy(v, w[j*t:(j+1)*t], out)
	}
	for j := range out {
		out[j] = l.y[i*t+j] - out[j]
	}
}

// wide solves with the n×n matrix: where h is near 1 nothing is left of 1 − h = α·M_ii, but all of M_ii.
// It returns the factor α, which is in neither residuals nor slacks.
func (l *leaver) wide(alpha float64) (factor float64, err error) {
	d, n, t := l.dual, l.dual.n, l.targets
	f, err := l.kernelFactor(alpha)
	if err != nil {
		return 0, err
	}
	a := slices.Clone(d.y)
	f.solve(l.ctx, a, t)
	w := d.coefficients(a)
	d.refine(l.ctx, f, a, w, alpha, math.Sqrt(trace(l.kernel, n)))
	inverse, squares := make([]float64, n*n), make([]float64, n)
	addDiagonal(inverse, n, 1)
	kern.SolveLower(l.ctx, kern.Dense(n, n, n, f.lower), kern.Dense(n, n, n, inverse))
	for i := range n {
		for j, v := range inverse[i*n : i*n+i+1] {
			squares[j] += v * v
		}
	}
	u := d.along(1)
	for k, i := range d.kept {
		if l.slack[i] = squares[k]; l.problem.Intercept {
			l.slack[i] -= u[k] * u[k] / (alpha + l.tau)
		}
		if l.slack[i] <= 1e-12*squares[k] {
			return 0, fmt.Errorf("row %d alone determines a part of the model (leverage 1)", i)
		}
		if most := epsilon * steepness(a, d.spreads()) * math.Sqrt(float64(n)) / l.slack[i]; most > refused {
			return 0, fmt.Errorf("rows are so alike that rounding moves the prediction for row %d by %.1g of the spread of the targets; use a larger alpha", i, most)
		}
		for j := range t {
			l.residual[i*t+j] = a[k*t+j] / math.Sqrt(d.weights[k])
		}
	}
	if len(d.kept) < l.rows.N {
		return alpha, l.unseen(w)
	}
	return alpha, nil
}

// kernelFactor returns the factor of the kernel + alpha·I.
func (l *leaver) kernelFactor(alpha float64) (*factor, error) {
	n := l.dual.n
	f := &factor{cols: n, lower: slices.Clone(l.kernel)}
	addDiagonal(f.lower, n, alpha)
	if cholesky(l.ctx, f.lower, n) {
		if f.left = 4 * epsilon * trace(l.kernel, n) / leastPivot(f.lower, n); f.left <= mostLost {
			return f, nil
		}
	}
	f, err := sharpened(l.ctx, l.kernel, n, alpha, l.dual.tiles(l.ctx, l.tau))
	if err == nil && f == nil {
		err = fmt.Errorf("the rows determine the model in more than one way; use a larger alpha")
	}
	return f, err
}

// unseen writes the residuals of the rows of weight 0, which the n×n matrix leaves out.
func (l *leaver) unseen(w []float64) error {
	b := intercepts(w, l.dual.mean, l.dual.targetMean)
	row := make([]float64, l.dual.cols)
	for i := range l.rows.N {
		if l.weight(i) > 0 {
			continue
		}
		design.WriteRow(row, l.rows.Set.X, i)
		if !design.Finite(row) {
			return design.NameFault(0, *l.rows.Set)
		}
		l.slack[i] = 0
		l.residue(i, row, w, b)
	}
	return nil
}

// finish adds leave-one-out predictions and their scores to out. Residuals and slacks lack a factor.
func (l *leaver) finish(out *oneOut, factor float64) error {
	t := l.targets
	predictions := mat.NewDense(l.rows.N, t, nil)
	total, rows, slack, plain, left := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, m := range l.slack {
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
			left += s * e * e
			predictions.Set(i, j, l.y[i*t+j]-e)
		}
	}
	mean := slack / rows
	out.Predictions = append(out.Predictions, predictions)
	out.Errors = append(out.Errors, left/total/float64(t))
	out.GCV = append(out.GCV, plain/total/float64(t)/(mean*mean))
	out.Freedom = append(out.Freedom, rows-factor*slack)
	out.slacks = append(out.slacks, slices.Clone(l.slack))
	if !design.Finite(predictions.RawMatrix().Data) {
		return fmt.Errorf("the predictions are not finite: the inputs are too large or too unequal in scale; standardize them")
	}
	return nil
}

// even returns the predictions for alpha number k that have, as their mean squared error, GCV: all
// rows' leverages are taken to be the mean one.
func (out *oneOut) even(k int, y []float64) *mat.Dense {
	_, t := out.Predictions[k].Dims()
	even := mat.DenseCopyOf(out.Predictions[k])
	slack, rows := 0.0, 0.0
	for _, m := range out.slacks[k] {
		if m > 0 {
			slack, rows = slack+m, rows+1
		}
	}
	for i, m := range out.slacks[k] {
		for j := range t {
			if m > 0 {
				left := y[i*t+j] - out.Predictions[k].At(i, j)
				even.Set(i, j, y[i*t+j]-left*m/(slack/rows))
			}
		}
	}
	return even
}
