package estimator

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// PassEstimator is an Estimator that is fitted by passes over blocks of rows. Its [datasets.Pass]
// adds blocks, merges the passes of other workers, and is serialized to resume a fit. A pipeline of
// such steps and such a model is a PassEstimator.
type PassEstimator interface {
	Estimator
	// Start returns the first pass over rows of these columns. It has no rows yet.
	Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error)
	// Finish returns the model of the last pass, which it does not modify.
	Finish(ctx context.Context, last datasets.Pass) (Predictor, error)
}

// Learn fits spec to src in passes.
func Learn(ctx context.Context, spec PassEstimator, src datasets.Source) (Predictor, error) {
	_, cols := src.Dims()
	first, err := spec.Start(ctx, src.Schema(), cols)
	if err != nil {
		return nil, err
	}
	last, err := datasets.Scan(ctx, first, src)
	if err != nil {
		return nil, err
	}
	return spec.Finish(ctx, last)
}

// rowSums are the sums of a pass: [pass.Sums] for blocks whose inputs have a type that the solvers
// support.
type rowSums interface {
	add(ctx context.Context, first int, block datasets.Set) error
	merge(ctx context.Context, other rowSums) error
	next(ctx context.Context) (rowSums, error)
	state(s *model.State)
}

// passState is the state of an estimator in a pass.
type passState struct {
	name   string // prefix of errors; may be ""
	schema datasets.Schema
	cols   int
	sums   rowSums
}

// newPass returns the first pass of an estimator.
func newPass(ctx context.Context, name string, spec any, schema datasets.Schema, cols int, sums rowSums) (datasets.Pass,
	error) {
	return newPassWithMark(ctx, name, spec, "", schema, cols, sums)
}

// newPassWithMark is newPass with an additional identity of the pass.
func newPassWithMark(ctx context.Context, name string, spec any, mark string, schema datasets.Schema, cols int,
	sums rowSums) (datasets.Pass, error) {
	if len(schema.Columns) != 0 && len(schema.Columns) != cols {
		return nil, fmt.Errorf("%s: the schema names %d columns, the rows have %d", name, len(schema.Columns), cols)
	}
	if err := design.AllNumeric(schema); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return pass.Begin(pass.Config{Name: name, Spec: spec, Mark: mark, Schema: schema, Cols: cols},
		&passState{name: name, schema: schema, cols: cols, sums: sums}), nil
}

// finishedSums returns the sums of the last pass.
func finishedSums[T rowSums](ctx context.Context, name string, spec any, last datasets.Pass) (sums T, err error) {
	all, _, err := pass.Last(ctx, name, spec, last)
	if err != nil {
		return sums, err
	}
	sums, ok := all.(*passState).sums.(T)
	if !ok {
		return sums, fmt.Errorf("%s: the pass is not the last: Next returns the one that has to read the rows again", name)
	}
	return sums, nil
}

func (l *passState) wrapError(err error) error {
	if err == nil || l.name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", l.name, err)
}

// Add adds the rows of a block.
func (l *passState) Add(ctx context.Context, first int, block datasets.Set) error {
	if block.Cols() != l.cols {
		return l.wrapError(fmt.Errorf("row %d: must have %[3]d columns, got %[2]d", first, block.Cols(), l.cols))
	}
	block.X, block.Schema = design.Native(block.X), l.schema
	return l.wrapError(l.sums.add(ctx, first, block))
}

// Merge adds the sums of other rows.
func (l *passState) Merge(ctx context.Context, other pass.Sums) error {
	return l.wrapError(l.sums.merge(ctx, other.(*passState).sums))
}

// Next returns the sums of the next pass, nil after the last.
func (l *passState) Next(ctx context.Context) (pass.Sums, error) {
	sums, err := l.sums.next(ctx)
	if err = contextErrorOr(ctx, err); err != nil || sums == nil { // a cancellation causes other errors
		return nil, l.wrapError(err)
	}
	next := *l
	next.sums = sums
	return &next, nil
}

// contextErrorOr returns the error of the context if it is done, else err.
func contextErrorOr(ctx context.Context, err error) error {
	if ended := ctxerr.Check(ctx); ended != nil {
		return ended
	}
	return err
}

// State serializes the sums.
func (l *passState) State(s *model.State) { l.sums.state(s) }

// errDifferentRows reports a pass over other rows than the previous one.
var errDifferentRows = errors.New("these are not the rows of the pass before")
