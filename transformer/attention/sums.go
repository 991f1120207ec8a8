package attention

import (
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/transformer/internal/softmax"
)

// sums are the sufficient statistics of the keys and values of one head:
//
//	rows[r] = Σ_j exp(e_rj − top_r)·[v_j, 1],   e_rj = ω_r'u_j − ‖u_j‖²/2,   top_r = max_j e_rj
type sums[T kern.Float] struct {
	features     *softmax.Rounded[T]
	maxExponents []T          // m
	rows         kern.View[T] // m × (values+1)
}

// sumsOf returns empty sums in a buffer of m·(values+2) elements.
func sumsOf[T kern.Float](f *softmax.Rounded[T], values int, buffer []T) sums[T] {
	m := f.Features()
	s := sums[T]{f, buffer[:m], kern.Dense(m, values+1, values+1, buffer[m:m*(values+2)])}
	for r := range s.maxExponents {
		s.maxExponents[r] = T(math.Inf(-1))
	}
	clear(s.rows.Data[:m*(values+1)])
	return s
}

// copyFrom copies other to s.
func (s *sums[T]) copyFrom(other sums[T]) {
	copy(s.maxExponents, other.maxExponents)
	copy(s.rows.Data, other.rows.Data)
}

// rescale rescales the sums to larger maximum exponents.
func (s *sums[T]) rescale(top []T) {
	for r, t := range top {
		if t > s.maxExponents[r] {
			kern.Scale(T(math.Exp(float64(s.maxExponents[r]-t))), s.rows.Row(r))
			s.maxExponents[r] = t
		}
	}
}

// merge adds features lo to hi of other sums.
func (s *sums[T]) merge(other sums[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		row := s.rows.Row(r)
		if t := other.maxExponents[r]; t > s.maxExponents[r] {
			kern.Scale(T(math.Exp(float64(s.maxExponents[r]-t))), row)
			s.maxExponents[r] = t
		}
		kern.Axpy(T(math.Exp(float64(other.maxExponents[r]-s.maxExponents[r]))), other.rows.Row(r), row)
	}
}

// chunk is the number of positions per block of features.
const chunk = 128

// scratch contains the buffers for a chunk.
type scratch[T kern.Float] struct {
	buffer        *design.Buffer[T]
	keys, queries []T // chunk × m, exponents and then features
	values        []T // chunk × (values+1)
	augmented     []T // chunk × (width+1)
	products      []T // chunk × chunk
	sums          []T // chunk × (values+1)
	maxExponents  []T // m
	ones          []T // m
}

func newScratch[T kern.Float](f *softmax.Rounded[T], values int) scratch[T] {
	m, d := f.Features(), f.Inputs()
	buffer := design.Borrow[T](scratchSize(m, d, values))
	free := buffer.Data
	take := func(n int) []T {
		part := free[:n]
		free = free[n:]
		return part
	}
	t := scratch[T]{buffer, take(chunk * m), take(chunk * m), take(chunk * (values + 1)), take(chunk * (d + 1)),
		take(chunk * chunk), take(chunk * (values + 1)), take(m), take(m)}
	for r := range t.ones {
		t.ones[r] = 1
	}
	return t
}

// scratchSize returns the number of elements of a scratch.
func scratchSize(features, width, values int) int {
	return chunk*(2*features+2*(values+1)+width+1+chunk) + 2*features
}

// exponents computes the exponents of keys and updates the maximum exponents top.
func (t *scratch[T]) exponents(f *softmax.Rounded[T], e, keys kern.View[T], top []T) {
	f.Exponents(e, keys, true, t.augmented)
	for i := range e.Rows {
		row := e.Row(i)[:len(top)]
		for r, v := range row {
			if v > top[r] {
				top[r] = v
			}
		}
	}
}

// appendOnes returns values with a column of ones appended.
func (t *scratch[T]) appendOnes(values kern.View[T]) kern.View[T] {
	v := kern.Dense(values.Rows, values.Cols+1, values.Cols+1, t.values)
	appendOnes(v, values, 0, values.Rows)
	return v
}

// expBelowMax replaces exponents by features relative to the maximum exponents.
func expBelowMax[T kern.Float](e kern.View[T], top []T) {
	for i := range e.Rows {
		row := e.Row(i)
		kern.Axpy(-1, top, row)
		kern.Exp(row, row)
	}
}

// add adds up to chunk keys.
func (s *sums[T]) add(t *scratch[T], keys, values kern.View[T]) {
	e := kern.Dense(keys.Rows, len(s.maxExponents), len(s.maxExponents), t.keys)
	copy(t.maxExponents, s.maxExponents)
	t.exponents(s.features, e, keys, t.maxExponents)
	s.rescale(t.maxExponents)
	expBelowMax(e, s.maxExponents)
	v := t.appendOnes(values)
	if keys.Rows == 1 { // one pass over the sums, without packing
		for r, weight := range e.Row(0) {
			kern.Axpy(weight, v.Row(0), s.rows.Row(r))
		}
		return
	}
	kern.Mul(s.rows, e.T(), v, true)
}

// queryFeatures computes the features of up to chunk queries relative to the exponents of the sums, scaled
// per query to a maximum of 1.
func (s *sums[T]) queryFeatures(t *scratch[T], queries kern.View[T]) kern.View[T] {
	m := len(s.maxExponents)
	e := kern.Dense(queries.Rows, m, m, t.queries)
	s.features.Exponents(e, queries, false, t.augmented)
	for i := range e.Rows {
		row := e.Row(i)
		kern.Axpy(1, s.maxExponents, row)
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

// attend writes the results of up to chunk queries to dst from row lo on.
func (s *sums[T]) attend(t *scratch[T], dst, queries kern.View[T], lo int) {
	e := s.queryFeatures(t, queries)
	out := kern.Dense(e.Rows, s.rows.Cols, s.rows.Cols, t.sums)
	if e.Rows == 1 {
		kern.MulVecT(out.Row(0), s.rows, e.Row(0), false)
	} else {
		kern.Mul(out, e, s.rows, false)
	}
	normalizeRows(dst, out, lo)
}

// attendCausal writes the results of up to chunk queries to dst from row lo on. Each query attends to the
// accumulated keys, and to the keys of its chunk up to its own, whose features e are relative to
// the exponents of the sums.
func (s *sums[T]) attendCausal(t *scratch[T], dst, queries, e, values kern.View[T], lo int) {
	asked := s.queryFeatures(t, queries)
	products := kern.Dense(e.Rows, e.Rows, e.Rows, t.products)
	kern.Mul(products, asked, e.T(), false)
	for i := range products.Rows {
		clear(products.Row(i)[i+1:])
	}
	out := kern.Dense(e.Rows, s.rows.Cols, s.rows.Cols, t.sums)
	kern.Mul(out, asked, s.rows, false)
	kern.Mul(out, products, t.appendOnes(values), true)
	normalizeRows(dst, out, lo)
}
