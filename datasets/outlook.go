package datasets

import "slices"

// Outlook is what is known, before anything is fitted, of the columns at one place of a pipeline.
type Outlook struct {
	Columns []Foreseen // none stands for any number of numeric columns without missing values
	Named   bool       // whether columns can be selected by name
	More    bool       // whether there may be more columns beside these, of which nothing is known but that they are numbers without missing values
	Unknown bool       // whether nothing is known
}

// Foreseen is what is known of a column.
type Foreseen struct {
	Column
	Content
}

// OutlookOf returns what schema says, and content where that has been looked at, as [Survey] does.
func OutlookOf(schema Schema, content []Content) Outlook {
	out := Outlook{Named: true, Columns: make([]Foreseen, len(schema.Columns))}
	for j, c := range schema.Columns {
		out.Columns[j].Column = c
		if j < len(content) {
			out.Columns[j].Content = content[j]
		}
	}
	return out
}

// Each returns the outlook with every column changed, in the same order.
func (o Outlook) Each(change func(c *Foreseen)) Outlook {
	o.Columns = slices.Clone(o.Columns)
	for j := range o.Columns {
		change(&o.Columns[j])
	}
	return o
}

// AsNumbers returns the columns as a step leaves them that makes a number of every value.
func (o Outlook) AsNumbers() Outlook {
	o.Named = false
	return o.Each(func(c *Foreseen) { c.Kind, c.Levels = Numeric, nil })
}

// SideBySide returns the columns of all parts, one after the other and no longer by name.
func SideBySide(parts []Outlook) Outlook {
	var out Outlook
	for _, p := range parts {
		out.Columns = append(out.Columns, p.Columns...)
		out.More = out.More || p.More || len(p.Columns) == 0
		out.Unknown = out.Unknown || p.Unknown
	}
	return out
}

// Want is something that a step or a model may want of the columns that come to it.
type Want int

// What may be wanted.
const (
	Numbers     Want = iota // no categorical column
	Categories              // no numeric column
	AnyValue                // no column without a value in every row
	EveryValue              // no missing value in a numeric column
	KnownLevels             // no level that the schema does not have
	ManyColumns             // at least Demand.Columns columns
	NamedColumn             // a column called Demand.Name
	Targets                 // rows with targets, of which it learns
)

// Demand is a want, with what to tell those who do not meet it.
type Demand struct {
	Want    Want
	Columns int    // for ManyColumns
	Name    string // for NamedColumn
	Because string // what follows "column age is categorical"; "" says which kind is wanted
	Hint    string // what to do; "" stands for what usually helps
}

// Demander is a step or a model that can tell beforehand which columns it refuses.
type Demander interface {
	Demands() []Demand
}

// Forecaster is a step that can tell beforehand what comes out of it when in goes in. Where one cannot,
// nothing is known of the columns behind it.
type Forecaster interface {
	Forecast(in Outlook) Outlook
}

// Refused returns the columns that do not meet the want.
func (o Outlook) Refused(w Want) []Foreseen {
	if o.Unknown {
		return nil
	}
	var out []Foreseen
	for _, c := range o.Columns {
		if c.refused(w) {
			out = append(out, c)
		}
	}
	return out
}

// Meets reports whether every demand is met.
func (o Outlook) Meets(demands []Demand) bool {
	return !slices.ContainsFunc(demands, func(d Demand) bool { return len(o.Refused(d.Want)) > 0 })
}

func (c Foreseen) refused(w Want) bool {
	switch w {
	case Numbers:
		return c.Kind == Categorical
	case Categories:
		return c.Kind != Categorical
	case AnyValue:
		return c.Empty
	case EveryValue:
		return c.Missing != nil && c.Kind == Numeric
	case KnownLevels:
		return c.Unknown != nil
	}
	return false
}
