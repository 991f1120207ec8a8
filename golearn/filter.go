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
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/transformer"
)

// Filter is a trained filter of golearn's as the spec of a step. The columns that the filter was
// given are replaced by what it makes of them, the others pass; they are found by name, and the
// levels of a categorical column by name. A column's results stand where the column stood.
//
// Fit learns nothing but where the columns are. It fails on a column that the data do not have, or
// have as another kind, and on levels that the filter does not know. Missing values and unknown
// levels of a filtered column are refused, because golearn has none. A value for which the filter
// has no name, such as one beyond its last bin, is [datasets.Unknown].
//
// What a filter has learned is golearn's own and unexported: a pipeline with such a step cannot be
// written to a file.
type Filter struct {
	Trained base.Filter
}

// NewFilter returns the step of a filter, after its Train.
func NewFilter(trained base.Filter) Filter { return Filter{trained} }

// FittedFilter is a filter that knows its columns.
type FittedFilter struct {
	filter  base.Filter
	columns []datasets.Column // that go in
	outputs []output
}

// output is a column that comes out.
type output struct {
	from   int                 // the number of the column it is made of
	old    base.Attribute      // nil where the column passes
	new    base.Attribute      // what old becomes
	column datasets.Column     // as it is called
	codes  map[float64]float64 // what becomes of each code, unless old is a float
}

// FitsWithoutRows reports true: a filter is trained before.
func (s Filter) IsDataIndependent() bool { return true }

// Fit finds the filter's columns in the schema of data; it returns a *FittedFilter.
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
	f := &FittedFilter{filter: s.Trained}
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

// find lays out the columns that come out.
func (f *FittedFilter) find(filtered []base.FilteredAttribute) error {
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

// learn finds out what becomes of the codes of column c.
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

// decode returns the number that the bytes of the new attribute stand for.
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

// checkColumns reports the first value of a filtered column that golearn cannot take.
func (f *FittedFilter) checkColumns(X mat.Matrix) error {
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

// value returns what becomes of v.
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

// InputWidth returns the number of input columns.
func (f *FittedFilter) InputWidth() int { return len(f.columns) }

// OutputWidth returns the number of output columns.
func (f *FittedFilter) OutputWidth() int { return len(f.outputs) }

// OutputSchema returns the schema that comes out when in goes in.
func (f *FittedFilter) OutputSchema(in datasets.Schema) datasets.Schema {
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

// Transform maps the rows of X by the filter; what comes out is dense.
func (f *FittedFilter) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
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
func (f *FittedFilter) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
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
