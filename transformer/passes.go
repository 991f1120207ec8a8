package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/features/sample"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// learn fits spec to src by its passes. It implements FitSource for any [PassFitter].
func learn(ctx context.Context, spec PassFitter, src datasets.Source) (Transformer, error) {
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

// inputSums accumulates statistics of the inputs in a pass. Its methods correspond to those of
// [pass.Sums], for rows that have been validated.
type inputSums interface {
	add(ctx context.Context, first int, X mat.Matrix) error
	merge(other inputSums) error
	next(ctx context.Context) (inputSums, error)
	state(s *model.State)
}

// inputs validates rows and passes them to inputSums. It implements [pass.Sums].
type inputs struct {
	step    string
	schema  datasets.Schema
	cols    int
	missing bool // whether the step accepts missing values
	sparse  bool // whether any block was sparse
	sums    inputSums
}

// beginPass returns the first pass of a step.
func beginPass(ctx context.Context, step string, spec any, schema datasets.Schema, cols int, missing bool,
	sums func() inputSums) (datasets.Pass, error) {
	if err := checkSpec(step, spec); err != nil {
		return nil, err
	}
	if len(schema.Columns) != 0 && len(schema.Columns) != cols {
		return nil, fmt.Errorf("transformer: %s: the schema names %d columns, the rows have %d", step, len(schema.Columns),
			cols)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	config := pass.Config{Name: "transformer: " + step, Spec: spec, Schema: schema, Cols: cols}
	return pass.Begin(config, &inputs{step: step, schema: schema, cols: cols, missing: missing, sums: sums()}), nil
}

// lastSums returns the sums of the last pass.
func lastSums[T inputSums](ctx context.Context, step string, spec any, last datasets.Pass) (sums T, in *inputs,
	err error) {
	all, _, err := pass.Last(ctx, "transformer: "+step, spec, last)
	if err != nil {
		return sums, nil, err
	}
	in = all.(*inputs)
	return in.sums.(T), in, nil
}

// Add validates the inputs of a block and adds them.
func (i *inputs) Add(ctx context.Context, first int, block datasets.Set) error {
	X, err := checkInputs(i.step, block, i.schema, i.cols, first, i.missing)
	if err != nil {
		return err
	}
	if _, ok := block.X.(*matrices.CSR); ok {
		i.sparse = true
	}
	return block.Locate(i.sums.add(ctx, first, X), first)
}

// Merge adds the sums of another part of the rows.
func (i *inputs) Merge(_ context.Context, other pass.Sums) error {
	o := other.(*inputs)
	i.sparse = i.sparse || o.sparse
	if err := i.sums.merge(o.sums); err != nil {
		return fmt.Errorf("transformer: %s: %w", i.step, err)
	}
	return nil
}

// Next returns the sums of the next pass, or nil after the last one.
func (i *inputs) Next(ctx context.Context) (pass.Sums, error) {
	sums, err := i.sums.next(ctx)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s: %w", i.step, err)
	}
	if sums == nil {
		return nil, nil
	}
	next := *i
	next.sums = sums
	return &next, nil
}

// State serializes the sums.
func (i *inputs) State(s *model.State) {
	s.Bool("sparse", &i.sparse)
	i.sums.state(s)
}

// checkInputs returns the inputs of a block whose first row has index first, as a *mat.Dense or
// *matrices.CSR. Entries must be finite, or NaN if missing is true.
func checkInputs(step string, block datasets.Set, schema datasets.Schema, width, first int, missing bool) (mat.Matrix,
	error) {
	X, err := checkRows(step, block.X, width)
	if err != nil {
		return nil, err
	}
	if err := checkEntries(step, X, schema, first, math.MaxFloat64, missing); err != nil {
		return nil, block.Locate(err, first)
	}
	return X, nil
}

// sampleSource returns src as a source to sample complete numeric rows from.
func sampleSource(step string, src datasets.Source) sample.From {
	_, width := src.Dims()
	return sample.From{Name: "transformer: " + step, Source: src, Check: func(first int, block datasets.Set) error {
		_, err := checkInputs(step, block, src.Schema(), width, first, false)
		return err
	}}
}

// noSums is the inputSums of a step that only validates the rows.
type noSums struct{}

func (noSums) add(context.Context, int, mat.Matrix) error { return nil }
func (noSums) merge(inputSums) error                      { return nil }
func (noSums) next(context.Context) (inputSums, error)    { return nil, nil }
func (noSums) state(*model.State)                         {}

// errOtherRows reports that two passes read different rows.
var errOtherRows = errors.New("these are not the rows of the pass before: their number or values differ")
