package kern

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Mul computes C = A·B, or C += A·B when accumulate is true:
//
//	for i, j:  c[i,j] (+)= Σ_k a[i,k]·b[k,j]
//
// A is m × k, B is k × n, C is m × n, all with any strides. The sum over k uses blocks of fixed
// depth. Cost 2mnk flops. C must not overlap an operand.
func Mul[T Float](c, a, b View[T], accumulate bool) {
	p := newProduct(c, a, b, accumulate)
	p.run()
}

// MulContext is Mul for large matrices. Once ctx is done it returns ctxerr.Check(ctx), and C is
// undefined.
func MulContext[T Float](ctx context.Context, c, a, b View[T], accumulate bool) error {
	p := newProduct(c, a, b, accumulate)
	p.ctx = ctx
	return p.run()
}

func newProduct[T Float](c, a, b View[T], accumulate bool) product[T] {
	if a.Cols != b.Rows || c.Rows != a.Rows || c.Cols != b.Cols {
		panic("kern: Mul of shapes that do not fit")
	}
	if c.ColStride != 1 && c.RowStride == 1 {
		c, a, b = c.T(), b.T(), a.T()
	}
	p := product[T]{c: c, a: a, b: b, store: set}
	if accumulate {
		p.store = add
	}
	return p
}

// storeMode is the operation that stores a tile of sums in C.
type storeMode int

const (
	set      storeMode = iota // c = sum
	add                       // c += sum
	subtract                  // c -= sum
)

// product is C = or += or −= A·diag(weights)·B, for all of C or its lower triangle.
//
// It follows Goto and van de Geijn (ACM TOMS 34(3), 2008): B is packed in
// panels of nr columns, A in panels of mr rows, both kc deep, and a
// register-blocked kernel multiplies panel by panel.
type product[T Float] struct {
	c       View[T]
	a, b    View[T]
	weights []T // one per inner index, nil for ones
	store   storeMode
	lower   bool
	ctx     context.Context // cancels run, may be nil
}

// blocking holds block sizes: mr × nr in registers, depth kc, mc rows of A and nc columns of B in
// the second-level cache. Only kc affects the result.
type blocking struct{ mr, nr, mc, kc, nc int }

// run computes the product. It returns the error of a done context, in which case C is incomplete.
func (p *product[T]) run() error {
	if p.c.Rows == 0 || p.c.Cols == 0 {
		return p.stopped()
	}
	if p.a.Cols == 0 {
		if p.store == set {
			zero(p.c)
		}
		return p.stopped()
	}
	bl := blockingOf[T]()
	depth, width := min(bl.kc, p.a.Cols), roundUp(min(bl.nc, p.c.Cols), bl.nr)
	hold, packed := borrow[T](depth * width)
	defer hold.release()
	for j := 0; j < p.c.Cols; j += bl.nc {
		nj := min(bl.nc, p.c.Cols-j)
		top := 0 // rows above the diagonal have no tiles in the lower triangle
		if p.lower {
			top = j / bl.mr * bl.mr
		}
		if top >= p.c.Rows {
			break
		}
		for k := 0; k < p.a.Cols; k += bl.kc {
			nk := min(bl.kc, p.a.Cols-k)
			if err := p.stopped(); err != nil {
				return err
			}
			p.packRight(packed, bl, k, nk, j, nj)
			p.stripes(packed, bl, k, nk, j, nj, top)
		}
	}
	return p.stopped()
}

// stopped returns the error of the context.
func (p *product[T]) stopped() error {
	if p.ctx == nil {
		return nil
	}
	return ctxerr.Check(p.ctx)
}

// packRight packs rows [k, k+nk) and columns [j, j+nj) of B.
func (p *product[T]) packRight(packed []T, bl blocking, k, nk, j, nj int) {
	panels := (nj + bl.nr - 1) / bl.nr
	grain := max(1, 1<<15/(bl.nr*(nk+1)))
	if panels <= grain {
		packPanels(packed, p.b.T(), bl.nr, j, nj, k, nk, nil)
		return
	}
	b := p.b.T()
	Parallel(panels, grain, func(lo, hi int) {
		first, last := lo*bl.nr, min(hi*bl.nr, nj)
		packPanels(packed[first*nk:], b, bl.nr, j+first, last-first, k, nk, nil)
	})
}

// stripes multiplies the packed block of B with every block of rows of A, the longest rows of a
// lower triangle first.
func (p *product[T]) stripes(packed []T, bl blocking, k, nk, j, nj, top int) {
	rows := p.c.Rows - top
	if rows <= 3*bl.mr || rows*nj*nk < 1<<20 {
		p.stripe(packed, bl, k, nk, j, nj, top, p.c.Rows)
		return
	}
	// Enough stripes for all cores; their height does not affect the sums.
	height := min(bl.mc, roundUp(rows/(4*runtime.GOMAXPROCS(0))+1, 3*bl.mr))
	blocks := (rows + height - 1) / height
	q := *p // p itself stays off the heap
	Parallel(blocks, 1, func(lo, _ int) {
		if q.stopped() != nil {
			return
		}
		first := top + (blocks-1-lo)*height
		q.stripe(packed, bl, k, nk, j, nj, first, min(first+height, q.c.Rows))
	})
}

// stripe multiplies rows [lo, hi) of A with the packed block of B.
func (p *product[T]) stripe(packed []T, bl blocking, k, nk, j, nj, lo, hi int) {
	hold, left := borrow[T](roundUp(min(bl.mc, hi-lo), bl.mr)*nk + mergeRows*bl.nr)
	defer hold.release()
	sums, left := left[:mergeRows*bl.nr], left[mergeRows*bl.nr:]
	how := p.store
	if k > 0 && how == set {
		how = add
	}
	for i := lo; i < hi; i += bl.mc {
		ni := min(bl.mc, hi-i)
		packPanels(left, p.a, bl.mr, i, ni, k, nk, p.weights)
		rows, columns := p.rowTiles(packed, left, bl, nk, j, nj, i, ni, how)
		for jr := 0; jr < nj; jr += bl.nr {
			right := packed[jr*nk : (jr+bl.nr)*nk]
			skip := 0
			if jr < columns {
				skip = rows
			}
			if p.lower { // panels entirely above the diagonal
				skip = max(0, j+jr-i) / bl.mr * bl.mr
			}
			for ir := skip; ir < ni; {
				n := p.directRows(bl, i, ni, ir, j+jr)
				if n > 0 {
					c := p.c.Data[(i+ir)*p.c.RowStride+j+jr:]
					tiles(n/bl.mr, nk, left[ir*nk:], right, c, p.c.RowStride, how)
				} else {
					n = p.mergeTiles(bl, left[ir*nk:], right, sums, nk, i+ir, ni-ir, j+jr, how)
				}
				ir += n
			}
		}
	}
}

// rowTiles computes the full tiles of a stripe along rows of C instead of columns, if the packed B
// stays in the second-level cache. C is then written along its rows. It returns the number of rows
// and columns computed.
func (p *product[T]) rowTiles(packed, left []T, bl blocking, nk, j, nj, i, ni int, how storeMode) (rows, columns int) {
	const cached = 1 << 20 // bytes
	if !isa.complete() || p.lower || p.c.ColStride != 1 ||
		nk*nj*int(unsafe.Sizeof(T(0))) > cached || nj < bl.nr {
		return 0, 0
	}
	rows, columns = ni/bl.mr*bl.mr, nj/bl.nr*bl.nr
	for ir := 0; ir < rows; ir += bl.mr {
		c := p.c.Data[(i+ir)*p.c.RowStride+j:]
		acrossAsm(columns/bl.nr, nk, &left[ir*nk], &packed[0], &c[0], p.c.RowStride, how)
	}
	return rows, columns
}

// directRows returns the number of rows of [i+ir, i+ni) whose tiles at column j can be stored
// directly in C: within its edge and triangle, and contiguous.
func (p *product[T]) directRows(bl blocking, i, ni, ir, j int) int {
	if p.c.ColStride != 1 || j+bl.nr > p.c.Cols {
		return 0
	}
	if p.lower && j+bl.nr > i+ir+1 {
		return 0
	}
	return (ni - ir) / bl.mr * bl.mr
}

// mergeRows is the number of rows of sums computed in a buffer: small enough for the first-level
// cache, a multiple of every mr.
const mergeRows = 48

// mergeTiles computes the tiles of at most ni rows at (i, j) in a buffer and merges them into C. It
// returns the number of rows, a multiple of mr.
func (p *product[T]) mergeTiles(bl blocking, left, right, sums []T, nk, i, ni, j int, how storeMode) int {
	panels := min((ni+bl.mr-1)/bl.mr, mergeRows/bl.mr)
	nj := min(bl.nr, p.c.Cols-j)
	if p.lower && j+bl.nr > i+1 {
		panels = 1 // at the diagonal, tile by tile
	}
	rows := min(panels*bl.mr, ni)
	tiles(panels, nk, left, right, sums, bl.nr, set)
	for r := range rows {
		last := nj
		if p.lower {
			last = min(nj, i+r-j+1)
		}
		p.merge(sums[r*bl.nr:r*bl.nr+max(last, 0)], i+r, j, how)
	}
	return panels * bl.mr
}

// merge stores sums in row i of C from column j on.
func (p *product[T]) merge(sums []T, i, j int, how storeMode) {
	at, step := i*p.c.RowStride+j*p.c.ColStride, p.c.ColStride
	switch how {
	case set:
		for _, v := range sums {
			p.c.Data[at] = v
			at += step
		}
	case add:
		for _, v := range sums {
			p.c.Data[at] += v
			at += step
		}
	case subtract:
		for _, v := range sums {
			p.c.Data[at] -= v
			at += step
		}
	}
}

// blockingOf returns the block sizes of the instruction set in use.
func blockingOf[T Float]() blocking {
	switch {
	case isa == avx512 && is64[T]():
		return blocking{mr: 8, nr: 24, mc: 96, kc: 512, nc: 1056}
	case isa == avx512:
		return blocking{mr: 8, nr: 48, mc: 192, kc: 512, nc: 2112}
	case isa == neon && is64[T]():
		return blocking{mr: 6, nr: 8, mc: 96, kc: 256, nc: 768}
	case isa == neon:
		return blocking{mr: 6, nr: 16, mc: 192, kc: 256, nc: 1536}
	case isa == avx2 && is64[T]():
		return blocking{mr: 6, nr: 8, mc: 96, kc: 256, nc: 768}
	case isa == avx2:
		return blocking{mr: 6, nr: 16, mc: 192, kc: 256, nc: 1536}
	}
	return blocking{mr: 4, nr: 4, mc: 96, kc: 256, nc: 1024}
}

// tiles multiplies adjacent packed panels of mr rows with one of nr columns:
//
//	for p < panels, i < mr, j < nr:
//		c[(mr·p+i)·cRow+j] = or += or −= Σ_{k<depth} a[(p·depth+k)·mr+i]·b[nr·k+j]
func tiles[T Float](panels, depth int, a, b, c []T, cRow int, how storeMode) {
	if isa != portable {
		tilesAsm(panels, depth, unsafe.SliceData(a), unsafe.SliceData(b), &c[0], cRow, how)
		return
	}
	for p := range panels {
		tilePortable(depth, a[4*p*depth:], b, c[4*p*cRow:], cRow, how)
	}
}

// tilePortable computes one 4 × 4 tile, two rows at a time.
func tilePortable[T Float](depth int, a, b, c []T, cRow int, how storeMode) {
	for i := 0; i < 4; i += 2 {
		var c00, c01, c02, c03, c10, c11, c12, c13 T
		x, y := a[:4*depth], b[:4*depth]
		for len(x) >= 4 && len(y) >= 4 {
			x0, x1 := x[i], x[i+1]
			y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
			c00 += x0 * y0
			c01 += x0 * y1
			c02 += x0 * y2
			c03 += x0 * y3
			c10 += x1 * y0
			c11 += x1 * y1
			c12 += x1 * y2
			c13 += x1 * y3
			x, y = x[4:], y[4:]
		}
		u, v := c[i*cRow:i*cRow+4], c[(i+1)*cRow:(i+1)*cRow+4]
		switch how {
		case add:
			c00, c01, c02, c03 = u[0]+c00, u[1]+c01, u[2]+c02, u[3]+c03
			c10, c11, c12, c13 = v[0]+c10, v[1]+c11, v[2]+c12, v[3]+c13
		case subtract:
			c00, c01, c02, c03 = u[0]-c00, u[1]-c01, u[2]-c02, u[3]-c03
			c10, c11, c12, c13 = v[0]-c10, v[1]-c11, v[2]-c12, v[3]-c13
		}
		u[0], u[1], u[2], u[3] = c00, c01, c02, c03
		v[0], v[1], v[2], v[3] = c10, c11, c12, c13
	}
}

// packPanels copies rows [i, i+ni) and columns [k, k+nk) of a into panels of width rows, column by
// column, weighted by column, with the last panel zero-padded:
//
//	dst[panel][kk][r] = weights[k+kk]·a[i+panel·width+r, k+kk]
func packPanels[T Float](dst []T, a View[T], width, i, ni, k, nk int, weights []T) {
	if nk == 0 {
		return
	}
	from, r := a.Data[i*a.RowStride+k*a.ColStride:], 0
	if a.RowStride == 1 && ni >= width {
		r = ni / width * width
		copyPanels(dst, from, width, r/width, a.ColStride, nk)
	}
	for ; r < ni; r += width {
		n := min(width, ni-r)
		panel := dst[r*nk : (r+width)*nk]
		if n < width {
			clear(panel)
		}
		transpose(panel, width, from[r*a.RowStride:], a.RowStride, a.ColStride, n, nk)
	}
	if weights != nil {
		for r := 0; r < ni; r += width {
			weighPanel(dst[r*nk:(r+width)*nk], width, weights[k:k+nk])
		}
	}
}

// transpose copies rows × n elements of src to n × rows elements of dst:
//
//	dst[k·dstRow+r] = src[r·srcRow+k·srcCol]
func transpose[T Float](dst []T, dstRow int, src []T, srcRow, srcCol, rows, n int) {
	whole := 0
	if isa.complete() && srcCol == 1 && rows >= 4 {
		whole = n &^ 3
		// dst is written in pieces of rows, so that a limited number of them must stay in the
		// first-level cache; 16 if rows are far apart.
		pieceColumns := max(16, (1<<14)/(dstRow*int(unsafe.Sizeof(T(0))))) &^ 3
		for k := 0; k < whole; k += pieceColumns {
			transposeRows(dst[k*dstRow:], dstRow, src[k:], srcRow, rows, min(pieceColumns, whole-k))
		}
	}
	if whole == n {
		return
	}
	for r := range rows {
		at := r*srcRow + whole*srcCol
		for q := whole*dstRow + r; q < n*dstRow; q += dstRow {
			dst[q] = src[at]
			at += srcCol
		}
	}
}

// transposeRows is transpose for at least four rows of n elements, a multiple of 4.
func transposeRows[T Float](dst []T, dstRow int, src []T, srcRow, rows, n int) {
	height := 4
	if rows >= 8 && (isa == avx512 || !is64[T]()) {
		height = 8
	}
	for r := 0; ; r = min(r+height, rows-height) {
		transposeAsm(height, &dst[r], dstRow, &src[r*srcRow], srcRow, n)
		if r == rows-height {
			return
		}
	}
}

// copyPanels fills whole panels from a source whose columns are contiguous:
//
//	for p < panels, k < n, r < width:  dst[(p·n+k)·width+r] = src[k·stride+p·width+r]
//
// It reads the distant columns once.
func copyPanels[T Float](dst, src []T, width, panels, stride, n int) {
	_, _ = dst[panels*width*n-1], src[(n-1)*stride+panels*width-1]
	if isa.complete() {
		size := int(unsafe.Sizeof(T(0)))
		packAsm(width*size, (*byte)(unsafe.Pointer(&dst[0])), (*byte)(unsafe.Pointer(&src[0])), panels, width*size*n, n,
			stride*size)
		return
	}
	for k := range n {
		for p := range panels {
			copy(dst[(p*n+k)*width:(p*n+k+1)*width], src[k*stride+p*width:])
		}
	}
}

func weighPanel[T Float](panel []T, width int, weights []T) {
	for k, w := range weights {
		row := panel[k*width : (k+1)*width]
		for r := range row {
			row[r] *= w
		}
	}
}

func zero[T Float](c View[T]) {
	if c.ColStride == 1 && c.RowStride == c.Cols {
		clear(c.Data[:c.Rows*c.Cols])
		return
	}
	for i := range c.Rows {
		for j := range c.Cols {
			c.Set(i, j, 0)
		}
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// MulThin computes c = a·b or c = aᵀ·b, as a product with a vector if b has one column.
func MulThin[T Float](c, a, b View[T], transposed bool) {
	switch {
	case b.Cols == 1 && transposed:
		MulVecT(c.Data[:a.Cols], a, b.Data[:a.Rows], false)
	case b.Cols == 1:
		MulVec(c.Data[:a.Rows], a, b.Data[:a.Cols], false)
	case transposed:
		Mul(c, a.T(), b, false)
	default:
		Mul(c, a, b, false)
	}
}
