// Package arrow reads Apache Arrow's formats for files and for streams between programs (IPC, Feather): as a
// stream of blocks with [Options.Open], whatever their size, or into memory with [Options.ReadFile] or, from any
// io.Reader, [Options.Read]. [Options.OpenRecords] and [Options.ReadRecords] take record batches that a program
// has in memory.
//
// Columns of the schema correspond to columns of rows: signed and unsigned integers, floats and
// decimals (values beyond 2^53 and decimals are rounded to the nearest float64, but keep their
// names as categories); Booleans; strings, with and without dictionary; dates and times, which
// Roles.Dates splits, those with a zone in UTC. A fixed-size list v of numbers is the columns v_0,
// v_1, … Other lists, maps, structs, unions, durations and times of day are unsupported; drop them
// with Roles.Drop. Null, NaN, the empty string and "NaN" are missing values. Batches may be
// compressed by lz4 or zstd.
//
// One record batch is in memory at a time. The number of rows of a file is known without reading
// any, that of a stream after reading all.
//
// Format: https://arrow.apache.org/docs/format/Columnar.html
package arrow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/guard"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/internal/rows/formats"
)

func init() {
	formats.Register("arrow", format.OpenFiles)
}

// Options assign the columns to roles. With the zero value all columns are inputs.
type Options struct {
	datasets.Roles

	FS fs.FS // where the file is; nil is the machine's own file system
}

// Open returns the rows of the file at path, in file or stream format, as a source that reads the
// file in every pass. Without Options.Schema it makes one pass over the string columns to learn
// their categories, and over the target, weights and groups to check them.
//
// The rows of more files follow; they have the same columns, in any order.
func (o Options) Open(ctx context.Context, path string, more ...string) (datasets.Source, error) {
	return format.OpenFiles(ctx, o.FS, append([]string{path}, more...), o.Roles)
}

// ReadFile returns the rows of the file at path.
func (o Options) ReadFile(ctx context.Context, path string) (datasets.Set, error) {
	return format.ReadFile(ctx, o.FS, path, o.Roles)
}

// Read returns the rows of a file or a stream read from r, which is buffered in memory while it is
// decoded. Errors use the name of r if it has one, as an os.File has, else "input".
func (o Options) Read(ctx context.Context, r io.Reader) (datasets.Set, error) {
	return format.Read(ctx, r, o.Roles)
}

var format table.Format = open

// file is a table.Columnar of batches of records.
type file struct {
	path   string
	form   table.ColumnForm
	places []columnPath
	open   func() (batchReader, error) // returns a reader positioned at the first batch
}

// batchReader reads batches sequentially and returns io.EOF after the last. A batch is valid until
// the next call of Read.
type batchReader interface {
	Read() (arrow.RecordBatch, error)
	Close() error
}

func newFile(path string, schema *arrow.Schema, open func() (batchReader, error)) *file {
	f := &file{path: path, form: table.ColumnForm{Name: path, Rows: -1}, open: open}
	f.form.Columns, f.places = columnsOf(schema)
	return f
}

func open(of *steady.File) (table.Columnar, error) {
	b, err := openIPC(of)
	if err != nil {
		return nil, fileError(of.Path(), err)
	}
	defer b.Close()
	f := newFile(of.Path(), b.schema, func() (batchReader, error) { return openIPC(of) })
	f.form.Rows = int(b.rows)
	return f, nil
}

func (f *file) ColumnForm() table.ColumnForm { return f.form }

// fileError returns an error about the file at path.
func fileError(path string, err error) error {
	var at *datasets.LineError
	var of *fs.PathError
	if err == nil || errors.As(err, &at) || errors.As(err, &of) {
		return err
	}
	return &datasets.LineError{File: path, Err: err}
}

// cursor is one pass over some columns.
type cursor struct {
	file     *file
	batches  batchReader
	decoders []*decoder
	batch    arrow.RecordBatch
	number   int // index of the current batch
	from     int // rows of it that are passed
	rows     int // of the current batch
}

func (f *file) Read(_ context.Context, requests []table.ColumnRequest) (table.Cursor, error) {
	b, err := f.open()
	if err != nil {
		return nil, fileError(f.path, err)
	}
	c := &cursor{file: f, batches: b, number: -1}
	for _, w := range requests {
		c.decoders = append(c.decoders, &decoder{columnPath: f.places[w.Column], As: w.As,
			Name: f.form.Columns[w.Column].Name})
	}
	return c, nil
}

func (c *cursor) Close() error { return c.batches.Close() }

func (c *cursor) batchError(batch int, err error) error {
	return fileError(c.file.path, fmt.Errorf("batch %d: %w", batch, err))
}

func (c *cursor) Next(most int) (int, error) {
	c.from += c.rows
	for c.rows = 0; c.batch == nil || c.from == int(c.batch.NumRows()); {
		b, err := c.batches.Read()
		if err == io.EOF {
			return 0, io.EOF
		} else if err != nil {
			return 0, c.batchError(c.number+1, err)
		}
		c.batch, c.from = b, 0
		c.number++
	}
	c.rows = min(most, int(c.batch.NumRows())-c.from)
	return c.rows, nil
}

func (c *cursor) Decode(k int, v *table.Values) (err error) {
	d := c.decoders[k]
	defer func() {
		if err != nil {
			err = c.batchError(c.number, fmt.Errorf("column %s: %w", d.Name, err))
		}
	}()
	defer guard.Recover(&err)
	rows := array.NewSlice(c.batch.Column(d.Column), int64(c.from), int64(c.from+c.rows))
	defer rows.Release()
	return d.Decode(rows, v)
}
