package table

import (
	"context"
	"io"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// splittable returns r as a Splittable, if possible.
func splittable(r Reader) (Splittable, bool) {
	switch r := r.(type) {
	case *multiFile:
		out := splitFiles{multiFile: r}
		for _, file := range r.readers {
			inner, ok := splittable(file)
			if !ok {
				return nil, false
			}
			out.files = append(out.files, inner)
		}
		return out, true
	}
	p, ok := r.(Splittable)
	return p, ok
}

// splitFiles reads the records of several files in parts.
type splitFiles struct {
	*multiFile
	files []Splittable
}

// fileParts is one pass over all files.
type fileParts struct {
	files   splitFiles
	ctx     context.Context
	file    int   // current or next file
	current Parts // parts of the current file
}

// filePart is a part of a file, or the lines of its header.
type filePart struct {
	of     *multiFile
	file   int
	from   int // lines before the file, once it is its turn
	header bool
	head   int  // lines of the header
	inner  Part // nil or unused in a header
	order  func(rec *Record) *Record
	as     int // file that the order is of, -1 for none
}

// Parts starts to read the first file; the header of each file is a separate part.
func (f splitFiles) Parts(ctx context.Context) (Parts, int, error) {
	return &fileParts{files: f, ctx: ctx}, 0, nil
}

func (f splitFiles) CheckUnchanged() error {
	for _, file := range f.files {
		if err := file.CheckUnchanged(); err != nil {
			return err
		}
	}
	return nil
}

func (p *fileParts) More() bool { return p.file < len(p.files.files) }

func (p *fileParts) Close() error {
	if p.current == nil {
		return nil
	}
	return p.current.Close()
}

func (p *fileParts) Next(used Part) (Part, error) {
	out, _ := used.(*filePart)
	if out == nil {
		out = &filePart{of: p.files.multiFile, as: -1}
	}
	for p.file < len(p.files.files) {
		out.file, out.from, out.header = p.file, 0, p.current == nil
		var err error
		if out.header {
			p.current, out.head, err = p.files.files[p.file].Parts(p.ctx)
			return out, err
		}
		if out.inner, err = p.current.Next(out.inner); err != io.EOF {
			return out, err
		}
		p.current.Close()
		p.current = nil
		p.file++
	}
	return out, io.EOF
}

func (p *filePart) SetLine(before int) {
	if p.header {
		p.of.before[p.file].Store(int64(before))
	}
	p.from = int(p.of.before[p.file].Load())
}

func (p *filePart) Independent() bool { return p.header || p.inner.Independent() }

func (p *filePart) Fraction() float64 {
	if p.header {
		return 0
	}
	return (float64(p.file) + p.inner.Fraction()) / float64(len(p.of.readers))
}

func (p *filePart) Records(ctx context.Context, before int, yield func(rec *Record) error) (lines int, err error) {
	if p.header {
		return p.head, ctxerr.Check(ctx)
	}
	if p.as != p.file {
		p.order, p.as = p.of.reorder(p.file), p.file
	}
	return p.inner.Records(ctx, before-p.from, func(rec *Record) error {
		line := p.from + rec.Line
		rec = p.order(rec)
		rec.Line = line
		return yield(rec)
	})
}
