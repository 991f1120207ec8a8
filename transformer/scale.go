package transformer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Scale multiplies each column by a factor, which weights it in the distances of downstream
// kernels. A factor of 0 removes the column.
//
//	y_j = f_j · x_j
//
// Shapes: n×d → n×d. Missing values stay missing, sparse rows stay sparse. Individual factors can
// be searched: factors.age is the path of the factor of column age, and factors.* in the grid of an
// experiment file addresses all columns. Standardize the columns first ([Standardize] or
// [Quantile]).
//
// Cost: one multiplication per entry. Fit returns an error for a categorical column, a list whose
// length is not the number of columns, a name of no column, no rows, and an infinite value.
// Transform returns an error if a product overflows. Use [NewScale]: the zero value is invalid.
type Scale struct { // one factor for all columns, or one per column
	Factors      []float64          // one for all columns, or one for each
	NamedFactors map[string]float64 // by column name, 1 for other columns; overrides Factors if not nil
}

// NewScale returns the spec with factor 1 for all columns.
func NewScale() Scale { return Scale{Factors: []float64{1}} }

// Params declares factors.
func (s *Scale) Params(l *param.List) {
	l.Value(columnFactors{&s.Factors, &s.NamedFactors}, "factors",
		"factors of the columns; 1 for a column that is not named")
}

// columnFactors adapts the factors of a [Scale] to a parameter.
type columnFactors struct {
	list  *[]float64
	named *map[string]float64
}

func (f columnFactors) Set(plain any) error {
	*f.list, *f.named = nil, nil
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case int:
			return float64(v), true
		case float64:
			return v, true
		}
		return math.NaN(), false
	}
	switch v := plain.(type) {
	case []any:
		for _, e := range v {
			one, _ := number(e)
			*f.list = append(*f.list, one)
		}
	case map[string]any:
		*f.named = map[string]float64{}
		for name, e := range v {
			(*f.named)[name], _ = number(e)
		}
	default:
		if one, ok := number(plain); ok {
			*f.list = []float64{one}
		}
	}
	return f.Check()
}

func (f columnFactors) Get() any {
	switch {
	case *f.named != nil:
		named := map[string]any{}
		for name, v := range *f.named {
			named[name] = v
		}
		return named
	case len(*f.list) == 1:
		return (*f.list)[0]
	}
	list := make([]any, len(*f.list))
	for j, v := range *f.list {
		list[j] = v
	}
	return list
}

func (f columnFactors) Constraint() string {
	return "a number ≥ 0, a list of them (one for each column), or a map of column name to a number ≥ 0"
}

func (f columnFactors) Check() error {
	for _, v := range slices.Concat(*f.list, slices.Collect(maps.Values(*f.named))) {
		if !(v >= 0) || !finite(v) {
			return errors.New(f.Constraint())
		}
	}
	if len(*f.list)+len(*f.named) == 0 {
		return errors.New(f.Constraint())
	}
	return nil
}

// columns returns the factor of each of width columns.
func (s Scale) columns(schema datasets.Schema, width int) ([]float64, error) {
	switch {
	case s.NamedFactors != nil:
		out, known := slices.Repeat([]float64{1}, width), map[string]bool{}
		for j := range out {
			name := schema.Name(j)
			known[name] = true
			if v, ok := s.NamedFactors[name]; ok {
				out[j] = v
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.NamedFactors)) {
			if !known[name] {
				return nil, fmt.Errorf("transformer: scale: factors has one of column %s, which the data has not", name)
			}
		}
		return out, nil
	case len(s.Factors) == 1:
		return slices.Repeat(s.Factors, width), nil
	case len(s.Factors) != width:
		return nil, fmt.Errorf("transformer: scale: factors has %d numbers, the data %d columns", len(s.Factors), width)
	}
	return slices.Clone(s.Factors), nil
}

// Tags returns that only the columns are learned.
func (Scale) Tags() datasets.Tags { return datasets.Tags{DataIndependent: true} }

// Fit resolves the factor of each column.
func (s Scale) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "scale", s, data)
}

// FitSource is Fit over a source, which it does not read.
func (s Scale) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("scale", s, data.Schema()); err != nil {
		return nil, err
	}
	width, err := widthOf(ctx, "scale", data)
	if err != nil {
		return nil, err
	}
	factors, err := s.columns(data.Schema(), width)
	if err != nil {
		return nil, err
	}
	return &fittedScale{factors}, nil
}

// Cost returns the cost of one multiplication per entry.
func (s Scale) Cost(shape datasets.Shape) datasets.Cost { return scalerCost(0, shape) }

// Requirements declares numeric columns: one per factor, or one per name.
func (s Scale) Requirements() []datasets.Requirement {
	out := []datasets.Requirement{{Numeric: true}}
	if n := len(s.Factors); s.NamedFactors == nil && n > 1 {
		out = append(out, datasets.Requirement{MinColumns: n,
			Reason: fmt.Sprintf("has %d factors", n)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.NamedFactors)) {
		out = append(out, datasets.Requirement{Column: name,
			Reason: "has a factor of it"})
	}
	return out
}

// InferOutput returns the input columns as numeric columns; missing values stay missing.
func (s Scale) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return in.AsNumbers() }

// fittedScale is a fitted [Scale].
type fittedScale struct{ factors []float64 }

// Transform returns the scaled rows of X, sparse where X is.
func (f *fittedScale) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return f.products().Transform(ctx, X)
}

// TransformTo writes the scaled rows of X to dst, including the zeros of sparse rows.
func (f *fittedScale) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	return f.products().TransformTo(ctx, dst, X)
}

func (f *fittedScale) products() entrywise {
	return products("scale", &f.factors, math.MaxFloat64, true)
}

// Export adds the scaled rows to g.
func (f *fittedScale) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	return g.Mul(rows, g.Row(f.factors)), nil
}

// Tags returns the number of input columns.
func (f *fittedScale) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.factors)} }

// OutputWidth returns the number of columns, which equals that of the input.
func (f *fittedScale) OutputWidth() int { return len(f.factors) }

// OutputSchema returns the input columns as numeric columns.
func (f *fittedScale) OutputSchema(in datasets.Schema) datasets.Schema { return asNumeric(in) }

// State serializes the fitted parameters.
func (f *fittedScale) State(s *model.State) {
	s.Floats("factors", &f.factors)
	s.Require(len(f.factors) > 0 && allFinite(f.factors), "the factors are not finite numbers, or none")
	for _, v := range f.factors {
		s.Require(v >= 0, "a factor is negative")
	}
}
