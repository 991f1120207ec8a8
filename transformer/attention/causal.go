package attention

import (
	"context"
	"math"
	"runtime"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/transformer/internal/softmax"
)

// linearCausal computes causal linear attention.
//
// Each head is divided into chunks of positions. A wave of chunks is processed in three steps:
// compute the sums of the keys of each chunk in parallel; accumulate them over the chunks; compute
// the results of each chunk in parallel, from the sums of the preceding chunks and its own keys.
// The order of additions depends neither on the wave length nor on GOMAXPROCS.
func (p *tensors[T]) linearCausal(ctx context.Context, f *softmax.Rounded[T]) {
	length := waveLength(p.sequences(), p.Keys)
	kern.Parallel(p.sequences(), 1, func(i, _ int) {
		w := newWave(p, f, i, length)
		defer w.buffer.Release()
		for lo := 0; lo < p.Keys && w.process(ctx, lo); lo += length * chunk {
		}
	})
}

// waveLength returns the number of chunks per wave, the smallest that occupies all cores.
func waveLength(sequences, keys int) int {
	cores := runtime.GOMAXPROCS(0)
	if cores == 1 {
		return 1
	}
	return max(1, min(8*cores/sequences, (keys+chunk-1)/chunk))
}

// waveSize returns the number of elements of a wave's buffers.
func waveSize(length, features, values int) int {
	return (length+1)*features*(values+2) + length*features*(chunk+2)
}

// wave is a run of consecutive chunks of a head.
type wave[T kern.Float] struct {
	*tensors[T]
	features *softmax.Rounded[T]
	sequence int
	buffer   *design.Buffer[T]
	sums     []sums[T]      // [0]: keys before the wave; [i+1]: keys of chunk i, then of all keys up to it
	chunks   []chunkData[T] // one fewer than sums
}

// chunkData is a chunk of a wave.
type chunkData[T kern.Float] struct {
	lo, hi         int
	features       []T // chunk × m, features of the keys: exp(e_jr − top_r)
	maxExponents   []T // m, maximum exponents of the chunk's keys
	firstExponents []T // m, exponents of its first key
}

func newWave[T kern.Float](p *tensors[T], f *softmax.Rounded[T], sequence, length int) *wave[T] {
	m := f.Features()
	w := &wave[T]{tensors: p, features: f, sequence: sequence, buffer: design.Borrow[T](waveSize(length, m, p.Values))}
	free := w.buffer.Data
	take := func(n int) []T {
		part := free[:n:n]
		free = free[n:]
		return part
	}
	w.sums = append(w.sums, sumsOf(f, p.Values, take(m*(p.Values+2))))
	for range length {
		w.sums = append(w.sums, sumsOf(f, p.Values, take(m*(p.Values+2))))
		w.chunks = append(w.chunks, chunkData[T]{features: take(chunk * m), maxExponents: take(m), firstExponents: take(m)})
	}
	return w
}

// process processes the chunks from position lo; it returns false if ctx is done.
func (w *wave[T]) process(ctx context.Context, lo int) bool {
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
			defer t.buffer.Release()
			work(&t, i)
		})
	}
	if each(w.sumChunk); ctx.Err() != nil {
		return false
	}
	const grain = 64
	kern.Parallel(w.features.Features(), grain, func(from, to int) {
		for i := range n {
			w.sums[i+1].merge(w.sums[i], from, to)
		}
	})
	if each(w.attend); ctx.Err() != nil {
		return false
	}
	w.sums[0], w.sums[n] = w.sums[n], w.sums[0]
	return true
}

// sumChunk computes the features and the sums of chunk i.
func (w *wave[T]) sumChunk(t *scratch[T], i int) {
	c, s, m := &w.chunks[i], &w.sums[i+1], w.features.Features()
	e := kern.Dense(c.hi-c.lo, m, m, c.features)
	for r := range c.maxExponents {
		c.maxExponents[r] = T(math.Inf(-1))
	}
	t.exponents(w.features, e, w.keys(w.sequence).Slice(c.lo, c.hi, 0, w.Width), c.maxExponents)
	copy(c.firstExponents, e.Row(0))
	copy(s.maxExponents, c.maxExponents)
	expBelowMax(e, c.maxExponents)
	kern.Mul(s.rows, e.T(), t.appendOnes(w.values(w.sequence).Slice(c.lo, c.hi, 0, w.Values)), false)
}

// attend computes the results of chunk i; it overwrites the sums of the preceding keys.
func (w *wave[T]) attend(t *scratch[T], i int) {
	c, s, m := &w.chunks[i], &w.sums[i], w.features.Features()
	if s.growsTooMuch(c.firstExponents, c.maxExponents) {
		w.bisect(t, s, c.lo, c.hi)
		return
	}
	// Rescale the features to the maximum exponents of all keys so far.
	s.rescale(c.maxExponents)
	for r := range c.maxExponents {
		c.maxExponents[r] = T(math.Exp(float64(c.maxExponents[r] - s.maxExponents[r])))
	}
	e := kern.Dense(c.hi-c.lo, m, m, c.features)
	for j := range e.Rows {
		kern.MulElem(e.Row(j), e.Row(j), c.maxExponents)
	}
	s.attendCausal(t, w.result(w.sequence), w.queries(w.sequence).Slice(c.lo, c.hi, 0, w.Width), e,
		w.values(w.sequence).Slice(c.lo, c.hi, 0, w.Values), c.lo)
}

// maxGrowth is the maximum growth of the exponents within a chunk. Above it, rescaling by the exponents
// of the last keys would underflow the sums of the first queries.
func maxGrowth[T kern.Float]() T { return T(math.Log(maxFinite[T]()) / 2.2) }

// growsTooMuch reports whether the maximum exponents grow by more than rise after the first key.
func (s *sums[T]) growsTooMuch(first, top []T) bool {
	for r, t := range top {
		if t-max(s.maxExponents[r], first[r]) > maxGrowth[T]() {
			return true
		}
	}
	return false
}

// bisect computes the results of the queries from lo to hi and adds their keys to s. It bisects the
// range as long as the exponents grow by more than rise.
func (w *wave[T]) bisect(t *scratch[T], s *sums[T], lo, hi int) {
	m := w.features.Features()
	keys, values := w.keys(w.sequence).Slice(lo, hi, 0, w.Width), w.values(w.sequence).Slice(lo, hi, 0, w.Values)
	e := kern.Dense(hi-lo, m, m, t.keys)
	copy(t.maxExponents, s.maxExponents)
	t.exponents(w.features, e, keys, t.maxExponents)
	if middle := (lo + hi) / 2; middle > lo && s.growsTooMuch(e.Row(0), t.maxExponents) {
		w.bisect(t, s, lo, middle)
		w.bisect(t, s, middle, hi)
		return
	}
	s.rescale(t.maxExponents)
	expBelowMax(e, s.maxExponents)
	s.attendCausal(t, w.result(w.sequence), w.queries(w.sequence).Slice(lo, hi, 0, w.Width), e, values, lo)
	kern.Mul(s.rows, e.T(), t.appendOnes(values), true)
}
