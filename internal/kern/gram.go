package kern

import "context"

// Gram adds the lower triangle, diagonal included, of AᵀSA to C:
//
//	for i ≥ j:  c[i,j] += Σ_k weights[k]·a[k,i]·a[k,j]
//
// A is n × d with any strides, weights has n elements or is nil for ones, and C is d × d. The
// strict upper triangle of C is neither read nor written (see MirrorLower). Cost nd² flops. Once
// ctx is done it returns ctxerr.Check(ctx), and C is undefined.
func Gram[T Float](ctx context.Context, c, a View[T], weights []T) error {
	checkGram(c.Rows, c.Cols, a, weights)
	p := product[T]{c: c, a: a.T(), b: a, weights: weights, store: add, lower: true, ctx: ctx}
	return p.run()
}

func checkGram[T Float](rows, cols int, a View[T], weights []T) {
	if rows != a.Cols || cols != a.Cols {
		panic("kern: Gram of shapes that do not fit")
	}
	if weights != nil && len(weights) != a.Rows {
		panic("kern: Gram needs one weight per row")
	}
}

// MirrorLower copies the lower triangle of a square C onto its upper one.
func MirrorLower[T Float](c View[T]) {
	if c.Rows != c.Cols {
		panic("kern: MirrorLower of a matrix that is not square")
	}
	const block = 32
	for i0 := 0; i0 < c.Rows; i0 += block {
		i1, left := min(i0+block, c.Rows), 0
		if c.ColStride == 1 {
			for ; left < i0; left += block {
				transpose(c.Data[left*c.RowStride+i0:], c.RowStride, c.Data[i0*c.RowStride+left:], c.RowStride, 1, i1-i0, block)
			}
		}
		for i := i0; i < i1; i++ {
			for j := left; j < i; j++ {
				c.Set(j, i, c.At(i, j))
			}
		}
	}
}
