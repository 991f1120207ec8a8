package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// maxLevels bounds the categories of one column, and so the memory that learning takes.
const maxLevels = 1 << 20

// mostly is the share of numbers from which on a text in a column is taken for a fault.
const mostly = 0.9

// learned is what the records say about one column.
type learned struct {
	values  int // records that have a value
	missing *datasets.Spot
	weights bool // whether a weight is above 0
	numbers int
	texts   int
	first   struct { // the first text
		line  int
		value string
	}
	collect bool // whether categories are wanted
	levels  map[string]struct{}
}

// learn reads all records and returns the schema of the layout's columns and the number of rows, or
// the first fault of every column.
func learn(ctx context.Context, r Reader, l *layout) (s datasets.Schema, rows int, columns []learned, err error) {
	columns = make([]learned, len(l.columns))
	for j := range columns {
		if kind, known := l.kindOf(j); known && kind == datasets.Categorical && l.columns[j].Levels == nil {
			columns[j].collect = l.use[j] == input || l.use[j] == target
		}
	}
	faults := newFaults(l)
	err = r.Records(ctx, func(rec *Record) error {
		rows++
		return each(rec, l, func(j int, field []byte) error {
			faults.add(j, columns[j].see(l, datasets.Spot{Row: rows - 1, Line: rec.Line}, j, field))
			return nil
		})
	})
	if err == nil && rows == 0 {
		err = fmt.Errorf("%s: %w", l.file, datasets.ErrNoRows)
	}
	if w := l.weight; err == nil && w >= 0 && !columns[w].weights && !faults.has(w) {
		faults.add(w, l.fault(0, w, "every weight is 0"))
	}
	if ctx.Err() != nil {
		return s, 0, nil, ctx.Err()
	}
	late := l.late(columns, faults)
	if err := faults.err(err); err != nil {
		return s, 0, nil, err
	}
	if late {
		if err := recollect(ctx, r, l, columns); err != nil {
			return s, 0, nil, err
		}
	}
	s, err = l.schema(columns)
	return s, rows, columns, err
}

// faults keeps the first fault of every column, and counts the others.
type faults struct {
	layout *layout
	first  []error
	more   []int
}

func newFaults(l *layout) *faults {
	return &faults{layout: l, first: make([]error, len(l.columns)), more: make([]int, len(l.columns))}
}

func (f *faults) has(j int) bool { return f.first[j] != nil }

func (f *faults) add(j int, err error) {
	switch {
	case err == nil:
	case f.first[j] == nil:
		f.first[j] = err
	default:
		f.more[j]++
	}
}

// err returns all faults in the order of their lines, and what ended the reading.
func (f *faults) err(end error) error {
	var all []*datasets.LineError
	for j, err := range f.first {
		var at *datasets.LineError
		if !errors.As(err, &at) {
			continue
		}
		if n := f.more[j]; n > 0 {
			at = &datasets.LineError{File: at.File, Line: at.Line, Err: fmt.Errorf("%w (and %d more in this column)", at.Err, n)}
		}
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b *datasets.LineError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	var out []error
	for _, at := range all {
		out = append(out, at)
	}
	if end != nil {
		out = append(out, end)
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

// each calls see with every field that is of use.
func each(rec *Record, l *layout, see func(j int, field []byte) error) error {
	for k, field := range rec.Fields {
		j := k
		if rec.Columns != nil {
			j = rec.Columns[k]
		}
		if l.use[j] == dropped {
			continue
		}
		if err := see(j, field); err != nil {
			return err
		}
	}
	return nil
}

// see takes note of one field.
func (c *learned) see(l *layout, at datasets.Spot, j int, field []byte) error {
	line := at.Line
	if l.use[j] != input {
		if err := l.needs(line, j, field); err != nil {
			return err
		}
	}
	if field != nil {
		c.values++
	} else if c.missing == nil {
		spot := l.form.spot(at.Row, at.Line)
		c.missing = &spot
	}
	if l.use[j] == weight {
		v, _ := text.Number(field)
		c.weights = c.weights || v > 0
	}
	if field == nil || l.use[j] == weight || l.use[j] == group {
		return nil
	}
	if l.use[j] == target {
		field = bytes.TrimSuffix(field, l.suffix)
	}
	if c.collect {
		return c.add(l, line, j, field)
	}
	if _, ok := l.numbers.Number(field); ok {
		c.numbers++
		return nil
	}
	c.texts++
	if kind, known := l.kindOf(j); known && kind == datasets.Numeric {
		if l.use[j] == target && l.roles.Task == datasets.Regression {
			return l.fault(line, j, "%q is not a number, and the task is regression", field)
		}
		return l.fault(line, j, "%q is not a number", field)
	}
	if c.texts > 1 {
		return nil
	}
	c.first.line, c.first.value = line, string(field)
	if c.numbers == 0 {
		c.collect = true
		return c.add(l, line, j, field)
	}
	return nil
}

func (c *learned) add(l *layout, line, j int, field []byte) error {
	if _, ok := c.levels[string(field)]; ok {
		return nil
	}
	if c.levels == nil {
		c.levels = map[string]struct{}{}
	}
	if !utf8.Valid(field) {
		return l.fault(line, j, "%q is not UTF-8", field)
	}
	if len(c.levels) == maxLevels {
		return l.fault(line, j, "more than %d levels; drop the column", maxLevels)
	}
	c.levels[string(field)] = struct{}{}
	return nil
}

// late finds the columns in which text came after numbers, whose categories another pass collects. A
// few texts among numbers are faults.
func (l *layout) late(columns []learned, faults *faults) (any bool) {
	for j := range columns {
		c := &columns[j]
		if c.texts == 0 || c.collect || faults.has(j) {
			continue
		}
		if share := float64(c.numbers) / float64(c.numbers+c.texts); share >= mostly {
			faults.add(j, l.fault(c.first.line, j,
				"%q is not a number, though %.4g %% of the values are; if it stands for a missing value name it under missing, if the column is text write kinds: {%s: categorical}",
				c.first.value, 100*share, l.columns[j].Name))
			continue
		}
		c.collect, any = true, true
	}
	return any
}

// recollect reads the records again for the categories of late columns.
func recollect(ctx context.Context, r Reader, l *layout, columns []learned) error {
	faults := newFaults(l)
	err := r.Records(ctx, func(rec *Record) error {
		return each(rec, l, func(j int, field []byte) error {
			if field == nil || !columns[j].collect {
				return nil
			}
			if l.use[j] == target {
				field = bytes.TrimSuffix(field, l.suffix)
			}
			faults.add(j, columns[j].add(l, rec.Line, j, field))
			return nil
		})
	})
	return faults.err(err)
}

// schema puts together what was learned.
func (l *layout) schema(columns []learned) (datasets.Schema, error) {
	var s datasets.Schema
	for _, j := range l.inputs {
		s.Columns = append(s.Columns, l.column(j, &columns[j]))
	}
	for _, j := range l.targets {
		c := l.column(j, &columns[j])
		if c.Kind == datasets.Categorical && len(l.targets) > 1 {
			return s, fmt.Errorf("%s: target %q is categorical; several targets are numeric ones", l.file, c.Name)
		}
		if c.Kind == datasets.Categorical && len(l.roles.Positive) > 0 {
			for _, p := range l.roles.Positive {
				if !slices.Contains(c.Levels, p) && l.roles.Task != datasets.Anomaly { // which may be learned from rows without any
					return s, fmt.Errorf("%s: positive: target %q has no level %q; there are %s", l.file, c.Name, p, list(c.Levels))
				}
			}
			c.Levels = positiveLevels(l.roles.Positive)
		}
		s.Targets = append(s.Targets, c)
	}
	if len(l.roles.Positive) > 0 && len(l.targets) == 0 {
		return s, errors.New(l.file + ": positive: there is no target")
	}
	return s, nil
}

func (l *layout) column(j int, c *learned) datasets.Column {
	out := datasets.Column{Name: l.columns[j].Name}
	kind, known := l.kindOf(j)
	switch {
	case known && kind == datasets.Categorical && l.columns[j].Levels != nil:
		out.Kind, out.Levels = datasets.Categorical, l.columns[j].Levels
	case c.collect:
		out.Kind, out.Levels = datasets.Categorical, sorted(c.levels, l.numbers)
	}
	return out
}

// sorted returns categories in order: of their values where all are numbers, else of their letters.
func sorted(levels map[string]struct{}, notation text.Notation) []string {
	type level struct {
		name  string
		value float64
	}
	all := make([]level, 0, len(levels))
	numbers := true
	for name := range levels {
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
