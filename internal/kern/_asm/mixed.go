package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mixedRows is the number of float32 rows that the kernels below process at a time.
const mixedRows = 8

// mixed writes the products of rows in float32 with a vector in float64.
func mixed() {
	for _, t := range []target{{avx512: true}, {}} {
		t.project()
		t.collect()
	}
}

// mixedName returns base with the instruction set.
func (t target) mixedName(base string) string {
	if t.avx512 {
		return base + "MixedAVX512"
	}
	return base + "MixedAVX2"
}

// narrowRows returns the memory operands of the rows at a, and a function that advances them.
func narrowRows(a, aRow reg.GPVirtual) (rows []operand.Mem, advance func(bytes int)) {
	SHLQ(operand.Imm(2), aRow)
	triple, low := GP64(), GP64()
	LEAQ(operand.Mem{Base: aRow, Index: aRow, Scale: 2}, triple)
	LEAQ(operand.Mem{Base: a, Index: aRow, Scale: 4}, low)
	for _, base := range []reg.GPVirtual{a, low} {
		rows = append(rows, operand.Mem{Base: base}, operand.Mem{Base: base, Index: aRow, Scale: 1},
			operand.Mem{Base: base, Index: aRow, Scale: 2}, operand.Mem{Base: base, Index: triple, Scale: 1})
	}
	return rows, func(bytes int) {
		ADDQ(operand.Imm(uint64(bytes)), a)
		ADDQ(operand.Imm(uint64(bytes)), low)
	}
}

// project writes the products of eight rows with a vector, with separate sums per lane.
func (t target) project() {
	name, lanes := t.mixedName("project"), t.lanes()
	TEXT(name, NOSPLIT, "func(steps int, a *float32, aRow int, w, sums *float64)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies %d rows with a vector, the sums of each lane apart:", name, mixedRows), "",
		fmt.Sprintf("\tfor i < %d, j < %d:  sums[%d·i+j] = Σ_{k<steps} a[i·aRow+%d·k+j]·w[%d·k+j]", mixedRows, lanes, lanes,
			lanes, lanes))
	steps, a, aRow, w, sums := param("steps"), param("a"), param("aRow"), param("w"), param("sums")
	rows, advance := narrowRows(a, aRow)
	right, left := t.vector(mixedRows), t.vectors(mixedRows+1, 2)
	for i := range mixedRows {
		t.zero(t.vector(i))
	}
	loop("steps", steps, func() {
		t.load(at(w, 0), right)
		for i, m := range rows {
			VCVTPS2PD(m, left[i%2])
			t.fma(right, left[i%2], t.vector(i))
		}
		advance(4 * lanes)
		ADDQ(operand.Imm(uint64(t.bytes())), w)
	})
	for i := range mixedRows {
		t.store(t.vector(i), at(sums, i*t.bytes()))
	}
	done()
}

// collect writes the sum of eight rows, each times a weight.
func (t target) collect() {
	name, lanes := t.mixedName("collect"), t.lanes()
	TEXT(name, NOSPLIT, "func(steps int, a *float32, aRow int, weights, sums *float64)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds %d rows, each times its weight:", name, mixedRows), "",
		fmt.Sprintf("\tfor j < %d·steps:  sums[j] += Σ_{i<%d} weights[i]·a[i·aRow+j]", lanes, mixedRows))
	steps, a, aRow, weights, sums := param("steps"), param("a"), param("aRow"), param("weights"), param("sums")
	rows, advance := narrowRows(a, aRow)
	sum, left := t.vector(mixedRows), t.vectors(mixedRows+1, 2)
	for i := range mixedRows {
		t.broadcast(at(weights, i*t.size()), t.vector(i))
	}
	loop("steps", steps, func() {
		t.load(at(sums, 0), sum)
		for i, m := range rows {
			VCVTPS2PD(m, left[i%2])
			t.fma(t.vector(i), left[i%2], sum)
		}
		t.store(sum, at(sums, 0))
		advance(4 * lanes)
		ADDQ(operand.Imm(uint64(t.bytes())), sums)
	})
	done()
}
