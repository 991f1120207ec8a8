package attention

import (
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

// set makes the sums those of others.
func (s *sums[T]) set(other sums[T]) {
	copy(s.top, other.top)
	copy(s.rows.Data, other.rows.Data)
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

// merge adds the sums of other keys, of features lo to hi.
func (s *sums[T]) merge(other sums[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		row := s.rows.Row(r)
		if t := other.top[r]; t > s.top[r] {
			kern.Scale(T(math.Exp(float64(s.top[r]-t))), row)
			s.top[r] = t
		}
		kern.Axpy(T(math.Exp(float64(other.top[r]-s.top[r]))), other.rows.Row(r), row)
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
	ones          []T // m
}

func newScratch[T kern.Float](f *softmax.Rounded[T], values int) scratch[T] {
	m, d := f.Features(), f.Inputs()
	hold := design.Borrow[T](scratchSize(m, d, values))
	room := hold.Data
	take := func(n int) []T {
		part := room[:n]
		room = room[n:]
		return part
	}
	t := scratch[T]{hold, take(chunk * m), take(chunk * m), take(chunk * (values + 1)), take(chunk * (d + 1)),
		take(chunk * chunk), take(chunk * (values + 1)), take(m), take(m)}
	for r := range t.ones {
		t.ones[r] = 1
	}
	return t
}

// scratchSize is how many numbers a scratch has.
func scratchSize(features, width, values int) int {
	return chunk*(2*features+2*(values+1)+width+1+chunk) + 2*features
}

// exponents writes the exponents of keys to e, and into top the largest of each feature where it is larger.
func (t *scratch[T]) exponents(f *softmax.Rounded[T], e, keys kern.View[T], top []T) {
	f.Exponents(e, keys, true, t.longer)
	for i := range e.Rows {
		row := e.Row(i)[:len(top)]
		for r, v := range row {
			if v > top[r] {
				top[r] = v
			}
		}
	}
}

// withOnes returns values, each with a 1 behind it.
func (t *scratch[T]) withOnes(values kern.View[T]) kern.View[T] {
	v := kern.Dense(values.Rows, values.Cols+1, values.Cols+1, t.values)
	withOnes(v, values, 0, values.Rows)
	return v
}

// below replaces exponents by features, those of keys by the largest exponents taken out of them.
func below[T kern.Float](e kern.View[T], top []T) {
	for i := range e.Rows {
		row := e.Row(i)
		kern.Axpy(-1, top, row)
		kern.Exp(row, row)
	}
}

// add adds up to chunk keys.
func (s *sums[T]) add(t *scratch[T], keys, values kern.View[T]) {
	e := kern.Dense(keys.Rows, len(s.top), len(s.top), t.keys)
	copy(t.top, s.top)
	t.exponents(s.features, e, keys, t.top)
	s.raise(t.top)
	below(e, s.top)
	v := t.withOnes(values)
	if keys.Rows == 1 { // the sums are read once, and not rearranged before
		for r, weight := range e.Row(0) {
			kern.Axpy(weight, v.Row(0), s.rows.Row(r))
		}
		return
	}
	kern.Mul(s.rows, e.T(), v, true)
}

// asked writes the features of up to chunk queries, with the keys' largest exponents put in, divided by a number for
// each query that makes the largest of them 1.
func (s *sums[T]) asked(t *scratch[T], queries kern.View[T]) kern.View[T] {
	m := len(s.top)
	e := kern.Dense(queries.Rows, m, m, t.queries)
	s.features.Exponents(e, queries, false, t.longer)
	for i := range e.Rows {
		row := e.Row(i)
		kern.Axpy(1, s.top, row)
		most := row[0]
		for _, v := range row {
			if v > most {
				most = v
			}
		}
		kern.Axpy(-most, t.ones, row)
		kern.Exp(row, row)
	}
	return e
}

// answer writes the results of up to chunk queries to the rows of dst from lo on.
func (s *sums[T]) answer(t *scratch[T], dst, queries kern.View[T], lo int) {
	e := s.asked(t, queries)
	out := kern.Dense(e.Rows, s.rows.Cols, s.rows.Cols, t.sums)
	if e.Rows == 1 {
		kern.MulVecT(out.Row(0), s.rows, e.Row(0), false)
	} else {
		kern.Mul(out, e, s.rows, false)
	}
	divide(dst, out, lo)
}

// causal writes the results of up to chunk queries to the rows of dst from lo on. Each looks at the keys that are summed
// up, and at those of its chunk up to its own, whose features e are by the largest exponents of the sums.
func (s *sums[T]) causal(t *scratch[T], dst, queries, e, values kern.View[T], lo int) {
	asked := s.asked(t, queries)
	products := kern.Dense(e.Rows, e.Rows, e.Rows, t.products)
	kern.Mul(products, asked, e.T(), false)
	for i := range products.Rows {
		clear(products.Row(i)[i+1:])
	}
	out := kern.Dense(e.Rows, s.rows.Cols, s.rows.Cols, t.sums)
	kern.Mul(out, asked, s.rows, false)
	kern.Mul(out, products, t.withOnes(values), true)
	divide(dst, out, lo)
}
