package profile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// sums are the sufficient statistics of all columns.
type sums struct {
	cols            int
	rows            int
	inputs, targets []*columnSums
}

func newSums(schema datasets.Schema, cols int) *sums {
	s := &sums{cols: cols}
	n := max(min(cols, maxColumns), 0)
	maxCounts := min(max(1<<20/max(n+len(schema.Targets), 1), 1<<10), 1<<14)
	for j := range n {
		s.inputs = append(s.inputs, newColumnSums(schema.Column(j), maxCounts))
	}
	for _, c := range schema.Targets {
		s.targets = append(s.targets, newColumnSums(c, maxCounts))
	}
	return s
}

// Add adds a block of rows.
func (s *sums) Add(ctx context.Context, first int, block datasets.Set) error {
	if block.Cols() != s.cols {
		return fmt.Errorf("profile: columns must be %d, got %d", s.cols, block.Cols())
	}
	if err := addRows(ctx, s.inputs, block.X); err != nil {
		return err
	}
	switch {
	case block.Targets != nil:
		if _, n := block.Targets.Dims(); n != len(s.targets) {
			return fmt.Errorf("profile: targets must be %d, got %d", len(s.targets), n)
		}
		if err := addRows(ctx, s.targets, block.Targets); err != nil {
			return err
		}
	case len(s.targets) == 1 && block.Y != nil:
		for _, v := range block.Y {
			s.targets[0].add(v)
		}
	default:
		for _, t := range s.targets {
			t.missing += block.Rows()
		}
	}
	s.rows += block.Rows()
	return nil
}

// Merge adds the statistics of other rows.
func (s *sums) Merge(ctx context.Context, other pass.Sums) error {
	o := other.(*sums)
	for j, t := range s.all() {
		t.merge(o.all()[j])
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
	}
	s.rows += o.rows
	return nil
}

// Next returns nil, because there is only one pass.
func (s *sums) Next(context.Context) (pass.Sums, error) { return nil, nil }

func (s *sums) all() []*columnSums { return append(slices.Clip(s.inputs), s.targets...) }

// State serializes the statistics, concatenated over the columns.
func (s *sums) State(st *model.State) {
	all := s.all()
	n := len(all)
	missing, unknown, zeros, drops, sizes := make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	total := make([]float64, n)
	var levels, counts, words []int
	expectedWords := 0
	var low, high []int
	for j, t := range all {
		missing[j], unknown[j], zeros[j], total[j] = t.missing, t.unknown, t.zeros, t.total
		t.numbers.flush()
		drops[j], sizes[j] = int(t.numbers.droppedBits), len(t.numbers.low)
		levels, counts = append(levels, t.categories...), append(counts, t.numbers.count...)
		words, expectedWords = append(words, t.words...), expectedWords+len(t.words)
		low, high = append(low, toInts(t.numbers.low)...), append(high, toInts(t.numbers.high)...)
	}
	st.Int("rows", &s.rows)
	pass.Ints(st, "missing", &missing, n, 0)
	pass.Ints(st, "unknown", &unknown, n, 0)
	pass.Ints(st, "zeros", &zeros, n, 0)
	pass.Ints(st, "drops", &drops, n, 0)
	pass.Ints(st, "sizes", &sizes, n, 0)
	pass.Floats(st, "total", &total, n, pass.Finite)
	pass.Ints(st, "levels", &levels, len(levels), 0)
	pass.Ints(st, "words", &words, expectedWords, 0)
	entries := 0
	for _, size := range sizes {
		if size > 1<<30 {
			st.Fail("sizes has a number %d", size)
			return
		}
		entries += size
	}
	pass.Ints(st, "counts", &counts, entries, 1)
	pass.Ints(st, "low", &low, entries, math.MinInt)
	pass.Ints(st, "high", &high, entries, math.MinInt)
	if !st.Restoring() || st.Err() != nil {
		return
	}
	for j, t := range all {
		t.missing, t.unknown, t.zeros, t.total = missing[j], unknown[j], zeros[j], total[j]
		levels = levels[copy(t.categories, levels):]
		words = words[copy(t.words, words):]
		size := sizes[j]
		t.numbers.countRuns = countRuns{fromInts(low[:size]), fromInts(high[:size]), slices.Clone(counts[:size])}
		low, high, counts = low[size:], high[size:], counts[size:]
		t.numbers.droppedBits = uint(min(drops[j], 64))
		st.Require(drops[j] < 64 && t.numbers.isValid(), "the counts of its numbers are not in their order")
	}
}

// toInts converts bit patterns for serialization.
func toInts(list []uint64) []int {
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = int(v)
	}
	return out
}

// fromInts is the inverse of toInts.
func fromInts(list []int) []uint64 {
	out := make([]uint64, len(list))
	for i, v := range list {
		out[i] = uint64(v)
	}
	return out
}

// columnSums are the statistics of a column.
type columnSums struct {
	categorical bool
	missing     int
	unknown     int
	zeros       int
	categories  []int   // rows by category code
	total       float64 // sum of values, scaled by 2⁻⁶⁴ to avoid overflow
	numbers     sketch  // non-zero values
	words       []int   // number of words of text, or of labels, by hash
	format      datasets.Format
}

func newColumnSums(c datasets.Column, maxCounts int) *columnSums {
	t := &columnSums{categorical: c.Kind == datasets.Categorical, format: c.Format}
	if c.Kind == datasets.Text {
		t.words = make([]int, wordBuckets)
	}
	if t.numbers.maxCounts = maxCounts; t.categorical {
		t.categories = make([]int, len(c.Categories))
	}
	return t
}

const small = 1.0 / (1 << 32) / (1 << 32)

func (t *columnSums) add(v float64) {
	switch {
	case v-v != 0:
		t.missing++
	case t.categorical:
		if v >= 0 && v < float64(len(t.categories)) {
			t.categories[int(v)]++
		} else {
			t.unknown++
		}
	case v == 0:
		t.zeros++
	default:
		t.total += v * small
		t.numbers.add(v)
	}
}

// addZeros adds n zeros, or n rows of the first category.
func (t *columnSums) addZeros(n int) {
	switch {
	case !t.categorical:
		t.zeros += n
	case len(t.categories) > 0:
		t.categories[0] += n
	default:
		t.unknown += n
	}
}

func (t *columnSums) merge(o *columnSums) {
	t.missing, t.unknown, t.zeros, t.total = t.missing+o.missing, t.unknown+o.unknown, t.zeros+o.zeros, t.total+o.total
	for code, n := range o.categories {
		t.categories[code] += n
	}
	t.numbers.merge(&o.numbers)
	for b, n := range o.words {
		t.words[b] += n
	}
}

// describe returns the statistics of the column.
func (t *columnSums) describe(name string, c datasets.Column, rows int) Column {
	out := Column{Name: name, Kind: c.Kind.String(), Missing: fraction(t.missing, rows),
		Unknown: fraction(t.unknown, rows)}
	if t.categorical {
		t.describeCategories(&out, c.Categories, rows-t.missing)
		return out
	}
	all := t.numbers.withZeros(t.zeros)
	if len(all.low) == 0 {
		return out
	}
	n := rows - t.missing
	out.Min, out.Max = all.low[0], all.high[len(all.high)-1]
	out.Mean = min(max(t.total/float64(n)/small, out.Min), out.Max)
	for k := range 11 {
		out.Quantiles = append(out.Quantiles, all.quantile(float64(k)/10, n))
	}
	out.Cuts, out.Counts = all.bins(n)
	t.describeWords(&out)
	return out
}

func (t *columnSums) describeCategories(out *Column, names []string, rows int) {
	codes := make([]int, 0, len(names))
	for code, n := range t.categories {
		if n > 0 {
			codes = append(codes, code)
		}
		switch n {
		case 1:
			out.OnceCategories++
		case 2:
			out.TwiceCategories++
		}
	}
	slices.SortStableFunc(codes, func(a, b int) int { return cmp.Compare(t.categories[b], t.categories[a]) })
	listed := codes[:min(len(codes), maxLevels)]
	for _, code := range listed {
		out.Categories = append(out.Categories, Category{names[code], fraction(t.categories[code], rows)})
	}
	other := 0
	for _, code := range codes[len(listed):] {
		other += t.categories[code]
	}
	out.OtherCategories, out.Other = len(names)-len(listed), fraction(other, rows)
}

// fraction returns n/all, or 0 for all = 0.
func fraction(n, all int) float64 { return float64(n) / float64(max(all, 1)) }

// counter accumulates the values of a column.
type counter interface {
	add(v float64)
	addZeros(n int)
	addText(text string)
}

// addRows adds the values of the first columns to their counters; zeros of sparse rows are added in
// bulk.
func addRows[C counter](ctx context.Context, columns []C, X mat.Matrix) error {
	n, _ := X.Dims()
	if m := textrows.Of(X); m != nil {
		addTexts(columns, m)
		X = m.Lengths()
	}
	if x, ok := X.(*matrices.CSR); ok {
		return addSparseRows(ctx, columns, x)
	}
	const tile = 4096
	for first := 0; first < n; first += tile {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		last := min(first+tile, n)
		kern.Parallel(len(columns), (len(columns)+7)/8, func(lo, hi int) {
			for i := first; i < last; i++ {
				switch x := X.(type) {
				case *mat.Dense:
					for j, v := range x.RawRowView(i)[lo:hi] {
						columns[lo+j].add(v)
					}
				case *matrices.Dense32:
					for j, v := range x.Row(i)[lo:hi] {
						columns[lo+j].add(float64(v))
					}
				default:
					for j := lo; j < hi; j++ {
						columns[j].add(X.At(i, j))
					}
				}
			}
		})
	}
	return nil
}

func addSparseRows[C counter](ctx context.Context, columns []C, x *matrices.CSR) error {
	n, _ := x.Dims()
	shared, isShared := x.Shared()
	filled := make([]int, len(columns))
	for i := range n {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		indices, values := x.Row(i)
		for k, j := range indices {
			if int(j) >= len(columns) {
				break // columns are ascending
			}
			v := shared
			if !isShared {
				v = values[k]
			}
			filled[j]++
			columns[j].add(v)
		}
	}
	for j, c := range columns {
		c.addZeros(n - filled[j])
	}
	return nil
}

// validate checks that the statistics are consistent with the column and the number of rows.
func (c Column) validate(name string, schema datasets.Column, rows int) error {
	wrong := func(what string) error { return fmt.Errorf("profile: column %q: %s", c.Name, what) }
	switch {
	case c.Name != name || c.Kind != schema.Kind.String():
		return wrong(fmt.Sprintf("must be the %s column %q", schema.Kind, name))
	case !isFraction(c.Missing) || !isFraction(c.Unknown) || !isFraction(c.Other):
		return wrong("a share is not between 0 and 1")
	case schema.Kind == datasets.Categorical && len(c.Counts) > 0,
		schema.Kind != datasets.Categorical && len(c.Categories) > 0:
		return wrong("it has what only columns of the other kind have")
	case len(c.Quantiles) != 0 && len(c.Quantiles) != 11 || len(c.Quantiles) > 0 != (len(c.Counts) > 0):
		return wrong("must have 11 quantiles, with counts")
	case len(c.Counts) != 0 && len(c.Cuts) != len(c.Counts)-1 || len(c.Counts) == 0 && len(c.Cuts) > 0:
		return wrong("must have one count more than cuts")
	case !slices.IsSorted(c.Quantiles) || !ascending(c.Cuts) || c.Min > c.Max:
		return wrong("its numbers are not in ascending order")
	case len(c.Categories) > maxLevels || c.OtherCategories < 0:
		return wrong("must have at most 50 categories")
	case c.OnceCategories < 0 || c.TwiceCategories < 0 ||
		c.OnceCategories > len(schema.Categories) || c.TwiceCategories > len(schema.Categories)-c.OnceCategories:
		return wrong("must have at most as many categories with one or two rows as categories")
	case len(c.Words) != 0 && (len(c.Words) != wordBuckets/8 || schema.Kind != datasets.Text):
		return wrong("its words do not have the right number of bits")
	}
	left := rows
	for _, n := range c.Counts {
		if n < 0 || n > left {
			return wrong("its counts exceed the number of rows")
		}
		left -= n
	}
	listed, wrongShare := map[string]bool{}, false
	for _, l := range c.Categories {
		listed[l.Name] = true
		wrongShare = wrongShare || !isFraction(l.Fraction)
	}
	known := 0
	for _, name := range schema.Categories {
		if listed[name] {
			known++
			delete(listed, name)
		}
	}
	if known != len(c.Categories) || wrongShare {
		return wrong("a level is not one of the column, or listed twice, or its share is not between 0 and 1")
	}
	return nil
}

func isFraction(v float64) bool { return v >= 0 && v <= 1 }

func ascending(list []float64) bool {
	for i := 1; i < len(list); i++ {
		if !(list[i-1] < list[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(list, func(v float64) bool { return math.IsNaN(v) })
}
