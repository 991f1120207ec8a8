package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	blockBytes = 64 // 8 numbers per block
	pairBytes  = 2 * blockBytes
)

// leaveOneOut writes the kernels of products that leave one factor out, in double precision. They
// process as many of the 8 elements of blocks as a register has.
func leaveOneOut() {
	for _, t := range []target{{true, false}, {false, false}} {
		one, half := t.constant("leaveOneOutOne", 1), t.constant("leaveOneOutHalf", 0.5)
		t.rotationFactors()
		t.productFactors(half)
		most := 2 // nodes per iteration, limited by the number of registers
		if t.avx512 {
			most = 4
		}
		for nodes := 1; nodes <= most; nodes *= 2 {
			t.rotations(nodes, one)
			t.pairs(nodes, true, one)
		}
		for nodes := 1; nodes <= 4; nodes *= 2 {
			t.products(nodes, one)
			t.pairs(nodes, false, one)
		}
		t.addScaledBlocks()
		t.sumRatios(t.constant("leaveOneOutTiny", 1e-300))
	}
}

// constant returns the memory operand of a number.
func (t target) constant(name string, v float64) operand.Mem {
	m := GLOBL(t.name(name), 8|16) // RODATA, NOPTR
	DATA(0, operand.U64(math.Float64bits(v)))
	return m
}

// indexed returns the memory operand at base + index + displacement.
func indexed(base, index reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 1, Disp: disp}
}

// offset loads the next number of a list, multiplied by 1<<shift.
func offset(list reg.GPVirtual, shift uint64) reg.GPVirtual {
	o := GP64()
	MOVQ(at(list, 0), o)
	ADDQ(operand.Imm(8), list)
	SHLQ(operand.Imm(shift), o)
	return o
}

func (t target) rotationFactors() {
	name := t.name("rotationFactors")
	TEXT(name, NOSPLIT, "func(n int, rows *int, x, z, factors, sums *float64)")
	Doc(name+" computes, for l < n, from sines A and cosines B of row r = rows[l] of x and z,", "",
		"\tA of factors[l] = x.B·z.B + x.A·z.A    (c)", "\tB of factors[l] = x.A·z.B − x.B·z.A    (s)", "",
		"and sums = Σ s², Σ 2·s·c, max |2·s·c|.")
	Pragma("noescape")
	n, rows, x, z, factors, sums := param("n"), param("rows"), param("x"), param("z"), param("factors"), param("sums")
	xs, xc, zs, zc, c, s, sine, negative := t.vector(0), t.vector(1), t.vector(2), t.vector(3), t.vector(4), t.vector(5),
		t.vector(6), t.vector(7)
	squares, sum, largest, zero := t.vector(8), t.vector(9), t.vector(10), t.vector(11)
	for _, v := range []reg.VecPhysical{squares, sum, largest, zero} {
		t.zero(v)
	}
	loop("row", n, func() {
		o := offset(rows, 7)
		t.load(indexed(x, o, 0), xs)
		t.load(indexed(x, o, blockBytes), xc)
		t.load(indexed(z, o, 0), zs)
		t.load(indexed(z, o, blockBytes), zc)
		t.mul(xc, zc, c)
		t.fma(xs, zs, c)
		t.mul(xs, zc, s)
		t.fnma(xc, zs, s)
		t.store(c, at(factors, 0))
		t.store(s, at(factors, blockBytes))
		t.fma(s, s, squares)
		t.add(s, s, sine)
		t.mul(sine, c, sine)
		t.add(sine, sum, sum)
		t.sub(sine, zero, negative)
		VMAXPD(sine, negative, negative)
		VMAXPD(negative, largest, largest)
		ADDQ(operand.I32(pairBytes), factors)
	})
	for k, v := range []reg.VecPhysical{squares, sum, largest} {
		t.store(v, at(sums, k*blockBytes))
	}
	done()
}

func (t target) productFactors(half operand.Mem) {
	name := t.name("productFactors")
	TEXT(name, NOSPLIT, "func(n int, rows *int, p, q, factors *float64)")
	Doc(name+" computes, for l < n and r = rows[l],", "",
		"\tA of factors[l] = (p[r] + q[r])/2", "\tB of factors[l] = (p[r] − q[r])/2")
	Pragma("noescape")
	n, rows, p, q, factors := param("n"), param("rows"), param("p"), param("q"), param("factors")
	a, b, v, w := t.vector(0), t.vector(1), t.vector(2), t.vector(3)
	t.broadcast(half, w)
	loop("row", n, func() {
		o := offset(rows, 6)
		t.load(indexed(p, o, 0), a)
		t.load(indexed(q, o, 0), b)
		t.add(a, b, v)
		t.sub(b, a, b)
		t.mul(v, w, v)
		t.mul(b, w, b)
		t.store(v, at(factors, 0))
		t.store(b, at(factors, blockBytes))
		ADDQ(operand.I32(pairBytes), factors)
	})
	done()
}

// rotations writes the kernel of complex factors for the given number of nodes.
func (t target) rotations(nodes int, one operand.Mem) {
	name := t.name(fmt.Sprint("rotations", nodes))
	TEXT(name, NOSPLIT, "func(n int, nodes, factors, prefix, out *float64)")
	Doc(fmt.Sprintf("%s adds to out[l], for l < n and the %d pairs (s, w) of nodes,", name, nodes), "",
		"\tw·Re Π_{m<n, m≠l} (A + i·s·B of factors[m])", "", "with prefix as workspace.")
	Pragma("noescape")
	n, from, factors, prefix, out := param("n"), param("nodes"), param("factors"), param("prefix"), param("out")
	re, im, s := t.vectors(0, nodes), t.vectors(nodes, nodes), t.vectors(2*nodes, nodes)
	first, second, angle := t.vectors(3*nodes, nodes), t.vectors(4*nodes, nodes), t.vectors(5*nodes, nodes)
	c, sine := t.vector(6*nodes), t.vector(6*nodes+1)
	sum := t.vector(6*nodes + 2)
	if 6*nodes+2 > 15 && !t.avx512 {
		panic("too few registers")
	}
	step := func() {
		for j := range nodes {
			t.mul(sine, s[j], angle[j])
			t.mul(im[j], angle[j], first[j])
			t.mul(re[j], angle[j], second[j])
			VFMSUB213PD(first[j], c, re[j])
			VFMADD213PD(second[j], c, im[j])
		}
	}
	for j := range nodes {
		t.broadcast(at(from, 16*j), s[j])
		t.broadcast(one, re[j])
		t.zero(im[j])
	}
	count := GP64()
	MOVQ(n, count)
	loop("forward", count, func() {
		t.load(at(factors, 0), c)
		t.load(at(factors, blockBytes), sine)
		for j := range nodes {
			t.store(re[j], at(prefix, 2*j*t.bytes()))
			t.store(im[j], at(prefix, (2*j+1)*t.bytes()))
		}
		step()
		ADDQ(operand.I32(pairBytes), factors)
		ADDQ(operand.I32(int32(2*nodes*t.bytes())), prefix)
	})
	for j := range nodes {
		t.broadcast(at(from, 16*j+8), re[j])
		t.zero(im[j])
	}
	end := GP64()
	MOVQ(n, end)
	SHLQ(operand.Imm(6), end)
	ADDQ(end, out)
	loop("backward", n, func() {
		SUBQ(operand.I32(pairBytes), factors)
		SUBQ(operand.I32(int32(2*nodes*t.bytes())), prefix)
		SUBQ(operand.I32(blockBytes), out)
		t.load(at(factors, 0), c)
		t.load(at(factors, blockBytes), sine)
		t.load(at(out, 0), sum)
		for j := range nodes {
			t.fma(at(prefix, 2*j*t.bytes()), re[j], sum)
			t.fnma(at(prefix, (2*j+1)*t.bytes()), im[j], sum)
		}
		t.store(sum, at(out, 0))
		step()
	})
	done()
}

// products writes the kernel of real factors for the given number of nodes.
func (t target) products(nodes int, one operand.Mem) {
	name := t.name(fmt.Sprint("products", nodes))
	TEXT(name, NOSPLIT, "func(n int, nodes, factors, prefix, out *float64)")
	Doc(fmt.Sprintf("%s adds to out[l], for l < n and the %d pairs (s, w) of nodes,", name, nodes), "",
		"\tw·Π_{m<n, m≠l} (A + s·B of factors[m])", "", "with prefix as workspace.")
	Pragma("noescape")
	n, from, factors, prefix, out := param("n"), param("nodes"), param("factors"), param("prefix"), param("out")
	v, s, f := t.vectors(0, nodes), t.vectors(nodes, nodes), t.vectors(2*nodes, nodes)
	mean, difference, sum := t.vector(3*nodes), t.vector(3*nodes+1), t.vector(3*nodes+2)
	step := func() {
		for j := range nodes {
			VMOVAPD(mean, f[j])
			t.fma(difference, s[j], f[j])
			t.mul(f[j], v[j], v[j])
		}
	}
	for j := range nodes {
		t.broadcast(at(from, 16*j), s[j])
		t.broadcast(one, v[j])
	}
	count := GP64()
	MOVQ(n, count)
	loop("forward", count, func() {
		t.load(at(factors, 0), mean)
		t.load(at(factors, blockBytes), difference)
		for j := range nodes {
			t.store(v[j], at(prefix, j*t.bytes()))
		}
		step()
		ADDQ(operand.I32(pairBytes), factors)
		ADDQ(operand.I32(int32(nodes*t.bytes())), prefix)
	})
	for j := range nodes {
		t.broadcast(at(from, 16*j+8), v[j])
	}
	end := GP64()
	MOVQ(n, end)
	SHLQ(operand.Imm(6), end)
	ADDQ(end, out)
	loop("backward", n, func() {
		SUBQ(operand.I32(pairBytes), factors)
		SUBQ(operand.I32(int32(nodes*t.bytes())), prefix)
		SUBQ(operand.I32(blockBytes), out)
		t.load(at(factors, 0), mean)
		t.load(at(factors, blockBytes), difference)
		t.load(at(out, 0), sum)
		for j := range nodes {
			t.fma(at(prefix, j*t.bytes()), v[j], sum)
		}
		t.store(sum, at(out, 0))
		step()
	})
	done()
}

// pairs writes the kernel of products without two factors for the given number of nodes: the
// product before the first, times that between both, times that after the second.
func (t target) pairs(nodes int, rotation bool, one operand.Mem) {
	base, formula, numbers := "productPairs", "w·Π_{k<n, k≠l, k≠m} (A + s·B of factors[k])", 1
	if rotation {
		base, formula, numbers = "rotationPairs", "w·Re Π_{k<n, k≠l, k≠m} (A + i·s·B of factors[k])", 2
	}
	name := t.name(fmt.Sprint(base, nodes))
	TEXT(name, NOSPLIT, "func(n int, nodes, factors, suffix, out *float64)")
	Doc(fmt.Sprintf("%s adds to out[l·n+m], for l < m < n and the %d pairs (s, w) of nodes,", name, nodes), "",
		"\t"+formula, "", "with suffix as workspace.")
	Pragma("noescape")
	n, from, factors, suffix, out := param("n"), param("nodes"), param("factors"), param("suffix"), param("out")
	before, product := t.vectors(0, numbers*nodes), t.vectors(numbers*nodes, numbers*nodes)
	s, rest := t.vectors(2*numbers*nodes, nodes), t.vectors((2*numbers+1)*nodes, 2*numbers+2)
	a, b, sum, temporary := rest[0], rest[1], rest[2], rest[3:]
	stored := int32(numbers * nodes * t.bytes())
	load := func(from reg.Register) {
		t.load(at(from, 0), a)
		t.load(at(from, blockBytes), b)
	}
	multiply := func(v []reg.VecPhysical) {
		for j := range nodes {
			if !rotation {
				VMOVAPD(a, temporary[0])
				t.fma(b, s[j], temporary[0])
				t.mul(temporary[0], v[j], v[j])
				continue
			}
			re, im := v[2*j], v[2*j+1]
			t.mul(b, s[j], temporary[0])
			t.mul(im, temporary[0], temporary[1])
			t.mul(re, temporary[0], temporary[2])
			VFMSUB213PD(temporary[1], a, re)
			VFMADD213PD(temporary[2], a, im)
		}
	}
	start := func(v []reg.VecPhysical, of func(j int) operand.Mem) {
		for j := range nodes {
			t.broadcast(of(j), v[numbers*j])
			if rotation {
				t.zero(v[2*j+1])
			}
		}
	}
	for j := range nodes {
		t.broadcast(at(from, 16*j), s[j])
	}
	start(product, func(j int) operand.Mem { return at(from, 16*j+8) })
	start(before, func(int) operand.Mem { return one })
	count, offset, stride := GP64(), GP64(), GP64()
	MOVQ(n, count)
	MOVQ(n, offset)
	SHLQ(operand.Imm(7), offset)
	ADDQ(offset, factors)
	IMUL3Q(operand.I32(stored), n, offset)
	ADDQ(offset, suffix)
	MOVQ(n, stride)
	SHLQ(operand.Imm(6), stride)
	ADDQ(operand.I32(blockBytes), stride)
	loop("backward", count, func() {
		SUBQ(operand.I32(pairBytes), factors)
		SUBQ(operand.I32(stored), suffix)
		load(factors)
		for k, v := range product {
			t.store(v, at(suffix, k*t.bytes()))
		}
		multiply(product)
	})
	loop("first", n, func() {
		for k, v := range before {
			VMOVAPD(v, product[k])
		}
		second, after, to, k := GP64(), GP64(), GP64(), GP64()
		LEAQ(at(factors, pairBytes), second)
		ADDQ(operand.I32(stored), suffix)
		MOVQ(suffix, after)
		LEAQ(at(out, blockBytes), to)
		MOVQ(n, k)
		DECQ(k)
		loop("second", k, func() {
			load(second)
			t.load(at(to, 0), sum)
			for j := range nodes {
				t.fma(at(after, numbers*j*t.bytes()), product[numbers*j], sum)
				if rotation {
					t.fnma(at(after, (2*j+1)*t.bytes()), product[2*j+1], sum)
				}
			}
			t.store(sum, at(to, 0))
			multiply(product)
			ADDQ(operand.I32(pairBytes), second)
			ADDQ(operand.I32(stored), after)
			ADDQ(operand.I32(blockBytes), to)
		})
		load(factors)
		multiply(before)
		ADDQ(operand.I32(pairBytes), factors)
		ADDQ(stride, out)
	})
	done()
}

func (t target) addScaledBlocks() {
	name := t.name("addScaledBlocks")
	TEXT(name, NOSPLIT, "func(n int, rows *int, scale, factors, out, sums *float64)")
	Doc(name+" computes, for l < n and r = rows[l],", "", "\tsums[r] += scale·out[l]·(B of factors[l])")
	Pragma("noescape")
	n, rows, from, factors, out, sums := param("n"), param("rows"), param("scale"), param("factors"), param("out"),
		param("sums")
	scale, v, sum := t.vector(0), t.vector(1), t.vector(2)
	t.load(at(from, 0), scale)
	loop("row", n, func() {
		o := offset(rows, 6)
		t.load(at(out, 0), v)
		t.mul(at(factors, blockBytes), v, v)
		t.load(indexed(sums, o, 0), sum)
		t.fma(scale, v, sum)
		t.store(sum, indexed(sums, o, 0))
		ADDQ(operand.I32(pairBytes), factors)
		ADDQ(operand.I32(blockBytes), out)
	})
	done()
}

func (t target) sumRatios(tiny operand.Mem) {
	name := t.name("sumRatios")
	TEXT(name, NOSPLIT, "func(n int, factors, sums *float64)")
	Doc(name + " computes sums = Σ |B|/(|A| + |B| + 1e-300) of factors[l] for l < n.")
	Pragma("noescape")
	n, factors, sums := param("n"), param("factors"), param("sums")
	a, b, v, zero, sum, least := t.vector(0), t.vector(1), t.vector(2), t.vector(3), t.vector(4), t.vector(5)
	t.zero(zero)
	t.zero(sum)
	t.broadcast(tiny, least)
	loop("row", n, func() {
		t.load(at(factors, 0), a)
		t.load(at(factors, blockBytes), b)
		for _, x := range []reg.VecPhysical{a, b} {
			t.sub(x, zero, v)
			VMAXPD(v, x, x)
		}
		t.add(b, a, a)
		t.add(least, a, a)
		VDIVPD(a, b, b)
		t.add(b, sum, sum)
		ADDQ(operand.I32(pairBytes), factors)
	})
	t.store(sum, at(sums, 0))
	done()
}
