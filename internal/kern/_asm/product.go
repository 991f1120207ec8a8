package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileShape returns the register tile: mr rows of columns vectors.
func (t target) tileShape() (mr, columns int) {
	if t.avx512 {
		return 8, 3
	}
	return 6, 2
}

// product writes the micro-kernels of the matrix product.
func product() {
	for _, t := range targets {
		t.tile()
		t.row()
	}
	for _, t := range targets {
		if t.f32 {
			t.widen()
		}
	}
}

func (t target) tile() {
	mr, columns := t.tileShape()
	nr := columns * t.lanes()
	f := t.float()
	TEXT(t.name("tile"), NOSPLIT, fmt.Sprintf("func(depth int, a, b, c *%s, cRow int, add bool)", f))
	Doc(fmt.Sprintf("%s multiplies a packed panel of %d rows with one of %d columns:", t.name("tile"), mr, nr),
		"",
		fmt.Sprintf("\tfor i < %d, j < %d:  c[i·cRow+j] (+)= Σ_{k<depth} a[%d·k+i]·b[%d·k+j]", mr, nr, mr, nr))
	Pragma("noescape")

	depth, a, b, c, cRow := param("depth"), param("a"), param("b"), param("c"), param("cRow")
	SHLQ(operand.Imm(uint64(t.shift())), cRow)

	sums := t.vectors(0, mr*columns)
	right := t.vectors(mr*columns, columns)
	free := mr*columns + columns
	lefts := 2
	if t.avx512 {
		lefts = 5
	}
	left := t.vectors(free, lefts)

	// Fetch the rows of c while the sums are made.
	row := GP64()
	MOVQ(c, row)
	for i := range mr {
		for line := 0; line < columns*t.bytes(); line += 64 {
			PREFETCHT0(at(row, line))
		}
		PREFETCHT0(at(row, columns*t.bytes()-1))
		if i < mr-1 {
			ADDQ(cRow, row)
		}
	}
	for _, s := range sums {
		t.zero(s)
	}

	step := func(k int) {
		for j, r := range right {
			t.load(at(b, (k*columns+j)*t.bytes()), r)
		}
		for i := range mr {
			t.broadcast(at(a, (k*mr+i)*t.size()), left[i%lefts])
			for j, r := range right {
				t.fma(left[i%lefts], r, sums[i*columns+j])
			}
		}
	}
	const unroll = 4
	tail := GP64()
	MOVQ(depth, tail)
	ANDQ(operand.Imm(unroll-1), tail)
	SHRQ(operand.Imm(2), depth)
	loop("deep", depth, func() {
		for k := range unroll {
			step(k)
		}
		ADDQ(operand.I32(int32(unroll*mr*t.size())), a)
		ADDQ(operand.I32(int32(unroll*columns*t.bytes())), b)
	})
	loop("rest", tail, func() {
		step(0)
		ADDQ(operand.I32(int32(mr*t.size())), a)
		ADDQ(operand.I32(int32(columns*t.bytes())), b)
	})
	t.finish(mr, columns, sums, c, cRow)
}

// finish stores the sums, or adds them to what is there.
func (t target) finish(mr, columns int, sums []reg.VecPhysical, c, cRow reg.GPVirtual) {
	add := GP8()
	Load(Param("add"), add)
	TESTB(add, add)
	JZ(operand.LabelRef("store"))
	row := GP64()
	MOVQ(c, row)
	for i := range mr {
		for j := range columns {
			s := sums[i*columns+j]
			t.add(at(row, j*t.bytes()), s, s)
		}
		if i < mr-1 {
			ADDQ(cRow, row)
		}
	}
	Label("store")
	for i := range mr {
		for j := range columns {
			t.store(sums[i*columns+j], at(c, j*t.bytes()))
		}
		if i < mr-1 {
			ADDQ(cRow, c)
		}
	}
	done()
}

// widen writes the addition of a tile of float32 sums to a float64 matrix.
func (t target) widen() {
	mr, columns := t.tileShape()
	nr := columns * t.lanes()
	name := "widenAVX2"
	if t.avx512 {
		name = "widenAVX512"
	}
	TEXT(name, NOSPLIT, "func(c *float64, cRow int, sums *float32)")
	Doc(fmt.Sprintf("%s adds a tile of %d × %d sums to c:", name, mr, nr), "",
		fmt.Sprintf("\tfor i < %d, j < %d:  c[i·cRow+j] += float64(sums[%d·i+j])", mr, nr, nr))
	Pragma("noescape")
	wide := target{avx512: t.avx512}
	c, cRow, sums := param("c"), param("cRow"), param("sums")
	SHLQ(operand.Imm(3), cRow)
	rows := GP64()
	MOVQ(operand.U32(uint32(mr)), rows)
	loop("rows", rows, func() {
		for j := range nr / wide.lanes() {
			v := t.vector(j)
			VCVTPS2PD(at(sums, j*wide.lanes()*4), v)
			wide.add(at(c, j*wide.bytes()), v, v)
			wide.store(v, at(c, j*wide.bytes()))
		}
		ADDQ(cRow, c)
		ADDQ(operand.I32(int32(nr*4)), sums)
	})
	done()
}

// row writes the product of one row with a matrix that is not packed.
func (t target) row() {
	_, columns := t.tileShape()
	columns *= 2
	width := columns * t.lanes()
	f := t.float()
	TEXT(t.name("row"), NOSPLIT, fmt.Sprintf("func(depth int, x *%s, xStep int, w *%s, wRow int, sums *%s)", f, f, f))
	Doc(fmt.Sprintf("%s multiplies a row with %d columns:", t.name("row"), width), "",
		fmt.Sprintf("\tfor j < %d:  sums[j] = Σ_{k<depth} x[k·xStep]·w[k·wRow+j]", width), "",
		"in the order, and with the bits, of "+t.name("tile")+".")
	Pragma("noescape")
	depth, x, xStep, w, wRow, sums := param("depth"), param("x"), param("xStep"), param("w"), param("wRow"), param("sums")
	SHLQ(operand.Imm(uint64(t.shift())), xStep)
	SHLQ(operand.Imm(uint64(t.shift())), wRow)
	for j := range columns {
		t.zero(t.vector(j))
	}
	left := t.vector(columns)
	loop("deep", depth, func() {
		t.broadcast(at(x, 0), left)
		for j := range columns {
			t.fma(at(w, j*t.bytes()), left, t.vector(j))
		}
		ADDQ(xStep, x)
		ADDQ(wRow, w)
	})
	for j := range columns {
		t.store(t.vector(j), at(sums, j*t.bytes()))
	}
	done()
}
