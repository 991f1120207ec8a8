package attention

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Exact returns exact attention: for each query the mean of the values, weighted by exp(q'k/sqrt(Width)).
//
// Shapes: see [Shape]. Cost: 2·Queries·Keys·(Width + Values) flops and Queries·Keys exponentials for each head, half of
// that where it is causal; tiles of weights are made and used up, so that memory does not grow with their number. An
// error names what is wrong with the shape, the slices or a number in them, or is the context's.
func Exact(ctx context.Context, shape Shape, q, k, v []float64) ([]float64, error) {
	return exact(ctx, shape, q, k, v)
}

// ExactFloat32 is [Exact] in single precision.
func ExactFloat32(ctx context.Context, shape Shape, q, k, v []float32) ([]float32, error) {
	return exact(ctx, shape, q, k, v)
}

// Tiles of exact attention: weights of so many queries and keys are made at once.
const (
	queryTile = 96
	keyTile   = 256
)

func exact[T kern.Float](ctx context.Context, shape Shape, q, k, v []T) ([]T, error) {
	// Inner products of such numbers are finite.
	limit := math.Sqrt(largest[T]() / (4 * float64(max(shape.Width, 1))))
	if err := checkAll(shape, 0, q, k, v, limit, 1); err != nil {
		return nil, err
	}
	p := problem[T]{shape, q, k, v, make([]T, shape.sequences()*shape.Queries*shape.Values)}
	tiles := (p.Queries + queryTile - 1) / queryTile
	kern.Parallel(p.sequences()*tiles, 1, func(unit, _ int) {
		p.exactTile(ctx, unit/tiles, (tiles-1-unit%tiles)*queryTile) // causal: the longest first
	})
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return p.out, nil
}

// exactTile computes the results of the queries from lo on.
func (p *problem[T]) exactTile(ctx context.Context, sequence, lo int) {
	hi := min(lo+queryTile, p.Queries)
	rows, wide := hi-lo, p.Values+1
	hold := design.Borrow[T](rows*(p.Width+keyTile+wide+1) + keyTile*wide)
	defer hold.Release()
	room := hold.Data
	take := func(r, c int) kern.View[T] {
		part := kern.Dense(r, c, c, room[:r*c])
		room = room[r*c:]
		return part
	}
	queries, weights, sums, values := take(rows, p.Width), take(rows, keyTile), take(rows, wide), take(keyTile, wide)
	top := room[:rows]
	all := p.queries(sequence)
	for i := range rows {
		copy(queries.Row(i), all.Row(lo+i))
		top[i] = T(math.Inf(-1))
	}
	kern.Scale(T(1/math.Sqrt(float64(p.Width))), queries.Data[:rows*p.Width])
	clear(sums.Data[:rows*wide])
	end := p.Keys
	if p.Causal {
		end = hi
	}
	for from := 0; from < end; from += keyTile {
		if ctx.Err() != nil {
			return
		}
		to := min(from+keyTile, end)
		tile := weights.Slice(0, rows, 0, to-from)
		kern.Mul(tile, queries, p.keys(sequence).Slice(from, to, 0, p.Width).T(), false)
		for i := range rows {
			seen := to - from
			if p.Causal {
				seen = min(seen, lo+i+1-from)
			}
			top[i] = p.weigh(tile.Row(i), max(seen, 0), top[i], sums.Row(i))
		}
		withOnes(values, p.values(sequence), from, to)
		kern.Mul(sums, tile, values.Slice(0, to-from, 0, wide), true)
	}
	divide(p.result(sequence), sums, lo)
}

// weigh turns the scores of a query into weights by the largest score so far, those of keys that it does not see into 0,
// and makes the sums so far ones by the same. It returns the largest.
func (p *problem[T]) weigh(scores []T, seen int, top T, sums []T) T {
	clear(scores[seen:])
	scores = scores[:seen]
	next := top
	for _, s := range scores {
		next = max(next, s)
	}
	if next > top {
		kern.Scale(T(math.Exp(float64(top-next))), sums)
	}
	for j := range scores {
		scores[j] -= next
	}
	kern.Exp(scores, scores)
	return next
}

// withOnes writes values from to to, each with a 1 behind it: what is summed of that is the sum of weights.
func withOnes[T kern.Float](dst, values kern.View[T], from, to int) {
	for i := from; i < to; i++ {
		row := dst.Row(i - from)
		row[copy(row, values.Row(i))] = 1
	}
}

// divide writes weighted sums, divided by the sums of weights behind them, to the rows of dst from lo on.
func divide[T kern.Float](dst, sums kern.View[T], lo int) {
	for i := range sums.Rows {
		row := sums.Row(i)
		total, out := row[dst.Cols], dst.Row(lo+i)
		for j := range out {
			out[j] = row[j] / total
		}
	}
}
