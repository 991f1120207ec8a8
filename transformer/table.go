package transformer

import (
	"math"
	"math/bits"
)

// table numbers the bins of one grid by their hashes, in order of appearance: open addressing with
// linear probing over hashes that are already mixed.
type table struct {
	hashes []uint64 // 0 where a slot is empty; a power of two of them
	number []uint32 // of the bin in that slot
	counts []uint32 // by number, while counting
	bins   int
}

// notThere is the number of a bin that a table does not have.
const notThere = math.MaxUint32

// slot returns where h is, or the empty slot where it would be. The table has an empty slot.
func (t *table) slot(h uint64) int {
	mask := len(t.hashes) - 1
	at := int(h>>1) & mask
	for t.hashes[at] != h && t.hashes[at] != 0 {
		at = (at + 1) & mask
	}
	return at
}

// find returns the number of the bin with hash h.
func (t *table) find(h uint64) uint32 {
	if t.bins == 0 {
		return notThere
	}
	at := t.slot(h)
	if t.hashes[at] == 0 {
		return notThere
	}
	return t.number[at]
}

// count adds one to the count of each hash, a new one included.
func (t *table) count(hashes []uint64) {
	for _, h := range hashes {
		if 4*(t.bins+1) > 3*len(t.hashes) {
			t.resize(max(64, 2*len(t.hashes)))
		}
		at := t.slot(h)
		if t.hashes[at] == 0 {
			t.hashes[at], t.number[at] = h, uint32(t.bins)
			t.counts = append(t.counts, 0)
			t.bins++
		}
		if n := &t.counts[t.number[at]]; *n < math.MaxUint32 {
			*n++
		}
	}
}

// resize moves the entries to a table of another size.
func (t *table) resize(slots int) {
	old := *t
	t.hashes, t.number = make([]uint64, slots), make([]uint32, slots)
	for k, h := range old.hashes {
		if h != 0 {
			at := t.slot(h)
			t.hashes[at], t.number[at] = h, old.number[k]
		}
	}
}

// settle ends counting: bins with fewer than least rows go, the others are numbered anew in the
// same order.
func (t *table) settle(least uint32) {
	kept := t.list(least)
	t.counts = nil
	if len(kept) < t.bins {
		t.of(kept)
	}
}

// list returns the hashes of the bins counted at least so often, all where nothing is counted, in
// the order of their numbers.
func (t *table) list(least uint32) []uint64 {
	kept := make([]uint64, t.bins)
	for k, h := range t.hashes {
		if h != 0 && (t.counts == nil || t.counts[t.number[k]] >= least) {
			kept[t.number[k]] = h
		}
	}
	end := 0
	for _, h := range kept {
		if h != 0 {
			kept[end] = h
			end++
		}
	}
	return kept[:end]
}

// of makes t the table of the hashes, none of which is 0, numbered in this order.
func (t *table) of(hashes []uint64) {
	*t = table{}
	if len(hashes) == 0 {
		return
	}
	t.resize(1 << bits.Len(uint(len(hashes)+len(hashes)/2)))
	for k, h := range hashes {
		at := t.slot(h)
		t.hashes[at], t.number[at] = h, uint32(k)
	}
	t.bins = len(hashes)
}
