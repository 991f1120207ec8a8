package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/sparse"
)

// factors are what a step multiplies columns by, numbers ≥ 0.
type factors struct {
	step    string
	list    []float64
	missing bool // whether values may be missing, and stay so
}

// Transform returns the products, sparse where X is.
func (f factors) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	m, ok := X.(*sparse.CSR)
	if !ok || m == nil {
		return transformDense(ctx, f, X)
	}
	if _, err := f.check(X); err != nil {
		return nil, err
	}
	if err := cause.Err(ctx); err != nil {
		return nil, err
	}
	return design.MapEntries(ctx, m, func(j int, v float64) float64 { return v * f.list[j] })
}

// TransformTo writes the products into dst, the zeros of sparse rows too.
func (f factors) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := f.check(X)
	if err != nil {
		return err
	}
	n, d := X.Dims()
	if err := checkTile(f.step, dst, n, d); err != nil {
		return err
	}
	return eachTile(ctx, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := dst.RawRowView(i)
			for j, x := range design.Row(X, i, to) {
				to[j] = x * f.list[j]
			}
		}
	})
}

// check returns X as a *mat.Dense or *sparse.CSR of numbers whose products are finite.
func (f factors) check(X mat.Matrix) (mat.Matrix, error) {
	X, err := checkRows(f.step, X, len(f.list))
	if err != nil {
		return nil, err
	}
	limit := math.MaxFloat64 / max(1, slices.Max(f.list))
	return X, checkEntries(f.step, X, datasets.Schema{}, 0, limit, f.missing)
}

// OutputWidth returns the number of columns.
func (f factors) OutputWidth() int { return len(f.list) }
