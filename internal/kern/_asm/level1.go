package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector writes the loops over one or two vectors.
func vector() {
	for _, t := range targets {
		t.dot()
		t.axpy()
		t.scale()
	}
}

// chains is the number of sums side by side in dot.
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

// sum adds up the elements of v into its first, by halves.
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

// steps runs body over n elements in loops of so many vectors each, moving the
// pointers along.
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
