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
		if !t.avx512 {
			t.transpose()
		}
	}
}

func (t target) tile() {
	mr, columns := t.tileShape()
	nr := columns * t.lanes()
	f := t.float()
	TEXT(t.name("tile"), NOSPLIT, fmt.Sprintf("func(depth int, a, b, c *%s, cRow int, how int)", f))
	Doc(fmt.Sprintf("%s multiplies a packed panel of %d rows with one of %d columns:", t.name("tile"), mr, nr),
		"",
		fmt.Sprintf("\tfor i < %d, j < %d:  c[i·cRow+j] = or += or −= Σ_{k<depth} a[%d·k+i]·b[%d·k+j]", mr, nr, mr, nr))
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

// finish stores the sums, or adds them to what is there, or subtracts them.
func (t target) finish(mr, columns int, sums []reg.VecPhysical, c, cRow reg.GPVirtual) {
	how := Load(Param("how"), GP64()).(reg.GPVirtual)
	row := GP64()
	combine := func(op func(...operand.Op)) {
		MOVQ(c, row)
		for i := range mr {
			for j := range columns {
				op(at(row, j*t.bytes()), sums[i*columns+j])
			}
			if i < mr-1 {
				ADDQ(cRow, row)
			}
		}
	}
	TESTQ(how, how)
	JZ(operand.LabelRef("store"))
	CMPQ(how, operand.Imm(1))
	JNE(operand.LabelRef("subtract"))
	combine(func(o ...operand.Op) { t.add(o[0], o[1], o[1]) })
	JMP(operand.LabelRef("store"))
	Label("subtract")
	old := t.vector(mr * columns)
	combine(func(o ...operand.Op) {
		t.load(o[0].(operand.Mem), old)
		t.sub(o[1], old, o[1])
	})
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

// row writes the product of one row with a matrix that is not packed, and the
// step of a triangular solve that is made of it.
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
	t.rowSums(columns)
	sums := param("sums")
	for j := range columns {
		t.store(t.vector(j), at(sums, j*t.bytes()))
	}
	done()

	TEXT(t.name("eliminate"), NOSPLIT, fmt.Sprintf("func(depth int, x *%s, xStep int, w *%s, wRow int, y *%s, factor %s)", f, f, f, f))
	Doc(fmt.Sprintf("%s takes the sums of %s from y:", t.name("eliminate"), t.name("row")), "",
		fmt.Sprintf("\tfor j < %d:  y[j] = (y[j] − Σ_{k<depth} x[k·xStep]·w[k·wRow+j])·factor", width))
	Pragma("noescape")
	t.rowSums(columns)
	y := param("y")
	factor, old := t.vector(columns), t.vector(columns+1)
	arg, err := Param("factor").Resolve()
	if err != nil {
		panic(err)
	}
	t.broadcast(arg.Addr, factor)
	for j := range columns {
		v := t.vector(j)
		t.load(at(y, j*t.bytes()), old)
		t.sub(v, old, v)
		t.mul(factor, v, v)
		t.store(v, at(y, j*t.bytes()))
	}
	done()
}

// rowSums leaves the sums of a row in the first registers.
func (t target) rowSums(columns int) {
	depth, x, xStep, w, wRow := param("depth"), param("x"), param("xStep"), param("w"), param("wRow")
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
}

// transpose writes the transposition of four rows, for either instruction set.
func (t target) transpose() {
	f, name := t.float(), "transposeF64"
	if t.f32 {
		name = "transposeF32"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(dst *%s, dstRow int, src *%s, srcRow, n int)", f, f))
	Doc(name+" transposes four rows of n elements, n a multiple of 4:", "",
		"\tfor r < 4, k < n:  dst[k·dstRow+r] = src[r·srcRow+k]")
	Pragma("noescape")
	dst, dstRow, src, srcRow, n := param("dst"), param("dstRow"), param("src"), param("srcRow"), param("n")
	SHLQ(operand.Imm(uint64(t.shift())), dstRow)
	SHLQ(operand.Imm(uint64(t.shift())), srcRow)
	src3, dst3 := GP64(), GP64()
	LEAQ(operand.Mem{Base: srcRow, Index: srcRow, Scale: 2}, src3)
	LEAQ(operand.Mem{Base: dstRow, Index: dstRow, Scale: 2}, dst3)
	rows := func(base, step, triple reg.Register) []operand.Mem {
		return []operand.Mem{
			{Base: base}, {Base: base, Index: step, Scale: 1},
			{Base: base, Index: step, Scale: 2}, {Base: base, Index: triple, Scale: 1},
		}
	}
	v := func(i int) operand.Op {
		if t.f32 {
			return ymm[i].AsX()
		}
		return ymm[i]
	}
	quads := GP64()
	MOVQ(n, quads)
	SHRQ(operand.Imm(2), quads)
	loop("quads", quads, func() {
		for i, m := range rows(src, srcRow, src3) {
			t.load(m, v(i))
		}
		// a0 b0 a2 b2 | a1 b1 a3 b3 | c0 d0 … (float64); float32 has a0 b0 a1 b1 …
		t.pick(VUNPCKLPD, VUNPCKLPS)(v(1), v(0), v(4))
		t.pick(VUNPCKHPD, VUNPCKHPS)(v(1), v(0), v(5))
		t.pick(VUNPCKLPD, VUNPCKLPS)(v(3), v(2), v(6))
		t.pick(VUNPCKHPD, VUNPCKHPS)(v(3), v(2), v(7))
		if t.f32 {
			VUNPCKLPD(v(6), v(4), v(0))
			VUNPCKHPD(v(6), v(4), v(1))
			VUNPCKLPD(v(7), v(5), v(2))
			VUNPCKHPD(v(7), v(5), v(3))
		} else {
			VPERM2F128(operand.Imm(0x20), v(6), v(4), v(0))
			VPERM2F128(operand.Imm(0x20), v(7), v(5), v(1))
			VPERM2F128(operand.Imm(0x31), v(6), v(4), v(2))
			VPERM2F128(operand.Imm(0x31), v(7), v(5), v(3))
		}
		for i, m := range rows(dst, dstRow, dst3) {
			t.store(v(i), m)
		}
		ADDQ(operand.Imm(uint64(4*t.size())), src)
		LEAQ(operand.Mem{Base: dst, Index: dstRow, Scale: 4}, dst)
	})
	done()
}
