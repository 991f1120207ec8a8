package serve

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/document"
)

// Field is a named value of a row: a column of the model, a date that stands for several columns, or a column of the
// training file that is no input.
type Field struct {
	Name    string
	Columns []int          // of the model, by number
	Kind    datasets.Kind  // of the column
	Levels  []string       // of a categorical column
	Date    *datasets.Date // nil for none

	codes   map[string]float64  // of the levels
	numbers map[float64]float64 // codes of the levels that are numbers
	ignored bool                // no input
	named   bool                // the experiment file has the date
}

// Wanted describes how a date is written.
func (f *Field) Wanted() string {
	switch f.Date.Order {
	case "dmy":
		return "a date such as 2024-03-31 or 31/3/2024"
	case "mdy":
		return "a date such as 2024-03-31 or 3/31/2024"
	}
	return "a date such as 2024-03-31"
}

// coding codes rows as those that a model was trained on: see [datasets.Schema.Encode].
type coding struct {
	width   int     // columns
	fields  []Field // the columns in order, then dates, then what is no input
	byName  map[string]int
	missing map[string]bool // strings that stand for a missing value
	numeric bool            // no column is categorical
}

// newCoding returns the coding of rows of the given width, with a schema, that were read as data says.
func newCoding(schema datasets.Schema, width int, data document.Data) *coding {
	c := &coding{width: width, numeric: true, byName: map[string]int{}, missing: map[string]bool{"": true}}
	missing := []string(data.CSV.Missing)
	if len(missing) == 0 {
		missing = schema.Missing
	}
	if missing == nil {
		missing = []string{"NaN", "nan"}
	}
	for _, text := range missing {
		c.missing[text] = true
	}
	for j := range width {
		c.addColumn(j, schema.Name(j), schema.Column(j))
	}
	c.addDates(data.Dates)
	for _, t := range schema.Targets {
		c.add(Field{Name: t.Name, ignored: true})
	}
	for _, name := range slices.Concat([]string(data.Target), []string{data.Weight, data.Group}, data.Drop) {
		c.add(Field{Name: name, ignored: true})
	}
	return c
}

// add adds a field unless its name is empty or taken.
func (c *coding) add(f Field) {
	if _, taken := c.byName[f.Name]; taken || f.Name == "" {
		return
	}
	c.byName[f.Name] = len(c.fields)
	c.fields = append(c.fields, f)
}

// addColumn adds the field of column j.
func (c *coding) addColumn(j int, name string, column datasets.Column) {
	f := Field{Name: name, Columns: []int{j}, Kind: column.Kind, Levels: column.Levels}
	if column.Kind == datasets.Categorical {
		c.numeric = false
		f.codes, f.numbers = make(map[string]float64, len(column.Levels)), map[float64]float64{}
		for k, level := range column.Levels {
			f.codes[level] = float64(k)
			if v, ok := decimal(level); ok {
				if _, known := f.numbers[v]; !known {
					f.numbers[v] = float64(k)
				}
			}
		}
	}
	c.byName[name] = len(c.fields)
	c.fields = append(c.fields, f)
}

// addDates adds a field for each date whose parts are columns: sold, for sold_year and sold_month.
func (c *coding) addDates(written map[string]datasets.Date) {
	dates := map[string][]int{}
	for j := range c.width {
		f := &c.fields[j]
		if at := strings.LastIndexByte(f.Name, '_'); f.Kind == datasets.Numeric && at > 0 && slices.Contains(datasets.DateParts, f.Name[at+1:]) {
			dates[f.Name[:at]] = append(dates[f.Name[:at]], j)
		}
	}
	for name, columns := range dates {
		read, named := written[name]
		d := &datasets.Date{Order: read.Order}
		for _, j := range columns {
			d.Parts = append(d.Parts, c.fields[j].Name[len(name)+1:])
		}
		c.add(Field{Name: name, Date: d, Columns: columns, named: named})
	}
}

// Fields returns the inputs of a row in the order of the columns. A date of the experiment file stands for its columns.
func (c *coding) Fields() (out []*Field) {
	dates := map[int]*Field{}
	for k := range c.fields {
		if f := &c.fields[k]; f.Date != nil && f.named {
			for _, j := range f.Columns {
				dates[j] = f
			}
		}
	}
	for j := range c.width {
		switch date := dates[j]; {
		case date == nil:
			out = append(out, &c.fields[j])
		case date.Columns[0] == j:
			out = append(out, date)
		}
	}
	return out
}

// Width returns the number of columns of a row.
func (c *coding) Width() int { return c.width }

// Code writes the value of a field that a text stands for into the columns of a row. A missing value is NaN, and a
// category that training did not have is [datasets.Unknown]. For an invalid text it returns what was wanted.
func (c *coding) Code(row []float64, f *Field, text []byte) (wanted string) {
	missing := c.missing[string(text)]
	switch {
	case f.Date != nil:
		t, ok := f.Date.Parse(bytes.TrimSpace(text))
		if !missing && !ok {
			return f.Wanted()
		}
		for p, j := range f.Columns {
			if row[j] = math.NaN(); !missing {
				row[j] = float64(f.Date.Values(t)[p])
			}
		}
		return ""
	case missing:
		row[f.Columns[0]] = math.NaN()
	case f.Kind == datasets.Categorical:
		code, ok := f.codes[string(text)]
		if !ok {
			code = f.code(strings.TrimSpace(string(text)))
		}
		row[f.Columns[0]] = code
	default:
		v, ok := decimal(string(text))
		if !ok {
			return "a number"
		}
		row[f.Columns[0]] = v
	}
	return ""
}

// code returns the code of the first of some spellings that is a level.
func (f *Field) code(spellings ...string) float64 {
	for _, text := range spellings {
		if code, ok := f.codes[text]; ok {
			return code
		}
	}
	return datasets.Unknown
}

// number returns the value of a field for the number v, which is written as text if that is not nil.
func (f *Field) number(text []byte, v float64) float64 {
	if f.Kind != datasets.Categorical || math.IsNaN(v) {
		return v
	}
	if text == nil {
		text = strconv.AppendFloat(make([]byte, 0, 32), v, 'f', -1, 64)
	}
	if code, ok := f.codes[string(text)]; ok {
		return code
	}
	if code, ok := f.numbers[v]; ok {
		return code
	}
	return datasets.Unknown
}

// truth returns the value of a field for true or false.
func (f *Field) truth(is bool) float64 {
	switch {
	case f.Kind == datasets.Categorical && is:
		return f.code("true", "True")
	case f.Kind == datasets.Categorical:
		return f.code("false", "False")
	case is:
		return 1
	}
	return 0
}

// columnNames lists the columns, for messages.
func (c *coding) columnNames() string {
	const most = 12
	var names []string
	for j := range min(c.width, most) {
		names = append(names, c.fields[j].Name)
	}
	text := strings.Join(names, ", ")
	if more := c.width - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
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
