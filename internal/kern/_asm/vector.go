package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// target is an instruction set and a precision. Every kernel is generated for all four
// combinations.
type target struct {
	avx512, f32 bool
}

var targets = []target{{true, false}, {true, true}, {false, false}, {false, true}}

// name returns base with the target's suffix, as in tileAVX512F64.
func (t target) name(base string) string {
	set, precision := "AVX2", "F64"
	if t.avx512 {
		set = "AVX512"
	}
	if t.f32 {
		precision = "F32"
	}
	return base + set + precision
}

// float returns the Go type of an element.
func (t target) float() string {
	if t.f32 {
		return "float32"
	}
	return "float64"
}

// size returns the size of an element in bytes, bytes that of a register.
func (t target) size() int {
	if t.f32 {
		return 4
	}
	return 8
}

func (t target) bytes() int {
	if t.avx512 {
		return 64
	}
	return 32
}

func (t target) lanes() int { return t.bytes() / t.size() }

// shift returns the binary logarithm of size.
func (t target) shift() uint8 {
	if t.f32 {
		return 2
	}
	return 3
}

// vector returns vector register i.
func (t target) vector(i int) reg.VecPhysical {
	if t.avx512 {
		return zmm[i]
	}
	return ymm[i]
}

func (t target) vectors(from, n int) []reg.VecPhysical {
	var v []reg.VecPhysical
	for i := range n {
		v = append(v, t.vector(from+i))
	}
	return v
}

var zmm = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

var ymm = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

// Instructions by operation. The last operand is the destination.

func (t target) load(m operand.Mem, v operand.Op)  { t.pick(VMOVUPD, VMOVUPS)(m, v) }
func (t target) store(v operand.Op, m operand.Mem) { t.pick(VMOVUPD, VMOVUPS)(v, m) }

func (t target) zero(v reg.VecPhysical) {
	if t.avx512 {
		VPXORD(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
}

func (t target) broadcast(m operand.Op, v operand.Op) {
	if t.f32 {
		VBROADCASTSS(m, v)
	} else {
		VBROADCASTSD(m, v)
	}
}

func (t target) add(ops ...operand.Op) { t.pick(VADDPD, VADDPS)(ops...) }
func (t target) sub(ops ...operand.Op) { t.pick(VSUBPD, VSUBPS)(ops...) }
func (t target) mul(ops ...operand.Op) { t.pick(VMULPD, VMULPS)(ops...) }

// fma computes c += a·b.
func (t target) fma(a, b, c operand.Op) { t.pick(VFMADD231PD, VFMADD231PS)(a, b, c) }

// fnma computes c −= a·b.
func (t target) fnma(a, b, c operand.Op) { t.pick(VFNMADD231PD, VFNMADD231PS)(a, b, c) }

func (t target) pick(f64, f32 func(...operand.Op)) func(...operand.Op) {
	if t.f32 {
		return f32
	}
	return f64
}

// at returns the memory operand at base + displacement.
func at(base reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Disp: disp}
}

// label returns a label that is unique within the function.
func label(name string, i ...any) string { return name + fmt.Sprint(i...) }

// param loads an argument into a register.
func param(name string) reg.GPVirtual {
	return Load(Param(name), GP64()).(reg.GPVirtual)
}

// loop emits a loop that repeats body count times; the register count is overwritten.
func loop(name string, count reg.GPVirtual, body func()) {
	TESTQ(count, count)
	JLE(operand.LabelRef(name + "_done"))
	Label(name)
	body()
	DECQ(count)
	JNZ(operand.LabelRef(name))
	Label(name + "_done")
}

func done() {
	VZEROUPPER()
	RET()
}
