package ui

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowencoding"
	"github.com/bochner-ml/bochner/serve"
)

const (
	maxFields      = 500  // inputs of a form
	maxChoices     = 50   // options of a list; longer lists become completions
	maxCompletions = 1000 // completions
	maxURLBytes    = 4000 // length of a URL that contains a row
)

// form is the form of a model.
type form struct {
	Method      string // get, or post if a row is too long for a URL
	Fields      []formField
	Errors      []link // errors with links to their fields
	OtherErrors []string
}

// formField is a field of the form.
type formField struct {
	ID, Name, Value string
	Decimal         bool // whether the input is numeric
	Text            bool // whether the input is text
	Choices         []choice
	Completions     []string // completions
	Hint            string
	Error           string
	Note            string // warning about the value
	DescribedBy     string // element IDs for aria-describedby

	column       *rowencoding.Field
	extrapolates bool // whether the value is far outside the training range
	typical      string
}

// link is a hyperlink.
type link struct{ Name, Href string }

// choice is an option of a list.
type choice struct {
	Value, Text string
	Selected    bool
}

// invalidForm returns the error of a form with invalid fields.
func invalidForm(f *form) error {
	n := len(f.Errors) + len(f.OtherErrors)
	text := "One value is invalid; the other values are kept."
	if n > 1 {
		text = fmt.Sprintf("%d values are invalid; the other values are kept.", n)
	}
	return &serve.Error{Code: protocol.InvalidArgument, Message: text}
}

// newForm returns a form that contains the typical row.
func newForm(m *serve.Model, fields []*rowencoding.Field) *form {
	f := &form{Method: "get"}
	known := m.File.Profile
	address := 0
	for k, field := range fields {
		e := formField{ID: fmt.Sprintf("f%d", k), Name: field.Name, column: field, Decimal: !field.IsString() &&
			field.Kind == datasets.Numeric && field.Format.Unit == "", Text: field.Kind == datasets.Text}
		var columns []profile.Column
		for _, j := range field.Columns {
			if known != nil && j < len(known.Columns) {
				columns = append(columns, known.Columns[j])
			}
		}
		e.setDefaults(columns)
		e.Value = e.typical
		longest := 24
		for _, level := range field.Levels {
			longest = max(longest, len(url.QueryEscape(level)))
		}
		address += len(url.QueryEscape(field.Name)) + longest + 2
		f.Fields = append(f.Fields, e)
	}
	if address > maxURLBytes || slices.ContainsFunc(f.Fields, func(e formField) bool { return e.Text }) {
		f.Method = "post"
	}
	return f
}

// setDefaults sets the typical value, the hint and the choices from the training profile.
func (e *formField) setDefaults(columns []profile.Column) {
	switch {
	case e.column.Date != nil:
		e.typical = medianDate(*e.column.Date, columns)
		e.Hint = e.column.Constraint()
	case e.column.Kind == datasets.Categorical:
		e.setCategories(columns)
	case e.Text:
		e.Hint = "text"
		if len(columns) == 1 && len(columns[0].Quantiles) == 11 {
			e.Hint = "text, 80 % of " + count(columns[0].Quantiles[1]) + " to " + count(columns[0].Quantiles[9]) + " characters"
		}
	case len(columns) == 1 && len(columns[0].Quantiles) == 11:
		c := columns[0]
		format := columnFormat(c)
		e.typical = format(c.Quantiles[5])
		low, high := format(c.Quantiles[1]), format(c.Quantiles[9])
		switch e.Hint = format(c.Min) + " to " + format(c.Max); {
		case c.Min == c.Max:
			e.Hint = "constant " + format(c.Min)
		case low == high:
			e.Hint += ", 80 % equal " + low
		default:
			e.Hint += ", 80 % between " + low + " and " + high
		}
	default:
		e.Hint = "a number"
	}
	if unit := e.column.Format.Unit; unit != "" {
		e.Hint += " " + unit
		if e.typical != "" {
			e.typical += " " + unit
		}
	}
	if len(columns) == 1 && columns[0].Missing > 0 {
		e.Hint += "; missing in " + percent(columns[0].Missing)
	}
}

// setCategories sets the choices to the categories, most frequent first.
func (e *formField) setCategories(columns []profile.Column) {
	order := slices.Clone(e.column.Levels)
	if len(columns) == 1 && len(columns[0].Categories) > 0 {
		position := map[string]int{}
		for k, l := range columns[0].Categories {
			position[l.Name] = k - len(columns[0].Categories)
		}
		slices.SortStableFunc(order, func(a, b string) int { return position[a] - position[b] })
		first := columns[0].Categories[0]
		e.typical = first.Name
		e.Hint = fmt.Sprintf("most frequent: %s, %s", quoted(first.Name), percent(first.Fraction))
	}
	if len(order) > maxChoices {
		e.Completions = order[:min(len(order), maxCompletions)]
		if e.Hint != "" {
			e.Hint += "; "
		}
		e.Hint += "one of " + count(float64(len(order))) + " categories"
		return
	}
	e.Choices = []choice{{Value: "", Text: "missing"}}
	for _, level := range order {
		e.Choices = append(e.Choices, choice{Value: level, Text: quoted(level)})
	}
}

// medianDate returns the date composed of the medians of its parts; "" if they are unknown.
func medianDate(d datasets.Date, columns []profile.Column) string {
	at := map[string]int{"year": 2000, "month": 1, "day": 1, "hour": 0}
	hasHour := false
	for k, part := range d.Parts {
		if k >= len(columns) || len(columns[k].Quantiles) != 11 {
			return ""
		}
		if part == "elapsed" {
			return time.Unix(int64(24*60*60*columns[k].Quantiles[5]), 0).UTC().Format("2006-01-02 15:04")
		}
		at[part] = int(columns[k].Quantiles[5])
		hasHour = hasHour || part == "hour"
	}
	text := fmt.Sprintf("%04d-%02d-%02d", at["year"], at["month"], min(at["day"], 28))
	if hasHour {
		text += fmt.Sprintf(" %02d:00", at["hour"])
	}
	if _, ok := d.Parse([]byte(text)); !ok {
		return ""
	}
	return text
}

// read returns the row of the request and the typical row.
func (f *form) read(m *serve.Model, given url.Values) (row, typical []float64) {
	row, typical = make([]float64, m.Encoding.Width), make([]float64, m.Encoding.Width)
	for k := range f.Fields {
		e := &f.Fields[k]
		if constraint := m.Encoding.Code(typical, e.column, []byte(e.typical)); constraint != "" {
			m.Encoding.Code(typical, e.column, []byte(""))
		}
		values, present := given[e.Name]
		delete(given, e.Name)
		switch {
		case !present:
			e.Error = "missing in the request; replaced by the typical value"
			continue
		case len(values) > 1:
			e.Value, e.Error = values[0], "given twice"
			continue
		}
		e.Value = values[0]
		if constraint := m.Encoding.Code(row, e.column, []byte(e.Value)); constraint != "" {
			e.Error = "must be " + constraint
			if e.Decimal {
				e.Error += " such as 12.5, or empty for a missing value"
			}
		}
		if e.column.Kind == datasets.Categorical && row[e.column.Columns[0]] == datasets.Unknown {
			e.Note = "This category does not occur in the training rows; the model treats it as unknown."
		}
		if known := m.File.Profile; known != nil && e.Error == "" && !e.Text {
			e.noteExtrapolation(known.Columns, row)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if len(f.OtherErrors) == 20 {
			f.OtherErrors = append(f.OtherErrors, "and more")
			break
		}
		f.OtherErrors = append(f.OtherErrors, fmt.Sprintf("%s: unknown input", quoted(truncate(name, 60))))
	}
	f.collectErrors()
	return row, typical
}

// noteExtrapolation sets a note for the first column whose value is outside the training range. A
// value that is outside by more than the width of the range sets extrapolates.
func (e *formField) noteExtrapolation(columns []profile.Column, row []float64) {
	for _, j := range e.column.Columns {
		if j >= len(columns) || len(columns[j].Quantiles) == 0 {
			continue
		}
		c := columns[j]
		format := columnFormat(c)
		v, valueRange := row[j], c.Max-c.Min
		switch {
		case v > c.Max:
			e.Note = fmt.Sprintf("%s exceeds the training maximum of %s: the prediction is an extrapolation.", format(v),
				format(c.Max))
		case v < c.Min:
			e.Note = fmt.Sprintf("%s is below the training minimum of %s: the prediction is an extrapolation.", format(v),
				format(c.Min))
		default:
			continue
		}
		e.extrapolates = v > c.Max+valueRange || v < c.Min-valueRange
		return
	}
}

// collectErrors lists the errors of the fields.
func (f *form) collectErrors() {
	f.Errors = nil
	for _, e := range f.Fields {
		if e.Error != "" {
			f.Errors = append(f.Errors, link{e.Name + ": " + e.Error, "#" + e.ID})
		}
	}
}

// setColumnError sets the error of the field that contains a column.
func (f *form) setColumnError(column, text string) {
	for k := range f.Fields {
		e := &f.Fields[k]
		for _, part := range append([]string{e.Name}, e.partNames()...) {
			if part == column {
				e.Error = text
			}
		}
	}
	f.collectErrors()
	if len(f.Errors) == 0 {
		f.OtherErrors = append(f.OtherErrors, column+": "+text)
	}
}

// partNames returns the columns of a date.
func (e *formField) partNames() []string {
	if e.column.Date == nil {
		return nil
	}
	return e.column.Date.Names(e.Name)
}

// finish marks the selected choices and sets the IDs of the descriptions.
func (f *form) finish() {
	for k := range f.Fields {
		e := &f.Fields[k]
		e.Value = strings.ToValidUTF8(e.Value, "\uFFFD")
		chosen := false
		for c := range e.Choices {
			e.Choices[c].Selected = e.Choices[c].Value == e.Value
			chosen = chosen || e.Choices[c].Selected
		}
		if e.Choices != nil && !chosen {
			e.Choices = append(e.Choices, choice{e.Value, quoted(e.Value), true})
		}
		var ids []string
		for _, part := range []struct{ text, id string }{{e.Error, "-error"}, {e.Note, "-note"}, {e.Hint, "-hint"}} {
			if part.text != "" {
				ids = append(ids, e.ID+part.id)
			}
		}
		e.DescribedBy = strings.Join(ids, " ")
	}
}
