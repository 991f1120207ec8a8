package pairwise

import (
	"context"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Gradients writes, for each row x_i and each output c, the gradient of the kernel sum of the
// output,
//
//	dst[c][i, ·] = ∇ Σ_j alpha[j, c]·k(x_i, y_j)
//
// by the inputs before the frame, which has the factor factor. dst contains one matrix of x.Len() ×
// inputs for each column of alpha, which is y.Len() × outputs. A pair of equal rows contributes 0,
// the derivative of smooth kernels and the mean of the one-sided derivatives of others. For the
// laplacian kernel the same holds for each input.
//
// Kernels of ‖x − y‖₂ cost two products of the rows with those of y for each output, the others a
// loop over all inputs of all pairs.
func Gradients[T kern.Float](ctx context.Context, dst []kern.View[T], x, y Rows[T], k *Kernel, factor []float64,
	alpha kern.View[T]) error {
	if alpha.Rows != y.n || alpha.Cols != len(dst) || len(factor) != x.d {
		panic("pairwise: Gradients of shapes that do not fit")
	}
	tiles(ctx, x.n, func(lo, hi int) {
		g := gradients[T]{x: x.Slice(lo, hi), y: y, k: k, alpha: alpha}
		for _, d := range dst {
			g.dst = append(g.dst, d.Slice(lo, hi, 0, x.d))
		}
		g.run(ctx)
		for _, d := range g.dst {
			for i := range d.Rows {
				for j, f := range factor {
					d.Row(i)[j] *= T(f)
				}
			}
		}
	})
	return ctxerr.Check(ctx)
}

// gradients makes the gradients at one stripe of rows.
type gradients[T kern.Float] struct {
	dst   []kern.View[T]
	x, y  Rows[T]
	k     *Kernel
	alpha kern.View[T]
}

func (g *gradients[T]) run(ctx context.Context) {
	size := TileRows * TileColumns
	hold := design.Borrow[T](2*size + TileRows + g.x.d)
	defer hold.Release()
	slopes, weights, sums, row := hold.Data[:size], hold.Data[size:2*size], hold.Data[2*size:2*size+g.x.n],
		hold.Data[2*size+TileRows:]
	for _, d := range g.dst {
		for i := range d.Rows {
			clear(d.Row(i))
		}
	}
	for j := 0; j < g.y.n && ctx.Err() == nil; j += TileColumns {
		y := g.y.Slice(j, min(j+TileColumns, g.y.n))
		tile := kern.Dense(g.x.n, y.n, y.n, slopes)
		Distances(tile, g.x, y, g.k.Metric)
		if g.k.Metric == Squared {
			Slopes(g.k, tile)
		} else {
			Values(g.k, 1, tile)
		}
		filled(y, func(lo, hi int, rows kern.View[T]) {
			for c, d := range g.dst {
				part := kern.Dense(g.x.n, hi-lo, hi-lo, weights)
				g.weigh(part, tile.Slice(0, g.x.n, lo, hi), j+lo, c, sums)
				if g.k.Metric == Squared {
					g.squared(d, part, rows, sums, row)
				} else {
					g.oneByOne(d, part, rows, row)
				}
			}
		})
	}
}

// weigh writes the tile times the coefficients of y from row j on to part, and its sums over rows to sums.
func (g *gradients[T]) weigh(part, tile kern.View[T], j, c int, sums []T) {
	hold := design.Borrow[T](part.Cols)
	defer hold.Release()
	for l := range hold.Data {
		hold.Data[l] = g.alpha.At(j+l, c)
	}
	for i := range part.Rows {
		to, from, by := part.Row(i), tile.Row(i), hold.Data[:part.Cols]
		for l := range to {
			to[l] = from[l] * by[l]
		}
		sums[i] = kern.Sum(to)
	}
}

// squared adds 2·Σ_j w_ij·(x_i − y_j) to d.
func (g *gradients[T]) squared(d, weights, rows kern.View[T], sums, row []T) {
	for i := range d.Rows {
		kern.Scale(-2, weights.Row(i))
	}
	kern.Mul(d, weights, rows, true)
	for i := range d.Rows {
		kern.Axpy(2*sums[i], g.x.row(i, row), d.Row(i))
	}
}

// oneByOne adds the derivatives of kernels that are products over the inputs.
func (g *gradients[T]) oneByOne(d, weights, rows kern.View[T], row []T) {
	for i := range d.Rows {
		x, to := g.x.row(i, row), d.Row(i)
		for l, w := range weights.Row(i) {
			if w == 0 {
				continue
			}
			y := rows.Row(l)
			if g.k.Metric == L1 {
				signs(to, w, x, y)
				continue
			}
			for q, v := range x {
				v -= y[q]
				to[q] -= 2 * w * v / (1 + v*v)
			}
		}
	}
}

// signs subtracts w·sign(x − y) from to.
func signs[T kern.Float](to []T, w T, x, y []T) {
	x, y = x[:len(to)], y[:len(to)]
	for q := range to {
		switch {
		case x[q] > y[q]:
			to[q] -= w
		case x[q] < y[q]:
			to[q] += w
		}
	}
}
