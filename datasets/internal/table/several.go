package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// ErrEmptyFile is the error of a file without a header.
var ErrEmptyFile error = emptyFile{}

type emptyFile struct{}

func (emptyFile) Error() string { return "empty file" }
func (emptyFile) Unwrap() error { return rowsource.ErrNoRows }

// Read returns the rows of the text that r contains, as [OpenAll] does those of files.
func Read(ctx context.Context, r io.Reader, open func(held *text.File) (Reader, error), roles datasets.Roles,
	maxBytes int64) (datasets.Set, error) {
	return text.Read(ctx, r, func(held *text.File) (datasets.Source, error) {
		return OpenAll(ctx, []string{held.Path()}, func(string) (Reader, error) { return open(held) }, roles, maxBytes)
	})
}

// OpenAll opens text files, infers the schema of their records, unless the roles contain one, and returns the rows of
// all as a source. It stores the rows if they need at most maxBytes and one pass suffices to encode them. The source
// then does not read them again, and [datasets.ReadAll] does not copy them.
func OpenAll(ctx context.Context, paths []string, open func(path string) (Reader, error), roles datasets.Roles,
	maxBytes int64) (datasets.Source, error) {
	spare := newSpare()
	c, err := OpenAllColumns(paths, func(path string) (Columnar, error) {
		r, err := open(path)
		return textFile{r, roles.OnInvalid != nil, spare}, err
	})
	if err != nil {
		return nil, err
	}
	return openSource(ctx, c, roles, maxBytes)
}

// OpenAllColumns opens all paths and returns the concatenated rows. Columns are matched by name, in
// the order of the first file. A column with different types has the most general one: booleans,
// numbers, strings. It skips files without rows unless all are empty, and returns the errors of all
// files.
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

// openNonEmpty opens the files that have rows.
func openNonEmpty[R any](paths []string, open func(path string) (R, error)) (readers []R, err error) {
	var empty error
	var wrong []error
	for _, path := range paths {
		r, err := open(path)
		switch {
		case err == nil:
			readers = append(readers, r)
		case errors.Is(err, rowsource.ErrNoRows):
			empty = cmp.Or(empty, err)
		default:
			wrong = append(wrong, err)
		}
	}
	switch {
	case len(wrong) == 1:
		return nil, wrong[0]
	case wrong != nil:
		return nil, errors.Join(wrong...)
	case readers == nil:
		return nil, empty
	}
	return readers, nil
}

// multiFileColumns reads the columns of files with the same columns.
type multiFileColumns struct {
	readers []Columnar
	form    ColumnForm
	order   [][]int        // by file: indices of the columns of the form
	before  []atomic.Int64 // rows of all earlier files, or lines of text files; MaxInt64 if unknown
}

// concatColumnFiles is OpenAllColumns for open files.
func concatColumnFiles(readers []Columnar) (*multiFileColumns, error) {
	s := &multiFileColumns{readers: readers, form: readers[0].ColumnForm(), order: make([][]int, len(readers)),
		before: make([]atomic.Int64, len(readers)+1)}
	s.form.Columns = slices.Clone(s.form.Columns)
	s.form.Rows = 0
	first := s.form.Name
	s.form.Name = fmt.Sprintf("%s and %d more", first, len(readers)-1)
	s.form.FileRow = s.fileRow
	if s.form.Text != nil {
		own := *s.form.Text
		own.Name, own.Columns, own.FileLine = s.form.Name, slices.Clone(own.Columns), s.fileRow
		s.form.Text = &own
	}
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
	return s, errors.Join(wrong...)
}

// text returns the form of a text file, or one with the names of typed columns.
func (f ColumnForm) text() Form {
	if f.Text != nil {
		return *f.Text
	}
	out := Form{Name: f.Name}
	for _, c := range f.Columns {
		out.Columns = append(out.Columns, Column{Name: c.Name})
	}
	return out
}

// match finds the columns of the form in file k, and their common types.
func (s *multiFileColumns) match(k int, typed ColumnForm, first string) error {
	own, form := s.form.text(), typed.text()
	if err := (&layout{form: form, file: form.Name, columns: form.Columns,
		byName: map[string]int{}}).checkNames(); err != nil {
		return err
	}
	if form.Sparse != own.Sparse {
		return fmt.Errorf("%s: its rows are %s, but those of %s are not", form.Name,
			map[bool]string{true: "sparse", false: "dense"}[form.Sparse], first)
	}
	if form.Weighted != own.Weighted {
		return fmt.Errorf("%s: all or no files must have weights, but only %s has them", form.Name,
			map[bool]string{true: form.Name, false: first}[form.Weighted])
	}
	order := make([]int, len(own.Columns))
	var missing []string
	for j, c := range own.Columns {
		order[j] = slices.IndexFunc(form.Columns, func(o Column) bool { return o.Name == c.Name })
		if order[j] < 0 {
			missing = append(missing, strconv.Quote(c.Name))
		}
	}
	var extra []string
	for _, c := range form.Columns {
		if !slices.ContainsFunc(own.Columns, func(o Column) bool { return o.Name == c.Name }) {
			extra = append(extra, strconv.Quote(c.Name))
		}
	}
	switch {
	case missing != nil && extra != nil:
		return fmt.Errorf("%s: missing column %s, which %s has; column %s, which %s has not", form.Name, joinNames(missing),
			first, joinNames(extra), first)
	case missing != nil:
		return fmt.Errorf("%s: missing column %s, which %s has", form.Name, joinNames(missing), first)
	case extra != nil:
		return fmt.Errorf("%s: column %s, which %s has not", form.Name, joinNames(extra), first)
	}
	if !slices.IsSorted(order) {
		s.order[k] = order
	}
	if s.form.Text != nil {
		return s.mergeDeclared(form, order, first)
	}
	for j := range s.form.Columns {
		c, other := &s.form.Columns[j], typed.Columns[order[j]]
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

// mergeDeclared merges declarations of categories: those of the first file, followed by those that
// only later files declare.
func (s *multiFileColumns) mergeDeclared(form Form, order []int, first string) error {
	for j, at := range order {
		c, other := &s.form.Text.Columns[j], form.Columns[at]
		if c.Declared != other.Declared || c.Kind != other.Kind || (c.Categories == nil) != (other.Categories == nil) {
			return &datasets.LineError{File: form.Name, Line: other.Line,
				Err: fmt.Errorf("column %s must have the same kind as in %s", c.Name, first)}
		}
		if s.form.Text.Sparse && len(c.Categories) > 0 && c.Categories[0] != other.Categories[0] {
			return &datasets.LineError{File: form.Name, Line: other.Line,
				Err: fmt.Errorf("column %s: sparse rows omit category %q, the first in the file, which is not the first in %s",
					c.Name, other.Categories[0], first)}
		}
		for _, name := range other.Categories {
			if !slices.Contains(c.Categories, name) {
				c.Categories = append(slices.Clip(c.Categories), name)
			}
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

// fileRow returns the file of a row or line, and the row or line in that file.
func (s *multiFileColumns) fileRow(row int) (file string, at int) {
	k, at := locate(s.before, row)
	return s.readers[k].ColumnForm().Name, at
}

// locate finds the file of a line, given the number of lines before each file.
func locate(before []atomic.Int64, line int) (file, at int) {
	for file+2 < len(before) && before[file+1].Load() < int64(line) {
		file++
	}
	return file, line - int(before[file].Load())
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
	last     int // current row of the file, or line of a text file
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
			if c.last += rows; err == nil {
				if t, ok := c.Cursor.(*textCursor); ok {
					c.last = t.line(rows - 1)
				}
			}
			return rows, err
		}
		if c.files.before[c.file+1].Store(c.files.before[c.file].Load() + int64(c.last)); c.file+1 == len(c.files.readers) {
			return 0, io.EOF
		}
		if err := c.Cursor.Close(); err != nil {
			return 0, err
		}
		c.file, c.last = c.file+1, 0
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
