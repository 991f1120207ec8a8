package scaffold

import (
	"cmp"
	"slices"
	"strconv"
)

// value is a distinct value of a numeric target with the number of its rows.
type value struct {
	number float64
	rows   int
}

// values returns the distinct values of a numeric target in ascending order, or a sample of them if
// there are many; none if the column is unknown or has strings.
func (g goal) values() (list []value, rows int) {
	if g.column == nil || g.classes != nil {
		return nil, 0
	}
	for _, seen := range g.column.tally.counts {
		v, err := strconv.ParseFloat(seen.name, 64)
		if err != nil {
			return nil, 0
		}
		list = append(list, value{v, seen.count})
		rows += seen.count
	}
	slices.SortFunc(list, func(a, b value) int { return cmp.Compare(a.number, b.number) })
	return list, rows
}

// isCount reports whether the target looks like a count: integers ≥ 0 including 0, at most 5 in a
// tenth of the rows.
func (g goal) isCount() bool {
	const small, share = 5, 10
	list, rows := g.values()
	if rows == 0 || g.column.whole.low != 0 || g.column.whole.count != g.rows {
		return false
	}
	n := 0
	for _, v := range list {
		if v.number <= small {
			n += v.rows
		}
	}
	return share*n >= rows
}

// hasLongTail reports whether the target is positive and its upper values spread far more than its
// lower ones.
func (g goal) hasLongTail() bool {
	const ratio = 4
	list, rows := g.values()
	if rows < 20 || !(list[0].number > 0) {
		return false
	}
	quantile := func(percent int) float64 {
		n := 0
		for _, v := range list {
			if n += v.rows; 100*n >= percent*rows {
				return v.number
			}
		}
		return list[len(list)-1].number
	}
	low, middle, high := quantile(5), quantile(50), quantile(95)
	return high-middle > ratio*(middle-low)
}
