package datasets

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// Range returns rows lo to hi−1 of src, for which it reads src through to the last of them; hi may be beyond
// the end. Its blocks begin anew after every run rows, counted from lo, and depend on nothing else but the kind
// of the rows: whoever cuts the same rows into other blocks gets the same ones here.
func Range(src Source, lo, hi, run int) (Source, error) {
	if n, _ := src.Dims(); lo < 0 || hi < lo || run < 1 || n >= 0 && lo > n {
		return nil, fmt.Errorf("datasets: rows %d to %d of %d, in runs of %d", lo, hi, n, run)
	}
	return stretch{src, lo, hi, run}, nil
}

// stretch is consecutive rows of a source.
type stretch struct {
	src         Source
	lo, hi, run int
}

func (r stretch) Schema() Schema { return r.src.Schema() }

func (r stretch) Dims() (rows, cols int) {
	n, cols := r.src.Dims()
	if n < 0 {
		return -1, cols
	}
	return max(min(n, r.hi)-r.lo, 0), cols
}

// errPast ends a reading behind the last row that is wanted.
var errPast = errors.New("past the rows that are wanted")

func (r stretch) Blocks(ctx context.Context, yield func(block Set) error) error {
	if r.lo == r.hi {
		return ctxerr.Check(ctx)
	}
	var c collector
	first, given := 0, 0 // rows before the block at hand; rows that are handed out
	flush := func() error {
		given += c.rows
		err := yield(c.set())
		c.reset()
		return err
	}
	err := r.src.Blocks(ctx, func(block Set) error {
		from, to := max(r.lo-first, 0), min(r.hi-first, block.Rows())
		full := blockRows(block.X)
		if block.origin == nil && from < to {
			block.origin = numbers(first, block.Rows())
		}
		for from < to {
			room := min(full, r.run-given%r.run) - c.rows
			take := min(room, to-from)
			if err := c.add(block, from, from+take); err != nil {
				return err
			}
			if from += take; take == room {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if first += block.Rows(); first >= r.hi {
			return errPast
		}
		return nil
	})
	if err != nil && err != errPast {
		return err
	}
	if c.rows == 0 {
		return nil
	}
	return flush()
}
