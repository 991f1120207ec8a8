// Package parquet reads files of Apache Parquet: as a stream of blocks with [Options.Open], whatever their size, or
// into memory with [Options.ReadFile] or, from any io.Reader, [Options.Read].
//
// Columns of the schema are top-level columns that are neither repeated nor nested: signed and
// unsigned integers, floats and decimals (values beyond 2^53 and decimals are rounded to the
// nearest float64, but keep their names as categories); Booleans; strings, with and without
// dictionary; dates and times, which Roles.Dates splits, those with a zone in UTC. Lists, maps,
// structs and times of day are unsupported; drop them with Roles.Drop. Null, NaN, the empty string
// and "NaN" are missing values. Pages may be compressed by snappy, zstd, gzip or lz4 (raw).
// Page checksums are not verified.
//
// Only used columns are read, page by page and concurrently, so memory does not grow with the rows
// or the row groups of a file. The number of rows is known without reading any.
//
// Format: https://parquet.apache.org/docs/file-format/
package parquet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/guard"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/internal/rows/formats"
)

func init() {
	formats.Register("parquet", format.OpenFiles)
}

// Options assign the columns to roles. With the zero value all columns are inputs.
type Options struct {
	datasets.Roles

	FS fs.FS // where the file is; nil is the machine's own file system
}

// Open returns the rows of the file at path as a source that reads the file in every pass and
// buffers a few pages of each column and a few blocks of rows. Without Options.Schema it makes one
// pass over the string columns to learn their categories, and over the target, weights and groups
// to check them. The file must be seekable.
//
// The rows of more files follow, such as those that Spark writes to a directory; they have the same
// columns, in any order.
func (o Options) Open(ctx context.Context, path string, more ...string) (datasets.Source, error) {
	return format.OpenFiles(ctx, o.FS, append([]string{path}, more...), o.Roles)
}

// ReadFile returns the rows of the file at path.
func (o Options) ReadFile(ctx context.Context, path string) (datasets.Set, error) {
	return format.ReadFile(ctx, o.FS, path, o.Roles)
}

// Read returns the rows of a file read from r, which is buffered in memory while it is decoded.
// Errors use the name of r if it has one, as an os.File has, else "input".
func (o Options) Read(ctx context.Context, r io.Reader) (datasets.Set, error) {
	return format.Read(ctx, r, o.Roles)
}

var format table.Format = open

// file is a table.Columnar.
type file struct {
	bytes  *steady.File
	path   string
	form   table.ColumnForm
	groups []rowGroup
	leaves []leaf
}

func open(of *steady.File) (table.Columnar, error) {
	f := &file{bytes: of, path: of.Path()}
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	defer b.Close()
	meta, err := readFooter(b)
	if err != nil {
		return nil, f.columnError(err)
	}
	f.form = table.ColumnForm{Name: f.path, Rows: meta.rows}
	if f.form.Columns, f.leaves, err = meta.columns(); err == nil {
		err = meta.check(f.leaves, b.Size)
	}
	if err != nil {
		return nil, f.columnError(err)
	}
	f.groups = meta.groups
	return f, nil
}

func (f *file) ColumnForm() table.ColumnForm { return f.form }

// columnError returns an error about the file.
func (f *file) columnError(err error) error {
	var at *datasets.LineError
	if errors.As(err, &at) {
		return err
	}
	if err == io.EOF {
		err = errors.New("the file is cut off")
	}
	return &datasets.LineError{File: f.path, Err: err}
}

// cursor is one pass over some columns.
type cursor struct {
	file    *file
	bytes   *steady.Bytes
	columns []*column
	group   int // current row group
	before  int // rows of it that are passed
	rows    int // of the current batch
	maxRows int // of a batch of the group
}

func (f *file) Read(_ context.Context, requests []table.ColumnRequest) (table.Cursor, error) {
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	c := &cursor{file: f, bytes: b}
	limit := &guard.MemoryLimit{}
	for _, w := range requests {
		c.columns = append(c.columns, &column{leaf: f.leaves[w.Column], as: w.As, in: b.At, limit: limit, group: -1})
	}
	return c, nil
}

func (c *cursor) Next(most int) (int, error) {
	c.before += c.rows
	groups := c.file.groups
	for c.group < len(groups) && c.before == groups[c.group].rows {
		c.group, c.before = c.group+1, 0
	}
	if c.group == len(groups) {
		return 0, cmp.Or(c.bytes.CheckUnchanged(), io.EOF)
	}
	c.rows = min(most, groups[c.group].rows-c.before)
	if c.before == 0 {
		c.maxRows = c.boundRows()
	}
	c.rows = min(c.rows, c.maxRows)
	return c.rows, nil
}

// maxBatchBytes bounds the values of a column that are decoded at once.
const maxBatchBytes = 16 << 20

// boundRows returns the number of rows of the group of which no column has more than about
// maxBatchBytes, at least 1.
func (c *cursor) boundRows() int {
	g, out := c.file.groups[c.group], math.MaxInt
	for _, col := range c.columns {
		out = min(out, maxBatchBytes/max(1, g.chunks[col.index].uncompressed/max(1, g.rows)))
	}
	return max(1, out)
}

func (c *cursor) Decode(k int, v *table.Values) (err error) {
	col := c.columns[k]
	defer func() {
		if err != nil {
			err = c.file.columnError(fmt.Errorf("row group %d: column %s: %w", c.group, col.name, err))
		}
	}()
	defer guard.Recover(&err)
	return col.decode(&c.file.groups[c.group].chunks[col.index], c.group, c.rows, v)
}

func (c *cursor) Close() error { return c.bytes.Close() }
