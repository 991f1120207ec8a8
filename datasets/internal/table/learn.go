package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rowsource"
	"github.com/bochner-ml/bochner/internal/textrows"
)

// maxCategories and maxCategoryBytes bound the categories of a column and the bytes of their names,
// and so the memory of the first pass. Tests lower them.
var (
	maxCategories    = 1 << 20
	maxCategoryBytes = 128 << 20
)

// numberThreshold is the share of numbers in a column above which other strings are errors.
const numberThreshold = 0.9

// SchemaLearner accumulates the content of columns: kinds, categories, missing values, errors.
// Consecutive parts of the records may be read separately and concurrently; merged in order, they
// give the result of one pass over all records. Since the kind of a column follows from all its
// values, a column in which strings appear after numbers needs a second pass for its categories
// ([SchemaLearner.Deferred], [SchemaLearner.SecondPass]).
//
// A SchemaLearner must not be used concurrently.
type SchemaLearner struct {
	roles       datasets.Roles
	form        Form
	layout      *layout        // nil before the first part
	previous    *SchemaLearner // state of the first pass; nil in the first pass
	coder       *source        // source whose schema encodes the records, if only content is determined
	files       []fileRows
	rows        int
	uncounted   int  // numeric rows not yet counted in columns
	numericOnly bool // whether rows may be counted in this way
	lines       int  // lines of the last file
	fileEnded   bool // whether the last file has been read completely
	columns     []columnStats
}

// fileRows is the range of rows of one file.
type fileRows struct {
	file  string
	first int
}

// columnStats is the content of one column.
type columnStats struct {
	values            int // records with a value
	missing           *occurrence
	unknown           *occurrence // first category that is not in the schema
	hasPositiveWeight bool        // whether a weight is positive
	numbers           int
	strs              int
	firstText         *occurrence // first string that is not a number
	collect           bool        // whether categories are collected
	partial           bool        // whether the categories of some records are missing
	categories        categories
	excess            *occurrence // first category above the limit
	firstErr          *occurrence // first other error
	errCount          int         // number of errors
}

// occurrence is a string in a record.
type occurrence struct {
	row, line int
	text      string
}

// categories lists the categories of a column in order of appearance.
type categories struct {
	codes map[string]int
	names []string
	rows  []int // rows of the first occurrences
	lines []int
	bytes int // of the names
}

// Begin returns the state before the first record of a file with columns in the given roles.
func Begin(roles datasets.Roles) *SchemaLearner { return &SchemaLearner{roles: roles, fileEnded: true} }

// SecondPass returns the initial state of a second pass over the same records, which collects the
// categories of the columns in Deferred.
func (l *SchemaLearner) SecondPass() *SchemaLearner {
	out := &SchemaLearner{roles: l.roles, previous: l, fileEnded: true}
	if l.layout != nil {
		out.setForm(l.form, l.layout)
	}
	return out
}

// setForm allocates the statistics for the columns of a form.
func (l *SchemaLearner) setForm(form Form, layout *layout) {
	l.form, l.layout = form, layout
	l.columns = make([]columnStats, len(layout.columns))
	for j := range l.columns {
		if l.coder != nil {
			break
		}
		if l.previous != nil {
			l.columns[j].collect = l.previous.isDeferred(j)
			continue
		}
		kind, known := layout.kindOf(j)
		l.columns[j].collect = known && kind != datasets.Numeric && (layout.use[j] == input || layout.use[j] == target)
	}
	l.updateNumericOnly()
}

// updateNumericOnly determines whether rows that contain only numbers can be counted without
// inspecting each column.
func (l *SchemaLearner) updateNumericOnly() {
	l.numericOnly = l.previous == nil && l.coder == nil && l.layout.numericOnly()
	for j := range l.columns {
		l.numericOnly = l.numericOnly && !l.columns[j].collect
	}
}

// newPart returns an empty state for later records of the same file.
func (l *SchemaLearner) newPart() *SchemaLearner {
	out := &SchemaLearner{roles: l.roles, previous: l.previous, coder: l.coder, files: []fileRows{{file: l.layout.file}}}
	out.setForm(l.form, l.layout)
	return out
}

// declared reports whether the file declares the categories of column j.
func (l *layout) declared(j int) bool {
	kind, known := l.kindOf(j)
	return known && kind == datasets.Categorical && l.columns[j].Categories != nil
}

// read adds all records of r.
func (l *SchemaLearner) read(ctx context.Context, r Reader, h *rowCache) error {
	l.files, l.fileEnded = []fileRows{{file: l.layout.file}}, true
	inner, ok := splittable(r)
	if !ok {
		defer l.flushCounts()
		return r.Records(ctx, func(rec *Record) error {
			l.add(rec, h.current())
			return nil
		})
	}
	l.fileEnded = false
	defer func() { l.fileEnded = true }()
	hints := partHints{collect: make([]bool, len(l.columns))}
	l.shareHints(&hints, h != nil)
	return readParts(ctx, inner, func() partResult {
		return &partStats{SchemaLearner: l.newPart(), hints: &hints, rows: h.newBlock()}
	}, func(w *partTask, before int) (lines int, err error) {
		part := w.result.(*partStats)
		lines, l.lines = w.lines, before
		if w.err != nil || !l.canMerge(part.SchemaLearner) {
			part.begin()
			lines, err = w.part.Records(ctx, before, part.add)
			l.lines = 0 // lines are counted from the first part
		}
		part.flushCounts()
		if err := l.Merge(part.SchemaLearner); err != nil {
			return lines, err
		}
		l.shareHints(&hints, h.join(l, part, w.part.Fraction()))
		return lines, err
	})
}

// partStats is the state of one part of the records, with its rows if they are stored.
type partStats struct {
	*SchemaLearner
	hints *partHints
	rows  *block
}

// partHints inform workers which columns are categorical and whether rows are stored.
type partHints struct {
	sync.Mutex
	collect []bool
	hold    bool
}

// shareHints updates the hints for later parts.
func (l *SchemaLearner) shareHints(h *partHints, hold bool) {
	h.Lock()
	defer h.Unlock()
	h.hold = hold
	for j := range l.columns {
		h.collect[j] = l.columns[j].collect
	}
}

func (p *partStats) begin() {
	p.hints.Lock()
	defer p.hints.Unlock()
	p.SchemaLearner.rows, p.uncounted = 0, 0
	for j := range p.columns {
		c := &p.columns[j]
		levels := c.categories
		clear(levels.codes)
		levels.names, levels.rows, levels.lines = levels.names[:0], levels.rows[:0], levels.lines[:0]
		*c = columnStats{collect: p.hints.collect[j], categories: levels}
	}
	p.updateNumericOnly()
	if !p.hints.hold {
		p.rows = nil
	}
	if p.rows != nil {
		p.rows.reset()
	}
}

func (p *partStats) add(rec *Record) error {
	p.SchemaLearner.add(rec, p.rows)
	return nil
}

// canMerge reports whether a part has collected all categories of categorical columns.
func (l *SchemaLearner) canMerge(part *SchemaLearner) bool {
	for j := range l.columns {
		if o := &part.columns[j]; l.columns[j].collect && !o.collect && o.numbers > 0 {
			return false
		}
	}
	return true
}

// Rows returns the number of records.
func (l *SchemaLearner) Rows() int { return l.rows }

// add adds a record, and encodes it as the next row of b unless b is nil.
func (l *SchemaLearner) add(rec *Record, b *block) {
	if l.numericOnly && rec.Numbers != nil {
		if b == nil && l.layout.allParsed(rec) || b != nil && b.addNumbers(rec) {
			l.rows++
			l.uncounted++
			return
		}
	}
	l.flushCounts()
	if b != nil {
		b.begin(rec)
	}
	for k, field := range rec.Fields {
		j := k
		if rec.Columns != nil {
			j = rec.Columns[k]
		}
		if l.layout.use[j] == dropped {
			continue
		}
		if l.previous != nil {
			l.collect(j, rec.Line, field)
			continue
		}
		if l.coder != nil {
			l.check(j, k, rec)
			continue
		}
		if b == nil && field != nil && l.layout.kinds[j] == datasets.Text && !l.layout.formats[j].HasCategories() {
			l.columns[j].values++ // of text only rows that are stored need its strings
			l.columns[j].checkEncoding(l.rows, rec.Line, field)
			continue
		}
		v := l.observe(j, k, rec)
		if b != nil {
			b.put(&b.cells[j], v, field)
		}
	}
	if l.rows++; b != nil {
		b.rows++
	}
}

// flushCounts adds the uncounted rows to the columns.
func (l *SchemaLearner) flushCounts() {
	if l.uncounted == 0 {
		return
	}
	for j := range l.columns {
		if l.layout.use[j] != dropped {
			l.columns[j].values += l.uncounted
			l.columns[j].numbers += l.uncounted
		}
	}
	l.uncounted = 0
}

// collect adds the category in a field.
func (l *SchemaLearner) collect(j, line int, field []byte) {
	c := &l.columns[j]
	if field == nil || !c.collect {
		return
	}
	if l.layout.use[j] == target {
		field = bytes.TrimSuffix(field, l.layout.suffix)
	}
	c.addCategory(l.rows, line, field)
}

// observe adds field k of a record, which is in column j. It returns the number in it, or the code
// of its category in order of appearance.
func (l *SchemaLearner) observe(j, k int, rec *Record) float64 {
	c, use, field := &l.columns[j], l.layout.use[j], rec.Fields[k]
	if use != input {
		if err := l.layout.checkRequired(j, field); err != nil {
			c.addError(l.rows, rec.Line, err.Error())
			return 0
		}
	}
	if field == nil {
		if c.missing == nil {
			c.missing = &occurrence{row: l.rows, line: rec.Line}
		}
		return math.NaN()
	}
	c.values++
	if use == group {
		if c.collect {
			c.addCategory(l.rows, rec.Line, field)
		}
		return 0
	}
	simple := use != target || len(l.layout.suffix) == 0
	if !simple {
		field = bytes.TrimSuffix(field, l.layout.suffix)
	}
	if c.collect {
		return l.observeCategory(j, rec.Line, field)
	}
	v, ok := 0.0, false
	if simple {
		v, ok = l.layout.number(rec, k)
	} else {
		v, ok = l.layout.notation.Number(field)
	}
	switch {
	case use == weight:
		c.hasPositiveWeight = c.hasPositiveWeight || v > 0
	case ok:
		c.numbers++
	default:
		return l.observeText(j, rec.Line, field)
	}
	return v
}

// observeText adds a string to a column that is not known to be categorical.
func (l *SchemaLearner) observeText(j, line int, field []byte) float64 {
	c := &l.columns[j]
	if _, known := l.layout.kindOf(j); known {
		c.strs++
		c.addError(l.rows, line, l.layout.notNumber(j, field))
		return 0
	}
	if c.strs == 0 && c.numbers == 0 {
		c.collect, l.numericOnly = true, false
		return l.observeCategory(j, line, field)
	}
	c.addText(l.rows, line, field)
	return 0
}

// addText counts a string.
func (c *columnStats) addText(row, line int, field []byte) {
	if c.strs++; c.strs == 1 {
		c.firstText = &occurrence{row, line, string(field)}
	}
}

// observeCategory adds a value to a column that collects categories. It also counts numbers if the
// kind is inferred, since earlier records may contain numbers.
func (l *SchemaLearner) observeCategory(j, line int, field []byte) float64 {
	c := &l.columns[j]
	if _, known := l.layout.kindOf(j); !known {
		if _, ok := l.layout.notation.Number(field); ok {
			c.numbers++
		} else {
			c.addText(l.rows, line, field)
		}
	}
	return float64(c.addCategory(l.rows, line, field))
}

// notNumber returns the error about a string in a numeric column.
func (l *layout) notNumber(j int, field []byte) string {
	if l.use[j] == target && l.roles.Task == datasets.Regression {
		return fmt.Sprintf("%q is not a number, and the task is regression", field)
	}
	return fmt.Sprintf("%q is not a number", field)
}

// addError adds an error.
func (c *columnStats) addError(row, line int, what string) {
	if c.errCount++; c.firstErr == nil {
		c.firstErr = &occurrence{row, line, what}
	}
}

// addCategory adds a category and returns its code. It records the first category above the limit
// and ignores the others.
func (c *columnStats) addCategory(row, line int, field []byte) int {
	if code, ok := c.categories.codes[string(field)]; ok {
		return code
	}
	switch {
	case !c.checkEncoding(row, line, field):
	case c.excess != nil:
	case c.categories.exceeds(len(field)):
		c.excess = &occurrence{row: row, line: line}
	default:
		c.categories.add(row, line, string(field))
		return len(c.categories.names) - 1
	}
	return 0
}

// checkEncoding adds an error and returns false if a string is not UTF-8.
func (c *columnStats) checkEncoding(row, line int, field []byte) bool {
	if utf8.Valid(field) {
		return true
	}
	c.addError(row, line, fmt.Sprintf("%q is not UTF-8", field))
	return false
}

// exceeds reports whether another name of the given length is above a limit.
func (l *categories) exceeds(length int) bool {
	return len(l.names) >= maxCategories || l.bytes+length > maxCategoryBytes
}

func (l *categories) add(row, line int, name string) {
	if l.codes == nil {
		l.codes = map[string]int{}
	}
	l.codes[name], l.bytes = len(l.names), l.bytes+len(name)
	l.names, l.rows, l.lines = append(l.names, name), append(l.rows, row), append(l.lines, line)
}

// Merge adds the state of the records after those of l, and does not modify other. Both must be the
// same pass over the same columns, which may be in another order in other files.
func (l *SchemaLearner) Merge(other *SchemaLearner) error {
	if other.layout == nil {
		return nil
	}
	if l.layout == nil {
		l.setForm(other.form, other.layout)
	}
	order, err := l.match(other)
	if err != nil {
		return err
	}
	from := partOffset{rows: l.rows}
	files := other.files
	if !l.fileEnded { // other continues the same file
		from.lines, from.untilRow = l.lines, other.rows
		if files = files[1:]; len(files) > 0 {
			from.untilRow = files[0].first
		}
	}
	for _, f := range files {
		l.files = append(l.files, fileRows{f.file, l.rows + f.first})
	}
	for j := range l.columns {
		at := j
		if order != nil {
			at = order[j]
		}
		l.columns[j].merge(&other.columns[at], from)
	}
	l.rows += other.rows
	if l.fileEnded = other.fileEnded; len(files) == 0 {
		l.lines += other.lines
	} else {
		l.lines = other.lines
	}
	return nil
}

// match finds the columns of l in other; nil means the same order. It adds categories that only
// other declares.
func (l *SchemaLearner) match(other *SchemaLearner) (order []int, err error) {
	if l.layout == other.layout {
		return nil, nil
	}
	if (l.previous == nil) != (other.previous == nil) {
		return nil, fmt.Errorf("%s: another reading than that of %s", other.form.Name, l.form.Name)
	}
	s := multiFile{form: l.form, order: make([][]int, 1)}
	s.form.Columns = slices.Clone(l.form.Columns)
	if err := s.match(0, other.form, l.form.Name); err != nil {
		return nil, err
	}
	at, err := arrange(s.form, l.roles)
	if err != nil {
		return nil, err
	}
	l.form, l.layout = s.form, at
	return s.order[0], nil
}

// partOffset is the position of a part: its first row, and the line offset of its rows before
// untilRow.
type partOffset struct{ rows, lines, untilRow int }

func (s partOffset) at(row, line int) (int, int) {
	if row < s.untilRow {
		line += s.lines
	}
	return s.rows + row, line
}

// orElse returns n, or else o, an occurrence in a later part.
func (n *occurrence) orElse(o *occurrence, s partOffset) *occurrence {
	if n != nil || o == nil {
		return n
	}
	row, line := s.at(o.row, o.line)
	return &occurrence{row, line, o.text}
}

// merge adds the statistics of a later part.
func (c *columnStats) merge(o *columnStats, s partOffset) {
	quiet := c.numbers+c.strs == 0 && !c.collect // no value so far
	c.values, c.numbers, c.strs, c.errCount = c.values+o.values, c.numbers+o.numbers, c.strs+o.strs, c.errCount+o.errCount
	c.hasPositiveWeight = c.hasPositiveWeight || o.hasPositiveWeight
	c.missing, c.unknown = c.missing.orElse(o.missing, s), c.unknown.orElse(o.unknown, s)
	c.firstText, c.firstErr = c.firstText.orElse(o.firstText, s), c.firstErr.orElse(o.firstErr, s)
	switch {
	case c.partial:
		return
	case quiet:
		c.collect, c.partial = o.collect, o.partial
	case !c.collect:
		return
	case o.partial, !o.collect && o.numbers > 0: // the part treated numbers as numeric values
		c.partial, c.categories, c.excess = true, categories{}, nil
		return
	}
	if !o.collect || o.partial {
		return
	}
	for k, name := range o.categories.names {
		if _, ok := c.categories.codes[name]; ok || c.excess != nil {
			continue
		}
		row, line := s.at(o.categories.rows[k], o.categories.lines[k])
		if c.categories.exceeds(len(name)) {
			c.excess = &occurrence{row: row, line: line}
			break
		}
		c.categories.add(row, line, name)
	}
	c.excess = c.excess.orElse(o.excess, s)
}

// isDeferred reports whether the categories of column j need a second pass.
func (l *SchemaLearner) isDeferred(j int) bool {
	c := &l.columns[j]
	return c.partial || c.strs > 0 && !c.collect && c.firstErr == nil && l.numberShare(j) < numberThreshold
}

// Deferred returns the names of the columns whose categories need a second pass.
func (l *SchemaLearner) Deferred() []string {
	var names []string
	for j := range l.columns {
		if l.isDeferred(j) {
			names = append(names, l.layout.columns[j].Name)
		}
	}
	return names
}

// err returns the first error of each column in order of lines, joined with end, the error that
// closedCursor the pass.
func (l *SchemaLearner) err(end error) error {
	var all []occurrence
	for j := range l.columns {
		n, more := l.columns[j].report(l, j, end == nil)
		if n == nil {
			continue
		}
		at := occurrence{n.row, n.line, "column " + l.layout.columns[j].Name + ": " + n.text}
		if more > 0 {
			at.text += fmt.Sprintf(" (and %d more in this column)", more)
		}
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return cmp.Compare(a.row, b.row) })
	var out []error
	for _, n := range all {
		if l.form.NoLines {
			out = append(out, l.form.lineError(n.line, errors.New(n.text)))
			continue
		}
		at := l.position(&n)
		out = append(out, &datasets.LineError{File: at.File, Line: at.Line, Err: errors.New(n.text)})
	}
	if end != nil {
		out = append(out, end)
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

// report returns the first error of column j, or nil, and the number of other errors.
func (c *columnStats) report(l *SchemaLearner, j int, whole bool) (first *occurrence, more int) {
	switch {
	case c.excess != nil && l.layout.use[j] != group && (!l.isText(j) || l.layout.formats[j].HasCategories()):
		limit := fmt.Sprintf("must have at most %d categories", maxCategories)
		if len(c.categories.names) < maxCategories {
			limit = fmt.Sprintf("names of categories must have at most %d bytes in all", maxCategoryBytes)
		}
		over := &occurrence{c.excess.row, c.excess.line, limit + "; drop the column"}
		if c.firstErr == nil || over.row < c.firstErr.row {
			return over, c.errCount
		}
		return c.firstErr, c.errCount
	case c.firstErr != nil:
		return c.firstErr, c.errCount - 1
	case l.layout.use[j] == weight && !c.hasPositiveWeight && whole && l.previous == nil && l.coder == nil:
		return &occurrence{row: -1, text: "weights must not all be 0"}, 0
	case c.strs > 0 && !c.collect && l.numberShare(j) >= numberThreshold:
		return &occurrence{c.firstText.row, c.firstText.line, fmt.Sprintf(
			"%q is not a number, though %.4g %% of the values are; if it denotes a missing value, add it to missing; if the "+
				"column is text, set kinds: {%s: categorical}",
			c.firstText.text, 100*l.numberShare(j), l.layout.columns[j].Name)}, 0
	}
	return nil, 0
}

// numberShare returns the share of numbers among the values of a column.
func (l *SchemaLearner) numberShare(j int) float64 {
	c := &l.columns[j]
	return float64(c.numbers) / float64(c.numbers+c.strs)
}

// position returns the position of an occurrence.
func (l *SchemaLearner) position(n *occurrence) datasets.Position {
	if l.form.FileLine != nil || l.form.NoLines {
		return l.form.position(n.row, n.line)
	}
	k := len(l.files) - 1
	for k > 0 && l.files[k].first > n.row {
		k--
	}
	return datasets.Position{Row: n.row, File: l.files[k].file, Line: n.line}
}

// Schema returns the schema, or all errors. Columns in Deferred need a second pass first.
func (l *SchemaLearner) Schema() (s datasets.Schema, err error) {
	if l.rows == 0 && l.layout != nil && l.previous == nil {
		err = fmt.Errorf("%s: %w", l.layout.file, rowsource.ErrNoRows)
	}
	if err := l.err(err); err != nil {
		return s, err
	}
	switch late := l.Deferred(); {
	case l.layout == nil:
		return s, datasets.ErrEmpty
	case l.previous != nil && l.previous.rows != l.rows:
		return s, fmt.Errorf("%s: the file has changed: it had %d rows in the first pass, now %d", l.layout.file,
			l.previous.rows, l.rows)
	case l.previous == nil && len(late) > 0:
		return s, fmt.Errorf("%s: column %s: text comes after numbers; read the rows again for the categories", l.layout.file,
			joinNames(late))
	}
	s, err = l.layout.schema(l)
	s.Missing = l.form.Missing
	return s, err
}

// categories returns the categories of column j, false for a numeric column.
func (l *SchemaLearner) categories(j int) ([]string, bool) {
	c := &l.columns[j]
	if l.previous != nil && !c.collect {
		return l.previous.categories(j)
	}
	if l.layout.declared(j) {
		return l.layout.columns[j].Categories, true
	}
	if !c.collect {
		return nil, false
	}
	return sorted(c.categories.names, l.layout.notation), true
}

// isText reports whether column j is text: because of the roles, or inferred from its different values, as far as they
// are stored.
func (l *SchemaLearner) isText(j int) bool {
	c := &l.columns[j]
	if l.layout.use[j] != input || l.layout.sparse || l.coder != nil {
		return false
	}
	if kind, given := l.layout.kinds[j]; given {
		return kind == datasets.Text
	}
	values := c.values
	if l.previous != nil {
		if !c.collect {
			return l.previous.isText(j)
		}
		values = l.previous.columns[j].values
	}
	if !c.collect || l.layout.columns[j].Categories != nil {
		return false
	}
	if c.excess != nil {
		values = c.excess.row
	}
	var content textrows.Content
	for _, name := range c.categories.names {
		content.Add(name)
	}
	return content.LooksLikeText(values)
}

// content returns the content of the inputs.
func (l *SchemaLearner) content() []datasets.ColumnContent {
	if l.previous != nil {
		return l.previous.content()
	}
	var out []datasets.ColumnContent
	for _, j := range l.layout.inputs {
		c := &l.columns[j]
		held := datasets.ColumnContent{Empty: c.values == 0 && !l.layout.sparse}
		if c.missing != nil {
			at := l.position(c.missing)
			held.Missing = &at
		}
		if c.unknown != nil {
			at := l.position(c.unknown)
			held.Unknown = &at
		}
		out = append(out, held)
	}
	return out
}

// schema returns the schema that was learned.
func (l *layout) schema(learned *SchemaLearner) (datasets.Schema, error) {
	var s datasets.Schema
	column := func(j int) datasets.Column {
		c := datasets.Column{Name: l.columns[j].Name, Format: l.formats[j]}
		if learned.isText(j) {
			c.Kind = datasets.Text
			if names, ok := learned.categories(j); ok && c.Format.HasCategories() {
				c.Categories = labelsOf(c.Format, names)
			}
		} else if names, ok := learned.categories(j); ok {
			c.Kind, c.Categories = datasets.Categorical, names
		}
		return c
	}
	for _, j := range l.inputs {
		s.Columns = append(s.Columns, column(j))
	}
	for _, j := range l.targets {
		c := column(j)
		if c.Kind == datasets.Categorical && len(l.targets) > 1 && l.roles.Task != datasets.MultiLabel {
			return s, fmt.Errorf("%s: target %q is categorical; several targets must be numeric, or labels of the task "+
				"multilabel", l.file, c.Name)
		}
		if c.Kind == datasets.Categorical && len(l.roles.Positive) > 0 {
			for _, p := range l.roles.Positive {
				// the training rows may contain no anomaly
				if !slices.Contains(c.Categories, p) && l.roles.Task != datasets.Anomaly {
					return s, fmt.Errorf("%s: positive: target %q has no category %q; it has %s", l.file, c.Name, p,
						joinNames(c.Categories))
				}
			}
			c.Categories = l.roles.PositiveClasses(c.Categories)
		}
		if l.roles.Task == datasets.MultiLabel && len(c.Categories) != 2 {
			return s, fmt.Errorf("%s: label %q must have two values, such as 0 and 1, got %d: %s", l.file, c.Name,
				len(c.Categories), joinNames(c.Categories))
		}
		s.Targets = append(s.Targets, c)
	}
	if len(l.roles.Positive) > 0 && len(l.targets) == 0 {
		return s, errors.New(l.file + ": positive: there is no target")
	}
	return s, nil
}

// sorted returns categories by value if all are numbers, else by name.
func sorted(levels []string, notation text.Notation) []string {
	type level struct {
		name  string
		value float64
	}
	all := make([]level, 0, len(levels))
	numbers := true
	for _, name := range levels {
		v, ok := notation.Number([]byte(name))
		numbers = numbers && ok
		all = append(all, level{name, v})
	}
	slices.SortFunc(all, func(a, b level) int {
		if numbers && a.value != b.value {
			return cmp.Compare(a.value, b.value)
		}
		return cmp.Compare(a.name, b.name)
	})
	out := make([]string, len(all))
	for k := range all {
		out[k] = all[k].name
	}
	return out
}

// labelsOf returns the different labels of strings in order.
func labelsOf(f datasets.Format, strs []string) []string {
	var out []string
	for _, text := range strs {
		out = append(out, f.Labels(text)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
