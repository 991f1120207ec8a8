package datasets

import "slices"

// InferredSchema describes the columns at one stage of a pipeline, as far as they are known before
// fitting.
type InferredSchema struct {
	Columns []InferredColumn // empty means any number of numeric columns without missing values
	Named   bool             // whether columns can be selected by name
	More    bool             // whether there may be more columns, which are numeric without missing values
	// EncodedFrom contains the columns from which the columns that are not in Columns were encoded, nil if
	// that is unknown.
	EncodedFrom []Column
	Unknown     bool // whether nothing is known about the columns
}

// InferredColumn describes a column before fitting.
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

// Each returns a copy of o in which change was applied to every column.
func (o InferredSchema) Each(change func(c *InferredColumn)) InferredSchema {
	o.Columns = slices.Clone(o.Columns)
	for j := range o.Columns {
		change(&o.Columns[j])
	}
	return o
}

// Encoded returns the output of a step that encodes each column as complete numeric columns of unknown
// number.
func (o InferredSchema) Encoded() InferredSchema {
	out := InferredSchema{EncodedFrom: o.EncodedFrom}
	if o.More && o.EncodedFrom == nil {
		return out
	}
	for _, c := range o.Columns {
		if c.EncodedFrom != "" {
			c.Column = Column{Name: c.EncodedFrom, Kind: c.EncodedKind, EncodedBy: c.EncodedBy}
		}
		out.EncodedFrom = append(slices.Clip(out.EncodedFrom), c.Column)
	}
	return out
}

// AsNumbers returns the output of a step that maps each column to a numeric one.
func (o InferredSchema) AsNumbers() InferredSchema {
	o.Named = false
	return o.Each(func(c *InferredColumn) {
		c.Kind, c.Categories, c.Format, c.Negative = Numeric, nil, Format{}, nil
	})
}

// Requirement is a requirement on the columns or rows that a step or a model accepts: the one that is set of the fields
// before Reason.
type Requirement struct {
	Numeric         bool   // all columns are numeric
	Text            bool   // all columns are text
	Labels          bool   // all columns are categorical, or text with categories
	Names           bool   // all columns are categorical, or text of names
	SomeValue       bool   // every column has a value in some row
	NoMissing       bool   // numeric columns have no missing values
	NonNegative     bool   // no value is below 0
	KnownCategories bool   // all categories are in the schema
	Targets         bool   // rows have targets
	Columns         int    // exact number of columns
	MinColumns      int    // least number of columns
	Column          string // name of a column that there must be
	// Check returns the errors of the columns. A param.FieldError has the path of a parameter of the step or model.
	Check func(in InferredSchema) []error

	Reason string // follows "column age is categorical" in the error; "" is the default text
	Hint   string // remedy; "" is the default one
}

// Requirer is a step or model that declares requirements on its columns, for checks before fitting.
type Requirer interface {
	Requirements() []Requirement
}

// SchemaInferrer is a step that infers the columns of its output before fitting. The output of
// other steps is unknown.
type SchemaInferrer interface {
	InferOutput(in InferredSchema) InferredSchema
}

// Violations returns the columns that violate the requirement.
func (o InferredSchema) Violations(d Requirement) []InferredColumn {
	if o.Unknown {
		return nil
	}
	var out []InferredColumn
	for _, c := range o.Columns {
		if c.violates(d) {
			out = append(out, c)
		}
	}
	return out
}

// Satisfies reports whether no column violates a requirement.
func (o InferredSchema) Satisfies(demands []Requirement) bool {
	return !slices.ContainsFunc(demands, func(d Requirement) bool { return len(o.Violations(d)) > 0 })
}

func (c InferredColumn) violates(d Requirement) bool {
	return d.Numeric && c.Kind != Numeric || d.Text && c.Kind != Text ||
		d.Labels && c.Kind != Categorical && !c.Format.HasCategories() ||
		d.Names && c.Kind != Categorical && !c.Format.Name ||
		d.SomeValue && c.Empty || d.NoMissing && c.Missing != nil && c.Kind == Numeric ||
		d.KnownCategories && c.Unknown != nil || d.NonNegative && c.Negative != nil
}
