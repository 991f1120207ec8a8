package transformer

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// Standardize scales every column to mean 0 and standard deviation 1 over the training rows:
//
//	y_j = (x_j − mean_j) / sd_j,   sd_j² = (1/n) Σ_i (x_ij − mean_j)²
//
// Shapes: n×d → n×d. Missing values are ignored and stay missing. It is scikit-learn's
// StandardScaler, except that a column which is constant in training becomes 0 in all rows, where
// scikit-learn returns x_j − mean_j. Otherwise a year that is 2023 in all training rows would move
// the rows of 2024 far from the training data.
//
// Sparse rows stay sparse; this requires Mean = false. Fit returns an error if centering would
// change zeros.
//
// Cost: one pass over the rows, 6 flops per entry; memory 3·d numbers. Sums follow Chan, Golub,
// LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
//
// Fit returns an error for a categorical column, a column without values, an infinite value, and no
// rows. Use [NewStandardize]: the zero value is invalid.
type Standardize struct {
	Mean bool // subtract the mean
	Std  bool // divide by the standard deviation
}

// NewStandardize returns the spec with both options on.
func NewStandardize() Standardize { return Standardize{Mean: true, Std: true} }

// Params declares mean and std.
func (s *Standardize) Params(l *param.List) {
	l.Bool(&s.Mean, "mean", "whether to subtract the mean; false for sparse input")
	l.Bool(&s.Std, "std", "whether to divide by the standard deviation")
	l.Check("mean", func() error { return anyOf(s.Mean, s.Std, "std") })
}

// Fit learns the means and standard deviations of the columns; it returns a *fittedScaler.
func (s Standardize) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "standardize", s, data)
}

// FitSource is Fit over a source. It makes one pass.
func (s Standardize) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the only pass, which computes moments.
func (s Standardize) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginScaler(ctx, "standardize", s, schema, cols, func() inputSums { return newMomentSums(cols) })
}

// Finish returns the *fittedScaler of the pass.
func (s Standardize) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	sums, in, err := lastSums[*momentSums](ctx, "standardize", s, last)
	if err != nil {
		return nil, err
	}
	m, f := sums.total, &fittedScaler{step: "standardize"}
	f.center, f.scale = make([]float64, len(m.Mean)), make([]float64, len(m.Mean))
	for j := range f.scale {
		if s.Mean {
			f.center[j] = m.Mean[j]
		}
		if s.Std {
			f.scale[j] = scaleOf(m.Deviation(j))
		}
	}
	if err := checkCounts(f.step, m.Count, in.schema); err != nil {
		return nil, err
	}
	return newFittedScaler(f, in.sparse, in.schema)
}

// Cost returns the cost of one pass of sums.
func (s Standardize) Cost(shape datasets.Shape) datasets.Cost {
	return scalerCost(summedFlops, shape)
}

// checkCounts returns an error for the first column without values.
func checkCounts(step string, count []float64, schema datasets.Schema) error {
	if err := allMissing(count, schema); err != nil {
		return fmt.Errorf("transformer: %s: %w", step, err)
	}
	return nil
}

func allMissing(count []float64, schema datasets.Schema) error {
	for j, n := range count {
		if n == 0 {
			return missingColumn(schema, j)
		}
	}
	return nil
}

func missingColumn(schema datasets.Schema, j int) error {
	return fmt.Errorf("column %s: every value is missing; leave the column out", schema.Name(j))
}
