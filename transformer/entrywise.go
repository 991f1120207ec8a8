package transformer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// entryMap maps the entry x of column j.
type entryMap interface {
	value(j int, x float64) float64
	// keepsZeros returns an error that names a column in which zero is not mapped to zero.
	keepsZeros(schema datasets.Schema) error
}

// entrywise applies an entryMap to each entry of the rows. It is passed by value to avoid an
// allocation.
type entrywise struct {
	step    string
	width   int
	limit   float64 // maximum magnitude of an entry
	missing bool    // whether NaN is allowed
	of      entryMap
}

// factors multiplies each column by a factor ≥ 0.
type factors []float64

func (f *factors) value(j int, x float64) float64   { return x * (*f)[j] }
func (f *factors) keepsZeros(datasets.Schema) error { return nil }

// products returns the map that multiplies columns by the factors in list.
func products(step string, list *[]float64, limit float64, missing bool) entrywise {
	return entrywise{step: step, width: len(*list), limit: limit / max(1, slices.Max(*list)), missing: missing,
		of: (*factors)(list)}
}

// perEntry returns the map of entries of any finite size, or NaN.
func perEntry(step string, width int, of entryMap) entrywise {
	return entrywise{step: step, width: width, limit: math.MaxFloat64, missing: true, of: of}
}

// Transform returns the mapped rows of X, sparse where X is.
func (e entrywise) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	m, ok := X.(*matrices.CSR)
	if !ok || m == nil {
		return transformDense(ctx, e, X)
	}
	if _, err := e.check(X); err != nil {
		return nil, err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return design.MapEntries(ctx, m, e.of.value)
}

// TransformTo writes the mapped rows of X to dst, including the zeros of sparse rows.
func (e entrywise) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := e.check(X)
	if err != nil {
		return err
	}
	n, d := X.Dims()
	if err := checkTile(e.step, dst, n, d); err != nil {
		return err
	}
	const rows = 256 // rows per task
	if n <= rows {
		e.write(dst, X, 0, n)
	} else {
		e.writeAll(ctx, dst, X, rows)
	}
	return ctxerr.Check(ctx)
}

// writeAll writes all rows, in concurrent tasks of the given number of rows.
func (e entrywise) writeAll(ctx context.Context, dst *mat.Dense, X mat.Matrix, rows int) {
	kern.Parallel(dst.RawMatrix().Rows, rows, func(lo, hi int) {
		if ctx.Err() == nil {
			e.write(dst, X, lo, hi)
		}
	})
}

func (e entrywise) write(dst *mat.Dense, X mat.Matrix, lo, hi int) {
	for i := lo; i < hi; i++ {
		to := dst.RawRowView(i)
		for j, x := range design.Row(X, i, to) {
			to[j] = e.of.value(j, x)
		}
	}
}

// check returns X as a *mat.Dense or *matrices.CSR, or an error if an entry is out of range or the
// zeros of sparse rows would change.
func (e entrywise) check(X mat.Matrix) (mat.Matrix, error) {
	X, err := checkRows(e.step, X, e.width)
	if err != nil {
		return nil, err
	}
	if _, ok := X.(*matrices.CSR); ok {
		if err := e.of.keepsZeros(datasets.Schema{}); err != nil {
			return nil, err
		}
	}
	return X, checkEntries(e.step, X, datasets.Schema{}, 0, e.limit, e.missing)
}

// OutputWidth returns the number of columns.
func (e entrywise) OutputWidth() int { return e.width }

// keepsZeros returns an error with the given hint for the first column in which zero is not mapped
// to zero.
func keepsZeros(step string, width int, of entryMap, schema datasets.Schema, hint string) error {
	for j := range width {
		if v := of.value(j, 0); v != 0 {
			return fmt.Errorf("transformer: %s: column %s of sparse input: zero would become %.4g, and the zeros would have "+
				"to be stored; put a dense step before%s", step, schema.Name(j), v, hint)
		}
	}
	return nil
}
