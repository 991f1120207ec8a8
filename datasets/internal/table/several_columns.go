package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
)

// OpenAllColumns opens all paths and returns the concatenated rows. Columns are matched by name, in
// the order of the first file. A column with different types has the most general one: booleans,
// numbers, strings. It returns the errors of all files.
func OpenAllColumns(paths []string, open func(path string) (Columnar, error)) (Columnar, error) {
	readers, err := openNonEmpty(paths, open)
	if err != nil {
		return nil, err
	}
	if len(readers) == 1 {
		return readers[0], nil
	}
	return concatColumnFiles(readers)
}

// multiFileColumns reads the columns of files with the same columns.
type multiFileColumns struct {
	readers []Columnar
	form    ColumnForm
	order   [][]int        // by file: indices of the columns of the form
	before  []atomic.Int64 // rows of all earlier files; MaxInt64 if unknown
}

// concatColumnFiles is OpenAllColumns for open files.
func concatColumnFiles(readers []Columnar) (*multiFileColumns, error) {
	s := &multiFileColumns{readers: readers, form: readers[0].ColumnForm(), order: make([][]int, len(readers)),
		before: make([]atomic.Int64, len(readers)+1)}
	s.form.Columns = slices.Clone(s.form.Columns)
	s.form.Rows = 0
	first := s.form.Name
	var wrong []error
	for k, r := range readers {
		form := r.ColumnForm()
		wrong = append(wrong, s.match(k, form, first))
		if s.before[k+1].Store(math.MaxInt64); form.Rows < 0 || s.form.Rows < 0 {
			s.form.Rows = -1
		} else {
			s.form.Rows += form.Rows
			s.before[k+1].Store(int64(s.form.Rows))
		}
	}
	s.form.Name = fmt.Sprintf("%s and %d more", first, len(readers)-1)
	s.form.FileRow = s.fileRow
	return s, errors.Join(wrong...)
}

// match finds the columns of the form in file k, and their common types.
func (s *multiFileColumns) match(k int, form ColumnForm, first string) error {
	names := func(f ColumnForm) Form {
		out := Form{Name: f.Name}
		for _, c := range f.Columns {
			out.Columns = append(out.Columns, Column{Name: c.Name})
		}
		return out
	}
	same := multiFile{form: names(s.form), order: make([][]int, 1)}
	if err := same.match(0, names(form), first); err != nil {
		return err
	}
	s.order[k] = same.order[0]
	for j := range s.form.Columns {
		c, other := &s.form.Columns[j], form.Columns[s.column(k, j)]
		switch is := func(a, b Type) bool { return c.Type == a && other.Type == b || c.Type == b && other.Type == a }; {
		case c.Type == other.Type || c.Type == Unsupported:
		case other.Type == Unsupported:
			c.Type, c.TypeName, c.Reason = other.Type, other.TypeName, other.Reason
		case is(Numbers, Booleans):
			c.Type = Numbers
		case is(Strings, Numbers), is(Strings, Booleans):
			c.Type = Strings
		default:
			return fmt.Errorf("%s: column %s is of type %s, in %s it is of type %s", form.Name, c.Name, other.TypeName, first,
				c.TypeName)
		}
	}
	return nil
}

// column returns the index in file k of column j of the form.
func (s *multiFileColumns) column(k, j int) int {
	if s.order[k] == nil {
		return j
	}
	return s.order[k][j]
}

func (s *multiFileColumns) ColumnForm() ColumnForm { return s.form }

// fileRow returns the file of a row, and the row in that file.
func (s *multiFileColumns) fileRow(row int) (file string, at int) {
	k, at := locate(s.before, row)
	return s.readers[k].ColumnForm().Name, at
}

func (s *multiFileColumns) Read(ctx context.Context, requests []ColumnRequest) (Cursor, error) {
	c := &multiFileCursor{files: s, ctx: ctx, requests: requests}
	return c, c.open()
}

// multiFileCursor reads the files in order.
type multiFileCursor struct {
	Cursor   // of the current file
	files    *multiFileColumns
	ctx      context.Context
	requests []ColumnRequest
	file     int
	rows     int // of the current file
}

func (c *multiFileCursor) open() (err error) {
	own := slices.Clone(c.requests)
	for i := range own {
		own[i].Column = c.files.column(c.file, own[i].Column)
	}
	c.Cursor, err = c.files.readers[c.file].Read(c.ctx, own)
	return err
}

func (c *multiFileCursor) Next(maxRows int) (rows int, err error) {
	for {
		if rows, err = c.Cursor.Next(maxRows); err != io.EOF {
			c.rows += rows
			return rows, err
		}
		if c.files.before[c.file+1].Store(c.files.before[c.file].Load() + int64(c.rows)); c.file+1 == len(c.files.readers) {
			return 0, io.EOF
		}
		if err := c.Cursor.Close(); err != nil {
			return 0, err
		}
		c.file, c.rows = c.file+1, 0
		if err := c.open(); err != nil {
			c.Cursor = closedCursor{}
			return 0, err
		}
	}
}

// closedCursor is a closed cursor.
type closedCursor struct{}

func (closedCursor) Next(int) (int, error)     { return 0, io.EOF }
func (closedCursor) Decode(int, *Values) error { return io.EOF }
func (closedCursor) Close() error              { return nil }
