package kern

// Mul computes C = A·B, or C += A·B when accumulate is true:
//
//	for i, j:  c[i,j] (+)= Σ_k a[i,k]·b[k,j]
//
// A is m × k, B is k × n, C is m × n, all with any strides. The sum over k is
// made in blocks of a fixed depth. Cost 2mnk flops. C must overlap neither
// operand.
func Mul[T Float](c, a, b View[T], accumulate bool) {
	if a.Cols != b.Rows || c.Rows != a.Rows || c.Cols != b.Cols {
		panic("kern: Mul of shapes that do not fit")
	}
	if c.ColStride != 1 && c.RowStride == 1 {
		c, a, b = c.T(), b.T(), a.T()
	}
	p := product[T, T]{c: c, a: a, b: b, alpha: 1, finish: set}
	if accumulate {
		p.finish = add
	}
	p.run()
}

// finish says what becomes of a tile of sums.
type finish int

const (
	set   finish = iota // c = sum
	add                 // c += sum
	chain               // c = the sum that started from c
)

// product is C (+)= alpha·A·diag(weights)·B, the whole of C or its lower
// triangle, in elements of T summed into elements of S.
//
// It follows Goto and van de Geijn (ACM TOMS 34(3), 2008): B is packed in
// panels of nr columns, A in panels of mr rows, both kc deep, and a
// register-blocked kernel multiplies panel by panel.
type product[T, S Float] struct {
	c       View[S]
	a, b    View[T]
	weights []T // one per inner index, nil for ones
	alpha   T
	finish  finish
	lower   bool
}

// blocking holds the sizes of the blocks: mr × nr in registers, kc deep,
// mc rows of A in the second-level cache, nc columns of B in the third.
type blocking struct{ mr, nr, mc, kc, nc int }

func (p *product[T, S]) run() {
	if p.c.Rows == 0 || p.c.Cols == 0 {
		return
	}
	if p.a.Cols == 0 {
		if p.finish == set {
			zero(p.c)
		}
		return
	}
	bl := blockingOf[T]()
	depth, width := min(bl.kc, p.a.Cols), roundUp(min(bl.nc, p.c.Cols), bl.nr)
	hold, packed := borrow[T](depth * width)
	defer hold.release()
	for j := 0; j < p.c.Cols; j += bl.nc {
		nj := min(bl.nc, p.c.Cols-j)
		top := 0 // rows above the diagonal have no lower tiles
		if p.lower {
			top = j / bl.mr * bl.mr
		}
		if top >= p.c.Rows {
			break
		}
		for k := 0; k < p.a.Cols; k += bl.kc {
			nk := min(bl.kc, p.a.Cols-k)
			p.packRight(packed, bl, k, nk, j, nj)
			p.stripes(packed, bl, k, nk, j, nj, top)
		}
	}
}

// packRight packs rows [k, k+nk) and columns [j, j+nj) of B.
func (p *product[T, S]) packRight(packed []T, bl blocking, k, nk, j, nj int) {
	panels := (nj + bl.nr - 1) / bl.nr
	grain := max(1, 1<<15/(bl.nr*nk))
	if panels <= grain {
		packPanels(packed, p.b.T(), bl.nr, j, nj, k, nk, nil, 1)
		return
	}
	Parallel(panels, grain, func(lo, hi int) {
		first, last := lo*bl.nr, min(hi*bl.nr, nj)
		packPanels(packed[first*nk:], p.b.T(), bl.nr, j+first, last-first, k, nk, nil, 1)
	})
}

// stripes multiplies the packed block of B with every block of rows of A.
func (p *product[T, S]) stripes(packed []T, bl blocking, k, nk, j, nj, top int) {
	rows := p.c.Rows - top
	if rows <= bl.mc || rows*nj*nk < 1<<16 {
		p.stripe(packed, bl, k, nk, j, nj, top, p.c.Rows)
		return
	}
	Parallel(rows, bl.mc, func(lo, hi int) {
		p.stripe(packed, bl, k, nk, j, nj, top+lo, top+hi)
	})
}

// stripe multiplies rows [lo, hi) of A with the packed block of B.
func (p *product[T, S]) stripe(packed []T, bl blocking, k, nk, j, nj, lo, hi int) {
	hold, left := borrow[T](roundUp(min(bl.mc, hi-lo), bl.mr) * nk)
	defer hold.release()
	how := p.finish
	if k > 0 && how == set {
		how = add
	}
	for i := lo; i < hi; i += bl.mc {
		ni := min(bl.mc, hi-i)
		packPanels(left, p.a, bl.mr, i, ni, k, nk, p.weights, p.alpha)
		for jr := 0; jr < nj; jr += bl.nr {
			right := packed[jr*nk : (jr+bl.nr)*nk]
			for ir := 0; ir < ni; ir += bl.mr {
				if p.lower && j+jr > i+ir+bl.mr-1 {
					continue
				}
				p.tile(left[ir*nk:(ir+bl.mr)*nk], right, bl, nk, i+ir, j+jr, how)
			}
		}
	}
}

// tile multiplies one panel of A with one panel of B into C at (i, j).
func (p *product[T, S]) tile(left, right []T, bl blocking, nk, i, j int, how finish) {
	ni, nj := min(bl.mr, p.c.Rows-i), min(bl.nr, p.c.Cols-j)
	var sums [maxTile]T
	if how == chain {
		for r := range ni {
			for s := range nj {
				sums[r*bl.nr+s] = T(p.c.At(i+r, j+s))
			}
		}
	}
	tilePortable(nk, left, right, &sums)
	for r := range ni {
		last := nj
		if p.lower {
			last = min(nj, i+r-j+1)
		}
		at := (i+r)*p.c.RowStride + j*p.c.ColStride
		for s := range last {
			if how == add {
				p.c.Data[at] += S(sums[r*bl.nr+s])
			} else {
				p.c.Data[at] = S(sums[r*bl.nr+s])
			}
			at += p.c.ColStride
		}
	}
}

// maxTile is the number of elements of the largest register tile.
const maxTile = 8 * 48

func blockingOf[T Float]() blocking {
	return blocking{mr: 4, nr: 4, mc: 64, kc: 256, nc: 1024}
}

// tilePortable adds the product of two packed panels of four:
//
//	for k, i, j:  sums[4i+j] += a[4k+i]·b[4k+j]
func tilePortable[T Float](depth int, a, b []T, sums *[maxTile]T) {
	for half := 0; half < 4; half += 2 {
		s := sums[4*half : 4*half+8 : 4*half+8]
		c00, c01, c02, c03 := s[0], s[1], s[2], s[3]
		c10, c11, c12, c13 := s[4], s[5], s[6], s[7]
		x, y := a[:4*depth], b[:4*depth]
		for len(x) >= 4 && len(y) >= 4 {
			x0, x1 := x[half], x[half+1]
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
		s[0], s[1], s[2], s[3] = c00, c01, c02, c03
		s[4], s[5], s[6], s[7] = c10, c11, c12, c13
	}
}

// packPanels copies rows [i, i+ni) and columns [k, k+nk) of a into panels of
// width rows each, column after column, scaled by alpha and by weights[column],
// the last panel padded with zeros:
//
//	dst[panel][kk][r] = alpha·weights[k+kk]·a[i+panel·width+r, k+kk]
func packPanels[T Float](dst []T, a View[T], width, i, ni, k, nk int, weights []T, alpha T) {
	for r := 0; r < ni; r += width {
		n := min(width, ni-r)
		panel := dst[r*nk : (r+width)*nk]
		if n < width {
			clear(panel)
		}
		base := (i+r)*a.RowStride + k*a.ColStride
		if a.RowStride == 1 {
			for kk := range nk {
				at := base + kk*a.ColStride
				copy(panel[kk*width:kk*width+n], a.Data[at:at+n])
			}
		} else {
			for row := range n {
				at := base + row*a.RowStride
				for q := row; q < nk*width; q += width {
					panel[q] = a.Data[at]
					at += a.ColStride
				}
			}
		}
		if weights != nil || alpha != 1 {
			weighPanel(panel, width, nk, k, weights, alpha)
		}
	}
}

func weighPanel[T Float](panel []T, width, nk, k int, weights []T, alpha T) {
	for kk := range nk {
		f := alpha
		if weights != nil {
			f *= weights[k+kk]
		}
		row := panel[kk*width : (kk+1)*width]
		for r := range row {
			row[r] *= f
		}
	}
}

func zero[T Float](c View[T]) {
	for i := range c.Rows {
		for j := range c.Cols {
			c.Set(i, j, 0)
		}
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
