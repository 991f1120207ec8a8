package lasso

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// LogisticPath solves logistic regressions, with one score for two classes and one for each of more,
// for one penalty after another. With weights that sum to 1, it minimizes
//
//	Σ s_i·loss_i + (L1Ratio·‖W‖₁ + ½(1 − L1Ratio)·‖W‖²)/(C·total)
//
// by proximal Newton steps in the weights of one score after another: the products of features are
// only summed for those that are nonzero or violate the optimality conditions, which are checked
// for all at each step. (Friedman, Hastie & Tibshirani, J. Stat. Softw. 33, 2010.)
type LogisticPath struct {
	*Problem
	Options
	intercept bool
	labels    *design.Labels
	s         []float64 // weights of the rows, which sum to 1
	total     float64
	w         [][]float64 // of a score, of all features
	b         []float64   // of centered features
	z, prob   [][]float64 // of a score, of all rows
	trivial   float64     // loss of the best constant scores
}

// NewLogisticPath prepares rows in memory for a path.
func NewLogisticPath(ctx context.Context, r *design.Rows, l *design.Labels, intercept bool, o Options) (*LogisticPath,
	error) {
	m, err := New(ctx, r, l, intercept)
	if err != nil {
		return nil, err
	}
	t := &LogisticPath{Problem: m, Options: o, intercept: intercept, labels: l, s: m.weights,
		total: kern.Sum(l.Weights)}
	shares := make([]float64, len(l.Classes))
	for i, y := range l.Y {
		shares[int(y)] += t.s[i]
	}
	t.b = make([]float64, len(shares))
	if len(shares) == 2 {
		t.b = t.b[:1]
	}
	for c := range t.b {
		switch {
		case t.absent(c):
			t.b[c] = design.AbsentIntercept
		case intercept && len(t.b) == 1:
			t.b[c] = math.Log(shares[1] / shares[0])
		case intercept:
			t.b[c] = math.Log(shares[c])
		}
		t.w = append(t.w, make([]float64, m.p))
		t.prob = append(t.prob, make([]float64, m.n))
		t.z = append(t.z, slices.Repeat([]float64{t.b[c]}, m.n))
	}
	t.trivial = t.loss()
	return t, nil
}

func (t *LogisticPath) absent(c int) bool { return len(t.b) > 1 && t.labels.Absent[c] }

// is returns 1 for rows of the class of a score, else 0.
func (t *LogisticPath) is(i, c int) float64 {
	if len(t.b) == 1 {
		return t.labels.Y[i]
	}
	if int(t.labels.Y[i]) == c {
		return 1
	}
	return 0
}

// loss returns the loss of the scores and writes their probabilities.
func (t *LogisticPath) loss() (sum float64) {
	for i, s := range t.s {
		if len(t.b) == 1 {
			z, y := t.z[0][i], t.labels.Y[i]
			small := math.Exp(-math.Abs(z))
			if t.prob[0][i] = 1 / (1 + small); z < 0 {
				t.prob[0][i] = small / (1 + small)
			}
			sum += s * (math.Log1p(small) + max(z, 0) - y*z)
			continue
		}
		top, all := math.Inf(-1), 0.0
		for c := range t.z {
			top = max(top, t.z[c][i])
		}
		for c := range t.z {
			t.prob[c][i] = math.Exp(t.z[c][i] - top)
			all += t.prob[c][i]
		}
		for c := range t.z {
			t.prob[c][i] /= all
		}
		sum += s * (math.Log(all) + top - t.z[int(t.labels.Y[i])][i])
	}
	return sum
}

// gradient writes the gradient of the loss in the weights of a score, negated, to dst, the residuals to
// r, and returns the sum of these.
func (t *LogisticPath) gradient(dst, r []float64, c int) float64 {
	for i, s := range t.s {
		r[i] = s * (t.is(i, c) - t.prob[c][i])
	}
	t.transposed(dst, r)
	sum := kern.Sum(r)
	kern.Axpy(-sum, t.mean, dst)
	return sum
}

// Solve returns the model for a C from the solution before.
func (t *LogisticPath) Solve(ctx context.Context, C float64) (solve.Linear, error) {
	alpha := 1 / (C * t.total)
	q := quadratic{l1: alpha * t.L1Ratio, l2: alpha * (1 - t.L1Ratio)}
	const rounding = 1e-14
	steps, moved, objective, gap := 0, true, 0.0, math.Inf(1)
	for {
		last := gap
		objective, gap = t.gap(q.l1, q.l2)
		if gap <= t.Tol*t.trivial || !moved && gap >= last || steps >= t.MaxIter {
			break
		}
		moved = false
		for c := range t.b {
			if t.absent(c) {
				continue
			}
			one, err := t.step(ctx, &q, c)
			if err != nil {
				return solve.Linear{}, err
			}
			moved = moved || one
		}
		steps++
	}
	report := solve.Report{Solver: "coordinate descent", Iterations: steps, Objective: objective * C * t.total,
		Converged: gap <= max(t.Tol, rounding)*t.trivial, Gap: max(gap, 0) / cmp.Or(t.trivial, 1)}
	if !report.Converged {
		report.Warnings = []string{fmt.Sprintf("not converged after %d steps: relative duality gap %.2g, tolerance %.2g",
			steps, report.Gap, t.Tol)}
	}
	b, mean, present := slices.Clone(t.b), 0.0, 0.0
	for c := range b {
		if b[c] -= kern.Dot(t.w[c], t.mean); !t.absent(c) {
			mean, present = mean+b[c], present+1
		}
	}
	for c := range b {
		if len(b) > 1 && !t.absent(c) {
			b[c] -= mean / present
		}
	}
	w := make([]float64, t.p*len(b))
	for c, from := range t.w {
		for j, v := range from {
			w[j*len(b)+c] = v
		}
	}
	return solve.NewLinear(w, b, report)
}

// gap returns the objective and its distance to that of a dual point: the residuals, those of the
// penalty on squares included, scaled into the dual feasible set. That holds for an intercept within 1 + 2|b| of 0, as
// the residuals need not sum to 0.
func (t *LogisticPath) gap(l1, l2 float64) (objective, gap float64) {
	g, r := make([]float64, t.p), make([]float64, t.n)
	objective = t.loss()
	top, squares, sums := 0.0, 0.0, 0.0
	for c, w := range t.w {
		sum := t.gradient(g, r, c)
		if t.intercept && !t.absent(c) {
			sums += math.Abs(sum) * (1 + math.Abs(t.b[c]))
		}
		for j, v := range g {
			top = max(top, math.Abs(v-l2*w[j]))
			squares += w[j] * w[j]
			objective += l1 * math.Abs(w[j])
		}
	}
	scale := 1.0
	if top > l1 {
		scale = l1 / top
	}
	objective += l2 / 2 * squares
	dual := -scale * scale * l2 / 2 * squares
	entropy := func(q float64) float64 {
		if q <= 0 {
			return 0
		}
		return -q * math.Log(q)
	}
	for i, s := range t.s {
		for c := range t.prob {
			y := t.is(i, c)
			q := y - scale*(y-t.prob[c][i])
			if dual += s * entropy(q); len(t.prob) == 1 {
				dual += s * entropy(1-q)
			}
		}
	}
	return objective, objective - dual + sums
}

// step takes a proximal Newton step in the weights of a score, and reports whether the
// objective decreased by more than rounding.
func (t *LogisticPath) step(ctx context.Context, q *quadratic, c int) (bool, error) {
	g, r, w := make([]float64, t.p), make([]float64, t.n), t.w[c]
	sum := t.gradient(g, r, c)
	curvature := make([]float64, t.n)
	for i, s := range t.s {
		curvature[i] = s * t.prob[c][i] * (1 - t.prob[c][i])
	}
	all := kern.Sum(curvature)
	var list, at []int
	for j, v := range g {
		if w[j] != 0 || math.Abs(v) > q.l1 {
			list, at = append(list, j), append(at, len(at))
		}
	}
	k := len(list)
	t.weights = curvature
	products, _, sums, err := t.products(ctx, list, nil)
	if err != nil {
		return false, err
	}
	free := t.intercept && all > 0
	q.gram, q.d = products, make([]float64, k)
	q.w, q.r, q.c = make([]float64, k), make([]float64, k), make([]float64, k)
	for a, j := range list {
		q.w[a], q.r[a] = w[j], g[j]
		if free { // the minimum over the intercept
			q.r[a] -= sums[a] / all * sum
		}
	}
	for a, row := range q.gram {
		for b := range row {
			if free {
				row[b] -= sums[a] * sums[b] / all
			}
			q.c[a] += row[b] * q.w[b]
		}
		q.c[a] += q.r[a]
		row[a] = max(row[a], 0)
		q.d[a] = row[a]
	}
	const maxSweeps, enough = 100, 1e-6
	for first, sweep := 0.0, 0; sweep < maxSweeps && k > 0; sweep++ {
		moved := q.sweep(at, false)
		if first = max(first, moved); moved <= enough*first {
			break
		}
	}
	if support := q.support(); support > 0 && support <= maxExact {
		if _, err := q.solveSupport(ctx, at); err != nil {
			return false, err
		}
	}
	move, shift, decrease := make([]float64, t.p), 0.0, 0.0
	if free {
		shift = sum / all
	}
	for a, j := range list {
		move[j] = q.w[a] - w[j]
		if free {
			shift -= sums[a] / all * move[j]
		}
		decrease += g[j]*move[j] - q.penalty(q.w[a]) + q.penalty(w[j])
	}
	decrease += sum * shift
	return t.search(q, c, move, shift, decrease), nil
}

// penalty returns the penalty of a weight.
func (q *quadratic) penalty(w float64) float64 { return q.l1*math.Abs(w) + q.l2/2*w*w }

// search moves the weights of a score by the move or a part of it that decreases the objective enough,
// given the decrease that its slope predicts. It reports whether the decrease exceeds rounding.
func (t *LogisticPath) search(q *quadratic, c int, move []float64, shift, decrease float64) bool {
	const armijo, maxHalvings, rounding = 1e-4, 40, 1e-12
	change := make([]float64, t.n)
	t.multiplied(change, move)
	offset := shift - kern.Dot(move, t.mean)
	for i := range change {
		change[i] += offset
	}
	penalty := func(part float64) (sum float64) {
		for j, w := range t.w[c] {
			sum += q.penalty(w + part*move[j])
		}
		return sum
	}
	from := t.loss() + penalty(0)
	exact := math.Abs(decrease) <= rounding*from // too small for a comparison of objectives
	old, part := t.z[c], 1.0
	for range maxHalvings {
		t.z[c] = slices.Clone(old)
		kern.Axpy(part, change, t.z[c])
		if t.loss()+penalty(part) <= from-armijo*part*decrease || exact {
			kern.Axpy(part, move, t.w[c])
			t.b[c] += part * shift
			return !exact
		}
		part /= 2
	}
	t.z[c] = old
	t.loss()
	return false
}

// LogisticCost estimates a fit with the rows in memory and a fifth of the features nonzero.
func LogisticCost(shape datasets.Shape) datasets.Cost {
	const steps = 8
	n, p, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	set := p / 5
	numbers := n*min(shape.Entries()*1.5, p) + (4*k+8)*n + (2*k+8)*p + set*set + n*set
	return datasets.Cost{Flops: k * steps * n * (2*shape.Entries()*3 + set*set + 60), OutputWidth: int(k),
		Bytes: design.Float64Bytes(numbers)}
}
