package profile

import (
	"math"
	"math/bits"
	"sync"
)

// countRuns contains counts of values in ascending order: count[i] values in [low[i], high[i]].
// Values are represented by [orderedBits].
type countRuns struct {
	low, high []uint64
	count     []int
}

// sketch counts values by their leading bits: all bits for few distinct values, else the number of
// bits that keeps the counts below the limit. The number of bits depends on the set of values only,
// so the result does not depend on their order or partition.
type sketch struct {
	countRuns
	maxCounts   int
	droppedBits uint // number of ignored trailing bits
	pending     []uint64
}

// sortBlock is the number of values per sort.
const sortBlock = 8192

func (s *sketch) add(v float64) {
	if s.pending = append(s.pending, orderedBits(v)); len(s.pending) >= sortBlock {
		s.flush()
	}
}

// orderedBits maps floats to integers of the same order.
func orderedBits(v float64) uint64 {
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// fromOrderedBits is the inverse of orderedBits.
func fromOrderedBits(ordered uint64) float64 {
	return math.Float64frombits(ordered ^ (^uint64(int64(ordered)>>63) | 1<<63))
}

// flush counts the pending values.
func (s *sketch) flush() {
	if len(s.pending) == 0 {
		return
	}
	fresh := getRuns()
	fresh.low = append(fresh.low, s.pending...) // scratch space
	sortBits(s.pending, fresh.low)
	fresh.low = fresh.low[:0]
	for _, v := range s.pending {
		fresh.push(v, v, 1, s.droppedBits)
	}
	s.pending = s.pending[:0]
	s.absorb(*fresh)
	putRuns(fresh)
}

// sortBits sorts a list by radix sort; scratch must have the same length.
func sortBits(list, scratch []uint64) {
	var places [8][256]int32
	for _, v := range list {
		for k := range places {
			places[k][byte(v>>(8*k))]++
		}
	}
	from, to := list, scratch
	for k := range places {
		c := &places[k]
		if int(c[byte(from[0]>>(8*k))]) == len(from) {
			continue // all bytes are equal
		}
		at := int32(0)
		for b, n := range c {
			c[b], at = at, at+n
		}
		for _, v := range from {
			b := byte(v >> (8 * k))
			to[c[b]] = v
			c[b]++
		}
		from, to = to, from
	}
	copy(list, from)
}

// merge adds the counts of o.
func (s *sketch) merge(o *sketch) {
	s.flush()
	o.flush()
	s.droppedBits = max(s.droppedBits, o.droppedBits)
	s.absorb(o.countRuns)
}

// push appends values in ascending order; values with equal leading bits are added to the last
// count.
func (r *countRuns) push(low, high uint64, count int, drop uint) {
	if n := len(r.low) - 1; n >= 0 && r.low[n]>>drop == low>>drop {
		r.high[n] = max(r.high[n], high)
		r.count[n] += count
		return
	}
	r.low, r.high, r.count = append(r.low, low), append(r.high, high), append(r.count, count)
}

// absorb adds other counts and drops bits until the limit holds.
func (s *sketch) absorb(o countRuns) {
	all := getRuns()
	i, j := 0, 0
	for i < len(s.low) || j < len(o.low) {
		if j == len(o.low) || i < len(s.low) && s.low[i] <= o.low[j] {
			all.push(s.low[i], s.high[i], s.count[i], s.droppedBits)
			i++
		} else {
			all.push(o.low[j], o.high[j], o.count[j], s.droppedBits)
			j++
		}
	}
	if len(all.low) > s.maxCounts {
		s.droppedBits = all.bitsToDrop(s.maxCounts)
		all.dropBits(s.droppedBits)
	}
	s.low, s.high, s.count = append(s.low[:0], all.low...), append(s.high[:0], all.high...),
		append(s.count[:0], all.count...)
	putRuns(all)
}

// bitsToDrop returns the number of bits to drop for at most max counts.
func (r *countRuns) bitsToDrop(max int) uint {
	var merged [65]int // counts that merge with their predecessor if that many bits are dropped
	for i := 1; i < len(r.low); i++ {
		merged[bits.Len64(r.low[i]^r.low[i-1])]++
	}
	left, drop := len(r.low), uint(0)
	for left > max && drop < 63 {
		drop++
		left -= merged[drop]
	}
	return drop
}

// dropBits merges counts whose remaining bits are equal.
func (r *countRuns) dropBits(drop uint) {
	all := *r
	*r = countRuns{all.low[:0], all.high[:0], all.count[:0]}
	for i, low := range all.low {
		r.push(low, all.high[i], all.count[i], drop)
	}
}

// isValid reports whether the counts are ascending and finite.
func (s *sketch) isValid() bool {
	for i, low := range s.low {
		if v := fromOrderedBits(low); v-v != 0 || s.high[i] < low || s.high[i]>>s.droppedBits != low>>s.droppedBits ||
			i > 0 && low>>s.droppedBits <= s.low[i-1]>>s.droppedBits {
			return false
		}
	}
	return len(s.low) <= s.maxCounts && len(s.low) == len(s.high) && len(s.low) == len(s.count)
}

// mergedCounts contains counts of values in ascending order: count[i] values in [low[i], high[i]].
type mergedCounts struct {
	low, high []float64
	count     []int
}

// withZeros returns all counts, including n zeros, which the sketch does not count.
func (s *sketch) withZeros(n int) (out mergedCounts) {
	s.flush()
	zero := func() {
		out.low, out.high, out.count = append(out.low, 0), append(out.high, 0), append(out.count, n)
	}
	for i, c := range s.count {
		low := fromOrderedBits(s.low[i])
		if low > 0 && n > 0 && (i == 0 || fromOrderedBits(s.low[i-1]) < 0) {
			zero()
		}
		out.low, out.high, out.count = append(out.low, low), append(out.high, fromOrderedBits(s.high[i])),
			append(out.count, c)
	}
	if k := len(s.low); n > 0 && (k == 0 || fromOrderedBits(s.low[k-1]) < 0) {
		zero()
	}
	return out
}

// quantile returns the p-quantile of n values by linear interpolation.
func (r mergedCounts) quantile(p float64, n int) float64 {
	at := p * float64(n-1)
	k := min(int(at), n-1)
	a, b := r.nth(k), r.nth(min(k+1, n-1))
	t := at - float64(k)
	if d := b - a; !math.IsInf(d, 0) {
		return a + t*d
	}
	return (1-t)*a + t*b
}

// nth returns the k-th smallest value; merged values are assumed to be evenly spaced.
func (r mergedCounts) nth(k int) float64 {
	for i, c := range r.count {
		if k >= c {
			k -= c
			continue
		}
		if k == 0 || r.low[i] == r.high[i] {
			return r.low[i]
		}
		return min(r.low[i]+(r.high[i]-r.low[i])*(float64(k)/float64(c-1)), r.high[i])
	}
	return r.high[len(r.high)-1]
}

// bins divides n values into about ten bins of equal counts without dividing a count. A value with
// at least a tenth of the rows has its own bin.
func (r mergedCounts) bins(n int) (cuts []float64, rows []int) {
	seen, binRows := 0, 0 // values before the current bin, and in it
	end := func(i int) { cuts, rows, binRows = append(cuts, r.high[i]), append(rows, binRows), 0 }
	for i, c := range r.count {
		if binRows > 0 && 10*c >= n {
			end(i - 1)
		}
		before := seen
		seen, binRows = seen+c, binRows+c
		if 10*c >= n || 10*seen/n > 10*before/n {
			end(i)
		}
	}
	return cuts[:len(cuts)-1], rows
}

// runsPool recycles buffers.
var runsPool = sync.Pool{New: func() any { return new(countRuns) }}

func getRuns() *countRuns {
	r := runsPool.Get().(*countRuns)
	*r = countRuns{r.low[:0], r.high[:0], r.count[:0]}
	return r
}

func putRuns(r *countRuns) { runsPool.Put(r) }
