package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rowsource"
)

// OpenColumns infers the schema of the columns of r, unless the roles contain one, and returns the
// rows as a source. Numbers are numeric and strings are categorical. Booleans are numeric, but a
// Boolean target is categorical. Before the first pass it reads only columns with categories,
// targets, weights and groups.
func OpenColumns(ctx context.Context, r Columnar, roles datasets.Roles) (datasets.Source, error) {
	if roles.LabelDelimiter != "" {
		form, err := (&columnSource{form: r.ColumnForm()}).textForm(nil)
		if err != nil {
			return nil, err
		}
		return splitLabels(ctx, form, roles, func(inner datasets.Roles) (datasets.Source, error) {
			return OpenColumns(ctx, r, inner)
		})
	}
	s := &columnSource{source: source{rows: -1}, columns: r, form: r.ColumnForm()}
	form, err := s.textForm(roles.Dates)
	if err != nil {
		return nil, err
	}
	if s.layout, err = arrange(form, roles); err != nil {
		return nil, err
	}
	if err := s.checkTypes(); err != nil {
		return nil, err
	}
	s.rows = s.form.Rows
	s.missing = missingStrings(roles.Schema)
	if roles.DropMissingTarget && len(s.layout.targets) > 0 {
		if err := s.findUnlabeled(ctx); err != nil {
			return nil, err
		}
	}
	if roles.Schema != nil {
		err = s.useSchema(*roles.Schema)
	} else if s.schema, err = s.learn(ctx); err == nil {
		err = s.assignCells()
	}
	if err != nil {
		return nil, err
	}
	s.matchSpellings()
	return s, nil
}

// columnSource encodes typed columns by a schema.
type columnSource struct {
	source
	columns  Columnar
	form     ColumnForm
	origins  []columnOrigin // for each column of the layout
	missing  []string       // strings that denote a missing value
	skipped  []int          // skipped rows
	noInputs bool           // whether inputs are not read
}

// columnOrigin is the origin of a column of the layout.
type columnOrigin struct {
	column   int // of the file
	date     *datasets.Date
	datePart int // index of the part of the date
}

// textForm returns the form of the columns, with dates replaced by their parts.
func (s *columnSource) textForm(dates map[string]datasets.Date) (Form, error) {
	out := Form{Name: s.form.Name, NoLines: true, FileLine: s.form.FileRow}
	var errs []error
	s.form.Columns = slices.Clone(s.form.Columns)
	for k := range s.form.Columns {
		c := &s.form.Columns[k]
		if name := fmt.Sprintf("x%d", k); c.Name == "" { // as the CSV reader does
			for slices.ContainsFunc(s.form.Columns, func(c TypedColumn) bool { return c.Name == name }) {
				name += "_"
			}
			c.Name = name
		}
		date, is := dates[c.Name]
		if !is {
			kind := datasets.Numeric
			if c.Type == Strings {
				kind = datasets.Categorical
			}
			out.Columns = append(out.Columns, Column{Name: c.Name, Declared: true, Kind: kind})
			s.origins = append(s.origins, columnOrigin{column: k})
			continue
		}
		if err := date.Check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: dates: column %s: %w", out.Name, c.Name, err))
			continue
		}
		if c.Type != Times && c.Type != Strings {
			errs = append(errs, fmt.Errorf("%s: dates: column %s must have dates or strings, got type %s", out.Name, c.Name,
				c.TypeName))
			continue
		}
		for i, name := range date.Names(c.Name) {
			out.Columns = append(out.Columns, Column{Name: name, Declared: true, Kind: datasets.Numeric})
			s.origins = append(s.origins, columnOrigin{column: k, date: &date, datePart: i})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dates)) {
		if !slices.ContainsFunc(s.form.Columns, func(c TypedColumn) bool { return c.Name == name }) {
			errs = append(errs, fmt.Errorf("%s: dates: no column %q; there are %s", out.Name, name, joinNames(s.names())))
		}
	}
	return out, errors.Join(errs...)
}

func (s *columnSource) names() []string {
	var names []string
	for _, c := range s.form.Columns {
		names = append(names, c.Name)
	}
	return names
}

// checkTypes returns errors for used columns of unsupported types. If only column names are
// requested, all types are allowed.
func (s *columnSource) checkTypes() error {
	l := s.layout
	if l.roles.Schema != nil && len(l.roles.Schema.Columns) == 0 {
		return nil
	}
	var errs []error
	for j, u := range l.use {
		o := s.origins[j]
		c := s.form.Columns[o.column]
		kept := slices.Contains(l.passthrough, j)
		way := "; exclude it with data.drop (Roles.Drop in Go)"
		if u != input {
			way = ""
		}
		switch {
		case u == dropped && !kept:
		case c.Type == Unsupported && c.Reason != "":
			errs = append(errs, fmt.Errorf("%s: column %s: %s%s", l.file, c.Name, c.Reason, way))
		case c.Type == Unsupported:
			errs = append(errs, fmt.Errorf("%s: column %s must have numbers, Booleans, strings or times, got type %s%s", l.file,
				c.Name, c.TypeName, way))
		case c.Type == Times && o.date == nil && (u == input || u == target || u == weight):
			errs = append(errs, fmt.Errorf("%s: column %s must have numbers or strings, got times of type %s; split them with "+
				"data.dates or exclude the column with data.drop (Roles.Dates and Roles.Drop in Go)", l.file, c.Name, c.TypeName))
		case l.formats[j].Unit != "" && c.Type != Strings:
			errs = append(errs, fmt.Errorf("%s: column %s must have strings with the unit %s, got type %s", l.file, c.Name,
				l.formats[j].Unit, c.TypeName))
		case c.Type == Strings && u == weight:
			errs = append(errs, fmt.Errorf("%s: column %s must have numeric weights, got type %s", l.file, c.Name, c.TypeName))
		}
		if u == target && c.Type == Booleans && len(l.targets) == 1 {
			l.columns[j].Kind = datasets.Categorical
		}
	}
	return errors.Join(errs...)
}

// UnsupportedColumns returns the columns of the file whose types cannot be inputs.
func (s *columnSource) UnsupportedColumns() []rowsource.UnsupportedColumn {
	var out []rowsource.UnsupportedColumn
	for k, c := range s.form.Columns {
		dated := slices.ContainsFunc(s.origins, func(o columnOrigin) bool { return o.column == k && o.date != nil })
		switch {
		case dated || c.Type != Unsupported && c.Type != Times:
		case c.Reason != "":
			out = append(out, rowsource.UnsupportedColumn{Column: c.Name, Reason: c.Reason})
		default:
			out = append(out, rowsource.UnsupportedColumn{Column: c.Name, IsTime: c.Type == Times,
				Reason: "it is of type " + c.TypeName})
		}
	}
	return out
}

// missingStrings returns the strings that denote a missing value, in addition to the empty one:
// those of the schema or the default.
func missingStrings(s *datasets.Schema) []string {
	if s != nil && s.Missing != nil {
		return s.Missing
	}
	return []string{"NaN", "nan"}
}

// WithoutInputs returns the rows with zeros for the inputs, which are not read.
func (s *columnSource) WithoutInputs() datasets.Source {
	out := *s
	out.noInputs = true
	return &out
}

// SkippedRows returns the row numbers in the file of the skipped rows.
func (s *columnSource) SkippedRows() []int { return s.skipped }

// columnReader reads one column of the file in one representation.
type columnReader struct {
	ColumnRequest
	name         string
	destinations []destination
	values       Values
	buffer       []float64 // buffer if no destination stores the numbers
	cache        *stringCache
}

// destination is the destination of values: a column of the layout.
type destination struct {
	column      int // of the layout
	use         use
	passthrough int // index of the passthrough column; -1 if none
	numbers     []float64
	strings     []string

	dictionary    *Dictionary // the dictionary of seen and missing
	seen, missing []bool      // by code: whether a string was observed, and whether it denotes a missing value
}

// columnReaders returns readers for the selected columns of the layout, and for the passthrough
// columns if kept.
func (s *columnSource) columnReaders(selected func(j int) bool, kept bool) []*columnReader {
	var out []*columnReader
	add := func(j int, as Type, o destination) {
		k := s.origins[j].column
		for _, f := range out {
			if f.Column == k && f.As == as {
				f.destinations = append(f.destinations, o)
				return
			}
		}
		out = append(out, &columnReader{ColumnRequest: ColumnRequest{k, as}, name: s.form.Columns[k].Name,
			destinations: []destination{o}})
	}
	for j, u := range s.layout.use {
		if u == dropped || !selected(j) {
			continue
		}
		o := destination{column: j, use: u, passthrough: -1}
		as := s.form.Columns[s.origins[j].column].Type
		switch {
		case u == group || s.categorical(j):
			as = Strings
		case as == Booleans:
			as = Numbers
		}
		add(j, as, o)
	}
	if kept {
		for i, j := range s.layout.passthrough {
			add(j, Strings, destination{column: j, passthrough: i})
		}
	}
	return out
}

// categorical reports whether column j is encoded by categories.
func (s *columnSource) categorical(j int) bool {
	if s.cells != nil {
		return s.cells[j].codes != nil || s.cells[j].isText
	}
	kind, _ := s.layout.kindOf(j)
	return kind != datasets.Numeric && (s.layout.use[j] == input || s.layout.use[j] == target)
}

// rowError returns an error about a row of the file.
func (s *columnSource) rowError(row, j int, format string, args ...any) error {
	return &rowError{row: row, column: j, LineError: *s.layout.fieldError(row+1, j, format, args...)}
}

// rowError is an error with its row.
type rowError struct {
	datasets.LineError
	row, column int
}

func (f *rowError) Unwrap() error { return &f.LineError }

// isMissing reports whether a string denotes a missing value.
func (s *columnSource) isMissing(t string) bool {
	return t == "" || (t[0] == 'N' || t[0] == 'n' || s.layout.roles.Schema != nil) && slices.Contains(s.missing, t)
}

// trimmed removes the suffix of a target.
func (s *columnSource) trimmed(u use, t string) string {
	if u == target && len(s.layout.suffix) > 0 {
		return string(bytes.TrimSuffix([]byte(t), s.layout.suffix))
	}
	return t
}

// booleanSpellings are other spellings of booleans.
var booleanSpellings = map[string][]string{"false": {"False", "FALSE", "0"}, "true": {"True", "TRUE", "1"}}

// matchSpellings matches other spellings of categories: 3 and 3.0, and booleans.
func (s *columnSource) matchSpellings() {
	for j := range s.cells {
		c := &s.cells[j]
		if c.codes == nil {
			continue
		}
		switch s.form.Columns[s.origins[j].column].Type {
		case Booleans:
			c.isBoolean = true
		case Numbers:
			c.values = map[float64]float64{}
			for name, code := range c.codes {
				if v, ok := text.Number([]byte(name)); ok {
					if before, is := c.values[v]; !is || code < before {
						c.values[v] = code
					}
				}
			}
		}
	}
}

// cell returns the cell of column j, which is empty before the schema is known.
func (s *columnSource) cell(j int) *cell {
	if s.cells == nil {
		return &cell{}
	}
	return &s.cells[j]
}
