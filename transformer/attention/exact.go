package attention

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Exact returns exact attention: for each query the mean of the values with weights
// exp(q'k/sqrt(Width)).
//
// Shapes: see [Shape]. Cost per head: 2·Queries·Keys·(Width + Values) flops and Queries·Keys
// exponentials, half of that if causal. Memory: one tile of weights per core. Errors: invalid
// shape, slice lengths or elements; ctx is done.
func Exact(ctx context.Context, shape Shape, q, k, v []float64) ([]float64, error) {
	return exact(ctx, shape, q, k, v)
}

// ExactFloat32 is the float32 version of [Exact].
func ExactFloat32(ctx context.Context, shape Shape, q, k, v []float32) ([]float32, error) {
	return exact(ctx, shape, q, k, v)
}

// Tile sizes of exact attention.
const (
	queryTile = 96
	keyTile   = 256
)

func exact[T kern.Float](ctx context.Context, shape Shape, q, k, v []T) ([]T, error) {
	// Bounds inner products, so that they are finite.
	limit := math.Sqrt(maxFinite[T]() / (4 * float64(max(shape.Width, 1))))
	if err := validate(shape, 0, q, k, v, limit, 1); err != nil {
		return nil, err
	}
	p := tensors[T]{shape, q, k, v, make([]T, shape.sequences()*shape.Queries*shape.Values)}
	tiles := (p.Queries + queryTile - 1) / queryTile
	kern.Parallel(p.sequences()*tiles, 1, func(unit, _ int) {
		p.exactTile(ctx, unit/tiles, (tiles-1-unit%tiles)*queryTile) // start with the longest tiles if causal
	})
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return p.out, nil
}

// exactTile computes the results of up to queryTile queries from lo on.
func (p *tensors[T]) exactTile(ctx context.Context, sequence, lo int) {
	hi := min(lo+queryTile, p.Queries)
	rows, wide := hi-lo, p.Values+1
	buffer := design.Borrow[T](rows*(p.Width+keyTile+wide+1) + keyTile*wide)
	defer buffer.Release()
	free := buffer.Data
	take := func(r, c int) kern.View[T] {
		part := kern.Dense(r, c, c, free[:r*c])
		free = free[r*c:]
		return part
	}
	queries, weights, sums, values := take(rows, p.Width), take(rows, keyTile), take(rows, wide), take(keyTile, wide)
	maxScores := free[:rows]
	all := p.queries(sequence)
	for i := range rows {
		copy(queries.Row(i), all.Row(lo+i))
		maxScores[i] = T(math.Inf(-1))
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
			visible := to - from
			if p.Causal {
				visible = min(visible, lo+i+1-from)
			}
			maxScores[i] = p.softmaxWeights(tile.Row(i), max(visible, 0), maxScores[i], sums.Row(i))
		}
		appendOnes(values, p.values(sequence), from, to)
		kern.Mul(sums, tile, values.Slice(0, to-from, 0, wide), true)
	}
	normalizeRows(p.result(sequence), sums, lo)
}

// softmaxWeights replaces the scores of a query by weights relative to the running maximum, sets those of
// masked keys to 0, and rescales the sums. It returns the new maximum.
func (p *tensors[T]) softmaxWeights(scores []T, visible int, maxScore T, sums []T) T {
	clear(scores[visible:])
	scores = scores[:visible]
	newMax := maxScore
	for _, s := range scores {
		newMax = max(newMax, s)
	}
	if newMax > maxScore {
		kern.Scale(T(math.Exp(float64(maxScore-newMax))), sums)
	}
	for j := range scores {
		scores[j] -= newMax
	}
	kern.Exp(scores, scores)
	return newMax
}

// appendOnes copies values from to to, each followed by a 1, which accumulates the sum of weights.
func appendOnes[T kern.Float](dst, values kern.View[T], from, to int) {
	for i := from; i < to; i++ {
		row := dst.Row(i - from)
		row[copy(row, values.Row(i))] = 1
	}
}

// normalizeRows writes the weighted sums, divided by the sum of weights in their last column, to dst from
// row lo on.
func normalizeRows[T kern.Float](dst, sums kern.View[T], lo int) {
	for i := range sums.Rows {
		row := sums.Row(i)
		total, out := row[dst.Cols], dst.Row(lo+i)
		for j := range out {
			out[j] = row[j] / total
		}
	}
}
