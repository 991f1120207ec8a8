package golearn

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/sjwhitworth/golearn/base"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/transformer"
)

// Filter is the spec of a step that applies a trained golearn filter. It replaces each column that
// the filter was trained on by the output of the filter, in the same position, and passes the other
// columns through. Columns and categories are found by name.
//
// Fit only looks up the columns. It returns an error for a column that is missing or of another
// kind, and for categories that the filter does not know. Missing values and unknown categories in
// a filtered column are errors, because golearn cannot represent them. A value for which the filter
// has no category, such as one beyond its last bin, becomes [datasets.Unknown].
//
// golearn does not export the state of a trained filter, so a pipeline with this step cannot be
// saved.
type Filter struct {
	Trained base.Filter
}

// NewFilter returns the step of a filter, after its Train.
func NewFilter(trained base.Filter) Filter { return Filter{trained} }

// fittedFilter is a fitted [Filter].
type fittedFilter struct {
	filter  base.Filter
	columns []datasets.Column // input columns
	outputs []output
}

// output is an output column.
type output struct {
	from   int                 // index of the input column
	old    base.Attribute      // nil if the column passes through
	new    base.Attribute      // filtered attribute
	column datasets.Column     // output schema
	codes  map[float64]float64 // output code by input code, unless old is a float
}

// Tags returns that the filter is already trained.
func (s Filter) Tags() datasets.Tags { return datasets.Tags{DataIndependent: true} }

// Fit looks up the filter's columns in the schema of data; it returns a *fittedFilter.
func (s Filter) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("golearn: filter: %w", err)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	if s.Trained == nil {
		return nil, fmt.Errorf("golearn: filter: there is none")
	}
	f := &fittedFilter{filter: s.Trained}
	for j := range data.Cols() {
		c := data.Schema.Column(j)
		c.Name = data.Schema.Name(j)
		f.columns = append(f.columns, c)
	}
	err := recoverAs("filter", func() error { return f.find(s.Trained.GetAttributesAfterFiltering()) })
	if err != nil {
		return nil, err
	}
	if err := f.checkColumns(data.X); err != nil {
		return nil, err
	}
	return f, nil
}

// find determines the output columns.
func (f *fittedFilter) find(filtered []base.FilteredAttribute) error {
	if len(filtered) == 0 {
		return fmt.Errorf("golearn: filter: it makes nothing; was it trained?")
	}
	for _, a := range filtered {
		if !slices.ContainsFunc(f.columns, func(c datasets.Column) bool { return c.Name == a.Old.GetName() }) &&
			a.Old != a.New {
			return fmt.Errorf("golearn: filter: the data have no column %s", a.Old.GetName())
		}
	}
	for j, c := range f.columns {
		passes := true
		for _, a := range filtered {
			if a.Old.GetName() != c.Name {
				continue
			}
			passes = false
			o := output{from: j, old: a.Old, new: a.New, column: columnOf(a.New)}
			if a.Old == a.New { // golearn's convention for an unchanged attribute
				o = output{from: j, column: c}
			} else if err := o.learn(f.filter, c); err != nil {
				return fmt.Errorf("golearn: filter: column %s: %w", c.Name, err)
			}
			f.outputs = append(f.outputs, o)
		}
		if passes {
			f.outputs = append(f.outputs, output{from: j, column: c})
		}
	}
	return nil
}

// learn determines the output for each code of column c.
func (o *output) learn(filter base.Filter, c datasets.Column) error {
	switch old := o.old.(type) {
	case *base.FloatAttribute:
		if c.Kind != datasets.Numeric {
			return fmt.Errorf("it is %s, the filter has it as a float", c.Kind)
		}
	case *base.BinaryAttribute:
		if c.Kind != datasets.Numeric {
			return fmt.Errorf("it is %s, the filter has it as 0 or 1", c.Kind)
		}
		o.codes = map[float64]float64{}
		for v := range 2 {
			o.codes[float64(v)] = o.decode(filter.Transform(o.old, o.new, []byte{byte(v)}))
		}
	case *base.CategoricalAttribute:
		if c.Kind != datasets.Categorical {
			return fmt.Errorf("it is %s, the filter has it as categorical", c.Kind)
		}
		o.codes = map[float64]float64{}
		for k, level := range c.Categories {
			bytes := old.GetSysVal(level)
			if bytes == nil {
				return fmt.Errorf("the filter does not know the level %q", level)
			}
			o.codes[float64(k)] = o.decode(filter.Transform(o.old, o.new, bytes))
		}
	default:
		return fmt.Errorf("the filter has it as a %T", o.old)
	}
	return nil
}

// decode returns the value of an attribute from golearn's encoding.
func (o *output) decode(bytes []byte) float64 {
	switch a := o.new.(type) {
	case *base.FloatAttribute:
		return math.Float64frombits(binary.LittleEndian.Uint64(bytes))
	case *base.CategoricalAttribute:
		if v := binary.LittleEndian.Uint64(bytes); v < uint64(len(a.GetValues())) {
			return float64(v)
		}
		return datasets.Unknown
	}
	if bytes[0] > 0 {
		return 1
	}
	return 0
}

// checkColumns returns an error for the first value of a filtered column that golearn cannot
// represent.
func (f *fittedFilter) checkColumns(X mat.Matrix) error {
	n, _ := X.Dims()
	for _, o := range f.outputs {
		for i := 0; o.old != nil && i < n; i++ {
			if _, err := o.value(f.filter, X.At(i, o.from)); err != nil {
				return fmt.Errorf("golearn: filter: row %d, column %s: %w", i, f.columns[o.from].Name, err)
			}
		}
	}
	return nil
}

// value returns the filtered value of v.
func (o *output) value(filter base.Filter, v float64) (float64, error) {
	switch {
	case o.old == nil:
		return v, nil
	case v != v:
		return 0, fmt.Errorf("%w; golearn has none, put an impute step before", datasets.ErrMissing)
	case math.IsInf(v, 0):
		return 0, fmt.Errorf("infinite value")
	case o.codes == nil:
		return o.decode(filter.Transform(o.old, o.new, base.PackFloatToBytes(v))), nil
	}
	out, ok := o.codes[v]
	if !ok {
		return 0, fmt.Errorf("the filter does not know the value %v", v)
	}
	return out, nil
}

// Tags returns the number of input columns.
func (f *fittedFilter) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.columns)} }

// OutputWidth returns the number of output columns.
func (f *fittedFilter) OutputWidth() int { return len(f.outputs) }

// OutputSchema returns the schema of the output.
func (f *fittedFilter) OutputSchema(in datasets.Schema) datasets.Schema {
	var columns []datasets.Column
	for _, o := range f.outputs {
		if c := o.column; o.old == nil {
			columns = append(columns, in.Column(o.from))
		} else {
			columns = append(columns, c)
		}
	}
	return in.WithColumns(columns)
}

// Transform applies the filter to the rows of X; the result is dense.
func (f *fittedFilter) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if err := (datasets.Set{X: X}).Check(); err != nil {
		return nil, fmt.Errorf("golearn: filter: %w", err)
	}
	n, _ := X.Dims()
	out := mat.NewDense(n, len(f.outputs), nil)
	if err := f.TransformTo(ctx, out, X); err != nil {
		return nil, err
	}
	return out, nil
}

// TransformTo overwrites dst, rows of X × OutputWidth, with the mapped rows of X.
func (f *fittedFilter) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	if err := (datasets.Set{X: X}).Check(); err != nil {
		return fmt.Errorf("golearn: filter: %w", err)
	}
	n, d := X.Dims()
	if d != len(f.columns) {
		return fmt.Errorf("golearn: filter: %d columns at fit, %d now", len(f.columns), d)
	}
	if dst == nil {
		return fmt.Errorf("golearn: filter: no tile to write into")
	}
	if rows, cols := dst.Dims(); rows != n || cols != len(f.outputs) {
		return fmt.Errorf("golearn: filter: tile must be %[3]d×%[4]d, got %[1]d×%[2]d", rows, cols, n, len(f.outputs))
	}
	return recoverAs("filter", func() error {
		for i := range n {
			if i%1024 == 0 {
				if err := ctxerr.Check(ctx); err != nil {
					return err
				}
			}
			row := dst.RawRowView(i)
			for k := range f.outputs {
				v, err := f.outputs[k].value(f.filter, X.At(i, f.outputs[k].from))
				if err != nil {
					return fmt.Errorf("golearn: filter: row %d, column %s: %w", i, f.columns[f.outputs[k].from].Name, err)
				}
				row[k] = v
			}
		}
		return nil
	})
}
