package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// maxLevels bounds the levels of one column, and so the memory that learning takes.
const maxLevels = 1 << 20

// mostly is the share of numbers from which on a text in a column is taken for a fault.
const mostly = 0.9

// learned is what the records say about one column.
type learned struct {
	numbers int
	texts   int
	first   struct { // the first text
		line  int
		value string
	}
	collect bool // whether levels are wanted
	levels  map[string]struct{}
}

// learn reads all records and returns the schema of the layout's columns and the number of rows.
func learn(ctx context.Context, r Reader, l *layout) (datasets.Schema, int, error) {
	columns := make([]learned, len(l.columns))
	for j := range columns {
		if kind, known := l.kindOf(j); known && kind == datasets.Categorical && l.columns[j].Levels == nil {
			columns[j].collect = l.use[j] == input || l.use[j] == target
		}
	}
	rows := 0
	err := r.Records(ctx, func(rec *Record) error {
		rows++
		return each(rec, l, func(j int, field []byte) error { return columns[j].see(l, rec.Line, j, field) })
	})
	if err != nil {
		return datasets.Schema{}, 0, err
	}
	if rows == 0 {
		return datasets.Schema{}, 0, fmt.Errorf("%s: no rows", l.file)
	}
	if err := recollect(ctx, r, l, columns); err != nil {
		return datasets.Schema{}, 0, err
	}
	s, err := l.schema(columns)
	return s, rows, err
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
func (c *learned) see(l *layout, line, j int, field []byte) error {
	if l.use[j] != input {
		if err := l.needs(line, j, field); err != nil {
			return err
		}
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
	if c.texts > 1 {
		return nil
	}
	c.first.line, c.first.value = line, string(field)
	if kind, known := l.kindOf(j); known && kind == datasets.Numeric {
		return l.fault(line, j, "%q is not a number", field)
	}
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
	if len(c.levels) == maxLevels {
		return l.fault(line, j, "more than %d levels; drop the column", maxLevels)
	}
	c.levels[string(field)] = struct{}{}
	return nil
}

// recollect reads the records again for the levels of columns in which text came after numbers.
func recollect(ctx context.Context, r Reader, l *layout, columns []learned) error {
	late := false
	for j := range columns {
		c := &columns[j]
		if c.texts == 0 || c.collect {
			continue
		}
		if share := float64(c.numbers) / float64(c.numbers+c.texts); share >= mostly {
			return l.fault(c.first.line, j,
				"%q is not a number, though %.4g %% of the values are; if it stands for a missing value name it under missing, if the column is text write kinds: {%s: categorical}",
				c.first.value, 100*share, l.columns[j].Name)
		}
		c.collect, late = true, true
	}
	if !late {
		return nil
	}
	return r.Records(ctx, func(rec *Record) error {
		return each(rec, l, func(j int, field []byte) error {
			if field == nil || !columns[j].collect {
				return nil
			}
			if l.use[j] == target {
				field = bytes.TrimSuffix(field, l.suffix)
			}
			return columns[j].add(l, rec.Line, j, field)
		})
	})
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
				if !slices.Contains(c.Levels, p) {
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

// sorted returns levels in order: of their values where all are numbers, else of their letters.
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
