package profile

import (
	"math"
	"math/bits"
	"sync"
)

// runs are counts of numbers in ascending order: count[i] of them, from low[i] to high[i]. Numbers are their bits in an
// order of integers, as [ordered] has them.
type runs struct {
	low, high []uint64
	count     []int
}

// sketch counts numbers whose leading bits agree together: all bits where there are few different numbers, as many
// as make at most most counts where there are more. Bits are dropped only where all numbers seen would need more
// counts, so that neither the order of the numbers nor their division into parts makes a difference.
type sketch struct {
	runs
	most    int
	drop    uint // bits that are not looked at
	pending []uint64
}

// atOnce is how many numbers are sorted at once.
const atOnce = 8192

func (s *sketch) add(v float64) {
	if s.pending = append(s.pending, ordered(v)); len(s.pending) >= atOnce {
		s.flush()
	}
}

// ordered returns the bits of a number, of which a larger number has larger ones.
func ordered(v float64) uint64 {
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// number is the inverse of ordered.
func number(ordered uint64) float64 {
	return math.Float64frombits(ordered ^ (^uint64(int64(ordered)>>63) | 1<<63))
}

// flush counts the numbers that are waiting.
func (s *sketch) flush() {
	if len(s.pending) == 0 {
		return
	}
	fresh := borrow()
	fresh.low = append(fresh.low, s.pending...) // scratch space, before it is filled
	sortBits(s.pending, fresh.low)
	fresh.low = fresh.low[:0]
	for _, v := range s.pending {
		fresh.push(v, v, 1, s.drop)
	}
	s.pending = s.pending[:0]
	s.join(*fresh)
	giveBack(fresh)
}

// sortBits sorts a list, byte by byte from the last one, with scratch space of the same length.
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
			continue // all are alike
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

// merge counts the numbers that o has counted.
func (s *sketch) merge(o *sketch) {
	s.flush()
	o.flush()
	s.drop = max(s.drop, o.drop)
	s.join(o.runs)
}

// push appends numbers that are not below those before: to the last count where their leading bits agree.
func (r *runs) push(low, high uint64, count int, drop uint) {
	if n := len(r.low) - 1; n >= 0 && r.low[n]>>drop == low>>drop {
		r.high[n] = max(r.high[n], high)
		r.count[n] += count
		return
	}
	r.low, r.high, r.count = append(r.low, low), append(r.high, high), append(r.count, count)
}

// join adds other counts, and drops bits until there are not too many.
func (s *sketch) join(o runs) {
	all := borrow()
	i, j := 0, 0
	for i < len(s.low) || j < len(o.low) {
		if j == len(o.low) || i < len(s.low) && s.low[i] <= o.low[j] {
			all.push(s.low[i], s.high[i], s.count[i], s.drop)
			i++
		} else {
			all.push(o.low[j], o.high[j], o.count[j], s.drop)
			j++
		}
	}
	if len(all.low) > s.most {
		s.drop = all.enough(s.most)
		all.shrink(s.drop)
	}
	s.low, s.high, s.count = append(s.low[:0], all.low...), append(s.high[:0], all.high...), append(s.count[:0], all.count...)
	giveBack(all)
}

// enough returns how many bits have to be dropped for at most so many counts.
func (r *runs) enough(most int) uint {
	var parted [65]int // counts that agree with the one before only where so many bits are dropped
	for i := 1; i < len(r.low); i++ {
		parted[bits.Len64(r.low[i]^r.low[i-1])]++
	}
	left, drop := len(r.low), uint(0)
	for left > most && drop < 63 {
		drop++
		left -= parted[drop]
	}
	return drop
}

// shrink counts numbers together whose leading bits agree now.
func (r *runs) shrink(drop uint) {
	all := *r
	*r = runs{all.low[:0], all.high[:0], all.count[:0]}
	for i, low := range all.low {
		r.push(low, all.high[i], all.count[i], drop)
	}
}

// sound reports whether the counts are in ascending order, as join leaves them, of finite numbers.
func (s *sketch) sound() bool {
	for i, low := range s.low {
		if v := number(low); v-v != 0 || s.high[i] < low || s.high[i]>>s.drop != low>>s.drop || i > 0 && low>>s.drop <= s.low[i-1]>>s.drop {
			return false
		}
	}
	return len(s.low) <= s.most && len(s.low) == len(s.high) && len(s.low) == len(s.count)
}

// counts are those of numbers in ascending order: count[i] of them, from low[i] to high[i].
type counts struct {
	low, high []float64
	count     []int
}

// with returns all counts, and n of the number 0, which has none.
func (s *sketch) with(n int) (out counts) {
	s.flush()
	zero := func() {
		out.low, out.high, out.count = append(out.low, 0), append(out.high, 0), append(out.count, n)
	}
	for i, c := range s.count {
		low := number(s.low[i])
		if low > 0 && n > 0 && (i == 0 || number(s.low[i-1]) < 0) {
			zero()
		}
		out.low, out.high, out.count = append(out.low, low), append(out.high, number(s.high[i])), append(out.count, c)
	}
	if k := len(s.low); n > 0 && (k == 0 || number(s.low[k-1]) < 0) {
		zero()
	}
	return out
}

// quantile returns the number that a share p of the n numbers does not exceed, on the line between two of them.
func (r counts) quantile(p float64, n int) float64 {
	at := p * float64(n-1)
	k := min(int(at), n-1)
	a, b := r.nth(k), r.nth(min(k+1, n-1))
	t := at - float64(k)
	if d := b - a; !math.IsInf(d, 0) {
		return a + t*d
	}
	return (1-t)*a + t*b
}

// nth returns number k of those in ascending order; what is counted together is taken to be evenly spread.
func (r counts) nth(k int) float64 {
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

// bins divides n numbers at cuts into bins of a tenth of them each, about, where a count is never divided. One of a
// tenth of the numbers or more has a bin of its own.
func (r counts) bins(n int) (cuts []float64, rows []int) {
	seen, own := 0, 0 // numbers so far, and in the bin that is open
	end := func(i int) { cuts, rows, own = append(cuts, r.high[i]), append(rows, own), 0 }
	for i, c := range r.count {
		if own > 0 && 10*c >= n {
			end(i - 1)
		}
		before := seen
		seen, own = seen+c, own+c
		if 10*c >= n || 10*seen/n > 10*before/n {
			end(i)
		}
	}
	return cuts[:len(cuts)-1], rows
}

// spare is memory that is used again.
var spare = sync.Pool{New: func() any { return new(runs) }}

func borrow() *runs {
	r := spare.Get().(*runs)
	*r = runs{r.low[:0], r.high[:0], r.count[:0]}
	return r
}

func giveBack(r *runs) { spare.Put(r) }
