package kern

import (
	"context"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// MulRows computes A·B in blocks of rows and passes each block to f while it is in the second-level
// cache:
//
//	f(first, C):  c[i,j] = Σ_k a[first+i,k]·b[k,j]
//
// A is m × k, B is k × n, with any strides. C is row-major scratch that f may modify. f is called
// once per block, concurrently; the bounds of blocks depend on the shapes alone. B is packed once.
// Cost 2mnk flops. Once ctx is done, MulRows returns ctxerr.Check(ctx) and skips the remaining
// blocks.
func MulRows[T Float](ctx context.Context, a, b View[T], f func(first int, c View[T])) error {
	if a.Cols != b.Rows {
		panic("kern: MulRows of shapes that do not fit")
	}
	bl := blockingOf[T]()
	blocks := max(1, (a.Cols+bl.kc/2)/bl.kc) // of the same depth, about kc
	depth, width := (a.Cols+blocks-1)/blocks, roundUp(b.Cols, bl.nr)
	hold, packed := borrow[T](a.Cols*width + 1)
	defer hold.release()
	p := product[T]{b: b, store: set, ctx: ctx}
	for k := 0; k < a.Cols; k += depth {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		p.packRight(packed[k*width:], bl, k, min(depth, a.Cols-k), 0, b.Cols)
	}
	Parallel(a.Rows, partRows, func(lo, hi int) {
		if p.stopped() != nil {
			return
		}
		hold, sums := borrow[T]((hi - lo) * width)
		defer hold.release()
		q := product[T]{c: Dense(hi-lo, width, width, sums), a: a.Slice(lo, hi, 0, a.Cols), store: set}
		if a.Cols == 0 {
			zero(q.c)
		}
		for k := 0; k < a.Cols; k += depth {
			q.stripe(packed[k*width:], bl, k, min(depth, a.Cols-k), 0, width, 0, hi-lo)
		}
		f(lo, q.c.Slice(0, hi-lo, 0, b.Cols))
	})
	return ctxerr.Check(ctx)
}

// partRows is the number of rows per block of MulRows, a multiple of every mr.
const partRows = 96
