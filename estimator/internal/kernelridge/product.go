package kernelridge

import (
	"context"
	"slices"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// tileRows is the number of rows and columns of a tile.
const tileRows = 512

// multiplication computes dst = K·v, v rows × columns.
type multiplication func(ctx context.Context, dst, v []float64, columns int) error

// product multiplies by a kernel matrix. It computes tiles on and below the diagonal and caches the
// first of them, or uses the full matrix.
type product[T kern.Float] struct {
	rows   int
	write  func(dst kern.View[T], i, j int)
	cached [][]T // tile (i, j) has index i(i+1)/2 + j; nil until computed
	full   kern.View[T]
}

// tileSize is the number of values of a tile.
const tileSize = tileRows * tileRows

// newProduct returns a product that caches tiles up to memory bytes.
func newProduct[T kern.Float](rows int, memory int64, write func(dst kern.View[T], i, j int)) *product[T] {
	p := &product[T]{rows: rows, write: write}
	blocks := p.blocks()
	maxTiles := memory / (tileSize * int64(unsafe.Sizeof(T(0))))
	p.cached = make([][]T, min(int64(blocks)*int64(blocks+1)/2, maxTiles))
	return p
}

// CacheBytes returns the bytes of all float32 tiles of the given number of rows.
func CacheBytes(rows int) int64 {
	blocks := int64(blocksOf(rows))
	return blocks * (blocks + 1) / 2 * tileRows * tileRows * 4
}

func (p *product[T]) blocks() int { return blocksOf(p.rows) }

func blocksOf(rows int) int { return (rows + tileRows - 1) / tileRows }

// bounds returns the row range of a block.
func (p *product[T]) bounds(block int) (lo, hi int) {
	return block * tileRows, min((block+1)*tileRows, p.rows)
}

// multiply computes dst = K·v. Tiles are summed in T, totals in float64 and in a fixed order. Each
// tile also contributes its transpose. Several columns are transposed so that tiles are read along
// rows.
func (p *product[T]) multiply(ctx context.Context, dst, v []float64, columns int) error {
	right := kern.Dense(columns, p.rows, p.rows, make([]T, len(v)))
	sums := make([]float64, len(v))
	design.Transpose(right.Data, v, columns)
	parts := make([]T, p.blocks()*tileRows*columns)
	for i := range p.blocks() {
		lo, hi := p.bounds(i)
		buf := p.rowBuffer(i)
		kern.Parallel(i+1, 1, func(from, to int) {
			buffer := design.Borrow[T](tileSize + tileRows*columns)
			defer buffer.Release()
			for j := from; j < to && ctx.Err() == nil; j++ {
				tile := p.tile(i, j, buf, buffer.Data[:tileSize])
				left, end := p.bounds(j)
				part := kern.Dense(columns, hi-lo, hi-lo, parts[j*tileRows*columns:])
				if i == j {
					kern.MulThin(part.T(), tile, right.Slice(0, columns, left, end).T(), false)
					continue
				}
				mirrored := kern.Dense(columns, end-left, end-left, buffer.Data[tileSize:])
				mulTileBoth(part, mirrored, tile, right.Slice(0, columns, left, end), right.Slice(0, columns, lo, hi))
				addRows(sums, mirrored, p.rows, left)
			}
		})
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		for j := range i + 1 {
			addRows(sums, kern.Dense(columns, hi-lo, hi-lo, parts[j*tileRows*columns:]), p.rows, lo)
		}
	}
	design.Transpose(dst, sums, p.rows)
	return nil
}

// rowBuffer returns memory for the uncached tiles of a block row, nil if there are none.
func (p *product[T]) rowBuffer(i int) []T {
	first := i * (i + 1) / 2
	n := min(i+1, len(p.cached)-first)
	if n <= 0 || !slices.ContainsFunc(p.cached[first:first+n], func(tile []T) bool { return tile == nil }) {
		return nil
	}
	return kern.MakeLarge[T](n * tileSize)
}

// tile returns a tile, computed in buf if it is cached, otherwise in spare.
func (p *product[T]) tile(i, j int, buf, spare []T) kern.View[T] {
	lo, hi := p.bounds(i)
	left, end := p.bounds(j)
	if p.full.Rows > 0 {
		return p.full.Slice(lo, hi, left, end)
	}
	number := i*(i+1)/2 + j
	isCached := number < len(p.cached)
	if isCached && p.cached[number] != nil {
		return kern.Dense(hi-lo, end-left, end-left, p.cached[number])
	}
	if isCached {
		spare = buf[j*tileSize : (j+1)*tileSize]
	}
	tile := kern.Dense(hi-lo, end-left, end-left, spare)
	p.write(tile, lo, left)
	if isCached {
		p.cached[number] = spare
	}
	return tile
}

// mulTileBoth computes ahead = tile·right and back = tileᵀ·left, with vectors as rows.
func mulTileBoth[T kern.Float](product, transposed, tile, right, left kern.View[T]) {
	if product.Rows > 1 {
		kern.MulThin(product.T(), tile, right.T(), false)
		kern.MulThin(transposed.T(), tile, left.T(), true)
		return
	}
	clear(transposed.Row(0))
	kern.MulVecBoth(product.Row(0), transposed.Row(0), tile, right.Row(0), left.Row(0))
}

// addRows adds rows to those of dst, which have the given length, at column from.
func addRows[T kern.Float](dst []float64, rows kern.View[T], length, from int) {
	for j := range rows.Rows {
		out := dst[j*length+from:]
		for k, v := range rows.Row(j) {
			out[k] += float64(v)
		}
	}
}
