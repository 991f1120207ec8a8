// Package arff reads Weka's attribute-relation files: as a stream of blocks with [Options.Open], whatever
// their size, or into memory with [Options.ReadFile] or, from any io.Reader, [Options.Read].
//
// Attributes are numeric (also real and integer) or nominal; a string attribute is dropped, or made
// categorical with Options.Kinds. A file of sparse rows becomes sparse blocks. "?" is a missing
// value; weights of rows in braces are read if the first row has one.
package arff

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Options assign the attributes to roles. With the zero value all columns are inputs.
type Options struct {
	datasets.Roles

	MaxRecord int   // bytes that a line may have; 0 is 16 MiB
	FS        fs.FS // where the file is; nil is the machine's own file system
}

// Open returns the rows of the file at path, optionally gzip-compressed, as a source that reads the
// file in every pass and stores one block of rows. Without Options.Schema it reads the file once to check it
// and to count its rows.
//
// The rows of more files follow. They have the same attributes, in any order; the categories of a nominal one
// are those of the first file, then the additional ones of the others.
func (o Options) Open(ctx context.Context, path string, more ...string) (datasets.Source, error) {
	return table.OpenAll(ctx, append([]string{path}, more...), func(path string) (table.Reader, error) {
		f, err := open(text.NewFile(o.FS, path), o)
		if err == nil && f.empty && len(more) > 0 {
			err = fmt.Errorf("%s: %w", path, rowsource.ErrNoRows)
		}
		return f, err
	}, o.Roles, 0)
}

// ReadFile returns the rows of the file at path, optionally gzip-compressed.
func (o Options) ReadFile(ctx context.Context, path string) (datasets.Set, error) {
	src, err := o.Open(ctx, path)
	return text.ReadAll(ctx, src, err)
}

// Read returns the rows of a text, optionally gzip-compressed. It stores the text until it has the
// rows, because it makes one pass for the schema and one for the rows. Errors name the text by the
// name of r, if it has one as an os.File has, else "input".
func (o Options) Read(ctx context.Context, r io.Reader) (datasets.Set, error) {
	return table.Read(ctx, r, func(held *text.File) (table.Reader, error) { return open(held, o) }, o.Roles, 0)
}

// file is a table.Reader.
type file struct {
	path   string
	text   *text.File
	o      Options
	form   table.Form
	empty  bool              // whether the file has no rows
	levels []map[string]bool // of the nominal attributes
}

func (f *file) Form() table.Form { return f.form }

// open reads the header and, to determine the format of the rows, the first row.
func open(t *text.File, o Options) (*file, error) {
	path := t.Path()
	f := &file{path: path, text: t, o: o, form: table.Form{Name: path}}
	h, err := f.header()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	f.form.Columns = h.columns
	f.levels = make([]map[string]bool, len(h.columns))
	for j, c := range h.columns {
		if c.Categories != nil {
			f.levels[j] = make(map[string]bool, len(c.Categories))
		}
		for _, level := range c.Categories {
			if f.levels[j][level] {
				return nil, &datasets.LineError{File: path, Line: c.Line,
					Err: fmt.Errorf("attribute %q lists level %q twice", c.Name, level)}
			}
			f.levels[j][level] = true
		}
	}
	if err := f.checkStrings(h.stringColumns); err != nil {
		return nil, err
	}
	line, err := h.next()
	if err == io.EOF {
		f.empty = true
		return f, nil
	} else if err != nil {
		return nil, h.lineError(err)
	}
	var r row
	if err := r.parse(line); err != nil {
		return nil, h.lineError(err)
	}
	f.form.Sparse, f.form.Weighted = r.sparse, r.weighted
	for _, j := range h.stringColumns {
		if r.sparse && !slices.Contains(o.Drop, h.columns[j].Name) {
			return nil, &datasets.LineError{File: path, Line: h.columns[j].Line,
				Err: fmt.Errorf("attribute %q is a string, which sparse rows do not go with; drop it", h.columns[j].Name)}
		}
	}
	return f, nil
}

// checkStrings reports string attributes without a role.
func (f *file) checkStrings(stringColumns []int) error {
	for _, j := range stringColumns {
		c := f.form.Columns[j]
		_, known := f.o.KindOf(c.Name)
		if !known && !slices.Contains(f.o.Drop, c.Name) && !slices.Contains(f.o.Target, c.Name) && f.o.Group != c.Name &&
			f.o.Schema == nil {
			return &datasets.LineError{File: f.path, Line: c.Line,
				Err: fmt.Errorf("attribute %q is a string; drop it, or write kinds: {%s: categorical}", c.Name, c.Name)}
		}
	}
	return nil
}

// pollRecords is the number of rows between checks of the context.
const pollRecords = 1024

func (f *file) Records(ctx context.Context, yield func(r *table.Record) error) error {
	h, err := f.header()
	if err != nil {
		return err
	}
	defer h.Close()
	var r row
	for n := 0; ; n++ {
		if n%pollRecords == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		line, err := h.next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return h.lineError(err)
		}
		if err := r.parse(line); err != nil {
			return h.lineError(err)
		}
		if err := f.check(&r); err != nil {
			return h.lineError(err)
		}
		r.Line = h.line
		if err := yield(&r.Record); err != nil {
			return err
		}
	}
}

// check validates a row against the header.
func (f *file) check(r *row) error {
	if r.sparse != f.form.Sparse {
		return fmt.Errorf("sparse and dense rows in one file")
	}
	if r.weighted && !f.form.Weighted {
		return fmt.Errorf("a weight here and none in the first row")
	}
	if !r.sparse && len(r.Fields) != len(f.levels) {
		return fmt.Errorf("number of values must be %[2]d, got %[1]d", len(r.Fields), len(f.levels))
	}
	for k, field := range r.Fields {
		j := k
		if r.sparse {
			j = r.Columns[k]
			if j >= len(f.levels) {
				return fmt.Errorf("attribute number %d of %d, which count from 0", j, len(f.levels))
			}
		}
		if levels := f.levels[j]; levels != nil && field != nil && !levels[string(field)] {
			return fmt.Errorf("column %s: %q is not a declared level", f.form.Columns[j].Name, field)
		}
	}
	return nil
}

// header is an open file, read up to the data.
type header struct {
	io.Closer
	path          string
	w             *text.Window
	line          int // of the line read last
	columns       []table.Column
	stringColumns []int // the string attributes
}

func (h *header) lineError(err error) error {
	out := &datasets.LineError{File: h.path, Line: h.line, Err: err}
	if bad, ok := err.(invalid); ok {
		out.Column = bad.column
	}
	return out
}

// invalid is a place in a line that is not UTF-8.
type invalid struct{ column int }

func (invalid) Error() string { return "this is not utf-8, in which ARFF files are read" }

// next returns the next line that is not empty or a comment.
func (h *header) next() ([]byte, error) {
	for {
		h.line++
		line, err := h.w.Line()
		if err != nil {
			return nil, err
		}
		if at := text.Invalid(line); at >= 0 {
			return nil, invalid{column: utf8.RuneCount(line[:at]) + 1}
		}
		if line = text.Trim(line); len(line) > 0 && line[0] != '%' {
			return line, nil
		}
	}
}

// header opens the file and reads up to the data.
func (f *file) header() (*header, error) {
	r, err := f.text.Open()
	if err != nil {
		return nil, err
	}
	h := &header{Closer: r, path: f.path, w: text.NewWindow(r, f.o.MaxRecord)}
	if err := h.read(); err != nil {
		r.Close()
		return nil, err
	}
	return h, nil
}

func (h *header) read() error {
	for {
		line, err := h.next()
		switch {
		case err == io.EOF && h.line == 1:
			return fmt.Errorf("%s: empty file", h.path)
		case err == io.EOF:
			return fmt.Errorf("%s: no @data", h.path)
		case err != nil:
			return h.lineError(err)
		}
		x := lexer{b: line}
		word, _, _ := x.token()
		switch strings.ToLower(string(word)) {
		case "@relation":
		case "@attribute":
			if err := h.attribute(&x); err != nil {
				return h.lineError(err)
			}
		case "@data":
			if len(h.columns) == 0 {
				return h.lineError(fmt.Errorf("@data before any @attribute"))
			}
			return nil
		default:
			return h.lineError(fmt.Errorf("must be @relation, @attribute or @data, got %q", word))
		}
	}
}

// attribute reads a name and a type.
func (h *header) attribute(x *lexer) error {
	name, _, err := x.token()
	if err != nil {
		return err
	}
	if len(name) == 0 {
		return fmt.Errorf("@attribute without a name")
	}
	c := table.Column{Name: string(name), Line: h.line, Declared: true}
	x.blanks()
	if x.at('{') {
		if c.Categories, err = x.categories(); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
		c.Kind = datasets.Categorical
		h.columns = append(h.columns, c)
		return nil
	}
	kind, _, err := x.token()
	if err != nil {
		return err
	}
	switch strings.ToLower(string(kind)) {
	case "numeric", "real", "integer":
	case "string":
		c.Declared = false
		h.stringColumns = append(h.stringColumns, len(h.columns))
	default:
		return fmt.Errorf("attribute %q: type must be numeric, real, integer, string or levels in braces, got %q", c.Name,
			kind)
	}
	h.columns = append(h.columns, c)
	return nil
}
