package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// ErrEmptyFile is the error of a file without a header.
var ErrEmptyFile error = emptyFile{}

type emptyFile struct{}

func (emptyFile) Error() string { return "empty file" }
func (emptyFile) Unwrap() error { return rowsource.ErrNoRows }

// OpenAll opens all paths and returns a reader of the concatenated records. Columns are matched by
// name, in the order of the first file. It skips files without rows unless all are empty, and
// returns the errors of all files.
func OpenAll(paths []string, open func(path string) (Reader, error)) (Reader, error) {
	readers, err := openNonEmpty(paths, open)
	if err != nil {
		return nil, err
	}
	if len(readers) == 1 {
		return readers[0], nil
	}
	return concatFiles(readers)
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

// multiFile reads the records of files with the same columns.
type multiFile struct {
	readers []Reader
	form    Form
	order   [][]int        // by file: indices of the columns of the form; nil if in the same order
	before  []atomic.Int64 // lines of all earlier files; MaxInt64 if unknown
}

// concatFiles is OpenAll for open files.
func concatFiles(readers []Reader) (*multiFile, error) {
	s := &multiFile{readers: readers, form: readers[0].Form(), order: make([][]int, len(readers)),
		before: make([]atomic.Int64, len(readers)+1)}
	s.form.Columns = slices.Clone(s.form.Columns)
	first := s.form.Name
	var wrong []error
	for k, r := range readers {
		wrong = append(wrong, s.match(k, r.Form(), first))
		s.before[k+1].Store(math.MaxInt64)
	}
	s.form.Name = fmt.Sprintf("%s and %d more", first, len(readers)-1)
	s.form.FileLine = s.fileLine
	return s, errors.Join(wrong...)
}

// match finds the columns of the form in file k.
func (s *multiFile) match(k int, form Form, first string) error {
	if err := (&layout{form: form, file: form.Name, columns: form.Columns,
		byName: map[string]int{}}).checkNames(); err != nil {
		return err
	}
	if form.Sparse != s.form.Sparse {
		return fmt.Errorf("%s: its rows are %s, but those of %s are not", form.Name,
			map[bool]string{true: "sparse", false: "dense"}[form.Sparse], first)
	}
	if form.Weighted != s.form.Weighted {
		return fmt.Errorf("%s: all or no files must have weights, but only %s has them", form.Name,
			map[bool]string{true: form.Name, false: first}[form.Weighted])
	}
	order := make([]int, len(s.form.Columns))
	var missing []string
	for j, c := range s.form.Columns {
		order[j] = slices.IndexFunc(form.Columns, func(o Column) bool { return o.Name == c.Name })
		if order[j] < 0 {
			missing = append(missing, strconv.Quote(c.Name))
		}
	}
	var extra []string
	for _, c := range form.Columns {
		if !slices.ContainsFunc(s.form.Columns, func(o Column) bool { return o.Name == c.Name }) {
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
	return s.mergeDeclared(form, order, first)
}

// mergeDeclared merges declarations of categories: those of the first file, followed by those that
// only later files declare.
func (s *multiFile) mergeDeclared(form Form, order []int, first string) error {
	for j, at := range order {
		c, other := &s.form.Columns[j], form.Columns[at]
		if c.Declared != other.Declared || c.Kind != other.Kind || (c.Categories == nil) != (other.Categories == nil) {
			return &datasets.LineError{File: form.Name, Line: other.Line,
				Err: fmt.Errorf("column %s must have the same kind as in %s", c.Name, first)}
		}
		if s.form.Sparse && len(c.Categories) > 0 && c.Categories[0] != other.Categories[0] {
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

func (s *multiFile) Form() Form { return s.form }

// fileLine returns the file of a line, and the line in that file.
func (s *multiFile) fileLine(line int) (file string, at int) {
	k, at := locate(s.before, line)
	return s.readers[k].Form().Name, at
}

// locate finds the file of a line, given the number of lines before each file.
func locate(before []atomic.Int64, line int) (file, at int) {
	for file+2 < len(before) && before[file+1].Load() < int64(line) {
		file++
	}
	return file, line - int(before[file].Load())
}

// Records continues the line numbers from file to file.
func (s *multiFile) Records(ctx context.Context, yield func(r *Record) error) error {
	for k, r := range s.readers {
		before, last := int(s.before[k].Load()), 0
		out := s.reorder(k)
		err := r.Records(ctx, func(rec *Record) error {
			if last = rec.Line; rec.Err == nil {
				rec = out(rec)
			}
			rec.Line = before + last
			return yield(rec)
		})
		if err != nil {
			return err
		}
		s.before[k+1].Store(int64(before + last))
	}
	return nil
}

// reorder returns a function that reorders the fields of a record of file k as in the form.
func (s *multiFile) reorder(k int) func(rec *Record) *Record {
	order := s.order[k]
	if order == nil {
		return func(rec *Record) *Record { return rec }
	}
	var out Record
	if !s.form.Sparse {
		out.Fields = make([][]byte, len(order))
		return func(rec *Record) *Record {
			for j, at := range order {
				out.Fields[j] = rec.Fields[at]
			}
			out.Weight = rec.Weight
			return &out
		}
	}
	return func(rec *Record) *Record {
		out.Fields, out.Columns, out.Weight = out.Fields[:0], out.Columns[:0], rec.Weight
		for j, at := range order {
			if i, found := slices.BinarySearch(rec.Columns, at); found {
				out.Fields, out.Columns = append(out.Fields, rec.Fields[i]), append(out.Columns, j)
			}
		}
		return &out
	}
}
