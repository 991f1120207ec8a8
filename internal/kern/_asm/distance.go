package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// distance writes the kernels of distances between rows.
func distance() {
	for _, t := range targets {
		t.differences("manhattan", "Σ_{k<depth} |a[k·%d+i] − b[k·%d+j]|", t.addAbsolute)
		t.differences("cauchy", "Π_{k<depth} (1 + (a[k·%d+i] − b[k·%d+j])²)", t.multiplySquare)
		t.squares()
		t.roots()
	}
}

// differenceShape returns the register tile of kernels that need registers for differences.
func (t target) differenceShape() (mr, columns int) {
	if t.avx512 {
		return 8, 3
	}
	return 4, 2
}

// differences writes a kernel over packed panels, like the product. Each step adds a function of
// the difference of two elements, in register d, to a sum; it may use a constant.
func (t target) differences(base, formula string, step func(d, sum, constant reg.VecPhysical)) {
	mr, columns := t.differenceShape()
	nr, name := columns*t.lanes(), t.name(base)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(panels, depth int, a, b, c *%s, cRow int, constants *%s)", t.float(), t.float()))
	Doc(fmt.Sprintf("%s compares a packed panel of %d rows with adjacent ones of %d, constants its start and its "+
		"constant:", name, mr, nr), "",
		fmt.Sprintf("\tfor p < panels, i < %d, j < %d:", mr, nr),
		fmt.Sprintf("\t\tc[i·cRow+%d·p+j] = "+formula, nr, mr, nr), "",
		"with b of panel p.")
	Pragma("noescape")
	panels, depth, a, b, c, cRow := param("panels"), param("depth"), param("a"), param("b"), param("c"), param("cRow")
	constants := param("constants")
	SHLQ(operand.Imm(uint64(t.shift())), cRow)
	sums := t.vectors(0, mr*columns)
	right := t.vectors(mr*columns, columns)
	left, d, constant := t.vector(mr*columns+columns), t.vectors(mr*columns+columns+1, 2), t.vector(mr*columns+columns+3)
	t.broadcast(at(constants, t.size()), constant)
	loop("panel", panels, func() {
		for _, s := range sums {
			t.broadcast(at(constants, 0), s)
		}
		k, from := GP64(), GP64()
		MOVQ(depth, k)
		MOVQ(a, from)
		loop("deep", k, func() {
			for j, r := range right {
				t.load(at(b, j*t.bytes()), r)
			}
			for i := range mr {
				t.broadcast(at(from, i*t.size()), left)
				for j, r := range right {
					t.sub(r, left, d[j%2])
					step(d[j%2], sums[i*columns+j], constant)
				}
			}
			ADDQ(operand.I32(int32(mr*t.size())), from)
			ADDQ(operand.I32(int32(columns*t.bytes())), b)
		})
		row := GP64()
		MOVQ(c, row)
		for i := range mr {
			for j := range columns {
				t.store(sums[i*columns+j], at(row, j*t.bytes()))
			}
			ADDQ(cRow, row)
		}
		ADDQ(operand.I32(int32(columns*t.bytes())), c)
	})
	done()
}

// addAbsolute adds |d| to the sum; constant is the sign-clearing mask.
func (t target) addAbsolute(d, sum, constant reg.VecPhysical) {
	t.pick(VANDPD, VANDPS)(constant, d, d)
	t.add(d, sum, sum)
}

// multiplySquare multiplies the sum by 1 + d²; constant is 1.
func (t target) multiplySquare(d, sum, constant reg.VecPhysical) {
	t.pick(VFMADD213PD, VFMADD213PS)(constant, d, d)
	t.mul(d, sum, sum)
}

// squares writes squared distances from products.
func (t target) squares() {
	f, name := t.float(), t.name("squares")
	TEXT(name, NOSPLIT, fmt.Sprintf("func(constants, norms, row *%s, n int) (canceled int)", f))
	Doc(fmt.Sprintf("%s computes, n a multiple of %d and constants 2, part and norm,", name, t.lanes()), "",
		"\tfor j < n:  row[j] = (norm + norms[j]) − 2·row[j]", "",
		"and returns other than 0 where some of these are below part·(norm + norms[j]).")
	Pragma("noescape")
	constants, norms, row, n := param("constants"), param("norms"), param("row"), param("n")
	two, part, norm := t.vector(0), t.vector(1), t.vector(2)
	t.broadcast(at(constants, 0), two)
	t.broadcast(at(constants, t.size()), part)
	t.broadcast(at(constants, 2*t.size()), norm)
	sum, old, limit := t.vector(3), t.vector(4), t.vector(5)
	found := GP64()
	XORQ(found, found)
	const less = 1
	t.steps(n, []int{1}, []reg.GPVirtual{norms, row}, func(int) {
		t.load(at(norms, 0), sum)
		t.load(at(row, 0), old)
		t.add(norm, sum, sum)
		t.mul(part, sum, limit)
		t.pick(VFNMADD231PD, VFNMADD231PS)(two, old, sum)
		t.store(sum, at(row, 0))
		bits := GP32()
		if t.avx512 {
			k := K()
			t.pick(VCMPPD, VCMPPS)(operand.Imm(less), limit, sum, k)
			KMOVW(k, bits)
		} else {
			t.pick(VCMPPD, VCMPPS)(operand.Imm(less), limit, sum, limit)
			if t.f32 {
				VMOVMSKPS(limit, bits)
			} else {
				VMOVMSKPD(limit, bits)
			}
		}
		ORQ(bits.As64(), found)
	})
	Store(found, ReturnIndex(0))
	done()
}

// roots writes square roots.
func (t target) roots() {
	f, name := t.float(), t.name("roots")
	TEXT(name, NOSPLIT, fmt.Sprintf("func(scale %s, dst, x *%s, n int)", f, f))
	Doc(fmt.Sprintf("%s computes dst[i] = −sqrt(scale·x[i]) for i < n, n a multiple of %d.", name, t.lanes()))
	Pragma("noescape")
	scale, v, zero := t.vector(0), t.vector(1), t.vector(2)
	arg, err := Param("scale").Resolve()
	if err != nil {
		panic(err)
	}
	t.broadcast(arg.Addr, scale)
	t.zero(zero)
	dst, x, n := param("dst"), param("x"), param("n")
	t.steps(n, []int{1}, []reg.GPVirtual{dst, x}, func(int) {
		t.load(at(x, 0), v)
		t.mul(scale, v, v)
		t.pick(VSQRTPD, VSQRTPS)(v, v)
		t.sub(v, zero, v)
		t.store(v, at(dst, 0))
	})
	done()
}
