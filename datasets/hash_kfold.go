package datasets

import "fmt"

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
