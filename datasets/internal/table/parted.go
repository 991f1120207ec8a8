package table

import (
	"context"
	"io"

	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// splittable returns r as a Splittable, if possible.
func parted(r Reader) (Parted, bool) {
	switch r := r.(type) {
	case *dated:
		inner, ok := parted(r.Reader)
		return changed{r, inner, r.changed}, ok
	case *labelled:
		inner, ok := parted(r.Reader)
		return changed{r, inner, func() change { return r.hand }}, ok
	case *several:
		out := inFiles{several: r}
		for _, file := range r.readers {
			inner, ok := parted(file)
			if !ok {
				return nil, false
			}
			out.files = append(out.files, inner)
		}
		return out, true
	}
	p, ok := r.(Parted)
	return p, ok
}

// recordMap passes a record, a replacement or nothing to yield.
type change = func(rec *Record, yield func(rec *Record) error) error

// mappedReader maps the records of a reader.
type changed struct {
	Reader
	inner  Parted
	change func() change // returns a map for one goroutine
}

// mappedParts is a pass in parts.
type changedParts struct {
	Parts
	change func() change
}

type changedPart struct {
	Part
	change change
}

func (c changed) Parts(ctx context.Context) (Parts, int, error) {
	ps, before, err := c.inner.Parts(ctx)
	return changedParts{ps, c.change}, before, err
}

func (c changed) Same() error { return c.inner.Same() }

func (c changedParts) Next(used Part) (Part, error) {
	out, _ := used.(*changedPart)
	if out == nil {
		out = &changedPart{change: c.change()}
	}
	var err error
	out.Part, err = c.Parts.Next(out.Part)
	return out, err
}

func (c *changedPart) Records(ctx context.Context, before int, yield func(rec *Record) error) (lines int, err error) {
	return c.Part.Records(ctx, before, func(rec *Record) error { return c.change(rec, yield) })
}

// splitFiles reads the records of several files in parts.
type inFiles struct {
	*several
	files []Parted
}

// fileParts is one pass over all files.
type fileParts struct {
	of   inFiles
	ctx  context.Context
	file int   // current or next file
	here Parts // parts of the current file
}

// filePart is a part of a file, or the lines of its header.
type filePart struct {
	of     *several
	file   int
	from   int // lines before the file, once it is its turn
	header bool
	head   int  // lines of the header
	inner  Part // nil or unused in a header
	order  func(rec *Record) *Record
	as     int // file that the order is of, -1 for none
}

// Parts begins to read the first file; the header of each is a part of its own.
func (f inFiles) Parts(ctx context.Context) (Parts, int, error) {
	return &fileParts{of: f, ctx: ctx}, 0, nil
}

func (f inFiles) Same() error {
	for _, file := range f.files {
		if err := file.Same(); err != nil {
			return err
		}
	}
	return nil
}

func (p *fileParts) More() bool { return p.file < len(p.of.files) }

func (p *fileParts) Close() error {
	if p.here == nil {
		return nil
	}
	return p.here.Close()
}

func (p *fileParts) Next(used Part) (Part, error) {
	out, _ := used.(*filePart)
	if out == nil {
		out = &filePart{of: p.of.several, as: -1}
	}
	for p.file < len(p.of.files) {
		out.file, out.from, out.header = p.file, 0, p.here == nil
		var err error
		if out.header {
			p.here, out.head, err = p.of.files[p.file].Parts(p.ctx)
			return out, err
		}
		if out.inner, err = p.here.Next(out.inner); err != io.EOF {
			return out, err
		}
		p.here.Close()
		p.here = nil
		p.file++
	}
	return out, io.EOF
}

func (p *filePart) Turn(before int) {
	if p.header {
		p.of.before[p.file].Store(int64(before))
	}
	p.from = int(p.of.before[p.file].Load())
}

func (p *filePart) Ahead() bool { return p.header || p.inner.Ahead() }

func (p *filePart) Share() float64 {
	if p.header {
		return 0
	}
	return (float64(p.file) + p.inner.Share()) / float64(len(p.of.readers))
}

func (p *filePart) Records(ctx context.Context, before int, yield func(rec *Record) error) (lines int, err error) {
	if p.header {
		return p.head, ctxerr.Check(ctx)
	}
	if p.as != p.file {
		p.order, p.as = p.of.inOrder(p.file), p.file
	}
	return p.inner.Records(ctx, before-p.from, func(rec *Record) error {
		line := p.from + rec.Line
		rec = p.order(rec)
		rec.Line = line
		return yield(rec)
	})
}
