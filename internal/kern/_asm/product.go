package main

import (
	"fmt"
	"strings"

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
		t.tiles(false)
		t.tiles(true)
		t.eliminate()
		t.substitute()
	}
	for _, t := range targets {
		if t.f32 {
			t.widen()
		}
		if !t.avx512 {
			t.transpose(4)
		}
		if t.avx512 != t.f32 {
			t.transpose(8)
		}
	}
	for _, width := range []int{16, 24, 32, 48, 64, 192} {
		pack(width)
	}
}

// tiles writes the product of packed panels: several panels of a with one of b, down a column of c,
// or one panel of a with several of b, along rows of c.
func (t target) tiles(across bool) {
	mr, columns := t.tileShape()
	t.tilesHead(across)
	panels, depth, a, b, c, cRow := param("panels"), param("depth"), param("a"), param("b"), param("c"), param("cRow")
	how := param("how")
	SHLQ(operand.Imm(uint64(t.shift())), cRow)
	sums := t.vectors(0, mr*columns)

	// One pointer advances from tile to tile, the other one is reset. Going down, each step
	// prefetches a line of the next panel of b into the second-level cache.
	k, next := tileStep{target: t, mr: mr, columns: columns, sums: sums, a: a, b: b}, GP64()
	if across {
		k.a = GP64()
	} else {
		k.b = GP64()
		IMUL3Q(operand.I32(int32(columns*t.bytes())), depth, next)
		ADDQ(b, next)
	}
	loop("panel", panels, func() {
		for _, s := range sums {
			t.zero(s)
		}
		if across {
			MOVQ(a, k.a)
		} else {
			MOVQ(b, k.b)
		}
		// Rows of c are prefetched during the first steps, one per step.
		quads, first, row, rest := GP64(), GP64(), GP64(), GP64()
		MOVQ(depth, quads)
		SHRQ(operand.Imm(2), quads)
		MOVQ(operand.U32(uint32(mr)), first)
		CMPQ(quads, first)
		CMOVQLT(quads, first)
		SUBQ(first, quads)
		MOVQ(c, row)
		loop("fetching", first, func() {
			for line := 0; line < columns*t.bytes(); line += 64 {
				PREFETCHT0(at(row, line))
			}
			PREFETCHT0(at(row, columns*t.bytes()-1))
			ADDQ(cRow, row)
			k.steps(4)
		})
		loop("quads", quads, func() {
			if !across {
				PREFETCHT1(at(next, 0))
				ADDQ(operand.Imm(64), next)
			}
			k.steps(4)
		})
		MOVQ(depth, rest)
		ANDQ(operand.Imm(3), rest)
		loop("rest", rest, func() { k.steps(1) })
		MOVQ(c, row)
		t.finish(mr, columns, sums, c, cRow, how)
		if across {
			LEAQ(at(row, columns*t.bytes()), c)
		}
	})
	done()
}

func (t target) tilesHead(across bool) {
	mr, columns := t.tileShape()
	nr, f, name := columns*t.lanes(), t.float(), t.name("tiles")
	if across {
		name = t.name("across")
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(panels, depth int, a, b, c *%s, cRow, how int)", f))
	Pragma("noescape")
	if across {
		Doc(fmt.Sprintf("%s multiplies a packed panel of %d rows with adjacent ones of %d columns:", name, mr, nr), "",
			fmt.Sprintf("\tfor p < panels, i < %d, j < %d:", mr, nr),
			fmt.Sprintf("\t\tc[i·cRow+%d·p+j] = or += or −= Σ_{k<depth} a[k·%d+i]·b[(p·depth+k)·%d+j]", nr, mr, nr))
	} else {
		Doc(fmt.Sprintf("%s multiplies adjacent packed panels of %d rows with one of %d columns:", name, mr, nr), "",
			fmt.Sprintf("\tfor p < panels, i < %d, j < %d:", mr, nr),
			fmt.Sprintf("\t\tc[(%d·p+i)·cRow+j] = or += or −= Σ_{k<depth} a[(p·depth+k)·%d+i]·b[%d·k+j]", mr, mr, nr))
	}
}

// tileStep emits the inner loop of the product.
type tileStep struct {
	target
	mr, columns int
	sums        []reg.VecPhysical
	a, b        reg.GPVirtual
}

// steps adds n products of a column of a with a row of b to the sums.
func (s tileStep) steps(n int) {
	right := s.vectors(s.mr*s.columns, s.columns)
	free := s.mr*s.columns + s.columns
	left := s.vectors(free, 2)
	if s.avx512 {
		left = s.vectors(free, 5)
	}
	for k := range n {
		for j, r := range right {
			s.load(at(s.b, (k*s.columns+j)*s.bytes()), r)
		}
		for i := range s.mr {
			l := left[i%len(left)]
			s.broadcast(at(s.a, (k*s.mr+i)*s.size()), l)
			for j, r := range right {
				s.fma(l, r, s.sums[i*s.columns+j])
			}
		}
	}
	ADDQ(operand.I32(int32(n*s.mr*s.size())), s.a)
	ADDQ(operand.I32(int32(n*s.columns*s.bytes())), s.b)
}

// finish stores the sums in c, adds them or subtracts them, and advances c to the next tile.
func (t target) finish(mr, columns int, sums []reg.VecPhysical, c, cRow, how reg.GPVirtual) {
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
		ADDQ(cRow, c)
	}
}

// widen writes the addition of a tile of float32 sums to a float64 matrix.
func (t target) widen() {
	_, columns := t.tileShape()
	nr := columns * t.lanes()
	name := "widenAVX2"
	if t.avx512 {
		name = "widenAVX512"
	}
	TEXT(name, NOSPLIT, "func(c *float64, cRow int, sums *float32, rows int)")
	Doc(fmt.Sprintf("%s adds rows of %d sums to c:", name, nr), "",
		fmt.Sprintf("\tfor i < rows, j < %d:  c[i·cRow+j] += float64(sums[%d·i+j])", nr, nr))
	Pragma("noescape")
	wide := target{avx512: t.avx512}
	c, cRow, sums := param("c"), param("cRow"), param("sums")
	SHLQ(operand.Imm(3), cRow)
	rows := param("rows")
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

// eliminate writes the step of a triangular solve for one row.
func (t target) eliminate() {
	_, columns := t.tileShape()
	columns *= 2
	width := columns * t.lanes()
	f := t.float()
	TEXT(t.name("eliminate"), NOSPLIT, fmt.Sprintf("func(depth int, x *%s, xStep int, w *%s, wRow int, y *%s, factor %s)",
		f, f, f, f))
	Doc(t.name("eliminate")+" subtracts the product of a row with depth columns from y:", "",
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

// substitute writes the step of a triangular solve in a packed panel: it subtracts the sums of a
// tile from the following rows, and solves for these in registers.
func (t target) substitute() {
	mr, columns := t.tileShape()
	f, name := t.float(), t.name("substitute")
	TEXT(name, NOSPLIT, fmt.Sprintf("func(depth int, a, b *%s)", f))
	Doc(fmt.Sprintf("%s solves for %d rows of a packed panel of %d columns; the rows above them are solved:", name, mr,
		columns*t.lanes()), "",
		fmt.Sprintf("\tfor depth ≤ i < depth+%d, j < %d:", mr, columns*t.lanes()),
		fmt.Sprintf("\t\tb[i·%d+j] = (b[i·%[1]d+j] − Σ_{k<i} a[k·%[2]d+i−depth]·b[k·%[1]d+j])·a[i·%[2]d+i−depth]",
			columns*t.lanes(), mr))
	Pragma("noescape")
	depth, a, b := param("depth"), param("a"), param("b")
	sums := t.vectors(0, mr*columns)
	for _, s := range sums {
		t.zero(s)
	}
	k := tileStep{target: t, mr: mr, columns: columns, sums: sums, a: a, b: b}
	quads := GP64()
	MOVQ(depth, quads)
	SHRQ(operand.Imm(2), quads)
	loop("quads", quads, func() { k.steps(4) })
	ANDQ(operand.Imm(3), depth)
	loop("rest", depth, func() { k.steps(1) })
	left := t.vector(mr * columns)
	for i, s := range sums {
		t.load(at(b, i*t.bytes()), left)
		t.sub(s, left, s)
	}
	for i := range mr {
		done := sums[i*columns : (i+1)*columns]
		t.broadcast(at(a, (i*mr+i)*t.size()), left)
		for j, s := range done {
			t.mul(left, s, s)
			t.store(s, at(b, (i*columns+j)*t.bytes()))
		}
		for below := i + 1; below < mr; below++ {
			t.broadcast(at(a, (i*mr+below)*t.size()), left)
			for j, s := range done {
				t.fnma(left, s, sums[below*columns+j])
			}
		}
	}
	done()
}

// rowSums accumulates the sums of a row in the first registers.
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

// transpose writes the transposition of height rows (four or eight), four elements of each at a
// time. With eight rows, a register contains two of them, which requires AVX-512 for float64.
func (t target) transpose(height int) {
	f := t.float()
	name := fmt.Sprintf("transpose%d%s", height, strings.ToUpper(f[:1])+f[5:])
	TEXT(name, NOSPLIT, fmt.Sprintf("func(dst *%s, dstRow int, src *%s, srcRow, n int)", f, f))
	Doc(fmt.Sprintf("%s transposes %d rows of n elements, n a multiple of 4:", name, height), "",
		fmt.Sprintf("\tfor r < %d, k < n:  dst[k·dstRow+r] = src[r·srcRow+k]", height))
	Pragma("noescape")
	dst, dstRow, src, srcRow, n := param("dst"), param("dstRow"), param("src"), param("srcRow"), param("n")
	SHLQ(operand.Imm(uint64(t.shift())), dstRow)
	SHLQ(operand.Imm(uint64(t.shift())), srcRow)
	src3, dst3 := GP64(), GP64()
	LEAQ(operand.Mem{Base: srcRow, Index: srcRow, Scale: 2}, src3)
	LEAQ(operand.Mem{Base: dstRow, Index: dstRow, Scale: 2}, dst3)
	four := func(base, step, triple reg.Register) []operand.Mem {
		return []operand.Mem{
			{Base: base}, {Base: base, Index: step, Scale: 1},
			{Base: base, Index: step, Scale: 2}, {Base: base, Index: triple, Scale: 1},
		}
	}
	// Four rows at a time; those of the second half are prefetched, because they usually follow.
	fours := []reg.GPVirtual{src}
	for range height/2 - 1 {
		below := GP64()
		LEAQ(operand.Mem{Base: fours[len(fours)-1], Index: srcRow, Scale: 4}, below)
		fours = append(fours, below)
	}
	v := func(i int) operand.Op {
		if t.f32 && height == 4 {
			return ymm[i].AsX()
		}
		return t.vector(i)
	}
	quads := GP64()
	MOVQ(n, quads)
	SHRQ(operand.Imm(2), quads)
	loop("quads", quads, func() {
		var rows []operand.Mem
		for _, first := range fours[:height/4] {
			rows = append(rows, four(first, srcRow, src3)...)
		}
		for i := range 4 {
			switch {
			case height == 4:
				t.load(rows[i], v(i))
			case t.f32:
				t.load(rows[i], ymm[i].AsX())
				VINSERTF128(operand.Imm(1), rows[i+4], ymm[i], ymm[i])
			default: // a c, b d, e g, f h
				first := i%2 + i/2*4
				t.load(rows[first], ymm[i])
				VINSERTF64X4(operand.Imm(1), rows[first+2], zmm[i], zmm[i])
			}
		}
		for _, below := range fours[height/4:] {
			for _, m := range four(below, srcRow, src3) {
				PREFETCHT0(m)
			}
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
			halves := func(odd int, a, b, c operand.Op) {
				if t.avx512 {
					VSHUFF64X2(operand.Imm(uint64(0x88+0x55*odd)), b, a, c)
				} else {
					VPERM2F128(operand.Imm(uint64(0x20+0x11*odd)), b, a, c)
				}
			}
			halves(0, v(4), v(6), v(0))
			halves(0, v(5), v(7), v(1))
			halves(1, v(4), v(6), v(2))
			halves(1, v(5), v(7), v(3))
		}
		for i, m := range four(dst, dstRow, dst3) {
			t.store(v(i), m)
		}
		for _, rows := range fours {
			ADDQ(operand.Imm(uint64(4*t.size())), rows)
		}
		LEAQ(operand.Mem{Base: dst, Index: dstRow, Scale: 4}, dst)
	})
	done()
}

// pack writes the copy of pieces of the given number of bytes to panels.
func pack(width int) {
	name := fmt.Sprint("pack", width)
	TEXT(name, NOSPLIT, "func(dst, src *byte, panels, panel, n, column int)")
	Doc(fmt.Sprintf("%s fills panels with pieces of %d bytes; panel and column are distances in bytes:", name, width), "",
		"\tfor k < n, p < panels:",
		fmt.Sprintf("\t\tcopy %d bytes from src + k·column + p·%d to dst + k·%d + p·panel", width, width, width))
	Pragma("noescape")
	dst, src, panels, panel, n, column := param("dst"), param("src"), param("panels"), param("panel"), param("n"),
		param("column")
	// Panels are far apart, often by a power of two, so whole cache lines of them are written at a
	// time: several columns if pieces are short.
	together := max(1, 128/width)
	copyColumns := func(together int) {
		d, s, p := GP64(), GP64(), GP64()
		MOVQ(dst, d)
		MOVQ(src, s)
		MOVQ(panels, p)
		loop(label("panels", together), p, func() {
			from := GP64()
			MOVQ(s, from)
			for k := range together {
				copyBytes(d, k*width, from, width)
				if k < together-1 {
					ADDQ(column, from)
				}
			}
			ADDQ(panel, d)
			ADDQ(operand.I32(int32(width)), s)
		})
		ADDQ(operand.I32(int32(together*width)), dst)
		for range together {
			ADDQ(column, src)
		}
	}
	if together > 1 {
		Label("together")
		CMPQ(n, operand.Imm(uint64(together)))
		JLT(operand.LabelRef("rest"))
		copyColumns(together)
		SUBQ(operand.Imm(uint64(together)), n)
		JMP(operand.LabelRef("together"))
		Label("rest")
	}
	loop("columns", n, func() { copyColumns(1) })
	done()
}

// copyBytes copies width bytes, a multiple of 8, to an offset.
func copyBytes(dst reg.GPVirtual, to int, src reg.GPVirtual, width int) {
	registers := 0
	for offset := 0; offset < width; registers++ {
		y := ymm[registers]
		switch rest := width - offset; {
		case rest >= 32:
			VMOVUPS(at(src, offset), y)
			VMOVUPS(y, at(dst, to+offset))
			offset += 32
		case rest >= 16:
			VMOVUPS(at(src, offset), y.AsX())
			VMOVUPS(y.AsX(), at(dst, to+offset))
			offset += 16
		default:
			VMOVQ(at(src, offset), y.AsX())
			VMOVQ(y.AsX(), at(dst, to+offset))
			offset += 8
		}
	}
}
