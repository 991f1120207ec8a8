package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// hadamard writes the passes of the Walsh–Hadamard transform.
func hadamard() {
	for _, t := range targets {
		t.hadamardLanes()
		t.hadamardPass()
		t.hadamardHalf()
	}
}

// hadamardLanes writes the levels within a register.
func (t target) hadamardLanes() {
	var signs []operand.Mem
	for h := 1; h < t.lanes(); h *= 2 {
		signs = append(signs, t.signs(h))
	}
	TEXT(t.name("hadamardLanes"), NOSPLIT, fmt.Sprintf("func(x *%s, n int)", t.float()))
	Doc(fmt.Sprintf("%s transforms every %d elements of x, n a multiple of that.", t.name("hadamardLanes"), t.lanes()))
	Pragma("noescape")
	x, n := param("x"), param("n")
	var levels []reg.VecPhysical
	for k, m := range signs {
		levels = append(levels, t.vector(2+k))
		t.load(m, levels[k])
	}
	v, partner := t.vector(0), t.vector(1)
	t.steps(n, []int{1}, []reg.GPVirtual{x}, func(int) {
		t.load(at(x, 0), v)
		for k, sign := range levels {
			t.exchange(1<<k, v, partner)
			t.fma(sign, v, partner) // partner ± v
			v, partner = partner, v
		}
		t.store(v, at(x, 0))
		v, partner = t.vector(0), t.vector(1)
	})
	done()
}

// signs returns a register-sized table: +1 where bit h of the lane index is 0, −1 elsewhere.
func (t target) signs(h int) operand.Mem {
	m := GLOBL(fmt.Sprint(t.name("signs"), h), 8|16) // RODATA, NOPTR
	for k := range t.lanes() {
		s := 1.0
		if k&h != 0 {
			s = -1
		}
		if t.f32 {
			DATA(4*k, operand.U32(math.Float32bits(float32(s))))
		} else {
			DATA(8*k, operand.U64(math.Float64bits(s)))
		}
	}
	return m
}

// exchange swaps elements at distance h.
func (t target) exchange(h int, v, to reg.VecPhysical) {
	switch bytes := h * t.size(); {
	case bytes == 32:
		VSHUFF64X2(operand.Imm(0x4e), v, v, to)
	case bytes == 16 && t.avx512:
		VSHUFF64X2(operand.Imm(0xb1), v, v, to)
	case bytes == 16:
		VPERM2F128(operand.Imm(1), v, v, to)
	case t.f32 && bytes == 8:
		VPERMILPS(operand.Imm(0x4e), v, to)
	case t.f32:
		VPERMILPS(operand.Imm(0xb1), v, to)
	default:
		VPERMILPD(operand.Imm(0x55), v, to)
	}
}

// hadamardPass writes the kernel of two levels, across registers.
func (t target) hadamardPass() {
	TEXT(t.name("hadamardPass"), NOSPLIT, fmt.Sprintf("func(x *%s, h, n int)", t.float()))
	Doc(fmt.Sprintf("%s makes levels h and 2h of x, h a multiple of %d, n a multiple of 4h.", t.name("hadamardPass"),
		t.lanes()))
	Pragma("noescape")
	x, h, n := param("x"), param("h"), param("n")
	SHLQ(operand.Imm(uint64(t.shift())), h)
	SHLQ(operand.Imm(uint64(t.shift())), n)
	end, h3, inner := GP64(), GP64(), GP64()
	LEAQ(operand.Mem{Base: x, Index: n, Scale: 1}, end)
	LEAQ(operand.Mem{Base: h, Index: h, Scale: 2}, h3)
	v := t.vectors(0, 8)
	quarters := []operand.Mem{
		{Base: x}, {Base: x, Index: h, Scale: 1}, {Base: x, Index: h, Scale: 2}, {Base: x, Index: h3, Scale: 1},
	}
	Label("block")
	CMPQ(x, end)
	JGE(operand.LabelRef("block_done"))
	LEAQ(operand.Mem{Base: x, Index: h, Scale: 1}, inner)
	Label("inner")
	for k, m := range quarters {
		t.load(m, v[k])
	}
	t.add(v[1], v[0], v[4])
	t.sub(v[1], v[0], v[5])
	t.add(v[3], v[2], v[6])
	t.sub(v[3], v[2], v[7])
	t.add(v[6], v[4], v[0])
	t.add(v[7], v[5], v[1])
	t.sub(v[6], v[4], v[2])
	t.sub(v[7], v[5], v[3])
	for k, m := range quarters {
		t.store(v[k], m)
	}
	ADDQ(operand.Imm(uint64(t.bytes())), x)
	CMPQ(x, inner)
	JLT(operand.LabelRef("inner"))
	ADDQ(h3, x)
	JMP(operand.LabelRef("block"))
	Label("block_done")
	done()
}

// hadamardHalf writes one level, across registers.
func (t target) hadamardHalf() {
	TEXT(t.name("hadamardHalf"), NOSPLIT, fmt.Sprintf("func(x *%s, h int)", t.float()))
	Doc(fmt.Sprintf("%s makes level h of the 2h elements of x, h a multiple of %d.", t.name("hadamardHalf"), t.lanes()))
	Pragma("noescape")
	x, h := param("x"), param("h")
	y, n := GP64(), GP64()
	MOVQ(h, n)
	SHLQ(operand.Imm(uint64(t.shift())), h)
	LEAQ(operand.Mem{Base: x, Index: h, Scale: 1}, y)
	v := t.vectors(0, 4)
	t.steps(n, []int{1}, []reg.GPVirtual{x, y}, func(int) {
		t.load(at(x, 0), v[0])
		t.load(at(y, 0), v[1])
		t.add(v[1], v[0], v[2])
		t.sub(v[1], v[0], v[3])
		t.store(v[2], at(x, 0))
		t.store(v[3], at(y, 0))
	})
	done()
}
