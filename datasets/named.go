package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
)

// Encode returns rows of values by the name of their column, such as a program or a JSON document has
// them, as a set that is coded by the schema, as a file of rows would be.
//
// Every row has a value for every column; nil is a missing one, and so are NaN, the empty text and
// the texts in Missing. A numeric column takes any number, true and false as 1 and 0, and a text that
// is a number with a decimal point. A categorical column takes the text of a category, or a number or a
// bool that is written like one; a category that the schema does not list becomes [Unknown]. A
// [time.Time], or a text with the year first, stands for the columns that [Date] makes of a date: one
// called sold for sold_year and sold_month, if the schema has these.
//
// Rows may also have the targets; the set then has them too, NaN where a row has none or a class that the
// schema does not list. Everything that is wrong is one error, which joins a [RowError] for each fault.
func (s Schema) Encode(rows []map[string]any) (Set, error) {
	e := newEncoder(s, rows)
	for i, row := range rows {
		e.row(i, row)
	}
	if err := e.faults.err(); err != nil {
		return Set{}, err
	}
	return e.set(len(rows)), nil
}

// encoder codes rows of named values.
type encoder struct {
	schema  Schema
	missing []string
	columns map[string]*namedColumn
	parts   map[string][]datePart // by the name of the date
	targets bool                  // whether any row has one
	x, y    []float64
	faults  namedFaults
}

// namedColumn is a column of the schema.
type namedColumn struct {
	Column
	at      int // number of the input, or of the target
	target  bool
	lookups int
	codes   map[string]float64 // of the categories, once they have been looked up often
}

// fewLookups is how often categories are looked for one by one: for a row or two that is faster than to
// make a map of them all.
const fewLookups = 16

// find returns the code of a category.
func (c *namedColumn) find(text string) (code float64, ok bool) {
	if c.lookups++; c.lookups <= fewLookups {
		k := slices.Index(c.Levels, text)
		return float64(k), k >= 0
	}
	if c.codes == nil {
		c.codes = make(map[string]float64, len(c.Levels))
		for k, name := range c.Levels {
			c.codes[name] = float64(k)
		}
	}
	code, ok = c.codes[text]
	return code, ok
}

// datePart is a column that has one part of a date.
type datePart struct {
	name string
	at   int
	part string
}

func newEncoder(s Schema, rows []map[string]any) *encoder {
	e := &encoder{schema: s, missing: s.Missing, columns: map[string]*namedColumn{}, parts: map[string][]datePart{}}
	if e.missing == nil {
		e.missing = []string{"NaN", "nan"}
	}
	for k, c := range s.Targets {
		e.columns[c.Name] = &namedColumn{Column: c, at: k, target: true}
		for _, row := range rows {
			_, has := row[c.Name]
			e.targets = e.targets || has
		}
	}
	for j, c := range s.Columns {
		c.Name = s.Name(j)
		e.columns[c.Name] = &namedColumn{Column: c, at: j}
		if date, part, ok := cutLast(c.Name, "_"); ok && c.Kind == Numeric && slices.Contains(DateParts, part) {
			e.parts[date] = append(e.parts[date], datePart{c.Name, j, part})
		}
	}
	return e
}

func cutLast(text, mark string) (before, after string, found bool) {
	at := strings.LastIndex(text, mark)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(mark):], true
}

// row codes row i behind those before.
func (e *encoder) row(i int, row map[string]any) {
	if e.faults.list != nil { // there will be no set, whose rows would take memory
		e.x, e.y = e.x[:0], e.y[:0]
	}
	from, to := len(e.x), len(e.x)+len(e.schema.Columns)
	e.x = slices.Grow(e.x, to-from)[:to]
	x := e.x[from:]
	given := make([]bool, len(x))
	y := make([]float64, len(e.schema.Targets))
	for k := range y {
		y[k] = math.NaN()
	}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		c, known := e.columns[name]
		switch {
		case known && c.target:
			y[c.at] = e.target(i, c, row[name])
		case known:
			x[c.at], given[c.at] = e.value(i, c, row[name]), true
		case e.parts[name] != nil:
			e.date(i, name, row, x, given)
		default:
			e.faults.add(i, name, "the schema has no such column; it has "+e.names())
		}
	}
	for j, has := range given {
		if !has {
			e.faults.add(i, e.schema.Name(j), "no value; a missing one is nil")
		}
	}
	if e.targets {
		e.y = append(e.y, y...)
	}
}

// mostNames is how many columns an error names.
const mostNames = 12

func (e *encoder) names() string {
	var names []string
	for j := range min(len(e.schema.Columns), mostNames) {
		names = append(names, e.schema.Name(j))
	}
	text := strings.Join(names, ", ")
	if more := len(e.schema.Columns) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// value returns the number that v stands for in a column of inputs.
func (e *encoder) value(i int, c *namedColumn, v any) float64 {
	v = plain(v)
	if text, ok := v.(string); v == nil || ok && (text == "" || slices.Contains(e.missing, text)) {
		return math.NaN()
	}
	if number, ok := v.(float64); ok && math.IsNaN(number) {
		return number
	}
	if c.Kind == Categorical {
		return e.code(i, c, v)
	}
	switch v := v.(type) {
	case float64:
		if math.IsInf(v, 0) {
			break
		}
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case json.Number:
		if number, ok := parseNumber(string(v)); ok {
			return number
		}
	case string:
		if number, ok := parseNumber(v); ok {
			return number
		}
	}
	e.faults.add(i, c.Name, show(v)+" is not a number")
	return math.NaN()
}

// target returns the number that v stands for as a target, NaN where it is no class of the schema.
func (e *encoder) target(i int, c *namedColumn, v any) float64 {
	y := e.value(i, c, v)
	if c.Kind == Categorical && y == Unknown {
		return math.NaN()
	}
	return y
}

// code returns the code of the category that v names.
func (e *encoder) code(i int, c *namedColumn, v any) float64 {
	switch v := v.(type) {
	case string:
		return c.lookup(v, strings.TrimSpace(v))
	case json.Number:
		number, _ := parseNumber(string(v))
		return c.numbered(string(v), number)
	case float64:
		return c.numbered(strconv.FormatFloat(v, 'f', -1, 64), v)
	case bool:
		text := strconv.FormatBool(v)
		return c.lookup(text, strings.ToUpper(text[:1])+text[1:])
	}
	e.faults.add(i, c.Name, show(v)+" is no category")
	return Unknown
}

// lookup returns the code of a category in one of two spellings.
func (c *namedColumn) lookup(text, other string) float64 {
	if code, ok := c.find(text); ok {
		return code
	}
	if code, ok := c.find(other); ok {
		return code
	}
	return Unknown
}

// numbered returns the code of the category that is written as text, or else as the same number.
func (c *namedColumn) numbered(text string, number float64) float64 {
	if code, ok := c.find(text); ok {
		return code
	}
	for code, level := range c.Levels {
		if v, ok := parseNumber(level); ok && v == number {
			return float64(code)
		}
	}
	return Unknown
}

// date puts the parts of a date into their columns.
func (e *encoder) date(i int, name string, row map[string]any, x []float64, given []bool) {
	parts := e.parts[name]
	var t time.Time
	ok, missing := false, false
	switch v := row[name].(type) {
	case nil:
		ok, missing = true, true
	case time.Time:
		t, ok = v, true
	case string:
		missing = v == "" || slices.Contains(e.missing, v)
		t, ok = Date{}.Parse([]byte(strings.TrimSpace(v)))
		ok = ok || missing
	}
	if !ok {
		e.faults.add(i, name, show(row[name])+" is not a date, wanted a time.Time or a text such as 2024-03-31")
	}
	for _, p := range parts {
		if _, twice := row[p.name]; twice {
			e.faults.add(i, p.name, "given twice: the date "+name+" has it too")
		}
		if given[p.at] = true; missing {
			x[p.at] = math.NaN()
		} else {
			x[p.at] = float64(Date{Parts: []string{p.part}}.Values(t)[0])
		}
	}
}

// plain returns a value of any type of numbers as a float64, and one of a type made of string or bool as
// that. A json.Number and what is neither stay as they are.
func plain(v any) any {
	switch v.(type) {
	case nil, json.Number:
		return v
	}
	switch r := reflect.ValueOf(v); {
	case r.CanFloat():
		return r.Float()
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.Kind() == reflect.String:
		return r.String()
	case r.Kind() == reflect.Bool:
		return r.Bool()
	}
	return v
}

// parseNumber reads a number as it stands in a file: decimal and finite.
func parseNumber(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// show writes a value as an error has it.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float64, bool, json.Number:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("a %T", v)
}

// set returns the rows that have been coded.
func (e *encoder) set(n int) Set {
	out := Set{X: &mat.Dense{}, Schema: e.schema}
	if len(e.x) > 0 {
		out.X = mat.NewDense(n, len(e.schema.Columns), e.x)
	}
	switch t := len(e.schema.Targets); {
	case !e.targets:
	case t == 1:
		out.Y = e.y
	default:
		out.Targets = mat.NewDense(n, t, e.y)
	}
	return out
}

// namedFaults are faults in order, those of several rows with the same column and text as one.
type namedFaults struct {
	list []*namedFault
	same map[string]*namedFault
	more int // beyond those in the list
}

type namedFault struct {
	row          int
	column, text string
	more         int // rows
}

// mostFaults is how many faults an error lists.
const mostFaults = 50

func (f *namedFaults) add(row int, column, text string) {
	key := column + "\x00" + text
	if known := f.same[key]; known != nil {
		known.more++
		return
	}
	if len(f.list) == mostFaults {
		f.more++
		return
	}
	if f.same == nil {
		f.same = map[string]*namedFault{}
	}
	f.same[key] = &namedFault{row: row, column: column, text: text}
	f.list = append(f.list, f.same[key])
}

func (f *namedFaults) err() error {
	var errs []error
	for _, one := range f.list {
		err := errors.New(one.text)
		switch {
		case one.more == 1:
			err = errors.New(one.text + " (and in 1 more row)")
		case one.more > 1:
			err = fmt.Errorf("%s (and in %d more rows)", one.text, one.more)
		}
		errs = append(errs, &RowError{Row: one.row, Column: one.column, Err: err})
	}
	if f.more > 0 {
		errs = append(errs, fmt.Errorf("and %d more faults", f.more))
	}
	return errors.Join(errs...)
}
