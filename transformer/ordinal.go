package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Ordinal replaces each category, also each name ([datasets.Format]), by its index in the schema,
// starting at 0. It suits ordered categories and tree models.
//
// Shapes: n×d → n×d, dense. Missing values stay missing. Unknown determines whether a category that
// is not in the schema ([datasets.Unknown]) becomes −1, a missing value, or an error.
//
// Cost: one pass to check the rows. Fit returns an error for a numeric column, a number that is not
// a category code, and no rows. Use [NewOrdinal]: the zero value is invalid.
type Ordinal struct {
	Unknown string // code, missing or error
}

// NewOrdinal returns the spec that rejects unknown categories.
func NewOrdinal() Ordinal { return Ordinal{Unknown: "error"} }

// Params declares unknown.
func (s *Ordinal) Params(l *param.List) {
	l.Choice(&s.Unknown, "unknown", "value for an unknown category: -1, a missing value, or an error", "code", "missing",
		"error")
}

// Fit learns the number of categories of each column.
func (s Ordinal) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "ordinal", s, data)
}

// FitSource is Fit over a source. It makes one pass.
func (s Ordinal) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the only pass, which checks the rows.
func (s Ordinal) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginCodes(ctx, "ordinal", s, schema, cols, false)
}

// Finish returns the fitted step.
func (s Ordinal) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	c, labels, err := lastCodes(ctx, "ordinal", s, last)
	if err != nil {
		return nil, err
	}
	return &fittedOrdinal{levels: c.levels, labels: labels, unknown: s.Unknown}, nil
}

// fittedOrdinal is a fitted [Ordinal].
type fittedOrdinal struct {
	levels  []int
	labels  []labelColumn // of names; nil if there are none
	unknown string
}

// Transform returns the codes as a dense matrix.
func (f *fittedOrdinal) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the codes to dst.
func (f *fittedOrdinal) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := codeRows(ctx, "ordinal", X, f.labels, f.levels)
	if err != nil {
		return err
	}
	n, _ := X.Dims()
	if err := checkTile("ordinal", dst, n, len(f.levels)); err != nil {
		return err
	}
	unknown := -1
	err = eachCode(ctx, "ordinal", X, 0, f.levels, datasets.Schema{}, func(i, j, code int) {
		v := float64(code)
		switch {
		case code == missingCode || code == datasets.Unknown && f.unknown == "missing":
			v = math.NaN()
		case code == datasets.Unknown && unknown < 0:
			unknown = i
		}
		dst.RawRowView(i)[j] = v
	})
	if err == nil && unknown >= 0 && f.unknown == "error" {
		err = fmt.Errorf("transformer: ordinal: %w", &datasets.RowError{Row: unknown,
			Err: errors.New("a level that training did not know; set unknown: code or missing to allow it")})
	}
	return err
}

// Export adds the codes to g. A graph cannot report errors, so an unknown category that should be
// an error becomes a missing value, and the prediction becomes missing as well.
func (f *fittedOrdinal) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	switch {
	case f.labels != nil:
		return graph.Value{}, errLabelExport
	case f.unknown == "code":
		return rows, nil
	}
	return g.Where(g.Equal(rows, g.Scalar(datasets.Unknown)), g.Scalar(math.NaN()), rows), nil
}

// Tags returns the number of input columns.
func (f *fittedOrdinal) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.levels)} }

// OutputWidth returns the number of columns, which equals that of the input.
func (f *fittedOrdinal) OutputWidth() int { return len(f.levels) }

// OutputSchema returns the names of the columns, all numeric.
func (f *fittedOrdinal) OutputSchema(in datasets.Schema) datasets.Schema { return asNumeric(in) }

// State serializes the fitted parameters.
func (f *fittedOrdinal) State(s *model.State) {
	s.Ints("levels", &f.levels)
	s.String("unknown", &f.unknown)
	labelState(s, &f.labels, f.levels)
	s.Require(len(f.levels) > 0, "there are no columns")
	s.Require(f.unknown == "code" || f.unknown == "missing" || f.unknown == "error", "unknown is not one of its options")
}

// Cost returns the cost of writing the codes.
func (s Ordinal) Cost(shape datasets.Shape) datasets.Cost { return scalerCost(0, shape) }
