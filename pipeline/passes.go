package pipeline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// A pipeline learns by the passes of its first step, then those of the second step over mapped
// rows, and so on up to the estimator. Data-independent steps make no passes.

// Start returns the first pass of the first step that depends on rows. It returns an error for a
// step or estimator that does not learn by passes. Fit makes fewer passes if the rows fit in
// memory; Start is for rows that arrive in parts.
func (p Pipeline) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := p.check(); err != nil {
		return nil, place.Here(err)
	}
	if err := p.checkPasses(ctx, schema, cols); err != nil {
		return nil, err
	}
	if err := p.checkMemory(datasets.Shape{Cols: cols, Outputs: schema.Outputs(), Columns: schema.Columns}); err != nil {
		return nil, err
	}
	p = p.clone()
	return beginSums(ctx, p, schema, cols, &chainSums{steps: p.Steps, pipeline: &p, in: schema, cols: cols,
		single: p.Precision == Float32})
}

// Finish returns the same [*FittedPipeline] as [Pipeline.Fit].
func (p Pipeline) Finish(ctx context.Context, last datasets.Pass) (estimator.Predictor, error) {
	done, err := finishSums[*chainSums](ctx, p, last)
	if err != nil {
		return nil, err
	}
	return done.predictor, nil
}

// Start returns the first pass of the first step that depends on rows. It returns an error for a
// step that does not learn by passes.
func (c Chain) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := c.check(); err != nil {
		return nil, place.Here(err)
	}
	if err := checkPasses("step", c.Steps); err != nil {
		return nil, err
	}
	return beginSums(ctx, c, schema, cols, &chainSums{steps: cloneSteps(c.Steps), in: schema, cols: cols})
}

// Finish returns the [*FittedChain] of the last pass.
func (c Chain) Finish(ctx context.Context, last datasets.Pass) (transformer.Transformer, error) {
	done, err := finishSums[*chainSums](ctx, c, last)
	if err != nil {
		return nil, err
	}
	return done.chain, nil
}

// beginSums returns the first pass of a spec of this package.
func beginSums(ctx context.Context, spec any, schema datasets.Schema, cols int, sums interface {
	pass.Sums
	open(ctx context.Context) error
}) (datasets.Pass, error) {
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	if cols <= 0 || len(schema.Columns) != 0 && len(schema.Columns) != cols {
		return nil, place.Here(fmt.Errorf("the schema names %d columns, the rows have %d", len(schema.Columns), cols))
	}
	if err := sums.open(ctx); err != nil {
		return nil, err
	}
	return pass.Begin(pass.Config{Name: "pipeline", Spec: spec, Schema: schema, Cols: cols}, sums), nil
}

// finishSums returns the result of the last pass of a spec.
func finishSums[S interface {
	finish(ctx context.Context) (T, error)
}, T any](ctx context.Context, spec any, last datasets.Pass) (result T, err error) {
	all, _, err := pass.Last(ctx, "pipeline", spec, last)
	if err != nil {
		return result, err
	}
	return all.(S).finish(ctx)
}

// checkPasses returns an error for a part that does not learn by passes, before any rows are read.
func (p Pipeline) checkPasses(ctx context.Context, schema datasets.Schema, cols int) error {
	if err := checkPasses("step", p.Steps); err != nil {
		return err
	}
	e, ok := p.Estimator.(estimator.PassEstimator)
	if !ok {
		return place.At("step", p.path(), noPasses(p.Estimator))
	}
	_, err := e.Start(ctx, schema.WithColumns(nil), max(1, p.widthAfter(0, cols)))
	return place.At("step", p.path(), err)
}

func checkPasses(what string, steps []Step) error {
	for i, s := range steps {
		if err := learnsByPasses(s.Fitter); err != nil {
			return place.At(what, s.NameAt(i), err)
		}
	}
	return nil
}

func learnsByPasses(f transformer.Fitter) error {
	c, holds := f.(Composite)
	_, part := f.(Member)
	_, learns := f.(transformer.PassFitter)
	switch {
	case holds && (part || learns):
		return checkPasses(c.Holds().What, c.Children())
	case learns, datasets.TagsOf(f).DataIndependent:
		return nil
	}
	return noPasses(f)
}

func noPasses(spec any) error {
	return fmt.Errorf("%w: %s needs all rows at once, or to be given what it would learn from them", datasets.ErrNoPasses,
		specName(spec))
}

// beginStep begins the fit of f to rows with the given number of columns. It returns a pass, or the
// fitted value if it is data-independent.
func beginStep(ctx context.Context, f transformer.Fitter, schema datasets.Schema, cols int) (transformer.Transformer,
	datasets.Pass, error) {
	if p, ok := f.(transformer.PassFitter); ok {
		begun, err := p.Start(ctx, schema, cols)
		return nil, begun, err
	}
	if !datasets.TagsOf(f).DataIndependent {
		return nil, nil, noPasses(f)
	}
	fit, err := f.Fit(ctx, datasets.Set{X: pick.Blank(schema, cols), Schema: schema})
	return fit, nil, err
}

// finishStep returns the result of the last pass of f.
func finishStep(ctx context.Context, f transformer.Fitter, last datasets.Pass) (transformer.Transformer, error) {
	return f.(transformer.PassFitter).Finish(ctx, last)
}

// firstRow returns a copy of the first row of a block. The form of a step's output is determined by
// it.
func firstRow(block datasets.Set) mat.Matrix { return rowblock.Select(block.X, []int{0}) }

// chainSums contains the fitted leading steps and the pass of the next step or the estimator, which
// adds rows mapped by these steps.
type chainSums struct {
	steps    []Step
	pipeline *Pipeline // nil for a chain
	in       datasets.Schema
	cols     int
	single   bool // whether the last step computes float32 features

	fits   []transformer.Transformer // fitted leading steps, immutable
	sample mat.Matrix                // first row, nil before the first block
	pass   datasets.Pass             // current pass, nil if every step is fitted

	base *rows.Block // source of the block being added
	src  datasets.Source
	done *finishedChain
}

// finishedChain is the result of the last pass.
type finishedChain struct {
	chain     *FittedChain
	predictor estimator.Predictor // pipelines only
}

// open continues to the next step that depends on rows.
func (c *chainSums) open(ctx context.Context) error {
	for len(c.fits) < len(c.steps) {
		chain, schema, err := c.chain(ctx, c.fits)
		if err != nil {
			return err
		}
		s := c.steps[len(c.fits)]
		fit, begun, err := beginStep(ctx, s.Fitter, schema, chain.OutputWidth())
		if err != nil {
			return place.At("step", s.Path(), err)
		}
		if c.pass = begun; begun != nil {
			return nil
		}
		c.fits = append(slices.Clip(c.fits), fit)
	}
	if c.pass = nil; c.pipeline == nil {
		return nil
	}
	chain, schema, err := c.chain(ctx, c.fits)
	if err != nil {
		return err
	}
	c.pass, err = c.pipeline.Estimator.(estimator.PassEstimator).Start(ctx, schema, chain.OutputWidth())
	return place.At("step", c.pipeline.path(), err)
}

// chain returns the fitted steps as a chain, and its output schema. Without rows, it uses a row of
// zeros as the sample.
func (c *chainSums) chain(ctx context.Context, fits []transformer.Transformer) (*FittedChain, datasets.Schema, error) {
	sample, schema := c.sample, c.in
	if sample == nil {
		sample = pick.Blank(c.in, c.cols)
	}
	chain := &FittedChain{cols: c.cols}
	for i, fit := range fits {
		step := &rows.Step{Name: c.steps[i].Path(), Fitted: fit, Float32: c.single && i == len(c.steps)-1,
			Train: true}
		var err error
		if sample, err = step.Learn(ctx, sample); err != nil {
			return nil, schema, place.At("step", step.Name, err)
		}
		chain.steps, schema = append(chain.steps, step), rows.Describe(fit, schema)
	}
	return chain, schema, nil
}

// Stage returns the name of the step or estimator that the pass fits, or "" if there is none.
func (c *chainSums) Stage() (name string, step bool) {
	if c.pass != nil {
		name = c.currentName()
	}
	return name, len(c.fits) < len(c.steps)
}

// currentName returns the name of the step or estimator that the pass fits.
func (c *chainSums) currentName() string {
	if len(c.fits) < len(c.steps) {
		return c.steps[len(c.fits)].Path()
	}
	return c.pipeline.path()
}

// Add maps the rows of a block and adds them to the current pass.
func (c *chainSums) Add(ctx context.Context, first int, block datasets.Set) error {
	if err := checkBlock(block, c.cols, first); err != nil {
		return err
	}
	if c.done = nil; c.sample == nil {
		c.sample = firstRow(block)
	}
	if c.src == nil {
		chain, _, err := c.chain(ctx, c.fits)
		if err != nil {
			return err
		}
		c.base = &rows.Block{Columns: c.in, Width: c.cols}
		c.src = c.base
		for _, s := range chain.steps {
			c.src = rows.Mapped(c.src, s)
		}
	}
	block.Schema = c.in
	c.base.Set, c.base.First = block, first
	defer func() { c.base.Set = datasets.Set{} }()
	err := c.src.Blocks(ctx, func(mapped datasets.Set) error {
		if c.pass == nil {
			return block.Locate(datasets.FromRow(checkFinite(mapped.X), first), first)
		}
		return place.At("step", c.currentName(), c.pass.Add(ctx, mapped))
	})
	var inner *place.Error
	if errors.As(err, &inner) && inner.Upstream { // its row numbers are relative to the block
		return &place.Error{Place: inner.Place, Err: datasets.FromRow(inner.Err, first)}
	}
	return place.Here(err)
}

// checkBlock returns an error if the number of columns of a block is not cols.
func checkBlock(block datasets.Set, cols, first int) error {
	if width := block.Cols(); width != cols {
		return place.Here(fmt.Errorf("row %[1]d: number of columns must be %[3]d, got %[2]d", first, width, cols))
	}
	return nil
}

// Merge adds the sums of another part of the rows, mapped by the same fitted steps.
func (c *chainSums) Merge(ctx context.Context, other pass.Sums) error {
	o := other.(*chainSums)
	if c.done = nil; c.sample == nil {
		c.sample, c.src = o.sample, nil
	}
	if len(c.fits) != len(o.fits) || (c.pass == nil) != (o.pass == nil) {
		return place.Here(errOtherSteps)
	}
	for i := range c.fits {
		if err := sameFit(c.fits[i], o.fits[i]); err != nil {
			return place.At("step", c.steps[i].Path(), err)
		}
	}
	if c.pass == nil {
		return nil
	}
	return place.At("step", c.currentName(), c.pass.Merge(ctx, o.pass))
}

var errOtherSteps = errors.New("the rows were not mapped by the same fitted steps")

// sameFit returns an error if the states of two transformers differ. Transformers without a state
// are not compared.
func sameFit(a, b transformer.Transformer) error {
	x, ok := a.(model.Stateful)
	y, ok2 := b.(model.Stateful)
	if a == b || !ok || !ok2 {
		return nil
	}
	one, err := digest(x)
	if err != nil {
		return err
	}
	if two, err := digest(y); err != nil || one != two {
		return errors.Join(errOtherSteps, err)
	}
	return nil
}

// digest returns a hash of the state of a fitted value.
func digest(v model.Stateful) (sum [sha256.Size]byte, err error) {
	a, err := model.Record(v)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.Scalars)) {
		fmt.Fprintf(h, "%q %#v\n", name, a.Scalars[name])
	}
	for _, name := range slices.Sorted(maps.Keys(a.Arrays)) {
		array := a.Arrays[name]
		fmt.Fprintf(h, "%q %v %x %x %x\n", name, array.Shape, array.Floats, array.Ints, array.Uint32s)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// Next returns the next pass: of the same step, the next step that depends on rows, or the
// estimator.
func (c *chainSums) Next(ctx context.Context) (pass.Sums, error) {
	if c.pass == nil || c.done != nil {
		return nil, ctxerr.Check(ctx)
	}
	next := &chainSums{steps: c.steps, pipeline: c.pipeline, in: c.in, cols: c.cols, single: c.single, fits: c.fits,
		sample: c.sample}
	begun, err := c.pass.Next(ctx)
	if err != nil {
		return nil, place.At("step", c.currentName(), err)
	}
	if begun != nil {
		next.pass = begun
		return next, nil
	}
	if len(c.fits) == len(c.steps) { // the estimator is fitted
		return nil, c.complete(ctx, c.fits)
	}
	fit, err := finishStep(ctx, c.steps[len(c.fits)].Fitter, c.pass)
	if err != nil {
		return nil, place.At("step", c.currentName(), err)
	}
	next.fits = append(slices.Clip(c.fits), fit)
	if err := next.open(ctx); err != nil {
		return nil, err
	}
	if next.pass == nil {
		return nil, c.complete(ctx, next.fits)
	}
	return next, nil
}

// complete sets done to the result of the last pass.
func (c *chainSums) complete(ctx context.Context, fits []transformer.Transformer) error {
	chain, _, err := c.chain(ctx, fits)
	if err != nil {
		return err
	}
	done := &finishedChain{chain: chain}
	if p := c.pipeline; p != nil {
		fitted, err := p.Estimator.(estimator.PassEstimator).Finish(ctx, c.pass)
		if err != nil {
			return place.At("step", p.path(), err)
		}
		done.predictor = &FittedPipeline{spec: p.clone(), chain: inference(c.cols, chain.steps), in: c.in,
			precision: precisionOf(p), name: p.path(),
			model: fitted}
	}
	c.done = done
	return nil
}

func precisionOf(p *Pipeline) string {
	if p.Precision == "" {
		return Float64
	}
	return p.Precision
}

// finish returns the result after the last pass.
func (c *chainSums) finish(ctx context.Context) (*finishedChain, error) {
	if c.done == nil {
		if err := c.complete(ctx, c.fits); err != nil {
			return nil, err
		}
	}
	return c.done, ctxerr.Check(ctx)
}

// State serializes the fitted steps and the current pass.
func (c *chainSums) State(s *model.State) {
	fitted := len(c.fits)
	s.Int("fitted", &fitted)
	s.Require(fitted >= 0 && fitted <= len(c.steps), "too many fitted steps")
	stateOfRow(s.Child("sample"), &c.sample)
	if s.Err() != nil {
		return
	}
	s.Require(c.sample == nil || colsOf(c.sample) == c.cols, "the first row has other columns")
	if s.Restoring() {
		c.fits, c.pass, c.src, c.done = make([]transformer.Transformer, fitted), nil, nil, nil
	}
	for i := range c.fits {
		if partState(s.Child(c.steps[i].Path()), &c.fits[i]); s.Err() != nil {
			return
		}
	}
	if s.Restoring() {
		if err := c.reopen(); err != nil {
			s.Fail("%v", err)
			return
		}
		s.Require(len(c.fits) == fitted, "a step that needs no rows is not fitted")
	}
	if c.pass != nil && s.Err() == nil {
		c.pass.State(s.Child("now"))
	}
}

// reopen checks that the restored steps are compatible, and begins the current pass, whose state
// follows.
func (c *chainSums) reopen() error {
	width := c.cols
	for i, fit := range c.fits {
		if in := datasets.TagsOf(fit).InputWidth; in != 0 && in != width {
			return place.At("step", c.steps[i].Path(), fmt.Errorf("%d columns at fit, %d come to it", in, width))
		}
		chain, _, err := c.chain(context.Background(), c.fits[:i+1])
		if err != nil {
			return err
		}
		width = chain.OutputWidth()
	}
	return c.open(context.Background())
}

func colsOf(X mat.Matrix) int {
	_, cols := X.Dims()
	return cols
}

// stateOfRow serializes a dense or sparse row, which may be nil.
func stateOfRow(s *model.State, row *mat.Matrix) {
	thin, _ := (*row).(*matrices.CSR)
	isSparse, none := thin != nil, *row == nil
	s.Bool("none", &none)
	s.Bool("sparse", &isSparse)
	if none || s.Err() != nil {
		return
	}
	if isSparse {
		s.Sparse("row", &thin)
		*row = thin
	} else {
		var full *mat.Dense
		var columns []int // text columns
		var strings []string
		if !s.Restoring() {
			from := *row
			if m := textrows.Of(from); m != nil {
				m = m.Clone()
				from, columns, strings = m.Dense(), m.TextColumns(), m.Strings().List()
			}
			full = mat.DenseCopyOf(from)
		}
		s.Ints("text_columns", &columns)
		s.Strings("strings", &strings)
		if s.Matrix("row", &full); full == nil {
			s.Require(false, "the first row is empty")
			return
		}
		_, cols := full.Dims()
		for k, j := range columns {
			s.Require(j >= 0 && j < cols && (k == 0 || j > columns[k-1]), "a text column is out of bounds")
		}
		*row = textrows.Wrap(full, columns, textrows.NewStrings(strings))
	}
	if s.Restoring() && s.Err() == nil {
		n, _ := (*row).Dims()
		s.Require(n == 1, "the first row is not one")
	}
}
