package transformer

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/model"
)

// selection finds the numbers of given ranks in a multiset, in several passes over it. Numbers are
// represented by [sortable] keys.
//
// The first pass stores keys up to a limit. Beyond the limit, it divides the range of keys into
// cells and counts the keys of each cell. Each later pass reads only spans of keys that contain a
// requested rank: it stores their keys if they fit, else divides the spans into cells, with more cells
// for larger spans. A rank is found once its cell contains a single distinct key, or once the keys
// are stored.
//
// Munro and Paterson, "Selection and sorting with limited storage", 1980, describe the algorithm
// for one rank.
type selection struct {
	buf     buf
	count   uint64    // number of keys, 0 in the first pass
	values  []float64 // value of each rank, NaN until it is found; empty in the first pass
	spans   []span    // spans with the remaining ranks, ascending
	within  uint64    // number of keys in the spans, 0 in the first pass
	keeping bool
	kept    []uint64 // keys in the spans, if keeping
	cells   []cell   // counts of the keys in the spans, if not keeping
}

// buf contains the memory limits of a selection.
type buf struct {
	cells int // maximum number of cells, except for two per span
	kept  int // maximum number of stored keys
}

// span is the range of keys from low to high, both included.
type span struct {
	low, high uint64
	before    uint64 // number of keys below low
	count     uint64 // number of keys in the span, 0 in the first pass
	first     int    // first cell; each cell covers 1<<shift keys
	shift     int
}

// cell contains the number of keys met in a part of a span, and the smallest and largest of them.
type cell struct{ count, low, high uint64 }

const (
	spanBytes = 48
	cellBytes = 24
)

// newSelection returns a selection before its first pass, with the given limits.
func newSelection(r buf) *selection {
	return &selection{buf: r, spans: []span{{high: math.MaxUint64}}, keeping: true}
}

// counting reports whether this is the first pass.
func (s *selection) counting() bool { return s.count == 0 }

// done reports whether every rank is found.
func (s *selection) done() bool { return !s.counting() && len(s.spans) == 0 }

// add adds a key with multiplicity times.
func (s *selection) add(key, times uint64) {
	at, end := 0, len(s.spans)
	for at < end {
		if middle := (at + end) / 2; s.spans[middle].high < key {
			at = middle + 1
		} else {
			end = middle
		}
	}
	if at == len(s.spans) || s.spans[at].low > key {
		return
	}
	if s.keeping {
		if s.store(key, times) {
			return
		}
		s.spill()
	}
	p := &s.spans[at]
	s.cells[p.first+int((key-p.low)>>p.shift)].add(cell{times, key, key})
}

// store stores a key. It returns false if the limit is exceeded in the first pass. Later passes know
// the number of keys and store at most one more, which reveals that the rows have changed.
func (s *selection) store(key, times uint64) bool {
	limit := s.maxKept()
	if s.counting() && times > limit-uint64(len(s.kept)) {
		return false
	}
	for range min(times, limit+1-uint64(len(s.kept))) {
		s.kept = append(s.kept, key)
	}
	return true
}

// maxKept returns the maximum number of stored keys.
func (s *selection) maxKept() uint64 {
	if s.counting() {
		return uint64(s.buf.kept)
	}
	return s.within
}

// setSpans sets spans and within.
func (s *selection) setSpans(spans []span) {
	s.spans, s.within = spans, 0
	for _, p := range spans {
		s.within += p.count
	}
}

// spill replaces the stored keys by counts.
func (s *selection) spill() {
	kept := s.kept
	s.keeping, s.kept = false, nil
	s.divide()
	for _, key := range kept {
		s.add(key, 1)
	}
}

// divide assigns cells to the spans: half of them in proportion to the numbers of keys, half
// equally.
func (s *selection) divide() {
	total, end := float64(max(1, s.within)), 0
	for k := range s.spans {
		p := &s.spans[k]
		cells := 2 + s.buf.cells/2/len(s.spans) + int(float64(s.buf.cells/2)*float64(p.count)/total)
		p.first, p.shift = end, max(0, bits.Len64(p.high-p.low)-bits.Len(uint(cells))+1)
		end += int((p.high-p.low)>>p.shift) + 1
	}
	s.cells = make([]cell, end)
}

func (c *cell) add(o cell) {
	if c.count == 0 {
		c.low, c.high = o.low, o.high
	}
	c.low, c.high = min(c.low, o.low), max(c.high, o.high)
	c.count += o.count
}

// compatible reports whether two selections search the same spans.
func (s *selection) compatible(o *selection) bool {
	same := func(a, b span) bool {
		return a.low == b.low && a.high == b.high && a.before == b.before && a.count == b.count
	}
	return s.count == o.count && slices.EqualFunc(s.spans, o.spans, same) && (s.counting() || s.keeping == o.keeping)
}

// merge adds the keys of another part of the rows.
func (s *selection) merge(o *selection) {
	if o.keeping {
		for _, key := range o.kept {
			s.add(key, 1)
		}
		return
	}
	if s.keeping {
		s.spill()
	}
	for k, c := range o.cells {
		if c.count > 0 {
			s.cells[k].add(c)
		}
	}
}

// total returns the number of keys. In the first pass, it counts the keys so far.
func (s *selection) total() uint64 {
	if !s.counting() {
		return s.count
	}
	return s.seen()
}

// seen returns the number of keys met in the spans in this pass.
func (s *selection) seen() uint64 {
	n := uint64(len(s.kept))
	for _, c := range s.cells {
		n += c.count
	}
	return n
}

// next returns the selection for the next pass, or a finished one. count is the number of keys;
// ranks ascend.
func (s *selection) next(count uint64, ranks []uint64) (*selection, error) {
	n := &selection{buf: s.buf, count: count, values: slices.Clone(s.values)}
	if s.counting() {
		n.values = slices.Repeat([]float64{math.NaN()}, len(ranks))
	}
	cells := s.cells
	if s.keeping {
		cells = asCells(s.kept)
	}
	from := 0
	for _, p := range s.spans {
		if s.counting() {
			p.count = count
		}
		end := from + int((p.high-p.low)>>p.shift) + 1
		if s.keeping {
			end = from + sort.Search(len(cells)-from, func(k int) bool { return cells[from+k].low > p.high })
		}
		if !n.narrow(p, cells[from:end], ranks) {
			return nil, errOtherRows
		}
		from = end
	}
	for _, v := range n.values {
		if v != v && len(n.spans) == 0 {
			return nil, errOtherRows
		}
	}
	n.setSpans(n.spans)
	if n.keeping = n.within <= uint64(n.buf.kept); !n.keeping {
		n.divide()
	}
	return n, nil
}

// asCells returns one cell per key, sorted.
func asCells(keys []uint64) []cell {
	cells, sorted := make([]cell, len(keys)), slices.Clone(keys)
	slices.Sort(sorted)
	for k, key := range sorted {
		cells[k] = cell{1, key, key}
	}
	return cells
}

// narrow finds the ranks within span p by its cells and appends spans for those that stay open. It
// returns false if the cells contain another number of keys than p.
func (n *selection) narrow(p span, cells []cell, ranks []uint64) bool {
	before := p.before
	r := sort.Search(len(ranks), func(k int) bool { return ranks[k] >= before })
	for _, c := range cells {
		want := false
		for ; r < len(ranks) && ranks[r] < before+c.count; r++ {
			if c.low == c.high {
				n.values[r] = fromSortable(c.low)
			} else {
				want = true
			}
		}
		if want {
			n.spans = append(n.spans, span{low: c.low, high: c.high, before: before, count: c.count})
		}
		before += c.count
	}
	return before-p.before == p.count
}

// stateOfSelections serializes selections field by field. It restores into selections before their
// first pass.
func stateOfSelections(s *model.State, list []*selection, probabilities []float64) {
	var low, high, before, count, total, kept, cells []uint64
	var keeping, spans, lengths, valueCounts []int
	var values []float64
	for _, f := range list {
		total, valueCounts, values = append(total, f.count), append(valueCounts, len(f.values)), append(values, f.values...)
		spans, lengths, kept = append(spans, len(f.spans)), append(lengths, len(f.kept)), append(kept, f.kept...)
		keeping = append(keeping, map[bool]int{true: 1}[f.keeping])
		for _, p := range f.spans {
			low, high, before, count = append(low, p.low), append(high, p.high), append(before, p.before), append(count, p.count)
		}
		for _, c := range f.cells {
			cells = append(cells, c.count, c.low, c.high)
		}
	}
	for name, p := range map[string]*[]uint64{"low": &low, "high": &high, "before": &before, "count": &count,
		"total": &total, "kept": &kept, "cells": &cells} {
		s.Uint64s(name, p)
	}
	for name, p := range map[string]*[]int{"keeping": &keeping, "spans": &spans, "kept_lengths": &lengths,
		"values_lengths": &valueCounts} {
		pass.Ints(s, name, p, len(list), 0)
	}
	s.Floats("values", &values)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(len(total) == len(list) && len(high) == len(low) && len(before) == len(low) && len(count) == len(low),
		"the selections differ in length")
	for k, f := range list {
		if s.Err() != nil {
			return
		}
		s.Require(spans[k] <= len(low) && lengths[k] <= len(kept) && valueCounts[k] <= len(values) && total[k] <= 1<<53,
			"a selection has fewer numbers than its count")
		if s.Err() != nil {
			return
		}
		f.count, f.keeping = total[k], keeping[k] == 1
		restored := make([]span, spans[k])
		for i := range restored {
			restored[i] = span{low: low[i], high: high[i], before: before[i], count: count[i]}
		}
		f.setSpans(restored)
		low, high, before, count = low[spans[k]:], high[spans[k]:], before[spans[k]:], count[spans[k]:]
		f.kept, kept = slices.Clone(kept[:lengths[k]]), kept[lengths[k]:]
		f.values, values = slices.Clone(values[:valueCounts[k]]), values[valueCounts[k]:]
		if f.check(s, len(ranksOf(probabilities, f.count))); s.Err() == nil && !f.keeping {
			f.divide()
			cells = f.readCells(s, cells)
		}
	}
	s.Require(len(low) == 0 && len(kept) == 0 && len(values) == 0 && len(cells) == 0,
		"the selections have numbers too many")
}

// check validates a deserialized selection for a number of ranks.
func (s *selection) check(state *model.State, ranks int) {
	if s.counting() {
		state.Require(len(s.spans) == 1 && s.spans[0] == span{high: math.MaxUint64} && len(s.values) == 0,
			"a selection does not begin with all keys")
	} else {
		state.Require(len(s.values) == ranks && len(s.spans) <= ranks, "a selection is not for its ranks")
	}
	end := uint64(0)
	for k, p := range s.spans {
		state.Require(p.low < p.high && (k == 0 || p.low > s.spans[k-1].high), "the spans of a selection do not ascend")
		state.Require(p.before >= end && p.before <= s.count && p.count <= s.count-p.before && (p.count > 0 || s.counting()),
			"a span has more numbers than there are")
		end = p.before + p.count
	}
	state.Require(uint64(len(s.kept)) <= s.maxKept()+1 && (s.keeping || len(s.kept) == 0),
		"more values would be kept than are few")
}

// readCells restores the cells of a selection from the front of list, and returns the rest of list.
func (s *selection) readCells(state *model.State, list []uint64) []uint64 {
	if len(list) < 3*len(s.cells) {
		state.Fail("the cells of a selection do not fit")
		return nil
	}
	for k := range s.cells {
		s.cells[k] = cell{list[3*k], list[3*k+1], list[3*k+2]}
		state.Require(s.cells[k].count <= 1<<53 && s.cells[k].low <= s.cells[k].high, "a cell of a selection is not one")
	}
	return list[3*len(s.cells):]
}

// sortable maps a number to a key with the same order.
func sortable(v float64) uint64 {
	b := math.Float64bits(v + 0) // maps −0 to 0
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
