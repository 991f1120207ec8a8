package jsonl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/internal/codec/jsonscan"
)

// columns are the keys that make columns, and how their values are read.
type columns struct {
	form    []table.Column
	strs    []bool // whether booleans are strings
	dropped []bool // whether the values are not used
	byKey   map[string]int
	missing map[string]bool // strings that denote a missing value
	others  bool            // whether other keys are left out
	learned bool            // whether an unknown key means that the file has changed
}

func (c *columns) add(name string) int {
	if k, ok := c.byKey[name]; ok {
		return k
	}
	k := len(c.form)
	c.byKey[name] = k
	c.form = append(c.form, table.Column{Name: name})
	c.strs, c.dropped = append(c.strs, false), append(c.dropped, false)
	return k
}

// columnsOf returns the columns of files: those of the schema and the roles, else those of the
// rows.
func columnsOf(ctx context.Context, files []*file, o *Options) (*columns, error) {
	c := &columns{byKey: map[string]int{}, missing: map[string]bool{}, others: o.IgnoreExtra}
	missing := o.Missing
	if missing == nil && o.Schema != nil {
		missing = o.Schema.Missing
	}
	if missing == nil {
		missing = []string{"NaN", "nan"}
	}
	for _, m := range missing {
		c.missing[m] = true
	}
	c.missing[""] = true
	var err error
	if o.Schema == nil || len(o.Schema.Columns) == 0 {
		err = c.scan(ctx, files, o)
	} else {
		c.fromSchema(o)
	}
	for _, name := range o.Drop {
		if k := c.find(name); k >= 0 && !slices.ContainsFunc(o.Passthrough,
			func(kept string) bool { return c.find(kept) == k }) {
			c.dropped[k] = true
		}
	}
	return c, err
}

// find returns the column called name, or else of that number, or -1.
func (c *columns) find(name string) int {
	if k, ok := c.byKey[name]; ok {
		return k
	}
	k, err := strconv.Atoi(name)
	if err == nil && k < 0 {
		k += len(c.form)
	}
	if err != nil || k < 0 || k >= len(c.form) {
		return -1
	}
	return k
}

// fromSchema makes the columns that a schema and the roles name.
func (c *columns) fromSchema(o *Options) {
	parts := map[string]string{} // dates by the columns that they become
	for _, name := range slices.Sorted(maps.Keys(o.Dates)) {
		for _, part := range o.Dates[name].Names(name) {
			parts[part] = name
		}
	}
	for _, list := range [][]datasets.Column{o.Schema.Columns, o.Schema.Targets} {
		for _, column := range list {
			if date, is := parts[column.Name]; is {
				c.add(date)
				continue
			}
			k := c.add(column.Name)
			c.strs[k] = column.Kind != datasets.Numeric || column.Format.Unit != ""
		}
	}
	for _, name := range slices.Concat(o.Target, []string{o.Weight, o.Group}, o.Drop, o.Passthrough) {
		if name != "" && c.find(name) < 0 {
			c.strs[c.add(name)] = true
		}
	}
}

// columnValues counts the kinds of values of a key.
type columnValues struct {
	numbers, strs, labels int
	nested                int   // the line of the first one
	where                 *file // of that
	first                 int   // the line of the first text
	in                    *file // of that
	value                 string
}

// scan collects the keys of the rows and the kinds of their values. If only names are needed, it
// reads only the first row of an input that can be read once.
func (c *columns) scan(ctx context.Context, files []*file, o *Options) error {
	var shapes []columnValues
	names := o.Schema != nil
	rows := 0
	var invalid error // the first one
	for _, f := range files {
		s := newScanner()
		err := f.lines(ctx, func(line int, b []byte) error {
			rows++
			last := -1
			err := s.read(b, func(key []byte, kind jsonscan.Kind, v []byte) error {
				k, ok := last+1, false
				if k < len(c.form) && string(key) == c.form[k].Name { // as in the row before
					ok = true
				} else {
					k, ok = c.byKey[string(key)]
				}
				if !ok && len(key) == 0 {
					return valueError{errEmptyKey}
				}
				if !ok {
					k = c.add(string(key))
					shapes = append(shapes, columnValues{})
				}
				last = k
				if !names {
					shapes[k].observe(c, f, line, kind, v)
				}
				return nil
			})
			if err == nil && names && f.readOnce() {
				return errFirst
			}
			if names && err != nil { // the pass over the rows returns it
				invalid = cmp.Or(invalid, f.lineError(line, err))
				return nil
			}
			return err
		})
		if err != nil && err != errFirst {
			return err
		}
	}
	if rows == 0 {
		return fmt.Errorf("%s: %w", files[0].path, table.ErrEmptyFile)
	}
	if len(c.form) == 0 && invalid != nil {
		return invalid
	}
	if names || len(c.form) == 0 {
		return nil
	}
	return c.declare(shapes, o)
}

// errFirst stops a scan after the first row.
var errFirst = errors.New("the first row is enough")

// readOnce reports whether the file can be read just once.
func (f *file) readOnce() bool {
	if f.o.FS == nil {
		return false
	}
	info, err := fs.Stat(f.o.FS, f.path)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

func (s *columnValues) observe(c *columns, f *file, line int, kind jsonscan.Kind, v []byte) {
	switch kind {
	case jsonscan.Number:
		s.numbers++
	case jsonscan.Truth:
		s.labels++
	case jsonscan.Text:
		if c.missing[string(v)] {
			return
		}
		if s.strs++; s.strs == 1 {
			s.first, s.in, s.value = line, f, string(v)
		}
	case jsonscan.Object, jsonscan.Array:
		if s.nested == 0 {
			s.nested, s.where = line, f
		}
	}
}

// numberThreshold is the fraction of numbers above which a string in a column is an error, as in a
// CSV file.
const numberThreshold = 0.9

// declare sets the kinds of the columns, as far as JSON determines them.
func (c *columns) declare(shapes []columnValues, o *Options) error {
	c.learned = true
	var wrong []error
	for k := range c.form {
		column, s := &c.form[k], &shapes[k]
		drop := slices.ContainsFunc(o.Drop, func(name string) bool { return c.find(name) == k })
		kind, given := o.KindOf(column.Name)
		_, date := o.Dates[column.Name]
		target := slices.ContainsFunc(o.Target, func(name string) bool { return c.find(name) == k })
		all := s.numbers + s.labels + s.strs
		textual := s.strs > 0 || target && s.numbers == 0 && s.labels > 0
		c.strs[k] = textual || given && (kind != datasets.Numeric || o.Formats[column.Name].Unit != "")
		switch {
		case drop:
		case s.nested > 0:
			wrong = append(wrong, &datasets.LineError{File: s.where.path, Line: s.nested, Err: errTableName(column.Name)})
		case given || date || all == 0:
		case !textual:
			column.Declared, column.Kind = true, datasets.Numeric
		case s.strs > 0 && float64(s.numbers) >= numberThreshold*float64(all):
			wrong = append(wrong, &datasets.LineError{File: s.in.path, Line: s.first, Err: fmt.Errorf(
				"column %s: %q is not a number, though %.4g %% of the values are; if it denotes a missing value, add it to "+
					"missing; if the column is text, set kinds: {%s: categorical}",
				column.Name, s.value, 100*float64(s.numbers)/float64(all), column.Name)})
		case !target || o.Task == datasets.AnyTask:
			column.Declared, column.Kind = true, datasets.Categorical
		}
	}
	if len(wrong) == 1 {
		return wrong[0]
	}
	return errors.Join(wrong...)
}

// errEmptyKey is an object with the key "".
var errEmptyKey = errors.New("key must not be empty")

// errTableName is a value that no table has.
func errTableName(name string) error {
	return fmt.Errorf("column %s: must be a number, a string, true, false or null, got an object or an array; "+
		"exclude it with data.drop (Roles.Drop in Go)", name)
}

// record is a table.Record that lines are read into.
type record struct {
	table.Record
	scanner
	of    *columns
	path  string
	lines int   // that were read
	seen  []int // by column: number of the line that had it last
}

// read reads the object of a line.
func (r *record) read(b []byte) error {
	r.lines++
	clear(r.Fields)
	last := -1
	return r.scanner.read(b, func(key []byte, kind jsonscan.Kind, v []byte) error {
		k := last + 1
		if k >= len(r.of.form) || string(key) != r.of.form[k].Name { // else as in the row before
			var ok bool
			if k, ok = r.of.byKey[string(key)]; !ok {
				return r.unknownKey(key)
			}
		}
		last = k
		if r.seen[k] == r.lines {
			return valueError{fmt.Errorf("key %q is there twice", key)}
		}
		r.seen[k] = r.lines
		if r.of.dropped[k] {
			return nil
		}
		switch kind {
		case jsonscan.Number:
			r.Fields[k] = v
		case jsonscan.Text:
			if len(v) > 0 && !r.of.missing[string(v)] {
				r.Fields[k] = v
			}
		case jsonscan.Truth:
			if !r.of.strs[k] {
				v = [...][]byte{{'0'}, {'1'}}[len("false")-len(v)]
			}
			r.Fields[k] = v
		case jsonscan.Object, jsonscan.Array:
			return valueError{errTableName(r.of.form[k].Name)}
		}
		return nil
	})
}

// unknownKey is a key that is no column.
func (r *record) unknownKey(key []byte) error {
	switch {
	case r.of.others:
		return nil
	case r.of.learned:
		return &datasets.LineError{File: r.path, Err: datasets.ErrChanged}
	}
	return valueError{fmt.Errorf("column %q is not in the schema; drop it", key)}
}
