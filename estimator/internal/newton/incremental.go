package newton

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
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
	preconditioner *preconditioners // the last one, nil before the first evaluation
	request        request

	rowsSeen int // rows added to this pass
	values   []float64
	out      []float64
	sample   *preconditioners // sums of the next preconditioner, if it is to be renewed
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

// batch returns a batch without rows.
func (p *IncrementalNewton) batch(ctx context.Context) *Batch {
	rows := &design.Rows{Cols: p.plan.Cols, Sparse: p.plan.Sparse, Float32: p.plan.Float32}
	return p.task.batch(ctx, rows, p.plan.Rows, nil)
}

// emptySample returns a preconditioner without rows.
func (p *IncrementalNewton) emptySample() *preconditioners {
	sample := p.batch(context.Background()).preconditioners
	sample.useCoupled = p.request.coupled
	sample.resetSums()
	return sample
}

// withEmptySums returns the pass without rows and with its own sums.
func (p *IncrementalNewton) withEmptySums() *IncrementalNewton {
	next := *p
	next.values, next.out = make([]float64, p.task.Groups), make([]float64, p.task.size(p.plan.Cols))
	if p.request.renew {
		next.sample = p.emptySample()
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
	curve := design.Borrow[float64](len(y) * p.task.Outputs)
	defer curve.Release()
	own := p.batch(ctx)
	own.problems = p.task.Problems(y, weights, 1, 1, p.plan.Cols)
	own.setCurves(curve.Data)
	add := func(values, out, x []float64, f problemUpdate) {
		sums := own.newPass(own.byWidth)
		sums.start(x, out, values)
		sums.add(block.X, 0, own.scoreUpdate(own.byWidth, f))
		sums.end()
	}
	p.rowsSeen += len(y)
	if p.request.isProduct {
		rest := design.Borrow[float64](len(p.out))
		defer rest.Release()
		add(make([]float64, p.task.Groups), rest.Data, p.request.x, (*Problem).evaluate)
		add(nil, p.out, p.request.v, (*Problem).multiply)
		return ctxerr.Check(ctx)
	}
	add(p.values, p.out, p.request.x, (*Problem).evaluate)
	if !kern.AllFinite(p.values) || !kern.AllFinite(p.out) {
		return cmp.Or(ctxerr.Check(ctx), design.NonFiniteError(first, block))
	}
	if p.request.renew {
		p.sample.ctx = ctx
		if p.sample.addSample(own.problems, 0, first, block.X) != nil {
			return cmp.Or(ctxerr.Check(ctx), design.NonFiniteError(first, block))
		}
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
	p.sample.merge(o.sample)
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
	o := p.batch(ctx)
	if p.request.isProduct {
		o.addPenaltyProduct(reported.vector, p.request.v)
	} else {
		reported.values = slices.Clone(p.values)
		o.addPenalty(reported.values, reported.vector, p.request.x, o.byWidth)
		if p.request.renew {
			ready = p.emptySample()
			ready.ctx = ctx
			ready.merge(p.sample)
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
func (p *IncrementalNewton) run(ctx context.Context, log []reply, ready *preconditioners) (*outcome, error) {
	r := &replayOracle{replies: log, Batch: p.batch(ctx)}
	if ready != nil {
		o := *ready
		o.ctx, r.ready = ctx, &o
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
	m := r.model(x, 0, p.task.Outputs, report)
	model, err := p.task.finish(m.Weights, m.Intercept, report)
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
	r.preconditioners.renew = true
	return slices.Clone(p.plan.InitialWeights), reference, nil
}

// errNeedsPass interrupts the solver when it makes a request.
var errNeedsPass = errors.New("pass required")

// replayOracle is the problem that the solver sees: recorded replies, then a request.
type replayOracle struct {
	*Batch   // for its plan
	ready    *preconditioners
	replies  []reply
	position int
	x        []float64
	request  request
}

var _ solve.Problem = (*replayOracle)(nil)

// Evaluate returns the next reply or makes a request.
func (r *replayOracle) Evaluate(values, gradient, x []float64) error {
	r.x = slices.Clone(x)
	if r.position == len(r.replies) {
		plan := r.preconditioners
		r.request = request{renew: plan.renew, coupled: plan.renew && plan.useCoupled, x: r.x}
		return errNeedsPass
	}
	a := r.replies[r.position]
	r.position++
	r.preconditioners.renew = false
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
	if r.ready == nil {
		return errRowsChanged
	}
	if err := r.ready.solve(dst, v, r.outputs, r.rows.Cols); err != nil {
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
