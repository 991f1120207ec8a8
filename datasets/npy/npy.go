// Package npy reads numpy's arrays: a .npy file, which holds one, or a .npz file, which holds several by
// name; as a stream of blocks with [Options.Open], whatever their size, or into memory with [Options.ReadFile] or,
// from any io.Reader, [Options.Read].
//
// The first axis of an array is that of the rows. A .npy file with one axis is the column x0, with
// two axes the columns x0, x1, … In a .npz file each array with one axis is a column with the name
// of the array; the array X with two axes is the columns x0, x1, …, and any other, such as Z, the
// columns Z_0, Z_1, … Columns are in the order of the file, except that y or Y is last, the default
// position of the target. An array with another number of rows than X, or else than the first one,
// is unsupported; drop it with data.drop. The fields of a structured array are columns with their
// names.
//
// Numbers may be floats, signed and unsigned integers of up to 64 bits in either byte order, and
// Booleans; integers beyond 2^53 are rounded to the nearest float64, but keep their names as
// categories. NaN is a missing value. Strings (U, S) are categories, with the empty string and
// "NaN" as missing values; Roles.Dates splits dates and times (M8). Format versions 1 to 3 and both
// axis orders are supported; Fortran order requires a seekable file. Complex numbers, objects and
// other types are unsupported.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
package npy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// Options assign the columns to roles. With the zero value all columns are inputs.
type Options struct {
	datasets.Roles

	FS fs.FS // where the file is; nil is the machine's own file system
}

// Open returns the rows of the file at path as a source that reads the file again for every pass and stores
// a few blocks of rows. Without Options.Schema it reads the columns that are no plain numbers once, to
// learn their categories, and the target, weights and groups to check them.
//
// The rows of more files follow; they have the same columns, in any order if they have names.
func (o Options) Open(ctx context.Context, path string, more ...string) (datasets.Source, error) {
	return format.OpenFiles(ctx, o.FS, append([]string{path}, more...), o.Roles)
}

// ReadFile returns the rows of the file at path.
func (o Options) ReadFile(ctx context.Context, path string) (datasets.Set, error) {
	return format.ReadFile(ctx, o.FS, path, o.Roles)
}

// Read returns the rows of an array or an archive read from r, which is buffered in memory while it
// is decoded. Errors use the name of r if it has one, as an os.File has, else "input".
func (o Options) Read(ctx context.Context, r io.Reader) (datasets.Set, error) {
	return format.Read(ctx, r, o.Roles)
}

var format table.Format = open

// file is a table.Columnar.
type file struct {
	bytes   *steady.File
	path    string
	form    table.ColumnForm
	arrays  []member
	columns []column
}

// column is where the values of a column are: at an index of the second axis of an array, or in a field.
type column struct {
	array int
	field int
	at    int // of the second axis
}

func open(of *steady.File) (table.Columnar, error) {
	f := &file{bytes: of, path: of.Path()}
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := f.list(b); err != nil {
		return nil, err
	}
	f.form = table.ColumnForm{Name: f.path, Rows: f.rows()}
	for k := range f.arrays {
		f.describe(k)
	}
	return f, nil
}

func (f *file) ColumnForm() table.ColumnForm { return f.form }

// rows returns the number of rows: of X, or else of the first array.
func (f *file) rows() int {
	out := -1
	for _, m := range f.arrays {
		if m.why == "" && len(m.head.shape) > 0 && (out < 0 || m.name == "X") {
			out = m.head.shape[0]
		}
	}
	return max(out, 0)
}

// maxEmpty bounds the columns of an array without rows, for which the header may claim any number.
const maxEmpty = 1 << 20

// describe adds the columns of an array.
func (f *file) describe(k int) {
	m := &f.arrays[k]
	h := &m.head
	if m.why == "" && (len(h.shape) == 0 || len(h.shape) > 2) {
		m.why = fmt.Sprintf("array must have one or two axes, got %d", len(h.shape))
	}
	if m.why == "" && h.shape[0] != f.form.Rows {
		m.why = fmt.Sprintf("array must have %[2]d rows, got %[1]d", h.shape[0], f.form.Rows)
	}
	if m.why == "" && len(h.shape) == 2 && h.named() {
		m.why = "array must not have both fields and two axes"
	}
	if m.why == "" && h.item == 0 {
		m.why = "its elements have no bytes"
	}
	if m.why != "" {
		f.add(column{array: k}, table.TypedColumn{Name: cmp.Or(m.name, "x0"), TypeName: h.descr, Reason: m.why})
		return
	}
	width := 1
	if len(h.shape) == 2 {
		width = h.shape[1]
	}
	if f.form.Rows == 0 && width > maxEmpty {
		f.add(column{array: k}, table.TypedColumn{Name: cmp.Or(m.name, "x0"), TypeName: h.descr,
			Reason: fmt.Sprintf("the array has %d columns and no rows", width)})
		return
	}
	for i, field := range h.fields {
		for at := range width {
			c := table.TypedColumn{Name: m.name, Type: field.columnType(), TypeName: field.descr}
			if field.kind == 'O' {
				c.Reason = "it has objects of Python, which only Python reads; save it with a type of numbers or strings"
			}
			switch {
			case h.named():
				c.Name = field.name
				if m.name != "" && m.name != "X" {
					c.Name = m.name + "_" + field.name
				}
			case m.name == "" || m.name == "X" && len(h.shape) == 2:
				c.Name = fmt.Sprint("x", at)
			case len(h.shape) == 2:
				c.Name = fmt.Sprint(m.name, "_", at)
			}
			f.add(column{k, i, at}, c)
		}
	}
}

func (f *file) add(at column, c table.TypedColumn) {
	f.columns = append(f.columns, at)
	f.form.Columns = append(f.form.Columns, c)
}
