package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// table is the constants of a target: as memory operands, one element each
// with AVX-512, which broadcasts, and a register full of it with AVX2.
type table struct {
	target
	symbol  string
	entries []uint64
	index   map[uint64]int
}

func newTable(t target, base string) *table {
	return &table{target: t, symbol: t.name(base), index: map[uint64]int{}}
}

// mem is the memory at an offset into the table.
func (t *table) mem(offset int) operand.Mem {
	return operand.NewDataAddr(operand.NewStaticSymbol(t.symbol), offset)
}

func (t *table) stride() int {
	if t.avx512 {
		return t.size()
	}
	return t.bytes()
}

// word returns a constant given by its bits, float by its value.
func (t *table) word(bits uint64) operand.Mem {
	i, ok := t.index[bits]
	if !ok {
		i = len(t.entries)
		t.entries = append(t.entries, bits)
		t.index[bits] = i
	}
	return t.mem(i * t.stride())
}

func (t *table) float(x float64) operand.Mem {
	if t.f32 {
		return t.word(uint64(math.Float32bits(float32(x))))
	}
	return t.word(math.Float64bits(x))
}

// write emits the table; call it once, after the last use.
func (t *table) write() {
	GLOBL(t.symbol, 8|16) // RODATA, NOPTR
	offset := 0
	put := func(bits uint64) {
		if t.f32 {
			DATA(offset, operand.U32(uint32(bits)))
		} else {
			DATA(offset, operand.U64(bits))
		}
		offset += t.size()
	}
	for _, e := range t.entries {
		for range t.stride() / t.size() {
			put(e)
		}
	}
}

// Instructions with a constant operand.

// set fills v with a constant.
func (t *table) set(m operand.Mem, v operand.Op) {
	if t.avx512 {
		t.broadcast(m, v)
	} else {
		t.load(m, v)
	}
}

// with applies an instruction whose first operand is a constant.
func (t *table) with(m operand.Mem, plain, bcst func(...operand.Op), ops ...operand.Op) {
	f := plain
	if t.avx512 {
		f = bcst
	}
	f(append([]operand.Op{m}, ops...)...)
}

// addc, mulc: v op= m.  fmac: c += m·a.  fnmac: c −= m·a.  horner: p = p·z + m.
func (t *table) addc(m operand.Mem, v operand.Op) {
	t.with(m, t.pick(VADDPD, VADDPS), t.pick(VADDPD_BCST, VADDPS_BCST), v, v)
}

func (t *table) subc(m operand.Mem, a, v operand.Op) {
	t.with(m, t.pick(VSUBPD, VSUBPS), t.pick(VSUBPD_BCST, VSUBPS_BCST), a, v)
}

func (t *table) mulc(m operand.Mem, v operand.Op) {
	t.with(m, t.pick(VMULPD, VMULPS), t.pick(VMULPD_BCST, VMULPS_BCST), v, v)
}

func (t *table) fmac(m operand.Mem, a, c operand.Op) {
	t.with(m, t.pick(VFMADD231PD, VFMADD231PS), t.pick(VFMADD231PD_BCST, VFMADD231PS_BCST), a, c)
}

func (t *table) fnmac(m operand.Mem, a, c operand.Op) {
	t.with(m, t.pick(VFNMADD231PD, VFNMADD231PS), t.pick(VFNMADD231PD_BCST, VFNMADD231PS_BCST), a, c)
}

func (t *table) horner(m operand.Mem, z, p operand.Op) {
	t.with(m, t.pick(VFMADD213PD, VFMADD213PS), t.pick(VFMADD213PD_BCST, VFMADD213PS_BCST), z, p)
}

// and, or, iadd: bit and integer operations with a constant, v = a op m.
func (t *table) and(m operand.Mem, a, v operand.Op) {
	t.with(m, t.pick(VANDPD, VANDPS), t.pick(VANDPD_BCST, VANDPS_BCST), a, v)
}

func (t *table) or(m operand.Mem, a, v operand.Op) {
	t.with(m, t.pick(VORPD, VORPS), t.pick(VORPD_BCST, VORPS_BCST), a, v)
}

func (t *table) iadd(m operand.Mem, a, v operand.Op) {
	t.with(m, t.pick(VPADDQ, VPADDD), t.pick(VPADDQ_BCST, VPADDD_BCST), a, v)
}
