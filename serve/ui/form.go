package ui

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/profile"
	"github.com/bochner-ml/bochner/internal/rowencoding"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/internal/protocol"
)

const (
	maxFields  = 500  // of a form
	maxChoices = 50   // of a list; more are offered as completions
	maxOffered = 1000 // of these
	maxAddress = 4000 // bytes of an address with a row in it
)

// form is the form of a model.
type form struct {
	Method string // get, or post if a row is too long for an address
	Fields []entry
	Faults []link // errors, with links to their fields
	Other  []string
}

// entry is a field of the form.
type entry struct {
	ID, Name, Value string
	Decimal         bool // whether it is a number
	Choices         []choice
	Offered         []string // completions
	Hint            string
	Fault           string
	Note            string // a warning about the value
	Described       string // ids of hint, fault and note

	field   *rowencoding.Field
	far     bool // whether the value is far outside the training rows
	typical string
}

// link leads to another page.
type link struct{ Name, Href string }

// choice is an option of a list.
type choice struct {
	Value, Text string
	Chosen      bool
}

// invalid returns the error of a form, whose fields have the faults.
func invalid(f *form) error {
	n := len(f.Faults) + len(f.Other)
	text := "One value is wrong; the rest is as you have written it."
	if n > 1 {
		text = fmt.Sprintf("%d values are wrong; the rest is as you have written it.", n)
	}
	return &serve.Error{Code: protocol.InvalidArgument, Message: text}
}

// newForm returns a form with the typical row.
func newForm(m *serve.Model, fields []*rowencoding.Field) *form {
	f := &form{Method: "get"}
	known := m.File.Profile
	address := 0
	for k, field := range fields {
		e := entry{ID: fmt.Sprintf("f%d", k), Name: field.Name, field: field, Decimal: field.Date == nil && field.Kind == datasets.Numeric}
		var columns []profile.Column
		for _, j := range field.Columns {
			if known != nil && j < len(known.Columns) {
				columns = append(columns, known.Columns[j])
			}
		}
		e.describe(columns)
		e.Value = e.typical
		longest := 24
		for _, level := range field.Levels {
			longest = max(longest, len(url.QueryEscape(level)))
		}
		address += len(url.QueryEscape(field.Name)) + longest + 2
		f.Fields = append(f.Fields, e)
	}
	if address > maxAddress {
		f.Method = "post"
	}
	return f
}

// describe sets what follows from the training rows: the typical value, the hint and the choices.
func (e *entry) describe(columns []profile.Column) {
	switch {
	case e.field.Date != nil:
		e.typical = typicalDate(*e.field.Date, columns)
		e.Hint = e.field.Wanted()
	case e.field.Kind == datasets.Categorical:
		e.levels(columns)
	case len(columns) == 1 && len(columns[0].Quantiles) == 11:
		c := columns[0]
		write := writer(c)
		e.typical = write(c.Quantiles[5])
		low, high := write(c.Quantiles[1]), write(c.Quantiles[9])
		switch e.Hint = write(c.Min) + " to " + write(c.Max); {
		case c.Min == c.Max:
			e.Hint = "always " + write(c.Min)
		case low == high:
			e.Hint += ", 8 in 10 are " + low
		default:
			e.Hint += ", 8 in 10 between " + low + " and " + high
		}
	default:
		e.Hint = "a number"
	}
	if len(columns) == 1 && columns[0].Missing > 0 {
		e.Hint += "; not known in " + percent(columns[0].Missing)
	}
}

// levels sets the choices to the categories, the most frequent first.
func (e *entry) levels(columns []profile.Column) {
	order := slices.Clone(e.field.Levels)
	if len(columns) == 1 && len(columns[0].Levels) > 0 {
		place := map[string]int{}
		for k, l := range columns[0].Levels {
			place[l.Name] = k - len(columns[0].Levels)
		}
		slices.SortStableFunc(order, func(a, b string) int { return place[a] - place[b] })
		first := columns[0].Levels[0]
		e.typical = first.Name
		e.Hint = fmt.Sprintf("most often %s, %s", quoted(first.Name), percent(first.Share))
	}
	if len(order) > maxChoices {
		e.Offered = order[:min(len(order), maxOffered)]
		if e.Hint != "" {
			e.Hint += "; "
		}
		e.Hint += "one of " + count(float64(len(order))) + " levels"
		return
	}
	e.Choices = []choice{{Value: "", Text: "not known"}}
	for _, level := range order {
		e.Choices = append(e.Choices, choice{Value: level, Text: quoted(level)})
	}
}

// typicalDate returns the date with the medians of its parts; "" if they are unknown.
func typicalDate(d datasets.Date, columns []profile.Column) string {
	at := map[string]int{"year": 2000, "month": 1, "day": 1, "hour": 0}
	clock := false
	for k, part := range d.Parts {
		if k >= len(columns) || len(columns[k].Quantiles) != 11 {
			return ""
		}
		at[part] = int(columns[k].Quantiles[5])
		clock = clock || part == "hour"
	}
	text := fmt.Sprintf("%04d-%02d-%02d", at["year"], at["month"], min(at["day"], 28))
	if clock {
		text += fmt.Sprintf(" %02d:00", at["hour"])
	}
	if _, ok := d.Parse([]byte(text)); !ok {
		return ""
	}
	return text
}

// read returns the row that was sent, and that of the typical values.
func (f *form) read(m *serve.Model, given url.Values) (row, typical []float64) {
	row, typical = make([]float64, m.Encoding.Width), make([]float64, m.Encoding.Width)
	for k := range f.Fields {
		e := &f.Fields[k]
		if wanted := m.Encoding.Code(typical, e.field, []byte(e.typical)); wanted != "" {
			m.Encoding.Code(typical, e.field, []byte(""))
		}
		texts, there := given[e.Name]
		delete(given, e.Name)
		switch {
		case !there:
			e.Fault = "it was not sent; its typical value is filled in"
			continue
		case len(texts) > 1:
			e.Value, e.Fault = texts[0], "it was sent twice"
			continue
		}
		e.Value = texts[0]
		if wanted := m.Encoding.Code(row, e.field, []byte(e.Value)); wanted != "" {
			e.Fault = "must be " + wanted
			if e.Decimal {
				e.Fault += " such as 12.5, or nothing where it is not known"
			}
		}
		if e.field.Kind == datasets.Categorical && row[e.field.Columns[0]] == datasets.Unknown {
			e.Note = "The training rows had no such level: the model takes it as one that it does not know."
		}
		if known := m.File.Profile; known != nil && e.Fault == "" {
			e.outside(known.Columns, row)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if len(f.Other) == 20 {
			f.Other = append(f.Other, "and more")
			break
		}
		f.Other = append(f.Other, fmt.Sprintf("%s: the model has no such input", quoted(short(name, 60))))
	}
	f.gather()
	return row, typical
}

// outside notes the first of the field's columns whose value in the row is below or above all of the
// training rows. It is far where the range of the training rows would have to be twice as wide.
func (e *entry) outside(columns []profile.Column, row []float64) {
	for _, j := range e.field.Columns {
		if j >= len(columns) || len(columns[j].Quantiles) == 0 {
			continue
		}
		c := columns[j]
		write := writer(c)
		v, spread := row[j], c.Max-c.Min
		switch {
		case v > c.Max:
			e.Note = fmt.Sprintf("%s is above all training rows, whose maximum is %s: the prediction is an extrapolation.", write(v), write(c.Max))
		case v < c.Min:
			e.Note = fmt.Sprintf("%s is below all training rows, whose minimum is %s: the prediction is an extrapolation.", write(v), write(c.Min))
		default:
			continue
		}
		e.far = v > c.Max+spread || v < c.Min-spread
		return
	}
}

// gather lists the faults of the fields.
func (f *form) gather() {
	f.Faults = nil
	for _, e := range f.Fields {
		if e.Fault != "" {
			f.Faults = append(f.Faults, link{e.Name + ": " + e.Fault, "#" + e.ID})
		}
	}
}

// blame sets the fault of the field of a column.
func (f *form) blame(column, text string) {
	for k := range f.Fields {
		e := &f.Fields[k]
		for _, part := range append([]string{e.Name}, e.partNames()...) {
			if part == column {
				e.Fault = text
			}
		}
	}
	f.gather()
	if len(f.Faults) == 0 {
		f.Other = append(f.Other, column+": "+text)
	}
}

// partNames returns the columns of a date.
func (e *entry) partNames() []string {
	if e.field.Date == nil {
		return nil
	}
	return e.field.Date.Names(e.Name)
}

// finish marks the choices that are chosen, and sets the ids of the descriptions for screen readers.
func (f *form) finish() {
	for k := range f.Fields {
		e := &f.Fields[k]
		e.Value = strings.ToValidUTF8(e.Value, "\uFFFD")
		chosen := false
		for c := range e.Choices {
			e.Choices[c].Chosen = e.Choices[c].Value == e.Value
			chosen = chosen || e.Choices[c].Chosen
		}
		if e.Choices != nil && !chosen {
			e.Choices = append(e.Choices, choice{e.Value, quoted(e.Value), true})
		}
		var ids []string
		for _, part := range []struct{ text, id string }{{e.Fault, "-fault"}, {e.Note, "-note"}, {e.Hint, "-hint"}} {
			if part.text != "" {
				ids = append(ids, e.ID+part.id)
			}
		}
		e.Described = strings.Join(ids, " ")
	}
}
