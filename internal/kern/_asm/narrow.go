package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// narrow writes the products of a large unpacked matrix with few vectors.
func narrow() {
	for _, t := range targets {
		_, most := t.tileShape()
		for columns := 1; columns <= most; columns++ {
			t.scores(columns)
		}
		t.weigh()
	}
}

// scores writes the product of several rows of a with a packed panel of the given number of
// vectors.
func (t target) scores(columns int) {
	mr, _ := t.tileShape()
	nr := columns * t.lanes()
	name := t.name(fmt.Sprint("scores", nr))
	TEXT(name, NOSPLIT, strings.ReplaceAll("func(depth int, a *T, aRow int, b, sums *T)", "T", t.float()))
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies %d rows with a packed panel of %d columns:", name, mr, nr), "",
		fmt.Sprintf("\tfor i < %d, j < %d:  sums[%d·i+j] = Σ_{k<depth} a[i·aRow+k]·b[%d·k+j]", mr, nr, nr, nr))
	depth, a, aRow, b, out := param("depth"), param("a"), param("aRow"), param("b"), param("sums")
	SHLQ(operand.Imm(uint64(t.shift())), aRow)
	triple, low := GP64(), GP64()
	LEAQ(operand.Mem{Base: aRow, Index: aRow, Scale: 2}, triple)
	LEAQ(operand.Mem{Base: a, Index: aRow, Scale: 4}, low)
	row := func(i, k int) operand.Mem {
		base := a
		if i >= 4 {
			base, i = low, i-4
		}
		m := operand.Mem{Base: base, Disp: k * t.size()}
		switch i {
		case 1, 2:
			m.Index, m.Scale = aRow, uint8(i)
		case 3:
			m.Index, m.Scale = triple, 1
		}
		return m
	}
	sums := t.vectors(0, mr*columns)
	for _, s := range sums {
		t.zero(s)
	}
	right, left := t.vectors(mr*columns, columns), t.vectors(mr*columns+columns, 2)
	steps := func(n int) {
		for k := range n {
			for j, r := range right {
				t.load(at(b, (k*columns+j)*t.bytes()), r)
			}
			for i := range mr {
				l := left[i%len(left)]
				t.broadcast(row(i, k), l)
				for j, r := range right {
					t.fma(l, r, sums[i*columns+j])
				}
			}
		}
		for _, p := range []reg.GPVirtual{a, low} {
			ADDQ(operand.Imm(uint64(n*t.size())), p)
		}
		ADDQ(operand.I32(int32(n*columns*t.bytes())), b)
	}
	quads, rest := GP64(), GP64()
	MOVQ(depth, quads)
	SHRQ(operand.Imm(2), quads)
	loop("quads", quads, func() { steps(4) })
	MOVQ(depth, rest)
	ANDQ(operand.Imm(3), rest)
	loop("rest", rest, func() { steps(1) })
	for i, s := range sums {
		t.store(s, at(out, i*t.bytes()))
	}
	done()
}

// weigh writes the sum of unpacked rows, each multiplied by a packed weight.
func (t target) weigh() {
	mr, columns := t.tileShape()
	nr, name := columns*t.lanes(), t.name("weigh")
	TEXT(name, NOSPLIT, strings.ReplaceAll("func(panels, depth int, a, b *T, bRow int, c *T, cRow int)", "T", t.float()))
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds rows of %d times panels columns with %d weights each:", name, nr, mr), "",
		fmt.Sprintf("\tfor i < %d, j < %d·panels:  c[i·cRow+j] += Σ_{k<depth} a[%d·k+i]·b[k·bRow+j]", mr, nr, mr))
	panels, depth, a, b, bRow, c, cRow := param("panels"), param("depth"), param("a"), param("b"), param("bRow"),
		param("c"), param("cRow")
	SHLQ(operand.Imm(uint64(t.shift())), bRow)
	SHLQ(operand.Imm(uint64(t.shift())), cRow)
	sums := t.vectors(0, mr*columns)
	right, left := t.vectors(mr*columns, columns), t.vectors(mr*columns+columns, 2)
	weights, rows := GP64(), GP64()
	steps := func(n int) {
		for k := range n {
			for j, r := range right {
				t.load(at(rows, j*t.bytes()), r)
			}
			ADDQ(bRow, rows)
			for i := range mr {
				l := left[i%len(left)]
				t.broadcast(at(weights, (k*mr+i)*t.size()), l)
				for j, r := range right {
					t.fma(l, r, sums[i*columns+j])
				}
			}
		}
		ADDQ(operand.I32(int32(n*mr*t.size())), weights)
	}
	loop("panel", panels, func() {
		for _, s := range sums {
			t.zero(s)
		}
		MOVQ(a, weights)
		MOVQ(b, rows)
		quads, rest, to := GP64(), GP64(), GP64()
		MOVQ(depth, quads)
		SHRQ(operand.Imm(2), quads)
		loop("quads", quads, func() { steps(4) })
		MOVQ(depth, rest)
		ANDQ(operand.Imm(3), rest)
		loop("rest", rest, func() { steps(1) })
		MOVQ(c, to)
		for i := range mr {
			for j := range columns {
				s := sums[i*columns+j]
				t.add(at(to, j*t.bytes()), s, s)
				t.store(s, at(to, j*t.bytes()))
			}
			if i < mr-1 {
				ADDQ(cRow, to)
			}
		}
		ADDQ(operand.I32(int32(nr*t.size())), b)
		ADDQ(operand.I32(int32(nr*t.size())), c)
	})
	done()
}
