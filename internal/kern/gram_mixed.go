package kern

import (
	"context"
	"runtime"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// GramMixed is Gram of a float32 matrix with a float64 result. Blocks of at most 512 rows are
// summed in float32, totals in float64. It is nearly as fast as the float32 Gram, and its error
// does not grow with the number of rows.
func GramMixed(ctx context.Context, c View[float64], a View[float32], weights []float32) error {
	checkGram(c.Rows, c.Cols, a, weights)
	g := mixedGram{c: c, a: a, weights: weights, bl: blockingOf[float32](), ctx: ctx}
	return g.run()
}

// mixedGram is one call of GramMixed. C exceeds the caches, so it is read and written once per
// several blocks of depth, whose sums are accumulated in a cached buffer.
type mixedGram struct {
	c       View[float64]
	a       View[float32]
	weights []float32
	bl      blocking
	ctx     context.Context
}

// Block sizes: mixedDepth rows of A, in blocks of the float32 depth, are added to mixedRows rows
// and mixedPanels panels of C, so that operands and sums stay in the second-level cache. A is
// packed for a stripe of several times as many rows. Only the depth of a block affects the result.
const (
	mixedDepth  = 1024
	mixedRows   = 96 // a multiple of every mr
	mixedPanels = 8
	mixedStripe = 2 * mixedRows
)

// run adds all rows. It returns the error of a done context, in which case C is incomplete.
func (g *mixedGram) run() error {
	if g.c.Rows == 0 || g.a.Rows == 0 {
		return ctxerr.Check(g.ctx)
	}
	bl, d := g.bl, g.a.Cols
	hold, packed := borrow[float32](min(mixedDepth, g.a.Rows) * roundUp(min(bl.nc, d), bl.nr))
	defer hold.release()
	for j := 0; j < d; j += bl.nc {
		nj := min(bl.nc, d-j)
		for k := 0; k < g.a.Rows; k += mixedDepth {
			nk := min(mixedDepth, g.a.Rows-k)
			if err := ctxerr.Check(g.ctx); err != nil {
				return err
			}
			g.packRight(packed, k, nk, j, nj)
			g.stripes(packed, k, nk, j, nj)
		}
	}
	return ctxerr.Check(g.ctx)
}

// blocks calls f with the first row and the number of rows of each block of depth.
func (g *mixedGram) blocks(nk int, f func(first, rows int)) {
	for first := 0; first < nk; first += g.bl.kc {
		f(first, min(g.bl.kc, nk-first))
	}
}

// packRight packs columns [j, j+nj) of the rows from k on: [block][panel][row][column].
func (g *mixedGram) packRight(packed []float32, k, nk, j, nj int) {
	p, width := product[float32]{b: g.a}, roundUp(nj, g.bl.nr)
	g.blocks(nk, func(first, rows int) { p.packRight(packed[first*width:], g.bl, k+first, rows, j, nj) })
}

// stripes updates all rows of C from j on, the longest ones first.
func (g *mixedGram) stripes(packed []float32, k, nk, j, nj int) {
	rows, own := g.c.Rows-j, *g                                                      // g itself stays off the heap
	height := min(mixedStripe, roundUp(rows/(4*runtime.GOMAXPROCS(0))+1, 3*g.bl.mr)) // has no bearing on the sums
	count := (rows + height - 1) / height
	Parallel(count, 1, func(lo, _ int) {
		if own.ctx.Err() != nil {
			return
		}
		i := j + (count-1-lo)*height
		own.stripe(packed, k, nk, j, nj, i, min(height, own.c.Rows-i))
	})
}

// stripe updates rows [i, i+ni) and columns [j, j+nj) of C within the lower triangle.
func (g *mixedGram) stripe(packed []float32, k, nk, j, nj, i, ni int) {
	bl, high := g.bl, roundUp(ni, g.bl.mr)
	held, left := borrow[float32](high*nk + mixedRows*bl.nr)
	defer held.release()
	kept, sums := borrow[float64](mixedRows * mixedPanels * bl.nr)
	defer kept.release()
	short, left := left[:mixedRows*bl.nr], left[mixedRows*bl.nr:]
	g.blocks(nk, func(first, rows int) {
		packPanels(left[first*high:], g.a.T(), bl.mr, i, ni, k+first, rows, g.weights)
	})
	for from := 0; from < ni; from += mixedRows {
		to := min(from+mixedRows, ni)
		for jr := 0; jr < nj && j+jr < i+to; jr += mixedPanels * bl.nr {
			last := min(nj, jr+mixedPanels*bl.nr)
			g.take(sums, i+from, i+to, j+jr, j+last, false)
			g.blocks(nk, func(first, rows int) {
				a, b := left[first*high:(first+rows)*high], packed[first*roundUp(nj, bl.nr):]
				for at := jr; at < last && j+at < i+to; at += bl.nr {
					skip := max(from, (j+at-i)/bl.mr*bl.mr) // panels wholly above the diagonal
					n := roundUp(to, bl.mr) - skip
					tiles(n/bl.mr, rows, a[skip*rows:], b[at*rows:], short, bl.nr, set)
					widenOnto(sums[(skip-from)*mixedPanels*bl.nr+at-jr:], mixedPanels*bl.nr, short, bl.nr, n)
				}
			})
			g.take(sums, i+from, i+to, j+jr, j+last, true)
		}
	}
}

// take copies the part of rows [i, to) and columns [j, last) of C in the triangle to sums, or back
// if back is set.
func (g *mixedGram) take(sums []float64, i, to, j, last int, back bool) {
	width := mixedPanels * g.bl.nr
	for r := max(i, j); r < to; r++ {
		n := min(last, r+1) - j
		row, own := g.c.Data[r*g.c.RowStride+j:][:n], sums[(r-i)*width:][:n]
		if back {
			copy(row, own)
		} else {
			copy(own, row)
		}
	}
}

// widenOnto adds rows of float32 sums to rows of dst, which begin stride apart.
func widenOnto(dst []float64, stride int, sums []float32, width, rows int) {
	if isa != portable {
		widenAsm(&dst[0], stride, &sums[0], rows)
		return
	}
	for i := range rows {
		row := dst[i*stride : i*stride+width]
		for j, v := range sums[i*width : (i+1)*width] {
			row[j] += float64(v)
		}
	}
}
