// Package rowencoding encodes rows of named values in the schema of a model's training rows.
package rowencoding

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/structrows"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Field is a named value of a row: a column of the model, a date that is split into several
// columns, a target, or another column of the training file.
type Field struct {
	Name    string
	Columns []int          // of the model, by number; nil for none
	Kind    datasets.Kind  // of the column or target
	Levels  []string       // of a categorical one
	Date    *datasets.Date // nil for none
	Format  datasets.Format

	codes   map[string]float64  // of the levels; nil before Index
	numbers map[float64]float64 // codes of the levels that are numbers; nil before Index
	target  int                 // number of the target, -1 for none
	named   bool                // the experiment file has the date
}

// Ignored reports whether the field is no input.
func (f *Field) Ignored() bool { return f.Columns == nil }

// IsString reports whether the values are strings only: dates and text.
func (f *Field) IsString() bool { return f.Date != nil || f.Kind == datasets.Text }

// Constraint describes how a value is written for which [Field.IsString] is true, or which has a unit.
func (f *Field) Constraint() string {
	switch {
	case f.Format.Unit != "":
		return fmt.Sprintf("a number of %s, or a string such as \"8 %[1]s\"", f.Format.Unit)
	case f.Format.Delimiter != "":
		return fmt.Sprintf("a string such as \"a%sb\", or an array of labels", f.Format.Delimiter)
	case f.Date == nil:
		return "a string"
	}
	switch f.Date.Order {
	case "dmy":
		return "a date such as 2024-03-31 or 31/3/2024"
	case "mdy":
		return "a date such as 2024-03-31 or 3/31/2024"
	}
	return "a date such as 2024-03-31"
}

// Coding codes rows. It is safe for concurrent use after Index, except for text: requests code their rows by a Coding
// of their own, from ForRequest.
type Coding struct {
	Width    int             // columns
	Fields   []Field         // columns in order, then dates, then ignored fields
	Missing  map[string]bool // missing-value markers
	Numeric  bool            // all columns are plain numbers
	schema   datasets.Schema
	textCols []int             // text columns
	strings  *textrows.Strings // of the rows of a request
	byName   map[string]int
}

// New returns the encoding of rows of the given width with a schema. missing are the missing-value
// markers, if they differ from those of the schema; dates are the dates of the training file by
// name; ignored are the names of its columns that are not inputs.
func New(schema datasets.Schema, width int, missing []string, dates map[string]datasets.Date,
	ignored ...string) *Coding {
	c := &Coding{Width: width, Missing: map[string]bool{"": true}, Numeric: true, schema: schema, byName: map[string]int{}}
	if len(missing) == 0 {
		missing = schema.Missing
	}
	if missing == nil {
		missing = []string{"NaN", "nan"}
	}
	for _, text := range missing {
		c.Missing[text] = true
	}
	for j := range width {
		column := schema.Column(j)
		if column.Kind == datasets.Text {
			c.textCols = append(c.textCols, j)
		}
		c.Numeric = c.Numeric && column.Kind == datasets.Numeric && column.Format.Unit == ""
		c.add(Field{Name: schema.Name(j), Columns: []int{j}, Kind: column.Kind, Levels: column.Categories,
			Format: column.Format, target: -1})
	}
	c.addDates(dates)
	for k, t := range schema.Targets {
		c.add(Field{Name: t.Name, Kind: t.Kind, Levels: t.Categories, Format: t.Format, target: k})
	}
	for _, name := range ignored {
		c.add(Field{Name: name, target: -1})
	}
	return c
}

// ForRequest returns a coding for the rows of one request, which stores their text.
func (c *Coding) ForRequest() *Coding {
	if c.textCols == nil {
		return c
	}
	own := *c
	own.strings = &textrows.Strings{}
	return &own
}

// HasText reports whether some columns are text.
func (c *Coding) HasText() bool { return c.textCols != nil }

// Rows returns n coded rows as a matrix.
func (c *Coding) Rows(x []float64, n int) mat.Matrix {
	if n == 0 {
		return &mat.Dense{}
	}
	return textrows.Wrap(mat.NewDense(n, c.Width, x), c.textCols, c.strings)
}

// add adds a field. One whose name is empty or taken is added only if it is a column.
func (c *Coding) add(f Field) {
	if _, taken := c.byName[f.Name]; (taken || f.Name == "") && len(c.Fields) >= c.Width {
		return
	}
	c.byName[f.Name] = len(c.Fields)
	c.Fields = append(c.Fields, f)
}

// addDates adds a field for each date whose parts are columns, such as sold for sold_year and
// sold_month.
func (c *Coding) addDates(written map[string]datasets.Date) {
	parts := map[string][]int{}
	for j := range c.Width {
		f := &c.Fields[j]
		for _, part := range (datasets.Date{}).AllParts() {
			name, ok := strings.CutSuffix(f.Name, "_"+part)
			if ok && name != "" && f.Kind == datasets.Numeric {
				parts[name] = append(parts[name], j)
			}
		}
	}
	for name, columns := range parts {
		read, named := written[name]
		d := &datasets.Date{Order: read.Order}
		for _, j := range columns {
			d.Parts = append(d.Parts, c.Fields[j].Name[len(name)+1:])
		}
		c.add(Field{Name: name, Date: d, Columns: columns, named: named, target: -1})
	}
}

// Index builds the lookup tables of categories, which pay off from about 16 rows on.
func (c *Coding) Index() {
	for k := range c.Fields {
		f := &c.Fields[k]
		if f.Kind != datasets.Categorical {
			continue
		}
		f.codes, f.numbers = make(map[string]float64, len(f.Levels)), map[float64]float64{}
		for k, level := range slices.Backward(f.Levels) { // of equal numbers, the first one wins
			f.codes[level] = float64(k)
			if v, ok := decimal(level); ok {
				f.numbers[v] = float64(k)
			}
		}
		for k, level := range f.Levels { // padded
			trimmed := strings.TrimSpace(level)
			if _, taken := f.codes[trimmed]; !taken && trimmed != "" {
				f.codes[trimmed] = float64(k)
			}
		}
	}
}

// Find returns the number of the field of a name.
func (c *Coding) Find(name []byte) (k int, ok bool) {
	k, ok = c.byName[string(name)]
	return k, ok
}

// Inputs returns the inputs of a row in the order of the columns. A date of the experiment file
// replaces its columns.
func (c *Coding) Inputs() (out []*Field) {
	dates := map[int]*Field{}
	for k := range c.Fields {
		if f := &c.Fields[k]; f.Date != nil && f.named {
			for _, j := range f.Columns {
				dates[j] = f
			}
		}
	}
	for j := range c.Width {
		switch date := dates[j]; {
		case date == nil:
			out = append(out, &c.Fields[j])
		case date.Columns[0] == j:
			out = append(out, date)
		}
	}
	return out
}

// Absent returns the fields that a row lacks, for messages, where has reports whether the row has
// a column. A date without any of its columns is one field, unless it has a single one.
func (c *Coding) Absent(has func(column int) bool) (out []*Field) {
	dates := map[int]*Field{}
	for k := range c.Fields {
		f := &c.Fields[k]
		if f.Date == nil || len(f.Columns) < 2 && !f.named || slices.ContainsFunc(f.Columns, has) {
			continue
		}
		for _, j := range f.Columns {
			dates[j] = f
		}
	}
	for j := range c.Width {
		switch date := dates[j]; {
		case has(j):
		case date == nil:
			out = append(out, &c.Fields[j])
		case date.Columns[0] == j:
			out = append(out, date)
		}
	}
	return out
}

// Code writes the value that a string denotes into the columns of a row. A missing value is NaN,
// and a category that training did not have is [datasets.Unknown]. For an invalid string it returns
// the constraint.
func (c *Coding) Code(row []float64, f *Field, text []byte) (want string) {
	switch {
	case c.Missing[string(text)]:
		f.SetMissing(row)
	case f.Date != nil:
		t, ok := f.Date.Parse(bytes.TrimSpace(text))
		if !ok {
			return f.Constraint()
		}
		f.setDate(row, t)
	case f.Kind == datasets.Text:
		row[f.Columns[0]] = c.strings.Add(string(text))
	case f.Kind == datasets.Categorical:
		code, ok := f.lookup(text)
		if !ok {
			code, _ = f.lookup(bytes.TrimSpace(text))
		}
		row[f.Columns[0]] = code
	default:
		number, ok := string(text), true
		if f.Format.Unit != "" {
			number, ok = f.Format.Number(number)
		}
		v, isNumber := decimal(number)
		switch {
		case f.Format.Unit != "" && !(ok && isNumber):
			return f.Constraint()
		case !isNumber:
			return "a number"
		}
		row[f.Columns[0]] = v
	}
	return ""
}

// SetMissing makes the field missing in a row.
func (f *Field) SetMissing(row []float64) {
	for _, j := range f.Columns {
		row[j] = math.NaN()
	}
}

// setDate writes the parts of a date into a row.
func (f *Field) setDate(row []float64, t time.Time) {
	for p, v := range f.Date.Values(t) {
		row[f.Columns[p]] = v
	}
}

// lookup returns the code of a level, [datasets.Unknown] if it is none.
func (f *Field) lookup(level []byte) (code float64, ok bool) {
	if f.codes != nil {
		code, ok = f.codes[string(level)]
	} else if k := slices.Index(f.Levels, string(level)); k >= 0 {
		code, ok = float64(k), true
	} else if k := slices.IndexFunc(f.Levels, func(padded string) bool {
		return strings.TrimSpace(padded) == string(level)
	}); k >= 0 && len(level) > 0 {
		code, ok = float64(k), true
	}
	if !ok {
		code = datasets.Unknown
	}
	return code, ok
}

// Number returns the value of a field for the number v, which is written as text if that is not
// empty. A category may be another spelling of the number; of an integer that float64 may round
// only the same digits are.
func (f *Field) Number(text []byte, v float64) float64 {
	if f.Kind != datasets.Categorical || math.IsNaN(v) {
		return v
	}
	given := len(text) > 0
	if !given {
		text = strconv.AppendFloat(make([]byte, 0, 32), v, 'f', -1, 64)
	}
	code, ok := f.lookup(text)
	if ok || given && structrows.IsRounded(text, v) {
		return code
	}
	if f.numbers != nil {
		if found, ok := f.numbers[v]; ok {
			code = found
		}
	} else if k := slices.IndexFunc(f.Levels, func(level string) bool {
		w, ok := decimal(level)
		return ok && w == v
	}); k >= 0 {
		code = float64(k)
	}
	return code
}

// Truth returns the value of a field for true or false.
func (f *Field) Truth(is bool) float64 {
	if f.Kind != datasets.Categorical {
		if is {
			return 1
		}
		return 0
	}
	text := strconv.AppendBool(make([]byte, 0, 8), is)
	code, ok := f.lookup(text)
	if !ok {
		text[0] -= 'a' - 'A'
		code, _ = f.lookup(text)
	}
	return code
}

// Names lists the columns, for messages.
func (c *Coding) Names() string {
	var names []string
	for _, f := range c.Fields[:c.Width] {
		names = append(names, f.Name)
	}
	return suggest.List(names)
}

// decimal reads a number as files have it: decimal and finite.
func decimal(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
