package datasets

import (
	"context"
	"fmt"
)

// HashKFold puts each row into one of Folds folds by a hash of its number and of Seed, so that nobody needs a list of
// rows: [HashKFold.Of] says where one belongs. Folds differ in size by about the square root of it. It is for rows that
// stay in a file; in memory it makes the same folds.
type HashKFold struct {
	Folds int // ≥ 2
	Seed  uint64
}

// Of returns the number of the fold that holds out a row. The hash is the finaliser of SplitMix64 (Steele, Lea and
// Flood, OOPSLA 2014).
func (s HashKFold) Of(row int) int {
	z := uint64(row)*0x9e3779b97f4a7c15 + s.Seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(max(s.Folds, 1)))
}

// Split returns the folds of rows in memory.
func (s HashKFold) Split(data Set) ([]Fold, error) {
	n := data.Rows()
	if err := checkFolds(s.Folds, n, "rows"); err != nil {
		return nil, err
	}
	part, rows := make([]int, n), make([]int, s.Folds)
	for i := range part {
		part[i] = s.Of(i)
		rows[part[i]]++
	}
	for f, r := range rows {
		if r == 0 || r == n {
			return nil, fmt.Errorf("datasets: fold %d of %d has %d of %d rows: too few rows for folds by hash", f, s.Folds, r, n)
		}
	}
	return folds(part, s.Folds), nil
}

// Partition reads src once and hands its rows out in parts, each in blocks of its own: of says which part a row
// belongs to, by its number, −1 for none. Rows of a part keep their order. It holds a block of each part.
func Partition(ctx context.Context, src Source, parts int, of func(row int) int, yield func(part int, block Set) error) error {
	held := make([]collector, parts)
	give := func(k int) error {
		err := yield(k, held[k].set())
		held[k].reset()
		return err
	}
	first := 0
	err := src.Blocks(ctx, func(block Set) error {
		if block.origin == nil {
			block.origin = numbers(first, block.Rows())
		}
		full := blockRows(block.X)
		for lo := 0; lo < block.Rows(); {
			k, hi := of(first+lo), lo+1
			for hi < block.Rows() && of(first+hi) == k {
				hi++
			}
			if k < 0 {
				lo = hi
				continue
			}
			take := min(hi-lo, full-held[k].rows)
			if err := held[k].add(block, lo, lo+take); err != nil {
				return err
			}
			if lo += take; held[k].rows == full {
				if err := give(k); err != nil {
					return err
				}
			}
		}
		first += block.Rows()
		return nil
	})
	for k := range held {
		if err == nil && held[k].rows > 0 {
			err = give(k)
		}
	}
	return err
}

// FilterRows returns the rows of src whose numbers keep takes, as a source that reads src through. How many they are it does
// not know.
func FilterRows(src Source, keep func(row int) bool) Source { return where{src, keep} }

type where struct {
	src  Source
	keep func(row int) bool
}

func (w where) Schema() Schema { return w.src.Schema() }

func (w where) Dims() (rows, cols int) {
	_, cols = w.src.Dims()
	return -1, cols
}

func (w where) Blocks(ctx context.Context, yield func(block Set) error) error {
	of := func(row int) int {
		if w.keep(row) {
			return 0
		}
		return -1
	}
	return Partition(ctx, w.src, 1, of, func(_ int, block Set) error { return yield(block) })
}
