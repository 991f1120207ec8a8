package attention

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/softmax"
)

// sums are what linear attention remembers of the keys and values of one head:
//
//	rows[r] = Σ_j exp(e_rj − top_r)·[v_j, 1],   e_rj = ω_r'u_j − ‖u_j‖²/2,   top_r = max_j e_rj
type sums[T kern.Float] struct {
	features *softmax.Rounded[T]
	top      []T          // m
	rows     kern.View[T] // m × (values+1)
}

// sumsOf returns the sums of no keys in room for m·(values+2) numbers.
func sumsOf[T kern.Float](f *softmax.Rounded[T], values int, room []T) sums[T] {
	m := f.Features()
	s := sums[T]{f, room[:m], kern.Dense(m, values+1, values+1, room[m:m*(values+2)])}
	for r := range s.top {
		s.top[r] = T(math.Inf(-1))
	}
	clear(s.rows.Data[:m*(values+1)])
	return s
}

// raise makes the sums ones by larger exponents.
func (s *sums[T]) raise(top []T) {
	for r, t := range top {
		if t > s.top[r] {
			kern.Scale(T(math.Exp(float64(s.top[r]-t))), s.rows.Row(r))
			s.top[r] = t
		}
	}
}

// merge adds the sums of other keys.
func (s *sums[T]) merge(other sums[T]) {
	s.raise(other.top)
	for r := range s.top {
		kern.Axpy(T(math.Exp(float64(other.top[r]-s.top[r]))), other.rows.Row(r), s.rows.Row(r))
	}
}

// chunk is how many positions are turned into features at once.
const chunk = 128

// scratch is what a chunk needs.
type scratch[T kern.Float] struct {
	hold          *design.Buffer[T]
	keys, queries []T // chunk × m, exponents and then features
	values        []T // chunk × (values+1)
	longer        []T // chunk × (width+1)
	products      []T // chunk × chunk
	sums          []T // chunk × (values+1)
	top           []T // m
}

func newScratch[T kern.Float](f *softmax.Rounded[T], values int) scratch[T] {
	m, d := f.Features(), f.Inputs()
	hold := design.Borrow[T](chunk*(2*m+2*(values+1)+d+1+chunk) + m)
	room := hold.List
	take := func(n int) []T {
		part := room[:n]
		room = room[n:]
		return part
	}
	return scratch[T]{hold, take(chunk * m), take(chunk * m), take(chunk * (values + 1)), take(chunk * (d + 1)),
		take(chunk * chunk), take(chunk * (values + 1)), take(m)}
}

// exponents writes the exponents of keys, and into t.top the largest so far of each feature.
func (s *sums[T]) exponents(t *scratch[T], keys kern.View[T]) kern.View[T] {
	m := s.features.Features()
	e := kern.Dense(keys.Rows, m, m, t.keys)
	s.features.Exponents(e, keys, true, t.longer)
	copy(t.top, s.top)
	for i := range e.Rows {
		for r, v := range e.Row(i) {
			t.top[r] = max(t.top[r], v)
		}
	}
	return e
}

// below replaces exponents by features, those of keys by the largest exponents taken out of them.
func below[T kern.Float](e kern.View[T], top []T) {
	for i := range e.Rows {
		row := e.Row(i)
		for r := range row {
			row[r] -= top[r]
		}
		kern.Exp(row, row)
	}
}

// add adds up to chunk keys.
func (s *sums[T]) add(t *scratch[T], keys, values kern.View[T]) {
	e := s.exponents(t, keys)
	s.raise(t.top)
	below(e, s.top)
	v := kern.Dense(keys.Rows, values.Cols+1, values.Cols+1, t.values)
	withOnes(v, values, 0, keys.Rows)
	kern.Mul(s.rows, e.T(), v, true)
}

// asked writes the features of up to chunk queries, with the keys' largest exponents put in, divided by a number for
// each query that makes the largest of them 1.
func (s *sums[T]) asked(t *scratch[T], queries kern.View[T]) kern.View[T] {
	m := s.features.Features()
	e := kern.Dense(queries.Rows, m, m, t.queries)
	s.features.Exponents(e, queries, false, t.longer)
	for i := range e.Rows {
		row := e.Row(i)
		most := T(math.Inf(-1))
		for r := range row {
			row[r] += s.top[r]
			most = max(most, row[r])
		}
		for r := range row {
			row[r] -= most
		}
		kern.Exp(row, row)
	}
	return e
}

// answer writes the results of up to chunk queries to the rows of dst from lo on.
func (s *sums[T]) answer(t *scratch[T], dst, queries kern.View[T], lo int) {
	e := s.asked(t, queries)
	out := kern.Dense(e.Rows, s.rows.Cols, s.rows.Cols, t.sums)
	kern.Mul(out, e, s.rows, false)
	divide(dst, out, lo)
}

// rise is how much the largest exponents may grow within a chunk: the sums of the first queries of the chunk are made by
// exponents that only its last keys have, and must not vanish.
func rise[T kern.Float]() T { return T(math.Log(largest[T]()) / 2.2) }

// causal adds up to chunk keys, and writes the results of as many queries, each of which looks at the keys before and at
// those of the chunk up to its own. Where exponents grow much within the chunk, it is done in two halves.
func (s *sums[T]) causal(t *scratch[T], dst, queries, keys, values kern.View[T], lo int) {
	e := s.exponents(t, keys)
	if n := keys.Rows; n > 1 && s.rises(e, t.top) {
		for _, part := range [][2]int{{0, n / 2}, {n / 2, n}} {
			from, to := part[0], part[1]
			s.causal(t, dst, queries.Slice(from, to, 0, queries.Cols), keys.Slice(from, to, 0, keys.Cols), values.Slice(from, to, 0, values.Cols), lo+from)
		}
		return
	}
	s.raise(t.top)
	below(e, s.top)
	asked := s.asked(t, queries)
	v := kern.Dense(keys.Rows, values.Cols+1, values.Cols+1, t.values)
	withOnes(v, values, 0, keys.Rows)
	products := kern.Dense(keys.Rows, keys.Rows, keys.Rows, t.products)
	kern.Mul(products, asked, e.T(), false)
	for i := range products.Rows {
		clear(products.Row(i)[i+1:])
	}
	out := kern.Dense(keys.Rows, v.Cols, v.Cols, t.sums)
	kern.Mul(out, asked, s.rows, false)
	kern.Mul(out, products, v, true)
	kern.Mul(s.rows, e.T(), v, true)
	divide(dst, out, lo)
}

// rises reports whether a largest exponent after the first key of the chunk is much below the last.
func (s *sums[T]) rises(e kern.View[T], top []T) bool {
	first := e.Row(0)
	for r, t := range top {
		if t-max(s.top[r], first[r]) > rise[T]() {
			return true
		}
	}
	return false
}

// segments is into how many parts the keys of a head are cut, each of which has sums of its own: enough for all cores,
// and a number that depends on the shape alone.
func segments(keys int) int { return min(16, (keys+16*chunk-1)/(16*chunk)) }

// linear computes linear attention over all keys.
func (p *problem[T]) linear(ctx context.Context, f *softmax.Rounded[T]) {
	parts, size := segments(p.Keys), f.Features()*(p.Values+2)
	hold := design.Borrow[T](p.sequences() * parts * size)
	defer hold.Release()
	sumOf := func(i int) []T { return hold.List[i*size : (i+1)*size] }
	length := (p.Keys + parts - 1) / parts
	all := make([]sums[T], p.sequences()*parts)
	kern.Parallel(len(all), 1, func(i, _ int) {
		t := newScratch(f, p.Values)
		defer t.hold.Release()
		all[i] = sumsOf(f, p.Values, sumOf(i))
		keys, values := p.keys(i/parts), p.values(i/parts)
		end := min((i%parts+1)*length, p.Keys)
		for lo := i % parts * length; lo < end && ctx.Err() == nil; lo += chunk {
			hi := min(lo+chunk, end)
			all[i].add(&t, keys.Slice(lo, hi, 0, p.Width), values.Slice(lo, hi, 0, p.Values))
		}
	})
	for i := range all {
		if i%parts > 0 {
			all[i-i%parts].merge(all[i])
		}
	}
	chunks := (p.Queries + chunk - 1) / chunk
	kern.Parallel(p.sequences()*chunks, 1, func(i, _ int) {
		if ctx.Err() != nil {
			return
		}
		t := newScratch(f, p.Values)
		defer t.hold.Release()
		sequence, lo := i/chunks, i%chunks*chunk
		all[sequence*parts].answer(&t, p.result(sequence), p.queries(sequence).Slice(lo, min(lo+chunk, p.Queries), 0, p.Width), lo)
	})
}

// linearCausal computes causal linear attention.
func (p *problem[T]) linearCausal(ctx context.Context, f *softmax.Rounded[T]) {
	kern.Parallel(p.sequences(), 1, func(i, _ int) {
		t := newScratch(f, p.Values)
		defer t.hold.Release()
		hold := design.Borrow[T](f.Features() * (p.Values + 2))
		defer hold.Release()
		s := sumsOf(f, p.Values, hold.List)
		queries, keys, values := p.queries(i), p.keys(i), p.values(i)
		for lo := 0; lo < p.Keys && ctx.Err() == nil; lo += chunk {
			hi := min(lo+chunk, p.Keys)
			s.causal(&t, p.result(i), queries.Slice(lo, hi, 0, p.Width), keys.Slice(lo, hi, 0, p.Width), values.Slice(lo, hi, 0, p.Values), lo)
		}
	})
}
