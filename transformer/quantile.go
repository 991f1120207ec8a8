package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// columnQuantiles returns, for every column, the exact quantiles of its values (missing ones left
// out) at the probabilities, interpolated linearly between order statistics as numpy does:
// probability p of n values is at position p·(n−1) of the sorted column.
//
// The order statistics are found by radix selection over the bits of the numbers, [digitBits] of
// them in a pass over src, so that memory depends on the number of columns alone; where it would
// exceed selectionMemory, groups of columns take turns.
func columnQuantiles(ctx context.Context, step string, src datasets.Source, probabilities []float64) ([][]float64, error) {
	_, width := src.Dims()
	count, err := countValues(ctx, step, src)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, 0, width)
	group := max(1, selectionMemory/(16<<digitBits*len(probabilities)))
	for lo := 0; lo < width; lo += group {
		hi := min(lo+group, width)
		values, err := quantilesOf(ctx, step, src, lo, count[lo:hi], probabilities)
		if err != nil {
			return nil, err
		}
		out = append(out, values...)
	}
	return out, nil
}

const (
	digitBits       = 12 // sign and exponent, then 12 bits of the fraction at a time
	selectionMemory = 1 << 26
	fewValues       = 1 << 10 // so many are kept and sorted
)

// quantilesOf is columnQuantiles of the columns from lo on, which have count values.
func quantilesOf(ctx context.Context, step string, src datasets.Source, lo int, count []float64, probabilities []float64) ([][]float64, error) {
	hi := lo + len(count)
	searches := make([][]*search, len(count))
	for j, n := range count {
		for _, p := range probabilities {
			low := uint64(p * (n - 1))
			searches[j] = append(searches[j], newSearch(low), newSearch(min(low+1, uint64(n)-1)))
		}
	}
	for open := true; open; {
		_, err := fold(ctx, step, src, true, func(_ int, X mat.Matrix) error {
			eachEntry(X, func(j int, v, times float64) {
				if j < lo || j >= hi {
					return
				}
				k := sortable(v)
				for _, s := range searches[j-lo] {
					s.add(k, uint64(times))
				}
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
		open = false
		for _, list := range searches {
			for _, s := range list {
				s.narrow()
				open = open || !s.done
			}
		}
	}
	out := make([][]float64, len(count))
	for j := range out {
		for i, p := range probabilities {
			at := p * (count[j] - 1)
			out[j] = append(out[j], between(searches[j][2*i].value(), searches[j][2*i+1].value(), at-math.Floor(at)))
		}
	}
	return out, nil
}

// countValues returns the number of values in every column, an error where there is none.
func countValues(ctx context.Context, step string, src datasets.Source) ([]float64, error) {
	_, width := src.Dims()
	count := make([]float64, width)
	_, err := fold(ctx, step, src, true, func(_ int, X mat.Matrix) error {
		eachEntry(X, func(j int, v, times float64) { count[j] += times })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return count, checkCounts(step, count, src.Schema())
}

// between interpolates from a to b ≥ a.
func between(a, b, t float64) float64 {
	switch gap := b - a; {
	case gap == 0:
		return a
	case math.IsInf(gap, 0):
		return a*(1-t) + b*t
	case t < 0.5:
		return a + gap*t
	default:
		return b - gap*(1-t)
	}
}

// search looks for the number of a given rank in a multiset of sortable keys. It knows the leading
// bits of the answer and counts, in one pass over the keys, those that share them by their next
// digit; few keys are kept instead.
type search struct {
	rank      uint64 // among the keys that share the known bits
	key       uint64 // the known bits, zeros below
	known     int    // how many there are
	counts    []uint64
	keep      bool
	kept      []uint64
	low, high uint64 // of the keys met in this pass
	done      bool
}

func newSearch(rank uint64) *search {
	return &search{rank: rank, counts: make([]uint64, 1<<digitBits), low: math.MaxUint64}
}

func (s *search) add(key, times uint64) {
	if s.done || s.known > 0 && (key^s.key)>>(64-s.known) != 0 {
		return
	}
	if s.keep {
		for range times {
			s.kept = append(s.kept, key)
		}
		return
	}
	s.low, s.high = min(s.low, key), max(s.high, key)
	s.counts[key<<s.known>>(64-digitBits)] += times
}

// narrow ends a pass.
func (s *search) narrow() {
	switch {
	case s.done:
		return
	case s.keep:
		slices.Sort(s.kept)
		s.key, s.done = s.kept[s.rank], true
		s.kept = nil
		return
	case s.low == s.high:
		s.key, s.done = s.low, true
		return
	}
	digit := uint64(0)
	for s.rank >= s.counts[digit] {
		s.rank -= s.counts[digit]
		digit++
	}
	s.keep = s.counts[digit] <= fewValues
	s.key |= digit << (64 - digitBits) >> s.known
	s.known += digitBits
	if s.known >= 64 {
		s.known, s.done = 64, true
	}
	clear(s.counts)
	s.low, s.high = math.MaxUint64, 0
}

func (s *search) value() float64 { return fromSortable(s.key) }

// sortable maps a number to a key such that keys are ordered as the numbers are.
func sortable(v float64) uint64 {
	b := math.Float64bits(v + 0) // −0 is 0
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func fromSortable(k uint64) float64 {
	if k>>63 == 1 {
		return math.Float64frombits(k &^ (1 << 63))
	}
	return math.Float64frombits(^k)
}
