package kern

import (
	"context"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// panels is the lower triangle of a matrix during factorization. Panel r holds rows [r·nr,
// (r+1)·nr), column by column, in the packed form of a right operand. The algorithm is
// left-looking, by halves:
//
//	factor columns [lo, mid)
//	subtract their product from columns [mid, hi), for all rows
//	factor columns [mid, hi)
//
// Each panel is copied from the matrix once and then used in place.
type panels[T Float] struct {
	blocking
	a View[T] // receives the factor
	x []T
}

// choleskyPanels is Cholesky of a matrix that fits into panels.
func choleskyPanels[T Float](ctx context.Context, a View[T]) (pivot int, ok bool, err error) {
	blocks := (a.Rows + cholBlock - 1) / cholBlock
	hold, x := borrow[T](cholBlock * cholBlock * blocks * (blocks + 1) / 2)
	defer hold.release()
	p := panels[T]{blocking: blockingOf[T](), a: a, x: x}
	const copied = 16 // cost of copying an element, in flops
	p.each(0, copied*p.nr*a.Rows/2, p.fill)
	return p.factor(ctx, 0, a.Rows)
}

// at returns panel r from column k on. Its capacity covers the blocks up to the diagonal.
func (p *panels[T]) at(r, k int) []T {
	perBlock := cholBlock / p.nr
	block, offset := r/perBlock, r%perBlock
	return p.x[cholBlock*cholBlock*block*(block+1)/2+(block+1)*cholBlock*p.nr*offset+k*p.nr:]
}

// each calls f for all panels from row lo on; flops is the cost per panel.
func (p *panels[T]) each(lo, flops int, f func(r int)) {
	first := lo / p.nr
	n := (p.a.Rows-1)/p.nr + 1 - first
	Parallel(n, max(1, panelFlops/flops), func(lo, hi int) {
		for r := first + lo; r < first+hi; r++ {
			f(r)
		}
	})
}

// panelFlops is the minimum work of a parallel task.
const panelFlops = 1 << 19

// fill copies panel r from the matrix.
func (p *panels[T]) fill(r int) {
	lo := r * p.nr
	hi := min(lo+p.nr, p.a.Rows)
	packPanels(p.at(r, 0), p.a, p.nr, lo, hi-lo, 0, lo, nil)
	corner := p.at(r, lo)[:p.nr*p.nr]
	clear(corner)
	for i := range hi - lo {
		at := (lo+i)*p.a.RowStride + lo*p.a.ColStride
		for j := range i + 1 {
			corner[j*p.nr+i] = p.a.Data[at]
			at += p.a.ColStride
		}
	}
}

// factor computes columns [lo, hi) of the factor, from which earlier columns are already
// subtracted.
func (p *panels[T]) factor(ctx context.Context, lo, hi int) (pivot int, ok bool, err error) {
	if err := ctxerr.Check(ctx); err != nil {
		return 0, false, err
	}
	if hi-lo <= cholBlock {
		pivot, ok = p.block(lo, hi)
		return lo + pivot, ok, nil
	}
	mid := lo + half(hi-lo, cholBlock)
	if pivot, ok, err = p.factor(ctx, lo, mid); !ok || err != nil {
		return pivot, ok, err
	}
	p.subtract(lo, mid, hi)
	return p.factor(ctx, mid, hi)
}

// depth splits the columns into equal pieces of about the depth of the product.
func (p *panels[T]) depth(columns int) int {
	pieces := (columns-1)/(p.kc+p.kc/8) + 1
	return roundUp((columns+pieces-1)/pieces, 8)
}

// subtract subtracts the product of columns [lo, mid) of the factor from columns [mid, hi).
func (p *panels[T]) subtract(lo, mid, hi int) {
	rows := hi - mid
	depth := p.depth(mid - lo)
	hold, left := borrow[T](roundUp(rows, p.mr) * depth)
	defer hold.release()
	for k := lo; k < mid; k += depth {
		nk := min(depth, mid-k)
		Parallel(rows, p.mc, func(lo, hi int) {
			packPanels(left[lo*nk:], p.a, p.mr, mid+lo, hi-lo, k, nk, nil)
		})
		// One parallel region over stripes and panels, to synchronize once.
		first := mid / p.nr
		below := (p.a.Rows-1)/p.nr + 1 - first
		Parallel(below*((rows-1)/p.mc+1), max(1, panelFlops/(2*min(rows, p.mc)*nk*p.nr)), func(lo, hi int) {
			for at := lo; at < hi; at++ {
				r, i := first+at%below, at/below*p.mc
				if n := min(p.mc, rows-i, (r+1)*p.nr-mid-i); n > 0 {
					tiles((n+p.mr-1)/p.mr, nk, left[i*nk:], p.at(r, k), p.at(r, mid+i), p.nr, subtract)
				}
			}
		})
	}
}

// block computes columns [lo, hi) of the factor, at most cholBlock.
func (p *panels[T]) block(lo, hi int) (pivot int, ok bool) {
	stride := upperRow[T]()
	hold, u := borrow[T](cholBlock * (stride + cholBlock))
	defer hold.release()
	u, left := u[:cholBlock*stride], u[cholBlock*stride:]
	clear(u)
	for i := lo; i < hi; i += p.nr {
		from := p.at(i/p.nr, lo)
		for j := range min(hi, i+p.nr) - lo {
			copy(u[j*stride+i-lo:], from[j*p.nr:(j+1)*p.nr])
		}
	}
	if pivot, ok = factorUpper(u, hi-lo); !ok {
		return pivot, false
	}
	putUpper(p.a.Slice(lo, hi, lo, hi), u)
	if hi == p.a.Rows {
		return hi - lo, true
	}
	for i := range cholBlock {
		u[i*stride+i] = 1 / u[i*stride+i]
	}
	lower := View[T]{Rows: cholBlock, Cols: cholBlock, RowStride: 1, ColStride: stride, Data: u}
	packPanels(left, lower, p.mr, 0, cholBlock, 0, cholBlock, nil)
	p.each(hi, cholBlock*cholBlock*p.nr, func(r int) {
		x := p.at(r, lo)
		for i := 0; i < cholBlock; i += p.mr {
			substitute(i, left[i*cholBlock:], x)
		}
		p.put(r, lo, hi)
	})
	return hi - lo, true
}

// put copies the columns [lo, hi) of panel r to the matrix.
func (p *panels[T]) put(r, lo, hi int) {
	first := r * p.nr
	n := min(p.nr, p.a.Rows-first)
	to := p.a.Data[first*p.a.RowStride+lo*p.a.ColStride:]
	if p.a.ColStride == 1 {
		transpose(to, p.a.RowStride, p.at(r, lo), p.nr, 1, hi-lo, n)
		return
	}
	from := p.at(r, lo)
	for k := range hi - lo {
		for i := range n {
			to[i*p.a.RowStride+k*p.a.ColStride] = from[k*p.nr+i]
		}
	}
}

// substitute solves for mr rows of a panel of nr columns, given the rows above:
//
//	for depth ≤ i < depth+mr, j < nr:
//		b[i·nr+j] = (b[i·nr+j] − Σ_{k<i} a[k·mr+i−depth]·b[k·nr+j])·a[i·mr+i−depth]
func substitute[T Float](depth int, a, b []T) {
	if isa.complete() {
		substituteAsm(depth, &a[0], &b[0])
		return
	}
	bl := blockingOf[T]()
	if depth > 0 {
		tiles(1, depth, a, b, b[depth*bl.nr:], bl.nr, subtract)
	}
	a, b = a[depth*bl.mr:], b[depth*bl.nr:]
	for i := range bl.mr {
		row := b[i*bl.nr : (i+1)*bl.nr]
		for k := range i {
			axpyPortable(-a[k*bl.mr+i], b[k*bl.nr:(k+1)*bl.nr], row)
		}
		Scale(a[i*bl.mr+i], row)
	}
}
