package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// dateSplitter replaces columns of dates by their parts, and numbers with a unit by the numbers.
type dateSplitter struct {
	Reader
	form    Form
	columns []dateColumn // by column of the inner records
	skips   bool         // whether records may have errors
}

// dateColumn is an input column: a date, a number with a unit, or a column that is not changed.
type dateColumn struct {
	name   string
	isDate bool
	date   datasets.Date
	parts  int // number of output columns
	format datasets.Format
}

// withDates returns r with columns of dates replaced by their parts, and without the units of numbers. If the roles
// skip invalid rows, errors are those of their records.
func withDates(r Reader, roles datasets.Roles) (Reader, error) {
	dates, formats := roles.Dates, formatsOf(roles)
	if len(dates) == 0 && len(formats) == 0 {
		return r, nil
	}
	form := r.Form()
	out := &dateSplitter{Reader: r, form: form, skips: roles.OnInvalid != nil}
	if form.Sparse && len(dates) == 0 {
		return r, nil // arrange returns the error of a format
	}
	if form.Sparse {
		return nil, fmt.Errorf("%s: dates: sparse rows must have only numbers and categories", form.Name)
	}
	out.form.Columns = nil
	found := map[string]bool{}
	for _, c := range form.Columns {
		date, is := dates[c.Name]
		if !is {
			format := formats[c.Name]
			if format.Unit != "" {
				c.Declared, c.Kind, c.Categories = true, datasets.Numeric, nil
			}
			out.form.Columns = append(out.form.Columns, c)
			out.columns = append(out.columns, dateColumn{name: c.Name, parts: 1, format: format})
			continue
		}
		if err := date.Check(); err != nil {
			return nil, fmt.Errorf("%s: dates: column %s: %w", form.Name, c.Name, err)
		}
		found[c.Name] = true
		names := date.Names(c.Name)
		for _, name := range names {
			out.form.Columns = append(out.form.Columns, Column{Name: name, Line: c.Line, Declared: true, Kind: datasets.Numeric})
		}
		out.columns = append(out.columns, dateColumn{name: c.Name, isDate: true, date: date, parts: len(names)})
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(dates)) {
		if !found[name] {
			l := layout{columns: form.Columns}
			errs = append(errs, fmt.Errorf("%s: dates: no column %q; there are %s", form.Name, name, joinNames(l.names())))
		}
	}
	return out, errors.Join(errs...)
}

func (r *dateSplitter) Form() Form { return r.form }

func (r *dateSplitter) Records(ctx context.Context, yield func(rec *Record) error) error {
	change := r.splitter()
	return r.Reader.Records(ctx, func(rec *Record) error { return change(rec, yield) })
}

// splitter returns a function that replaces the dates of a record, with its own buffers.
func (r *dateSplitter) splitter() func(rec *Record, yield func(rec *Record) error) error {
	out := Record{Fields: make([][]byte, len(r.form.Columns)), Numbers: make([]float64, len(r.form.Columns))}
	buffer := make([]byte, 0, 16*len(r.form.Columns))
	return func(rec *Record, yield func(rec *Record) error) error {
		if rec.Err != nil {
			return yield(rec)
		}
		out.Line, out.Weight = rec.Line, rec.Weight
		buffer = buffer[:0]
		at := 0
		for j, field := range rec.Fields {
			c := &r.columns[j]
			if c.format.Unit != "" && field != nil {
				number, err := quantity(c.format, r.form.Notation, string(field))
				if err != nil {
					err = r.form.lineError(rec.Line, fmt.Errorf("column %s: %w", c.name, err))
					if r.skips {
						return yield(&Record{Line: rec.Line, Err: err})
					}
					return err
				}
				from := len(buffer)
				buffer = strconv.AppendFloat(buffer, number, 'g', -1, 64)
				out.Fields[at], out.Numbers[at] = buffer[from:len(buffer):len(buffer)], number
				at++
				continue
			}
			if !c.isDate || field == nil {
				number := math.NaN()
				if rec.Numbers != nil {
					number = rec.Numbers[j]
				}
				for range c.parts {
					out.Fields[at], out.Numbers[at] = field, number
					at++
				}
				continue
			}
			t, ok := c.date.Parse(field)
			if !ok {
				err := r.form.lineError(rec.Line, fmt.Errorf("column %s: must be a date%s, got %q", c.name, c.formatHint(), field))
				if r.skips {
					return yield(&Record{Line: rec.Line, Err: err})
				}
				return err
			}
			for _, v := range c.date.Values(t) {
				from := len(buffer)
				buffer = strconv.AppendFloat(buffer, v, 'f', -1, 64)
				out.Fields[at], out.Numbers[at] = buffer[from:len(buffer):len(buffer)], v
				at++
			}
		}
		return yield(&out)
	}
}

// formatHint describes the date formats that the options allow.
func (c *dateColumn) formatHint() string {
	switch c.date.Order {
	case "dmy":
		return " such as 2024-03-31 or 31/3/2024"
	case "mdy":
		return " such as 2024-03-31 or 3/31/2024"
	}
	return " such as 2024-03-31 or 31.3.2024 (for 31/3/2024 set order: dmy, for 3/31/2024 order: mdy)"
}

// formatsOf returns the formats of columns by name: those of the roles, or of the schema if there is one.
func formatsOf(roles datasets.Roles) map[string]datasets.Format {
	if roles.Schema == nil {
		return roles.Formats
	}
	var out map[string]datasets.Format
	for _, c := range slices.Concat(roles.Schema.Columns, roles.Schema.Targets) {
		if c.Format != (datasets.Format{}) {
			if out == nil {
				out = map[string]datasets.Format{}
			}
			out[c.Name] = c.Format
		}
	}
	return out
}

// quantity returns the number in a value with the unit of a format.
func quantity(f datasets.Format, notation text.Notation, value string) (float64, error) {
	if number, ok := f.Number(value); ok {
		if v, ok := notation.Number([]byte(number)); ok {
			return v, nil
		}
	}
	return 0, fmt.Errorf("must be a number with the unit %s, such as 8 %[1]s, got %[2]q", f.Unit, value)
}
