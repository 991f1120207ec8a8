package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/model"
)

// quantiles finds, for every column, the exact quantiles of its values (missing ones left out) at the
// probabilities, interpolated linearly between order statistics as numpy does: probability p of n values
// is at position p·(n−1) of the sorted column.
//
// The first pass counts the values. Then the order statistics are found by radix selection over the bits
// of the numbers, [digitBits] of them in a pass, so that memory depends on the number of columns alone;
// where it would exceed selectionMemory, groups of columns take turns. Every pass counts, and so merges
// exactly.
type quantiles struct {
	probabilities []float64
	schema        datasets.Schema
	width         int
	count         []float64 // of the values in every column
	counted       bool      // whether count is of all rows, from the pass before
	first         int       // column of the group that is searched
	found         []float64 // of the columns before it, probabilities for each
	searches      []*search // of the group: two for each probability of each column
}

const (
	digitBits       = 12 // sign and exponent, then 12 bits of the fraction at a time
	selectionMemory = 1 << 26
	fewValues       = 1 << 10 // so many are kept and sorted
)

func newQuantiles(probabilities []float64, schema datasets.Schema, width int) *quantiles {
	return &quantiles{probabilities: probabilities, schema: schema, width: width, count: make([]float64, width)}
}

// each is how many searches there are for a column.
func (q *quantiles) each() int { return 2 * len(q.probabilities) }

// end is the column after the group that is searched.
func (q *quantiles) end() int {
	return min(q.width, q.first+max(1, selectionMemory/(16<<digitBits*len(q.probabilities))))
}

// open begins the searches of a group.
func (q *quantiles) open() {
	q.searches = nil
	for j := q.first; j < q.end(); j++ {
		n := q.count[j]
		for _, p := range q.probabilities {
			low := uint64(p * (n - 1))
			q.searches = append(q.searches, newSearch(low, uint64(n)), newSearch(min(low+1, uint64(n)-1), uint64(n)))
		}
	}
}

func (q *quantiles) add(_ context.Context, _ int, X mat.Matrix) error {
	if !q.counted {
		eachEntry(X, func(j int, v, times float64) { q.count[j] += times })
		return nil
	}
	lo, hi, each := q.first, q.end(), q.each()
	eachEntry(X, func(j int, v, times float64) {
		if j < lo || j >= hi {
			return
		}
		k := sortable(v)
		for _, s := range q.searches[(j-lo)*each : (j-lo+1)*each] {
			s.add(k, uint64(times))
		}
	})
	return nil
}

func (q *quantiles) merge(other inputSums) error {
	o := other.(*quantiles)
	if !q.counted && !o.counted {
		for j, n := range o.count {
			q.count[j] += n
		}
		return nil
	}
	if q.counted != o.counted || q.first != o.first || len(q.searches) != len(o.searches) {
		return errOtherRows
	}
	for i, s := range q.searches {
		if !s.like(o.searches[i]) {
			return errOtherRows
		}
	}
	for i, s := range q.searches {
		s.merge(o.searches[i])
	}
	return nil
}

func (q *quantiles) next(context.Context) (inputSums, error) {
	n, err := q.narrowed()
	if err != nil || n.first == n.width {
		return nil, err
	}
	return n, nil
}

// narrowed returns what is known after the pass; all is, where no column is left.
func (q *quantiles) narrowed() (*quantiles, error) {
	n := *q
	if !q.counted {
		n.count, n.counted = slices.Clone(q.count), true
		n.open()
		return &n, allMissing(q.count, q.schema)
	}
	n.searches = make([]*search, len(q.searches))
	done := true
	for i, s := range q.searches {
		var err error
		if n.searches[i], err = s.narrowed(); err != nil {
			return nil, err
		}
		done = done && n.searches[i].done
	}
	if !done {
		return &n, nil
	}
	n.found = slices.Clone(q.found)
	for i := 0; i < len(n.searches); i += 2 {
		k := i / 2
		at := n.probabilities[k%len(n.probabilities)] * (n.count[n.first+k/len(n.probabilities)] - 1)
		n.found = append(n.found, between(n.searches[i].value(), n.searches[i+1].value(), at-math.Floor(at)))
	}
	n.first = n.end()
	n.open()
	return &n, nil
}

// values returns the quantiles of each column, after the last pass.
func (q *quantiles) values() ([][]float64, error) {
	n, err := q.narrowed()
	if err != nil {
		return nil, err
	}
	out := make([][]float64, q.width)
	for j := range out {
		out[j] = n.found[j*len(q.probabilities) : (j+1)*len(q.probabilities)]
	}
	return out, nil
}

func (q *quantiles) state(s *model.State) {
	s.Bool("counted", &q.counted)
	pass.Floats(s, "count", &q.count, q.width, pass.Count)
	if !q.counted || s.Err() != nil {
		return
	}
	s.Int("first", &q.first)
	s.Require(q.first >= 0 && q.first < q.width, "the columns that are searched are none")
	for _, n := range q.count {
		s.Require(n >= 1 && n <= 1<<53, "a column has no values")
	}
	if s.Err() != nil {
		return
	}
	pass.Floats(s, "found", &q.found, q.first*len(q.probabilities), pass.Finite)
	q.stateOfSearches(s, (q.end()-q.first)*q.each())
}

// stateOfSearches carries n searches, field by field.
func (q *quantiles) stateOfSearches(s *model.State, n int) {
	var rank, total, key, low, high, counts, kept []uint64
	var known, form, lengths []int
	for _, f := range q.searches {
		rank, total, key, low, high = append(rank, f.rank), append(total, f.total), append(key, f.key), append(low, f.low), append(high, f.high)
		known, form, lengths = append(known, f.known), append(form, f.form()), append(lengths, len(f.kept))
		kept = append(kept, f.kept...)
		if f.form() == counting {
			counts = append(counts, f.counts...)
		}
	}
	for name, list := range map[string]*[]uint64{"rank": &rank, "total": &total, "key": &key, "low": &low, "high": &high, "counts": &counts, "kept": &kept} {
		s.Uint64s(name, list)
	}
	pass.Ints(s, "known", &known, n, 0)
	pass.Ints(s, "form", &form, n, 0)
	pass.Ints(s, "kept_lengths", &lengths, n, 0)
	if !s.Reading() || s.Err() != nil {
		return
	}
	s.Require(len(rank) == n && len(total) == n && len(key) == n && len(low) == n && len(high) == n, "the searches differ in length")
	q.searches = nil
	for i := 0; i < n && s.Err() == nil; i++ {
		f := &search{rank: rank[i], total: total[i], key: key[i], known: known[i], low: low[i], high: high[i]}
		f.keep, f.done = form[i] == keeping, form[i] == settled
		s.Require(form[i] <= settled && f.rank < f.total && (f.done || f.known < 64 && f.known%digitBits == 0), "a search is not one")
		s.Require(lengths[i] <= len(kept) && uint64(lengths[i]) <= f.total && (lengths[i] == 0 || f.keep), "the kept values do not fit")
		s.Require(!f.keep || f.total <= fewValues, "more values would be kept than are few")
		s.Require(f.form() != counting || len(counts) >= 1<<digitBits, "the counts do not fit")
		if s.Err() != nil {
			return
		}
		f.kept, kept = slices.Clone(kept[:lengths[i]]), kept[lengths[i]:]
		if f.form() == counting {
			f.counts, counts = slices.Clone(counts[:1<<digitBits]), counts[1<<digitBits:]
		}
		q.searches = append(q.searches, f)
	}
	s.Require(len(counts) == 0 && len(kept) == 0, "the searches have numbers too many")
}

// between interpolates from a to b ≥ a.
func between(a, b, t float64) float64 {
	switch gap := b - a; {
	case gap == 0:
		return a
	case math.IsInf(gap, 0):
		return a*(1-t) + b*t
	case t < 0.5:
		return a + gap*t
	default:
		return b - gap*(1-t)
	}
}

// search looks for the number of a given rank in a multiset of sortable keys. It knows the leading
// bits of the answer and counts, in one pass over the keys, those that share them by their next
// digit; few keys are kept instead.
type search struct {
	rank      uint64 // among the keys that share the known bits
	total     uint64 // how many these are
	key       uint64 // the known bits, zeros below
	known     int    // how many there are
	counts    []uint64
	keep      bool
	kept      []uint64
	low, high uint64 // of the keys met in this pass
	done      bool
}

func newSearch(rank, total uint64) *search {
	return &search{rank: rank, total: total, counts: make([]uint64, 1<<digitBits), low: math.MaxUint64}
}

// The forms of a search.
const (
	counting = iota
	keeping
	settled
)

func (s *search) form() int {
	switch {
	case s.done:
		return settled
	case s.keep:
		return keeping
	}
	return counting
}

func (s *search) add(key, times uint64) {
	if s.done || s.known > 0 && (key^s.key)>>(64-s.known) != 0 {
		return
	}
	if s.keep {
		for range min(times, s.total+1-uint64(len(s.kept))) { // one too many is enough to be noticed
			s.kept = append(s.kept, key)
		}
		return
	}
	s.low, s.high = min(s.low, key), max(s.high, key)
	s.counts[key<<s.known>>(64-digitBits)] += times
}

// like reports whether two searches look for the same number, with the same bits known.
func (s *search) like(o *search) bool {
	return s.rank == o.rank && s.total == o.total && s.key == o.key && s.known == o.known && s.form() == o.form()
}

// merge adds the keys of other rows.
func (s *search) merge(o *search) {
	switch s.form() {
	case keeping:
		s.kept = append(s.kept, o.kept[:min(uint64(len(o.kept)), s.total+1-uint64(len(s.kept)))]...)
	case counting:
		s.low, s.high = min(s.low, o.low), max(s.high, o.high)
		for digit, n := range o.counts {
			s.counts[digit] += n
		}
	}
}

// narrowed returns the search that the next pass goes on with.
func (s *search) narrowed() (*search, error) {
	n := &search{rank: s.rank, total: s.total, key: s.key, known: s.known, low: math.MaxUint64}
	seen := uint64(len(s.kept))
	for _, k := range s.counts {
		seen += k
	}
	switch {
	case s.done:
		return s, nil
	case seen != s.total:
		return nil, errOtherRows
	case s.keep:
		n.key, n.done = slices.Sorted(slices.Values(s.kept))[s.rank], true
		return n, nil
	case s.low == s.high:
		n.key, n.done = s.low, true
		return n, nil
	}
	digit := uint64(0)
	for n.rank >= s.counts[digit] {
		n.rank -= s.counts[digit]
		digit++
	}
	n.total = s.counts[digit]
	n.keep = n.total <= fewValues
	n.key |= digit << (64 - digitBits) >> s.known
	n.known += digitBits
	if n.known >= 64 {
		n.known, n.done = 64, true
	}
	if n.form() == counting {
		n.counts = make([]uint64, 1<<digitBits)
	}
	return n, nil
}

func (s *search) value() float64 { return fromSortable(s.key) }

// sortable maps a number to a key such that keys are ordered as the numbers are.
func sortable(v float64) uint64 {
	b := math.Float64bits(v + 0) // −0 is 0
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func fromSortable(k uint64) float64 {
	if k>>63 == 1 {
		return math.Float64frombits(k &^ (1 << 63))
	}
	return math.Float64frombits(^k)
}
