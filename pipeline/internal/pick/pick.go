// Package pick describes some columns of rows; type Picker of internal/rows/rowblock selects them.
package pick

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// Schema returns the schema of the named columns, nil for all.
func Schema(in datasets.Schema, index []int) datasets.Schema {
	if index == nil {
		return in
	}
	columns := make([]datasets.Column, len(index))
	for k, j := range index {
		columns[k] = in.Column(j)
	}
	return in.WithColumns(columns)
}

// TextColumns returns the numbers of the text columns.
func TextColumns(columns []datasets.Column) (out []int) {
	for j, c := range columns {
		if c.Kind == datasets.Text {
			out = append(out, j)
		}
	}
	return out
}

// Blank returns a row of zeros, and of missing text, with the columns of a schema.
func Blank(in datasets.Schema, cols int) mat.Matrix {
	return textrows.Wrap(mat.NewDense(1, cols, nil), TextColumns(in.Columns), nil)
}
