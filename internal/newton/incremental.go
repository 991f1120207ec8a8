package newton

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// IncrementalOptions says what a task is minimised on by passes that somebody else drives.
type IncrementalOptions struct {
	Cols, Rows      int
	Sparse, Float32 bool // the form of the rows
	Tol             float64
	MaxIter         int
	// InitialWeights are weights, cols × outputs, and intercepts to begin at; nil for zeros.
	InitialWeights []float64
	// Block returns the targets and weights of a block that begins at row first.
	Block func(first int, block datasets.Set) (y, weights []float64, err error)
}

// IncrementalNewton is that of a task by one pass over the rows after the other: each is an evaluation of value and
// gradient, or a product with the Hessian. Between passes the solver runs from its beginning on what all
// passes so far have answered, until it asks for the next one: so there is no solver that waits, and what a
// file keeps of it is the answers. They are lists as long as the variables; a run over them costs
// nothing beside a pass.
//
// Nothing is kept of a row. So a product with the Hessian multiplies the rows twice, first with the variables,
// for the curvature.
type IncrementalNewton struct {
	task           Task
	plan           IncrementalOptions
	replies        []reply
	preconditioner *objective // the preconditioner that was made last, nil before
	request        request

	rowsSeen int // rows of this pass
	values   []float64
	out      []float64
	sample   *objective // what the next preconditioner is made of, where it is to be renewed
	outcome  *outcome
}

// reply is what the solver was told: by a pass, or by the preconditioner.
type reply struct {
	values []float64 // of an evaluation
	vector []float64
}

// request is what the solver wants to know.
type request struct {
	isProduct bool // with the Hessian, else an evaluation
	renew     bool // of the preconditioner
	coupled   bool // likewise, by matrices of classes
	x         []float64
	v         []float64 // of a product
}

// outcome is what follows a pass: another one, or the solution.
type outcome struct {
	next  *IncrementalNewton
	model solve.Linear
}

// Begin returns the first pass.
func (t Task) Begin(ctx context.Context, plan IncrementalOptions) (*IncrementalNewton, error) {
	if size := t.size(plan.Cols); plan.InitialWeights != nil && len(plan.InitialWeights) != size {
		return nil, fmt.Errorf("%d weights to begin at, wanted %d", len(plan.InitialWeights), size)
	}
	p := &IncrementalNewton{task: t, plan: plan}
	then, err := p.run(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	return then.next.withEmptySums(), nil
}

// EncodedTargets returns the target that the task has for each of its labels.
func (t Task) EncodedTargets() []float64 { return t.y }

func (t Task) size(cols int) int {
	if t.intercept {
		return (cols + 1) * t.Outputs
	}
	return cols * t.Outputs
}

// objective returns what is minimised, without rows.
func (p *IncrementalNewton) objective(ctx context.Context) *objective {
	t := p.task
	rows := &design.Rows{Cols: p.plan.Cols, Sparse: p.plan.Sparse, Float32: p.plan.Float32}
	o := &objective{ctx: ctx, rows: rows, loss: t.Loss, outputs: t.Outputs, groups: t.Groups, intercept: t.intercept}
	o.pass = pass{cols: p.plan.Cols, outputs: t.Outputs, intercept: t.intercept}
	o.planPreconditioner(p.plan.Rows)
	return o
}

// withEmptySums returns the pass without rows, with sums of its own.
func (p *IncrementalNewton) withEmptySums() *IncrementalNewton {
	next := *p
	next.values, next.out = make([]float64, p.task.Groups), make([]float64, p.task.size(p.plan.Cols))
	if p.request.renew {
		next.sample = p.objective(context.Background())
		next.sample.renew, next.sample.useCoupled = true, p.request.coupled
		next.sample.resetSums(next.values, next.out)
	}
	return &next
}

// Add adds the rows of a block, which begins at row first of the part.
func (p *IncrementalNewton) Add(ctx context.Context, first int, block datasets.Set) error {
	p.outcome = nil
	y, weights, err := p.plan.Block(first, block)
	if err != nil {
		return err
	}
	k := p.task.Outputs
	curve := design.Borrow[float64](len(y) * k)
	defer curve.Release()
	own := pass{cols: p.plan.Cols, outputs: k, intercept: p.task.intercept}
	evaluate := func(values, scores []float64, lo, hi int) {
		p.task.Loss.evaluate(values, scores, curve.Data[lo*k:hi*k], y[lo:hi], weights[lo:hi])
	}
	p.rowsSeen += len(y)
	if p.request.isProduct {
		rest := design.Borrow[float64](len(p.out))
		defer rest.Release()
		own.start(p.request.x, rest.Data, make([]float64, p.task.Groups))
		own.add(block.X, evaluate)
		own.start(p.request.v, p.out, nil)
		own.add(block.X, func(_, scores []float64, lo, hi int) {
			p.task.Loss.multiply(scores, curve.Data[lo*k:hi*k], weights[lo:hi])
		})
		own.end()
		return ctxerr.Check(ctx)
	}
	own.start(p.request.x, p.out, p.values)
	own.add(block.X, evaluate)
	own.end()
	if !kern.AllFinite(p.values) || !kern.AllFinite(p.out) {
		return cmp.Or(ctxerr.Check(ctx), design.NonFiniteError(first, block))
	}
	if p.request.renew {
		p.sample.ctx = ctx
		return cmp.Or(ctxerr.Check(ctx), p.sample.addSample(first, block, curve.Data, weights))
	}
	return ctxerr.Check(ctx)
}

// errRowsChanged says that a pass has not read the rows of the one before.
var errRowsChanged = errors.New("these are not the rows of the pass before")

// Merge adds the sums of other rows in the same pass.
func (p *IncrementalNewton) Merge(_ context.Context, o *IncrementalNewton) error {
	p.outcome = nil
	a, b := p.request, o.request
	if len(p.replies) != len(o.replies) || p.plan.Rows != o.plan.Rows || a.isProduct != b.isProduct || a.renew != b.renew || a.coupled != b.coupled ||
		!slices.Equal(a.x, b.x) || !slices.Equal(a.v, b.v) || len(p.out) != len(o.out) {
		return errRowsChanged
	}
	p.rowsSeen += o.rowsSeen
	kern.Axpy(1, o.values, p.values)
	kern.Axpy(1, o.out, p.out)
	if !a.renew {
		return nil
	}
	switch {
	case a.coupled:
		for class, g := range p.sample.coupled.grams {
			g.Merge(o.sample.coupled.grams[class])
		}
	case p.sample.usesMatrix:
		p.sample.gram.Merge(o.sample.gram)
	default:
		kern.Axpy(1, o.sample.diagonal, p.sample.diagonal)
	}
	return nil
}

// Next returns the next pass, nil where this one has the solution.
func (p *IncrementalNewton) Next(ctx context.Context) (*IncrementalNewton, error) {
	then, err := p.advance(ctx)
	if err != nil || then.next == nil {
		return nil, err
	}
	return then.next.withEmptySums(), nil
}

// Solution returns the solution of the last pass. An objective that is worse than the trivial model's is an
// error.
func (p *IncrementalNewton) Solution(ctx context.Context) (solve.Linear, error) {
	then, err := p.advance(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	if then.next != nil {
		return solve.Linear{}, errors.New("the pass is not the last")
	}
	return then.model, nil
}

// advance tells the solver what the pass has added up.
func (p *IncrementalNewton) advance(ctx context.Context) (*outcome, error) {
	if p.outcome != nil {
		return p.outcome, ctxerr.Check(ctx)
	}
	if p.rowsSeen != p.plan.Rows {
		return nil, fmt.Errorf("%w: %d rows when read before, %d now", errRowsChanged, p.plan.Rows, p.rowsSeen)
	}
	told, ready := reply{vector: slices.Clone(p.out)}, p.preconditioner
	if p.request.isProduct {
		d := p.plan.Cols * p.task.Outputs
		kern.Axpy(1, p.request.v[:d], told.vector[:d])
	} else {
		told.values = slices.Clone(p.values)
		o := p.objective(ctx)
		o.addPenalty(told.values, told.vector, p.request.x)
		if p.request.renew {
			ready = o
			ready.diagonal = slices.Clone(p.sample.diagonal)
			switch ready.useCoupled = p.request.coupled; {
			case ready.useCoupled:
				ready.coupled = p.sample.coupled.clone()
			case ready.usesMatrix:
				ready.gram = p.sample.gram.Clone()
			}
			ready.factorize()
		}
	}
	then, err := p.run(ctx, append(slices.Clip(p.replies), told), ready)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // whatever else there is comes of stopping
		return nil, err
	}
	p.outcome = then
	return then, nil
}

// run runs the solver on what it was told, until it asks for more or has the solution.
func (p *IncrementalNewton) run(ctx context.Context, log []reply, ready *objective) (*outcome, error) {
	r := &replayOracle{replies: log, objective: p.objective(ctx)}
	if ready != nil {
		o := *ready
		o.ctx, r.preconditioner = ctx, &o
	}
	x, reference, err := p.startingPoint(r)
	var result solve.NewtonResult
	if err == nil {
		result, err = solve.Newton(r, x, p.task.Groups, reference, p.plan.Tol, p.plan.MaxIter)
	}
	if err == errNeedsPass {
		next := &IncrementalNewton{task: p.task, plan: p.plan, replies: r.replies, preconditioner: ready, request: r.request}
		return &outcome{next: next}, nil
	}
	if err != nil {
		return nil, err
	}
	report, bar := newReport(result, p.plan.Tol), p.task.ObjectiveBound
	if bar != bar { // that of zeros, at which the solver has begun
		bar = ObjectiveBound(kern.Sum(log[0].values), kern.Sum(log[0].values), p.plan.Tol)
	}
	if err := report.CheckObjective(bar); err != nil {
		return nil, err
	}
	d, k := p.plan.Cols, p.task.Outputs
	intercept := make([]float64, k)
	copy(intercept, x[d*k:])
	model, err := p.task.finish(x[:d*k], intercept, report)
	return &outcome{model: model}, err
}

// startingPoint returns the variables to begin at, and the norms of the gradient at zeros where that is elsewhere.
func (p *IncrementalNewton) startingPoint(r *replayOracle) (x, reference []float64, err error) {
	x = make([]float64, p.task.size(p.plan.Cols))
	if p.plan.InitialWeights == nil {
		return x, nil, nil
	}
	gradient, groups := make([]float64, len(x)), p.task.Groups
	reference = make([]float64, groups)
	if err := r.Evaluate(make([]float64, groups), gradient, x); err != nil {
		return nil, nil, err
	}
	for i, g := range gradient {
		reference[i%groups] += g * g
	}
	for j, square := range reference {
		reference[j] = math.Sqrt(square)
	}
	r.renew = true
	return slices.Clone(p.plan.InitialWeights), reference, nil
}

// errNeedsPass ends a run of the solver that wants to know more.
var errNeedsPass = errors.New("asked")

// replayOracle is the problem that a solver sees: what it was told before, and then a question.
type replayOracle struct {
	*objective                // for its plan
	preconditioner *objective // the preconditioner
	replies        []reply
	position       int
	x              []float64
	request        request
}

var _ solve.Problem = (*replayOracle)(nil)

// Evaluate returns what was told, or asks.
func (r *replayOracle) Evaluate(values, gradient, x []float64) error {
	r.x = slices.Clone(x)
	if r.position == len(r.replies) {
		r.request = request{renew: r.renew, coupled: r.renew && r.useCoupled, x: r.x}
		return errNeedsPass
	}
	a := r.replies[r.position]
	r.position++
	r.renew = false
	if len(a.values) != len(values) || len(a.vector) != len(gradient) {
		return errRowsChanged
	}
	copy(values, a.values)
	copy(gradient, a.vector)
	return ctxerr.Check(r.ctx)
}

// Hessian returns what was told, or asks.
func (r *replayOracle) Hessian(dst, v []float64) error {
	if r.position == len(r.replies) {
		r.request = request{isProduct: true, x: r.x, v: slices.Clone(v)}
		return errNeedsPass
	}
	return r.nextVector(dst)
}

// Precondition returns what was told, or works it out, which takes no pass.
func (r *replayOracle) Precondition(dst, v []float64) error {
	if r.position < len(r.replies) {
		return r.nextVector(dst)
	}
	if r.preconditioner == nil {
		return errRowsChanged
	}
	if err := r.preconditioner.Precondition(dst, v); err != nil {
		return err
	}
	r.replies = append(slices.Clip(r.replies), reply{vector: slices.Clone(dst)})
	r.position++
	return nil
}

func (r *replayOracle) nextVector(dst []float64) error {
	a := r.replies[r.position]
	r.position++
	if len(a.vector) != len(dst) {
		return errRowsChanged
	}
	copy(dst, a.vector)
	return ctxerr.Check(r.ctx)
}
