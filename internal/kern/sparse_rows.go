package kern

import (
	"slices"
	"unsafe"
)

// Products of a sparse row with several columns process four or two columns at a time, with sums or
// factors in registers. An index is then read once for four columns, whose values share a cache
// line or two. Rows without values use assembly for four columns, which checks every index against
// the number of rows.

// errIndexRange is the panic message for an index out of range.
const errIndexRange = "kern: sparse matrix with an index beyond the columns that it has"

// GatherRows computes row += Σ scale·values[p]·b[columns[p]], a combination of rows of b. Nil
// values mean ones.
func GatherRows[T Float](row []T, columns []uint32, values []T, scale T, b View[T]) {
	j := 0
	for ; j+4 <= len(row); j += 4 {
		s := gatherFour(columns, values, b.Data[j:], b.Rows, b.RowStride)
		to := (*[4]T)(row[j:])
		for q, v := range s {
			to[q] += scale * v
		}
	}
	if j+2 <= len(row) {
		s0, s1 := gatherTwo(columns, values, b.Data[j:], b.RowStride)
		row[j] += scale * s0
		row[j+1] += scale * s1
		j += 2
	}
	if j < len(row) {
		row[j] += scale * gatherOne(columns, values, b.Data[j:], b.RowStride)
	}
}

func gatherFour[T Float](columns []uint32, values, x []T, rows, stride int) (sum [4]T) {
	if values == nil && isa.complete() {
		for chunk := range slices.Chunk(columns, maxAsmElements) {
			if !gatherFourAsm(chunk, rows, unsafe.SliceData(x), stride, &sum) {
				panic(errIndexRange)
			}
		}
		return sum
	}
	var s0, s1, s2, s3 T
	if values == nil {
		for _, c := range columns {
			from := (*[4]T)(x[int(c)*stride:])
			s0 += from[0]
			s1 += from[1]
			s2 += from[2]
			s3 += from[3]
		}
		return [4]T{s0, s1, s2, s3}
	}
	values = values[:len(columns)]
	for p, c := range columns {
		from, f := (*[4]T)(x[int(c)*stride:]), values[p]
		s0 += f * from[0]
		s1 += f * from[1]
		s2 += f * from[2]
		s3 += f * from[3]
	}
	return [4]T{s0, s1, s2, s3}
}

func gatherTwo[T Float](columns []uint32, values, x []T, stride int) (s0, s1 T) {
	if values == nil {
		for _, c := range columns {
			from := (*[2]T)(x[int(c)*stride:])
			s0 += from[0]
			s1 += from[1]
		}
		return s0, s1
	}
	values = values[:len(columns)]
	for p, c := range columns {
		from, f := (*[2]T)(x[int(c)*stride:]), values[p]
		s0 += f * from[0]
		s1 += f * from[1]
	}
	return s0, s1
}

func gatherOne[T Float](columns []uint32, values, x []T, stride int) (s T) {
	if values == nil {
		for _, c := range columns {
			s += x[int(c)*stride]
		}
		return s
	}
	values = values[:len(columns)]
	for p, c := range columns {
		s += values[p] * x[int(c)*stride]
	}
	return s
}

// ScatterRows adds scale·values[p]·row to each row b[columns[p]], values nil
// meaning ones.
func ScatterRows[T Float](b View[T], columns []uint32, values []T, scale T, row []T) {
	j := 0
	for ; j+4 <= len(row); j += 4 {
		scatterFour(b.Data[j:], b.Rows, b.RowStride, columns, values, scale, (*[4]T)(row[j:]))
	}
	if j+2 <= len(row) {
		scatterTwo(b.Data[j:], b.RowStride, columns, values, scale*row[j], scale*row[j+1])
		j += 2
	}
	if j < len(row) {
		scatterOne(b.Data[j:], b.RowStride, columns, values, scale*row[j])
	}
}

func scatterFour[T Float](y []T, rows, stride int, columns []uint32, values []T, scale T, row *[4]T) {
	v0, v1, v2, v3 := scale*row[0], scale*row[1], scale*row[2], scale*row[3]
	if values == nil && isa.complete() {
		for chunk := range slices.Chunk(columns, maxAsmElements) {
			if !scatterFourAsm(chunk, rows, unsafe.SliceData(y), stride, &[4]T{v0, v1, v2, v3}) {
				panic(errIndexRange)
			}
		}
		return
	}
	if values == nil {
		for _, c := range columns {
			to := (*[4]T)(y[int(c)*stride:])
			to[0] += v0
			to[1] += v1
			to[2] += v2
			to[3] += v3
		}
		return
	}
	values = values[:len(columns)]
	for p, c := range columns {
		to, f := (*[4]T)(y[int(c)*stride:]), values[p]
		to[0] += f * v0
		to[1] += f * v1
		to[2] += f * v2
		to[3] += f * v3
	}
}

func scatterTwo[T Float](y []T, stride int, columns []uint32, values []T, v0, v1 T) {
	if values == nil {
		for _, c := range columns {
			to := (*[2]T)(y[int(c)*stride:])
			to[0] += v0
			to[1] += v1
		}
		return
	}
	values = values[:len(columns)]
	for p, c := range columns {
		to, f := (*[2]T)(y[int(c)*stride:]), values[p]
		to[0] += f * v0
		to[1] += f * v1
	}
}

func scatterOne[T Float](y []T, stride int, columns []uint32, values []T, v T) {
	if values == nil {
		for _, c := range columns {
			y[int(c)*stride] += v
		}
		return
	}
	values = values[:len(columns)]
	for p, c := range columns {
		y[int(c)*stride] += values[p] * v
	}
}
