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
)

// maxLevels bounds the categories of one column, and so the memory that learning takes; a test lowers it.
var maxLevels = 1 << 20

// mostly is the share of numbers from which on a string in a column is taken for a fault.
const mostly = 0.9

// Learned is what records say about their columns: the kind of each, its categories, whether values are
// missing, what is wrong. Consecutive parts of the records may be read separately, in several goroutines or
// on several machines; merged in their order they have learned what one reading of all has. The kind of a
// column of which nobody has said it follows from all of its values, so that the categories of one in which
// text comes after numbers are left to another reading ([Learned.Late], [Learned.Again]).
//
// A Learned is for one goroutine at a time.
type Learned struct {
	roles   datasets.Roles
	form    Form
	layout  *layout  // nil before the first part
	before  *Learned // what an earlier reading has learned; nil in the first one
	coded   *source  // whose schema the records have, and of which nothing else is learned; nil where there is none
	files   []stretch
	rows    int
	plain   int  // of the rows, those of numbers only that the columns do not count yet
	simple  bool // whether there may be such rows
	lines   int  // of the last file
	ended   bool // whether the last file was read to its end
	columns []finding
}

// stretch is the rows of one file, from the first to that of the next.
type stretch struct {
	file  string
	first int
}

// finding is what the records say about one column.
type finding struct {
	values  int // records that have a value
	missing *note
	unknown *note // the first category that is not in the schema, where there is one
	weights bool  // whether a weight is above 0
	numbers int
	texts   int
	first   *note // the first text
	collect bool  // whether categories are collected
	partial bool  // whether those of some records are lacking
	levels  levels
	over    *note // the first category of too many
	fault   *note // the first one beside that
	more    int   // faults
}

// note is a string about a record.
type note struct {
	row, line int
	text      string
}

// levels are the categories of a column, in order of appearance.
type levels struct {
	codes map[string]int
	names []string
	rows  []int // in which they come first
	lines []int
}

// Begin returns what is learned of no records, whose columns will have the roles.
func Begin(roles datasets.Roles) *Learned { return &Learned{roles: roles, ended: true} }

// Again returns what another reading of the same records begins with, which collects the categories of the
// columns that are Late.
func (l *Learned) Again() *Learned {
	out := &Learned{roles: l.roles, before: l, ended: true}
	if l.layout != nil {
		out.arrange(l.form, l.layout)
	}
	return out
}

// arrange makes room for the columns of the form.
func (l *Learned) arrange(form Form, layout *layout) {
	l.form, l.layout = form, layout
	l.columns = make([]finding, len(layout.columns))
	for j := range l.columns {
		if l.coded != nil {
			break
		}
		if l.before != nil {
			l.columns[j].collect = l.before.late(j)
			continue
		}
		kind, known := layout.kindOf(j)
		l.columns[j].collect = known && kind == datasets.Categorical && (layout.use[j] == input || layout.use[j] == target)
	}
	l.look()
}

// look finds out whether rows of numbers only need no look at each column.
func (l *Learned) look() {
	l.simple = l.before == nil && l.coded == nil && l.layout.quantities()
	for j := range l.columns {
		l.simple = l.simple && !l.columns[j].collect
	}
}

// part returns what is learned of no records behind those of l, if it is about the form of the same file.
func (l *Learned) part() *Learned {
	out := &Learned{roles: l.roles, before: l.before, coded: l.coded, files: []stretch{{file: l.layout.file}}}
	out.arrange(l.form, l.layout)
	return out
}

// declared reports whether the file lists the categories of column j.
func (l *layout) declared(j int) bool {
	kind, known := l.kindOf(j)
	return known && kind == datasets.Categorical && l.columns[j].Levels != nil
}

// read adds all records of r.
func (l *Learned) read(ctx context.Context, r Reader, h *held) error {
	l.files, l.ended = []stretch{{file: l.layout.file}}, true
	inner, ok := parted(r)
	if !ok {
		defer l.settle()
		return r.Records(ctx, func(rec *Record) error {
			l.add(rec, h.block())
			return nil
		})
	}
	l.ended = false
	defer func() { l.ended = true }()
	hints := hints{collect: make([]bool, len(l.columns))}
	l.hint(&hints, h != nil)
	return inTurn(ctx, inner, func() share { return &lesson{Learned: l.part(), hints: &hints, rows: h.part()} }, func(w *worked, before int) (lines int, err error) {
		part := w.share.(*lesson)
		lines, l.lines = w.lines, before
		if w.err != nil || !l.ready(part.Learned) {
			part.begin()
			lines, err = w.part.Records(ctx, before, part.add)
			l.lines = 0 // they are counted from the first of all
		}
		part.settle()
		if err := l.Merge(part.Learned); err != nil {
			return lines, err
		}
		l.hint(&hints, h.join(l, part, w.part.Share()))
		return lines, err
	})
}

// lesson is what a part of the records has taught, and its rows where they are held.
type lesson struct {
	*Learned
	hints *hints
	rows  *block
}

// hints say which columns are known to be categorical, and whether rows are held.
type hints struct {
	sync.Mutex
	collect []bool
	hold    bool
}

// hint tells what the parts to come should know.
func (l *Learned) hint(h *hints, hold bool) {
	h.Lock()
	defer h.Unlock()
	h.hold = hold
	for j := range l.columns {
		h.collect[j] = l.columns[j].collect
	}
}

func (p *lesson) begin() {
	p.hints.Lock()
	defer p.hints.Unlock()
	p.Learned.rows, p.plain = 0, 0
	for j := range p.columns {
		c := &p.columns[j]
		levels := c.levels
		clear(levels.codes)
		levels.names, levels.rows, levels.lines = levels.names[:0], levels.rows[:0], levels.lines[:0]
		*c = finding{collect: p.hints.collect[j], levels: levels}
	}
	p.look()
	if !p.hints.hold {
		p.rows = nil
	}
	if p.rows != nil {
		p.rows.forget()
	}
}

func (p *lesson) add(rec *Record) error {
	p.Learned.add(rec, p.rows)
	return nil
}

// ready reports whether a part has collected all categories of columns that are categorical.
func (l *Learned) ready(part *Learned) bool {
	for j := range l.columns {
		if o := &part.columns[j]; l.columns[j].collect && !o.collect && o.numbers > 0 {
			return false
		}
	}
	return true
}

// Rows returns the number of records.
func (l *Learned) Rows() int { return l.rows }

// add takes note of a record, and codes it as the next row of b, where that is not nil.
func (l *Learned) add(rec *Record, b *block) {
	if l.simple && rec.Numbers != nil {
		if b == nil && l.layout.allNumbers(rec) || b != nil && b.addNumbers(rec) {
			l.rows++
			l.plain++
			return
		}
	}
	l.settle()
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
		if l.before != nil {
			l.collect(j, rec.Line, field)
			continue
		}
		if l.coded != nil {
			l.check(j, k, rec)
			continue
		}
		v := l.see(j, k, rec)
		if b != nil {
			b.put(&b.cells[j], v, field)
		}
	}
	if l.rows++; b != nil {
		b.rows++
	}
}

// settle counts in the columns what was left to be counted.
func (l *Learned) settle() {
	if l.plain == 0 {
		return
	}
	for j := range l.columns {
		if l.layout.use[j] != dropped {
			l.columns[j].values += l.plain
			l.columns[j].numbers += l.plain
		}
	}
	l.plain = 0
}

// collect takes note of the category in a field.
func (l *Learned) collect(j, line int, field []byte) {
	c := &l.columns[j]
	if field == nil || !c.collect {
		return
	}
	if l.layout.use[j] == target {
		field = bytes.TrimSuffix(field, l.layout.suffix)
	}
	c.add(l.rows, line, field)
}

// see takes note of field k of a record, which is in column j, and returns the number in it, or the code of its
// category in order of appearance.
func (l *Learned) see(j, k int, rec *Record) float64 {
	c, use, field := &l.columns[j], l.layout.use[j], rec.Fields[k]
	if use != input {
		if err := l.layout.lacks(j, field); err != nil {
			c.wrong(l.rows, rec.Line, err.Error())
			return 0
		}
	}
	if field == nil {
		if c.missing == nil {
			c.missing = &note{row: l.rows, line: rec.Line}
		}
		return math.NaN()
	}
	c.values++
	if use == group {
		if c.collect {
			c.add(l.rows, rec.Line, field)
		}
		return 0
	}
	simple := use != target || len(l.layout.suffix) == 0
	if !simple {
		field = bytes.TrimSuffix(field, l.layout.suffix)
	}
	if c.collect {
		return l.category(j, rec.Line, field)
	}
	v, ok := 0.0, false
	if simple {
		v, ok = l.layout.number(rec, k)
	} else {
		v, ok = l.layout.numbers.Number(field)
	}
	switch {
	case use == weight:
		c.weights = c.weights || v > 0
	case ok:
		c.numbers++
	default:
		return l.text(j, rec.Line, field)
	}
	return v
}

// text takes note of a string in a column that is not known to be categorical.
func (l *Learned) text(j, line int, field []byte) float64 {
	c := &l.columns[j]
	if _, known := l.layout.kindOf(j); known {
		c.texts++
		c.wrong(l.rows, line, l.layout.noQuantity(j, field))
		return 0
	}
	if c.texts == 0 && c.numbers == 0 {
		c.collect, l.simple = true, false
		return l.category(j, line, field)
	}
	c.text(l.rows, line, field)
	return 0
}

// text counts a string.
func (c *finding) text(row, line int, field []byte) {
	if c.texts++; c.texts == 1 {
		c.first = &note{row, line, string(field)}
	}
}

// category takes note of a value in a column of categories. Where nobody has said that it is one, numbers are
// counted as well: the records before may be of numbers.
func (l *Learned) category(j, line int, field []byte) float64 {
	c := &l.columns[j]
	if _, known := l.layout.kindOf(j); !known {
		if _, ok := l.layout.numbers.Number(field); ok {
			c.numbers++
		} else {
			c.text(l.rows, line, field)
		}
	}
	return float64(c.add(l.rows, line, field))
}

// noQuantity says what is wrong with a string in a column that is to be numeric.
func (l *layout) noQuantity(j int, field []byte) string {
	if l.use[j] == target && l.roles.Task == datasets.Regression {
		return fmt.Sprintf("%q is not a number, and the task is regression", field)
	}
	return fmt.Sprintf("%q is not a number", field)
}

// wrong takes note of a fault.
func (c *finding) wrong(row, line int, what string) {
	if c.more++; c.fault == nil {
		c.fault = &note{row, line, what}
	}
}

// add takes note of a category and returns its code. The first of too many is told, and no other is looked at.
func (c *finding) add(row, line int, field []byte) int {
	if code, ok := c.levels.codes[string(field)]; ok {
		return code
	}
	switch {
	case !utf8.Valid(field):
		c.wrong(row, line, fmt.Sprintf("%q is not UTF-8", field))
	case len(c.levels.names) < maxLevels:
		c.levels.add(row, line, string(field))
		return len(c.levels.names) - 1
	case c.over == nil:
		c.over = &note{row: row, line: line}
	}
	return 0
}

func (l *levels) add(row, line int, name string) {
	if l.codes == nil {
		l.codes = map[string]int{}
	}
	l.codes[name] = len(l.names)
	l.names, l.rows, l.lines = append(l.names, name), append(l.rows, row), append(l.lines, line)
}

// Merge adds what was learned of the records behind those of l, and leaves other as it is. Both are the
// same reading of the same columns, which files may have in different orders.
func (l *Learned) Merge(other *Learned) error {
	if other.layout == nil {
		return nil
	}
	if l.layout == nil {
		l.arrange(other.form, other.layout)
	}
	order, err := l.match(other)
	if err != nil {
		return err
	}
	from := shift{rows: l.rows}
	files := other.files
	if !l.ended { // it goes on with the same file
		from.lines, from.until = l.lines, other.rows
		if files = files[1:]; len(files) > 0 {
			from.until = files[0].first
		}
	}
	for _, f := range files {
		l.files = append(l.files, stretch{f.file, l.rows + f.first})
	}
	for j := range l.columns {
		at := j
		if order != nil {
			at = order[j]
		}
		l.columns[j].merge(&other.columns[at], from)
	}
	l.rows += other.rows
	if l.ended = other.ended; len(files) == 0 {
		l.lines += other.lines
	} else {
		l.lines = other.lines
	}
	return nil
}

// match finds the columns of l in other; nil is the same order. Levels that only other declares are added.
func (l *Learned) match(other *Learned) (order []int, err error) {
	if l.layout == other.layout {
		return nil, nil
	}
	if (l.before == nil) != (other.before == nil) {
		return nil, fmt.Errorf("%s: another reading than that of %s", other.form.Name, l.form.Name)
	}
	s := several{form: l.form, order: make([][]int, 1)}
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

// shift says where the records of a part are among all: behind so many rows, and up to a row behind so many
// lines of the same file.
type shift struct{ rows, lines, until int }

func (s shift) at(row, line int) (int, int) {
	if row < s.until {
		line += s.lines
	}
	return s.rows + row, line
}

// or returns n, or else the note of the part behind it.
func (n *note) or(o *note, s shift) *note {
	if n != nil || o == nil {
		return n
	}
	row, line := s.at(o.row, o.line)
	return &note{row, line, o.text}
}

// merge adds what the part behind has found.
func (c *finding) merge(o *finding, s shift) {
	quiet := c.numbers+c.texts == 0 && !c.collect // as if nothing had been read
	c.values, c.numbers, c.texts, c.more = c.values+o.values, c.numbers+o.numbers, c.texts+o.texts, c.more+o.more
	c.weights = c.weights || o.weights
	c.missing, c.unknown = c.missing.or(o.missing, s), c.unknown.or(o.unknown, s)
	c.first, c.fault = c.first.or(o.first, s), c.fault.or(o.fault, s)
	switch {
	case c.partial:
		return
	case quiet:
		c.collect, c.partial = o.collect, o.partial
	case !c.collect:
		return
	case o.partial, !o.collect && o.numbers > 0: // the part did not know that numbers are categories here
		c.partial, c.levels, c.over = true, levels{}, nil
		return
	}
	if !o.collect || o.partial {
		return
	}
	for k, name := range o.levels.names {
		if _, ok := c.levels.codes[name]; ok || c.over != nil {
			continue
		}
		row, line := s.at(o.levels.rows[k], o.levels.lines[k])
		if len(c.levels.names) == maxLevels {
			c.over = &note{row: row, line: line}
			break
		}
		c.levels.add(row, line, name)
	}
	c.over = c.over.or(o.over, s)
}

// late reports whether the categories of column j are left to another reading.
func (l *Learned) late(j int) bool {
	c := &l.columns[j]
	return c.partial || c.texts > 0 && !c.collect && c.fault == nil && l.share(j) < mostly
}

// Late returns the names of the columns whose categories are left to another reading, in which text comes
// after numbers.
func (l *Learned) Late() []string {
	var names []string
	for j := range l.columns {
		if l.late(j) {
			names = append(names, l.layout.columns[j].Name)
		}
	}
	return names
}

// faults returns the first fault of every column in the order of their lines, and what ended the reading.
func (l *Learned) faults(end error) error {
	var all []note
	for j := range l.columns {
		n, more := l.columns[j].told(l, j, end == nil)
		if n == nil {
			continue
		}
		at := note{n.row, n.line, "column " + l.layout.columns[j].Name + ": " + n.text}
		if more > 0 {
			at.text += fmt.Sprintf(" (and %d more in this column)", more)
		}
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b note) int { return cmp.Compare(a.row, b.row) })
	var out []error
	for _, n := range all {
		if l.form.ByRow {
			out = append(out, l.form.wrong(n.line, errors.New(n.text)))
			continue
		}
		at := l.spot(&n)
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

// told returns the first fault of column j, nil for none, and the number of others.
func (c *finding) told(l *Learned, j int, whole bool) (first *note, more int) {
	switch {
	case c.over != nil && l.layout.use[j] != group:
		over := &note{c.over.row, c.over.line, fmt.Sprintf("more than %d levels; drop the column", maxLevels)}
		if c.fault == nil || over.row < c.fault.row {
			return over, c.more
		}
		return c.fault, c.more
	case c.fault != nil:
		return c.fault, c.more - 1
	case l.layout.use[j] == weight && !c.weights && whole && l.before == nil && l.coded == nil:
		return &note{row: -1, text: "every weight is 0"}, 0
	case c.texts > 0 && !c.collect && l.share(j) >= mostly:
		return &note{c.first.row, c.first.line, fmt.Sprintf(
			"%q is not a number, though %.4g %% of the values are; if it stands for a missing value name it under missing, if the column is text write kinds: {%s: categorical}",
			c.first.text, 100*l.share(j), l.layout.columns[j].Name)}, 0
	}
	return nil, 0
}

// share is that of the numbers among the values of a column.
func (l *Learned) share(j int) float64 {
	c := &l.columns[j]
	return float64(c.numbers) / float64(c.numbers+c.texts)
}

// spot says where a note is.
func (l *Learned) spot(n *note) datasets.Position {
	if l.form.Place != nil || l.form.ByRow {
		return l.form.spot(n.row, n.line)
	}
	k := len(l.files) - 1
	for k > 0 && l.files[k].first > n.row {
		k--
	}
	return datasets.Position{Row: n.row, File: l.files[k].file, Line: n.line}
}

// Schema returns that of the columns, or all that is wrong with them. Columns that are Late are learned by
// another reading first.
func (l *Learned) Schema() (s datasets.Schema, err error) {
	if l.rows == 0 && l.layout != nil && l.before == nil {
		err = fmt.Errorf("%s: %w", l.layout.file, rowsource.ErrNoRows)
	}
	if err := l.faults(err); err != nil {
		return s, err
	}
	switch late := l.Late(); {
	case l.layout == nil:
		return s, datasets.ErrEmpty
	case l.before != nil && l.before.rows != l.rows:
		return s, fmt.Errorf("%s: %d rows, there were %d before; the file has changed", l.layout.file, l.rows, l.before.rows)
	case l.before == nil && len(late) > 0:
		return s, fmt.Errorf("%s: column %s: text comes after numbers; read the rows again for the categories", l.layout.file, list(late))
	}
	s, err = l.layout.schema(l.levels)
	s.Missing = l.form.Missing
	return s, err
}

// levels returns the categories of column j, false for a numeric one.
func (l *Learned) levels(j int) ([]string, bool) {
	c := &l.columns[j]
	if l.before != nil && !c.collect {
		return l.before.levels(j)
	}
	if l.layout.declared(j) {
		return l.layout.columns[j].Levels, true
	}
	if !c.collect {
		return nil, false
	}
	return sorted(c.levels.names, l.layout.numbers), true
}

// content returns what the inputs hold.
func (l *Learned) content() []datasets.ColumnContent {
	if l.before != nil {
		return l.before.content()
	}
	var out []datasets.ColumnContent
	for _, j := range l.layout.inputs {
		c := &l.columns[j]
		held := datasets.ColumnContent{Empty: c.values == 0 && !l.layout.sparse}
		if c.missing != nil {
			at := l.spot(c.missing)
			held.Missing = &at
		}
		if c.unknown != nil {
			at := l.spot(c.unknown)
			held.Unknown = &at
		}
		out = append(out, held)
	}
	return out
}

// schema puts together what was learned.
func (l *layout) schema(levels func(j int) ([]string, bool)) (datasets.Schema, error) {
	var s datasets.Schema
	column := func(j int) datasets.Column {
		c := datasets.Column{Name: l.columns[j].Name}
		if names, ok := levels(j); ok {
			c.Kind, c.Categories = datasets.Categorical, names
		}
		return c
	}
	for _, j := range l.inputs {
		s.Columns = append(s.Columns, column(j))
	}
	for _, j := range l.targets {
		c := column(j)
		if c.Kind == datasets.Categorical && len(l.targets) > 1 {
			return s, fmt.Errorf("%s: target %q is categorical; several targets are numeric ones", l.file, c.Name)
		}
		if c.Kind == datasets.Categorical && len(l.roles.Positive) > 0 {
			for _, p := range l.roles.Positive {
				if !slices.Contains(c.Categories, p) && l.roles.Task != datasets.Anomaly { // which may be learned from rows without any
					return s, fmt.Errorf("%s: positive: target %q has no level %q; there are %s", l.file, c.Name, p, list(c.Categories))
				}
			}
			c.Categories = positiveLevels(l.roles.Positive)
		}
		s.Targets = append(s.Targets, c)
	}
	if len(l.roles.Positive) > 0 && len(l.targets) == 0 {
		return s, errors.New(l.file + ": positive: there is no target")
	}
	return s, nil
}

// sorted returns categories in order: of their values where all are numbers, else of their letters.
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
