package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
	"github.com/bochner-ml/bochner/transformer"
)

// DefaultMemory is how many bytes of mapped rows a fit keeps where nothing else is said: 100,000
// rows of 2048 features, and of twice as many in single precision. Reading them from memory takes a
// fraction of the time that mapping them again does.
const DefaultMemory = 2 << 30

// fittedStep is a fitted transformer with its place in a chain.
type fittedStep struct {
	name   string
	fit    transformer.Transformer
	width  int  // columns that come out
	dense  bool // whether they are dense and can be written into a tile
	single bool // whether they are written in single precision; then dense is true
}

// applyTile maps X: into t where the features are dense, else into a matrix of the step's own.
func (s *fittedStep) applyTile(ctx context.Context, t *tile, X mat.Matrix) (mat.Matrix, error) {
	n, _ := X.Dims()
	switch {
	case s.single:
		dst := t.shapeSingle(n, s.width)
		return dst, s.applySingle(ctx, dst, t, X)
	case s.dense:
		return s.apply(ctx, t.shape(n, s.width), X)
	}
	return s.apply(ctx, nil, X)
}

// applySingle maps X into dst, by way of t where the step works in double precision.
func (s *fittedStep) applySingle(ctx context.Context, dst *single.Dense, t *tile, X mat.Matrix) error {
	if f, ok := s.fit.(transformer.SingleTransformer); ok {
		return at("step", s.name, f.TransformSingle(ctx, dst, X))
	}
	n, _ := X.Dims()
	wide := t.shape(n, s.width)
	if _, err := s.apply(ctx, wide, X); err != nil {
		return err
	}
	round(dst, wide)
	return nil
}

// apply maps X: into dst where that is given and possible, else into a matrix of the step's own.
func (s *fittedStep) apply(ctx context.Context, dst *mat.Dense, X mat.Matrix) (mat.Matrix, error) {
	if dst != nil && s.dense {
		err := s.fit.(transformer.DenseTransformer).TransformTo(ctx, dst, X)
		return dst, at("step", s.name, err)
	}
	Z, err := s.fit.Transform(ctx, X)
	if err != nil {
		return nil, at("step", s.name, err)
	}
	if _, w := Z.Dims(); w != s.width {
		return nil, at("step", s.name, fmt.Errorf("%d columns come out, %d at fit", w, s.width))
	}
	return Z, nil
}

// learn fills in what one row that went through the fitted step shows.
func (s *fittedStep) learn(ctx context.Context, sample mat.Matrix) (mat.Matrix, error) {
	Z, err := s.fit.Transform(ctx, sample)
	if err != nil {
		return nil, err
	}
	_, s.width = Z.Dims()
	_, isDense := Z.(*mat.Dense)
	d, canWrite := s.fit.(transformer.DenseTransformer)
	s.dense = isDense && canWrite && d.OutputWidth() == s.width
	s.single = s.single && s.dense
	return Z, nil
}

// describe returns the schema of what comes out of t.
func describe(t transformer.Transformer, in datasets.Schema) datasets.Schema {
	if d, ok := t.(transformer.Describer); ok {
		return d.OutputSchema(in)
	}
	return in.WithColumns(nil)
}

// rows are the training rows at one place of a chain: in memory, or mapped afresh whenever they are
// read.
type rows struct {
	set    datasets.Set
	src    datasets.Source // instead of set
	sample mat.Matrix      // the first row
	memory int64           // bytes that mapped rows may take
	single bool            // whether the last step's features are wanted in single precision
}

func rowsOf(set datasets.Set, memory int64) (rows, error) {
	if err := set.Check(); err != nil {
		return rows{}, err
	}
	return rows{set: set, sample: datasets.SliceRows(set.X, 0, 1), memory: memory}, nil
}

func rowsFrom(ctx context.Context, src datasets.Source, memory int64) (rows, error) {
	switch src.(type) {
	case *peeked, mapped, narrowed:
	default:
		p, err := peek(ctx, src)
		if err != nil {
			return rows{}, err
		}
		src = p
	}
	first, err := firstRows(ctx, src, 1)
	if err != nil {
		return rows{}, err
	}
	return rows{src: src, sample: first.X, memory: memory}, nil
}

// firstRows returns a copy of the first rows of src, at most so many and within a block.
func firstRows(ctx context.Context, src datasets.Source, most int) (datasets.Set, error) {
	enough := errors.New("enough")
	var first datasets.Set
	err := src.Blocks(ctx, func(block datasets.Set) error {
		if block.Rows() == 0 {
			return nil
		}
		first = block.Select(count(0, min(block.Rows(), most)))
		return enough
	})
	switch {
	case err == enough:
		return first, nil
	case err != nil:
		return first, err
	}
	return first, fmt.Errorf("datasets: %w: no rows", datasets.ErrEmpty)
}

// peeked is a source whose first block is kept, so that looking at it, as many a fit does before it
// reads, does not open the source again. It notices when the source has other rows than before.
type peeked struct {
	datasets.Source
	first datasets.Set
	total atomic.Int64 // rows of a whole reading, 0 before the first
}

func peek(ctx context.Context, src datasets.Source) (*peeked, error) {
	first, err := firstRows(ctx, src, math.MaxInt)
	return &peeked{Source: src, first: first}, err
}

func (p *peeked) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := yield(p.first); err != nil {
		return err
	}
	total := 0
	err := p.Source.Blocks(ctx, func(block datasets.Set) error {
		begins := total == 0
		total += block.Rows()
		if !begins || block.Rows() == 0 {
			return yield(block)
		}
		if block.Rows() != p.first.Rows() {
			return errChanged
		}
		return nil
	})
	if err == nil && !p.total.CompareAndSwap(0, int64(total)) && p.total.Load() != int64(total) {
		err = errChanged
	}
	return err
}

var errChanged = errors.New("the data changed while they were being read")

// source returns the rows as a stream.
func (r rows) source() datasets.Source {
	if r.src != nil {
		return r.src
	}
	return r.set.Source()
}

// gather returns the rows in memory, whatever they take.
func (r rows) gather(ctx context.Context) (datasets.Set, error) {
	if r.src == nil {
		return r.set, nil
	}
	return datasets.Gather(ctx, r.src)
}

// fit fits a step to the rows. Where they are a stream and the step needs all rows at once, they
// are gathered.
func (r rows) fit(ctx context.Context, f transformer.Fitter) (transformer.Transformer, error) {
	if b, ok := f.(transformer.BlockFitter); ok && r.src != nil {
		return b.FitSource(ctx, r.src)
	}
	set, err := r.gather(ctx)
	if err != nil {
		return nil, err
	}
	return f.Fit(ctx, set)
}

// through returns the rows mapped by a fitted step: in memory where the rows are in memory, keep is
// true and there is room, else lazily. They go to next, nil for an estimator. It fills in what the
// step's width is.
func (r rows) through(ctx context.Context, s *fittedStep, keep bool, next transformer.Fitter) (rows, error) {
	sample, err := s.learn(ctx, r.sample)
	if err != nil {
		return rows{}, err
	}
	out := rows{sample: sample, memory: r.memory, single: r.single}
	size := bytesOf(sample)
	if s.single {
		size = 4 * int64(s.width)
	}
	if r.src != nil || !keep || size*int64(r.set.Rows()) > r.memory {
		out.src = newMapped(r.source(), s)
		return out, nil
	}
	out.set = r.set
	out.set.Schema = describe(s.fit, r.set.Schema)
	out.set.X, err = s.mapKept(ctx, r.set.X, next)
	return out, err
}

// fitThrough fits a step and returns the rows mapped by it, as fit and through do, at once where the
// step can do that and there is room: then they are kept, having been made.
func (r rows) fitThrough(ctx context.Context, f transformer.Fitter, s *fittedStep, keep bool, next transformer.Fitter) (rows, error) {
	var err error
	both, ok := f.(transformer.FitTransformer)
	if ok && r.src == nil && both.FeatureBytes(r.set.Rows(), r.set.Cols()) <= r.memory {
		return r.atOnce(ctx, both, s)
	}
	if s.fit, err = r.fit(ctx, f); err != nil {
		return rows{}, err
	}
	return r.through(ctx, s, keep, next)
}

func (r rows) atOnce(ctx context.Context, f transformer.FitTransformer, s *fittedStep) (rows, error) {
	t, Z, err := f.FitTransform(ctx, r.set)
	if err != nil {
		return rows{}, err
	}
	s.fit = t
	out := rows{set: r.set, memory: r.memory, single: r.single}
	if out.sample, err = s.learn(ctx, r.sample); err != nil {
		return rows{}, err
	}
	out.set.Schema = describe(t, r.set.Schema)
	out.set.X = Z
	if s.single {
		narrow := single.New(r.set.Rows(), s.width, nil)
		round(narrow, Z.(*mat.Dense))
		out.set.X = narrow
	}
	return out, nil
}

// bytesOf is what a sample row takes in memory.
func bytesOf(sample mat.Matrix) int64 {
	if m, ok := sample.(*sparse.CSR); ok {
		if _, shared := m.Shared(); shared {
			return 8 + 4*int64(m.NNZ())
		}
		return 8 + 12*int64(m.NNZ())
	}
	_, w := sample.Dims()
	return 8 * int64(w)
}

// mapAll maps all rows of X; dense features block by block, so that a cancelled fit ends soon.
func mapAll(ctx context.Context, s *fittedStep, X mat.Matrix) (mat.Matrix, error) {
	n, _ := X.Dims()
	if !s.dense {
		return s.apply(ctx, nil, X)
	}
	if s.single {
		var t tile
		out := single.New(n, s.width, nil)
		return out, eachBlock(ctx, n, func(lo, hi int) error {
			return s.applySingle(ctx, out.Slice(lo, hi), &t, datasets.SliceRows(X, lo, hi))
		})
	}
	out := mat.NewDense(n, s.width, nil)
	return out, eachBlock(ctx, n, func(lo, hi int) error {
		_, err := s.apply(ctx, out.Slice(lo, hi, 0, s.width).(*mat.Dense), datasets.SliceRows(X, lo, hi))
		return err
	})
}

// mapKept is mapAll of rows that are kept for steps that take sparse rows as well as dense ones:
// where nearly all of what comes out is 0, as of one-hot encoded columns, that is not stored. What the
// fitted step itself makes of rows stays as it is.
func (s *fittedStep) mapKept(ctx context.Context, X mat.Matrix, next ...transformer.Fitter) (mat.Matrix, error) {
	n, _ := X.Dims()
	if !s.dense || s.single || n < thinSample || slices.ContainsFunc(next, needsDense) {
		return mapAll(ctx, s, X)
	}
	some := make([]int, thinSample)
	for i := range some {
		some[i] = i * (n / thinSample)
	}
	var t tile
	sample, err := s.apply(ctx, t.shape(thinSample, s.width), datasets.SelectRows(X, some))
	if err != nil || thinness*sparse.FromDense(sample).NNZ() > thinSample*s.width {
		return mapAll(ctx, s, X)
	}
	var blocks []*sparse.CSR
	err = eachBlock(ctx, n, func(lo, hi int) error {
		Z, err := s.apply(ctx, t.shape(hi-lo, s.width), datasets.SliceRows(X, lo, hi))
		if err == nil {
			blocks = append(blocks, sparse.FromDense(Z))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sparse.Stack(blocks), nil
}

// needsDense reports whether a step, nil for an estimator, may make other features of sparse rows.
func needsDense(step transformer.Fitter) bool {
	s, ok := step.(transformer.SparseTaker)
	return !ok || !s.TakesSparse()
}

// Rows are kept sparse where, by a sample, at most one entry of so many is not 0.
const (
	thinness   = 5
	thinSample = 256
)

// eachBlock calls f for the rows of a matrix, block by block, until ctx is done.
func eachBlock(ctx context.Context, n int, f func(lo, hi int) error) error {
	for lo := 0; lo < n; lo += datasets.BlockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(lo, min(lo+datasets.BlockRows, n)); err != nil {
			return err
		}
	}
	return nil
}

// tileBytes bounds a tile of mapped rows.
const tileBytes = 64 << 20

// tileRows is how many rows of the given width go into a tile.
func tileRows(width int) int { return max(64, tileBytes/8/max(width, 1)) }

// mapped is a source whose rows are mapped by one step as they are read.
type mapped struct {
	base   datasets.Source
	step   *fittedStep
	schema datasets.Schema
	tiles  *sync.Pool
}

func newMapped(base datasets.Source, s *fittedStep) mapped {
	return mapped{base: base, step: s, schema: describe(s.fit, base.Schema()), tiles: &sync.Pool{New: func() any { return new(tile) }}}
}

func (m mapped) Schema() datasets.Schema { return m.schema }

func (m mapped) Dims() (n, cols int) {
	n, _ = m.base.Dims()
	return n, m.step.width
}

func (m mapped) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	t := m.tiles.Get().(*tile)
	defer m.tiles.Put(t)
	limit, first := tileRows(m.step.width), 0
	return m.base.Blocks(ctx, func(block datasets.Set) error {
		for lo := 0; lo < block.Rows(); lo += limit {
			part := block.Slice(lo, min(lo+limit, block.Rows()))
			Z, err := m.step.applyTile(ctx, t, part.X)
			if err != nil {
				return upstream(explain(err, part, m.base.Schema(), first))
			}
			first += part.Rows()
			part.X, part.Schema = Z, m.schema
			if err := yield(part); err != nil {
				return err
			}
		}
		return nil
	})
}

// explain says which row of all, and which column by name, holds the missing or infinite value that
// made err; a step sees a block without its place and its names. The block begins at row first.
func explain(err error, block datasets.Set, schema datasets.Schema, first int) error {
	X := block.X
	n, d := X.Dims()
	where, cause := "", err
	var inner *located
	if errors.As(err, &inner) {
		where, cause = inner.place, inner.err
	}
	for i := range n {
		for j := range d {
			switch v := X.At(i, j); {
			case math.IsNaN(v) && errors.Is(err, datasets.ErrMissing):
				cause = &datasets.RowError{Row: first + i, Column: schema.Name(j), Err: fmt.Errorf("%w; put an impute step before", datasets.ErrMissing)}
				return &located{place: where, err: block.Locate(cause, first)}
			case math.IsInf(v, 0):
				return &located{place: where, err: block.Locate(&datasets.RowError{Row: first + i, Column: schema.Name(j), Err: errors.New("infinite value")}, first)}
			}
		}
	}
	var row *datasets.RowError
	if errors.As(cause, &row) {
		return &located{place: where, err: datasets.FromRow(block.Locate(cause, 0), first)}
	}
	if first > 0 && inner != nil {
		return &located{place: where, err: fmt.Errorf("in the rows from %d: %w", first, cause)}
	}
	return err
}

// upstream marks an error as one of a step whose rows a later one was reading.
func upstream(err error) error {
	var inner *located
	if errors.As(err, &inner) && inner == err {
		return &located{place: inner.place, err: inner.err, upstream: true}
	}
	return err
}
