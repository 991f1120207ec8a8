package rowsource

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Subset returns the given rows of src, which must be ascending, as a source. Each pass reads all of
// src and stores one block. The blocks equal those of [datasets.Set.Select] with the same rows.
func Subset(src datasets.Source, rows []int) (datasets.Source, error) {
	n, _ := src.Dims()
	for k, i := range rows {
		if i < 0 || n >= 0 && i >= n {
			return nil, fmt.Errorf("datasets: row number must be from 0 to %d, got %d", n-1, i)
		}
		if k > 0 && i <= rows[k-1] {
			return nil, fmt.Errorf("datasets: row numbers must be ascending, got %d after %d", i, rows[k-1])
		}
	}
	return subset{src, rows}, nil
}

type subset struct {
	src  datasets.Source
	rows []int
}

func (s subset) Schema() datasets.Schema { return s.src.Schema() }

func (s subset) Dims() (rows, cols int) {
	_, cols = s.src.Dims()
	return len(s.rows), cols
}

func (s subset) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	var buffer datasets.Buffer
	next, first := 0, 0 // index into s.rows; row number of the first row of the block
	err := s.src.Blocks(ctx, func(block datasets.Set) error {
		size := rowblock.SizeFor(block.X)
		block = block.NumberRows(first)
		end := first + block.Rows()
		for next < len(s.rows) && s.rows[next] < end {
			// Append the longest run of consecutive rows that fits into the buffer.
			from, run := next, 1
			for next+run < len(s.rows) && s.rows[next+run] == s.rows[from]+run && s.rows[next+run] < end &&
				buffer.Rows()+run < size {
				run++
			}
			if err := buffer.AppendRows(block, s.rows[from]-first, s.rows[from]-first+run); err != nil {
				return err
			}
			next += run
			if buffer.Rows() == size {
				if err := yield(buffer.Set()); err != nil {
					return err
				}
				buffer.Reset()
			}
		}
		first = end
		return nil
	})
	if err != nil {
		return err
	}
	if next < len(s.rows) {
		return fmt.Errorf("datasets: row number must be from 0 to %d, got %d", first-1, s.rows[next])
	}
	if buffer.Rows() > 0 {
		return yield(buffer.Set())
	}
	return nil
}

// Range returns rows lo to hi−1 of src as a source; hi may exceed the number of rows. A new block
// starts after every blockRows rows, counted from lo, however src divides the rows into blocks. Each
// pass reads src up to row hi.
func Range(src datasets.Source, lo, hi, blockRows int) (datasets.Source, error) {
	if n, _ := src.Dims(); lo < 0 || hi < lo || blockRows < 1 || n >= 0 && lo > n {
		return nil, fmt.Errorf("datasets: cannot select rows %d to %d of %d in blocks of %d", lo, hi, n, blockRows)
	}
	return rowRange{src, lo, hi, blockRows}, nil
}

type rowRange struct {
	src               datasets.Source
	lo, hi, blockRows int
}

func (r rowRange) Schema() datasets.Schema { return r.src.Schema() }

func (r rowRange) Dims() (rows, cols int) {
	n, cols := r.src.Dims()
	if n < 0 {
		return -1, cols
	}
	return max(min(n, r.hi)-r.lo, 0), cols
}

// errRangeEnd stops a pass after the last row of a range.
var errRangeEnd = errors.New("end of the range of rows")

func (r rowRange) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	if r.lo == r.hi {
		return ctxerr.Check(ctx)
	}
	var buffer datasets.Buffer
	first, yielded := 0, 0 // row number of the first row of the block; rows passed to yield
	flush := func() error {
		yielded += buffer.Rows()
		err := yield(buffer.Set())
		buffer.Reset()
		return err
	}
	err := r.src.Blocks(ctx, func(block datasets.Set) error {
		from, to := max(r.lo-first, 0), min(r.hi-first, block.Rows())
		size := rowblock.SizeFor(block.X)
		if from < to {
			block = block.NumberRows(first)
		}
		for from < to {
			free := min(size, r.blockRows-yielded%r.blockRows) - buffer.Rows()
			n := min(free, to-from)
			if err := buffer.AppendRows(block, from, from+n); err != nil {
				return err
			}
			if from += n; n == free {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if first += block.Rows(); first >= r.hi {
			return errRangeEnd
		}
		return nil
	})
	if err != nil && err != errRangeEnd {
		return err
	}
	if buffer.Rows() == 0 {
		return nil
	}
	return flush()
}

// Partition reads src once and passes the blocks of each part to yield. The function of maps a row
// number to a part, or to −1 to skip the row. Rows of a part keep their order. Partition stores one
// block per part.
func Partition(ctx context.Context, src datasets.Source, parts int, of func(row int) int,
	yield func(part int, block datasets.Set) error) error {
	buffers := make([]datasets.Buffer, parts)
	flush := func(k int) error {
		err := yield(k, buffers[k].Set())
		buffers[k].Reset()
		return err
	}
	first := 0
	err := src.Blocks(ctx, func(block datasets.Set) error {
		block = block.NumberRows(first)
		size := rowblock.SizeFor(block.X)
		for lo := 0; lo < block.Rows(); {
			k, hi := of(first+lo), lo+1
			for hi < block.Rows() && of(first+hi) == k {
				hi++
			}
			if k < 0 {
				lo = hi
				continue
			}
			n := min(hi-lo, size-buffers[k].Rows())
			if err := buffers[k].AppendRows(block, lo, lo+n); err != nil {
				return err
			}
			if lo += n; buffers[k].Rows() == size {
				if err := flush(k); err != nil {
					return err
				}
			}
		}
		first += block.Rows()
		return nil
	})
	for k := range buffers {
		if err == nil && buffers[k].Rows() > 0 {
			err = flush(k)
		}
	}
	return err
}

// Filter returns the rows of src for which keep reports true, as a source of unknown length. Each
// pass reads all of src.
func Filter(src datasets.Source, keep func(row int) bool) datasets.Source { return filtered{src, keep} }

type filtered struct {
	src  datasets.Source
	keep func(row int) bool
}

func (f filtered) Schema() datasets.Schema { return f.src.Schema() }

func (f filtered) Dims() (rows, cols int) {
	_, cols = f.src.Dims()
	return -1, cols
}

func (f filtered) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	of := func(row int) int {
		if f.keep(row) {
			return 0
		}
		return -1
	}
	return Partition(ctx, f.src, 1, of, func(_ int, block datasets.Set) error { return yield(block) })
}
