package bins

import (
	"math"
	"math/bits"
)

// table stores the bins of one grid by their hashes: open addressing with linear probing, indexed
// by the leading bits of the already mixed hash. An entry has twelve bytes, so most lookups touch
// one cache line. While counting, bins are numbered in order of appearance.
type table struct {
	entries []entry // with empty ones among them; none where bins is 0
	bins    int
	counts  []uint32 // rows in each bin, while it counts
}

// entry is a bin; hash 0 means empty.
type entry struct{ high, low, value uint32 }

func (e *entry) hash() uint64 { return uint64(e.high)<<32 | uint64(e.low) }

func newEntry(hash uint64, value uint32) entry {
	return entry{uint32(hash >> 32), uint32(hash), value}
}

// missingBin is the number of a bin that is missing in a table.
const missingBin = math.MaxUint32

// slot returns the entry with hash h, or an empty slot for it.
func (t *table) slot(h uint64) *entry {
	entries := t.entries
	place, _ := bits.Mul64(h, uint64(len(entries)))
	for at := int(place); at < len(entries); at++ {
		if e := &entries[at]; e.hash() == h || e.hash() == 0 {
			return e
		}
	}
	for at := 0; ; at++ {
		if e := &entries[at]; e.hash() == h || e.hash() == 0 {
			return e
		}
	}
}

// touch loads the entries of the hashes, which are scattered in memory. These independent loads
// overlap, unlike those of sequential lookups, which then hit the cache.
//
//go:noinline
func (t *table) touch(hashes []uint64) (all uint32) {
	for _, h := range hashes {
		place, _ := bits.Mul64(h, uint64(len(t.entries)))
		all |= t.entries[place].low
	}
	return all
}

// find replaces every hash by the number of its bin.
func (t *table) find(hashes []uint64) {
	if t.bins == 0 {
		for i := range hashes {
			hashes[i] = missingBin
		}
		return
	}
	t.touch(hashes)
	for i, h := range hashes {
		hashes[i] = missingBin
		if e := t.slot(h); e.hash() != 0 {
			hashes[i] = uint64(e.value)
		}
	}
}

// reset clears t for other bins.
func (t *table) reset() {
	clear(t.entries)
	t.bins, t.counts = 0, t.counts[:0]
}

// count adds one to the count of each hash, a new one included, and replaces it by its number.
func (t *table) count(hashes []uint64) {
	for 4*(t.bins+len(hashes)) > 3*len(t.entries) {
		t.resize(max(64, 2*len(t.entries)))
	}
	t.touch(hashes)
	for i, h := range hashes {
		e := t.slot(h)
		if e.hash() == 0 {
			*e = newEntry(h, uint32(t.bins))
			t.bins++
			t.counts = append(t.counts, 0)
		}
		if n := &t.counts[e.value]; *n < math.MaxUint32 {
			*n++
		}
		hashes[i] = uint64(e.value)
	}
}

// resize moves the entries to a table of another size.
func (t *table) resize(slots int) {
	old := t.entries
	t.entries = make([]entry, slots)
	for k := range old {
		if h := old[k].hash(); h != 0 {
			*t.slot(h) = old[k]
		}
	}
}

// settle returns the table of the bins with at least the given number of rows, and the new number
// of each bin of t. Bins are ordered by the power of two of their counts, descending, and then by
// hash, independently of the order of rows. Frequent bins are adjacent, and so are their weights in
// a linear model, which improves cache use.
func (t *table) settle(least uint32) (settled table, numbers []uint32) {
	const sizes = 33
	var first [sizes + 1]int
	size := func(count uint32) int { return sizes - bits.Len32(count) }
	for _, n := range t.counts {
		if n >= least {
			first[size(n)]++
		}
	}
	total := 0
	for s, n := range first {
		first[s] = total
		total += n
	}
	kept, next, start := make([]entry, total), first, 0
	for start < len(t.entries) && t.entries[start].hash() != 0 {
		start++ // entries before the first gap may belong to the end
	}
	for k := range t.entries {
		at := start + k
		if at >= len(t.entries) {
			at -= len(t.entries)
		}
		e := t.entries[at]
		h := e.hash()
		if h == 0 || t.counts[e.value] < least {
			continue
		}
		// A hash is at most a few places from its position in sorted order.
		s := size(t.counts[e.value])
		to := next[s]
		next[s]++
		for ; to > first[s] && kept[to-1].hash() > h; to-- {
			kept[to] = kept[to-1]
		}
		kept[to] = e
	}
	numbers = make([]uint32, len(t.counts))
	for i := range numbers {
		numbers[i] = missingBin
	}
	settled.reserve(total)
	for k := range kept {
		numbers[kept[k].value] = uint32(k)
		h := kept[k].hash()
		*settled.slot(h) = newEntry(h, uint32(k))
	}
	return settled, numbers
}

// reserve makes t an empty table with capacity for the given number of bins.
func (t *table) reserve(bins int) {
	*t = table{bins: bins}
	if bins > 0 {
		t.resize(bins + 2*bins/3 + 1)
	}
}

// list returns the hashes of a settled table in the order of their numbers.
func (t *table) list() []uint64 {
	hashes := make([]uint64, t.bins)
	for k := range t.entries {
		if e := &t.entries[k]; e.hash() != 0 {
			hashes[e.value] = e.hash()
		}
	}
	return hashes
}

// of makes t the settled table of the hashes, none of which is 0, numbered in this order. It reports
// whether they are ones that bins have: all different, and spread well enough to be found at once.
// Hashes that were made to crowd would make every look-up long.
func (t *table) of(hashes []uint64) bool {
	const farthest = 1 << 10 // far above the distances in a table of 2³² bins with random hashes
	t.reserve(len(hashes))
	for k, h := range hashes {
		e := t.slotWithin(h, farthest)
		if e == nil || e.hash() != 0 {
			return false
		}
		*e = newEntry(h, uint32(k))
	}
	return true
}

// slotWithin is slot, or nil if the displacement exceeds a limit.
func (t *table) slotWithin(h uint64, farthest int) *entry {
	place, _ := bits.Mul64(h, uint64(len(t.entries)))
	for at := range min(farthest, len(t.entries)) {
		e := &t.entries[(int(place)+at)%len(t.entries)]
		if e.hash() == h || e.hash() == 0 {
			return e
		}
	}
	return nil
}
