package sgd

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Fit runs a learner over rows. Rows in memory are shuffled before each epoch. Rows of a stream are
// copied into windows, each of which is shuffled, so that block boundaries do not matter. Rows of
// weight 0 are skipped.
type Fit struct {
	Epochs          int
	Patience        int     // epochs without improvement before it stops
	Tol             float64 // minimum improvement, relative to the loss without weights; 0 disables stopping
	Shuffle         bool
	Seed            uint64
	ValidationShare float64 // share of rows held out for early stopping; 0 for none
	CheckDivergence bool    // whether an objective far above that of zero weights is an error
	// Block returns the targets of a block, numbers or class codes, and its weights, nil for ones.
	Block func(first int, block datasets.Set) (y, weights []float64, err error)
	// OnEpoch is called after each epoch with the number of completed epochs; may be nil.
	OnEpoch func(done int)
}

// Bounds of a window of rows of a stream.
const (
	maxWindowBytes = 32 << 20
	maxWindowRows  = 1 << 14
)

// WindowRows returns the number of stream rows held in memory, given the entries per row.
func WindowRows(entries float64, batch int) int {
	n := int(min(maxWindowRows, maxWindowBytes/8/max(entries, 1)))
	return max(1, (n+batch-1)/batch) * batch
}

// run is one call of Run.
type run struct {
	Fit
	r          *design.Rows
	l          *Learner
	maxRows    int     // bound of a window and of the validation rows
	all        *rowSet // rows in memory
	train      []int   // training rows among them
	validation rowSubset

	window, validationStore, batch *store
	order                          []int
	weights, intercept             []float64 // current model
	lastPart                       rowSubset // rows of the last part
}

// rowSubset is a selection of rows in memory.
type rowSubset struct {
	*rowSet
	list []int
}

// Run trains the learner. The learner ends in the state after the last epoch, or after the best one
// if rows are held out.
func (f Fit) Run(ctx context.Context, r *design.Rows, l *Learner) (solve.Report, error) {
	g := &run{Fit: f, r: r, l: l, batch: newStore(l.Storage, l.Cols), weights: make([]float64, len(l.direct)),
		intercept: make([]float64, l.Outputs)}
	entries := float64(l.Cols)
	if l.Storage == Sparse {
		entries = 1
	}
	g.maxRows = WindowRows(entries, l.Batch)
	if r.Set != nil {
		if err := g.gather(); err != nil {
			return solve.Report{}, err
		}
	}
	report, err := g.epochs(ctx)
	if err != nil {
		return solve.Report{}, err
	}
	report.Solver, report.Iterations = "sgd", l.epochs
	l.currentModel(g.weights, g.intercept)
	if !kern.AllFinite(g.weights) || !kern.AllFinite(g.intercept) {
		return report, errDiverged(l.steps)
	}
	if report.Objective, err = g.loss(ctx, g.lastPart); err != nil {
		return report, err
	}
	report.Objective += l.penalty(g.weights)
	if !f.CheckDivergence {
		return report, nil
	}
	bar := g.startLoss(g.lastPart) / float64(len(g.lastPart.list))
	switch text := fmt.Sprintf("objective %.6g after %d steps exceeds %.6g of zero weights; standardize the inputs or "+
		"decrease eta0", report.Objective, l.steps, bar); {
	case bar == 0 || report.Objective <= bar:
	case report.Objective <= divergenceRatio*bar:
		report.Warnings = append(report.Warnings, "sgd: "+text)
	default:
		return report, fmt.Errorf("%w: %s", solve.ErrDiverged, text)
	}
	return report, nil
}

// divergenceRatio is the ratio of the objective to that of zero weights above which a fit fails.
// SGD does not converge exactly, so that a slightly larger objective is acceptable.
const divergenceRatio = 2

// epochs runs epochs until the loss stops improving.
func (g *run) epochs(ctx context.Context) (report solve.Report, err error) {
	best, idle := math.Inf(1), 0
	var keep *Learner
	waits := g.Patience < g.Epochs && (g.Tol > 0 || g.ValidationShare > 0 || g.l.Rate == "adaptive")
	for done := range g.Epochs {
		loss, start, err := g.epoch(ctx)
		if err != nil {
			return report, err
		}
		if g.ValidationShare > 0 {
			if loss, start, err = g.validationLoss(ctx); err != nil {
				return report, err
			}
		}
		if g.OnEpoch != nil {
			g.OnEpoch(done + 1)
		}
		if start == 0 {
			start = 1
		}
		if idle++; loss < best-g.Tol*start {
			idle = 0
		}
		if loss < best && g.ValidationShare > 0 {
			keep = g.l.clone()
		}
		if best = min(best, loss); !waits || idle < g.Patience {
			continue
		}
		if g.l.Rate == "adaptive" && g.l.Eta0*g.l.factor > 1e-6 {
			g.l.factor /= 5
			idle = 0
		} else if g.l.Rate != "adaptive" || g.Tol > 0 || g.ValidationShare > 0 {
			report.Converged = true
			break
		}
	}
	if keep != nil {
		keep.epochs = g.l.epochs
		*g.l = *keep
	}
	if report.Converged = report.Converged || !waits; !report.Converged && (g.Tol > 0 || g.ValidationShare > 0) {
		report.Warnings = append(report.Warnings,
			fmt.Sprintf("sgd did not converge: the loss still decreased after %d epochs; increase epochs or tol", g.Epochs))
	}
	return report, nil
}

// epoch makes one pass. It returns the mean loss of the rows before their steps, and the mean loss
// without weights.
func (g *run) epoch(ctx context.Context) (loss, start float64, err error) {
	n, window := 0, 0
	err = g.each(ctx, func(p rowSubset) error {
		if len(p.list) == 0 {
			return nil
		}
		if g.l.steps == 0 {
			g.prepare(p)
		}
		sum, err := g.learn(ctx, p, g.shuffled(p.list, window))
		window++
		loss += sum
		start += g.startLoss(p)
		n += len(p.list)
		g.lastPart = p
		return err
	})
	g.l.epochs++
	if err == nil && n == 0 {
		err = ErrNoRows
	}
	return loss / float64(n), start / float64(n), err
}

// ErrNoRows reports a fit without training rows.
var ErrNoRows = errors.New("no training rows")

// prepare calls Prepare with the first rows, in the order of the epoch.
func (g *run) prepare(p rowSubset) {
	list := g.shuffled(p.list, 0)
	g.batch.gather(p.rowSet, list[:min(len(list), maxProbeRows)])
	g.l.Prepare(g.batch.rows(), g.batch.y, g.batch.rowWeights(p.rowSet))
}

// learn makes a step per minibatch.
func (g *run) learn(ctx context.Context, p rowSubset, list []int) (sum float64, err error) {
	for lo := 0; lo < len(list); lo += g.l.Batch {
		if err := ctxerr.Check(ctx); err != nil {
			return 0, err
		}
		own := list[lo:min(lo+g.l.Batch, len(list))]
		x, y, weights := g.rowsOf(p.rowSet, own)
		loss, err := g.l.Step(x, y, weights)
		if err != nil {
			return 0, g.withInputName(err)
		}
		sum += loss
	}
	return sum, nil
}

// rowsOf returns the listed rows: a view if they are consecutive, otherwise a copy.
func (g *run) rowsOf(from *rowSet, list []int) (x Rows, y, weights []float64) {
	lo, hi := list[0], list[0]+len(list)
	if list[len(list)-1] != hi-1 || !contiguous(list) {
		g.batch.gather(from, list)
		return g.batch.rows(), g.batch.y, g.batch.rowWeights(from)
	}
	if from.weights != nil {
		weights = from.weights[lo:hi]
	}
	return from.x.between(lo, hi), from.y[lo:hi], weights
}

func contiguous(list []int) bool {
	for k, i := range list {
		if i != list[0]+k {
			return false
		}
	}
	return true
}

// rowWeights returns the weights of rows gathered from a set, nil if it has none.
func (s *store) rowWeights(from *rowSet) []float64 {
	if from.weights == nil {
		return nil
	}
	return s.weights
}

// withInputName replaces err by an error that names the missing or infinite input, if there is one.
func (g *run) withInputName(err error) error {
	if g.r.Set == nil {
		return err // rows of a stream were checked
	}
	var row *datasets.RowError
	if problem := design.NonFiniteError(0, *g.r.Set); errors.As(problem, &row) {
		return problem
	}
	return err
}

// shuffled returns the rows of a subset in the order of the epoch.
func (g *run) shuffled(list []int, window int) []int {
	if !g.Shuffle {
		return list
	}
	g.order = append(g.order[:0], list...)
	stream := spectral.NewStream()
	stream.At(g.Seed, spectral.RowOrders, g.l.epochs<<24+window)
	stream.Shuffle(len(g.order), func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
	return g.order
}

// inValidation reports whether the i-th row of positive weight is held out.
func (g *run) inValidation(i int) bool {
	return g.ValidationShare > 0 &&
		float64(spectral.Scramble(g.Seed+0x9e3779b97f4a7c15*uint64(i+1))>>11)/(1<<53) < g.ValidationShare
}

// gather splits rows in memory into training and validation rows.
func (g *run) gather() error {
	y, weights, err := g.Block(0, *g.r.Set)
	if err != nil {
		return err
	}
	g.all = &rowSet{x: rowsOf(inStorage(g.r.Set.X, g.l.Storage)), y: y, weights: weights}
	seen := 0
	for i := range y {
		if weights != nil && weights[i] == 0 {
			continue
		}
		if g.inValidation(seen) && len(g.validation.list) < g.maxRows {
			g.validation.list = append(g.validation.list, i)
		} else {
			g.train = append(g.train, i)
		}
		seen++
	}
	g.validation.rowSet = g.all
	return nil
}

// inStorage converts X to the given storage type.
func inStorage(X mat.Matrix, form Storage) mat.Matrix {
	X = design.Native(X)
	switch form {
	case Sparse:
		if _, ok := X.(*matrices.CSR); !ok {
			return matrices.CSRFromDense(mat.DenseCopyOf(X))
		}
	case Float32:
		if _, ok := X.(*matrices.Dense32); !ok {
			return matrices.CopyDense32(X)
		}
	default:
		if _, ok := X.(*mat.Dense); !ok {
			return mat.DenseCopyOf(X)
		}
	}
	return X
}

// each yields the training rows, in subsets in memory.
func (g *run) each(ctx context.Context, yield func(p rowSubset) error) error {
	if g.all != nil {
		return yield(rowSubset{g.all, g.train})
	}
	first := g.window == nil
	if first {
		g.window, g.validationStore = newStore(g.l.Storage, g.l.Cols), newStore(g.l.Storage, g.l.Cols)
	}
	g.window.reset()
	seen, inWindow, n := 0, 0, 0
	err := g.r.Each(ctx, func(at int, block datasets.Set) error {
		n = at + block.Rows()
		y, weights, err := g.Block(at, block)
		if err != nil {
			return err
		}
		x := rowsOf(inStorage(block.X, g.l.Storage))
		for i := range y {
			if weights != nil && weights[i] == 0 {
				continue
			}
			if !x.finite(i) {
				return design.NonFiniteError(at, block)
			}
			to := g.window
			if seen++; inWindow < g.maxRows && g.inValidation(seen-1) {
				if inWindow++; !first {
					continue
				}
				to = g.validationStore
			}
			to.addRow(x, i, y, weights)
			if to == g.window && len(to.y) == g.maxRows {
				if err := yield(to.part()); err != nil {
					return err
				}
				to.reset()
			}
		}
		return nil
	})
	if err == nil && len(g.window.y) > 0 {
		err = yield(g.window.part())
	}
	if first {
		g.validation = g.validationStore.part()
		g.r = g.r.WithRowCount(n)
	}
	return err
}

// addRow copies row i of a block with its target and weight.
func (s *store) addRow(x Rows, i int, y, weights []float64) {
	s.add(x, i)
	w := 1.0
	if weights != nil {
		w = weights[i]
	}
	s.y, s.weights, s.number = append(s.y, y[i]), append(s.weights, w), append(s.number, len(s.y))
}

// part returns all rows of the store. They are valid until it is reset.
func (s *store) part() rowSubset {
	return rowSubset{&rowSet{x: s.rows(), y: s.y, weights: s.weights}, s.number}
}

// finite reports whether all entries of row i are finite.
func (x Rows) finite(i int) bool {
	switch x.Storage {
	case Sparse:
		return x.Sparse.Values == nil || kern.AllFinite(x.Sparse.Values[x.Sparse.Indptr[i]:x.Sparse.Indptr[i+1]])
	case Float32:
		for _, v := range x.Single.Row(i) {
			if v-v != 0 {
				return false
			}
		}
		return true
	}
	return kern.AllFinite(x.Dense.Row(i))
}

// validationLoss returns the mean loss of the validation rows, with and without weights.
func (g *run) validationLoss(ctx context.Context) (loss, start float64, err error) {
	if len(g.validation.list) == 0 {
		return 0, 0, errors.New("validation_fraction selects no validation rows; increase it")
	}
	g.l.currentModel(g.weights, g.intercept)
	loss, err = g.loss(ctx, g.validation)
	return loss, g.startLoss(g.validation) / float64(len(g.validation.list)), err
}

// loss returns the mean loss of rows under the weights of the run.
func (g *run) loss(ctx context.Context, p rowSubset) (float64, error) {
	const tile = 1024
	sum, k := 0.0, g.l.Outputs
	for lo := 0; lo < len(p.list); lo += tile {
		if err := ctxerr.Check(ctx); err != nil {
			return 0, err
		}
		x, y, weights := g.rowsOf(p.rowSet, p.list[lo:min(lo+tile, len(p.list))])
		scores := g.l.score(x, g.weights, 1, g.intercept)
		if !kern.AllFinite(scores) {
			return 0, g.withInputName(errDiverged(g.l.steps))
		}
		sum += g.l.sum(y, weights, func(i, c int) float64 { return scores[i*k+c] })
	}
	return sum / float64(len(p.list)), nil
}

// startLoss returns the sum of the losses of rows without weights.
func (g *run) startLoss(p rowSubset) (sum float64) {
	for _, i := range p.list {
		w := 1.0
		if p.weights != nil {
			w = p.weights[i]
		}
		for c, b := range g.l.initialIntercept {
			sum += w * g.l.Loss.value(b, g.l.target(p.y[i], c))
		}
	}
	return sum
}

// sum returns the weighted sum of losses.
func (l *Learner) sum(y, weights []float64, score func(i, c int) float64) (sum float64) {
	for i, v := range y {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		for c := range l.Outputs {
			sum += w * l.Loss.value(score(i, c), l.target(v, c))
		}
	}
	return sum
}

// clone returns a copy of the state that steps modify.
func (l *Learner) clone() *Learner {
	out := *l
	for _, list := range []*[]float64{&out.direct, &out.intercept, &out.sumRest, &out.sumIntercept, &out.l1Applied,
		&out.initialIntercept, &out.meanCoef, &out.meanDot, &out.sumMeanCoef} {
		if *list != nil {
			*list = append([]float64(nil), *list...)
		}
	}
	return &out
}
