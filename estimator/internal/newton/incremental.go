package newton

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/solve"
)

// IncrementalOptions configure an [IncrementalNewton].
type IncrementalOptions struct {
	Cols, Rows      int
	Sparse, Float32 bool // storage of the rows
	Tol             float64
	MaxIter         int
	// InitialWeights are weights, cols × outputs, and intercepts; nil for zeros.
	InitialWeights []float64
	// Block returns the targets and weights of a block; first is the number of its first row.
	Block func(first int, block datasets.Set) (y, weights []float64, err error)
}

// IncrementalNewton minimizes a task by reverse communication: the caller makes one pass over the
// rows at a time. A pass evaluates value and gradient or multiplies by the Hessian. Between passes
// the solver reruns from the start on the replies of all earlier passes until it requests the next
// one. Its state is therefore the list of replies, each as long as the variables, and the rerun
// costs little compared with a pass.
//
// No values per row are stored. A Hessian product therefore multiplies the rows twice, first to
// recompute the curvature.
type IncrementalNewton struct {
	task           Task
	plan           IncrementalOptions
	replies        []reply
	preconditioner *objective // the last one, nil before the first evaluation
	request        request

	rowsSeen int // rows added to this pass
	values   []float64
	out      []float64
	sample   *objective // sums of the next preconditioner, if it is to be renewed
	outcome  *outcome
}

// reply is the result of a pass or of the preconditioner.
type reply struct {
	values []float64 // of an evaluation, nil for products
	vector []float64
}

// request is what the solver needs next.
type request struct {
	isProduct bool // Hessian product, not an evaluation
	renew     bool // renew the preconditioner
	coupled   bool // renew it with a matrix per class
	x         []float64
	v         []float64 // factor of a product
}

// outcome is the next pass or the solution.
type outcome struct {
	next  *IncrementalNewton
	model solve.Linear
}

// Begin returns the first pass.
func (t Task) Begin(ctx context.Context, plan IncrementalOptions) (*IncrementalNewton, error) {
	if size := t.size(plan.Cols); plan.InitialWeights != nil && len(plan.InitialWeights) != size {
		return nil, fmt.Errorf("must have %d initial weights, got %d", size, len(plan.InitialWeights))
	}
	if plan.InitialWeights != nil && t.offset != 0 {
		plan.InitialWeights = slices.Clone(plan.InitialWeights)
		plan.InitialWeights[plan.Cols] -= t.offset
	}
	p := &IncrementalNewton{task: t, plan: plan}
	then, err := p.run(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	return then.next.withEmptySums(), nil
}

// EncodedTargets returns the encoded target of each label.
func (t Task) EncodedTargets() []float64 { return t.y }

func (t Task) size(cols int) int {
	if t.intercept {
		return (cols + 1) * t.Outputs
	}
	return cols * t.Outputs
}

// objective returns an objective without rows.
func (p *IncrementalNewton) objective(ctx context.Context) *objective {
	t := p.task
	rows := &design.Rows{Cols: p.plan.Cols, Sparse: p.plan.Sparse, Float32: p.plan.Float32}
	o := &objective{ctx: ctx, rows: rows, loss: t.Loss, outputs: t.Outputs, groups: t.Groups, intercept: t.intercept,
		unpenalized: t.Unpenalized}
	o.pass = pass{cols: p.plan.Cols, outputs: t.Outputs, intercept: t.intercept}
	o.planPreconditioner(p.plan.Rows)
	return o
}

// withEmptySums returns the pass without rows and with its own sums.
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

// Add adds a block; first is the number of its first row in the shard.
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
			p.task.Loss.multiply(nil, scores, curve.Data[lo*k:hi*k], weights[lo:hi])
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

// errRowsChanged reports that a pass read other rows than the first.
var errRowsChanged = errors.New("the rows differ from those of the previous pass")

// Merge adds the sums of disjoint rows of the same pass.
func (p *IncrementalNewton) Merge(_ context.Context, o *IncrementalNewton) error {
	p.outcome = nil
	a, b := p.request, o.request
	if len(p.replies) != len(o.replies) || p.plan.Rows != o.plan.Rows || a.isProduct != b.isProduct ||
		a.renew != b.renew || a.coupled != b.coupled ||
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

// Next returns the next pass, or nil if the solution is known.
func (p *IncrementalNewton) Next(ctx context.Context) (*IncrementalNewton, error) {
	then, err := p.advance(ctx)
	if err != nil || then.next == nil {
		return nil, err
	}
	return then.next.withEmptySums(), nil
}

// Solution returns the solution after the last pass. It fails if the objective exceeds the bound.
func (p *IncrementalNewton) Solution(ctx context.Context) (solve.Linear, error) {
	then, err := p.advance(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	if then.next != nil {
		return solve.Linear{}, errors.New("this is not the last pass")
	}
	return then.model, nil
}

// advance passes the sums to the solver.
func (p *IncrementalNewton) advance(ctx context.Context) (*outcome, error) {
	if p.outcome != nil {
		return p.outcome, ctxerr.Check(ctx)
	}
	if p.rowsSeen != p.plan.Rows {
		return nil, fmt.Errorf("%w: %d rows in the first pass, %d in this one", errRowsChanged, p.plan.Rows, p.rowsSeen)
	}
	reported, ready := reply{vector: slices.Clone(p.out)}, p.preconditioner
	o := p.objective(ctx)
	if p.request.isProduct {
		o.addPenaltyProduct(reported.vector, p.request.v)
	} else {
		reported.values = slices.Clone(p.values)
		o.addPenalty(reported.values, reported.vector, p.request.x)
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
	then, err := p.run(ctx, append(slices.Clip(p.replies), reported), ready)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // errors after cancellation are consequences of it
		return nil, err
	}
	p.outcome = then
	return then, nil
}

// run replays the replies to the solver until it makes a request or returns the solution.
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
	if bar != bar { // the objective at zeros, the starting point
		bar = ObjectiveBound(kern.Sum(log[0].values), kern.Sum(log[0].values), p.plan.Tol)
	}
	if err := solve.CheckObjective(report, bar); err != nil {
		return nil, err
	}
	d, k := p.plan.Cols, p.task.Outputs
	intercept := make([]float64, k)
	copy(intercept, x[d*k:])
	model, err := p.task.finish(x[:d*k], intercept, report)
	return &outcome{model: model}, err
}

// startingPoint returns the initial variables, and the gradient norms at zeros if it differs from
// zeros.
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

// errNeedsPass interrupts the solver when it makes a request.
var errNeedsPass = errors.New("pass required")

// replayOracle is the problem that the solver sees: recorded replies, then a request.
type replayOracle struct {
	*objective                // for its plan
	preconditioner *objective // the preconditioner
	replies        []reply
	position       int
	x              []float64
	request        request
}

var _ solve.Problem = (*replayOracle)(nil)

// Evaluate returns the next reply or makes a request.
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

// Hessian returns the next reply or makes a request.
func (r *replayOracle) Hessian(dst, v []float64) error {
	if r.position == len(r.replies) {
		r.request = request{isProduct: true, x: r.x, v: slices.Clone(v)}
		return errNeedsPass
	}
	return r.nextVector(dst)
}

// Precondition returns the next reply, or computes it, which needs no pass.
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
