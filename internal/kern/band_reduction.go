package kern

import (
	"context"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// reduction is the state of a band reduction. Panel r holds columns [r·nr, (r+1)·nr) of the matrix,
// with all rows, in the packed form of a right operand. Products and updates therefore need no
// further copies. The order is padded to full blocks with zeros.
type reduction struct {
	blocking
	order int
	x     []float64 // order/nr panels of order·nr entries
	buf   []float64
	small []float64 // three blocks
	first int       // first row and column not yet reduced
	// three contains X, V and X, bandWidth rows each, for A − VᵀX − XᵀV; y is an intermediate of X.
	three, y View[float64]
}

// newReduction copies the lower triangle of a to buf; the rest of buf is workspace.
func newReduction(a View[float64], buf []float64) *reduction {
	order := roundUp(a.Rows, bandWidth)
	r := &reduction{blocking: blockingOf[float64](), order: order, small: buf[:3*blockSize],
		x:   buf[3*blockSize:][:order*order],
		buf: buf[3*blockSize+order*order:]}
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

// balance mirrors the diagonal block of panel p.
func (r *reduction) balance(p int) {
	block := r.at(p, p*r.nr)
	for i := range r.nr {
		for j := range i {
			block[j*r.nr+i] = block[i*r.nr+j]
		}
	}
}

// mirror copies the part below the diagonal of the block of columns at lo to its transposed
// position.
func (r *reduction) mirror(lo int) {
	for p := lo / r.nr; p < (lo+bandWidth)/r.nr; p++ {
		for q := p + 1; q < r.order/r.nr; q++ {
			transpose(r.at(q, p*r.nr), r.nr, r.at(p, q*r.nr), r.nr, 1, r.nr, r.nr)
		}
	}
}

// read copies rows of the matrix from row i and column j, a multiple of bandWidth, to dst.
func (r *reduction) read(dst View[float64], i, j int) {
	for at := 0; at < dst.Cols; at += r.nr {
		from := r.at((j+at)/r.nr, i)
		for k := range dst.Rows {
			copy(dst.Row(k)[at:at+r.nr], from[k*r.nr:(k+1)*r.nr])
		}
	}
}

// begin sets up the workspace for the part from row and column first on, and returns the matrix of
// reflection vectors.
func (r *reduction) begin(first int) (v View[float64]) {
	m := r.order - first
	r.first = first
	r.three, r.y = Dense(3*bandWidth, m, m, r.buf), Dense(bandWidth, m, m, r.buf[3*bandWidth*m:])
	return r.three.Slice(bandWidth, 2*bandWidth, 0, m)
}

// reflect applies the reflections of V to the remaining matrix and writes their T to t.
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

// each calls f for the first column of each remaining block; flops is the cost per row.
func (r *reduction) each(flops int, f func(lo int)) {
	m := r.order - r.first
	Parallel(m/bandWidth, max(1, panelFlops/(m*flops)), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			f(r.first + k*bandWidth)
		}
	})
}

// multiply computes y = V times the matrix.
func (r *reduction) multiply(v View[float64]) {
	m := v.Cols
	left := r.buf[4*bandWidth*m:]
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

// subtract subtracts VᵀX + XᵀV from the matrix.
func (r *reduction) subtract() {
	const depth = 2 * bandWidth
	m := r.order - r.first
	left, right := r.buf[3*bandWidth*m:], r.buf[3*bandWidth*m+depth*m:]
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
