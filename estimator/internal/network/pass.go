package network

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// rowsAtOnce is the number of rows of a minibatch per task.
const rowsAtOnce = 32

// forward maps the rows of a minibatch to outputs, and stores intermediates in b for backward.
func (n *net[T]) forward(ctx context.Context, b *minibatch[T]) error {
	D := n.head.Cols
	norm := T(math.Sqrt(2 / float64(D)))
	in := b.x
	for l := range n.layers {
		y, angles, z := &n.layers[l], b.angles[l].Slice(0, b.rows, 0, D), b.z[l].Slice(0, b.rows, 0, D)
		offset := y.phase
		if l == 0 && b.entries != nil {
			kern.SparseMul(angles, *b.entries, y.w, false)
			kern.MulVecT(b.offset, y.w, n.center, false)
			for k, v := range y.phase {
				b.offset[k] = v - b.offset[k]
			}
			offset = b.offset
		} else if err := kern.MulContext(ctx, angles, in, y.w, false); err != nil {
			return err
		}
		kern.Parallel(b.rows, rowsAtOnce, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				a, to := angles.Row(i), z.Row(i)
				kern.Axpy(1, offset, a)
				kern.SinCos(a, to, a)
				kern.Scale(norm, to)
			}
		})
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		in = z
	}
	kern.Parallel(b.rows, rowsAtOnce, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for c, v := range n.intercept {
				b.out[i*len(n.intercept)+c] = kern.Dot(in.Row(i), n.head.Row(c)) + v
			}
		}
	})
	return nil
}

// backward computes the gradient of a minibatch, given the derivatives by the outputs in b.out, and
// adds decay·V to that of the head.
func (n *net[T]) backward(ctx context.Context, b *minibatch[T], decay T) error {
	D, q, last := n.head.Cols, len(n.intercept), len(n.layers)-1
	by := kern.Dense(b.rows, q, q, b.out[:b.rows*q])
	to := kern.Dense(q, D, D, n.slope[n.headAt:n.headAt+q*D])
	if err := kern.MulContext(ctx, to, by.T(), b.z[last].Slice(0, b.rows, 0, D), false); err != nil {
		return err
	}
	kern.Axpy(decay, n.weights[n.headAt:n.headAt+q*D], to.Data)
	intercept := n.slope[n.headAt+q*D : n.headAt+q*D+q]
	clear(intercept)
	for i := range b.rows {
		kern.Axpy(1, by.Row(i), intercept)
	}
	lowest := n.lowest()
	for l := last; l >= lowest; l-- {
		angles := b.angles[l].Slice(0, b.rows, 0, D)
		if l == last {
			n.throughHead(b, angles)
		} else {
			n.throughLayer(angles, b.z[l].Slice(0, b.rows, 0, D))
		}
		if err := n.layerSlope(ctx, b, l); err != nil {
			return err
		}
		if l > lowest { // features of the layer below are no longer needed
			below := b.z[l-1].Slice(0, b.rows, 0, D)
			if err := kern.MulContext(ctx, below, angles, n.layers[l].w.T(), false); err != nil {
				return err
			}
		}
	}
	return ctxerr.Check(ctx)
}

// throughHead converts sines to derivatives by the angles of the last layer.
func (n *net[T]) throughHead(b *minibatch[T], angles kern.View[T]) {
	q, norm := len(n.intercept), T(-math.Sqrt(2/float64(angles.Cols)))
	kern.Parallel(b.rows, rowsAtOnce, func(lo, hi int) {
		var sum []T
		for i := lo; i < hi; i++ {
			row := angles.Row(i)
			if q == 1 {
				times(row, norm*b.out[i], n.head.Row(0))
				continue
			}
			if sum == nil {
				sum = make([]T, angles.Cols)
			}
			clear(sum)
			for c, v := range b.out[i*q : (i+1)*q] {
				kern.Axpy(v, n.head.Row(c), sum)
			}
			times(row, norm, sum)
		}
	})
}

// throughLayer converts sines to derivatives by the angles of a layer, given those by its features.
func (n *net[T]) throughLayer(angles, features kern.View[T]) {
	norm := T(-math.Sqrt(2 / float64(angles.Cols)))
	kern.Parallel(angles.Rows, rowsAtOnce, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			times(angles.Row(i), norm, features.Row(i))
		}
	})
}

// times computes x[i] *= alpha·y[i].
func times[T kern.Float](x []T, alpha T, y []T) {
	y = y[:len(x)]
	for i, v := range y {
		x[i] *= alpha * v
	}
}

// layerSlope computes the gradient by the weights of a layer from the derivatives by its angles.
func (n *net[T]) layerSlope(ctx context.Context, b *minibatch[T], l int) error {
	y := &n.layers[l]
	angles := b.angles[l].Slice(0, b.rows, 0, y.out)
	sums := n.slope[y.atB : y.atB+y.out]
	clear(sums)
	for i := range b.rows {
		kern.Axpy(1, angles.Row(i), sums)
	}
	if !y.changes() {
		return nil
	}
	if l == 0 && b.entries != nil {
		kern.SparseMulT(y.gradW, *b.entries, angles, false)
		for j, v := range n.center {
			kern.Axpy(-v, sums, y.gradW.Row(j))
		}
	} else {
		in := b.x
		if l > 0 {
			in = b.z[l-1].Slice(0, b.rows, 0, y.in)
		}
		if err := kern.MulContext(ctx, y.gradW, in.T(), angles, false); err != nil {
			return err
		}
	}
	for j := range y.in {
		s, by := y.scales[j], y.gradW.Row(j)
		n.slope[y.atS+j] = kern.Dot(by, y.w.Row(j))
		to := n.slope[y.atU+j*y.out : y.atU+(j+1)*y.out]
		for k, v := range by {
			to[k] = s * v
		}
	}
	return nil
}
