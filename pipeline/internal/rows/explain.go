package rows

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
)

// Explain adds to err the row index in the whole data and the column name of a missing or infinite
// value, because a step sees a block without its position and column names. first is the index of
// the block's first row.
func Explain(err error, block datasets.Set, schema datasets.Schema, first int) error {
	X := block.X
	n, d := X.Dims()
	where, cause := "", err
	var inner *place.Error
	if errors.As(err, &inner) {
		where, cause = inner.Place, inner.Err
	}
	for i := range n {
		for j := range d {
			switch v := X.At(i, j); {
			case math.IsNaN(v) && errors.Is(err, datasets.ErrMissing):
				cause = &datasets.RowError{Row: first + i, Column: schema.Name(j),
					Err: fmt.Errorf("%w; fit with an impute step before, or fill it in", datasets.ErrMissing)}
				return &place.Error{Place: where, Err: block.Locate(cause, first)}
			case math.IsInf(v, 0):
				return &place.Error{Place: where, Err: block.Locate(&datasets.RowError{Row: first + i, Column: schema.Name(j),
					Err: errors.New("infinite value")}, first)}
			}
		}
	}
	var row *datasets.RowError
	if errors.As(cause, &row) {
		return &place.Error{Place: where, Err: datasets.FromRow(block.Locate(cause, 0), first)}
	}
	if first > 0 && inner != nil {
		return &place.Error{Place: where, Err: fmt.Errorf("in the rows from %d: %w", first, cause)}
	}
	return err
}
