package pipeline

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Start returns the joint first pass of all parts. It returns an error for a part that does not
// learn by passes.
func (u Union) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	parts, specs, err := u.split()
	if err == nil {
		err = checkPasses("part", u.Parts)
	}
	if err != nil {
		return nil, err
	}
	return beginSums(ctx, u, schema, cols, &parallelSums{what: "part", specs: specs, parts: parts, in: schema, cols: cols})
}

// Finish returns the fitted step.
func (u Union) Finish(ctx context.Context, last datasets.Pass) (transformer.Transformer, error) {
	a, err := finishSums[*parallelSums](ctx, u, last)
	if err != nil {
		return nil, err
	}
	return unionOf(a), nil
}

// Start returns the joint first pass of all groups. It returns an error for a step that does not
// learn by passes.
func (c Columns) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	parts, specs, err := c.split(schema, cols)
	if err == nil {
		err = checkPasses("group", c.Children())
	}
	if err != nil {
		return nil, err
	}
	return beginSums(ctx, c, schema, cols, &parallelSums{what: "group", specs: specs, parts: parts, in: schema,
		cols: cols})
}

// Finish returns the fitted step.
func (c Columns) Finish(ctx context.Context, last datasets.Pass) (transformer.Transformer, error) {
	a, err := finishSums[*parallelSums](ctx, c, last)
	if err != nil {
		return nil, err
	}
	return columnsOf(a), nil
}

// parallelSums contains the passes of parallel parts, each until the part is fitted.
type parallelSums struct {
	what  string // "part" or "group"
	specs []transformer.Fitter
	parts []*part // names, columns and scales
	in    datasets.Schema
	cols  int

	fits   []transformer.Transformer // fitted parts, nil for the others
	passes []datasets.Pass           // passes of unfitted parts, nil for the others
	sample mat.Matrix                // first row, nil before the first block

	base    *rows.Block // source of the block being added
	sources []datasets.Source
	done    *concatenation
}

func (p *parallelSums) open(ctx context.Context) error {
	p.fits, p.passes = make([]transformer.Transformer, len(p.specs)), make([]datasets.Pass, len(p.specs))
	for i, spec := range p.specs {
		own := p.rows(i, &rows.Block{Columns: p.in, Width: p.cols})
		_, cols := own.Source().Dims()
		var err error
		if p.fits[i], p.passes[i], err = beginStep(ctx, spec, own.Source().Schema(), cols); err != nil {
			return place.At(p.what, p.parts[i].Name, err)
		}
	}
	return nil
}

// rows returns rows with the columns of part i.
func (p *parallelSums) rows(i int, src datasets.Source) rows.Rows {
	sample := p.sample
	if sample == nil {
		sample = pick.Blank(p.in, p.cols)
	}
	return rows.FromSample(src, sample).Columns(p.parts[i].index)
}

// Add adds the rows of a block to the pass of each unfitted part.
func (p *parallelSums) Add(ctx context.Context, first int, block datasets.Set) error {
	if err := checkBlock(block, p.cols, first); err != nil {
		return err
	}
	if p.done = nil; p.sample == nil {
		p.sample = firstRow(block)
	}
	if p.base == nil {
		p.base, p.sources = &rows.Block{Columns: p.in, Width: p.cols}, make([]datasets.Source, len(p.parts))
		for i := range p.parts {
			p.sources[i] = p.rows(i, p.base).Source()
		}
	}
	block.Schema = p.in
	p.base.Set = block
	defer func() { p.base.Set = datasets.Set{} }()
	for i, begun := range p.passes {
		if begun == nil {
			continue
		}
		err := p.sources[i].Blocks(ctx, func(own datasets.Set) error { return begun.Add(ctx, own) })
		if err != nil {
			return place.At(p.what, p.parts[i].Name, err)
		}
	}
	return ctxerr.Check(ctx)
}

// Merge adds the sums of another part of the rows.
func (p *parallelSums) Merge(ctx context.Context, other pass.Sums) error {
	o := other.(*parallelSums)
	if p.done = nil; p.sample == nil {
		p.sample = o.sample
	}
	if len(p.parts) != len(o.parts) {
		return place.Here(errOtherSteps)
	}
	for i, own := range p.parts {
		var err error
		switch {
		case !slices.Equal(own.index, o.parts[i].index) || (p.passes[i] == nil) != (o.passes[i] == nil):
			err = errOtherSteps
		case p.passes[i] != nil:
			err = p.passes[i].Merge(ctx, o.passes[i])
		default:
			err = sameFit(p.fits[i], o.fits[i])
		}
		if err != nil {
			return place.At(p.what, own.Name, err)
		}
	}
	return nil
}

// Next returns the joint next pass of all unfitted parts.
func (p *parallelSums) Next(ctx context.Context) (pass.Sums, error) {
	if p.done != nil {
		return nil, ctxerr.Check(ctx)
	}
	next := *p
	next.base, next.sources = nil, nil
	next.fits, next.passes = slices.Clone(p.fits), make([]datasets.Pass, len(p.passes))
	left := false
	for i, begun := range p.passes {
		if begun == nil {
			continue
		}
		var err error
		if next.passes[i], err = begun.Next(ctx); err == nil && next.passes[i] == nil {
			next.fits[i], err = finishStep(ctx, p.specs[i], begun)
		}
		if err != nil {
			return nil, place.At(p.what, p.parts[i].Name, err)
		}
		left = left || next.passes[i] != nil
	}
	if left {
		return &next, nil
	}
	return nil, p.complete(ctx, next.fits)
}

// complete concatenates the fitted parts.
func (p *parallelSums) complete(ctx context.Context, fits []transformer.Transformer) error {
	a := &concatenation{cols: p.cols}
	samples := make([]mat.Matrix, len(fits))
	for i, from := range p.parts {
		own := &part{Step: rows.Step{Name: from.Name, Fitted: fits[i]}, index: from.index, scale: from.scale}
		var err error
		if samples[i], err = own.Learn(ctx, p.rows(i, &rows.Block{Columns: p.in, Width: p.cols}).Sample()); err != nil {
			return place.At(p.what, own.Name, err)
		}
		a.parts = append(a.parts, own)
	}
	if a.OutputWidth() == 0 {
		return place.Here(errors.New("no columns come out"))
	}
	a.setFormat(samples)
	p.done = a
	return nil
}

// finish returns the result after the last pass.
func (p *parallelSums) finish(ctx context.Context) (*concatenation, error) {
	if p.done == nil {
		if _, err := p.Next(ctx); err != nil {
			return nil, err
		}
	}
	return &concatenation{cols: p.done.cols, parts: p.done.parts, sparse: p.done.sparse}, ctxerr.Check(ctx)
}

// State serializes the fitted parts and the passes of the others.
func (p *parallelSums) State(s *model.State) {
	stateOfRow(s.Child("sample"), &p.sample)
	if s.Err() != nil {
		return
	}
	s.Require(p.sample == nil || colsOf(p.sample) == p.cols, "the first row has other columns")
	if p.done = nil; s.Restoring() && s.Err() == nil {
		if err := p.open(context.Background()); err != nil {
			s.Fail("%v", err)
		}
	}
	for i, own := range p.parts {
		if s.Err() != nil {
			return
		}
		c := s.Child(own.Name)
		fitted := p.fits[i] != nil
		c.Bool("fitted", &fitted)
		switch {
		case c.Err() != nil:
		case !fitted && p.passes[i] == nil:
			c.Fail("it needs no rows, and is not fitted")
		case !fitted:
			p.passes[i].State(c.Child("now"))
		default:
			p.passes[i] = nil
			if partState(c, &p.fits[i]); c.Err() == nil && c.Restoring() {
				p.requireFit(c, i)
			}
		}
	}
}

// requireFit requires that a restored part accepts its columns.
func (p *parallelSums) requireFit(s *model.State, i int) {
	own := p.rows(i, &rows.Block{Columns: p.in, Width: p.cols})
	_, cols := own.Source().Dims()
	if in := datasets.TagsOf(p.fits[i]).InputWidth; in != 0 && in != cols {
		s.Fail("%d columns at fit, %d come to it", in, cols)
		return
	}
	if _, err := (&rows.Step{Fitted: p.fits[i]}).Learn(context.Background(), own.Sample()); err != nil {
		s.Fail("%v", err)
	}
}
