package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/rows/structrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// OpenColumns infers the schema of the columns of r, unless the roles contain one, and returns the
// rows as a source. Numbers are numeric and strings are categorical. Booleans are numeric, but a
// Boolean target is categorical. Before the first pass it reads only columns with categories,
// targets, weights and groups, unless the number of rows is unknown.
func OpenColumns(ctx context.Context, r Columnar, roles datasets.Roles) (datasets.Source, error) {
	return openSource(ctx, r, roles, 0)
}

func openSource(ctx context.Context, r Columnar, roles datasets.Roles, maxBytes int64) (datasets.Source, error) {
	s := &source{columns: r, form: r.ColumnForm(), missing: missingStrings(roles.Schema)}
	if s.form.Text != nil && roles.OnInvalid != nil && roles.Schema == nil {
		return nil, fmt.Errorf("%s: invalid rows cannot be skipped without a schema", s.form.Name)
	}
	form, err := s.layoutForm(roles)
	if err != nil {
		return nil, err
	}
	if roles.LabelDelimiter != "" {
		return splitLabels(ctx, form, roles, func(inner datasets.Roles) (datasets.Source, error) {
			return openSource(ctx, r, inner, maxBytes)
		})
	}
	if s.layout, err = arrange(form, roles); err != nil {
		return nil, err
	}
	if err := s.checkTypes(); err != nil {
		return nil, err
	}
	s.rows = s.form.Rows
	if roles.DropMissingTarget && len(s.layout.targets) > 0 {
		if err := s.findUnlabeled(ctx); err != nil {
			return nil, err
		}
	}
	if roles.Schema != nil {
		err = s.useSchema(*roles.Schema)
	} else {
		err = s.learn(ctx, maxBytes)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// source encodes columns by a schema.
type source struct {
	columns Columnar
	form    ColumnForm
	layout  *layout
	origins []columnOrigin // for each column of the layout
	missing []string       // strings that denote a missing value in typed columns
	skipped []int          // skipped rows

	schema   datasets.Schema
	rows     int                      // -1 if unknown
	content  []datasets.ColumnContent // of the inputs; nil if unknown
	cells    []cell                   // nil before the schema is known
	textCols []int                    // text columns of X
	groups   map[string]int           // group numbers, in order of the values; nil if not inferred
	noInputs bool                     // whether inputs are not read
	inMemory *datasets.Set            // nil if the rows are not stored
}

// columnOrigin is the origin of a column of the layout.
type columnOrigin struct {
	column   int // of the file
	date     *datasets.Date
	datePart int // index of the part of the date
}

// cell describes where the values of a column are stored.
type cell struct {
	use         use
	at          int                // column of X or of the targets
	codes       map[string]float64 // of a categorical column
	unknownCode float64            // code of categories that are not in codes
	isText      bool               // whether values are strings of the block

	// Values of typed columns have one notation, unlike the rows of the schema. values maps numbers
	// to codes; isBoolean reports whether categories are booleans.
	values    map[float64]float64
	isBoolean bool
}

// useSchema adopts a given schema; without columns it adopts the inputs of the file.
func (s *source) useSchema(schema datasets.Schema) error {
	s.schema = schema
	if len(schema.Columns) == 0 {
		for _, j := range s.layout.inputs {
			s.schema.Columns = append(s.schema.Columns, datasets.Column{Name: s.layout.columns[j].Name})
		}
	}
	return s.assignCells()
}

// learn infers the schema and the content of the columns, and stores the rows if they need at most
// maxBytes. It reads all columns if the number of rows is unknown.
func (s *source) learn(ctx context.Context, maxBytes int64) error {
	use, all := s.layout.use, s.form.Rows < 0
	cache := newRowCache(s, maxBytes)
	l := s.newLearner(nil, cache != nil)
	err := s.scan(ctx, l, func(j int) bool { return all || use[j] != input || s.categorical(j) }, cache)
	if err != nil {
		return err
	}
	if all {
		s.content = l.content()
	}
	if g := s.layout.group; g >= 0 {
		s.groups = indexByName(sorted(l.columns[g].categories.names, s.layout.notation))
	}
	first := l
	if l.hasDeferred() {
		l = s.newLearner(first, false)
		if err := s.scan(ctx, l, first.isDeferred, nil); err != nil {
			return err
		}
	}
	if s.schema, err = s.layout.schema(l); err != nil {
		return err
	}
	if s.schema.Missing = nil; s.form.Text != nil {
		s.schema.Missing = s.form.Text.Missing
	}
	if err := s.assignCells(); err != nil {
		return err
	}
	if set, ok := cache.set(s, l); ok {
		s.inMemory = &set
	}
	return nil
}

// ScanContent returns the content from the first pass, or else reads all columns.
func (s *source) ScanContent(ctx context.Context) ([]datasets.ColumnContent, error) {
	if s.content != nil {
		return s.content, nil
	}
	l := s.newLearner(nil, false)
	err := s.scan(ctx, l, func(int) bool { return true }, nil)
	return l.content(), err
}

// scan adds the selected columns of all rows to l, and stores the rows in cache unless it is nil. The
// error contains the first error of each column.
func (s *source) scan(ctx context.Context, l *learner, selected func(j int) bool, cache *rowCache) error {
	feeds := s.columnReaders(selected, cache != nil)
	if len(feeds) == 0 && s.rows >= 0 {
		return l.err(nil)
	}
	for _, f := range feeds {
		if l.previous != nil {
			f.As = Strings
		}
		f.Content = s.form.Text != nil && cache == nil && f.destinations[0].use != weight
	}
	p, err := s.pass(ctx, feeds)
	if err != nil {
		return err
	}
	defer p.cursor.Close()
	end := s.eachWindow(ctx, p, func() error {
		cache.extend(p)
		err := p.decode(func(f *columnReader) error {
			for k := range f.destinations {
				l.observe(s, p, f, &f.destinations[k])
				cache.store(p, f, &f.destinations[k])
			}
			return nil
		})
		cache.check(p, l)
		return err
	})
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	if end == nil {
		rows := p.first - len(s.skipped)
		if s.rows >= 0 && rows != s.rows {
			return s.errChanged(rows, s.rows)
		}
		if s.rows = rows; rows == 0 {
			end = s.errNoRows()
		}
	}
	return l.err(end)
}

// eachWindow calls f for the rows of a pass, some at a time.
func (s *source) eachWindow(ctx context.Context, p *columnPass, f func() error) error {
	for {
		if n, err := p.next(ctx, chunk); n == 0 || err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// findUnlabeled finds the rows without a target.
func (s *source) findUnlabeled(ctx context.Context) error {
	l := s.layout
	feeds := s.columnReaders(func(j int) bool { return l.use[j] == target }, false)
	p, err := s.pass(ctx, feeds)
	if err != nil {
		return err
	}
	defer p.cursor.Close()
	var skipped []int
	err = s.eachWindow(ctx, p, func() error {
		lacking := make([]bool, p.rows*len(feeds))
		err := p.decode(func(f *columnReader) error {
			k := slices.Index(feeds, f)
			for i := range p.rows {
				lacking[k*p.rows+i] = s.isMissingAt(f, i)
			}
			return nil
		})
		for i := range p.rows {
			for k := range feeds {
				if lacking[k*p.rows+i] {
					skipped = append(skipped, p.first+i)
					break
				}
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	s.skipped, s.rows = skipped, p.first-len(skipped)
	if s.rows == 0 && len(s.skipped) > 0 {
		return fmt.Errorf("%s: column %s: %w in all %d rows", l.file, l.columns[l.targets[0]].Name, errNoTarget,
			len(s.skipped))
	}
	return nil
}

// isMissingAt reports whether decoded value i is missing.
func (s *source) isMissingAt(f *columnReader, i int) bool {
	code := f.values.code(i)
	if f.values.Numbers != nil && code < 0 {
		return math.IsNaN(f.values.Numbers[i*f.values.Step])
	}
	return code < 0 || s.isMissing(f.values.Dictionary.Strings[code])
}

// rowIndex returns the index of a row of the file among the rows that are not skipped, or -1.
func (s *source) rowIndex(row int) int {
	before, is := slices.BinarySearch(s.skipped, row)
	if is {
		return -1
	}
	return row - before
}

func (s *source) errNoRows() error {
	return fmt.Errorf("%s: %w", s.layout.file, rowsource.ErrNoRows)
}

func (s *source) errChanged(rows, before int) error {
	return fmt.Errorf("%s: the file has changed: it had %d rows in the first pass, now %d", s.layout.file, before, rows)
}

// InMemory returns the rows if they are in memory.
func (s *source) InMemory() (set datasets.Set, ok bool) {
	if s.inMemory == nil {
		return set, false
	}
	return *s.inMemory, true
}

// indexByName returns the index of each name.
func indexByName(names []string) map[string]int {
	out := make(map[string]int, len(names))
	for k, name := range names {
		out[name] = k
	}
	return out
}

func (s *source) Schema() datasets.Schema { return s.schema }

func (s *source) Dims() (rows, cols int) { return s.rows, len(s.schema.Columns) }

// assignCells determines where each field is stored.
func (s *source) assignCells() error {
	l := s.layout
	s.cells, s.textCols = make([]cell, len(l.columns)), nil
	for k, j := range l.inputs {
		c := s.schema.Columns[k]
		s.cells[j] = cell{use: input, at: k, codes: codes(c), unknownCode: datasets.Unknown, isText: c.Kind == datasets.Text}
		if s.cells[j].isText {
			s.textCols = append(s.textCols, k)
		}
	}
	if s.textCols != nil && l.sparse {
		return fmt.Errorf("%s: column %s must not be text: rows are sparse", l.file, s.schema.Columns[s.textCols[0]].Name)
	}
	for k, j := range l.targets {
		if k >= len(s.schema.Targets) || l.roles.Schema != nil && len(l.targets) != len(s.schema.Targets) {
			return fmt.Errorf("%s: must have %d targets as in the schema, got %d", l.file, len(s.schema.Targets), len(l.targets))
		}
		s.cells[j] = cell{use: target, at: k, codes: codes(s.schema.Targets[k]), unknownCode: datasets.Unknown}
		if len(l.roles.Positive) > 0 && s.cells[j].codes != nil {
			s.cells[j].codes, s.cells[j].unknownCode = map[string]float64{}, 0
			if all := s.schema.Targets[k].Categories; len(all) == 2 && all[0] != datasets.RestClass {
				s.cells[j].codes[all[0]], s.cells[j].unknownCode = 0, datasets.Unknown
			}
			for _, name := range l.roles.Positive {
				s.cells[j].codes[name] = 1
			}
		}
	}
	if l.weight >= 0 {
		s.cells[l.weight] = cell{use: weight}
	}
	if l.group >= 0 {
		s.cells[l.group] = cell{use: group}
	}
	s.matchSpellings()
	return s.checkImplicit()
}

// checkImplicit returns an error if a category that sparse rows omit does not have the code 0.
func (s *source) checkImplicit() error {
	l := s.layout
	for j, c := range s.cells {
		levels := l.columns[j].Categories
		if l.sparse && c.use == input && c.codes != nil && len(levels) > 0 && c.lookup([]byte(levels[0])) != 0 {
			return fmt.Errorf("%s: column %s: sparse rows omit category %q, the first in the file, which is not the first "+
				"in the schema", l.file, l.columns[j].Name, levels[0])
		}
	}
	return nil
}

// codes returns the code of every category, or nil for a numeric column.
func codes(c datasets.Column) map[string]float64 {
	if c.Kind != datasets.Categorical {
		return nil
	}
	out := make(map[string]float64, len(c.Categories))
	for code, name := range c.Categories {
		out[name] = float64(code)
	}
	for code, name := range c.Categories { // padded, unlike the rows that a reader of text has trimmed
		trimmed := strings.TrimSpace(name)
		if _, taken := out[trimmed]; !taken && trimmed != "" {
			out[trimmed] = float64(code)
		}
	}
	return out
}

// layoutForm returns the form of the columns, with dates replaced by their parts.
func (s *source) layoutForm(roles datasets.Roles) (Form, error) {
	dates, formats := roles.Dates, formatsOf(roles)
	out := Form{Name: s.form.Name, NoLines: true, FileLine: s.form.FileRow}
	if s.form.Text != nil {
		out = *s.form.Text
		if out.Columns = nil; out.Sparse && len(dates) > 0 {
			return out, fmt.Errorf("%s: dates: sparse rows must have only numbers and categories", out.Name)
		}
	}
	var errs []error
	s.form.Columns = slices.Clone(s.form.Columns)
	for k := range s.form.Columns {
		c := &s.form.Columns[k]
		if name := fmt.Sprintf("x%d", k); c.Name == "" && c.Type != Text { // as the CSV reader does
			for slices.ContainsFunc(s.form.Columns, func(c TypedColumn) bool { return c.Name == name }) {
				name += "_"
			}
			c.Name = name
		}
		date, is := dates[c.Name]
		if !is {
			own := Column{Name: c.Name, Declared: true}
			switch {
			case s.form.Text != nil:
				own = s.form.Text.Columns[k]
			case c.Type == Strings:
				own.Kind = datasets.Categorical
			}
			if formats[c.Name].Unit != "" && !out.Sparse {
				own.Declared, own.Kind, own.Categories = true, datasets.Numeric, nil
			}
			out.Columns = append(out.Columns, own)
			s.origins = append(s.origins, columnOrigin{column: k})
			continue
		}
		if err := date.Check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: dates: column %s: %w", out.Name, c.Name, err))
			continue
		}
		if c.Type != Times && c.Type != Strings && c.Type != Text {
			errs = append(errs, fmt.Errorf("%s: dates: column %s must have dates or strings, got type %s", out.Name, c.Name,
				c.TypeName))
			continue
		}
		for i, name := range date.Names(c.Name) {
			out.Columns = append(out.Columns, Column{Name: name, Date: c.Name, Declared: true, Kind: datasets.Numeric})
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

func (s *source) names() []string {
	var names []string
	for _, c := range s.form.Columns {
		names = append(names, c.Name)
	}
	return names
}

// checkTypes returns errors for used columns of unsupported types. If only column names are
// requested, all types are allowed.
func (s *source) checkTypes() error {
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
		case l.formats[j].Unit != "" && c.Type != Strings && c.Type != Text:
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
func (s *source) UnsupportedColumns() []rowsource.UnsupportedColumn {
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
func (s *source) WithoutInputs() datasets.Source {
	out := *s
	out.noInputs = true
	return &out
}

// SkippedRows returns the row numbers in the file of the skipped rows.
func (s *source) SkippedRows() []int { return s.skipped }

// columnReader reads one column of the file in one representation.
type columnReader struct {
	ColumnRequest
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
	step        int // between two numbers
	strings     []string
	copied      bool     // whether numbers are copied row by row
	row         int      // first row of entries
	entries     *[]entry // of a sparse input

	dictionary *Dictionary // the dictionary of strs
	strs       []seenString
}

// entry is a value of a sparse input.
type entry struct {
	row   int
	value float64
}

// columnReaders returns readers for the selected columns of the layout, and for the passthrough
// columns if kept.
func (s *source) columnReaders(selected func(j int) bool, kept bool) []*columnReader {
	var out []*columnReader
	at := map[ColumnRequest]int{}
	add := func(j int, as Type, o destination) {
		r := ColumnRequest{Column: s.origins[j].column, As: as, Input: s.layout.sparse && o.use == input && o.passthrough < 0}
		k, ok := at[r]
		if !ok {
			k, at[r] = len(out), len(out)
			out = append(out, &columnReader{ColumnRequest: r})
		}
		out[k].destinations = append(out[k].destinations, o)
	}
	for j, u := range s.layout.use {
		if u == dropped || !selected(j) {
			continue
		}
		o := destination{column: j, use: u, passthrough: -1}
		as := s.form.Columns[s.origins[j].column].Type
		kind, known := s.layout.kindOf(j)
		switch {
		case u == group || s.categorical(j):
			as = Strings
		case as == Text && (s.origins[j].date != nil || s.layout.formats[j].Unit != "" ||
			u == target && len(s.layout.suffix) > 0):
			as = Strings
		case as == Booleans, as == Text && (s.cells != nil || u == weight || known && kind == datasets.Numeric):
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
func (s *source) categorical(j int) bool {
	if s.cells != nil {
		return s.cells[j].codes != nil || s.cells[j].isText
	}
	kind, known := s.layout.kindOf(j)
	return known && kind != datasets.Numeric && (s.layout.use[j] == input || s.layout.use[j] == target)
}

// rowError returns an error about a row of the file.
func (s *source) rowError(row, line, j int, format string, args ...any) error {
	return &rowError{row: row, column: j, LineError: *s.layout.fieldError(line, j, format, args...)}
}

// skipsInvalid reports whether invalid rows are skipped.
func (s *source) skipsInvalid() bool { return s.form.Text != nil && s.layout.roles.OnInvalid != nil }

// rowError is an error with its row.
type rowError struct {
	datasets.LineError
	row, column int
}

func (f *rowError) Unwrap() error { return &f.LineError }

// isMissing reports whether a string denotes a missing value.
func (s *source) isMissing(t string) bool {
	if s.form.Text != nil { // the reader of the file has found them
		return false
	}
	return t == "" || (t[0] == 'N' || t[0] == 'n' || s.layout.roles.Schema != nil) && slices.Contains(s.missing, t)
}

// trimmed removes the suffix of a target.
func (s *source) trimmed(u use, t string) string {
	if u == target && len(s.layout.suffix) > 0 {
		return string(bytes.TrimSuffix([]byte(t), s.layout.suffix))
	}
	return t
}

// booleanSpellings are other spellings of booleans.
var booleanSpellings = map[string][]string{"false": {"False", "FALSE", "0"}, "true": {"True", "TRUE", "1"}}

// matchSpellings matches other spellings of categories: 3 and 3.0, and booleans.
func (s *source) matchSpellings() {
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
func (s *source) cell(j int) *cell {
	if s.cells == nil {
		return &cell{}
	}
	return &s.cells[j]
}

// lookup returns the code of a category, NaN if it is missing.
func (c *cell) lookup(level []byte) float64 {
	if level == nil {
		return math.NaN()
	}
	if code, ok := c.codes[string(level)]; ok {
		return code
	}
	if c.isBoolean {
		for _, as := range booleanSpellings[string(level)] {
			if code, ok := c.codes[as]; ok {
				return code
			}
		}
	}
	if c.values != nil {
		if v, ok := text.Number(level); ok && !structrows.IsRounded(level, v) {
			if code, ok := c.values[v]; ok {
				return code
			}
		}
	}
	if trimmed := bytes.TrimSpace(level); len(trimmed) > 0 && len(trimmed) < len(level) {
		return c.lookup(trimmed) // databases and typed files pad strings, readers of text trim them
	}
	return c.unknownCode
}

// parseTarget returns the target in a field, NaN if it is invalid and Unlabeled is set.
func (s *source) parseTarget(o *destination, field []byte) (float64, error) {
	c := s.cell(o.column)
	if c.codes == nil {
		if v, ok := s.layout.notation.Number(field); ok {
			return v, nil
		}
		if !s.layout.roles.Unlabeled {
			return 0, fmt.Errorf("%q is not a number", field)
		}
		return math.NaN(), nil
	}
	v := c.lookup(field)
	switch {
	case v != datasets.Unknown:
		return v, nil
	case s.layout.roles.Unlabeled:
		return math.NaN(), nil
	}
	return 0, fmt.Errorf("class must be one of the schema (%s), got %q", joinNames(s.schema.Targets[c.at].Categories),
		field)
}
