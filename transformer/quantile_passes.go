package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// quantiles computes exact quantiles of each column at given probabilities, ignoring missing
// values. As in numpy's linear method, the quantile of probability p of n values is interpolated at
// position p·(n−1) of the sorted column.
//
// A [selection] per column finds the order statistics, in one pass over few rows, else in three to
// five. If the selections of all columns exceed the memory limit, groups of columns are processed
// sequentially. Merging adds counts and values, so the result does not depend on the partition of
// the rows.
type quantiles struct {
	plan       quantilePlan
	schema     datasets.Schema
	rows       int         // number of rows, counted in the first pass
	first      int         // first column of the current group
	results    [][]float64 // quantiles of the columns before first
	selections []*selection
}

// quantilePlan contains the parameters of the quantile search.
type quantilePlan struct {
	width         int                      // number of columns
	maxQuantiles  int                      // maximum number of quantiles per column
	probabilities func(rows int) []float64 // ascending, for a number of rows
	memory        int                      // memory limit of the selections of a group, in bytes
	buf           buf                      // limits of one selection
}

// planQuantiles returns a plan without probabilities for width columns with at most maxQuantiles
// quantiles each.
func planQuantiles(width, maxQuantiles int) quantilePlan {
	const memory = 1 << 26
	share := memory / max(width, 1)
	limits := buf{cells: min(max(1<<10, share/cellBytes), 1<<14), kept: min(max(1<<10, share/8), 1<<16)}
	return quantilePlan{width: width, maxQuantiles: maxQuantiles, memory: memory, buf: limits}
}

// selectionBytes returns the maximum memory of the selection of a column, including its spans.
func (p quantilePlan) selectionBytes() int {
	return max(p.buf.cells*cellBytes, 8*p.buf.kept) + 2*p.maxQuantiles*(spanBytes+2*cellBytes)
}

// maxConcurrentColumns returns the number of columns whose quantiles are found in the same pass.
func (p quantilePlan) maxConcurrentColumns() int {
	return min(p.width, max(1, p.memory/p.selectionBytes()))
}

// bytes returns the memory of the concurrent selections for a number of rows.
func (p quantilePlan) bytes(rows int) int64 {
	if rows <= p.buf.kept {
		return 8 * int64(rows) * int64(p.maxConcurrentColumns())
	}
	return int64(p.selectionBytes()) * int64(p.maxConcurrentColumns())
}

// newQuantiles returns the search for quantiles at fixed probabilities.
func newQuantiles(probabilities []float64, schema datasets.Schema, width int) *quantiles {
	plan := planQuantiles(width, len(probabilities))
	plan.probabilities = func(int) []float64 { return probabilities }
	return beginQuantiles(plan, schema)
}

func beginQuantiles(plan quantilePlan, schema datasets.Schema) *quantiles {
	q := &quantiles{plan: plan, schema: schema}
	q.open()
	return q
}

// end returns the end of the current group of columns, exclusive.
func (q *quantiles) end() int { return min(q.plan.width, q.first+q.plan.maxConcurrentColumns()) }

// open creates the selections of the current group.
func (q *quantiles) open() {
	q.selections = nil
	for range q.end() - q.first {
		q.selections = append(q.selections, newSelection(q.plan.buf))
	}
}

// counting reports whether this pass counts the rows.
func (q *quantiles) counting() bool {
	return q.first == 0 && len(q.selections) > 0 && q.selections[0].count == 0
}

func (q *quantiles) add(ctx context.Context, _ int, X mat.Matrix) error {
	n, _ := X.Dims()
	if q.counting() {
		q.rows += n
	}
	dense, ok := X.(*mat.Dense)
	if !ok {
		lo, hi := q.first, q.end()
		design.EachEntry(X, func(j int, v, times float64) {
			if j >= lo && j < hi {
				q.selections[j-lo].add(sortable(v), uint64(times))
			}
		})
		return nil
	}
	const rows, columns = 256, 8 // tile that stays in the cache
	raw := dense.RawMatrix()
	kern.Parallel(len(q.selections), columns, func(from, to int) {
		for lo := 0; lo < n && ctx.Err() == nil; lo += rows {
			for k, s := range q.selections[from:to] {
				for i := lo; i < min(lo+rows, n); i++ {
					if v := raw.Data[i*raw.Stride+q.first+from+k]; v == v {
						s.add(sortable(v), 1)
					}
				}
			}
		}
	})
	return ctxerr.Check(ctx)
}

func (q *quantiles) merge(other inputSums) error {
	o := other.(*quantiles)
	if q.first != o.first || len(q.selections) != len(o.selections) {
		return errOtherRows
	}
	for k, s := range q.selections {
		if !s.compatible(o.selections[k]) {
			return errOtherRows
		}
	}
	if q.counting() {
		q.rows += o.rows
	}
	for k, s := range q.selections {
		s.merge(o.selections[k])
	}
	return nil
}

func (q *quantiles) next(context.Context) (inputSums, error) {
	n, err := q.narrow()
	if err != nil || n.first == n.plan.width {
		return nil, err
	}
	return n, nil
}

// narrow returns the state after this pass; all columns are finished if its first is width.
func (q *quantiles) narrow() (*quantiles, error) {
	next := *q
	next.selections = make([]*selection, len(q.selections))
	probabilities, done := q.plan.probabilities(q.rows), true
	for k, s := range q.selections {
		count := s.total()
		if count == 0 {
			return nil, missingColumn(q.schema, q.first+k)
		}
		var err error
		if next.selections[k], err = s.next(count, ranksOf(probabilities, count)); err != nil {
			return nil, err
		}
		done = done && next.selections[k].done()
	}
	if !done {
		return &next, nil
	}
	next.results = slices.Clone(q.results)
	for _, s := range next.selections {
		next.results = append(next.results, interpolated(probabilities, s.count, s.values))
	}
	next.first = q.end()
	next.open()
	return &next, nil
}

// ranksOf returns the ascending, distinct ranks of the order statistics next to each quantile of
// count values.
func ranksOf(probabilities []float64, count uint64) []uint64 {
	ranks := make([]uint64, 0, 2*len(probabilities))
	for _, p := range probabilities {
		low, high, _ := neighbors(p, count)
		ranks = append(ranks, low, high)
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// neighbors returns the ranks next to a quantile of count values, and its relative position t in
// [0, 1) between them.
func neighbors(probability float64, count uint64) (low, high uint64, t float64) {
	at := probability * float64(count-1)
	low = min(uint64(at), count-1)
	return low, min(low+1, count-1), at - math.Floor(at)
}

// interpolated returns the quantiles of count values, given the values at the ranks of ranksOf.
func interpolated(probabilities []float64, count uint64, values []float64) []float64 {
	ranks := ranksOf(probabilities, count)
	out := make([]float64, len(probabilities))
	for k, p := range probabilities {
		low, high, t := neighbors(p, count)
		a, _ := slices.BinarySearch(ranks, low)
		b, _ := slices.BinarySearch(ranks, high)
		out[k] = between(values[a], values[b], t)
	}
	return out
}

// values returns the quantiles of each column after the last pass.
func (q *quantiles) values() ([][]float64, error) {
	n, err := q.narrow()
	if err != nil {
		return nil, err
	}
	return n.results, nil
}

func (q *quantiles) state(s *model.State) {
	s.Int("read", &q.rows)
	s.Int("first", &q.first)
	s.Require(q.rows >= 0 && q.first >= 0 && q.first < q.plan.width, "the columns that are searched are none")
	if s.Err() != nil {
		return
	}
	probabilities := q.plan.probabilities(q.rows)
	flat := slices.Concat(q.results...)
	pass.Floats(s, "found", &flat, q.first*len(probabilities), pass.Finite)
	if s.Restoring() && s.Err() == nil {
		q.results = slices.Collect(slices.Chunk(flat, len(probabilities)))
		q.open()
	}
	if s.Err() == nil {
		stateOfSelections(s, q.selections, probabilities)
	}
}

// between interpolates linearly from a to b ≥ a.
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
