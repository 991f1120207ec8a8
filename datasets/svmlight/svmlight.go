// Package svmlight reads and writes the sparse text format of SVMlight and LIBSVM: as a stream of
// blocks with [Options.Open], whatever the file's size, or into memory with [Options.ReadFile] or, from any
// io.Reader, [Options.Read].
//
//	label [qid:group] column:value … [# comment]
//
// Columns ascend; those left out are zero. They count from 1 unless Options.ZeroBased is set.
package svmlight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/matrices"
)

// Options describe the format of a file and its labels. The zero value reads columns numbered from
// 1 and numeric targets.
type Options struct {
	Width     int              // number of columns; 0 means that of the file, or of Schema
	ZeroBased bool             // whether columns count from 0
	Task      datasets.Task    // Classification treats labels as classes
	Positive  []string         // labels that are class 1; all others are class 0, see datasets.Roles
	Schema    *datasets.Schema // schema of the training rows, whose classes the labels are
	Unlabeled bool             // whether labels that are not one of those classes become NaN
	MaxRecord int              // maximum bytes of a line; 0 is 16 MiB
	FS        fs.FS            // file system; nil means that of the host
}

// target is the name of the label in a schema.
const target = "label"

// Open returns the rows of the file at path, optionally gzip-compressed, as a source that reads the
// file in every pass and stores one block of rows. Without Options.Schema it reads the file once to check it,
// to count rows and columns and to learn the classes. The rows of more files follow; an empty file has no rows.
func (o Options) Open(ctx context.Context, path string, more ...string) (datasets.Source, error) {
	var files []*text.File
	for _, path := range append([]string{path}, more...) {
		files = append(files, text.NewFile(o.FS, path))
	}
	return open(ctx, files, o)
}

func open(ctx context.Context, files []*text.File, o Options) (datasets.Source, error) {
	path := files[0].Path()
	if n := len(files) - 1; n > 0 {
		path = fmt.Sprintf("%s and %d more", path, n)
	}
	s := &source{path: path, files: files, o: o, cols: o.Width}
	if s.cols == 0 && o.Schema != nil {
		s.cols = len(o.Schema.Columns)
	}
	switch {
	case o.Width < 0 || o.MaxRecord < 0:
		return nil, fmt.Errorf("%s: a width and a bound on records are not negative", path)
	case o.Task == datasets.MultiLabel:
		return nil, fmt.Errorf("%s: rows of the svmlight format must have one label, got the task multilabel; use CSV", path)
	case len(o.Positive) > 0 && o.Task == datasets.Regression:
		return nil, fmt.Errorf("%s: positive: makes classes of the label, and the task is regression", path)
	case o.Schema != nil && s.cols == 0:
		return nil, fmt.Errorf("%s: the schema names no columns; give the width", path)
	}
	if o.Schema != nil {
		s.schema, s.rows = *o.Schema, -1
		if err := s.code(s.schema.Classes()); err != nil {
			return nil, err
		}
		return s, nil
	}
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadFile returns the rows of the file at path, optionally gzip-compressed.
func (o Options) ReadFile(ctx context.Context, path string) (datasets.Set, error) {
	src, err := o.Open(ctx, path)
	return text.ReadAll(ctx, src, err)
}

// Read returns the rows of a text, optionally gzip-compressed. It stores the text until it has the
// rows, because it makes one pass for the width and classes and one for the rows. Errors name the
// text by the name of r, if it has one as an os.File has, else "input".
func (o Options) Read(ctx context.Context, r io.Reader) (datasets.Set, error) {
	return text.Read(ctx, r, func(held *text.File) (datasets.Source, error) {
		return open(ctx, []*text.File{held}, o)
	})
}

// source is the rows of a file, or of several.
type source struct {
	path       string // of the files
	files      []*text.File
	o          Options
	rows, cols int // rows is −1 if unknown
	schema     datasets.Schema
	codes      map[float64]float64 // class of each label; nil for numbers
	other      float64             // class of the labels that codes has not
}

func (s *source) Schema() datasets.Schema { return s.schema }

func (s *source) Dims() (rows, cols int) { return s.rows, s.cols }

// bytesPerColumn is the minimum memory of a column in a model.
const bytesPerColumn = 64

// maxClasses bounds the classes, and so the memory that learning takes.
const maxClasses = 1 << 16

// learn scans the file once.
func (s *source) learn(ctx context.Context) error {
	labels := map[float64]bool{}
	classify := s.o.Task == datasets.Classification || s.o.Task.Unsupervised() || len(s.o.Positive) > 0
	width := 0
	err := s.each(ctx, func(r *row) error {
		s.rows++
		if n := len(r.columns); n > 0 {
			width = max(width, int(r.columns[n-1])+1)
		}
		if classify && !labels[r.label] {
			if labels[r.label] = true; len(labels) > maxClasses {
				return r.fieldError(fmt.Errorf("more than %d classes; is this a regression?", maxClasses))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.rows == 0 {
		return fmt.Errorf("%s: %w", s.path, rowsource.ErrNoRows)
	}
	if s.cols == 0 {
		s.cols = width
	}
	if s.cols == 0 {
		return fmt.Errorf("%s: no columns", s.path)
	}
	if err := memory.Check(bytesPerColumn * int64(s.cols)); err != nil {
		return fmt.Errorf("%s: %d columns, by the largest index: %w", s.path, s.cols, err)
	}
	s.schema.Targets = []datasets.Column{{Name: target}}
	if !classify {
		return nil
	}
	values := make([]float64, 0, len(labels))
	for v := range labels {
		values = append(values, v)
	}
	slices.Sort(values)
	names := make([]string, len(values))
	for k, v := range values {
		names[k] = number(v)
	}
	for _, p := range s.o.Positive {
		// Anomaly detection does not need a positive class.
		if !slices.Contains(names, p) && s.o.Task != datasets.Anomaly {
			return fmt.Errorf("%s: positive: no label %q", s.path, p)
		}
	}
	if len(s.o.Positive) > 0 {
		names = datasets.Roles{Positive: s.o.Positive, Task: s.o.Task}.PositiveClasses(names)
	}
	s.schema.Targets[0].Kind, s.schema.Targets[0].Categories = datasets.Categorical, names
	return s.code(names)
}

// code works out the class of each label.
func (s *source) code(classes []string) error {
	if classes == nil {
		return nil
	}
	s.codes, s.other = map[float64]float64{}, datasets.Unknown
	if len(s.o.Positive) > 0 {
		s.other = 0
		if v, ok := text.Number([]byte(classes[0])); ok {
			s.codes[v], s.other = 0, datasets.Unknown
		}
		for _, p := range s.o.Positive {
			if v, ok := text.Number([]byte(p)); ok {
				s.codes[v] = 1
			}
		}
		return nil
	}
	for k, name := range classes {
		v, ok := text.Number([]byte(name))
		if !ok {
			return fmt.Errorf("%s: the schema has class %q, labels are numbers", s.path, name)
		}
		s.codes[v] = float64(k)
	}
	return nil
}

// ScanContent returns a value for every column, from the first pass, and checks the classes against
// those of a given schema.
func (s *source) ScanContent(ctx context.Context) ([]datasets.ColumnContent, error) {
	if s.o.Schema != nil && s.codes != nil {
		if err := s.each(ctx, func(r *row) error { _, err := s.class(r); return err }); err != nil {
			return nil, err
		}
	}
	return make([]datasets.ColumnContent, s.cols), nil
}

// class returns the code of a row's class, or its number.
func (s *source) class(r *row) (float64, error) {
	if s.codes == nil {
		return r.label, nil
	}
	code, ok := s.codes[r.label]
	if !ok {
		code = s.other
	}
	if code == datasets.Unknown && s.o.Unlabeled {
		return math.NaN(), nil
	}
	if code == datasets.Unknown {
		return 0, r.fieldError(fmt.Errorf("class %s is not among those of the schema: %s", number(r.label),
			strings.Join(s.schema.Classes(), ", ")))
	}
	return code, nil
}

func (s *source) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	b := block{source: s, indptr: []int{0}, values: []float64{}}
	rows := 0
	err := s.each(ctx, func(r *row) error {
		rows++
		if err := b.add(r); err != nil {
			return err
		}
		if len(b.labels) < rowblock.Size {
			return nil
		}
		return b.flush(yield)
	})
	if err != nil {
		return err
	}
	if s.rows >= 0 && rows != s.rows {
		return fmt.Errorf("%s: %d rows, there were %d before; the file has changed", s.path, rows, s.rows)
	}
	if rows == 0 {
		return fmt.Errorf("%s: %w", s.path, rowsource.ErrNoRows)
	}
	if len(b.labels) > 0 {
		return b.flush(yield)
	}
	return nil
}

// block collects rows until it is full.
type block struct {
	*source
	indptr  []int
	indices []uint32
	values  []float64
	labels  []float64
	groups  []int
}

// add appends one row, without the zeros that the file writes out.
func (b *block) add(r *row) error {
	label, err := b.class(r)
	if err != nil {
		return err
	}
	b.labels = append(b.labels, label)
	if r.grouped {
		b.groups = append(b.groups, r.group)
	}
	for k, v := range r.values {
		if v != 0 {
			b.indices = append(b.indices, r.columns[k])
			b.values = append(b.values, v)
		}
	}
	b.indptr = append(b.indptr, len(b.indices))
	return nil
}

// flush passes the rows to yield and resets the block. If all values are equal, the matrix stores a
// single one.
func (b *block) flush(yield func(datasets.Set) error) error {
	var X *matrices.CSR
	var err error
	if v, ok := shared(b.values); ok {
		X, err = matrices.NewSharedCSR(len(b.labels), b.cols, b.indptr, b.indices, v)
	} else {
		X, err = matrices.NewCSR(len(b.labels), b.cols, b.indptr, b.indices, b.values)
	}
	if err != nil {
		return err
	}
	if err := yield(datasets.Set{X: X, Y: b.labels, Groups: b.groups, Schema: b.schema}); err != nil {
		return err
	}
	b.indptr, b.indices, b.values = b.indptr[:1], b.indices[:0], b.values[:0]
	b.labels, b.groups = b.labels[:0], b.groups[:0]
	return nil
}

// shared returns the one value of all entries.
func shared(values []float64) (v float64, ok bool) {
	for _, v := range values {
		if v != values[0] {
			return 0, false
		}
	}
	if len(values) == 0 {
		return 1, true
	}
	return values[0], true
}

// row is one line of a file.
type row struct {
	file    string
	line    int
	number  int  // of rows up to this one
	first   bool // whether the first of them is grouped
	label   float64
	group   int
	grouped bool
	columns []uint32 // from 0
	values  []float64
}

func (r *row) fieldError(err error) error {
	return &datasets.LineError{File: r.file, Line: r.line, Err: err}
}

// pollRows is the number of rows between checks of the context.
const pollRows = 1024

// each calls yield for every row until the first error.
func (s *source) each(ctx context.Context, yield func(r *row) error) error {
	var r row
	for _, f := range s.files {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if err := s.read(ctx, f, &r, yield); err != nil {
			return err
		}
	}
	return nil
}

// read calls yield for every row of a file. r carries state from the preceding files.
func (s *source) read(ctx context.Context, f *text.File, r *row, yield func(r *row) error) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	w := text.NewWindow(in, s.o.MaxRecord)
	r.file, r.line = f.Path(), 0
	for {
		r.line++
		b, err := w.Line()
		if err == io.EOF && r.line == 1 && len(s.files) == 1 {
			return fmt.Errorf("%s: empty file", f.Path())
		} else if err == io.EOF {
			return nil
		} else if err != nil {
			return r.fieldError(err)
		}
		if at := bytes.IndexByte(b, '#'); at >= 0 {
			b = b[:at]
		}
		if b = text.Trim(b); len(b) == 0 {
			continue
		}
		if r.number%pollRows == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if err := s.parse(r, b); err != nil {
			return r.fieldError(err)
		}
		if r.number++; r.number == 1 {
			r.first = r.grouped
		}
		if r.grouped != r.first {
			return r.fieldError(errors.New("some rows have a qid and others have none"))
		}
		if err := yield(r); err != nil {
			return err
		}
	}
}
