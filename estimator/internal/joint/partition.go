package joint

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
