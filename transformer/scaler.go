package transformer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/model"
)

// fittedScaler is a fitted [Standardize], [MinMax] or [Robust]. It shifts and scales each column:
//
//	y_j = (x_j − center_j) / scale_j + low
//
// MinMax may clip the result to its interval. Missing values stay missing. Sparse matrices stay
// sparse; it is an error if their zeros would change. The scale of a column that is constant in
// training is +Inf, so it is constant in the output: a model cannot have learned from it.
type fittedScaler struct {
	step          string
	center, scale []float64
	low, high     float64
	clip          bool
}

// beginScaler returns the first pass of a scaler of numeric columns.
func beginScaler(ctx context.Context, step string, spec any, schema datasets.Schema, cols int,
	sums func() inputSums) (datasets.Pass, error) {
	if err := checkNumericSpec(step, spec, schema); err != nil {
		return nil, err
	}
	return beginPass(ctx, step, spec, schema, cols, true, sums)
}

// fittedScaler completes f. It replaces scales of 0 by 1, and returns an error if scales overflow
// or the training rows were sparse and their zeros would change.
func newFittedScaler(f *fittedScaler, sparse bool, schema datasets.Schema) (Transformer, error) {
	for j, s := range f.scale {
		if s == 0 {
			f.scale[j] = 1
		}
		if !finite(f.center[j]) || math.IsNaN(f.scale[j]) || !f.isConstant(j) && !finite(f.scale[j]) {
			return nil, fmt.Errorf("transformer: %s: column %s: its range overflows", f.step, schema.Name(j))
		}
	}
	if sparse {
		if err := f.keepsZeros(schema); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// keepsZeros returns an error that names a column in which zero is not mapped to zero.
func (f *fittedScaler) keepsZeros(schema datasets.Schema) error {
	hint := ""
	if f.step == "standardize" {
		hint = ", or set mean: false"
	}
	return keepsZeros(f.step, len(f.center), f, schema, hint)
}

// constantScale is the scale of a column that is constant in training.
var constantScale = math.Inf(1)

// scaleOf returns the scale of a column with the given spread: constantScale if it is 0, NaN if it
// overflows.
func scaleOf(spread float64) float64 {
	switch {
	case spread == 0:
		return constantScale
	case math.IsInf(spread, 1):
		return math.NaN()
	}
	return spread
}

// isConstant reports whether column j was constant in training.
func (f *fittedScaler) isConstant(j int) bool { return f.scale[j] == constantScale }

func (f *fittedScaler) value(j int, x float64) float64 {
	y := (x-f.center[j])/f.scale[j] + f.low
	if f.clip && y == y {
		y = min(max(y, f.low), f.high)
	}
	return y
}

// Transform returns the scaled rows of X, sparse where X is.
func (f *fittedScaler) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return f.entries().Transform(ctx, X)
}

// TransformTo writes the scaled rows of X to dst, including the zeros of sparse rows.
func (f *fittedScaler) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	return f.entries().TransformTo(ctx, dst, X)
}

func (f *fittedScaler) entries() entrywise {
	return perEntry(f.step, len(f.center), f)
}

// Export adds the scaled rows to g.
func (f *fittedScaler) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	scale, kept := slices.Clone(f.scale), make([]float64, len(f.scale))
	constant := false
	for j := range scale {
		if kept[j] = 1; f.isConstant(j) { // not every runtime supports infinities
			scale[j], kept[j], constant = 1, 0, true
		}
	}
	y := g.Div(g.Sub(rows, g.Row(f.center)), g.Row(scale))
	if constant {
		y = g.Mul(y, g.Row(kept))
	}
	if f.low != 0 {
		y = g.Add(y, g.Scalar(f.low))
	}
	if f.clip {
		y = g.Min(g.Max(y, g.Scalar(f.low)), g.Scalar(f.high))
	}
	return y, nil
}

// Tags returns the number of input columns.
func (f *fittedScaler) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.center)} }

// OutputWidth returns the number of columns, which equals that of the input.
func (f *fittedScaler) OutputWidth() int { return len(f.center) }

// OutputSchema returns the input columns as numeric columns.
func (f *fittedScaler) OutputSchema(in datasets.Schema) datasets.Schema { return asNumeric(in) }

// Center returns the number subtracted from each column.
func (f *fittedScaler) Center() []float64 { return slices.Clone(f.center) }

// Scale returns the divisor of each column.
func (f *fittedScaler) Scale() []float64 { return slices.Clone(f.scale) }

// State serializes the fitted parameters.
func (f *fittedScaler) State(s *model.State) {
	s.String("step", &f.step)
	s.Floats("center", &f.center)
	s.Floats("scale", &f.scale)
	s.Float("low", &f.low)
	s.Float("high", &f.high)
	s.Bool("clip", &f.clip)
	s.Require(len(f.center) > 0 && len(f.center) == len(f.scale), "center and scale differ in length, or are empty")
	s.Require(allFinite(f.center, []float64{f.low, f.high}), "center and ends are not finite numbers")
	s.Require(!slices.ContainsFunc(f.scale, func(v float64) bool { return v != v || v == 0 || math.IsInf(v, -1) }),
		"a scale is 0, −Inf or not a number")
}

// encodedColumn returns a numeric column that encodes column j of a schema.
func encodedColumn(in datasets.Schema, j int, name string) datasets.Column {
	if c := in.Column(j); c.EncodedFrom != "" {
		return datasets.Column{Name: name, EncodedFrom: c.EncodedFrom, EncodedKind: c.EncodedKind, EncodedBy: c.EncodedBy}
	}
	return datasets.Column{Name: name, EncodedFrom: in.Name(j), EncodedKind: in.Column(j).Kind}
}

// asNumeric returns a schema of the same columns, all numeric.
func asNumeric(in datasets.Schema) datasets.Schema {
	if in.Columns == nil {
		return in
	}
	columns := make([]datasets.Column, len(in.Columns))
	for j, c := range in.Columns {
		columns[j] = c
		columns[j].Kind, columns[j].Categories, columns[j].Format = datasets.Numeric, nil, datasets.Format{}
	}
	return in.WithColumns(columns)
}

// numbered returns numeric columns named name0, name1, ….
func numbered(name string, width int) []datasets.Column {
	columns := make([]datasets.Column, width)
	for k := range columns {
		columns[k].Name = name + strconv.Itoa(k)
	}
	return columns
}

// checkNumericSpec returns an error if the spec is invalid or a column is not numeric.
func checkNumericSpec(step string, spec any, schema datasets.Schema) error {
	return cmp.Or(checkSpec(step, spec), checkNumeric(step, schema))
}

// checkNumeric returns an error for the first column that is not numeric.
func checkNumeric(step string, schema datasets.Schema) error {
	for j, c := range schema.Columns {
		if c.Kind != datasets.Numeric {
			return fmt.Errorf("transformer: %s: column %s must be numeric, got %v; encode it before with %s", step,
				schema.Name(j), c.Kind, suggest.Encoders(c.Kind.String(), len(c.Categories)))
		}
	}
	return nil
}

func finite(v float64) bool { return v-v == 0 }

func allFinite(lists ...[]float64) bool {
	for _, list := range lists {
		for _, v := range list {
			if !finite(v) {
				return false
			}
		}
	}
	return true
}

// Measured flops per entry: accumulating sums, selecting quantiles, and mapping.
const (
	summedFlops   = 160
	selectedFlops = 9_000
	movedFlops    = 100
)

// scalerCost returns the cost of a fit with the given flops per entry, and of mapping the rows.
func scalerCost(fit float64, shape datasets.Shape) datasets.Cost {
	d := float64(shape.Cols)
	flops := (fit + movedFlops) * d * float64(shape.Rows)
	return datasets.Cost{Flops: flops, Bytes: int64(8*float64(shape.RowsInMemory())*d + 24*d), OutputWidth: shape.Cols,
		NonZeros: shape.NonZeros, CheapToRecompute: true}
}

// anyOf returns an error if both flags are false, because the scaler would do nothing.
func anyOf(one, other bool, name string) error {
	if one || other {
		return nil
	}
	return fmt.Errorf("true, unless %s is", name)
}
