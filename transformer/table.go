package transformer

import (
	"math"
	"math/bits"
)

// table holds the bins of one grid by their hashes, with their counts while it is made and their
// numbers once it is settled: open addressing with linear probing, a bin's place given by the
// leading bits of its hash, which is already mixed. Twelve bytes for an entry, so that a look-up
// mostly meets one cache line.
type table struct {
	entries []entry // a power of two of them, with empty ones among them; none where bins is 0
	shift   int     // of a hash to its place
	bins    int
}

// entry is a bin; its hash is 0 where there is none.
type entry struct{ high, low, value uint32 }

func (e *entry) hash() uint64 { return uint64(e.high)<<32 | uint64(e.low) }

func newEntry(hash uint64, value uint32) entry {
	return entry{uint32(hash >> 32), uint32(hash), value}
}

// notThere is the number of a bin that a table does not have.
const notThere = math.MaxUint32

// slot returns where h is, or the empty slot where it would be.
func (t *table) slot(h uint64) *entry {
	mask := len(t.entries) - 1
	for at := int(h >> t.shift); ; at++ {
		if e := &t.entries[at&mask]; e.hash() == h || e.hash() == 0 {
			return e
		}
	}
}

// touch loads the places of the hashes, which lie anywhere in memory. The loads do not wait for each
// other, as those of look-ups one by one do; the look-ups that follow find all in the cache.
//
//go:noinline
func (t *table) touch(hashes []uint64) (all uint32) {
	for _, h := range hashes {
		all |= t.entries[h>>t.shift].low
	}
	return all
}

// find replaces every hash by the number of its bin.
func (t *table) find(hashes []uint64) {
	if t.bins == 0 {
		for i := range hashes {
			hashes[i] = notThere
		}
		return
	}
	t.touch(hashes)
	for i, h := range hashes {
		hashes[i] = notThere
		if e := t.slot(h); e.hash() != 0 {
			hashes[i] = uint64(e.value)
		}
	}
}

// count adds one to the count of each hash, a new one included.
func (t *table) count(hashes []uint64) {
	for 4*(t.bins+len(hashes)) > 3*len(t.entries) {
		t.resize(max(64, 2*len(t.entries)))
	}
	t.touch(hashes)
	for _, h := range hashes {
		e := t.slot(h)
		if e.hash() == 0 {
			*e = newEntry(h, 0)
			t.bins++
		}
		if e.value < math.MaxUint32 {
			e.value++
		}
	}
}

// resize moves the entries to a table of another size, a power of two.
func (t *table) resize(slots int) {
	old := t.entries
	t.entries, t.shift = make([]entry, slots), 64-bits.TrailingZeros(uint(slots))
	for k := range old {
		if h := old[k].hash(); h != 0 {
			*t.slot(h) = old[k]
		}
	}
}

// settle ends counting: bins with fewer than least rows go. The others are numbered by the size of
// their counts, those of 2^k rows and more before those of fewer, and within a size in the order of
// their hashes, whatever the order of rows was. So the few bins that most rows fall into are next to
// each other, and so are their weights in a linear model, which then stay in the cache.
func (t *table) settle(least uint32) {
	const sizes = 33
	var first [sizes + 1]int
	size := func(e *entry) int { return sizes - bits.Len32(e.value) }
	for k := range t.entries {
		if e := &t.entries[k]; e.hash() != 0 && e.value >= least {
			first[size(e)]++
		}
	}
	total := 0
	for s, n := range first {
		first[s] = total
		total += n
	}
	kept, next := make([]uint64, total), first
	mask, start := len(t.entries)-1, 0
	for t.entries[start].hash() != 0 {
		start++ // entries before the first gap may belong to the end
	}
	for k := range t.entries {
		e := &t.entries[(start+k)&mask]
		h := e.hash()
		if h == 0 || e.value < least {
			continue
		}
		// A hash is at most a few places from where the order of hashes has it.
		s := size(e)
		at := next[s]
		next[s]++
		for ; at > first[s] && kept[at-1] > h; at-- {
			kept[at] = kept[at-1]
		}
		kept[at] = h
	}
	t.of(kept)
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

// of makes t the settled table of the hashes, none of which is 0, numbered in this order.
func (t *table) of(hashes []uint64) {
	*t = table{}
	if len(hashes) == 0 {
		return
	}
	t.resize(max(2, 1<<bits.Len(uint(len(hashes)+len(hashes)/3))))
	for k, h := range hashes {
		*t.slot(h) = newEntry(h, uint32(k))
	}
	t.bins = len(hashes)
}
