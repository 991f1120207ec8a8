// Package jsonl reads JSON lines, one object on each line: as a stream of blocks with [Options.Open], whatever their
// size, or into memory with [Options.ReadFile] or, from any io.Reader, [Options.Read].
//
// The keys of the objects are the columns, in the order of their first occurrence; an object
// without a key has a missing value, as have null, NaN, the empty string and the strings in
// Options.Missing. A column of numbers is numeric, one of strings is categorical: "01234" is not a
// number. A column of Booleans has the numbers 0 and 1, and as a target the classes false and true.
// In a column of numbers and strings all values are strings, as in a CSV file. Numbers are parsed
// as by strconv, to the last bit.
//
// A first pass collects the keys and the kinds of their values, a second one the categories; with a
// schema neither is needed. Nested objects, arrays and duplicate keys are errors with their line and
// key. Blank lines are skipped.
//
// Format: https://jsonlines.org
package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Options assign the columns to roles. With the zero value all columns are inputs.
type Options struct {
	datasets.Roles

	// strings that denote a missing value, in addition to the empty one; nil means those of Schema,
	// else "NaN" and "nan"
	Missing   []string
	MaxRecord int   // maximum bytes of a line; 0 is 16 MiB
	FS        fs.FS // file system; nil means that of the host
}

// Open returns the rows of the file at path, optionally gzip-compressed, as a source that reads the
// file in every pass and stores one block of rows. Without Options.Schema it reads the file twice,
// for its columns and to learn the schema. The rows of more files follow; the columns are the keys of all files.
func (o Options) Open(ctx context.Context, path string, more ...string) (datasets.Source, error) {
	var files []*text.File
	for _, path := range append([]string{path}, more...) {
		files = append(files, text.NewFile(o.FS, path))
	}
	return open(ctx, files, o)
}

// ReadFile returns the rows of the file at path, optionally gzip-compressed.
func (o Options) ReadFile(ctx context.Context, path string) (datasets.Set, error) {
	src, err := o.Open(ctx, path)
	return text.ReadAll(ctx, src, err)
}

// Read returns the rows of a text, optionally gzip-compressed. It stores the text until it has the
// rows, because it makes passes for the columns and the schema before the one for the rows. Errors
// name the text by the name of r, if it has one as an os.File has, else "input".
func (o Options) Read(ctx context.Context, r io.Reader) (datasets.Set, error) {
	return text.Read(ctx, r, func(held *text.File) (datasets.Source, error) {
		return open(ctx, []*text.File{held}, o)
	})
}

func open(ctx context.Context, inputs []*text.File, o Options) (datasets.Source, error) {
	if o.MaxRecord < 0 {
		return nil, fmt.Errorf("%s: a bound on records is not negative", inputs[0].Path())
	}
	var files []*file
	for _, t := range inputs {
		files = append(files, &file{path: t.Path(), text: t, o: &o})
	}
	columns, err := columnsOf(ctx, files, &o)
	if err != nil {
		return nil, err
	}
	k := 0
	return table.OpenAll(ctx, make([]string, len(files)), func(string) (table.Reader, error) {
		f := files[k]
		f.columns = columns
		k++
		return f, nil
	}, o.Roles, 0)
}

// file is a table.Reader.
type file struct {
	path    string
	text    *text.File
	o       *Options
	columns *columns
}

func (f *file) Form() table.Form {
	return table.Form{Name: f.path, Columns: f.columns.form, Notation: text.Notation{Decimal: '.'}, Missing: f.o.Missing}
}

// pollRecords is the number of lines between checks of the context.
const pollRecords = 1024

func (f *file) Records(ctx context.Context, yield func(r *table.Record) error) error {
	r := record{scanner: newScanner(), of: f.columns, path: f.path, seen: make([]int, len(f.columns.form))}
	r.Fields = make([][]byte, len(f.columns.form))
	return f.lines(ctx, func(line int, b []byte) error {
		r.Line = line
		if err := r.read(b); err != nil {
			if f.o.OnInvalid == nil {
				return err
			}
			return yield(&table.Record{Line: line, Err: f.lineError(line, err)})
		}
		return yield(&r.Record)
	})
}

// lines calls yield for every line that is not blank.
func (f *file) lines(ctx context.Context, yield func(line int, b []byte) error) error {
	in, err := f.text.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	w := text.NewWindow(in, f.o.MaxRecord)
	for line := 1; ; line++ {
		if line%pollRecords == 1 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		b, err := w.Line()
		if err == io.EOF {
			return nil
		} else if err == nil && !blank(b) {
			err = yield(line, b)
		}
		if err != nil {
			return f.lineError(line, err)
		}
	}
}

// lineError adds a line to an error without a position of this package.
func (f *file) lineError(line int, err error) error {
	switch e := err.(type) {
	case syntaxError:
		return &datasets.LineError{File: f.path, Line: line, Column: e.letter, Err: e}
	case valueError:
		return &datasets.LineError{File: f.path, Line: line, Err: e.error}
	}
	if errors.Is(err, text.ErrTooLong) {
		return &datasets.LineError{File: f.path, Line: line, Err: err}
	}
	return err
}

// valueError is an error in a line.
type valueError struct{ error }

// blank reports whether a line is blank.
func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
