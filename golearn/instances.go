package golearn

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sjwhitworth/golearn/base"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// ToInstances converts data to golearn instances, a base.UpdatableDataGrid: a categorical attribute
// for each categorical column, a float attribute for each other one, then the targets as class
// attributes. Attributes are in the order of the columns. Numeric values are exact; sparse rows
// become dense.
//
// A target without a name is called "target"; several are called "target0", "target1", … Classes
// without names in the schema are called "0" to the largest code.
//
// It returns an error for data that golearn cannot represent: missing values, text, unknown
// categories, weights, groups, and duplicate column names.
func ToInstances(data datasets.Set) (*base.DenseInstances, error) {
	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("golearn: %w", err)
	}
	if data.Weights != nil || data.Groups != nil {
		return nil, fmt.Errorf("golearn: instances have no weights and no groups; leave them out of the set")
	}
	inputs, targets := columnsOf(data)
	for _, c := range inputs {
		if c.Kind == datasets.Text {
			return nil, fmt.Errorf("golearn: column %s must not be text; encode it with tfidf, or leave it out", c.Name)
		}
	}
	out := base.NewDenseInstances()
	err := recoverAs("making instances", func() error { return addAttributes(out, data.Rows(), inputs, targets) })
	if err != nil {
		return nil, err
	}
	records := writersOf(out, append(inputs, targets...), len(inputs))
	row, goals := make([]float64, len(inputs)), make([]float64, len(targets))
	for i := range data.Rows() {
		x, y := inputsOf(data, i, row), targetsOf(data, i, goals)
		for k := range records {
			from := x
			if records[k].target {
				from = y
			}
			if err := records[k].write(i, from); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// columnsOf returns the columns of the inputs and of the targets, all with names.
func columnsOf(data datasets.Set) (inputs, targets []datasets.Column) {
	for j := range data.Cols() {
		c := data.Schema.Column(j)
		c.Name = data.Schema.Name(j)
		inputs = append(inputs, c)
	}
	count := 0
	if data.Y != nil {
		count = 1
	} else if data.Targets != nil {
		_, count = data.Targets.Dims()
	}
	for j := range count {
		c := datasets.Column{}
		if j < len(data.Schema.Targets) {
			c = data.Schema.Targets[j]
		}
		if c.Name == "" {
			if c.Name = "target"; count > 1 {
				c.Name = fmt.Sprintf("target%d", j)
			}
		}
		if c.Kind == datasets.Categorical && len(c.Categories) == 0 {
			c.Categories = codeStrings(data, j)
		}
		targets = append(targets, c)
	}
	return inputs, targets
}

// codeStrings names the classes of target j by their codes.
func codeStrings(data datasets.Set, j int) []string {
	largest := 0.0
	for i := range data.Rows() {
		largest = max(largest, targetsOf(data, i, nil)[j])
	}
	var names []string
	for k := 0; float64(k) <= largest; k++ {
		names = append(names, fmt.Sprint(k))
	}
	return names
}

// addAttributes adds the attributes to out, in groups that preserve their order. Adjacent numeric
// columns share a group. Every categorical column has its own, because golearn requires that the
// attributes of a group have the same values.
func addAttributes(out *base.DenseInstances, rows int, inputs, targets []datasets.Column) error {
	seen := map[string]bool{}
	name, previous := "", datasets.Categorical
	for j, c := range append(append([]datasets.Column{}, inputs...), targets...) {
		if seen[c.Name] {
			return fmt.Errorf("golearn: two columns are called %q; attributes are matched by name", c.Name)
		}
		seen[c.Name] = true
		if c.Kind == datasets.Categorical || previous == datasets.Categorical || j == len(inputs) {
			name = fmt.Sprintf("%s%d", c.Kind, j)
			if err := out.CreateAttributeGroup(name, 8); err != nil {
				return fmt.Errorf("golearn: %w", err)
			}
		}
		previous = c.Kind
		a := newAttribute(c)
		if _, err := out.AddAttributeToAttributeGroup(a, name); err != nil {
			return fmt.Errorf("golearn: column %s: %w", c.Name, err)
		}
		if j >= len(inputs) {
			if err := out.AddClassAttribute(a); err != nil {
				return fmt.Errorf("golearn: target %s: %w", c.Name, err)
			}
		}
	}
	return out.Extend(rows)
}

// newAttribute returns the attribute of a column with a name: a categorical attribute with the
// column's levels, or a float attribute.
func newAttribute(c datasets.Column) base.Attribute {
	if c.Kind != datasets.Categorical {
		return base.NewFloatAttribute(c.Name)
	}
	a := base.NewCategoricalAttribute()
	a.SetName(c.Name)
	for _, level := range c.Categories {
		a.GetSysValFromString(level)
	}
	return a
}

// attributeWriter writes a group of adjacent columns of the inputs or of the targets to the
// row-major storage of instances.
type attributeWriter struct {
	storage []byte
	columns []datasets.Column
	first   int  // index of the first column among the inputs or targets
	target  bool // whether the columns are targets
}

// writersOf returns the writers of the groups created by addAttributes, in the order of the
// columns.
func writersOf(out *base.DenseInstances, columns []datasets.Column, inputs int) []attributeWriter {
	groups := map[string]base.AttributeGroup{}
	for _, g := range out.AllAttributeGroups() {
		groups[g.Attributes()[0].GetName()] = g
	}
	var records []attributeWriter
	for j := 0; j < len(columns); {
		g := groups[columns[j].Name]
		width := len(g.Attributes())
		r := attributeWriter{storage: g.Storage(), columns: columns[j : j+width], first: j, target: j >= inputs}
		if r.target {
			r.first -= inputs
		}
		records = append(records, r)
		j += width
	}
	return records
}

// write stores the group's part of row i, the inputs or the targets.
func (r *attributeWriter) write(i int, row []float64) error {
	width := len(r.columns)
	to := r.storage[8*i*width:][:8*width]
	row = row[r.first:][:width]
	if r.columns[0].Kind == datasets.Categorical { // the only attribute of its group
		if err := check(r.columns[0], row[0]); err != nil {
			return r.fieldError(i, 0, err)
		}
		binary.LittleEndian.PutUint64(to, uint64(row[0]))
		return nil
	}
	sum := 0.0
	for j, v := range row {
		sum += v * 0 // NaN if any value is not finite
		binary.LittleEndian.PutUint64(to[8*j:][:8], math.Float64bits(v))
	}
	for j := 0; sum != sum && j < width; j++ {
		if err := check(r.columns[j], row[j]); err != nil {
			return r.fieldError(i, j, err)
		}
	}
	return nil
}

func (r *attributeWriter) fieldError(i, j int, err error) error {
	what := "column"
	if r.target {
		what = "target"
	}
	return fmt.Errorf("golearn: row %d, %s %s: %w", i, what, r.columns[j].Name, err)
}

// inputsOf returns the inputs of row i, as a view if X is dense, else copied to buffer.
func inputsOf(data datasets.Set, i int, buffer []float64) []float64 {
	switch X := data.X.(type) {
	case *mat.Dense:
		return X.RawRowView(i)
	case *matrices.CSR:
		clear(buffer)
		columns, values := X.Row(i)
		for k, j := range columns {
			buffer[j] = values[k]
		}
	default:
		for j := range buffer {
			buffer[j] = X.At(i, j)
		}
	}
	return buffer
}

// targetsOf returns the targets of row i.
func targetsOf(data datasets.Set, i int, buffer []float64) []float64 {
	if data.Y != nil {
		return data.Y[i : i+1]
	}
	if data.Targets != nil {
		return data.Targets.RawRowView(i)
	}
	return buffer
}

// check returns an error if golearn cannot represent the value v of a column.
func check(c datasets.Column, v float64) error {
	switch {
	case v != v:
		return fmt.Errorf("%w; golearn has none, put an impute step before", datasets.ErrMissing)
	case c.Kind != datasets.Categorical:
		return nil
	case v == datasets.Unknown:
		return fmt.Errorf("a level that the schema does not list; golearn cannot hold it")
	case !(v >= 0 && v < float64(len(c.Categories))) || v != math.Trunc(v):
		return fmt.Errorf("code %v of a categorical column with %d levels", v, len(c.Categories))
	}
	return nil
}
