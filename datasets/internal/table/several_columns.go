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
func SeveralColumns(paths []string, open func(path string) (Columnar, error)) (Columnar, error) {
	readers, err := openAll(paths, open)
	if err != nil {
		return nil, err
	}
	if len(readers) == 1 {
		return readers[0], nil
	}
	return columnsTogether(readers)
}

// multiFileColumns reads the columns of files with the same columns.
type severalColumns struct {
	readers []Columnar
	form    ColumnForm
	order   [][]int        // by file: indices of the columns of the form
	before  []atomic.Int64 // rows of all earlier files; MaxInt64 if unknown
}

// concatColumnFiles is OpenAllColumns for open files.
func columnsTogether(readers []Columnar) (*severalColumns, error) {
	s := &severalColumns{readers: readers, form: readers[0].ColumnForm(), order: make([][]int, len(readers)), before: make([]atomic.Int64, len(readers)+1)}
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
	s.form.Place = s.place
	return s, errors.Join(wrong...)
}

// match finds the columns of the form in file k, and their common types.
func (s *severalColumns) match(k int, form ColumnForm, first string) error {
	names := func(f ColumnForm) Form {
		out := Form{Name: f.Name}
		for _, c := range f.Columns {
			out.Columns = append(out.Columns, Column{Name: c.Name})
		}
		return out
	}
	same := several{form: names(s.form), order: make([][]int, 1)}
	if err := same.match(0, names(form), first); err != nil {
		return err
	}
	s.order[k] = same.order[0]
	for j := range s.form.Columns {
		c, other := &s.form.Columns[j], form.Columns[s.column(k, j)]
		switch is := func(a, b Type) bool { return c.Type == a && other.Type == b || c.Type == b && other.Type == a }; {
		case c.Type == other.Type || c.Type == Unreadable:
		case other.Type == Unreadable:
			c.Type, c.As, c.Why = other.Type, other.As, other.Why
		case is(Numbers, Truths):
			c.Type = Numbers
		case is(Texts, Numbers), is(Texts, Truths):
			c.Type = Texts
		default:
			return fmt.Errorf("%s: column %s is of type %s, in %s it is of type %s", form.Name, c.Name, other.As, first, c.As)
		}
	}
	return nil
}

// column returns the index in file k of column j of the form.
func (s *severalColumns) column(k, j int) int {
	if s.order[k] == nil {
		return j
	}
	return s.order[k][j]
}

func (s *severalColumns) ColumnForm() ColumnForm { return s.form }

// fileRow returns the file of a row, and the row in that file.
func (s *severalColumns) place(row int) (file string, at int) {
	k, at := placeIn(s.before, row)
	return s.readers[k].ColumnForm().Name, at
}

func (s *severalColumns) Read(ctx context.Context, wanted []Reading) (Cursor, error) {
	c := &severalCursor{of: s, ctx: ctx, wanted: wanted}
	return c, c.open()
}

// multiFileCursor reads the files in order.
type severalCursor struct {
	Cursor // of the current file
	of     *severalColumns
	ctx    context.Context
	wanted []Reading
	file   int
	rows   int // of the current file
}

func (c *severalCursor) open() (err error) {
	own := slices.Clone(c.wanted)
	for i := range own {
		own[i].Column = c.of.column(c.file, own[i].Column)
	}
	c.Cursor, err = c.of.readers[c.file].Read(c.ctx, own)
	return err
}

func (c *severalCursor) Next(maxRows int) (rows int, err error) {
	for {
		if rows, err = c.Cursor.Next(maxRows); err != io.EOF {
			c.rows += rows
			return rows, err
		}
		if c.of.before[c.file+1].Store(c.of.before[c.file].Load() + int64(c.rows)); c.file+1 == len(c.of.readers) {
			return 0, io.EOF
		}
		if err := c.Cursor.Close(); err != nil {
			return 0, err
		}
		c.file, c.rows = c.file+1, 0
		if err := c.open(); err != nil {
			c.Cursor = ended{}
			return 0, err
		}
	}
}

// closedCursor is a closed cursor.
type ended struct{}

func (ended) Next(int) (int, error)     { return 0, io.EOF }
func (ended) Decode(int, *Values) error { return io.EOF }
func (ended) Close() error              { return nil }
