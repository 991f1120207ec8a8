package attention

import (
	"context"
	"math"
	"runtime"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/softmax"
)

// linearCausal computes causal linear attention.
//
// A head is cut into chunks. In a wave of some of them the sums of each chunk's keys are made, all at once; then those
// of a chunk are added to the next, from the first to the last; then each chunk's queries are answered, all at once, by
// the sums of the chunks before it and by its own keys. What is added to what does not depend on how long waves are, nor
// on how many cores there are.
func (p *problem[T]) linearCausal(ctx context.Context, f *softmax.Rounded[T]) {
	length := waveLength(p.sequences(), p.Keys)
	kern.Parallel(p.sequences(), 1, func(i, _ int) {
		w := newWave(p, f, i, length)
		defer w.hold.Release()
		for lo := 0; lo < p.Keys && w.pass(ctx, lo); lo += length * chunk {
		}
	})
}

// waveLength returns how many chunks of a head make a wave: as few as all cores are busy with.
func waveLength(sequences, keys int) int {
	cores := runtime.GOMAXPROCS(0)
	if cores == 1 {
		return 1
	}
	return max(1, min(8*cores/sequences, (keys+chunk-1)/chunk))
}

// waveSize is how many numbers a wave has.
func waveSize(length, features, values int) int {
	return (length+1)*features*(values+2) + length*features*(chunk+2)
}

// wave is some chunks of a head, one after the other.
type wave[T kern.Float] struct {
	*problem[T]
	features *softmax.Rounded[T]
	sequence int
	hold     *design.Buffer[T]
	sums     []sums[T]  // of all keys before the wave, then of the keys of each chunk, later with all before them
	chunks   []piece[T] // of which there are one fewer
}

// piece is a chunk of a wave.
type piece[T kern.Float] struct {
	lo, hi   int
	features []T // chunk × m, of keys: exp(e_jr − top_r)
	top      []T // m, the largest exponents of the chunk's keys
	first    []T // m, the exponents of the first of them
}

func newWave[T kern.Float](p *problem[T], f *softmax.Rounded[T], sequence, length int) *wave[T] {
	m := f.Features()
	w := &wave[T]{problem: p, features: f, sequence: sequence, hold: design.Borrow[T](waveSize(length, m, p.Values))}
	room := w.hold.Data
	take := func(n int) []T {
		part := room[:n:n]
		room = room[n:]
		return part
	}
	w.sums = append(w.sums, sumsOf(f, p.Values, take(m*(p.Values+2))))
	for range length {
		w.sums = append(w.sums, sumsOf(f, p.Values, take(m*(p.Values+2))))
		w.chunks = append(w.chunks, piece[T]{features: take(chunk * m), top: take(m), first: take(m)})
	}
	return w
}

// pass works on the chunks from position lo on, and reports whether it came to their end.
func (w *wave[T]) pass(ctx context.Context, lo int) bool {
	n := 0
	for ; n < len(w.chunks) && lo < w.Keys; n++ {
		w.chunks[n].lo, w.chunks[n].hi = lo, min(lo+chunk, w.Keys)
		lo += chunk
	}
	each := func(work func(t *scratch[T], i int)) {
		kern.Parallel(n, 1, func(i, _ int) {
			if ctx.Err() != nil {
				return
			}
			t := newScratch(w.features, w.Values)
			defer t.hold.Release()
			work(&t, i)
		})
	}
	if each(w.sum); ctx.Err() != nil {
		return false
	}
	const grain = 64
	kern.Parallel(w.features.Features(), grain, func(from, to int) {
		for i := range n {
			w.sums[i+1].merge(w.sums[i], from, to)
		}
	})
	if each(w.answer); ctx.Err() != nil {
		return false
	}
	w.sums[0], w.sums[n] = w.sums[n], w.sums[0]
	return true
}

// sum makes the features and the sums of chunk i.
func (w *wave[T]) sum(t *scratch[T], i int) {
	c, s, m := &w.chunks[i], &w.sums[i+1], w.features.Features()
	e := kern.Dense(c.hi-c.lo, m, m, c.features)
	for r := range c.top {
		c.top[r] = T(math.Inf(-1))
	}
	t.exponents(w.features, e, w.keys(w.sequence).Slice(c.lo, c.hi, 0, w.Width), c.top)
	copy(c.first, e.Row(0))
	copy(s.top, c.top)
	below(e, c.top)
	kern.Mul(s.rows, e.T(), t.withOnes(w.values(w.sequence).Slice(c.lo, c.hi, 0, w.Values)), false)
}

// answer answers the queries of chunk i, and uses up the sums of the keys before.
func (w *wave[T]) answer(t *scratch[T], i int) {
	c, s, m := &w.chunks[i], &w.sums[i], w.features.Features()
	if s.rises(c.first, c.top) {
		w.halves(t, s, c.lo, c.hi)
		return
	}
	// The features are made ones by the largest exponents so far.
	s.raise(c.top)
	for r := range c.top {
		c.top[r] = T(math.Exp(float64(c.top[r] - s.top[r])))
	}
	e := kern.Dense(c.hi-c.lo, m, m, c.features)
	for j := range e.Rows {
		kern.MulElem(e.Row(j), e.Row(j), c.top)
	}
	s.causal(t, w.result(w.sequence), w.queries(w.sequence).Slice(c.lo, c.hi, 0, w.Width), e, w.values(w.sequence).Slice(c.lo, c.hi, 0, w.Values), c.lo)
}

// rise is how much the largest exponents may grow within a chunk: the sums of the first queries of the chunk are made by
// exponents that only its last keys have, and must not vanish.
func rise[T kern.Float]() T { return T(math.Log(largest[T]()) / 2.2) }

// rises reports whether a largest exponent after the first of some keys is much below that after all.
func (s *sums[T]) rises(first, top []T) bool {
	for r, t := range top {
		if t-max(s.top[r], first[r]) > rise[T]() {
			return true
		}
	}
	return false
}

// halves answers the queries from lo to hi, and adds their keys: in two halves, and those again, where exponents rise
// much.
func (w *wave[T]) halves(t *scratch[T], s *sums[T], lo, hi int) {
	m := w.features.Features()
	keys, values := w.keys(w.sequence).Slice(lo, hi, 0, w.Width), w.values(w.sequence).Slice(lo, hi, 0, w.Values)
	e := kern.Dense(hi-lo, m, m, t.keys)
	copy(t.top, s.top)
	t.exponents(w.features, e, keys, t.top)
	if middle := (lo + hi) / 2; middle > lo && s.rises(e.Row(0), t.top) {
		w.halves(t, s, lo, middle)
		w.halves(t, s, middle, hi)
		return
	}
	s.raise(t.top)
	below(e, s.top)
	s.causal(t, w.result(w.sequence), w.queries(w.sequence).Slice(lo, hi, 0, w.Width), e, values, lo)
	kern.Mul(s.rows, e.T(), t.withOnes(values), true)
}
