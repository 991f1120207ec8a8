package kern

import (
	"context"
	"math"
)

// Len returns the number of values of a factor of the band.
func (s *Band) Len() int { return len(s.blocks) }

// Factor writes the Cholesky factor of B + shift·I to dst, Len values long. It returns the smallest
// squared pivot and the smallest ratio of a squared pivot to its original diagonal entry. ok is
// false if a pivot is not positive.
func (s *Band) Factor(dst []float64, shift float64) (least, share float64, ok bool) {
	copy(dst, s.blocks)
	hold, buf := borrow[float64](3 * blockSize)
	defer hold.release()
	u := buf[:blockSize]
	clear(u)
	least, share = math.Inf(1), math.Inf(1)
	for k := 0; k < s.n; k += bandWidth {
		rows, n := blockRows(dst, k), min(bandWidth, s.n-k)
		for i := range n {
			copy(u[i*bandWidth+i:(i+1)*bandWidth], rows.Row(i)[i:])
			u[i*bandWidth+i] += shift
		}
		if _, ok := factorUpper(u, n); !ok {
			return 0, 0, false
		}
		before := blockRows(s.blocks, k)
		for i := range n {
			row := u[i*bandWidth : (i+1)*bandWidth]
			pivot := row[i] * row[i]
			least, share = min(least, pivot), min(share, pivot/(before.At(i, i)+shift))
			copy(rows.Row(i)[i:bandWidth], row[i:])
		}
		if k+bandWidth < s.n {
			eliminateBlock(rows, blockRows(dst, k+bandWidth), u, buf[blockSize:])
		}
	}
	return least, share, true
}

// eliminateBlock solves the block to the right by the factor u and subtracts its Gram product from
// the next diagonal block.
func eliminateBlock(rows, next View[float64], u, buf []float64) {
	bl := blockingOf[float64]()
	left, x := buf[:blockSize], buf[blockSize:]
	for i := range bandWidth {
		u[i*bandWidth+i] = 1 / u[i*bandWidth+i]
	}
	packPanels(left, Dense(bandWidth, bandWidth, bandWidth, u).T(), bl.mr, 0, bandWidth, 0, bandWidth, nil)
	right := rows.Slice(0, bandWidth, bandWidth, 2*bandWidth)
	packPanels(x, right.T(), bl.nr, 0, bandWidth, 0, bandWidth, nil)
	for j := 0; j < bandWidth; j += bl.nr {
		panel := x[j*bandWidth : (j+bl.nr)*bandWidth]
		for i := 0; i < bandWidth; i += bl.mr {
			substitute(i, left[i*bandWidth:], panel)
		}
		for k := range bandWidth {
			copy(right.Row(k)[j:j+bl.nr], panel[k*bl.nr:(k+1)*bl.nr])
		}
	}
	packPanels(left, right.T(), bl.mr, 0, bandWidth, 0, bandWidth, nil)
	for j := 0; j < bandWidth; j += bl.nr { // down to the diagonal
		tiles((j+bl.nr+bl.mr-1)/bl.mr, bandWidth, left, x[j*bandWidth:], next.Data[j:], next.RowStride, subtract)
	}
}

// Solve overwrites x, n × k, with (B + shift·I)⁻¹x, given the result of Factor.
func (s *Band) Solve(factor []float64, x View[float64]) {
	const maxColumns = 4
	if x.Cols > maxColumns {
		s.solveBlocks(factor, x)
		return
	}
	hold, column := borrow[float64](s.n)
	defer hold.release()
	for j := range x.Cols {
		for i := range column {
			column[i] = x.At(i, j)
		}
		s.solveColumn(factor, column)
		for i, v := range column {
			x.Set(i, j, v)
		}
	}
}

// solveColumn is Solve for one column; it reads the factor along rows.
func (s *Band) solveColumn(factor, x []float64) {
	row := func(i int) []float64 {
		offset := i % bandWidth
		return blockRows(factor, i-offset).Row(offset)[offset:min(2*bandWidth, offset+s.n-i)]
	}
	for i := range x {
		r := row(i)
		x[i] /= r[0]
		Axpy(-x[i], r[1:], x[i+1:i+len(r)])
	}
	for i := s.n - 1; i >= 0; i-- {
		r := row(i)
		x[i] = (x[i] - Dot(r[1:], x[i+1:i+len(r)])) / r[0]
	}
}

// solveBlocks is Solve for several columns.
func (s *Band) solveBlocks(factor []float64, x View[float64]) {
	ctx, last := context.Background(), (s.n-1)/bandWidth*bandWidth // an error is the context's
	part := func(k int) (inner, right, own, next View[float64]) {
		n, m := min(bandWidth, s.n-k), min(bandWidth, max(0, s.n-k-bandWidth))
		rows := blockRows(factor, k)
		inner, right = rows.Slice(0, n, 0, n).T(), rows.Slice(0, n, bandWidth, bandWidth+m)
		return inner, right, x.Slice(k, k+n, 0, x.Cols), x.Slice(k+n, k+n+m, 0, x.Cols)
	}
	for k := 0; k <= last; k += bandWidth {
		inner, right, own, next := part(k)
		_ = SolveLower(ctx, inner, own)
		if k < last {
			_ = subtractProduct(ctx, next, right.T(), own)
		}
	}
	for k := last; k >= 0; k -= bandWidth {
		inner, right, own, next := part(k)
		if k < last {
			_ = subtractProduct(ctx, own, right, next)
		}
		_ = SolveLowerT(ctx, inner, own)
	}
}
