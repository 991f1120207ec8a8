package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pair writes the two passes of sequential minimal optimization, over gradients in float64 and kernel
// rows in float32.
func pair() {
	for _, t := range []target{{avx512: true}, {}} {
		t.pairStep()
		t.pairGain(false)
		t.pairGain(true)
	}
}

// pairName returns base with the instruction set.
func (t target) pairName(base string) string {
	if t.avx512 {
		return base + "AVX512"
	}
	return base + "AVX2"
}

// half returns the register part that contains as many float32 as the register contains float64.
func (t target) half(v reg.VecPhysical) reg.VecPhysical {
	if t.avx512 {
		return v.AsY().(reg.VecPhysical)
	}
	return v.AsX().(reg.VecPhysical)
}

// laneNumbers is a table of 0, 1, …, in float64 or float32, which represents all lane numbers
// exactly.
func (t target) laneNumbers(name string, f32 bool) operand.Mem {
	m := GLOBL(name, 8|16) // RODATA, NOPTR
	for i := range t.lanes() {
		if f32 {
			DATA(4*i, operand.U32(math.Float32bits(float32(i))))
		} else {
			DATA(8*i, operand.U64(math.Float64bits(float64(i))))
		}
	}
	return m
}

// resolve returns the memory operand of a parameter.
func resolve(name string) operand.Mem {
	arg, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return arg.Addr
}

// pairStep writes the update of a gradient.
func (t target) pairStep() {
	name := t.pairName("pairStep")
	places := t.laneNumbers(name+"Places", false)
	TEXT(name, NOSPLIT, "func(n int, grad, up *float64, a, b *float32, step float64, stride float64, least, at *float64)")
	Doc(fmt.Sprintf("%s updates a gradient, n a multiple of %d:", name, t.lanes()), "",
		"\tfor k < n:  grad[k] += step·(a[k] − b[k])", "",
		"and finds the least of grad[k] + up[k] with its first k, each lane apart. stride is the number of lanes.")
	Pragma("noescape")
	n, grad, up, a, b := param("n"), param("grad"), param("up"), param("a"), param("b")
	step, stride, least, at0, now := t.vector(0), t.vector(1), t.vector(2), t.vector(3), t.vector(4)
	v, g, mask := t.vector(5), t.vector(6), t.vector(7)
	t.broadcast(resolve("step"), step)
	t.broadcast(resolve("stride"), stride)
	t.load(places, now)
	out, outAt := param("least"), param("at")
	t.load(at(out, 0), least)
	t.zero(at0)
	rows := []reg.GPVirtual{a, b}
	t.steps(n, []int{1}, []reg.GPVirtual{grad, up}, func(int) {
		h := t.half(v)
		VMOVUPS(at(a, 0), h)
		VSUBPS(at(b, 0), h, h)
		VCVTPS2PD(h, v)
		t.load(at(grad, 0), g)
		t.fma(step, v, g)
		t.store(g, at(grad, 0))
		VADDPD(at(up, 0), g, g)
		const less = 1
		if t.avx512 {
			k := K()
			VCMPPD(operand.Imm(less), least, g, k)
			VMOVAPD(g, k, least)
			VMOVAPD(now, k, at0)
		} else {
			VCMPPD(operand.Imm(less), least, g, mask)
			VBLENDVPD(mask, g, least, least)
			VBLENDVPD(mask, now, at0, at0)
		}
		VADDPD(stride, now, now)
		for _, p := range rows {
			ADDQ(operand.I32(int32(t.lanes()*4)), p)
		}
	})
	t.store(least, at(out, 0))
	t.store(at0, at(outAt, 0))
	done()
}

// pairGain writes the selection of the second row of a pair, for a matrix whose diagonal is 1 or given.
func (t target) pairGain(given bool) {
	base, rows := "pairGain", "a"
	curvature, list := "max(2 − 2·a[k], floor)", "2, the floor and the number of lanes"
	if given {
		base, rows, curvature = "pairGainOf", "a, diagonal", "max(c − 2·a[k], floor·c), c = own + diagonal[k],"
		list = "2, the floor, the number of lanes and own"
	}
	name := t.pairName(base)
	places := t.laneNumbers(name+"Places", true)
	TEXT(name, NOSPLIT, "func(n int, grad, down *float64, "+rows+" *float32, least float64, constants *float32, "+
		"most *float64, gain, at *float32)")
	Doc(fmt.Sprintf("%s finds, n a multiple of %d, d = grad[k] + down[k] − least,", name, t.lanes()), "",
		"\tmost = max_k d,  gain = max_k d²/"+curvature+" over d > 0", "",
		"from 0, with the first k of the gain, each lane apart; constants are "+list+".")
	Pragma("noescape")
	n, grad, down, a := param("n"), param("grad"), param("down"), param("a")
	var diagonal reg.GPVirtual
	if given {
		diagonal = param("diagonal")
	}
	least, most, g := t.vector(0), t.vector(1), t.vector(2)
	two, floor, stride := t.half(t.vector(3)), t.half(t.vector(4)), t.half(t.vector(5))
	best, at0, now := t.half(t.vector(6)), t.half(t.vector(7)), t.half(t.vector(8))
	zero, d, c, mask := t.half(t.vector(9)), t.half(t.vector(10)), t.half(t.vector(11)), t.half(t.vector(12))
	t.broadcast(resolve("least"), least)
	constants := param("constants")
	own, sum := t.half(t.vector(13)), t.half(t.vector(14))
	for i, v := range []reg.VecPhysical{two, floor, stride, own} {
		if v == own && !given {
			continue
		}
		VBROADCASTSS(at(constants, 4*i), v)
	}
	t.zero(most)
	for _, v := range []reg.VecPhysical{best, at0, zero} {
		VXORPS(v, v, v)
	}
	VMOVUPS(places, now)
	t.steps(n, []int{1}, []reg.GPVirtual{grad, down}, func(int) {
		t.load(at(grad, 0), g)
		VADDPD(at(down, 0), g, g)
		VSUBPD(least, g, g)
		VMAXPD(g, most, most)
		if t.avx512 {
			VCVTPD2PS(g, d)
		} else {
			VCVTPD2PSY(g, d)
		}
		VMAXPS(zero, d, d)
		if given {
			VADDPS(at(diagonal, 0), own, c)
			VMULPS(floor, c, sum)
			VFNMADD231PS(at(a, 0), two, c)
			VMAXPS(sum, c, c)
			ADDQ(operand.I32(int32(t.lanes()*4)), diagonal)
		} else {
			VMOVAPS(two, c)
			VFNMADD231PS(at(a, 0), two, c)
			VMAXPS(floor, c, c)
		}
		VMULPS(d, d, d)
		VDIVPS(c, d, d)
		const less = 1
		if t.avx512 {
			k := K()
			VCMPPS(operand.Imm(less), d, best, k)
			VMOVAPS(d, k, best)
			VMOVAPS(now, k, at0)
		} else {
			VCMPPS(operand.Imm(less), d, best, mask)
			VBLENDVPS(mask, d, best, best)
			VBLENDVPS(mask, now, at0, at0)
		}
		VADDPS(stride, now, now)
		ADDQ(operand.I32(int32(t.lanes()*4)), a)
	})
	out, outGain, outAt := param("most"), param("gain"), param("at")
	t.store(most, at(out, 0))
	VMOVUPS(best, at(outGain, 0))
	VMOVUPS(at0, at(outAt, 0))
	done()
}
