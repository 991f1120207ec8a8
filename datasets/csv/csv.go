// Package csv reads files of comma-separated and similar formats: as a stream of blocks of any size
// with [Options.Open], or into memory with [Options.ReadFile] or, from an io.Reader, [Options.Read].
//
// Records and quotes follow RFC 4180 and package encoding/csv, or quotes are ordinary characters
// (Options.Quote). A first pass over the file infers
// numeric columns, the categories of others, and the number of rows. It returns an error with its
// line for a string among numbers, a record of the wrong length, or a byte that is invalid in the
// encoding. Records are parsed on all cores; blocks and errors are those of a sequential reader.
// With Options.Hold, as for ReadFile, the first pass is the only one.
package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// Options describe the format of a file and the roles of its columns. The zero value reads a file
// with a header, in which all columns are inputs.
type Options struct {
	datasets.Roles

	NoHeader  bool     // whether the first record is data
	Columns   []string // names of the columns, instead of the header's
	Delimiter string   // one character, or "space" for runs of blanks; "" is a tab in .tsv files, else a comma
	Quote     string   // `"` (also ""), or "none" where quotes are ordinary characters
	Comment   string   // prefix of lines to skip
	// strings that denote a missing value, in addition to the empty one; nil means those of Schema,
	// else "NaN" and "nan"
	Missing   []string
	Skip      int    // lines to skip at the beginning
	Encoding  string // utf-8 (also ""), latin-1, windows-1252 or utf-16; a byte order mark has precedence
	Decimal   string // decimal mark of numbers: a point (also "") or a comma
	Thousands string // thousands separator: one of , . ' or "space"; "" for none
	KeepSpace bool   // whether to retain blanks around fields
	MaxRecord int    // maximum bytes of a record; 0 means 16 MiB
	Hold      int64  // maximum bytes of rows that the first pass stores, so that they are not read again
	FS        fs.FS  // file system; nil means that of the host
}

// Open returns the rows of the file at path, optionally gzip-compressed, as a source that reads the
// file in every pass and stores one block of rows. Without Options.Schema it reads the file once to learn the
// schema.
//
// The rows of more files follow, as if all were in one: kinds and categories are those of all rows. Each file
// has the format of the options, with its own header by default, and the same columns, in any order if there are
// headers. Empty files have no rows. Expand directories and patterns first.
func (o Options) Open(ctx context.Context, path string, more ...string) (datasets.Source, error) {
	return table.OpenAll(ctx, append([]string{path}, more...), func(path string) (table.Reader, error) {
		return open(text.NewFile(o.FS, path), o)
	}, o.Roles, o.Hold)
}

// ReadFile returns the rows of the file at path, optionally gzip-compressed.
func (o Options) ReadFile(ctx context.Context, path string) (datasets.Set, error) {
	o.Hold = math.MaxInt64
	src, err := o.Open(ctx, path)
	return text.ReadAll(ctx, src, err)
}

// Read returns the rows of a text, optionally gzip-compressed. It stores the text until it has the
// rows, because it makes one pass for the schema and one for the rows. Errors name the text by the
// name of r, if it has one as an os.File has, else "input".
func (o Options) Read(ctx context.Context, r io.Reader) (datasets.Set, error) {
	o.Hold = math.MaxInt64
	return table.Read(ctx, r, func(held *text.File) (table.Reader, error) { return open(held, o) }, o.Roles, o.Hold)
}

// file is a table.Reader.
type file struct {
	path     string
	text     *text.File
	o        Options
	dialect  dialect
	notation text.Notation
	columns  []table.Column
	encoding string // of the first pass
}

// open checks the options and determines the column names.
func open(t *text.File, o Options) (*file, error) {
	path := t.Path()
	f := &file{path: path, text: t, o: o}
	var err error
	if f.dialect, err = o.dialect(path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.notation, err = o.notation(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := f.start()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f.encoding = s.encoding
	if err := s.next(); err == io.EOF {
		return nil, fmt.Errorf("%s: %w", path, table.ErrEmptyFile)
	} else if err != nil {
		return nil, f.lineError(s.line, err)
	}
	if s.lines == 0 && slices.ContainsFunc(s.fields, func(f []byte) bool { return bytes.IndexByte(f, '\r') >= 0 }) {
		return nil, f.lineError(1, errReturns)
	}
	names := o.Columns
	if names == nil {
		names = make([]string, len(s.fields))
		for j, field := range s.fields {
			names[j] = "x" + strconv.Itoa(j)
			if !o.NoHeader && field != nil {
				names[j] = string(field)
			}
		}
	}
	if len(names) != len(s.fields) {
		return nil, f.lineError(s.line, fmt.Errorf("must have %d fields as Options.Columns, got %d", len(names),
			len(s.fields)))
	}
	for _, name := range names {
		c := table.Column{Name: name}
		if o.Columns == nil && !o.NoHeader {
			c.Line = s.line
		}
		f.columns = append(f.columns, c)
	}
	return f, nil
}

func (f *file) Form() table.Form {
	return table.Form{Name: f.path, Columns: f.columns, Notation: f.notation, Missing: f.o.Missing}
}

func (f *file) Records(ctx context.Context, yield func(r *table.Record) error) error {
	s, err := f.start()
	if err != nil {
		return err
	}
	defer s.Close()
	if !f.o.NoHeader {
		if err := s.next(); err != nil {
			return f.lineError(s.line, err)
		}
	}
	return f.records(ctx, s, yield)
}

// records yields the remaining records.
func (f *file) records(ctx context.Context, s *scanner, yield func(r *table.Record) error) error {
	var rec table.Record
	invalid := func(line int, err error) error { return f.invalidRecord(line, err, yield) }
	return f.scan(ctx, s, invalid, func(line int, fields [][]byte) error {
		if len(fields) != len(f.columns) {
			err := f.lineError(line, fmt.Errorf("number of fields must be %[2]d, got %[1]d", len(fields), len(f.columns)))
			return f.invalidRecord(line, err, yield)
		}
		rec.Line, rec.Fields, rec.Numbers = line, fields, s.numbers
		return yield(&rec)
	})
}

// invalidRecord yields the error of a record if the roles have OnInvalid, and returns it otherwise.
func (f *file) invalidRecord(line int, err error, yield func(r *table.Record) error) error {
	if f.o.OnInvalid == nil {
		return err
	}
	return yield(&table.Record{Line: line, Err: err})
}

func (f *file) lineError(line int, err error) error {
	if bad, ok := err.(invalid); ok {
		column := ""
		if bad.field >= 0 && bad.field < len(f.columns) {
			column = "column " + f.columns[bad.field].Name + ": "
		}
		return &datasets.LineError{File: f.path, Line: bad.line, Column: bad.column,
			Err: encodingError(column + f.encodingMessage())}
	}
	return &datasets.LineError{File: f.path, Line: line, Err: err}
}

type encodingError string

func (e encodingError) Error() string { return string(e) }
func (e encodingError) Unwrap() error { return rowerrors.ErrEncoding }

// encodingMessage returns the error about another encoding.
func (f *file) encodingMessage() string {
	encoding := f.encoding
	if encoding == "" {
		encoding = text.Encodings[0]
	}
	if encoding != f.o.Encoding && f.o.Encoding != "" {
		return fmt.Sprintf("must be %s, by the byte order mark of the file", encoding)
	}
	others := slices.DeleteFunc(slices.Clone(text.Encodings), func(name string) bool { return name == encoding })
	return fmt.Sprintf("must be %s; set csv.encoding to one of %s", encoding, strings.Join(others, ", "))
}

// start opens the file and skips its first lines.
func (f *file) start() (*scanner, error) {
	r, err := f.text.Open()
	if err != nil {
		return nil, err
	}
	encoding := text.MarkedEncoding(r, f.o.Encoding)
	decoded, err := text.Decode(r, encoding)
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	s := f.scanner()
	s.encoding = encoding
	s.Closer, s.w, s.upcoming = r, text.NewWindow(decoded, f.o.MaxRecord), 1
	for range f.o.Skip {
		if _, err := s.w.Line(); err == io.EOF {
			break
		} else if err != nil {
			r.Close()
			return nil, f.lineError(s.upcoming, err)
		}
		s.upcoming++
	}
	s.w.Bound = s.bound + 1
	return s, nil
}

// scanner returns a scanner without input.
func (f *file) scanner() *scanner {
	s := &scanner{dialect: f.dialect, bound: f.o.MaxRecord}
	if s.bound == 0 {
		s.bound = text.MaxLine
	}
	return s
}

// notation returns the notation of numbers.
func (o Options) notation() (n text.Notation, err error) {
	switch o.Decimal {
	case "", ".":
		n.Decimal = '.'
	case ",":
		n.Decimal = ','
	default:
		return n, fmt.Errorf("decimal must be a point or a comma, got %q", o.Decimal)
	}
	switch o.Thousands {
	case "":
	case ",", ".", "'":
		n.Thousands = o.Thousands[0]
	case "space":
		n.Thousands = ' '
	default:
		return n, fmt.Errorf("thousands must be , . ' or \"space\", got %q", o.Thousands)
	}
	if n.Decimal == n.Thousands {
		return n, fmt.Errorf("decimal and thousands must differ, got %q", n.Decimal)
	}
	return n, nil
}

// dialect is the format of records.
type dialect struct {
	delimiter byte
	runs      bool // whether consecutive delimiters are one
	trim      bool
	quotes    bool // whether fields may be quoted
	simple    bool // whether numbers have a decimal point and no thousands separator
	comment   string
	missing   []string
	maybe     [256]bool // first bytes of missing
	stop      [256]bool // bytes that end a plain run inside of a field
}

func (o Options) dialect(name string) (dialect, error) {
	d := dialect{delimiter: ',', trim: !o.KeepSpace, comment: o.Comment, missing: o.Missing, quotes: o.Quote != "none"}
	if d.quotes && o.Quote != "" && o.Quote != `"` {
		return d, fmt.Errorf("quote must be \" or none, got %q", o.Quote)
	}
	d.simple = (o.Decimal == "" || o.Decimal == ".") && o.Thousands == ""
	switch o.Delimiter {
	case "":
		if strings.EqualFold(path.Ext(strings.TrimSuffix(name, ".gz")), ".tsv") {
			d.delimiter = '\t'
		}
	case "space":
		d.delimiter, d.runs, d.trim = ' ', true, true
	case "tab":
		d.delimiter = '\t'
	default:
		c := o.Delimiter[0]
		if len(o.Delimiter) > 1 || c >= 0x80 || c == '"' || c == '\n' || c == '\r' || c == 0 {
			return d, fmt.Errorf("delimiter must be one character, \"tab\" or \"space\", got %q", o.Delimiter)
		}
		d.delimiter = c
	}
	if strings.ContainsAny(d.comment, "\r\n") {
		return d, fmt.Errorf("comment must not contain a line break, got %q", d.comment)
	}
	if o.Skip < 0 || o.MaxRecord < 0 {
		return d, errors.New("skip and max_record must be ≥ 0")
	}
	if d.missing == nil && o.Schema != nil {
		d.missing = o.Schema.Missing
	}
	if d.missing == nil {
		d.missing = []string{"NaN", "nan"}
	}
	d.missing = slices.DeleteFunc(slices.Clone(d.missing), func(m string) bool { return m == "" })
	for _, m := range d.missing {
		d.maybe[m[0]] = true
	}
	for _, c := range []byte{d.delimiter, '\n', 0} {
		d.stop[c] = true
	}
	d.stop['"'] = d.quotes
	d.stop['\t'] = d.stop['\t'] || d.runs
	return d, nil
}
