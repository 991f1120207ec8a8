package transformer

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// OneHot encodes every categorical column by one 0/1 column for each of its categories; z(x) is 1
// in the column of x's category.
//
// Shapes: n×d → n×(total number of categories), sparse, with one shared value and at most d entries
// per row. Categories are those of the schema, in its order; a category with fewer than MinCount
// training rows gets no column. A value that is missing, not in the schema ([datasets.Unknown]), or
// without a column is encoded as zeros. Columns are named input=category. A text column of names or of lists of labels
// ([datasets.Format]) has the categories of the schema too; a row is 1 in the column of each of its labels.
//
// Cost: one pass over the rows. Fit returns an error for a numeric column, a number that is not a
// category code, no rows, and if no category has enough rows.
// Use [NewOneHot]: the zero value is invalid.
type OneHot struct {
	MinCount int // minimum number of training rows of a category
}

// NewOneHot returns the spec with a column for each category seen in training.
func NewOneHot() OneHot { return OneHot{MinCount: 1} }

// Params declares min_count.
func (s *OneHot) Params(l *param.List) {
	l.Int(&s.MinCount, "min_count", "minimum number of training rows of a category; "+
		"rarer categories have no column", param.AtLeast(1))
	l.FewerUnits("min_count")
}

// Fit counts the categories.
func (s OneHot) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "onehot", s, data)
}

// FitSource is Fit over a source. It makes one pass.
func (s OneHot) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the only pass, which counts categories.
func (s OneHot) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginCodes(ctx, "onehot", s, schema, cols, true)
}

// Finish returns the fitted step.
func (s OneHot) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	c, labels, err := lastCodes(ctx, "onehot", s, last)
	if err != nil {
		return nil, err
	}
	f := &fittedOneHot{levels: c.levels, first: c.first, column: make([]int, len(c.counts)), labels: labels}
	for k, n := range c.counts {
		f.column[k] = -1
		if n >= s.MinCount {
			f.column[k] = f.width
			f.width++
		}
	}
	if f.width == 0 {
		return nil, fmt.Errorf("transformer: onehot: no level has min_count = %d rows", s.MinCount)
	}
	return f, nil
}

// beginCodes returns the first pass of a step that requires categorical columns or names, or also takes lists of
// labels.
func beginCodes(ctx context.Context, step string, spec any, schema datasets.Schema, cols int,
	lists bool) (datasets.Pass, error) {
	if err := checkSpec(step, spec); err != nil {
		return nil, err
	}
	levels, err := categoricalLevels(step, schema, cols, lists)
	if err != nil {
		return nil, err
	}
	if labels := labelColumns(schema, cols); labels != nil {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		sums := &labelCounts{newCodeCounts(step, schema, levels), labels}
		return pass.Begin(pass.Config{Name: "transformer: " + step, Spec: spec, Schema: schema, Cols: cols}, sums), nil
	}
	return beginPass(ctx, step, spec, schema, cols, true, func() inputSums {
		return newCodeCounts(step, schema, levels)
	})
}

// lastCodes returns the counts of the last pass that beginCodes began, and the columns of strings.
func lastCodes(ctx context.Context, step string, spec any, last datasets.Pass) (*codeCounts, []labelColumn, error) {
	all, _, err := pass.Last(ctx, "transformer: "+step, spec, last)
	if err != nil {
		return nil, nil, err
	}
	if text, ok := all.(*labelCounts); ok {
		return text.codeCounts, text.labels, nil
	}
	return all.(*inputs).sums.(*codeCounts), nil, nil
}

func newCodeCounts(step string, schema datasets.Schema, levels []int) *codeCounts {
	first := firstCodes(levels)
	return &codeCounts{step: step, schema: schema, levels: levels, first: first, counts: make([]int, first[len(levels)])}
}

// codeCounts counts the categories of all columns.
type codeCounts struct {
	step          string
	schema        datasets.Schema
	levels, first []int
	counts        []int
}

func (c *codeCounts) add(ctx context.Context, first int, X mat.Matrix) error {
	return eachCode(ctx, c.step, X, first, c.levels, c.schema, func(i, j, code int) {
		if code >= 0 {
			c.counts[c.first[j]+code]++
		}
	})
}

func (c *codeCounts) merge(other inputSums) error {
	for k, n := range other.(*codeCounts).counts {
		c.counts[k] += n
	}
	return nil
}

func (c *codeCounts) next(context.Context) (inputSums, error) { return nil, nil }

func (c *codeCounts) state(s *model.State) { pass.Ints(s, "counts", &c.counts, len(c.counts), 0) }

// categoricalLevels returns the number of categories of each column, or an error if a column has none, or has lists
// of labels unless these are allowed.
func categoricalLevels(step string, schema datasets.Schema, width int, lists bool) ([]int, error) {
	levels := make([]int, width)
	for j := range levels {
		c := schema.Column(j)
		if c.Kind != datasets.Categorical && !c.Format.Name && !(lists && c.Format.HasCategories()) {
			return nil, notCategorical(step, schema, j)
		}
		levels[j] = len(c.Categories)
	}
	return levels, nil
}

func notCategorical(step string, schema datasets.Schema, j int) error {
	if schema.Column(j).Format.Delimiter != "" {
		return fmt.Errorf("transformer: %s: column %s must have one category in each row, got lists of labels; encode "+
			"it with onehot", step, schema.Name(j))
	}
	return fmt.Errorf("transformer: %s: column %s must be categorical, got %s; select the categorical columns with a "+
		"columns step", step, schema.Name(j), schema.Column(j).Kind)
}

// firstCodes returns the offset of each column's categories in a concatenated list, followed by its
// length.
func firstCodes(levels []int) []int {
	first := make([]int, len(levels)+1)
	for j, n := range levels {
		first[j+1] = first[j] + n
	}
	return first
}

// missingCode is the code of a missing value in eachCode.
const missingCode = -2

// eachCode calls f with the code of every entry of X, including [datasets.Unknown] and missingCode.
// Row numbers in errors start at first.
func eachCode(ctx context.Context, step string, X mat.Matrix, first int, levels []int, schema datasets.Schema,
	f func(i, j, code int)) error {
	n, _ := X.Dims()
	buffer := make([]float64, len(levels))
	for i := range n {
		if i%tileRows == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		for j, v := range design.Row(X, i, buffer) {
			code, err := codeOf(step, v, first+i, j, levels[j], schema)
			if err != nil {
				return err
			}
			f(i, j, code)
		}
	}
	return nil
}

// codeOf returns the code v of row i and column j, or an error if it is none.
func codeOf(step string, v float64, i, j, levels int, schema datasets.Schema) (int, error) {
	switch {
	case v != v:
		return missingCode, nil
	case v == datasets.Unknown || isCode(v, levels):
		return int(v), nil
	}
	return 0, fmt.Errorf("transformer: %s: %w", step, &datasets.RowError{Row: i, Column: schema.Name(j),
		Err: fmt.Errorf("%v is not the code of one of %d levels", v, levels)})
}

// fittedOneHot is a fitted [OneHot].
type fittedOneHot struct {
	levels []int         // number of categories of each input
	first  []int         // category c of input j has index first[j]+c
	column []int         // column of each category, −1 if none
	labels []labelColumn // of text columns; nil if there are none
	width  int
}

// Transform returns the encoded rows, a *matrices.CSR with the shared value 1.
func (f *fittedOneHot) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	var err error
	if f.labels == nil || rowsOf(X) == 0 {
		if X, err = checkRows("onehot", X, len(f.levels)); err != nil {
			return nil, err
		}
	}
	n, _ := X.Dims()
	indptr := make([]int, n+1)
	indices := make([]uint32, 0, n*len(f.levels))
	add := func(i, j, code int) {
		if code >= 0 {
			if c := f.column[f.first[j]+code]; c >= 0 {
				indices = append(indices, uint32(c))
			}
		}
		indptr[i+1] = len(indices)
	}
	if f.labels != nil {
		err = eachLabel(ctx, "onehot", X, 0, f.labels, f.levels, datasets.Schema{}, add)
	} else {
		err = eachCode(ctx, "onehot", X, 0, f.levels, datasets.Schema{}, add)
	}
	if err != nil {
		return nil, err
	}
	return matrices.NewSharedCSR(n, f.width, indptr, indices, 1)
}

// Export adds the encoded rows to g. A number that is not a category code is encoded as zeros.
func (f *fittedOneHot) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	if f.labels != nil {
		return graph.Value{}, errLabelExport
	}
	var inputs []int
	var codes []float64
	for j, n := range f.levels {
		for c := range n {
			if f.column[f.first[j]+c] >= 0 {
				inputs, codes = append(inputs, j), append(codes, float64(c))
			}
		}
	}
	return g.Equal(g.Columns(rows, inputs), g.Row(codes)), nil
}

// Tags returns the number of input columns.
func (f *fittedOneHot) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.levels)} }

// OutputWidth returns the number of categories that have a column.
func (f *fittedOneHot) OutputWidth() int { return f.width }

// OutputSchema returns numeric columns named input=category.
func (f *fittedOneHot) OutputSchema(in datasets.Schema) datasets.Schema {
	columns := make([]datasets.Column, 0, f.width)
	for j, n := range f.levels {
		names := in.Column(j).Categories
		for c := range n {
			if f.column[f.first[j]+c] < 0 {
				continue
			}
			level := fmt.Sprint(c)
			if c < len(names) {
				level = names[c]
			}
			column := encodedColumn(in, j, in.Name(j)+"="+level)
			column.EncodedKind = datasets.Categorical
			columns = append(columns, column)
		}
	}
	return in.WithColumns(columns)
}

// State serializes the fitted parameters.
func (f *fittedOneHot) State(s *model.State) {
	s.Ints("levels", &f.levels)
	s.Ints("column", &f.column)
	labelState(s, &f.labels, f.levels)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	total := 0
	for _, n := range f.levels {
		if n < 0 || n > len(f.column)-total {
			s.Fail("levels and columns do not fit")
			return
		}
		total += n
	}
	f.first = firstCodes(f.levels)
	for _, c := range f.column {
		if c >= 0 {
			s.Require(c == f.width, "columns are not numbered in order")
			f.width++
		}
	}
	s.Require(total == len(f.column) && f.width > 0 && int64(f.width) <= math.MaxUint32, "levels and columns do not fit")
}

// Cost returns the cost of counting and encoding. It assumes a column for every category of the
// schema; Fit may drop rare ones.
func (s OneHot) Cost(shape datasets.Shape) datasets.Cost {
	n, d, width := float64(shape.Rows), float64(shape.Cols), 0
	for _, c := range shape.Columns {
		width += len(c.Categories)
	}
	cost := datasets.Cost{Flops: 4 * n * d, Bytes: int64((4*d+8)*float64(shape.RowsInMemory()) + 24*float64(width)),
		OutputWidth: width, WidthEstimated: true}
	if width == 0 {
		cost.OutputWidth = -1
	}
	return cost
}
