package bins

import "errors"

// membersOf returns the ascending columns of each input; nil if every column is an input.
func membersOf(group []int, inputs int) [][]int {
	if group == nil {
		return nil
	}
	members := make([][]int, inputs)
	for j, g := range group {
		members[g] = append(members[g], j)
	}
	return members
}

// countOf returns how many columns a set of inputs has.
func countOf(members [][]int, set []int) int {
	if members == nil {
		return len(set)
	}
	columns := 0
	for _, g := range set {
		columns += len(members[g])
	}
	return columns
}

// columns returns the approximate mean number of columns of a set.
func (s *Subsets) columns(members [][]int) (mean float64) {
	if members == nil {
		return float64(s.k)
	}
	for i, g := range s.inputs {
		mean += s.chances[i] * float64(len(members[g]))
	}
	return mean
}

// place determines the columns of all pitches, ordered by grid and then by input. It returns an
// error if the number of pitches does not match.
func (m *Map) place() error {
	m.starts, m.columns = make([]int, m.Grids+1), nil
	var members [][]int
	k, inputs := len(m.Inputs)/m.Grids, 0
	for _, g := range m.Inputs {
		inputs = max(inputs, g+1)
	}
	for _, g := range m.Group {
		inputs = max(inputs, g+1)
	}
	if m.Inputs != nil {
		members = membersOf(m.Group, inputs)
	}
	for p := range m.Grids {
		each := len(m.Gamma)
		if m.Inputs != nil {
			each = countOf(members, m.Inputs[p*k:(p+1)*k])
		}
		m.starts[p+1] = m.starts[p] + each
	}
	if m.starts[m.Grids] != len(m.Base) {
		return errors.New("the number of pitches must equal the number of columns")
	}
	if m.columns = m.Inputs; members != nil {
		m.columns = make([]int, 0, len(m.Base))
		for _, g := range m.Inputs {
			m.columns = append(m.columns, members[g]...)
		}
	}
	return nil
}

// span returns the first and the last pitch of a grid, the last excluded.
func (m *Map) span(grid int) (lo, hi int) { return m.starts[grid], m.starts[grid+1] }

// column returns the column of pitch k, numbered across grids.
func (m *Map) column(k int) int {
	if m.columns == nil {
		return k % len(m.Gamma)
	}
	return m.columns[k]
}

// Columns returns the columns of a grid, input by input.
func (m *Map) Columns(grid int) []int {
	lo, hi := m.span(grid)
	list := make([]int, hi-lo)
	for k := range list {
		list[k] = m.column(lo + k)
	}
	return list
}

// Most returns the maximum number of columns of a grid.
func (m *Map) Most() (largest int) {
	for p := range m.Grids {
		lo, hi := m.span(p)
		largest = max(largest, hi-lo)
	}
	return largest
}
