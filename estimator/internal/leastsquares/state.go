package leastsquares

import (
	"slices"

	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/model"
)

// state serializes moments with any number of targets.
func (m *Moments) state(s *model.State) {
	shifted := m.shift != nil
	s.Bool("centred", &m.centered)
	s.Bool("single", &m.Float32)
	s.Int("rows", &m.rows)
	s.Float("weight", &m.Weight)
	s.Bool("shifted", &shifted)
	s.Int("targets", &m.targets)
	d, t := m.Cols, m.targets
	if s.Err() != nil {
		return
	}
	if s.Require(m.rows > 0 && pass.NonNegative(m.Weight), "there are no rows"); t < 0 || t > 1<<20 {
		s.Fail("the number of targets must be from 0 to %d, got %d", 1<<20, t)
		return
	}
	if shifted {
		pass.Floats(s, "shift", &m.shift, d, pass.Finite)
	}
	pass.Floats(s, "target_shift", &m.targetShift, t, pass.Finite)
	pass.Floats(s, "sum", &m.sum, d, pass.Finite)
	pass.Floats(s, "target_sum", &m.targetSum, t, pass.Finite)
	pass.Floats(s, "gram", &m.Gram, d*d, pass.Finite)
	pass.Floats(s, "cross", &m.cross, d*t, pass.Finite)
	pass.Floats(s, "squares", &m.squares, t, pass.Finite)
}

// State serializes moments with the given form.
func (m *Moments) State(s *model.State, centered bool, targets int) {
	m.state(s)
	s.Require(m.centered == centered && m.targets == targets, "the moments do not match")
}

// Rows returns the number of rows added.
func (m *Moments) Rows() int { return m.rows }

// Merge adds the moments of disjoint rows.
func (m *Moments) Merge(other *Moments) {
	if other.rows > 0 {
		m.merge(other)
	}
}

// Clone returns a deep copy.
func (m *Moments) Clone() *Moments {
	out := *m
	out.shift, out.targetShift = slices.Clone(m.shift), slices.Clone(m.targetShift)
	out.sum, out.targetSum = slices.Clone(m.sum), slices.Clone(m.targetSum)
	out.Gram, out.cross, out.squares = slices.Clone(m.Gram), slices.Clone(m.cross), slices.Clone(m.squares)
	return &out
}

// readMoments returns moments to deserialize into.
func readMoments(cols int) *Moments { return &Moments{Cols: cols} }

// state serializes a cols × cols factor.
func (f *Factor) state(s *model.State, cols int) {
	f.cols = cols
	fixed := make([]int, len(f.constant))
	for i, is := range f.constant {
		if is {
			fixed[i] = 1
		}
	}
	pass.Floats(s, "lower", &f.Lower, cols*cols, pass.Finite)
	s.Float("left", &f.contraction)
	pass.Ints(s, "fixed", &fixed, cols, 0)
	if s.Restoring() && s.Err() == nil {
		f.constant = make([]bool, cols)
		for i, v := range fixed {
			f.constant[i] = v != 0
		}
	}
}
