package estimator

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
)

// PassEstimator is an Estimator that learns by passes over blocks of rows. Its [datasets.Pass] can be added
// to block by block, merged with what other machines have learned from other rows, and written to a
// file: whoever learns on as rows come, learns on several machines, or wants to go on after a crash
// profits. A pipeline of such steps and such a model is one itself.
type PassEstimator interface {
	Estimator
	// Start returns the first pass over rows of these columns. It has no rows yet.
	Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error)
	// Finish returns what was learned in the pass that has no next one, and leaves the pass as it is.
	Finish(ctx context.Context, last datasets.Pass) (Predictor, error)
}

// Learn fits spec to src by its passes: what any [PassEstimator] can do as its FitSource.
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

// rowSums are what an estimator adds up in a pass. Their methods are those of [pass.Sums], but for blocks
// whose inputs are of a type that the solvers know.
type rowSums interface {
	add(ctx context.Context, first int, block datasets.Set) error
	merge(ctx context.Context, other rowSums) error
	next(ctx context.Context) (rowSums, error)
	state(s *model.State)
}

// learning is the sums of an estimator in a pass.
type learning struct {
	name   string // before what is wrong; "" for none
	schema datasets.Schema
	cols   int
	sums   rowSums
}

// begin returns the first pass of an estimator.
func begin(ctx context.Context, name string, spec any, schema datasets.Schema, cols int, sums rowSums) (datasets.Pass, error) {
	return beginFrom(ctx, name, spec, "", schema, cols, sums)
}

// beginFrom is begin with a mark of what else the pass is begun by.
func beginFrom(ctx context.Context, name string, spec any, mark string, schema datasets.Schema, cols int, sums rowSums) (datasets.Pass, error) {
	if len(schema.Columns) != 0 && len(schema.Columns) != cols {
		return nil, fmt.Errorf("%s: the schema names %d columns, the rows have %d", name, len(schema.Columns), cols)
	}
	if err := design.AllNumeric(schema); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return pass.Begin(pass.Begun{Name: name, Spec: spec, Mark: mark, Schema: schema, Cols: cols}, &learning{name: name, schema: schema, cols: cols, sums: sums}), nil
}

// finished returns the sums of a last pass.
func finished[T rowSums](ctx context.Context, name string, spec any, last datasets.Pass) (sums T, err error) {
	all, _, err := pass.Last(ctx, name, spec, last)
	if err != nil {
		return sums, err
	}
	sums, ok := all.(*learning).sums.(T)
	if !ok {
		return sums, fmt.Errorf("%s: the pass is not the last: Next returns the one that has to read the rows again", name)
	}
	return sums, nil
}

func (l *learning) wrong(err error) error {
	if err == nil || l.name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", l.name, err)
}

// Add adds the rows of a block.
func (l *learning) Add(ctx context.Context, first int, block datasets.Set) error {
	if block.Cols() != l.cols {
		return l.wrong(fmt.Errorf("row %d: %d columns, wanted %d", first, block.Cols(), l.cols))
	}
	block.X, block.Schema = design.Native(block.X), l.schema
	return l.wrong(l.sums.add(ctx, first, block))
}

// Merge adds the sums of other rows.
func (l *learning) Merge(ctx context.Context, other pass.Sums) error {
	return l.wrong(l.sums.merge(ctx, other.(*learning).sums))
}

// Next returns the sums of the next pass, nil where there is none.
func (l *learning) Next(ctx context.Context) (pass.Sums, error) {
	sums, err := l.sums.next(ctx)
	if err = orEnded(ctx, err); err != nil || sums == nil { // whatever else there is comes of stopping
		return nil, l.wrong(err)
	}
	next := *l
	next.sums = sums
	return &next, nil
}

// orEnded returns the error of the context, where it has ended, else err.
func orEnded(ctx context.Context, err error) error {
	if ended := ctxerr.Check(ctx); ended != nil {
		return ended
	}
	return err
}

// State carries the sums to a file and back.
func (l *learning) State(s *model.State) { l.sums.state(s) }

// errOtherRows says that a pass has not read the rows of the one before.
var errOtherRows = errors.New("these are not the rows of the pass before")

// StatisticsSpec returns the spec with the default Alpha: specs that differ in Alpha only have the same sums of products.
func (s Ridge) StatisticsSpec() Estimator {
	s.Alpha = NewRidge().Alpha
	return s
}

// StatisticsSpec returns the spec with the default Alpha.
func (s RidgeClassifier) StatisticsSpec() Estimator {
	s.Alpha = NewRidgeClassifier().Alpha
	return s
}
