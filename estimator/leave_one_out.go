package estimator

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
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

	leverages [][]float64 // of the rows, for each alpha
	rows      int         // of positive weight
}

// LeaveOneOut computes exact leave-one-out predictions for each of alphas, which take the place of
// s.Alpha, without fitting again: with residual e_i and leverage h_i,
//
//	y_i − ŷ₋ᵢ = e_i / (1 − h_i),  h_i = s_i·(1/Σs + x̃_i'(X̃'SX̃ + α·I)⁻¹x̃_i),
//
// x̃ centred, and the 1/Σs, where there is an intercept. With fewer rows than columns h comes from
// the n×n matrix instead. It reads the data once for the sums and once for each alpha, and costs
// nd² + a·(d³/3 + nd²) flops for a alphas. A row of leverage 1, without which the others do not
// determine the model, is an error. (Allen, Technometrics 1974.)
func (s Ridge) LeaveOneOut(ctx context.Context, data datasets.Set, alphas []float64) (*LeaveOneOut, error) {
	if err := forNumbers(data.Schema, "ridge"); err != nil {
		return nil, fmt.Errorf("estimator: ridge: leave one out: %w", err)
	}
	out, err := s.leaveOneOut(ctx, data, alphas)
	if err != nil {
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
	r, err := setRows(data)
	if err != nil {
		return nil, err
	}
	y, targets, err := blockTargets(0, *r.set)
	if err != nil {
		return nil, err
	}
	weights, err := blockWeights(0, *r.set)
	if err != nil {
		return nil, err
	}
	l := &leaver{ctx: ctx, rows: r, y: y, weights: weights, targets: targets}
	l.leverage = make([]float64, r.n)
	p := s.problem(r, blockTargets, blockWeights)
	solve := l.primal
	if r.n < r.cols {
		if l.dual, err = p.centred(ctx); err != nil {
			return nil, err
		}
		l.kernel, solve = l.dual.kernel(), l.wide
	} else if l.sums, err = p.moments(ctx); err != nil {
		return nil, err
	}
	out := &LeaveOneOut{Alphas: slices.Clone(alphas)}
	for _, alpha := range alphas {
		l.predictions = mat.NewDense(r.n, targets, nil)
		if err := solve(alpha); err != nil {
			return nil, fmt.Errorf("alpha %v: %w", alpha, err)
		}
		if err := l.finish(out, s.Intercept); err != nil {
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

// leaver computes, for one alpha after another, plain predictions and leverages.
type leaver struct {
	ctx         context.Context
	rows        *rows
	y, weights  []float64
	targets     int
	sums        *moments     // with at least as many rows as columns
	dual        *centredRows // with fewer
	kernel      []float64
	predictions *mat.Dense
	leverage    []float64 // but for the intercept's part
}

func (l *leaver) weight(i int) float64 {
	if l.weights == nil {
		return 1
	}
	return l.weights[i]
}

// primal solves with the factor of the d×d matrix: with LL' = A, x'A⁻¹x = ‖L⁻¹x‖².
func (l *leaver) primal(alpha float64) error {
	f, ok := l.sums.factorise(alpha)
	if !ok {
		return fmt.Errorf("the columns depend on each other; use a larger alpha")
	}
	d, t := l.sums.cols, l.targets
	w := l.sums.rightSide()
	f.solve(w, t)
	mean := l.sums.mean()
	b := intercepts(w, mean, l.sums.targetMean())
	const tile = 512
	hold := make([]float64, tile*d)
	lower := kern.Dense(d, d, d, f.lower)
	for lo := 0; lo < l.rows.n; lo += tile {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		n := min(tile, l.rows.n-lo)
		x := kern.Dense(n, d, d, hold[:n*d])
		for i := range n {
			row := x.Row(i)
			writeRow(row, l.rows.set.X, lo+i)
			out := l.predictions.RawRowView(lo + i)
			copy(out, b)
			for j, v := range row {
				kern.Axpy(v, w[j*t:(j+1)*t], out)
			}
			kern.Axpy(-1, mean, row)
		}
		kern.SolveLower(lower, x.T())
		for i := range n {
			l.leverage[lo+i] = l.weight(lo+i) * kern.Dot(x.Row(i), x.Row(i))
		}
	}
	return nil
}

// wide solves with the n×n matrix: H = I − α(K + αI)⁻¹.
func (l *leaver) wide(alpha float64) error {
	n, t := l.dual.n, l.targets
	lower := slices.Clone(l.kernel)
	addDiagonal(lower, n, alpha)
	if !cholesky(lower, n) {
		return fmt.Errorf("the rows determine the model in more than one way; use a larger alpha")
	}
	inverse := make([]float64, n*n)
	addDiagonal(inverse, n, 1)
	kern.SolveCholesky(kern.Dense(n, n, n, lower), kern.Dense(n, n, n, inverse))
	a := make([]float64, n*t)
	kern.Mul(kern.Dense(n, t, t, a), kern.Dense(n, n, n, inverse), kern.Dense(n, t, t, l.dual.y), false)
	for k, i := range l.dual.kept {
		l.leverage[i] = 1 - alpha*inverse[k*n+k]
		for j := range t {
			residual := alpha * a[k*t+j] / math.Sqrt(l.dual.weights[k])
			l.predictions.Set(i, j, l.y[i*t+j]-residual)
		}
	}
	if len(l.dual.kept) < l.rows.n {
		return l.unseen(a)
	}
	return nil
}

// unseen predicts the rows of weight 0, which the n×n matrix leaves out.
func (l *leaver) unseen(a []float64) error {
	d, t := l.dual.cols, l.targets
	w := l.dual.coefficients(a)
	b := intercepts(w, l.dual.mean, l.dual.targetMean)
	row := make([]float64, d)
	for i := range l.rows.n {
		if l.weight(i) > 0 {
			continue
		}
		l.leverage[i] = 0
		writeRow(row, l.rows.set.X, i)
		if !finite(row) {
			return nameFault(0, *l.rows.set)
		}
		out := l.predictions.RawRowView(i)
		copy(out, b)
		for j, v := range row {
			kern.Axpy(v, w[j*t:(j+1)*t], out)
		}
	}
	return nil
}

// finish makes leave-one-out predictions of the plain ones and adds them and their scores to out.
func (l *leaver) finish(out *LeaveOneOut, intercept bool) error {
	total, rows, freedom, plain, left := 0.0, 0, 0.0, 0.0, 0.0
	for i := range l.rows.n {
		total += l.weight(i)
		if l.weight(i) > 0 {
			rows++
		}
	}
	leverages := slices.Clone(l.leverage)
	for i, h := range leverages {
		s := l.weight(i)
		if intercept {
			h += s / total
			leverages[i] = h
		}
		if 1-h < 1e-12 {
			return fmt.Errorf("row %d alone determines a part of the model (leverage 1)", i)
		}
		freedom += h
		for j := range l.targets {
			y := l.y[i*l.targets+j]
			e := y - l.predictions.At(i, j)
			plain += s * e * e
			e /= 1 - h
			left += s * e * e
			l.predictions.Set(i, j, y-e)
		}
	}
	t := float64(l.targets)
	slack := 1 - freedom/float64(rows)
	out.Predictions = append(out.Predictions, l.predictions)
	out.Errors = append(out.Errors, left/total/t)
	out.GCV = append(out.GCV, plain/total/t/(slack*slack))
	out.Freedom = append(out.Freedom, freedom)
	out.leverages, out.rows = append(out.leverages, leverages), rows
	return nil
}

// even returns the predictions for alpha number k that have, as their mean squared error, GCV: all
// rows' leverages are taken to be the mean one.
func (out *LeaveOneOut) even(k int, y []float64) *mat.Dense {
	n, t := out.Predictions[k].Dims()
	even := mat.NewDense(n, t, nil)
	slack := 1 - out.Freedom[k]/float64(out.rows)
	for i, h := range out.leverages[k] {
		for j := range t {
			left := y[i*t+j] - out.Predictions[k].At(i, j)
			even.Set(i, j, y[i*t+j]-left*(1-h)/slack)
		}
	}
	return even
}
