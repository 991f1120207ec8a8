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

// OpenColumns learns the schema of r's columns, unless the roles bring one, and returns the rows as a
// source. Kinds follow the types: numbers are numeric, texts categorical, and a truth is a number but for
// the target, where it is a class. So only the columns with categories, and the target, weights and
// groups, which no row may lack, are read before the first pass.
func OpenColumns(ctx context.Context, r Columnar, roles datasets.Roles) (datasets.Source, error) {
	s := &columnSource{source: source{rows: -1}, columns: r, typed: r.ColumnForm()}
	form, err := s.form(roles.Dates)
	if err != nil {
		return nil, err
	}
	if s.layout, err = arrange(form, roles); err != nil {
		return nil, err
	}
	if err := s.readable(); err != nil {
		return nil, err
	}
	s.rows = s.typed.Rows
	s.missing = missingTexts(roles.Schema)
	if roles.DropMissingTarget && len(s.layout.targets) > 0 {
		if err := s.findUnlabelled(ctx); err != nil {
			return nil, err
		}
	}
	if roles.Schema != nil {
		err = s.bring(*roles.Schema)
	} else if s.schema, err = s.learn(ctx); err == nil {
		err = s.plan()
	}
	if err != nil {
		return nil, err
	}
	s.alike()
	return s, nil
}

// columnSource codes typed columns by a schema.
type columnSource struct {
	source
	columns Columnar
	typed   ColumnForm
	origins []part   // of the layout's columns
	missing []string // texts that stand for a missing value
	left    []int    // numbers of the rows that are left out
	bare    bool     // whether the inputs are left unread
}

// part is where a column of the layout comes from.
type part struct {
	column int // of the file
	date   *datasets.Date
	number int // among the parts of the date
}

// form returns what the text formats say of their columns, the parts of dates in the place of the dates.
func (s *columnSource) form(dates map[string]datasets.Date) (Form, error) {
	out := Form{Name: s.typed.Name, ByRow: true, Place: s.typed.Place}
	var errs []error
	s.typed.Columns = slices.Clone(s.typed.Columns)
	for k := range s.typed.Columns {
		c := &s.typed.Columns[k]
		if name := fmt.Sprintf("x%d", k); c.Name == "" { // as a reader of CSV names it
			for slices.ContainsFunc(s.typed.Columns, func(c TypedColumn) bool { return c.Name == name }) {
				name += "_"
			}
			c.Name = name
		}
		date, is := dates[c.Name]
		if !is {
			kind := datasets.Numeric
			if c.Type == Texts {
				kind = datasets.Categorical
			}
			out.Columns = append(out.Columns, Column{Name: c.Name, Declared: true, Kind: kind})
			s.origins = append(s.origins, part{column: k})
			continue
		}
		if err := date.Check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: dates: column %s: %w", out.Name, c.Name, err))
			continue
		}
		if c.Type != Times && c.Type != Texts {
			errs = append(errs, fmt.Errorf("%s: dates: column %s is of type %s, wanted dates or texts", out.Name, c.Name, c.As))
			continue
		}
		for i, name := range date.Names(c.Name) {
			out.Columns = append(out.Columns, Column{Name: name, Declared: true, Kind: datasets.Numeric})
			s.origins = append(s.origins, part{column: k, date: &date, number: i})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dates)) {
		if !slices.ContainsFunc(s.typed.Columns, func(c TypedColumn) bool { return c.Name == name }) {
			errs = append(errs, fmt.Errorf("%s: dates: no column %q; there are %s", out.Name, name, list(s.names())))
		}
	}
	return out, errors.Join(errs...)
}

func (s *columnSource) names() []string {
	var names []string
	for _, c := range s.typed.Columns {
		names = append(names, c.Name)
	}
	return names
}

// readable reports the columns in use of which no numbers or categories can be made. Where only the names
// of the columns are asked for, any may be there.
func (s *columnSource) readable() error {
	l := s.layout
	if l.roles.Schema != nil && len(l.roles.Schema.Columns) == 0 {
		return nil
	}
	var errs []error
	for j, u := range l.use {
		o := s.origins[j]
		c := s.typed.Columns[o.column]
		kept := slices.Contains(l.keep, j)
		way := "; data.drop leaves the column out"
		if u != input {
			way = ""
		}
		switch {
		case u == dropped && !kept:
		case c.Type == Unreadable && c.Why != "":
			errs = append(errs, fmt.Errorf("%s: column %s: %s%s", l.file, c.Name, c.Why, way))
		case c.Type == Unreadable:
			errs = append(errs, fmt.Errorf("%s: column %s is of type %s, wanted numbers, truths, texts or times%s", l.file, c.Name, c.As, way))
		case c.Type == Times && o.date == nil && (u == input || u == target || u == weight):
			errs = append(errs, fmt.Errorf("%s: column %s has times, of type %s; data.dates takes them apart into numbers, data.drop leaves the column out", l.file, c.Name, c.As))
		case c.Type == Texts && u == weight:
			errs = append(errs, fmt.Errorf("%s: column %s has texts, of type %s, wanted weights, which are numbers", l.file, c.Name, c.As))
		}
		if u == target && c.Type == Truths && len(l.targets) == 1 {
			l.columns[j].Kind = datasets.Categorical
		}
	}
	return errors.Join(errs...)
}

// UnsupportedColumns returns the columns of the file whose types cannot be inputs.
func (s *columnSource) UnsupportedColumns() []rowsource.UnsupportedColumn {
	var out []rowsource.UnsupportedColumn
	for k, c := range s.typed.Columns {
		dated := slices.ContainsFunc(s.origins, func(o part) bool { return o.column == k && o.date != nil })
		switch {
		case dated || c.Type != Unreadable && c.Type != Times:
		case c.Why != "":
			out = append(out, rowsource.UnsupportedColumn{Column: c.Name, Reason: c.Why})
		default:
			out = append(out, rowsource.UnsupportedColumn{Column: c.Name, IsTime: c.Type == Times, Reason: "it is of type " + c.As})
		}
	}
	return out
}

// missingTexts are the texts that stand for a missing value, as the empty one does: those of the schema,
// or what the other readers take for one.
func missingTexts(s *datasets.Schema) []string {
	if s != nil && s.Missing != nil {
		return s.Missing
	}
	return []string{"NaN", "nan"}
}

// WithoutInputs returns the rows with zeros for the inputs, which are not read.
func (s *columnSource) WithoutInputs() datasets.Source {
	out := *s
	out.bare = true
	return &out
}

// LeftOut returns the numbers of the rows of the file that are left out.
func (s *columnSource) SkippedRows() []int { return s.left }

// feed is a column of the file in one representation, and what is made of it.
type feed struct {
	Reading
	name   string
	outs   []outlet
	values Values
	own    []float64 // room for numbers that go nowhere else
	memo   *memo
}

// outlet is where values go: a column of the layout.
type outlet struct {
	column int // of the layout
	use    use
	keep   int // which of the kept ones, -1 where it is none of them
	into   []float64
	texts  []string

	of         *Dictionary // that learning looks at
	seen, lost []bool      // by code: whether a string has been looked at, and stands for a missing value
}

// feeds returns what is to be read for the columns of the layout that are wanted, and the kept ones.
func (s *columnSource) feeds(wanted func(j int) bool, kept bool) []*feed {
	var out []*feed
	add := func(j int, as Type, o outlet) {
		k := s.origins[j].column
		for _, f := range out {
			if f.Column == k && f.As == as {
				f.outs = append(f.outs, o)
				return
			}
		}
		out = append(out, &feed{Reading: Reading{k, as}, name: s.typed.Columns[k].Name, outs: []outlet{o}})
	}
	for j, u := range s.layout.use {
		if u == dropped || !wanted(j) {
			continue
		}
		o := outlet{column: j, use: u, keep: -1}
		as := s.typed.Columns[s.origins[j].column].Type
		switch {
		case u == group || s.categorical(j):
			as = Texts
		case as == Truths:
			as = Numbers
		}
		add(j, as, o)
	}
	if kept {
		for i, j := range s.layout.keep {
			add(j, Texts, outlet{column: j, keep: i})
		}
	}
	return out
}

// categorical reports whether the values of column j become codes: by the schema, once it is there.
func (s *columnSource) categorical(j int) bool {
	if s.cells != nil {
		return s.cells[j].codes != nil
	}
	kind, _ := s.layout.kindOf(j)
	return kind == datasets.Categorical && (s.layout.use[j] == input || s.layout.use[j] == target)
}

// at returns an error about a row of the file.
func (s *columnSource) at(row, j int, format string, args ...any) error {
	return &rowFault{row: row, column: j, LineError: *s.layout.fault(row+1, j, format, args...)}
}

// rowFault is a fault that knows its row.
type rowFault struct {
	datasets.LineError
	row, column int
}

func (f *rowFault) Unwrap() error { return &f.LineError }

// isMissing reports whether a string stands for a missing value.
func (s *columnSource) isMissing(t string) bool {
	return t == "" || (t[0] == 'N' || t[0] == 'n' || s.layout.roles.Schema != nil) && slices.Contains(s.missing, t)
}

// trimmed returns a string of a target without its suffix.
func (s *columnSource) trimmed(u use, t string) string {
	if u == target && len(s.layout.suffix) > 0 {
		return string(bytes.TrimSuffix([]byte(t), s.layout.suffix))
	}
	return t
}

// truths are other ways to write them.
var truths = map[string][]string{"false": {"False", "FALSE", "0"}, "true": {"True", "TRUE", "1"}}

// alike has a number find a category that is written in another way, 3 that of 3.0, and a truth too.
func (s *columnSource) alike() {
	for j := range s.cells {
		c := &s.cells[j]
		if c.codes == nil {
			continue
		}
		switch s.typed.Columns[s.origins[j].column].Type {
		case Truths:
			c.truths = true
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

// cell is that of column j, an empty one before the schema is known.
func (s *columnSource) cell(j int) *cell {
	if s.cells == nil {
		return &cell{}
	}
	return &s.cells[j]
}
