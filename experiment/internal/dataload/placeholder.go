package dataload

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// Outline returns the set for a splitter, with a placeholder for the inputs. It reads targets and
// groups if required, or if the source does not declare its number of rows.
func Outline(ctx context.Context, source datasets.Source, want bool) (datasets.Set, error) {
	n, d := source.Dims()
	documents := datasets.Shape{}.WithDocuments(ctx, source).Documents
	out := datasets.Set{Schema: source.Schema(), X: blank(n, d, documents)}
	if n >= 0 && !want {
		return out, nil
	}
	if len(out.Schema.Targets) == 1 {
		out.Y = make([]float64, 0, max(n, 0))
	}
	var targets []float64
	n = 0
	err := rowsource.DropInputs(source).Blocks(ctx, func(block datasets.Set) error {
		n += block.Rows()
		out.Y = append(out.Y, block.Y...)
		out.Groups = append(out.Groups, block.Groups...)
		for i := 0; block.Targets != nil && i < block.Rows(); i++ {
			targets = append(targets, block.Targets.RawRowView(i)...)
		}
		return nil
	})
	if len(targets) > 0 {
		out.Targets = mat.NewDense(n, len(targets)/n, targets)
	}
	out.X = blank(n, d, documents)
	return out, err
}

// Pick returns the given rows of a placeholder.
func Pick(stand datasets.Set, rows []int) datasets.Set {
	out := datasets.Set{Schema: stand.Schema, X: blank(len(rows), stand.Cols(), stand.Shape().Documents)}
	for _, i := range rows {
		if stand.Y != nil {
			out.Y = append(out.Y, stand.Y[i])
		}
		if stand.Groups != nil {
			out.Groups = append(out.Groups, stand.Groups[i])
		}
	}
	if stand.Targets != nil {
		out.Targets = rowblock.Select(stand.Targets, rows).(*mat.Dense)
	}
	return out
}

// Head returns the first n rows of a placeholder.
func Head(stand datasets.Set, n int) datasets.Set {
	stand.X = blank(n, stand.Cols(), stand.Shape().Documents)
	stand.Y, stand.Groups = stand.Y[:min(len(stand.Y), n)], stand.Groups[:min(len(stand.Groups), n)]
	if stand.Targets != nil {
		stand.Targets = rowblock.Slice(stand.Targets, 0, n).(*mat.Dense)
	}
	return stand
}

// SparseOutline returns a placeholder for sparse rows with the given number of entries.
func SparseOutline(rows, cols, entries int) mat.Matrix {
	return rowblock.Placeholder{Rows: rows, Cols: cols, NonZeros: max(entries, 1)}
}

// blank returns a placeholder for dense rows.
func blank(rows, cols int, documents *datasets.Documents) mat.Matrix {
	return rowblock.Placeholder{Rows: rows, Cols: cols, Documents: documents}
}
