package pairwise

import (
	"context"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
)

// TileRows and TileColumns are the shape of tiles that fit in the second-level cache.
const (
	TileRows    = 128
	TileColumns = 512
)

// Matrix writes k of row i of x and row j of y, in a frame that is that of k and its γ, to dst[i,
// j]. The rows of dst are contiguous. A panic of a registered kernel is an error.
func Matrix[T kern.Float](ctx context.Context, dst kern.View[T], x, y Rows[T], k *Kernel) (err error) {
	if k.function != nil {
		defer guard.Recover(&err, k.function, k.name)
	}
	tiles(ctx, x.n, func(lo, hi int) {
		for j := 0; j < y.n && ctx.Err() == nil; j += TileColumns {
			end := min(j+TileColumns, y.n)
			tile := dst.Slice(lo, hi, j, end)
			Distances(tile, x.Slice(lo, hi), y.Slice(j, end), k.Metric)
			Values(k, 1, tile)
		}
	})
	return ctxerr.Check(ctx)
}

// Tiles writes the distance of row i of x and row j of y to dst[i, j], on all cores. The rows of dst are contiguous.
func Tiles[T kern.Float](ctx context.Context, dst kern.View[T], x, y Rows[T], metric Metric) error {
	tiles(ctx, x.n, func(lo, hi int) {
		for j := 0; j < y.n && ctx.Err() == nil; j += TileColumns {
			end := min(j+TileColumns, y.n)
			Distances(dst.Slice(lo, hi, j, end), x.Slice(lo, hi), y.Slice(j, end), metric)
		}
	})
	return ctxerr.Check(ctx)
}

// tiles calls f with the rows of each stripe of tiles, on all cores, until ctx is done.
func tiles(ctx context.Context, n int, f func(lo, hi int)) {
	kern.Parallel(n, TileRows, func(lo, hi int) {
		if ctx.Err() == nil {
			f(lo, hi)
		}
	})
}

// Multiply adds k(x, y)·v to dst without holding the kernel matrix: v is y.Len() × outputs, dst x.Len() × outputs,
// rows contiguous. The sums go over y in a fixed order. A panic of a registered kernel is an error.
func Multiply[T kern.Float](ctx context.Context, dst kern.View[T], x, y Rows[T], k *Kernel, v kern.View[T]) (
	err error) {
	if k.function != nil {
		defer guard.Recover(&err, k.function, k.name)
	}
	if dst.Rows != x.n || v.Rows != y.n || dst.Cols != v.Cols {
		panic("pairwise: Multiply of shapes that do not fit")
	}
	tiles(ctx, x.n, func(lo, hi int) {
		hold := design.Borrow[T](TileRows * TileColumns)
		defer hold.Release()
		for j := 0; j < y.n && ctx.Err() == nil; j += TileColumns {
			end := min(j+TileColumns, y.n)
			tile := kern.Dense(hi-lo, end-j, end-j, hold.Data)
			Distances(tile, x.Slice(lo, hi), y.Slice(j, end), k.Metric)
			Values(k, 1, tile)
			product(dst.Slice(lo, hi, 0, dst.Cols), tile, v.Slice(j, end, 0, v.Cols))
		}
	})
	return ctxerr.Check(ctx)
}

// product adds tile·v to dst.
func product[T kern.Float](dst, tile, v kern.View[T]) {
	if v.Cols != 1 {
		kern.Mul(dst, tile, v, true)
		return
	}
	hold := design.Borrow[T](v.Rows)
	defer hold.Release()
	for j := range hold.Data {
		hold.Data[j] = v.At(j, 0)
	}
	for i := range dst.Rows {
		dst.Data[i*dst.RowStride] += kern.Dot(tile.Row(i), hold.Data)
	}
}
