package main

import (
	"fmt"
	"math"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cosineWide is a fit of cos r = 1 + r²·C(r²) on |r| ≤ π/2, like those of the elementary functions.
// Its absolute error, 1.1e-17 or 4.3e-10, is far below the rounding of the values: it is systematic
// and would not cancel in sums over rows.
var cosineWide = [2][]float64{
	{1, -0.49999999999999983, 0.04166666666666437, -0.0013888888888785491, 2.480158727912223e-05, -2.755731652285176e-07,
		2.0876567625217906e-09, -1.1463036444075677e-11, 4.61026423225793e-14},
	{1, -0.5, 0.041666656732559204, -0.001388858538120985, 2.477018097124528e-05, -2.6209104930785543e-07},
}

// wave generates the final stage of the fused map, which is limited by registers and loads: a
// constant occupies one register for all vectors, and the range of angles is checked once per tile.
type wave struct {
	function
	scale       reg.VecPhysical
	least, most reg.VecPhysical // bounds of the angles in half turns, plus magic, as integers
}

func (f function) wave() wave {
	first := 12
	if f.avx512 {
		first = 24
	}
	f.constant = f.vector(first)
	_, f.width = f.tileShape()
	return wave{function: f, scale: f.vector(first + 1), least: f.vector(first + 2), most: f.vector(first + 3)}
}

// reduce replaces every angle x = n·π + r by r and stores scale·(−1)ⁿ in t; it overwrites n. Two
// parts of π suffice for a rounded angle.
func (w wave) reduce(x, t, n []reg.VecPhysical) {
	w.nearest(1/math.Pi, x, t, n)
	w.each(func(i int) {
		VPMINSD(t[i], w.least, w.least)
		VPMAXSD(t[i], w.most, w.most)
	})
	w.takeTimes(n, piParts[w.p][:2], 1, x)
	w.each(func(i int) { w.shiftLeft(w.bits()-1, t[i], t[i]) })
	w.each(func(i int) { w.xor(w.scale, t[i], t[i]) })
}

// cosines replaces angles x by scale·cos x.
func (w wave) cosines(x, t, p []reg.VecPhysical) {
	w.reduce(x, t, p)
	w.each(func(i int) { w.mul(x[i], x[i], x[i]) })
	w.polynomial(cosineWide[w.p], x, p)
	w.each(func(i int) { w.mul(t[i], p[i], x[i]) })
}

// pairs replaces angles x by scale·cos x and sets s to scale·sin x.
func (w wave) pairs(x, t, s, z []reg.VecPhysical) {
	w.reduce(x, t, z)
	w.each(func(i int) { w.mul(x[i], x[i], z[i]) })
	w.each(func(i int) { w.mul(t[i], x[i], s[i]) })
	w.polynomial(cosineWide[w.p], z, x)
	w.each(func(i int) { w.mul(t[i], x[i], x[i]) })
	w.polynomial(sineWide[w.p], z, t) // sin r = r + r·z·P(z)
	w.each(func(i int) { w.mul(z[i], t[i], t[i]) })
	w.each(func(i int) { w.fma(t[i], s[i], s[i]) })
}

// cosTile writes the final stage of the map with phases.
func (w wave) cosTile() {
	w.head("cosTile", "sums, phases *T", "",
		"\tdst[i·dstRow+j] = scale·cos(sums[%[1]d·i+j] + phases[j])")
	phases, columns := param("phases"), w.width
	w.tile(2, 1, func(w wave, sums reg.Register) {
		x := w.bank(0)
		w.each(func(i int) { w.load(at(sums, i*w.bytes()), x[i]) })
		w.each(func(i int) { w.add(at(phases, i%columns*w.bytes()), x[i], x[i]) })
		w.cosines(x, w.bank(1), w.bank(2))
	}, func(w wave, i int, to func(disp int) operand.Mem) {
		w.store(w.bank(0)[i], to(0))
	})
}

// sinCosTile writes the final stage of the paired map.
func (w wave) sinCosTile() {
	w.head("sinCosTile", "sums *T", ", with a = sums[%[1]d·i+j]",
		"\tdst[i·dstRow+2j], dst[i·dstRow+2j+1] = scale·cos(a), scale·sin(a)")
	atOnce := 1
	if w.avx512 {
		atOnce = 2
		VMOVDQU64(w.places(0), w.vector(30))
		VMOVDQU64(w.places(w.lanes()/2), w.vector(31))
	}
	w.tile(atOnce, 2, func(w wave, sums reg.Register) {
		w.each(func(i int) { w.load(at(sums, i*w.bytes()), w.bank(0)[i]) })
		w.pairs(w.bank(0), w.bank(1), w.bank(2), w.bank(3))
	}, func(w wave, i int, to func(disp int) operand.Mem) {
		low, high := w.bank(1)[i], w.bank(3)[i]
		w.interleave(w.bank(0)[i], w.bank(2)[i], low, high)
		w.store(low, to(0))
		w.store(high, to(w.bytes()))
	})
}

func (w wave) head(name, operands, with, formula string) {
	nr := w.width * w.lanes()
	TEXT(w.name(name), NOSPLIT, strings.ReplaceAll("func(dst *T, dstRow int, "+operands+", scale T, rows int) (ok bool)",
		"T", w.target.float()))
	Doc(fmt.Sprintf("%s computes, for i < rows and j < %d"+with+",", w.name(name), nr), "", fmt.Sprintf(formula, nr), "",
		"and reports whether all arguments were within its range; if not, dst is of no use.")
	Pragma("noescape")
}

// tile emits body for the rows of a tile of sums, atOnce rows at a time and then one. It stores the
// result vectors to dst, which has each elements per sum.
func (w wave) tile(atOnce, each int, body func(w wave, sums reg.Register),
	store func(w wave, i int, to func(disp int) operand.Mem)) {
	dst, dstRow, sums := param("dst"), param("dstRow"), param("sums")
	w.broadcastParam("scale", w.scale)
	SHLQ(operand.Imm(uint64(w.shift())), dstRow)
	rows := param("rows")
	w.set(w.float(w.magic()), w.least)
	w.move(w.least, w.most)
	columns := w.width
	for height := atOnce; height > 0; height-- {
		w.width = height * columns
		Label(label("rows", height))
		CMPQ(rows, operand.Imm(uint64(height)))
		JLT(operand.LabelRef(label("below", height)))
		body(w, sums)
		for i := range w.width {
			store(w, i, func(disp int) operand.Mem {
				return at(dst, i%columns*each*w.bytes()+disp)
			})
			if i%columns == columns-1 {
				ADDQ(dstRow, dst)
			}
		}
		ADDQ(operand.I32(int32(w.width*w.bytes())), sums)
		SUBQ(operand.Imm(uint64(height)), rows)
		JMP(operand.LabelRef(label("rows", height)))
		Label(label("below", height))
	}
	w.inRange()
	done()
}

// inRange returns whether all angles, in half turns, are within the range of the nearest-integer
// computation.
func (w wave) inRange() {
	// The low half of a float64 is ignored.
	low, high := uint64(0x4337ffff_80000000), uint64(0x43380000_7fffffff)
	if w.f32 {
		const most = 1 << 19
		low, high = 0x4b400000-most, 0x4b400000+most
	}
	w.set(w.word(low), w.constant)
	below, above := w.least.(operand.Op), w.most.(operand.Op)
	if w.avx512 {
		below, above = K(), K()
	}
	VPCMPGTD(w.least, w.constant, below)
	w.set(w.word(high), w.constant)
	VPCMPGTD(w.constant, w.most, above)
	if w.avx512 {
		KORTESTW(below, above)
	} else {
		VPOR(below, above, above)
		VPTEST(above, above)
	}
	ok := GP8()
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
}
