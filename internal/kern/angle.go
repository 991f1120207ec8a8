package kern

import (
	"math"
	"math/bits"
)

// sinCos returns the sine and cosine of x within 1.5 ulp. The argument is reduced here, since
// package math is less accurate away from 0.
func sinCos(x float64) (sin, cos float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.NaN(), math.NaN()
	}
	n, r, tail := reduce(x)
	s, c := math.Sincos(r)
	s, c = s+tail*c, c-tail*s
	switch n & 3 {
	case 1:
		return c, -s
	case 2:
		return -s, -c
	case 3:
		return -c, s
	}
	return s, c
}

// reduce returns n, modulo 4, and r + tail with x = n·π/2 + r + tail and |r| ≤ π/4; tail is the
// rounding error of r.
func reduce(x float64) (n uint64, r, tail float64) {
	const half1, half2, half3 = math.Pi / 2, 6.123233995736766e-17, -1.4973849048591698e-33
	switch {
	case math.Abs(x) <= math.Pi/4:
		return 0, x, 0
	case math.Abs(x) <= 1<<30:
		k := math.RoundToEven(x * (2 / math.Pi))
		r = math.FMA(-k, half1, x) // exact
		r = math.FMA(-k, half2, r)
		return uint64(int64(k)), math.FMA(-k, half3, r), 0
	}
	n, f, low := twoOverPiMultiple(math.Abs(x))
	r = f * half1
	tail = math.FMA(f, half1, -r) + f*half2 + low*half1
	if x < 0 {
		return -n, -r, -tail
	}
	return n, r, tail
}

// twoOverPiMultiple returns x·2/π for x > 2³⁰ as n, modulo 4, plus f + low in [−½, ½], by the reduction of
// Payne and Hanek (SIGNUM 18, 1983), which multiplies only the relevant bits of 2/π.
func twoOverPiMultiple(x float64) (n uint64, f, low float64) {
	u := math.Float64bits(x)
	m, e := u&(1<<52-1)|1<<52, int(u>>52)-1075 // x = m·2ᵉ
	skip := max(e-2, 0)                        // bits of 2/π that contribute multiples of 4
	down := uint(2 - e + skip)                 // shift of m·w below the lowest two bits of n
	var w [3]uint64
	for i := range w {
		k, s := skip/64+i, uint(skip%64)
		w[i] = twoOverPi[k]<<s | twoOverPi[k+1]>>(64-s)
	}
	// m·w, 256 bits.
	p2, p3 := bits.Mul64(m, w[2])
	h1, l1 := bits.Mul64(m, w[1])
	h0, l0 := bits.Mul64(m, w[0])
	p2, carry := bits.Add64(p2, l1, 0)
	p1, carry := bits.Add64(h1, l0, carry)
	p0 := h0 + carry
	// Two bits of n, then the fraction.
	a, b, c := p0<<(64-down)|p1>>down, p1<<(64-down)|p2>>down, p2<<(64-down)|p3>>down
	n = a >> 62
	a, b = a<<2|b>>62, b<<2|c>>62
	sign := 1.0
	if a>>63 == 1 { // ½ or more: from above
		n, sign = n+1, -1
		var borrow uint64
		b, borrow = bits.Sub64(0, b, 0)
		a, _ = bits.Sub64(0, a, borrow)
	}
	zeros := uint(bits.LeadingZeros64(a))
	a = a<<zeros | b>>(64-zeros)
	scale := math.Ldexp(sign, -64-int(zeros))
	return n, float64(a&^0x7ff) * scale, float64(a&0x7ff) * scale
}

// twoOverPi is the first 1280 bits of 2/π.
var twoOverPi = [20]uint64{
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
}
