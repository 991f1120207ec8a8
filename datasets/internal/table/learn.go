package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// maxCategories and maxCategoryBytes bound the categories of a column and the bytes of their names,
// and so the memory of the first pass. Tests lower them.
var (
	maxCategories    = 1 << 20
	maxCategoryBytes = 128 << 20
)

// numberThreshold is the share of numbers in a column above which other strings are errors.
const numberThreshold = 0.9

// learner accumulates the content of columns: kinds, categories, missing values, errors. Since the
// kind of a column follows from all its values, a column in which strings appear after numbers needs
// a second pass for its categories.
type learner struct {
	layout   *layout
	previous *learner // of the first pass; nil in the first pass
	encoded  bool     // whether the schema is known, and only content and errors are determined
	columns  []columnStats
}

// columnStats is the content of one column.
type columnStats struct {
	values            int // rows with a value
	missing           *occurrence
	unknown           *occurrence // first category that is not in the schema
	hasPositiveWeight bool        // whether a weight is positive
	numbers           int
	strs              int
	firstText         *occurrence // first string that is not a number
	collect           bool        // whether categories are collected
	categories        categories
	excess            *occurrence // first category above the limit
	firstErr          *occurrence // first other error
	errCount          int         // number of errors
}

// occurrence is a string in a row.
type occurrence struct {
	row, line int
	text      string
}

// categories lists the categories of a column in order of appearance.
type categories struct {
	codes map[string]int
	names []string
	bytes int // of the names
}

// newLearner returns the state before the first row. previous is that after the first pass if this
// is the second one. Strings of text columns are collected if rows are stored.
func (s *source) newLearner(previous *learner, stored bool) *learner {
	l := &learner{layout: s.layout, previous: previous, encoded: s.cells != nil,
		columns: make([]columnStats, len(s.layout.columns))}
	for j := range l.columns {
		kind, known := l.layout.kindOf(j)
		switch use := l.layout.use[j]; {
		case l.encoded:
		case previous != nil:
			l.columns[j].collect = previous.isDeferred(j)
		case use == group:
			l.columns[j].collect = true
		case use == input || use == target:
			l.columns[j].collect = known && kind != datasets.Numeric &&
				(stored || l.layout.kinds[j] != datasets.Text || l.layout.formats[j].HasCategories())
		}
	}
	return l
}

// declared reports whether the file declares the categories of column j.
func (l *layout) declared(j int) bool {
	kind, known := l.kindOf(j)
	return known && kind == datasets.Categorical && l.columns[j].Categories != nil
}

// observe adds the values of a column in the current rows of a pass.
func (l *learner) observe(s *source, p *columnPass, f *columnReader, o *destination) {
	switch c := &l.columns[o.column]; {
	case o.passthrough >= 0:
	case f.As == Times:
		for i, v := range f.values.Seconds[:p.rows] {
			if !p.skips(i) && v == NoTime {
				l.observeMissing(p, i, o, c)
			} else if !p.skips(i) {
				c.values++
			}
		}
	case f.values.Numbers == nil:
		l.observeStrings(s, p, f, o, c)
	case f.values.Plain && p.skipped == nil && o.use != weight:
		n := f.values.len(p.rows)
		c.values, c.numbers = c.values+n, c.numbers+n
	default:
		l.observeNumbers(s, p, f, o, c)
	}
}

// observeNumbers adds numbers, and strings that are not numbers.
func (l *learner) observeNumbers(s *source, p *columnPass, f *columnReader, o *destination, c *columnStats) {
	_, known := l.layout.kindOf(o.column)
	values := &f.values
	for i := range values.len(p.rows) {
		at := values.row(i)
		if p.skips(at) {
			continue
		}
		row, line := p.first+at, p.line(at)
		v, code := values.Numbers[i*values.Step], values.code(i)
		switch {
		case v-v == 0:
			c.values++
			c.numbers++
			if o.use != weight {
				continue
			}
			if c.hasPositiveWeight = c.hasPositiveWeight || v > 0; v < 0 {
				c.addError(row, line, negativeWeight(v))
			}
		case code >= 0:
			c.values++
			field := values.Dictionary.Strings[code]
			if !known && !l.encoded && o.use != weight {
				c.addText(row, line, field)
			} else if _, err := s.value(o, field, false); err != nil {
				c.strs++
				c.addError(row, line, err.Error())
			}
		case math.IsNaN(v):
			l.observeMissing(p, at, o, c)
		case o.use != target || !l.layout.roles.Unlabeled:
			c.addError(row, line, infiniteValue)
		}
	}
}

// observeMissing adds a missing value.
func (l *learner) observeMissing(p *columnPass, i int, o *destination, c *columnStats) {
	row, line := p.first+i, p.line(i)
	if o.use != input {
		if err := l.layout.checkRequired(o.column); err != nil {
			c.addError(row, line, err.Error())
		}
	}
	if c.missing == nil {
		c.missing = &occurrence{row: p.source.rowIndex(row), line: line}
	}
}

// observeStrings adds strings. It inspects each string of a dictionary once.
func (l *learner) observeStrings(s *source, p *columnPass, f *columnReader, o *destination, c *columnStats) {
	_, known := l.layout.kindOf(o.column)
	inferred := !known && !l.encoded && l.previous == nil && (o.use == input || o.use == target)
	values := &f.values
	o.update(s, values.Dictionary, inferred)
	for i := range values.len(p.rows) {
		at, code := values.row(i), values.code(i)
		if p.skips(at) {
			continue
		}
		row, line := p.first+at, p.line(at)
		if code < 0 || o.strs[code].missing {
			if l.previous == nil {
				l.observeMissing(p, at, o, c)
			}
			continue
		}
		t, field := &o.strs[code], values.Dictionary.Strings[code]
		c.values++
		if inferred {
			if !c.collect && c.numbers+c.strs == 0 && !t.number { // the first value of rows that are not skipped
				c.collect = true
				f.collect.Store(true)
			}
			if t.number {
				c.numbers++
			} else {
				c.addText(row, line, field)
			}
		}
		if t.seen {
			continue
		}
		errs := c.errCount
		switch {
		case c.collect:
			t.value = float64(c.addCategory(row, line, s.trimmed(o.use, field)))
		case inferred || o.use == group:
		case l.layout.kinds[o.column] == datasets.Text && o.use == input:
			c.checkEncoding(row, line, field)
		default:
			var err error
			if t.value, err = s.value(o, field, false); err != nil && s.origins[o.column].datePart == 0 {
				c.addError(row, line, err.Error())
			}
			if t.value == datasets.Unknown && s.cell(o.column).codes != nil && c.unknown == nil {
				c.unknown = &occurrence{row: s.rowIndex(row), line: line}
			}
		}
		t.seen = c.errCount == errs // an invalid string is an error in every row
	}
}

// seenString describes a string of a dictionary for a destination.
type seenString struct {
	seen, missing, number bool
	value                 float64 // a number, or the code of a category in order of appearance
}

// update adds the new strings of a dictionary.
func (o *destination) update(s *source, d *Dictionary, numbers bool) {
	if o.dictionary != d {
		o.dictionary, o.strs = d, o.strs[:0]
	}
	for _, field := range d.Strings[len(o.strs):] {
		t := seenString{missing: s.isMissing(field)}
		if numbers {
			t.value, t.number = s.layout.notation.Number([]byte(field))
		}
		o.strs = append(o.strs, t)
	}
}

// addText counts a string.
func (c *columnStats) addText(row, line int, field string) {
	if c.strs++; c.strs == 1 {
		c.firstText = &occurrence{row, line, field}
	}
}

// addError adds an error.
func (c *columnStats) addError(row, line int, what string) {
	if c.errCount++; c.firstErr == nil {
		c.firstErr = &occurrence{row, line, what}
	}
}

// addCategory adds a category and returns its code. It records the first category above the limit
// and ignores the others.
func (c *columnStats) addCategory(row, line int, field string) int {
	if code, ok := c.categories.codes[field]; ok {
		return code
	}
	switch l := &c.categories; {
	case !c.checkEncoding(row, line, field):
	case c.excess != nil:
	case len(l.names) >= maxCategories || l.bytes+len(field) > maxCategoryBytes:
		c.excess = &occurrence{row: row, line: line}
	default:
		if l.codes == nil {
			l.codes = map[string]int{}
		}
		l.codes[field], l.bytes, l.names = len(l.names), l.bytes+len(field), append(l.names, field)
		return len(l.names) - 1
	}
	return 0
}

// checkEncoding adds an error and returns false if a string is not UTF-8.
func (c *columnStats) checkEncoding(row, line int, field string) bool {
	if utf8.ValidString(field) {
		return true
	}
	c.addError(row, line, fmt.Sprintf("%q is not UTF-8", field))
	return false
}

// isDeferred reports whether the categories of column j need a second pass.
func (l *learner) isDeferred(j int) bool {
	c := &l.columns[j]
	return c.strs > 0 && !c.collect && c.firstErr == nil && l.numberShare(j) < numberThreshold
}

// hasDeferred reports whether a column needs a second pass.
func (l *learner) hasDeferred() bool {
	for j := range l.columns {
		if l.isDeferred(j) {
			return true
		}
	}
	return false
}

// err returns the first error of each column in order of lines, joined with end, the error that ended
// the pass.
func (l *learner) err(end error) error {
	var all []occurrence
	for j := range l.columns {
		n, more := l.columns[j].report(l, j, end == nil)
		if n == nil {
			continue
		}
		at := occurrence{n.row, n.line, "column " + l.layout.label(j) + ": " + n.text}
		if more > 0 {
			at.text += fmt.Sprintf(" (and %d more in this column)", more)
		}
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return cmp.Compare(a.row, b.row) })
	var out []error
	for _, n := range all {
		out = append(out, l.layout.form.lineError(n.line, errors.New(n.text)))
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
func (c *columnStats) report(l *learner, j int, whole bool) (first *occurrence, more int) {
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
	case l.layout.use[j] == weight && !c.hasPositiveWeight && whole && l.previous == nil && !l.encoded:
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
func (l *learner) numberShare(j int) float64 {
	c := &l.columns[j]
	return float64(c.numbers) / float64(c.numbers+c.strs)
}

// categories returns the categories of column j, false for a numeric column.
func (l *learner) categories(j int) ([]string, bool) {
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
func (l *learner) isText(j int) bool {
	c := &l.columns[j]
	if l.layout.use[j] != input || l.layout.sparse || l.encoded {
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
func (l *learner) content() []datasets.ColumnContent {
	if l.previous != nil {
		return l.previous.content()
	}
	var out []datasets.ColumnContent
	for _, j := range l.layout.inputs {
		c := &l.columns[j]
		held := datasets.ColumnContent{Empty: c.values == 0 && !l.layout.sparse}
		if c.missing != nil {
			at := l.layout.form.position(c.missing.row, c.missing.line)
			held.Missing = &at
		}
		if c.unknown != nil {
			at := l.layout.form.position(c.unknown.row, c.unknown.line)
			held.Unknown = &at
		}
		out = append(out, held)
	}
	return out
}

// schema returns the schema that was learned.
func (l *layout) schema(learned *learner) (datasets.Schema, error) {
	var s datasets.Schema
	column := func(j int) datasets.Column {
		c := datasets.Column{Name: l.columns[j].Name, Format: l.formats[j], EncodedFrom: l.columns[j].Date}
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
