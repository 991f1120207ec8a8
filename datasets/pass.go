package datasets

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/model"
)

// Pass is what one reading of rows has learned so far: the state of a fold over blocks. A spec that
// learns by passes begins one (transformer.PassFitter, estimator.PassEstimator), blocks of rows are
// added to it, passes over other rows are merged into it, and in the end the spec makes its fitted value
// of it. [Scan] drives that over a [Source]; whoever has rows on several machines, or more rows every
// day, drives it himself:
//
//	part 1 of the rows ──▶ Add … Add ─┐
//	part 2 of the rows ──▶ Add … Add ─┴▶ Merge ──▶ Next ──▶ nil: the spec makes the fitted value
//	                                                  └───▶ a Pass: once more over the same rows
//
// The next pass of a learner that needs several is begun by what all parts have learned together: it is
// sent to them as a file (State), each adds its rows to its own, and these are merged again.
//
// Rows may be cut into parts and blocks anywhere. One tree of parts gives the same bits whenever it is
// merged; another tree gives the same to rounding. Merging into a pass that has no rows yet copies the
// other one, bit for bit.
//
// A Pass is for one goroutine at a time. After an error from Add or Merge it holds half a block, and
// says so to whoever goes on with it.
type Pass interface {
	// Add takes in a block of rows, whose arrays it does not keep. Numbers of rows in errors count from
	// the first row that was added to this pass.
	Add(ctx context.Context, block Set) error
	// Merge takes in what another pass has learned from other rows, and leaves that one as it is. The
	// other one was begun by the same spec for the same columns and is the same reading of the rows.
	Merge(ctx context.Context, other Pass) error
	// Next returns the pass that has to read the same rows after this one, or nil where there is none and
	// the spec can make its fitted value of this one. It leaves the pass as it is: rows can be added
	// to it afterwards, which is learning on. What such a pass had begun before is void then.
	Next(ctx context.Context) (Pass, error)
	// State carries the pass to a file and back. It is read into a pass that the same spec has started
	// for the same columns; a file of another spec or other columns is an error.
	State(s *model.State)
}

// ErrNoPasses is in the chain of the error of a spec that does not learn by passes as it stands: its solver
// needs all rows at once, or a step of it has no passes.
var ErrNoPasses = errors.New("not learned by passes")

// Scan reads src once for each pass, beginning with first, and returns the last one, of which its spec
// makes the fitted value. It fails where src has not the same number of rows each time.
func Scan(ctx context.Context, first Pass, src Source) (last Pass, err error) {
	before := -1
	for pass := first; ; {
		rows := 0
		err := src.Blocks(ctx, func(block Set) error {
			rows += block.Rows()
			if before >= 0 && rows > before {
				return fmt.Errorf("datasets: %d rows when read before, %d or more now", before, rows)
			}
			return pass.Add(ctx, block)
		})
		switch {
		case err != nil:
			return nil, err
		case before >= 0 && rows < before:
			return nil, fmt.Errorf("datasets: %d rows when read before, %d now", before, rows)
		}
		next, err := pass.Next(ctx)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return pass, nil
		}
		pass, before = next, rows
	}
}
