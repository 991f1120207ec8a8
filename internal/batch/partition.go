package batch

import (
	"fmt"
	"slices"
)

// partition splits the training rows of all folds into parts such that each fold trains on a union
// of parts, listed in trains. It fails if a fold repeats a row, or if there are too many parts for
// sharing to pay.
func (b Batch) partition() (parts, trains [][]int, ok bool) {
	last := -1 // folds may omit rows, so their sizes do not give the number of rows
	for _, fold := range b.Folds {
		for _, i := range fold.Train {
			last = max(last, i)
		}
	}
	keys := make([][]byte, last+1)
	for k, fold := range b.Folds {
		for _, i := range fold.Train {
			if keys[i] == nil {
				keys[i] = make([]byte, (len(b.Folds)+7)/8)
			}
			if keys[i][k/8]&(1<<(k%8)) != 0 {
				return nil, nil, false
			}
			keys[i][k/8] |= 1 << (k % 8)
		}
	}
	number := map[string]int{}
	trains = make([][]int, len(b.Folds))
	for i, key := range keys {
		if key == nil {
			continue
		}
		p, known := number[string(key)]
		if !known {
			if p = len(parts); p > 2*len(b.Folds)+2 {
				return nil, nil, false
			}
			number[string(key)] = p
			parts = append(parts, nil)
			for k := range b.Folds {
				if key[k/8]&(1<<(k%8)) != 0 {
					trains[k] = append(trains[k], p)
				}
			}
		}
		parts[p] = append(parts[p], i)
	}
	return parts, trains, true
}

// checkFolds returns an error if a fold is empty or has a row outside [0, n).
func (b Batch) checkFolds(n int) error {
	for f, fold := range b.Folds {
		if len(fold.Train) == 0 || len(fold.Test) == 0 {
			return fmt.Errorf("fold %d must have training and test rows, got %d and %d", f, len(fold.Train), len(fold.Test))
		}
		for _, i := range slices.Concat(fold.Train, fold.Test) {
			if i < 0 || i >= n {
				return fmt.Errorf("fold %d: row must be from 0 to %d, got %d", f, n-1, i)
			}
		}
	}
	return nil
}
