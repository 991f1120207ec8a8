package transformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/matrices"
)

// fitSet fits a spec to rows in memory through FitSource.
func fitSet(ctx context.Context, step string, spec BlockFitter, data datasets.Set) (Transformer, error) {
	if err := checkSpec(step, spec); err != nil {
		return nil, err
	}
	if err := checkSet(step, data); err != nil {
		return nil, err
	}
	return spec.FitSource(ctx, data.Source())
}

func checkSet(step string, data datasets.Set) error {
	if err := data.Check(); err != nil {
		return fmt.Errorf("transformer: %s: %w", step, err)
	}
	return nil
}

// fitFinite is fitSet for steps whose FitSource may skip reading the rows. It checks that they are
// finite.
func fitFinite(ctx context.Context, step string, spec BlockFitter, data datasets.Set) (Transformer, error) {
	if err := checkFinite(step, spec, data); err != nil {
		return nil, err
	}
	return spec.FitSource(ctx, data.Source())
}

// checkFinite returns an error if the spec is invalid or the rows are empty or not finite.
func checkFinite(step string, spec any, data datasets.Set) error {
	if err := checkSpec(step, spec); err != nil {
		return err
	}
	X, err := checkRows(step, data.X, data.Cols())
	if err != nil {
		return err
	}
	if err := checkEntries(step, X, data.Schema, 0, math.MaxFloat64, false); err != nil {
		return data.Locate(err, 0)
	}
	return checkSet(step, data)
}

func checkSpec(step string, spec any) error {
	if err := specs.CheckFit(spec); err != nil {
		return fmt.Errorf("transformer: %s: %w", step, err)
	}
	return nil
}

// wrapError adds the name of a step to err, unless err is nil or the error of the context.
func wrapError(ctx context.Context, step string, err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(ctxerr.Check(ctx), fmt.Errorf("transformer: %s: %w", step, err))
}

// fold calls add with the inputs of each block of src, a *mat.Dense or *matrices.CSR of finite
// numbers, or NaN if missing is true. It returns the number of rows.
func fold(ctx context.Context, step string, src datasets.Source, missing bool,
	add func(first int, X mat.Matrix) error) (rows int, err error) {
	_, width := src.Dims()
	err = src.Blocks(ctx, func(block datasets.Set) error {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if block.Rows() == 0 {
			return nil
		}
		X, err := checkInputs(step, block, src.Schema(), width, rows, missing)
		if err != nil {
			return err
		}
		first := rows
		rows += block.Rows()
		return block.Locate(add(first, X), first)
	})
	switch {
	case err != nil:
		return 0, err
	case rows == 0 || width == 0:
		return 0, fmt.Errorf("transformer: %s: %w: %d rows, %d columns", step, datasets.ErrEmpty, rows, width)
	}
	return rows, nil
}

// weighted is a source without its rows of weight 0. [datasets.Source.Dims] counts them.
type weighted struct{ datasets.Source }

// Blocks numbers the rows as in the source.
func (w weighted) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	read, kept := 0, 0
	return w.Source.Blocks(ctx, func(block datasets.Set) error {
		first := read
		read += block.Rows()
		if block = design.WithoutZeroWeights(first, block); kept < first {
			block = block.NumberRows(first)
		}
		kept += block.Rows()
		return yield(block)
	})
}

// checkRows returns X as a *mat.Dense or *matrices.CSR, or an error if its number of columns is not
// width.
func checkRows(step string, X mat.Matrix, width int) (mat.Matrix, error) {
	var rows, cols int
	switch m := X.(type) {
	case nil:
	case *mat.Dense:
		if m != nil {
			rows, cols = m.Dims()
		}
	case *matrices.CSR:
		if m != nil {
			rows, cols = m.Dims()
		}
	case *textrows.Matrix:
		return nil, fmt.Errorf("transformer: %s: column %d must not be text; encode it with tfidf, or drop it", step,
			m.TextColumns()[0])
	default:
		rows, cols = X.Dims()
		if rows > 0 && cols == width {
			X = mat.DenseCopyOf(X)
		}
	}
	switch {
	case rows == 0:
		return nil, fmt.Errorf("transformer: %s: no rows: %w", step, datasets.ErrEmpty)
	case cols != width:
		return nil, fmt.Errorf("transformer: %s: %d columns at fit, %d now", step, width, cols)
	}
	return X, nil
}

// checkEntries returns an error for the first entry that is infinite, exceeds limit in magnitude,
// or is NaN unless missing is true. Row numbers in errors start at first.
func checkEntries(step string, X mat.Matrix, schema datasets.Schema, first int, limit float64, missing bool) error {
	i, j, v := findEntry(X, func(v float64) bool { return !(math.Abs(v) <= limit) && !(missing && v != v) })
	if i < 0 {
		return nil
	}
	problem := fmt.Errorf("%g is too large, at most %.3g is possible here; scale the inputs before", v, limit)
	switch {
	case math.IsNaN(v):
		problem = fmt.Errorf("%w; fit with an impute step before, or fill it in", datasets.ErrMissing)
	case math.IsInf(v, 0):
		problem = errors.New("infinite value")
	}
	return fmt.Errorf("transformer: %s: %w", step, &datasets.RowError{Row: first + i, Column: schema.Name(j),
		Err: problem})
}

// checkLow returns an error for the first entry for which low is true.
func checkLow(step string, X mat.Matrix, constraint string, low func(v float64) bool) error {
	i, j, v := findEntry(X, low)
	if i < 0 {
		return nil
	}
	return fmt.Errorf("transformer: %s: %w", step, &datasets.RowError{Row: i, Column: datasets.Schema{}.Name(j),
		Err: fmt.Errorf("%s, got %v", constraint, v)})
}

// findEntry returns the first entry for which bad is true; row is −1 if there is none.
func findEntry(X mat.Matrix, bad func(v float64) bool) (row, column int, value float64) {
	switch m := X.(type) {
	case *mat.Dense:
		n, _ := m.Dims()
		for i := range n {
			for j, v := range m.RawRowView(i) {
				if bad(v) {
					return i, j, v
				}
			}
		}
	case *matrices.CSR:
		n, _ := m.Dims()
		for i := range n {
			columns, values := m.Row(i)
			for k, v := range values {
				if bad(v) {
					return i, int(columns[k]), v
				}
			}
		}
		if v, ok := m.Shared(); ok && m.NNZ() > 0 && bad(v) {
			return 0, 0, v
		}
	}
	return -1, 0, 0
}

// checkTile returns an error if dst, a *mat.Dense or *matrices.Dense32, is nil or not rows×width.
func checkTile(step string, dst mat.Matrix, rows, width int) error {
	if dst == (*mat.Dense)(nil) || dst == (*matrices.Dense32)(nil) {
		return fmt.Errorf("transformer: %[1]s: destination must be %[2]d×%[3]d, got nil", step, rows, width)
	}
	if n, d := dst.Dims(); n != rows || d != width {
		return fmt.Errorf("transformer: %[1]s: destination must be %[4]d×%[5]d, got %[2]d×%[3]d", step, n, d, rows, width)
	}
	return nil
}

// checkMap checks X, which must have the given number of columns and entries up to limit in
// magnitude, and dst, the matrix for its features. It returns X as a *mat.Dense or *matrices.CSR, or
// all errors joined.
func checkMap(step string, X mat.Matrix, columns int, limit float64, dst mat.Matrix, features int) (mat.Matrix, error) {
	X, err := checkRows(step, X, columns)
	if err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	problem := checkEntries(step, X, datasets.Schema{}, 0, limit, false)
	if tile := checkTile(step, dst, n, features); tile != nil {
		problem = errors.Join(tile, problem)
	}
	return X, problem
}

// transformDense maps X into a new matrix.
func transformDense(ctx context.Context, t DenseTransformer, X mat.Matrix) (mat.Matrix, error) {
	if n := rowsOf(X); n > 0 {
		dst := mat.NewDense(n, t.OutputWidth(), nil)
		if err := t.TransformTo(ctx, dst, X); err != nil {
			return nil, err
		}
		return dst, nil
	}
	return nil, t.TransformTo(ctx, nil, nil)
}

// rowsOf returns the number of rows of X, 0 if X is nil or a nil pointer.
func rowsOf(X mat.Matrix) int {
	switch m := X.(type) {
	case nil:
		return 0
	case *mat.Dense:
		if m == nil {
			return 0
		}
	case *matrices.CSR:
		if m == nil {
			return 0
		}
	}
	n, _ := X.Dims()
	return n
}

// tileRows is the number of rows mapped between two checks of the context.
const tileRows = 2048

// eachTile calls f for consecutive tiles of rows until ctx is done.
func eachTile(ctx context.Context, rows int, f func(lo, hi int)) error {
	for lo := 0; lo < rows; lo += tileRows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		f(lo, min(lo+tileRows, rows))
	}
	return nil
}

// widthOf returns the number of columns of a source, or an error if it is empty.
func widthOf(ctx context.Context, step string, src datasets.Source) (int, error) {
	width, err := columnsOf(ctx, step, src)
	if err != nil {
		return 0, err
	}
	for j, c := range src.Schema().Columns {
		if c.Kind == datasets.Text {
			return 0, fmt.Errorf("transformer: %s: column %s must not be text; encode it with tfidf, or drop it", step,
				src.Schema().Name(j))
		}
	}
	return width, nil
}

// columnsOf returns the number of columns of a source, which may be text.
func columnsOf(ctx context.Context, step string, src datasets.Source) (int, error) {
	rows, width := src.Dims()
	if rows == 0 || width <= 0 {
		return 0, fmt.Errorf("transformer: %s: %w: %d rows, %d columns", step, datasets.ErrEmpty, rows, width)
	}
	return width, ctxerr.Check(ctx)
}
