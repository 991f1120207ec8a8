package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The polynomials are near-minimax (Chebyshev) fits made with mpmath to 60
// digits and rounded; the error given is of the function, relative, before
// rounding in the evaluation. Index 0 is float64, 1 float32.
var (
	// sin r = r + r³·P(r²) on |r| ≤ π/2: errors 3.6e-17, 5.2e-10; each float32 coefficient is
	// fitted given the rounded ones before it.
	sineWide = [2][]float64{
		{-0.16666666666666666, 0.008333333333333316, -0.00019841269841254966, 2.7557319219160833e-06,
			-2.505210761669045e-08, 1.6058977292642743e-10, -7.643969663988074e-13, 2.7314368769379893e-15},
		{-0.1666666716337204, 0.008333348669111729, -0.00019842773326672614, 2.7609773951553507e-06, -2.5205583398246745e-08},
	}
	// The same on |r| ≤ π/4: 2.0e-17, 1.3e-8.
	sine = [2][]float64{
		{-0.16666666666666666, 0.008333333333330948, -0.00019841269836756774, 2.7557316101617874e-06,
			-2.505113165023518e-08, 1.5918115263265974e-10},
		{-0.166666641831398, 0.008332747966051102, -0.00019587865972425789},
	}
	// cos r = 1 − r²/2 + r⁴·Q(r²) on |r| ≤ π/4: 1.3e-18, 8.4e-10.
	cosine = [2][]float64{
		{0.041666666666666664, -0.0013888888888887398, 2.480158729876456e-05, -2.7557317271145144e-07,
			2.087614614655861e-09, -1.1382623647474604e-11},
		{0.0416666641831398, -0.001388830249197781, 2.454791683703661e-05},
	}
	// exp r = 1 + r + r²·E(r) on |r| ≤ ln2/2: 1.6e-17, 1.1e-8.
	exponential = [2][]float64{
		{0.5000000000000001, 0.16666666666666669, 0.04166666666662413, 0.008333333333330062, 0.0013888888917213717,
			0.00019841269863053618, 2.4801521295954376e-05, 2.7557268459997064e-06, 2.7620088445409746e-07,
			2.510038549551032e-08},
		{0.5, 0.16666576266288757, 0.041666556149721146, 0.008363178931176662, 0.0013926184037700295},
	}
	// atanh s = s + s³·L(s²) on |s| ≤ 1/3: 7.4e-18, 1.7e-8.
	areaTangent = [2][]float64{
		{0.3333333333333333, 0.20000000000007292, 0.1428571428355438, 0.11111111358713932, 0.09090894718066429,
			0.07692785032479312, 0.06657072104827468, 0.06000536404795356, 0.04400369243072337, 0.08082022805971766},
		{0.33333319425582886, 0.20003780722618103, 0.14118309319019318, 0.1342574954032898},
	}
)

// Parts of π and ln 2; each is the rounded remainder of the preceding ones.
var (
	piParts = [2][]float64{
		{3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33},
		{3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15},
	}
	ln2Parts = [2][]float64{
		{0.6931471805599453, 2.3190468138462996e-17},
		{0.6931471824645996, -1.9046542121259336e-09},
	}
)

// function generates the evaluation of an elementary function on registers, for one target. Every
// step is emitted for several vectors, so that their latencies overlap and a constant is loaded
// once for all of them.
type function struct {
	*table
	p        int // index of the precision
	width    int // number of vectors processed together
	constant reg.VecPhysical
}

// bank returns the k-th set of registers, one for each vector.
func (f function) bank(k int) []reg.VecPhysical { return f.vectors(k*f.width, f.width) }

func (f function) each(step func(i int)) {
	for i := range f.width {
		step(i)
	}
}

// with loads a constant and emits a step for every vector.
func (f function) with(m operand.Mem, step func(c operand.Op, i int)) {
	f.set(m, f.constant)
	f.each(func(i int) { step(f.constant, i) })
}

// magic, added to a number, leaves its nearest integer in the low bits.
func (f function) magic() float64 {
	if f.f32 {
		return 1.5 * (1 << 23)
	}
	return 1.5 * (1 << 52)
}

func (f function) bits() uint64 { return uint64(8 * f.size()) }

// shiftLeft shifts the bits of every element of a and stores the result in v.
func (f function) shiftLeft(by uint64, a, v operand.Op) {
	f.pick(VPSLLQ, VPSLLD)(operand.Imm(by), a, v)
}

func (f function) xor(a, b, v operand.Op) { f.pick(VXORPD, VXORPS)(a, b, v) }

// limit returns the bits of the largest argument of the reduction by parts of π; the low half of a
// float64 is ignored.
func (f function) limit() operand.Mem {
	if f.f32 {
		return f.float(1 << 20)
	}
	return f.word(math.Float64bits(1<<30) | math.MaxInt32)
}

// guard emits a jump to label unless |x| ≤ limit for all elements of all vectors; NaN also jumps.
// It overwrites the registers spare.
func (f function) guard(x, spare []reg.VecPhysical, label string) {
	f.with(f.word(1<<(f.bits()-1)-1), func(c operand.Op, i int) {
		f.pick(VANDPD, VANDPS)(c, x[i], spare[i])
		if i > 0 {
			VPMAXSD(spare[i], spare[0], spare[0])
		}
	})
	f.set(f.limit(), f.constant)
	if f.avx512 {
		above := K()
		VPCMPGTD(f.constant, spare[0], above)
		KORTESTW(above, above)
	} else {
		VPCMPGTD(f.constant, spare[0], spare[0])
		VPTEST(spare[0], spare[0])
	}
	JNE(operand.LabelRef(label))
}

// polynomial evaluates Σ c[k]·z^k into p by Horner's rule.
func (f function) polynomial(c []float64, z, p []reg.VecPhysical) {
	f.with(f.float(c[len(c)-1]), func(c operand.Op, i int) { f.move(c, p[i]) })
	f.horner(c[:len(c)-1], z, p)
}

// horner evaluates the lower coefficients of a polynomial: p = p·z + c[k] for each k, from the
// last.
func (f function) horner(c []float64, z, p []reg.VecPhysical) {
	for k := len(c) - 1; k >= 0; k-- {
		f.with(f.float(c[k]), func(c operand.Op, i int) { f.pick(VFMADD213PD, VFMADD213PS)(c, z[i], p[i]) })
	}
}

// nearest sets n to the nearest integer of by·x, and t to a number with the integer in its low
// bits.
func (f function) nearest(by float64, x, t, n []reg.VecPhysical) {
	f.with(f.float(f.magic()), func(c operand.Op, i int) { f.move(c, t[i]) })
	f.with(f.float(by), func(c operand.Op, i int) { f.fma(c, x[i], t[i]) })
	f.with(f.float(f.magic()), func(c operand.Op, i int) { f.sub(c, t[i], n[i]) })
}

// takeTimes subtracts n times a constant from x. The constant is the sum of parts, each multiplied
// by by.
func (f function) takeTimes(n []reg.VecPhysical, parts []float64, by float64, x []reg.VecPhysical) {
	for _, part := range parts {
		f.with(f.float(part*by), func(c operand.Op, i int) { f.fnma(c, n[i], x[i]) })
	}
}

// halfTurn replaces x by sin x, or cos x, using the bits of |x| ≤ limit:
// x = n·π + r, or (n+½)·π + r, and the sign is the parity of n.
func (f function) halfTurn(x, t, n, z []reg.VecPhysical, cos bool) {
	if cos {
		f.with(f.float(-0.5), func(c operand.Op, i int) { f.move(c, t[i]) })
		f.with(f.float(1/math.Pi), func(c operand.Op, i int) { f.fma(c, x[i], t[i]) })
		// An odd magic number turns the sign: cos((n+½)π + r) = −(−1)ⁿ sin r.
		f.with(f.float(f.magic()+1), func(c operand.Op, i int) {
			f.add(c, t[i], t[i])
			f.sub(c, t[i], n[i])
		})
		f.with(f.float(0.5), func(c operand.Op, i int) { f.add(c, n[i], n[i]) })
	} else {
		f.nearest(1/math.Pi, x, t, n)
	}
	f.takeTimes(n, piParts[f.p], 1, x)
	f.each(func(i int) { f.mul(x[i], x[i], z[i]) })
	f.polynomial(sineWide[f.p], z, n)
	f.each(func(i int) { f.mul(z[i], n[i], n[i]) })
	f.each(func(i int) { f.fma(x[i], n[i], x[i]) })
	f.each(func(i int) { f.shiftLeft(f.bits()-1, t[i], t[i]) })
	f.each(func(i int) { f.xor(t[i], x[i], x[i]) })
}

// quarterTurn puts sin x into s and cos x into x: x = n·π/2 + r, the parity of
// n swaps sine and cosine, its next bit is the sign.
func (f function) quarterTurn(x, t, s, z []reg.VecPhysical) {
	f.nearest(2/math.Pi, x, t, s)
	f.takeTimes(s, piParts[f.p], 0.5, x)
	f.each(func(i int) { f.mul(x[i], x[i], z[i]) })
	f.polynomial(sine[f.p], z, s)
	f.each(func(i int) { f.mul(z[i], s[i], s[i]) })
	// s = x + x·s. x is no longer needed and receives the cosine.
	f.each(func(i int) { f.pick(VFMADD213PD, VFMADD213PS)(x[i], x[i], s[i]) })
	f.polynomial(cosine[f.p], z, x)
	f.horner([]float64{1, -0.5}, z, x)
	f.swapAndSign(x, t, s, z)
}

func (f function) swapAndSign(c, t, s, z []reg.VecPhysical) {
	f.each(func(i int) {
		f.shiftLeft(f.bits()-1, t[i], z[i])
		if f.avx512 {
			odd := K()
			if f.f32 {
				VPMOVD2M(z[i], odd)
			} else {
				VPMOVQ2M(z[i], odd)
			}
			f.move(s[i], z[i])
			f.pick(VBLENDMPD, VBLENDMPS)(c[i], s[i], odd, s[i])
			f.pick(VBLENDMPD, VBLENDMPS)(z[i], c[i], odd, c[i])
			return
		}
		blend := VBLENDVPD
		if f.f32 {
			blend = VBLENDVPS
		}
		blend(z[i], c[i], s[i], f.constant)
		blend(z[i], s[i], c[i], c[i])
		f.move(f.constant, s[i])
	})
	f.each(func(i int) { f.shiftLeft(f.bits()-2, t[i], z[i]) })
	f.turnSigns(z, s)
	f.with(f.word(1), func(one operand.Op, i int) { f.iadd(one, t[i], t[i]) })
	f.each(func(i int) { f.shiftLeft(f.bits()-2, t[i], t[i]) })
	f.turnSigns(t, c)
}

// turnSigns negates v where the first bit of s is set; it may overwrite s.
func (f function) turnSigns(s, v []reg.VecPhysical) {
	f.with(f.word(1<<(f.bits()-1)), func(sign operand.Op, i int) {
		if f.avx512 {
			const xorAnd = 0xf0 ^ 0xcc&0xaa // v xor (s and sign)
			f.pick(VPTERNLOGQ, VPTERNLOGD)(operand.Imm(xorAnd), sign, s[i], v[i])
			return
		}
		f.pick(VANDPD, VANDPS)(sign, s[i], s[i])
		f.xor(s[i], v[i], v[i])
	})
}

// move copies a register.
func (f function) move(a, b operand.Op) { f.pick(VMOVAPD, VMOVAPS)(a, b) }

// iadd adds integers.
func (f function) iadd(a, b, c operand.Op) { f.pick(VPADDQ, VPADDD)(a, b, c) }

// clamp limits x to [−far, far]; NaN is unchanged.
func (f function) clamp(far float64, x []reg.VecPhysical) {
	f.with(f.float(-far), func(c operand.Op, i int) { f.pick(VMAXPD, VMAXPS)(x[i], c, x[i]) })
	f.with(f.float(far), func(c operand.Op, i int) { f.pick(VMINPD, VMINPS)(x[i], c, x[i]) })
}

// power replaces x by exp x: x = n·ln2 + r, exp x = 2ⁿ·exp r.
func (f function) power(x, t, n, p []reg.VecPhysical) {
	far := 800.0 // larger arguments give Inf or 0
	if f.f32 {
		far = 120
	}
	f.clamp(far, x)
	f.nearest(math.Log2E, x, t, n)
	f.takeTimes(n, ln2Parts[f.p], 1, x)
	f.polynomial(exponential[f.p], x, p)
	f.each(func(i int) { f.mul(x[i], x[i], t[i]) })
	f.each(func(i int) { f.fma(t[i], p[i], x[i]) })
	f.with(f.float(1), func(c operand.Op, i int) { f.add(c, x[i], x[i]) })
	if f.avx512 {
		f.each(func(i int) { f.pick(VSCALEFPD, VSCALEFPS)(n[i], x[i], x[i]) })
		return
	}
	// 2ⁿ in two factors, each within the exponent's range, so that only the
	// last product rounds when the result is denormal.
	f.nearest(0.5, n, t, p)
	f.each(func(i int) { f.sub(p[i], n[i], n[i]) })
	f.with(f.float(f.magic()), func(c operand.Op, i int) { f.add(c, n[i], n[i]) })
	mantissa, one := uint64(52), math.Float64bits(1)
	if f.f32 {
		mantissa, one = 23, uint64(math.Float32bits(1))
	}
	for _, factor := range [][]reg.VecPhysical{t, n} {
		f.each(func(i int) { f.shiftLeft(mantissa, factor[i], factor[i]) })
		f.with(f.word(one), func(c operand.Op, i int) { f.iadd(c, factor[i], factor[i]) })
		f.each(func(i int) { f.mul(factor[i], x[i], x[i]) })
	}
}

// softplus replaces x by log(1 + exp x) = max(x, 0) + 2·atanh(u/(2+u)) with u = exp(−|x|); keep is
// a temporary for x.
func (f function) softplus(x, t, n, p, keep []reg.VecPhysical) {
	f.each(func(i int) { f.move(x[i], keep[i]) })
	f.with(f.word(1<<(f.bits()-1)), func(c operand.Op, i int) { f.pick(VORPD, VORPS)(c, x[i], x[i]) })
	f.power(x, t, n, p)
	f.with(f.float(2), func(c operand.Op, i int) { f.add(x[i], c, t[i]) })
	f.each(func(i int) { f.pick(VDIVPD, VDIVPS)(t[i], x[i], x[i]) })
	f.each(func(i int) { f.mul(x[i], x[i], t[i]) })
	f.polynomial(areaTangent[f.p], t, p)
	f.each(func(i int) { f.add(x[i], x[i], x[i]) })
	f.each(func(i int) { f.mul(t[i], p[i], p[i]) })
	f.each(func(i int) { f.fma(x[i], p[i], x[i]) })
	f.with(f.float(0), func(c operand.Op, i int) { f.pick(VMAXPD, VMAXPS)(keep[i], c, t[i]) })
	f.each(func(i int) { f.add(t[i], x[i], x[i]) })
}

// elementary writes the functions on slices and on tiles.
func elementary() {
	for _, t := range targets {
		f := function{table: newTable(t, "elementary"), width: 3, constant: t.vector(15)}
		if t.avx512 {
			f.width, f.constant = 6, t.vector(31)
		}
		if t.f32 {
			f.p = 1
		}
		f.slice("cos", "cosine", true, func(f function) { f.halfTurn(f.bank(0), f.bank(1), f.bank(2), f.bank(3), true) })
		f.slice("sin", "sine", true, func(f function) { f.halfTurn(f.bank(0), f.bank(1), f.bank(2), f.bank(3), false) })
		f.slice("exp", "exponential", false, func(f function) { f.power(f.bank(0), f.bank(1), f.bank(2), f.bank(3)) })
		f.slice("log1pExp", "log(1+exp)", false, func(f function) {
			f.softplus(f.bank(0), f.bank(1), f.bank(2), f.bank(3), f.bank(4))
		})
		f.sinCosSlice()
		f.wave().cosTile()
		f.wave().sinCosTile()
		f.write()
	}
}

// slice writes a function dst[i] = f(x[i]).
func (f function) slice(name, what string, guarded bool, body func(function)) {
	TEXT(f.name(name), NOSPLIT, fmt.Sprintf("func(dst, x *%s, n int) (done int)", f.target.float()))
	Doc(fmt.Sprintf("%s computes dst[i] = %s of x[i] for i < n, n a multiple of %d.", f.name(name), what, f.lanes()))
	if guarded {
		Doc("It stops early, having written done elements, before an argument that is", "too large or not a number.")
	}
	Pragma("noescape")
	dst, x, n := param("dst"), param("x"), param("n")
	f.strips(n, guarded, func(f function, i operand.Op) {
		f.each(func(k int) { f.load(f.item(x, i, k), f.bank(0)[k]) })
	}, body, func(f function, i operand.Op) {
		f.each(func(k int) { f.store(f.bank(0)[k], f.item(dst, i, k)) })
	})
}

// sinCosSlice writes sin[i], cos[i] = sine and cosine of x[i].
func (f function) sinCosSlice() {
	TEXT(f.name("sinCos"), NOSPLIT, fmt.Sprintf("func(sin, cos, x *%s, n int) (done int)", f.target.float()))
	Doc(fmt.Sprintf("%s computes sin[i], cos[i] = sine and cosine of x[i] for i < n, n a multiple of %d.",
		f.name("sinCos"), f.lanes()),
		"It stops early as the others do.")
	Pragma("noescape")
	sin, cos, x, n := param("sin"), param("cos"), param("x"), param("n")
	f.strips(n, true, func(f function, i operand.Op) {
		f.each(func(k int) { f.load(f.item(x, i, k), f.bank(0)[k]) })
	}, func(f function) {
		f.quarterTurn(f.bank(0), f.bank(1), f.bank(2), f.bank(3))
	}, func(f function, i operand.Op) {
		f.each(func(k int) { f.store(f.bank(2)[k], f.item(sin, i, k)) })
		f.each(func(k int) { f.store(f.bank(0)[k], f.item(cos, i, k)) })
	})
}

// item returns the memory operand of vector k at the element index in register i.
func (f function) item(base reg.Register, i operand.Op, k int) operand.Mem {
	return operand.Mem{Base: base, Index: i.(reg.Register), Scale: uint8(f.size()), Disp: k * f.bytes()}
}

// strips runs a body over n elements, several vectors at a time, then one.
func (f function) strips(n reg.GPVirtual, guarded bool, load func(function, operand.Op), body func(function),
	store func(function, operand.Op)) {
	i := GP64()
	XORQ(i, i)
	single := f
	single.width = 1
	for _, g := range []function{f, single} {
		step, name := g.width*g.lanes(), fmt.Sprint("strip", g.width)
		next := GP64()
		Label(name)
		LEAQ(operand.Mem{Base: i, Disp: step}, next)
		CMPQ(next, n)
		JGT(operand.LabelRef(name + "_done"))
		load(g, i)
		if guarded {
			g.guard(g.bank(0), g.bank(1), name+"_done")
		}
		body(g)
		store(g, i)
		MOVQ(next, i)
		JMP(operand.LabelRef(name))
		Label(name + "_done")
	}
	Store(i, ReturnIndex(0))
	done()
}

// places is a permutation table for AVX-512: from, n+from, from+1, n+from+1, … of two registers of
// n elements.
func (f function) places(from int) operand.Mem {
	m := GLOBL(fmt.Sprint(f.name("pairs"), from), 8|16) // RODATA, NOPTR
	for k := range f.lanes() {
		place := uint64(from + k/2 + k%2*f.lanes())
		if f.f32 {
			DATA(4*k, operand.U32(uint32(place)))
		} else {
			DATA(8*k, operand.U64(place))
		}
	}
	return m
}

// interleave sets low to a0 b0 a1 b1 … and high to the following elements.
func (f function) interleave(a, b, low, high reg.VecPhysical) {
	if f.avx512 {
		f.move(a, low)
		f.move(a, high)
		f.pick(VPERMT2PD, VPERMT2PS)(b, f.vector(30), low)
		f.pick(VPERMT2PD, VPERMT2PS)(b, f.vector(31), high)
		return
	}
	// Pairs within 128-bit lanes, then the lanes in order.
	f.pick(VUNPCKLPD, VUNPCKLPS)(b, a, low)
	f.pick(VUNPCKHPD, VUNPCKHPS)(b, a, a)
	VPERM2F128(operand.Imm(0x31), a, low, high)
	VPERM2F128(operand.Imm(0x20), a, low, low)
}

// broadcastParam fills v with an argument.
func (f function) broadcastParam(name string, v operand.Op) {
	arg, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	f.broadcast(arg.Addr, v)
}
