package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// table contains the constants of a target in memory: one element each for AVX-512, which
// broadcasts, and a full register for AVX2.
type table struct {
	target
	symbol  string
	entries []uint64
	index   map[uint64]int
}

func newTable(t target, base string) *table {
	return &table{target: t, symbol: t.name(base), index: map[uint64]int{}}
}

// mem returns the memory operand at an offset into the table.
func (t *table) mem(offset int) operand.Mem {
	return operand.NewDataAddr(operand.NewStaticSymbol(t.symbol), offset)
}

func (t *table) stride() int {
	if t.avx512 {
		return t.size()
	}
	return t.bytes()
}

// word returns a constant given by its bits; float by its value.
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

// set fills v with a constant.
func (t *table) set(m operand.Mem, v operand.Op) {
	if t.avx512 {
		t.broadcast(m, v)
	} else {
		t.load(m, v)
	}
}
