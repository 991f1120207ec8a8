// Package parquet reads files of Apache Parquet: as a stream of blocks with [Open], whatever their size, or
// into memory with [ReadFile] or, from any
// io.Reader, [Read].
//
// A column of rows is a column at the top of the schema that is neither repeated nor made of others: numbers
// of any size, with a sign or without, and decimals, whole numbers beyond 2^53 and decimals rounded to the
// nearest float64 as in a file of text, but not in their names where they are categories; truths; texts,
// with a dictionary or without; dates and times, which Roles.Dates takes apart, those with a zone by their
// time in UTC. Lists, maps, structures and times of day are no columns; Roles.Drop leaves them out. A null, NaN,
// an empty text and "NaN" are missing values. Pages may be packed by snappy, zstd, gzip or lz4 (raw), and
// have any encoding but the one of bits that is no more in use.
//
// Only the columns in use are read, page by page and several at once, so that memory does not grow with the
// rows or the row groups of a file. The number of rows is known without reading any.
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
	"sync/atomic"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// Options say what the columns are for. The zero value makes all of them inputs.
type Options struct {
	datasets.Roles

	FS fs.FS // where the file is; nil is the machine's own file system
}

// Open returns the rows of the file at path as a source that reads the file anew for every pass and holds
// a few pages of each column and a few blocks of rows. Without Options.Schema it reads the columns of texts
// once, to learn their categories, and the target, weights and groups to check them. The file is one that can be
// read at any place.
func Open(ctx context.Context, path string, o Options) (datasets.Source, error) {
	f, err := open(steady.New(o.FS, path))
	if err != nil {
		return nil, err
	}
	return table.OpenColumns(ctx, f, o.Roles)
}

// OpenFiles returns the rows of several files, one after the other, as [Open] returns those of one file that has
// them all, as Spark and others write them into a folder. The files have the same columns, in any order. [datasets.Files]
// lists the files of a folder or a pattern.
func OpenFiles(ctx context.Context, paths []string, o Options) (datasets.Source, error) {
	f, err := table.SeveralColumns(paths, func(path string) (table.Columnar, error) { return open(steady.New(o.FS, path)) })
	if err != nil {
		return nil, err
	}
	return table.OpenColumns(ctx, f, o.Roles)
}

// ReadFile returns the rows of the file at path.
func ReadFile(ctx context.Context, path string, o Options) (datasets.Set, error) {
	src, err := Open(ctx, path, o)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Gather(ctx, src)
}

// Read returns the rows of a file that comes from r, all of which it holds until it has the rows. Errors
// call it by the name of r, where that has one as an os.File has, else "input".
func Read(ctx context.Context, r io.Reader, o Options) (datasets.Set, error) {
	held, err := steady.Hold(ctx, r)
	if err != nil {
		return datasets.Set{}, err
	}
	f, err := open(held)
	if err != nil {
		return datasets.Set{}, err
	}
	src, err := table.OpenColumns(ctx, f, o.Roles)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Gather(ctx, src)
}

// file is a table.Columnar.
type file struct {
	bytes  *steady.File
	path   string
	form   table.ColumnForm
	groups []group
	leaves []leaf
}

func open(of *steady.File) (*file, error) {
	f := &file{bytes: of, path: of.Path()}
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	defer b.Close()
	foot, err := readFooter(b)
	if err != nil {
		return nil, f.fault(err)
	}
	f.groups = foot.groups
	f.form = table.ColumnForm{Name: f.path, Rows: int(foot.rows)}
	if f.form.Columns, f.leaves, err = foot.columns(); err != nil {
		return nil, f.fault(err)
	}
	return f, nil
}

func (f *file) ColumnForm() table.ColumnForm { return f.form }

// fault returns an error about the file.
func (f *file) fault(err error) error {
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
	group   int // the one at hand
	before  int // rows of it that are passed
	rows    int // at hand
}

func (f *file) Read(_ context.Context, wanted []table.Reading) (table.Cursor, error) {
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	c := &cursor{file: f, bytes: b}
	held := new(atomic.Int64)
	for _, w := range wanted {
		c.columns = append(c.columns, &column{at: b.At, groups: f.groups, leaf: f.leaves[w.Column], as: w.As, entries: -1, pages: pages{held: held}})
	}
	return c, nil
}

func (c *cursor) Next(most int) (int, error) {
	c.before += c.rows
	for c.group < len(c.file.groups) && c.before == c.file.groups[c.group].rows {
		c.group, c.before = c.group+1, 0
	}
	if c.group == len(c.file.groups) {
		return 0, cmp.Or(c.bytes.Same(), io.EOF)
	}
	c.rows = min(most, c.file.groups[c.group].rows-c.before)
	return c.rows, nil
}

func (c *cursor) Decode(k int, v *table.Values) error {
	col := c.columns[k]
	err := col.decode(c.rows, v)
	if err == nil {
		return nil
	}
	return c.file.fault(fmt.Errorf("row group %d: column %s: %w", c.group, col.leaf.name, err))
}

func (c *cursor) Close() error { return c.bytes.Close() }
