package kmeans

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// sample keeps the rows with the smallest keys. A key is a hash of the row, so equal rows have
// equal keys and are merged into one row with their total weight. The sample thus does not depend
// on the order of the rows, nor on their division into parts.
type sample struct {
	spec  Spec
	cols  int
	most  int
	limit uint64 // maximum key of rows to add
	rows  []sampled
}

type sampled struct {
	key     uint64
	weight  float64
	columns []uint32
	values  []float64
}

// Maximum number of sampled rows, and of columns for it.
const (
	maxSampled  = 1 << 14
	sampledCols = 1 << 9
)

func newSample(s Spec, cols int) *sample {
	maxRows := maxSampled
	if cols > sampledCols {
		maxRows = max(2048, maxSampled*sampledCols/cols)
	}
	return &sample{spec: s, cols: cols, most: max(maxRows, 32*s.Clusters), limit: math.MaxUint64}
}

// add takes in the rows lo to hi; it reports whether all numbers in them are finite.
func (s *sample) add(r rows, lo, hi int, weights []float64) bool {
	keys := make([]uint64, hi-lo)
	kern.Parallel(hi-lo, max(1, 1<<14/max(s.cols, 1)), func(from, to int) {
		hold := design.Borrow[float64](s.cols)
		defer hold.Release()
		for i := from; i < to; i++ {
			keys[i] = r.key(lo+i, s.spec.Seed, hold.Data)
		}
	})
	for i, key := range keys {
		w := 1.0
		if weights != nil {
			w = weights[lo+i]
		}
		switch {
		case w == 0:
		case key == broken:
			return false
		case key <= s.limit:
			s.rows = append(s.rows, r.sampled(lo+i, key, w))
			if len(s.rows) >= 2*s.most {
				s.compact()
			}
		}
	}
	return true
}

// broken is the key of a row with a number that is not finite.
const broken = math.MaxUint64

// key returns the key of a row: that of its entries that are not 0, in any order.
func (r rows) key(i int, seed uint64, buffer []float64) uint64 {
	sum, bad := uint64(0), false
	entry := func(j int, v float64) {
		if v != 0 {
			bad = bad || v-v != 0
			sum += spectral.Scramble(math.Float64bits(v) ^ spectral.Scramble(uint64(j)+0x9e3779b97f4a7c15))
		}
	}
	r.entries(i, buffer, entry)
	if bad {
		return broken
	}
	return spectral.Scramble(sum+spectral.Scramble(seed+uint64(spectral.Centers))) &^ 1
}

// entries calls f for the entries of a row.
func (r rows) entries(i int, buffer []float64, f func(j int, v float64)) {
	if r.csr == nil {
		r.write(buffer, i)
		for j, v := range buffer {
			f(j, v)
		}
		return
	}
	columns, values := r.csr.Row(i)
	for p, j := range columns {
		if values == nil {
			f(int(j), r.sparse.Scale)
		} else {
			f(int(j), values[p])
		}
	}
}

// sampled returns a copy of a row.
func (r rows) sampled(i int, key uint64, weight float64) sampled {
	out := sampled{key: key, weight: weight}
	var buffer []float64
	if r.csr == nil {
		_, d := r.dims()
		buffer = make([]float64, d)
	}
	r.entries(i, buffer, func(j int, v float64) {
		if v != 0 {
			out.columns, out.values = append(out.columns, uint32(j)), append(out.values, v)
		}
	})
	return out
}

func (r rows) dims() (n, d int) {
	if r.narrow != nil {
		return r.narrow.Dims()
	}
	return r.dense.Dims()
}

// compact merges equal rows and removes those with the largest keys.
func (s *sample) compact() {
	slices.SortStableFunc(s.rows, func(a, b sampled) int { return cmp.Compare(a.key, b.key) })
	kept := s.rows[:0]
	for _, row := range s.rows {
		if n := len(kept); n > 0 && kept[n-1].key == row.key {
			kept[n-1].weight += row.weight
			continue
		}
		kept = append(kept, row)
	}
	if len(kept) > s.most {
		kept = kept[:s.most]
	}
	clear(s.rows[len(kept):])
	if s.rows = kept; len(kept) == s.most {
		s.limit = kept[s.most-1].key
	}
}

func (s *sample) merge(o *sample) {
	s.rows = append(slices.Clone(s.rows), o.rows...)
	s.limit = min(s.limit, o.limit)
	s.rows = slices.DeleteFunc(s.rows, func(r sampled) bool { return r.key > s.limit })
	s.compact()
}

// set returns the sample as rows in memory, sparse where most entries are 0.
func (s *sample) set() datasets.Set {
	entries := 0
	weights := make([]float64, len(s.rows))
	for i, r := range s.rows {
		entries += len(r.columns)
		weights[i] = r.weight
	}
	if 4*entries < len(s.rows)*s.cols && s.cols > 64 {
		indptr := []int{0}
		var columns []uint32
		values := []float64{}
		for _, r := range s.rows {
			columns, values = append(columns, r.columns...), append(values, r.values...)
			indptr = append(indptr, len(columns))
		}
		X, err := matrices.NewCSR(len(s.rows), s.cols, indptr, columns, values)
		if err != nil {
			panic(err)
		}
		return datasets.Set{X: X, Weights: weights}
	}
	X := mat.NewDense(len(s.rows), s.cols, nil)
	for i, r := range s.rows {
		row := X.RawRowView(i)
		for p, j := range r.columns {
			row[j] += r.values[p]
		}
	}
	return datasets.Set{X: X, Weights: weights}
}

// seed returns initial centers, the best of several starts on the sample, and the mean variance of
// the columns.
func (s *sample) seed(ctx context.Context) (centers []float64, variance float64, err error) {
	s.compact()
	if len(s.rows) < s.spec.Clusters {
		return nil, 0, errFewRows(len(s.rows), s.spec.Clusters)
	}
	data := s.set()
	r, err := design.FromSet(data)
	if err != nil {
		return nil, 0, err
	}
	if variance = meanVariance(rowsOf(data.X), data.Weights, s.cols); variance-variance != 0 {
		return nil, 0, design.NonFiniteError(0, data)
	}
	spec := s.spec
	spec.MaxIter = max(spec.MaxIter, 100)
	var best *Model
	for start := range s.spec.Restarts {
		first, err := s.spec.first(ctx, rowsOf(data.X), data.Weights, s.cols, start)
		if err != nil {
			return nil, 0, err
		}
		m, err := spec.From(ctx, r, first, s.spec.Tol*variance)
		if err != nil {
			return nil, 0, err
		}
		if best == nil || m.Inertia < best.Inertia {
			best = m
		}
	}
	return best.Centers, variance, nil
}

// meanVariance returns the mean over columns of the variance of the weighted rows.
func meanVariance(r rows, weights []float64, d int) float64 {
	mean, mass := make([]float64, d), 0.0
	buffer := make([]float64, d)
	for i, w := range weights {
		r.writeAny(buffer, i)
		kern.Axpy(w, buffer, mean)
		mass += w
	}
	kern.Scale(1/mass, mean)
	total := 0.0
	for i, w := range weights {
		r.writeAny(buffer, i)
		total += w * squaredDistance(buffer, mean)
	}
	return total / mass / float64(d)
}

// state carries the sample to a file and back.
func (s *sample) state(st *model.State) {
	if !st.Restoring() {
		s.compact()
	}
	var keys []uint64
	var weights, values []float64
	var columns []uint32
	starts := []int{0}
	for _, r := range s.rows {
		keys, weights = append(keys, r.key), append(weights, r.weight)
		columns, values = append(columns, r.columns...), append(values, r.values...)
		starts = append(starts, len(columns))
	}
	st.Uint64s("keys", &keys)
	st.Floats("weights", &weights)
	st.Ints("starts", &starts)
	st.Uint32s("columns", &columns)
	st.Floats("values", &values)
	if !st.Restoring() || st.Err() != nil {
		return
	}
	if !s.fits(keys, weights, starts, columns, values) {
		st.Fail("the sampled rows do not fit each other")
		return
	}
	s.rows, s.limit = nil, math.MaxUint64
	for i, key := range keys {
		s.rows = append(s.rows, sampled{key, weights[i], columns[starts[i]:starts[i+1]:starts[i+1]],
			values[starts[i]:starts[i+1]:starts[i+1]]})
	}
	if len(s.rows) == s.most {
		s.limit = s.rows[s.most-1].key
	}
}

// fits reports whether lists that were read are a sample.
func (s *sample) fits(keys []uint64, weights []float64, starts []int, columns []uint32, values []float64) bool {
	if len(keys) > s.most || len(weights) != len(keys) || len(starts) != len(keys)+1 || starts[0] != 0 ||
		starts[len(keys)] != len(columns) || len(values) != len(columns) || !slices.IsSorted(starts) ||
		!slices.IsSorted(keys) {
		return false
	}
	if slices.ContainsFunc(weights, func(w float64) bool { return !pass.NonNegative(w) }) || !kern.AllFinite(values) {
		return false
	}
	for i := range keys {
		row := columns[starts[i]:starts[i+1]]
		for p, j := range row {
			if int(j) >= s.cols || p > 0 && row[p-1] >= j {
				return false
			}
		}
	}
	return true
}

// SampledRows returns the maximum number of rows that a fit samples, for a number of columns.
func SampledRows(s Spec, cols int) int { return newSample(s, cols).most }
