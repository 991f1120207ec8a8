package kern

import "math"

// Manhattan computes the L1 distances of the rows of a and b:
//
//	for i, j:  c[i,j] = Σ_k |a[i,k] − b[j,k]|
//
// A is m × d and B is n × d, with any strides; C is m × n with contiguous rows. Cost 3mnd flops, in
// the calling goroutine. A distance does not depend on the other rows.
func Manhattan[T Float](c, a, b View[T]) { differences(c, a, b, false) }

// CauchyReciprocals computes the reciprocals of the Cauchy kernel, with shapes as in [Manhattan]:
//
//	for i, j:  c[i,j] = Π_k (1 + (a[i,k] − b[j,k])²)
func CauchyReciprocals[T Float](c, a, b View[T]) { differences(c, a, b, true) }

func differences[T Float](c, a, b View[T], products bool) {
	if a.Cols != b.Cols || c.Rows != a.Rows || c.Cols != b.Rows || c.ColStride != 1 && c.Cols > 1 {
		panic("kern: distances of shapes that do not fit")
	}
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	if !isa.complete() {
		differencesPortable(c, a, b, products)
		return
	}
	mr, nr := differenceShape[T]()
	panels := (c.Cols + nr - 1) / nr
	hold, buf := borrow[T](panels*nr*a.Cols + mr*a.Cols + mr*panels*nr)
	defer hold.release()
	right, rest := buf[:panels*nr*a.Cols], buf[panels*nr*a.Cols:]
	left, tile := rest[:mr*a.Cols], rest[mr*a.Cols:]
	packPanels(right, b, nr, 0, b.Rows, 0, b.Cols, nil)
	constants := differenceConstants[T](products)
	for i := 0; i < c.Rows; i += mr {
		n := min(mr, c.Rows-i)
		packPanels(left, a, mr, i, n, 0, a.Cols, nil)
		differencesAsm(panels, a.Cols, first(left), first(right), &tile[0], panels*nr, &constants[0], products)
		for r := range n {
			copy(c.Row(i+r), tile[r*panels*nr:])
		}
	}
}

// first returns the address of the first element, nil if there is none.
func first[T Float](x []T) *T {
	if len(x) == 0 {
		return nil
	}
	return &x[0]
}

// differenceShape returns the tile shape of the assembly.
func differenceShape[T Float]() (mr, nr int) {
	if isa == avx512 {
		return 8, 3 * lanesOf[T]()
	}
	return 4, 2 * lanesOf[T]()
}

// differenceConstants returns the initial value and the mask of magnitudes, or the initial value
// and 1 for products.
func differenceConstants[T Float](products bool) [2]T {
	if products {
		return [2]T{1, 1}
	}
	var out [2]T
	if is64[T]() {
		as64(out[:])[1] = math.Float64frombits(1<<63 - 1)
	} else {
		as32(out[:])[1] = math.Float32frombits(1<<31 - 1)
	}
	return out
}

func differencesPortable[T Float](c, a, b View[T], products bool) {
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			sum := T(0)
			if products {
				sum = 1
			}
			x, y := i*a.RowStride, j*b.RowStride
			for range a.Cols {
				d := a.Data[x] - b.Data[y]
				if products {
					sum *= 1 + d*d
				} else {
					sum += T(math.Abs(float64(d)))
				}
				x, y = x+a.ColStride, y+b.ColStride
			}
			row[j] = sum
		}
	}
}

// SquaredDistances converts inner products of a row with others to squared distances, given all
// squared norms:
//
//	for j:  row[j] = (norm + norms[j]) − 2·row[j]
//
// It reports whether a distance is below part·(norm + norms[j]), that is, whether most digits
// canceled.
func SquaredDistances[T Float](row []T, norm T, norms []T, part T) (canceled bool) {
	if len(norms) != len(row) {
		panic("kern: SquaredDistances of different lengths")
	}
	constants := [3]T{2, part, norm}
	for n := asmLength[T](len(row)); n > 0; n = asmLength[T](len(row)) {
		if squaresAsm(&constants[0], &norms[0], &row[0], n) {
			canceled = true
		}
		norms, row = norms[n:], row[n:]
	}
	for j, other := range norms {
		sum := norm + other
		row[j] = sum - 2*row[j]
		if row[j] < part*sum {
			canceled = true
		}
	}
	return canceled
}

// NegSqrt computes dst[i] = −sqrt(scale·x[i]). dst may be x.
func NegSqrt[T Float](dst []T, scale T, x []T) {
	if len(dst) != len(x) {
		panic("kern: destination and argument differ in length")
	}
	for n := asmLength[T](len(x)); n > 0; n = asmLength[T](len(x)) {
		rootsAsm(scale, &dst[0], &x[0], n)
		dst, x = dst[n:], x[n:]
	}
	for i, v := range x {
		dst[i] = 0 - T(math.Sqrt(float64(scale*v)))
	}
}
