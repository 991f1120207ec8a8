package datasets

import "slices"

// InferredSchema is what is known, before anything is fitted, of the columns at one place of a pipeline.
type InferredSchema struct {
	Columns []InferredColumn // none stands for any number of numeric columns without missing values
	Named   bool             // whether columns can be selected by name
	More    bool             // whether there may be more columns beside these, of which nothing is known but that they are numbers without missing values
	Unknown bool             // whether nothing is known
}

// InferredColumn is what is known of a column.
type InferredColumn struct {
	Column
	ColumnContent
}

// Infer returns the inferred schema of rows that have the schema s and the given content, from
// [ScanContent]; content may be nil.
func (s Schema) Infer(content []ColumnContent) InferredSchema {
	out := InferredSchema{Named: true, Columns: make([]InferredColumn, len(s.Columns))}
	for j, c := range s.Columns {
		out.Columns[j].Column = c
		if j < len(content) {
			out.Columns[j].ColumnContent = content[j]
		}
	}
	return out
}

// Each returns the outlook with every column changed, in the same order.
func (o InferredSchema) Each(change func(c *InferredColumn)) InferredSchema {
	o.Columns = slices.Clone(o.Columns)
	for j := range o.Columns {
		change(&o.Columns[j])
	}
	return o
}

// AsNumbers returns the columns as a step leaves them that makes a number of every value.
func (o InferredSchema) AsNumbers() InferredSchema {
	o.Named = false
	return o.Each(func(c *InferredColumn) { c.Kind, c.Categories = Numeric, nil })
}

// Constraint is something that a step or a model may want of the columns that come to it.
type Constraint int

// What may be wanted.
const (
	Numbers     Constraint = iota // no categorical column
	Categories                    // no numeric column
	AnyValue                      // no column without a value in every row
	EveryValue                    // no missing value in a numeric column
	KnownLevels                   // no level that the schema does not have
	ManyColumns                   // at least Demand.Columns columns
	NamedColumn                   // a column called Demand.Name
	Targets                       // rows with targets, of which it learns
)

// Requirement is a want, with what to tell those who do not meet it.
type Requirement struct {
	Want    Constraint
	Columns int    // for ManyColumns
	Name    string // for NamedColumn
	Because string // what follows "column age is categorical"; "" says which kind is wanted
	Hint    string // what to do; "" stands for what usually helps
}

// Requirer is a step or a model that can tell beforehand which columns it refuses.
type Requirer interface {
	Requirements() []Requirement
}

// SchemaInferrer is a step that can tell beforehand what comes out of it when in goes in. Where one cannot,
// nothing is known of the columns behind it.
type SchemaInferrer interface {
	InferOutput(in InferredSchema) InferredSchema
}

// Violations returns the columns that do not meet the want.
func (o InferredSchema) Violations(w Constraint) []InferredColumn {
	if o.Unknown {
		return nil
	}
	var out []InferredColumn
	for _, c := range o.Columns {
		if c.refused(w) {
			out = append(out, c)
		}
	}
	return out
}

// Satisfies reports whether every demand is met.
func (o InferredSchema) Satisfies(demands []Requirement) bool {
	return !slices.ContainsFunc(demands, func(d Requirement) bool { return len(o.Violations(d.Want)) > 0 })
}

func (c InferredColumn) refused(w Constraint) bool {
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
