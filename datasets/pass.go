package datasets

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/model"
)

// Pass is the mergeable state of one pass over rows. A spec that learns by passes starts one
// (transformer.PassFitter, estimator.PassEstimator), blocks of rows are added to it, passes over
// other rows are merged into it, and the spec computes its fitted value from the last pass. [Scan]
// does this for a [Source]; distributed and incremental fits call the methods themselves:
//
//	part 1 of the rows ──▶ Add … Add ─┐
//	part 2 of the rows ──▶ Add … Add ─┴▶ Merge ──▶ Next ──▶ nil: compute the fitted value
//	                                                  └───▶ a Pass: repeat with the same rows
//
// If Next returns a pass, it is sent to all workers (State), which add their rows and merge again.
//
// Rows may be divided into parts and blocks arbitrarily. The same merge tree gives the same bits;
// other trees give results equal up to rounding. Merging into a pass without rows copies the other
// pass exactly.
//
// A Pass must not be used concurrently. After an error from Add or Merge it is invalid, and all its
// methods return an error.
type Pass interface {
	// Add adds a block of rows, and does not retain its arrays. Row numbers in errors count from
	// the first row that was added to this pass.
	Add(ctx context.Context, block Set) error
	// Merge adds the state of a pass over other rows, which it does not modify. The other pass must
	// have the same spec, columns and pass number.
	Merge(ctx context.Context, other Pass) error
	// Next returns the next pass over the same rows, or nil after the last pass. It does not modify
	// p: further rows can be added to p afterwards (incremental learning), which invalidates passes
	// that Next returned before.
	Next(ctx context.Context) (Pass, error)
	// State saves or restores the pass. It restores into a pass that the same spec has started for
	// the same columns; other files are errors.
	State(s *model.State)
}

// ErrNoPasses is wrapped by the error of a spec that cannot be fitted in passes: its solver needs
// all rows at once, or one of its steps does not support passes.
var ErrNoPasses = errors.New("not learned by passes")

// Scan makes all passes over src, starting with first, and returns the last one. It returns an
// error if the number of rows differs between passes.
func Scan(ctx context.Context, first Pass, src Source) (last Pass, err error) {
	previousRows := -1
	for pass := first; ; {
		rows := 0
		err := src.Blocks(ctx, func(block Set) error {
			rows += block.Rows()
			if previousRows >= 0 && rows > previousRows {
				return fmt.Errorf("datasets: source must have %d rows as in the previous pass, got at least %d", previousRows, rows)
			}
			return pass.Add(ctx, block)
		})
		switch {
		case err != nil:
			return nil, err
		case previousRows >= 0 && rows < previousRows:
			return nil, fmt.Errorf("datasets: source must have %d rows as in the previous pass, got %d", previousRows, rows)
		}
		next, err := pass.Next(ctx)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return pass, nil
		}
		pass, previousRows = next, rows
	}
}
