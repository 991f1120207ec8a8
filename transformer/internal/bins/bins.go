// Package bins maps rows to random binning features: the bins of random grids that they fall into. Inputs and
// outputs are numeric columns.
//
//	bin of x in a grid:  round((x_j − u_j)/δ_j), j = 1..d,   δ_j ~ p,  u_j ~ U[0, δ_j)
//
// with pitches δ from the measure of a kernel, so that two rows share a bin with probability k(x −
// y). If a grid uses a random set of a few inputs ([Subsets]), j ranges over their columns, and the
// probability is the mean of the kernels over all sets. An input is a column, or a group of
// columns.
//
// A [Map] is the grids with the columns of their bins. [Draw] draws the grids; [Map.Number] numbers
// the bins of counted rows ([Counts]), [Map.NumberRows] those of rows in memory, and returns their
// columns at once; [Map.Transform] maps rows. A bin is identified by a hash of its coordinates
// ([Map.hash], in tile.go); a dictionary of bins is a hash table (table.go). Bins of smooth kernels
// have weights (smooth.go).
//
// Sources: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007, algorithm 2; Kapralov,
// Nouri, Razenshteyn, Velingker and Zandieh, "Scaling up kernel ridge regression via locality sensitive hashing",
// AISTATS 2020, for weighted bins.
package bins

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Map is random grids over the inputs, with columns for their bins.
type Map struct {
	Grids       int       // P
	Hashed      int       // columns in all, 0 for exact ones
	Smooth      bool      // whether bins are weighted
	Gamma       []float64 // d
	Inputs      []int     // P×k, the ascending inputs of each grid; nil for all columns
	Group       []int     // d, the input that each column belongs to; nil where every column is one
	Base        []float64 // reciprocals of the pitches for γ = 1, one for each column of a grid
	Shift       []float64 // as many, in units of the pitch
	Multipliers []uint64  // d, of the hash
	First       []int     // column of each grid's first bin, and the number of columns at the end
	Limit       float64   // inputs up to which a bin can be numbered

	starts  []int     // P+1, first pitch of each grid
	columns []int     // the column of each pitch; nil if grids use all columns
	tables  []table   // a dictionary for each grid, for exact columns
	inverse []float64 // of each pitch, γ·Base
	origin  []uint64  // hash sum of the bin of zero in each grid
}

// Draw draws grids for a kernel with the given γ, over all columns or over random sets of inputs.
// If hashed > 0, bins have hashed columns, else none yet.
func Draw(ctx context.Context, k spectral.Kernel, seed uint64, gamma []float64, sets *Subsets, grids, hashed int) (Map,
	error) {
	d := len(gamma)
	m := Map{Grids: grids, Hashed: hashed, Smooth: k.Smooth, Gamma: gamma}
	var members [][]int
	var table *draws
	pitches, bytes := float64(d)*float64(grids), 24.0
	if sets != nil {
		m.Group, members = sets.Group, membersOf(sets.Group, len(sets.weights))
		pitches, bytes = sets.columns(members)*float64(grids), 32
	}
	if err := memory.Check(int64(min(bytes*pitches, math.MaxInt64/2))); err != nil {
		return m, fmt.Errorf("%.0f columns × %d grids: %w", pitches/float64(grids), grids, err)
	}
	m.Base, m.Shift = make([]float64, 0, int(pitches)), make([]float64, 0, int(pitches))
	if sets != nil {
		var err error
		if table, err = sets.draws(); err != nil {
			return m, err
		}
		m.Inputs = make([]int, grids*sets.Size())
	}
	rng := spectral.NewStream()
	for p := range grids {
		if err := ctxerr.Check(ctx); err != nil {
			return m, err
		}
		rng.At(seed, spectral.Grids, p)
		each := d
		if sets != nil {
			set := m.Inputs[p*sets.Size() : (p+1)*sets.Size()]
			table.set(rng.Rand, set)
			each = countOf(members, set)
		}
		for range each {
			inverse := k.Pitch(rng.Rand)
			if !spectral.Finite(inverse) || inverse < 0 {
				return m, fmt.Errorf("drawn pitch must be > 0, got %v for grid %d", 1/inverse, p)
			}
			m.Base, m.Shift = append(m.Base, inverse), append(m.Shift, rng.Float64())
		}
	}
	m.Multipliers = make([]uint64, d)
	rng.At(seed, spectral.Hash, 0)
	for j := range m.Multipliers {
		m.Multipliers[j] = rng.Uint64() | 1
	}
	return m, m.finish()
}

// finish derives the scaled grids and, for hashed columns, the first column of each grid.
func (m *Map) finish() error {
	if err := m.place(); err != nil {
		return err
	}
	largest := 0.0
	m.inverse, m.origin = make([]float64, len(m.Base)), make([]uint64, m.Grids)
	for p := range m.Grids {
		lo, hi := m.span(p)
		for k := lo; k < hi; k++ {
			j := m.column(k)
			v := m.Base[k] * m.Gamma[j]
			m.inverse[k] = v
			largest = max(largest, v)
			m.origin[p] += m.Multipliers[j] * bin(0, v, m.Shift[k])
		}
	}
	if !spectral.Finite(largest) {
		return errors.New("gamma divided by a pitch overflows")
	}
	m.Limit = (1 << 50) / max(largest, 0x1p-900)
	if m.Hashed > 0 {
		each := m.Hashed / m.Grids
		m.First = make([]int, m.Grids+1)
		for p := range m.Grids {
			m.First[p] = p * each
		}
		m.First[m.Grids] = m.Hashed
	}
	return nil
}

// bin returns the number of the bin of x in one dimension of a grid, plus a constant: x·inverse −
// shift, rounded by the addition of 1.5·2⁵², whose last binary digit has the value 1. Bins centered
// at integers are equivalent, because shifts are uniform. The conversion prevents fusing the
// product with the subtraction, which depends on the architecture.
func bin(x, inverse, shift float64) uint64 {
	const roundOff = 3 << 51
	return math.Float64bits(float64(x*inverse) - shift + roundOff)
}

// Place gives the bins of the dictionaries their columns, a grid after the other.
func (m *Map) Place(minCount int) error {
	m.First = make([]int, m.Grids+1)
	for p := range m.tables {
		m.First[p+1] = m.First[p] + m.tables[p].bins
	}
	switch width := m.First[m.Grids]; {
	case width == 0:
		return fmt.Errorf("no bin has min_count = %d rows; lower gamma or min_count", minCount)
	case int64(width) >= math.MaxUint32:
		return fmt.Errorf("%d bins are more than can be numbered; use fewer grids, a larger min_count or hashed columns",
			width)
	}
	return nil
}

// settleHash mixes the hash of a bin with the number of its grid. The result is not 0, which stands
// for an empty slot of a table.
func settleHash(sum uint64, grid int) uint64 {
	h := spectral.Scramble(sum + 0x9e3779b97f4a7c15*uint64(grid+1))
	if h == 0 {
		return 1
	}
	return h
}

// Width returns the number of columns.
func (m *Map) Width() int { return m.First[m.Grids] }

// FirstGrids returns the map of the first grids; its columns are the first columns of m. The number
// of hashed columns per grid is unchanged.
func (m *Map) FirstGrids(grids int) (Map, error) {
	out, end := *m, m.starts[grids]
	out.Grids, out.Base, out.Shift = grids, m.Base[:end], m.Shift[:end]
	if m.Inputs != nil {
		out.Inputs = m.Inputs[:len(m.Inputs)/m.Grids*grids]
	}
	if m.Hashed > 0 {
		out.Hashed = m.Hashed / m.Grids * grids
		return out, out.finish()
	}
	out.tables, out.First = m.tables[:grids], m.First[:grids+1]
	return out, nil
}

// Hashes returns the hashes of the bins with exact columns, in the order of the columns.
func (m *Map) Hashes() (list []uint64) {
	for p := range m.tables {
		list = append(list, m.tables[p].list()...)
	}
	return list
}

// Restore derives the rest of a map from its exported fields and the hashes of its bins, none of which is 0.
func (m *Map) Restore(hashes []uint64) error {
	if err := m.finish(); err != nil || m.Hashed > 0 {
		return err
	}
	m.tables = make([]table, m.Grids)
	for p := range m.tables {
		if !m.tables[p].of(hashes[m.First[p]:m.First[p+1]]) {
			return fmt.Errorf("the hashes of the bins of grid %d are not those of bins", p)
		}
	}
	return nil
}
