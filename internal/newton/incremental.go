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
	task  Task
	plan  IncrementalOptions
	log   []answer
	ready *objective // the preconditioner that was made last, nil before
	ask   question

	seen     int // rows of this pass
	values   []float64
	out      []float64
	sample   *objective // what the next preconditioner is made of, where it is to be renewed
	followed *followed
}

// answer is what the solver was told: by a pass, or by the preconditioner.
type answer struct {
	values []float64 // of an evaluation
	vector []float64
}

// question is what the solver wants to know.
type question struct {
	product bool // with the Hessian, else an evaluation
	renew   bool // of the preconditioner
	apart   bool // likewise, by matrices of classes
	at      []float64
	v       []float64 // of a product
}

// followed is what follows a pass: another one, or the solution.
type followed struct {
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
	return then.next.fresh(), nil
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
	o.plan(p.plan.Rows)
	return o
}

// fresh returns the pass without rows, with sums of its own.
func (p *IncrementalNewton) fresh() *IncrementalNewton {
	next := *p
	next.values, next.out = make([]float64, p.task.Groups), make([]float64, p.task.size(p.plan.Cols))
	if p.ask.renew {
		next.sample = p.objective(context.Background())
		next.sample.renew, next.sample.apart = true, p.ask.apart
		next.sample.begin(next.values, next.out)
	}
	return &next
}

// Add adds the rows of a block, which begins at row first of the part.
func (p *IncrementalNewton) Add(ctx context.Context, first int, block datasets.Set) error {
	p.followed = nil
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
	p.seen += len(y)
	if p.ask.product {
		rest := design.Borrow[float64](len(p.out))
		defer rest.Release()
		own.begin(p.ask.at, rest.Data, make([]float64, p.task.Groups))
		own.add(block.X, evaluate)
		own.begin(p.ask.v, p.out, nil)
		own.add(block.X, func(_, scores []float64, lo, hi int) {
			p.task.Loss.multiply(scores, curve.Data[lo*k:hi*k], weights[lo:hi])
		})
		own.end()
		return ctxerr.Check(ctx)
	}
	own.begin(p.ask.at, p.out, p.values)
	own.add(block.X, evaluate)
	own.end()
	if !kern.AllFinite(p.values) || !kern.AllFinite(p.out) {
		return cmp.Or(ctxerr.Check(ctx), design.NonFiniteError(first, block))
	}
	if p.ask.renew {
		p.sample.ctx = ctx
		return cmp.Or(ctxerr.Check(ctx), p.sample.addSample(first, block, curve.Data, weights))
	}
	return ctxerr.Check(ctx)
}

// errOtherRows says that a pass has not read the rows of the one before.
var errOtherRows = errors.New("these are not the rows of the pass before")

// Merge adds the sums of other rows in the same pass.
func (p *IncrementalNewton) Merge(_ context.Context, o *IncrementalNewton) error {
	p.followed = nil
	a, b := p.ask, o.ask
	if len(p.log) != len(o.log) || p.plan.Rows != o.plan.Rows || a.product != b.product || a.renew != b.renew || a.apart != b.apart ||
		!slices.Equal(a.at, b.at) || !slices.Equal(a.v, b.v) || len(p.out) != len(o.out) {
		return errOtherRows
	}
	p.seen += o.seen
	kern.Axpy(1, o.values, p.values)
	kern.Axpy(1, o.out, p.out)
	if !a.renew {
		return nil
	}
	switch {
	case a.apart:
		for class, g := range p.sample.coupled.grams {
			g.Merge(o.sample.coupled.grams[class])
		}
	case p.sample.matrix:
		p.sample.gram.Merge(o.sample.gram)
	default:
		kern.Axpy(1, o.sample.diagonal, p.sample.diagonal)
	}
	return nil
}

// Next returns the next pass, nil where this one has the solution.
func (p *IncrementalNewton) Next(ctx context.Context) (*IncrementalNewton, error) {
	then, err := p.follow(ctx)
	if err != nil || then.next == nil {
		return nil, err
	}
	return then.next.fresh(), nil
}

// Solution returns the solution of the last pass. An objective that is worse than the trivial model's is an
// error.
func (p *IncrementalNewton) Solution(ctx context.Context) (solve.Linear, error) {
	then, err := p.follow(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	if then.next != nil {
		return solve.Linear{}, errors.New("the pass is not the last")
	}
	return then.model, nil
}

// follow tells the solver what the pass has added up.
func (p *IncrementalNewton) follow(ctx context.Context) (*followed, error) {
	if p.followed != nil {
		return p.followed, ctxerr.Check(ctx)
	}
	if p.seen != p.plan.Rows {
		return nil, fmt.Errorf("%w: %d rows when read before, %d now", errOtherRows, p.plan.Rows, p.seen)
	}
	told, ready := answer{vector: slices.Clone(p.out)}, p.ready
	if p.ask.product {
		d := p.plan.Cols * p.task.Outputs
		kern.Axpy(1, p.ask.v[:d], told.vector[:d])
	} else {
		told.values = slices.Clone(p.values)
		o := p.objective(ctx)
		o.penalise(told.values, told.vector, p.ask.at)
		if p.ask.renew {
			ready = o
			ready.diagonal = slices.Clone(p.sample.diagonal)
			switch ready.apart = p.ask.apart; {
			case ready.apart:
				ready.coupled = p.sample.coupled.clone()
			case ready.matrix:
				ready.gram = p.sample.gram.Clone()
			}
			ready.factorise()
		}
	}
	then, err := p.run(ctx, append(slices.Clip(p.log), told), ready)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // whatever else there is comes of stopping
		return nil, err
	}
	p.followed = then
	return then, nil
}

// run runs the solver on what it was told, until it asks for more or has the solution.
func (p *IncrementalNewton) run(ctx context.Context, log []answer, ready *objective) (*followed, error) {
	r := &replay{log: log, objective: p.objective(ctx)}
	if ready != nil {
		o := *ready
		o.ctx, r.ready = ctx, &o
	}
	x, reference, err := p.start(r)
	var result solve.NewtonResult
	if err == nil {
		result, err = solve.Newton(r, x, p.task.Groups, reference, p.plan.Tol, p.plan.MaxIter)
	}
	if err == errAsked {
		next := &IncrementalNewton{task: p.task, plan: p.plan, log: r.log, ready: ready, ask: r.ask}
		return &followed{next: next}, nil
	}
	if err != nil {
		return nil, err
	}
	report, bar := reportOf(result, p.plan.Tol), p.task.ObjectiveBound
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
	return &followed{model: model}, err
}

// start returns the variables to begin at, and the norms of the gradient at zeros where that is elsewhere.
func (p *IncrementalNewton) start(r *replay) (x, reference []float64, err error) {
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

// errAsked ends a run of the solver that wants to know more.
var errAsked = errors.New("asked")

// replay is the problem that a solver sees: what it was told before, and then a question.
type replay struct {
	*objective            // for its plan
	ready      *objective // the preconditioner
	log        []answer
	told       int
	at         []float64
	ask        question
}

var _ solve.Problem = (*replay)(nil)

// Evaluate returns what was told, or asks.
func (r *replay) Evaluate(values, gradient, x []float64) error {
	r.at = slices.Clone(x)
	if r.told == len(r.log) {
		r.ask = question{renew: r.renew, apart: r.renew && r.apart, at: r.at}
		return errAsked
	}
	a := r.log[r.told]
	r.told++
	r.renew = false
	if len(a.values) != len(values) || len(a.vector) != len(gradient) {
		return errOtherRows
	}
	copy(values, a.values)
	copy(gradient, a.vector)
	return ctxerr.Check(r.ctx)
}

// Hessian returns what was told, or asks.
func (r *replay) Hessian(dst, v []float64) error {
	if r.told == len(r.log) {
		r.ask = question{product: true, at: r.at, v: slices.Clone(v)}
		return errAsked
	}
	return r.again(dst)
}

// Precondition returns what was told, or works it out, which takes no pass.
func (r *replay) Precondition(dst, v []float64) error {
	if r.told < len(r.log) {
		return r.again(dst)
	}
	if r.ready == nil {
		return errOtherRows
	}
	if err := r.ready.Precondition(dst, v); err != nil {
		return err
	}
	r.log = append(slices.Clip(r.log), answer{vector: slices.Clone(dst)})
	r.told++
	return nil
}

func (r *replay) again(dst []float64) error {
	a := r.log[r.told]
	r.told++
	if len(a.vector) != len(dst) {
		return errOtherRows
	}
	copy(dst, a.vector)
	return ctxerr.Check(r.ctx)
}
