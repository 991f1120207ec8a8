package datasets

import (
	"context"
	"fmt"
)

// Subset returns the named rows of src as a source that reads src through and holds one block.
// Rows ascend, as those of a [Fold] do. Its blocks are those of [Set.Select] on the same rows.
func Subset(src Source, rows []int) (Source, error) {
	last, _ := src.Dims()
	for k, i := range rows {
		if i < 0 || last >= 0 && i >= last {
			return nil, fmt.Errorf("datasets: no row %d in %d rows", i, last)
		}
		if k > 0 && i <= rows[k-1] {
			return nil, fmt.Errorf("datasets: row %d follows row %d, wanted ascending rows", i, rows[k-1])
		}
	}
	return subset{src, rows}, nil
}

type subset struct {
	src  Source
	rows []int
}

func (s subset) Schema() Schema { return s.src.Schema() }

func (s subset) Dims() (rows, cols int) {
	_, cols = s.src.Dims()
	return len(s.rows), cols
}

func (s subset) Blocks(ctx context.Context, yield func(block Set) error) error {
	var c collector
	next, first := 0, 0 // of rows; of the current block
	err := s.src.Blocks(ctx, func(block Set) error {
		full := blockRows(block.X)
		if block.origin == nil {
			block.origin = numbers(first, block.Rows())
		}
		end := first + block.Rows()
		for next < len(s.rows) && s.rows[next] < end {
			// Take as long a run of consecutive rows as there is room for.
			from, run := next, 1
			for next+run < len(s.rows) && s.rows[next+run] == s.rows[from]+run && s.rows[next+run] < end && c.rows+run < full {
				run++
			}
			if err := c.add(block, s.rows[from]-first, s.rows[from]-first+run); err != nil {
				return err
			}
			next += run
			if c.rows == full {
				if err := yield(c.set()); err != nil {
					return err
				}
				c.reset()
			}
		}
		first = end
		return nil
	})
	if err != nil {
		return err
	}
	if next < len(s.rows) {
		return fmt.Errorf("datasets: no row %d in %d rows", s.rows[next], first)
	}
	if c.rows > 0 {
		return yield(c.set())
	}
	return nil
}

// numbers returns n numbers from first.
func numbers(first, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = first + i
	}
	return out
}
