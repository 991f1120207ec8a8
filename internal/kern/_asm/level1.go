package main

import (
	"fmt"
	"math/bits"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector writes the loops over one or two vectors, and over several rows of a matrix.
func vector() {
	for _, t := range targets {
		t.dot()
		t.axpy()
		if !t.avx512 {
			t.combine()
			t.gatherFour()
			t.scatterFour()
		}
		t.scale()
		t.scaleFloor()
		t.multiply()
		t.bothWays()
		t.turn()
	}
}

// chains is the number of independent partial sums in dot.
const chains = 8

func (t target) dot() {
	f := t.float()
	TEXT(t.name("dot"), NOSPLIT, fmt.Sprintf("func(x, y *%s, n int) (sum %s)", f, f))
	Doc(fmt.Sprintf("%s returns Σ x[i]·y[i] over i < n, n a multiple of %d.", t.name("dot"), t.lanes()))
	Pragma("noescape")
	x, y, n := param("x"), param("y"), param("n")
	sums, loads := t.vectors(0, chains), t.vectors(chains, 4)
	for _, s := range sums {
		t.zero(s)
	}
	t.steps(n, []int{chains, 1}, []reg.GPVirtual{x, y}, func(k int) {
		v := loads[k%len(loads)]
		t.load(at(x, k*t.bytes()), v)
		t.fma(at(y, k*t.bytes()), v, sums[k])
	})
	for half := chains / 2; half > 0; half /= 2 {
		for k := range half {
			t.add(sums[k+half], sums[k], sums[k])
		}
	}
	t.sum(sums[0], sums[1])
	Store(sums[0].(reg.VecPhysical).AsX(), ReturnIndex(0))
	done()
}

// sum adds the elements of v into its first element by successive halving.
func (t target) sum(v, spare reg.VecPhysical) {
	if t.avx512 {
		VEXTRACTF64X4(operand.Imm(1), v, spare.AsY())
		t.add(spare.AsY(), v.AsY(), v.AsY())
	}
	VEXTRACTF128(operand.Imm(1), v.AsY(), spare.AsX())
	t.add(spare.AsX(), v.AsX(), v.AsX())
	if t.f32 {
		VMOVHLPS(v.AsX(), v.AsX(), spare.AsX())
		t.add(spare.AsX(), v.AsX(), v.AsX())
		VMOVSHDUP(v.AsX(), spare.AsX())
	} else {
		VUNPCKHPD(v.AsX(), v.AsX(), spare.AsX())
	}
	t.add(spare.AsX(), v.AsX(), v.AsX())
}

func (t target) axpy() {
	f := t.float()
	TEXT(t.name("axpy"), NOSPLIT, fmt.Sprintf("func(alpha %s, x, y *%s, n int)", f, f))
	Doc(fmt.Sprintf("%s computes y[i] += alpha·x[i] for i < n, n a multiple of %d.", t.name("axpy"), t.lanes()))
	Pragma("noescape")
	const unroll = 4
	alpha, sums := t.vector(unroll), t.vectors(0, unroll)
	arg, err := Param("alpha").Resolve()
	if err != nil {
		panic(err)
	}
	t.broadcast(arg.Addr, alpha)
	x, y, n := param("x"), param("y"), param("n")
	t.steps(n, []int{unroll, 1}, []reg.GPVirtual{x, y}, func(k int) {
		t.load(at(y, k*t.bytes()), sums[k])
		t.fma(at(x, k*t.bytes()), alpha, sums[k])
		t.store(sums[k], at(y, k*t.bytes()))
	})
	done()
}

// combined is the number of rows that combine processes together.
const combined = 4

// combine writes axpy for several rows; sums are loaded and stored once.
func (t target) combine() {
	TEXT(t.name("combine"), NOSPLIT, strings.ReplaceAll("func(n int, x, a *T, aRow int, y *T)", "T", t.float()))
	Doc(fmt.Sprintf("%s adds up %d rows, n a multiple of %d:", t.name("combine"), combined, t.lanes()), "",
		fmt.Sprintf("\tfor j < n:  y[j] = (((y[j] + x[0]·a[j]) + x[1]·a[aRow+j]) + …) + x[%d]·a[%[1]d·aRow+j]", combined-1))
	Pragma("noescape")
	n, x, aRow, y := param("n"), param("x"), param("aRow"), param("y")
	SHLQ(operand.Imm(uint64(t.shift())), aRow)
	rows := []reg.GPVirtual{param("a")}
	factors := t.vectors(8, combined)
	for q, f := range factors {
		t.broadcast(at(x, q*t.size()), f)
		if q > 0 {
			rows = append(rows, GP64())
			LEAQ(operand.Mem{Base: rows[q-1], Index: aRow, Scale: 1}, rows[q])
		}
	}
	t.steps(n, []int{4, 1}, append([]reg.GPVirtual{y}, rows...), func(k int) {
		v := t.vector(k)
		t.load(at(y, k*t.bytes()), v)
		for q, row := range rows {
			t.fma(at(row, k*t.bytes()), factors[q], v)
		}
		t.store(v, at(y, k*t.bytes()))
	})
	done()
}

// four returns the part of register i that contains four elements.
func (t target) four(i int) operand.Op {
	if t.f32 {
		return t.vector(i).AsX()
	}
	return t.vector(i)
}

// gatherFour writes the sum of listed rows of four numbers, with several partial sums.
func (t target) gatherFour() {
	const sums = 4
	name := t.name("gatherFour")
	TEXT(name, NOSPLIT, strings.ReplaceAll("func(n int, numbers *uint32, rows int, x *T, xRow int, sum *T) (ok bool)", "T",
		t.float()))
	Doc(name+" adds up some rows of four numbers:", "", "\tfor j < 4:  sum[j] += Σ_{p<n} x[numbers[p]·xRow+j]", "",
		"It reports whether all their numbers are below rows.")
	Pragma("noescape")
	x, add := t.listed("x"), func(from operand.Mem, q int) { t.add(from, t.four(q), t.four(q)) }
	for q := range sums {
		t.zero(t.vector(q))
	}
	t.eachListed(x, sums, add)
	t.add(t.four(1), t.four(0), t.four(0))
	t.add(t.four(3), t.four(2), t.four(2))
	t.add(t.four(2), t.four(0), t.four(0))
	sum := param("sum")
	t.add(at(sum, 0), t.four(0), t.four(0))
	t.store(t.four(0), at(sum, 0))
	done()
}

// scatterFour writes the kernel that adds four numbers to each of the listed rows.
func (t target) scatterFour() {
	name := t.name("scatterFour")
	TEXT(name, NOSPLIT, strings.ReplaceAll("func(n int, numbers *uint32, rows int, y *T, yRow int, v *T) (ok bool)", "T",
		t.float()))
	Doc(name+" adds four numbers to some rows:", "", "\tfor p < n, j < 4:  y[numbers[p]·yRow+j] += v[j]", "",
		"It reports whether all numbers of rows are below rows; if not, it has stopped before.")
	Pragma("noescape")
	t.load(at(param("v"), 0), t.four(0))
	t.eachListed(t.listed("y"), 4, func(to operand.Mem, q int) {
		t.add(to, t.four(0), t.four(1))
		t.store(t.four(1), to)
	})
	done()
}

// listed returns the operand of a matrix whose rows are indexed by a list.
func (t target) listed(name string) (m operand.Mem) {
	base, step := param(name), param(name+"Row")
	SHLQ(operand.Imm(uint64(t.shift())), step)
	return operand.Mem{Base: base, Index: step, Scale: 1}
}

// eachListed emits body for every listed row, unrolled; q is the position within the unrolled loop.
func (t target) eachListed(m operand.Mem, unroll int, body func(row operand.Mem, q int)) {
	n, numbers, rows := param("n"), param("numbers"), param("rows")
	ok, number := GP8(), GP64()
	XORB(ok, ok)
	for _, k := range []int{unroll, 1} {
		Label(label("by", k))
		CMPQ(n, operand.Imm(uint64(k)))
		JLT(operand.LabelRef(label("by", k, "_done")))
		for q := range k {
			MOVL(at(numbers, 4*q), number.As32())
			CMPQ(number, rows)
			JAE(operand.LabelRef("bad"))
			IMULQ(m.Index, number)
			body(operand.Mem{Base: m.Base, Index: number, Scale: 1}, q)
		}
		ADDQ(operand.Imm(uint64(4*k)), numbers)
		SUBQ(operand.Imm(uint64(k)), n)
		JMP(operand.LabelRef(label("by", k)))
		Label(label("by", k, "_done"))
	}
	MOVB(operand.Imm(1), ok)
	Label("bad")
	Store(ok, ReturnIndex(0))
}

func (t target) scale() {
	f := t.float()
	TEXT(t.name("scale"), NOSPLIT, fmt.Sprintf("func(alpha %s, x *%s, n int)", f, f))
	Doc(fmt.Sprintf("%s computes x[i] *= alpha for i < n, n a multiple of %d.", t.name("scale"), t.lanes()))
	Pragma("noescape")
	const unroll = 4
	alpha := t.vector(unroll)
	arg, err := Param("alpha").Resolve()
	if err != nil {
		panic(err)
	}
	t.broadcast(arg.Addr, alpha)
	x, n := param("x"), param("n")
	t.steps(n, []int{unroll, 1}, []reg.GPVirtual{x}, func(k int) {
		t.mul(at(x, k*t.bytes()), alpha, t.vector(k))
		t.store(t.vector(k), at(x, k*t.bytes()))
	})
	done()
}

func (t target) scaleFloor() {
	f := t.float()
	TEXT(t.name("scaleFloor"), NOSPLIT, fmt.Sprintf("func(alpha, least %s, x *%s, n int)", f, f))
	Doc(fmt.Sprintf("%s computes x[i] = max(alpha·x[i], least) for i < n, n a multiple of %d.", t.name("scaleFloor"),
		t.lanes()))
	Pragma("noescape")
	const unroll = 4
	alpha, least := t.vector(unroll), t.vector(unroll+1)
	t.broadcast(resolve("alpha"), alpha)
	t.broadcast(resolve("least"), least)
	x, n := param("x"), param("n")
	t.steps(n, []int{unroll, 1}, []reg.GPVirtual{x}, func(k int) {
		t.mul(at(x, k*t.bytes()), alpha, t.vector(k))
		t.pick(VMAXPD, VMAXPS)(least, t.vector(k), t.vector(k))
		t.store(t.vector(k), at(x, k*t.bytes()))
	})
	done()
}

func (t target) multiply() {
	f := t.float()
	TEXT(t.name("multiply"), NOSPLIT, fmt.Sprintf("func(dst, x, y *%s, n int)", f))
	Doc(fmt.Sprintf("%s computes dst[i] = x[i]·y[i] for i < n, n a multiple of %d; dst may be x.", t.name("multiply"),
		t.lanes()))
	Pragma("noescape")
	const unroll = 4
	dst, x, y, n := param("dst"), param("x"), param("y"), param("n")
	t.steps(n, []int{unroll, 1}, []reg.GPVirtual{dst, x, y}, func(k int) {
		v := t.vector(k)
		t.load(at(x, k*t.bytes()), v)
		t.mul(at(y, k*t.bytes()), v, v)
		t.store(v, at(dst, k*t.bytes()))
	})
	done()
}

// bothRows is the number of rows that bothWays processes together.
const bothRows = 4

// bothWays writes the products of a matrix with one vector from the left and one from the right.
func (t target) bothWays() {
	f, name := t.float(), t.name("bothWays")
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, a *%s, aRow int, x, z, w, sums *%s)", f, f))
	Doc(fmt.Sprintf("%s multiplies %d rows of n elements, n a multiple of %d, with x, and adds them to z times w:", name,
		bothRows, t.lanes()), "",
		fmt.Sprintf("\tfor i < %d, j < n:  sums[i] += a[i·aRow+j]·x[j];  z[j] += w[i]·a[i·aRow+j]", bothRows), "",
		"from sums of 0.")
	Pragma("noescape")
	n, a, stride, x, z, w, out := param("n"), param("a"), param("aRow"), param("x"), param("z"), param("w"), param("sums")
	SHLQ(operand.Imm(uint64(t.shift())), stride)
	sums, weights, row := t.vectors(0, bothRows), t.vectors(bothRows, bothRows), t.vectors(2*bothRows, bothRows)
	right, sum := t.vector(3*bothRows), t.vector(3*bothRows+1)
	rows := []reg.GPVirtual{a}
	for i := range bothRows {
		t.zero(sums[i])
		t.broadcast(at(w, i*t.size()), weights[i])
		if i > 0 {
			next := GP64()
			MOVQ(rows[i-1], next)
			ADDQ(stride, next)
			rows = append(rows, next)
		}
	}
	t.steps(n, []int{1}, append([]reg.GPVirtual{x, z}, rows...), func(int) {
		t.load(at(x, 0), right)
		t.load(at(z, 0), sum)
		for i, from := range rows {
			t.load(at(from, 0), row[i])
			t.fma(row[i], right, sums[i])
			t.fma(row[i], weights[i], sum)
		}
		t.store(sum, at(z, 0))
	})
	for i, s := range sums {
		t.sum(s, right)
		t.pick(VMOVSD, VMOVSS)(s.AsX(), at(out, i*t.size()))
	}
	done()
}

// steps runs body over n elements in unrolled loops of the given numbers of vectors, and advances
// the pointers.
func (t target) steps(n reg.GPVirtual, unrolls []int, pointers []reg.GPVirtual, body func(k int)) {
	for _, unroll := range unrolls {
		name, step := fmt.Sprint("by", unroll), unroll*t.lanes()
		Label(name)
		CMPQ(n, operand.I32(int32(step)))
		JLT(operand.LabelRef(name + "_done"))
		for k := range unroll {
			body(k)
		}
		for _, p := range pointers {
			ADDQ(operand.I32(int32(step*t.size())), p)
		}
		SUBQ(operand.I32(int32(step)), n)
		JMP(operand.LabelRef(name))
		Label(name + "_done")
	}
}

// turn writes the derivative by angles, given pairs of cosine and sine. It computes products,
// separates their halves within lanes, and restores the order by one permutation of 64-bit
// elements.
func (t target) turn() {
	f := t.float()
	var order operand.Mem
	if t.avx512 {
		order = GLOBL(t.name("turnOrder"), 8|16) // RODATA, NOPTR
		for i, piece := range []uint64{0, 2, 4, 6, 1, 3, 5, 7} {
			DATA(8*i, operand.U64(piece))
		}
	}
	TEXT(t.name("turn"), NOSPLIT, fmt.Sprintf("func(dst, z, slope *%s, n int)", f))
	Doc(fmt.Sprintf("%s computes dst[i] = z[2i]·slope[2i+1] − z[2i+1]·slope[2i] for i < n, n a multiple of %d.",
		t.name("turn"), t.lanes()))
	Pragma("noescape")
	first, second, even, odd := t.vector(0), t.vector(1), t.vector(2), t.vector(3)
	dst, z, slope, n := param("dst"), param("z"), param("slope"), param("n")
	if t.avx512 {
		t.load(order, t.vector(4))
	}
	SHRQ(operand.Imm(uint64(bits.TrailingZeros(uint(t.lanes())))), n)
	loop("turn", n, func() {
		for k, v := range []reg.VecPhysical{first, second} {
			t.load(at(slope, k*t.bytes()), v)
			if t.f32 {
				VPERMILPS(operand.Imm(0xb1), v, v)
			} else {
				VPERMILPD(operand.Imm(0x55), v, v)
			}
			t.mul(at(z, k*t.bytes()), v, v)
		}
		if t.f32 {
			VSHUFPS(operand.Imm(0x88), second, first, even)
			VSHUFPS(operand.Imm(0xdd), second, first, odd)
		} else {
			VUNPCKLPD(second, first, even)
			VUNPCKHPD(second, first, odd)
		}
		t.sub(odd, even, even)
		if t.avx512 {
			VPERMQ(even, t.vector(4), even)
		} else {
			VPERMQ(operand.Imm(0xd8), even, even)
		}
		t.store(even, at(dst, 0))
		ADDQ(operand.I32(int32(t.bytes())), dst)
		ADDQ(operand.I32(int32(2*t.bytes())), z)
		ADDQ(operand.I32(int32(2*t.bytes())), slope)
	})
	done()
}
