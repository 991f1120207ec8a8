package kern

import (
	"context"

	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// reduction is a symmetric matrix while it is being reduced to a band: panel r has its columns from r·nr on, nr of them, all
// of their rows, as the product wants its right side. Products with it need no other copy of it then, and what is
// taken from it goes where it is. Its order is an integer of blocks; what A does not have is 0.
type reduction struct {
	blocking
	order int
	x     []float64 // order/nr panels of order·nr entries
	room  []float64
	small []float64 // three blocks
	first int       // row and column where the part begins that is not reduced yet
	// three is X, V and X again, each bandWidth rows, for A − VᵀX − XᵀV; y is what X is made of.
	three, y View[float64]
}

// newReduction copies the lower triangle of a to room, the rest of which is for what is made on the way.
func newReduction(a View[float64], room []float64) *reduction {
	order := roundUp(a.Rows, bandWidth)
	r := &reduction{blocking: blockingOf[float64](), order: order, small: room[:3*blockSize], x: room[3*blockSize:][:order*order],
		room: room[3*blockSize+order*order:]}
	Parallel(order/bandWidth, 1, func(lo, _ int) {
		for p := lo * bandWidth / r.nr; p < (lo+1)*bandWidth/r.nr; p++ {
			from, to := r.at(p, p*r.nr), p*r.nr
			clear(from)
			if to < a.Rows {
				packPanels(from, a.T(), r.nr, to, min(r.nr, a.Rows-to), to, a.Rows-to, nil)
			}
			r.balance(p)
		}
	})
	Parallel(order/bandWidth, 1, func(lo, _ int) { r.mirror(lo * bandWidth) })
	return r
}

// at returns panel p from row i on.
func (r *reduction) at(p, i int) []float64 { return r.x[(p*r.order+i)*r.nr : (p+1)*r.order*r.nr] }

// balance copies the lower triangle of the block on the diagonal in panel p onto its upper one.
func (r *reduction) balance(p int) {
	block := r.at(p, p*r.nr)
	for i := range r.nr {
		for j := range i {
			block[j*r.nr+i] = block[i*r.nr+j]
		}
	}
}

// mirror copies what is below the diagonal in the panels of the block of columns at lo to where it is to the right of it.
func (r *reduction) mirror(lo int) {
	for p := lo / r.nr; p < (lo+bandWidth)/r.nr; p++ {
		for q := p + 1; q < r.order/r.nr; q++ {
			transpose(r.at(q, p*r.nr), r.nr, r.at(p, q*r.nr), r.nr, 1, r.nr, r.nr)
		}
	}
}

// read copies rows of the matrix that begin at row i and column j, a multiple of bandWidth, to dst.
func (r *reduction) read(dst View[float64], i, j int) {
	for at := 0; at < dst.Cols; at += r.nr {
		from := r.at((j+at)/r.nr, i)
		for k := range dst.Rows {
			copy(dst.Row(k)[at:at+r.nr], from[k*r.nr:(k+1)*r.nr])
		}
	}
}

// begin makes room for the reflections of the part that begins at a row and column, and returns that of their vectors.
func (r *reduction) begin(first int) (v View[float64]) {
	m := r.order - first
	r.first = first
	r.three, r.y = Dense(3*bandWidth, m, m, r.room), Dense(bandWidth, m, m, r.room[3*bandWidth*m:])
	return r.three.Slice(bandWidth, 2*bandWidth, 0, m)
}

// reflect applies the reflections of the vectors V to the part that is not reduced yet, and writes their T to t.
func (r *reduction) reflect(ctx context.Context, t View[float64], tau [bandWidth]float64) error {
	m := r.order - r.first
	x, v := r.three.Slice(0, bandWidth, 0, m), r.three.Slice(bandWidth, 2*bandWidth, 0, m)
	square := func(k int) View[float64] { return Dense(bandWidth, bandWidth, bandWidth, r.small[k*blockSize:]) }
	inner, g, h := square(0), square(1), square(2)
	Mul(inner, v, v.T(), false)
	triangleOf(t, inner, tau[:])
	r.multiply(v)
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	Mul(x, t.T(), r.y, false) // W' of W = SVT
	Mul(g, v, x.T(), false)   // V'W
	Mul(h, t.T(), g, false)   // T'V'W
	Scale(-0.5, h.Data[:blockSize])
	Mul(x, h, v, true)
	copy(r.three.Data[2*bandWidth*m:], x.Data[:bandWidth*m])
	r.subtract()
	return ctxerr.Check(ctx)
}

// each calls f for the first column of each block of those that are not reduced yet, which costs so many flops for a row.
func (r *reduction) each(flops int, f func(lo int)) {
	m := r.order - r.first
	Parallel(m/bandWidth, max(1, panelFlops/(m*flops)), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			f(r.first + k*bandWidth)
		}
	})
}

// multiply writes V times the matrix to y.
func (r *reduction) multiply(v View[float64]) {
	m := v.Cols
	left := r.room[4*bandWidth*m:]
	for k := 0; k < m; k += r.kc {
		packPanels(left[k*bandWidth:], v, r.mr, 0, bandWidth, k, min(r.kc, m-k), nil)
	}
	r.each(2*blockSize, func(lo int) {
		for p := lo / r.nr; p < (lo+bandWidth)/r.nr; p++ {
			how := set
			for k := 0; k < m; k += r.kc {
				tiles(bandWidth/r.mr, min(r.kc, m-k), left[k*bandWidth:], r.at(p, r.first+k), r.y.Data[p*r.nr-r.first:], m, how)
				how = add
			}
		}
	})
}

// subtract takes VᵀX + XᵀV from the matrix.
func (r *reduction) subtract() {
	const depth = 2 * bandWidth
	m := r.order - r.first
	left, right := r.room[3*bandWidth*m:], r.room[3*bandWidth*m+depth*m:]
	packPanels(left, r.three.Slice(bandWidth, 3*bandWidth, 0, m).T(), r.mr, 0, m, 0, depth, nil)
	packPanels(right, r.three.Slice(0, depth, 0, m).T(), r.nr, 0, m, 0, depth, nil)
	r.each(depth*bandWidth, func(lo int) {
		for p := lo / r.nr; p < (lo+bandWidth)/r.nr; p++ {
			column := p*r.nr - r.first
			row := column / r.mr * r.mr
			tiles((m-row)/r.mr, depth, left[row*depth:], right[column*depth:], r.at(p, r.first+row), r.nr, subtract)
			r.balance(p)
		}
		r.mirror(lo)
	})
}
