package datasets

import "fmt"

// HashKFold assigns each row to a fold by a hash of its row number and Seed, without a list of rows
// ([HashKFold.Of]). Fold sizes deviate by about their square root. It is meant for rows that are
// streamed from a file.
type HashKFold struct {
	Folds int // ≥ 2
	Seed  uint64
}

// Of returns the fold in which a row is a test row. The hash is the finalizer of SplitMix64
// (Steele, Lea & Flood, OOPSLA 2014).
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
			return nil, fmt.Errorf("datasets: too few rows for folds by hash: fold %d of %d has %d of %d rows", f, s.Folds, r, n)
		}
	}
	return folds(part, s.Folds), nil
}
