package kern

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// The references below are Taylor series in 400-bit arithmetic; arguments of
// sine and cosine are reduced with 1400 bits of π, enough for every float64.

const precision = 400

func newBig() *big.Float { return new(big.Float).SetPrec(precision) }

// bigPi is π by Machin's formula.
var bigPi = func() *big.Float {
	const prec = 1500
	arctanInverse := func(n int64) *big.Float {
		x := new(big.Float).SetPrec(prec).Quo(big.NewFloat(1).SetPrec(prec), new(big.Float).SetInt64(n))
		square := new(big.Float).SetPrec(prec).Mul(x, x)
		sum := new(big.Float).SetPrec(prec).Set(x)
		for k := int64(3); x.MantExp(nil) > -prec; k += 2 {
			x.Mul(x, square).Neg(x)
			sum.Add(sum, new(big.Float).SetPrec(prec).Quo(x, new(big.Float).SetInt64(k)))
		}
		return sum
	}
	pi := arctanInverse(5)
	pi.Mul(pi, big.NewFloat(4))
	pi.Sub(pi, arctanInverse(239))
	return pi.Mul(pi, big.NewFloat(4))
}()

// bigSinCos returns the sine and cosine of a finite x.
func bigSinCos(x float64) (sin, cos *big.Float) {
	const prec = 1500
	v := new(big.Float).SetPrec(prec).SetFloat64(x)
	halfPi := new(big.Float).SetPrec(prec).Quo(bigPi, big.NewFloat(2))
	q := new(big.Float).SetPrec(prec).Quo(v, halfPi)
	if q.Sign() < 0 {
		q.Sub(q, big.NewFloat(0.5))
	} else {
		q.Add(q, big.NewFloat(0.5))
	}
	n, _ := q.Int(nil)
	r := new(big.Float).SetPrec(prec).Mul(new(big.Float).SetPrec(prec).SetInt(n), halfPi)
	r.Sub(v, r)
	r.SetPrec(precision)
	s, c := newBig(), newBig()
	term := newBig().SetInt64(1)
	for k := int64(1); term.Sign() != 0 && term.MantExp(nil) > -precision; k++ {
		if k%2 == 1 {
			c.Add(c, term)
		} else {
			s.Add(s, term)
		}
		term.Mul(term, r).Quo(term, newBig().SetInt64(k))
		if k%2 == 0 {
			term.Neg(term)
		}
	}
	switch new(big.Int).And(n, big.NewInt(3)).Int64() {
	case 1:
		s, c = c, s.Neg(s)
	case 2:
		s, c = s.Neg(s), c.Neg(c)
	case 3:
		s, c = c.Neg(c), s
	}
	return s, c
}

// bigExp returns exp x for |x| < 10⁴.
func bigExp(x float64) *big.Float {
	const halvings = 40
	r := newBig().SetFloat64(x)
	r.SetMantExp(r, -halvings)
	sum, term := newBig(), newBig().SetInt64(1)
	for k := int64(1); term.Sign() != 0 && term.MantExp(nil) > -precision-20; k++ {
		sum.Add(sum, term)
		term.Mul(term, r).Quo(term, newBig().SetInt64(k))
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigSoftplus returns log(1 + exp x), by Newton's iteration on exp.
func bigSoftplus(x float64) *big.Float {
	u := bigExp(-math.Abs(x))
	target := newBig().Add(u, newBig().SetInt64(1))
	f, _ := u.Float64()
	y := newBig().SetFloat64(math.Log1p(f))
	if f < 1e-30 {
		y.Set(u) // log(1+u) = u within u²/2
	} else {
		for range 3 { // y += 2(t − e^y)/(t + e^y)
			v, _ := y.Float64()
			rest := newBig().Sub(y, newBig().SetFloat64(v))
			e := bigExp(v)
			e.Mul(e, bigExpSmall(rest))
			step := newBig().Quo(newBig().Sub(target, e), newBig().Add(target, e))
			y.Add(y, step.Mul(step, newBig().SetInt64(2)))
		}
	}
	if x > 0 {
		y.Add(y, newBig().SetFloat64(x))
	}
	return y
}

func bigExpSmall(r *big.Float) *big.Float {
	sum, term := newBig(), newBig().SetInt64(1)
	for k := int64(1); term.Sign() != 0 && term.MantExp(nil) > -precision; k++ {
		sum.Add(sum, term)
		term.Mul(term, r).Quo(term, newBig().SetInt64(k))
	}
	return sum
}

// ulps returns |got − want| in units of the last place of want in T.
func ulps[T Float](got T, want *big.Float) float64 {
	bits, least := 53, -1074
	if !is64[T]() {
		bits, least = 24, -149
	}
	e := least
	if want.Sign() != 0 {
		e = max(want.MantExp(nil)-bits, least)
	}
	d := newBig().SetFloat64(float64(got))
	d.Sub(d, want)
	d.SetMantExp(d, -e)
	f, _ := d.Float64()
	return math.Abs(f)
}

// hardAngles returns arguments near multiples of π/2, small, large and huge ones, and the bounds of
// the fast ranges.
func hardAngles[T Float](r *rand.Rand, n int) []T {
	x := []T{0, 1, -1, 0x1p-30, 1 << 20, 1<<20 + 1, 1 << 30, -(1 << 30), 1<<30 + 1024, 1e22, 3e38,
		T(math.Pi), T(math.Pi / 2), T(-math.Pi / 4)}
	if is64[T]() {
		for _, v := range []float64{math.Ldexp(6381956970095103, 797), math.MaxFloat64, math.SmallestNonzeroFloat64} {
			x = append(x, T(v))
		}
	} else {
		x = append(x, math.MaxFloat32, math.SmallestNonzeroFloat32)
	}
	for range n {
		scale := math.Exp2(40*r.Float64() - 10)
		x = append(x, T(scale*r.NormFloat64()), T(10*r.NormFloat64()))
		k := math.Round(scale * r.NormFloat64())
		v := T(k * math.Pi / 2)
		x = append(x, v, T(math.Nextafter(float64(v), 0)))
	}
	return x
}

func testTrigonometry[T Float](t *testing.T) {
	x := hardAngles[T](newRand(1), 500)
	sin, cos, s2, c2 := make([]T, len(x)), make([]T, len(x)), make([]T, len(x)), make([]T, len(x))
	Sin(sin, x)
	Cos(cos, x)
	SinCos(s2, c2, x)
	var worst [4]float64
	for i, v := range x {
		s, c := bigSinCos(float64(v))
		for k, e := range []float64{ulps(sin[i], s), ulps(cos[i], c), ulps(s2[i], s), ulps(c2[i], c)} {
			worst[k] = max(worst[k], e)
			if e > 2.5 {
				t.Fatalf("%s of %v: %v ulp off", []string{"Sin", "Cos", "sine", "cosine"}[k], v, e)
			}
		}
	}
	t.Logf("worst ulp: Sin %.2f, Cos %.2f, SinCos %.2f and %.2f", worst[0], worst[1], worst[2], worst[3])
}

func TestTrigonometryAgainstBig(t *testing.T) {
	each(t, testTrigonometry[float64], testTrigonometry[float32])
}

func testExponentials[T Float](t *testing.T) {
	r := newRand(2)
	low, high := -746.0, 709.7
	if !is64[T]() {
		low, high = -104, 88.7
	}
	x := []T{0, 1, -1, 0x1p-60, -0x1p-30, T(low), T(high), T(math.Ln2 / 2), T(-math.Ln2 / 2)}
	for range 800 {
		x = append(x, T(low+(high-low)*r.Float64()), T(r.NormFloat64()), T(r.NormFloat64()*0x1p-20))
	}
	exp, soft := make([]T, len(x)), make([]T, len(x))
	Exp(exp, x)
	Log1pExp(soft, x)
	var worst [2]float64
	for i, v := range x {
		e, s := ulps(exp[i], bigExp(float64(v))), ulps(soft[i], bigSoftplus(float64(v)))
		worst = [2]float64{max(worst[0], e), max(worst[1], s)}
		if e > 2 || s > 4 {
			t.Fatalf("x = %v: Exp %v ulp off, Log1pExp %v", v, e, s)
		}
	}
	t.Logf("worst ulp: Exp %.2f, Log1pExp %.2f", worst[0], worst[1])
}

func TestExponentialsAgainstBig(t *testing.T) {
	each(t, testExponentials[float64], testExponentials[float32])
}

// testEndsOfRange checks the exponential near the largest finite result and through the denormals
// to 0. There math.Exp is no reference: in Go 1.26 it returns +Inf from 709.44 on.
func testEndsOfRange[T Float](t *testing.T) {
	ends := []float64{709.43, 709.44, 709.5, 709.71, 709.78, 709.782712893384, // the last that is finite
		-700, -707.9, -708, -708.3, -708.39, -708.3964185322641, -708.4, -709, -720, -740, -744.44, -745, -745.133219101941}
	beyond := map[float64]float64{709.7827128933841: math.Inf(1), 709.79: math.Inf(1), 710: math.Inf(1),
		1e300: math.Inf(1), -745.14: 0, -746: 0, -1e300: 0}
	if !is64[T]() {
		ends = []float64{88, 88.7, 88.72, 88.7228, 88.72283, -87, -87.33, -87.34, -88, -95, -100, -103, -103.97}
		beyond = map[float64]float64{88.72284: math.Inf(1), 88.73: math.Inf(1), 89: math.Inf(1), 1e38: math.Inf(1),
			-103.98: 0, -104: 0, -1e38: 0}
	}
	for _, length := range []int{1, 2, 16, 19} { // tails, and vectors
		x, y, soft := make([]T, length), make([]T, length), make([]T, length)
		fill := func(v float64) {
			for i := range x {
				x[i] = T(v)
			}
			Exp(y, x)
			Log1pExp(soft, x)
		}
		for _, v := range ends {
			fill(v)
			for i := range x {
				if e, s := ulps(y[i], bigExp(float64(x[i]))), ulps(soft[i], bigSoftplus(float64(x[i]))); !(e <= 2 && s <= 4) {
					t.Errorf("x = %v: Exp %v, %.2g ulp off, Log1pExp %v, %.2g", x[i], y[i], e, soft[i], s)
				}
			}
		}
		for v, want := range beyond {
			fill(v)
			for i := range x {
				if float64(y[i]) != want || soft[i] != max(x[i], 0) {
					t.Errorf("x = %v: Exp %v, want %v, Log1pExp %v", x[i], y[i], want, soft[i])
				}
			}
		}
	}
}

func TestExponentialsAtTheEndsOfRange(t *testing.T) {
	each(t, testEndsOfRange[float64], testEndsOfRange[float32])
}

// nearestExp returns exp x as a float64.
func nearestExp(x float64) float64 {
	if !(math.Abs(x) < 1000) {
		return math.Exp(x) // 0, +Inf or NaN
	}
	f, _ := bigExp(x).Float64()
	return f
}

func testSpecialArguments[T Float](t *testing.T) {
	nan, inf := T(math.NaN()), T(math.Inf(1))
	x := []T{nan, inf, -inf, 0, 1000, -1000}
	want := map[string][]T{
		"Sin":      {nan, nan, nan, 0, T(math.Sin(1000)), T(math.Sin(-1000))},
		"Cos":      {nan, nan, nan, 1, T(math.Cos(1000)), T(math.Cos(1000))},
		"Exp":      {nan, inf, 0, 1, inf, 0},
		"Log1pExp": {nan, inf, 0, T(math.Ln2), 1000, 0},
	}
	for name, f := range map[string]func(dst, x []T){
		"Sin": Sin[T], "Cos": Cos[T], "Exp": Exp[T], "Log1pExp": Log1pExp[T],
	} {
		for pad := range 40 { // every place within a vector, and tails
			in := append(make([]T, pad), x...)
			out := make([]T, len(in))
			f(out, in)
			f(in, in)
			for i, w := range want[name] {
				got := out[pad+i]
				if !(got == w || got != got && w != w || math.Abs(float64(got-w)) <= eps[T]()) {
					t.Fatalf("%s(%v) = %v, want %v", name, x[i], got, w)
				}
			}
			sameBits(t, name+" in place", in, out)
		}
	}
}

func TestSpecialArguments(t *testing.T) {
	each(t, testSpecialArguments[float64], testSpecialArguments[float32])
}

// testPlace checks that a result depends only on its argument, not on its position.
func testPlace[T Float](t *testing.T) {
	x := hardAngles[T](newRand(3), 30)
	x = append(x, T(math.NaN()), T(math.Inf(-1)), 5, 6, 7)
	for name, f := range map[string]func(dst, x []T){
		"Sin": Sin[T], "Cos": Cos[T], "Exp": Exp[T], "Log1pExp": Log1pExp[T],
		"SinCos": func(dst, x []T) { SinCos(dst, make([]T, len(x)), x) },
	} {
		all := make([]T, len(x))
		f(all, x)
		for i := range x {
			one := make([]T, 1)
			f(one, x[i:i+1])
			sameBits(t, fmt.Sprintf("%s(%v)", name, x[i]), one, all[i:i+1])
		}
		half := make([]T, len(x)-5)
		f(half, x[5:])
		sameBits(t, name+" shifted", half, all[5:])
	}
}

func TestResultsDoNotDependOnPlace(t *testing.T) { each(t, testPlace[float64], testPlace[float32]) }

func testMapsOutOfRange[T Float](t *testing.T) {
	huge := []T{1e7, -3e8, 2e9, 1e15, T(math.NaN()), T(math.Inf(1)), 1, 0.5}
	for _, rows := range []int{1, 3, 50} {
		for _, m := range []int{5, 130} {
			x, w := Dense(rows, 1, 1, make([]T, rows)), Dense(1, m, m, make([]T, m))
			for i := range x.Data {
				x.Data[i] = huge[i%len(huge)]
			}
			for j := range w.Data {
				w.Data[j] = T(1 + j)
			}
			b := slices.Clone(w.Data)
			phase, paired := Dense(rows, m, m, make([]T, rows*m)), Dense(rows, 2*m, 2*m, make([]T, 2*rows*m))
			CosMap(phase, x, w, b, 1)
			SinCosMap(paired, x, w, 1)
			for i := range rows {
				for j := range m {
					angle := T(x.At(i, 0) * w.At(0, j)) // rounded, never fused with the sum
					shifted := angle + b[j]
					same(t, phase.At(i, j), math.Cos(float64(shifted)))
					same(t, paired.At(i, 2*j), math.Cos(float64(angle)))
					same(t, paired.At(i, 2*j+1), math.Sin(float64(angle)))
				}
			}
		}
	}
}

// same wants a value to rounding, NaN for NaN.
func same[T Float](t *testing.T, got T, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= eps[T]() || got != got && want != want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestFourierMapsOfHugeAngles(t *testing.T) {
	each(t, testMapsOutOfRange[float64], testMapsOutOfRange[float32])
}

func FuzzElementary(f *testing.F) {
	f.Add(1.0, -2.0)
	f.Add(math.Inf(1), 1e300)
	f.Add(745.2, 1048577.0)
	f.Add(709.71, -745.13)
	f.Add(709.782712893384, -708.4)
	f.Fuzz(func(t *testing.T, x, y float64) {
		in := []float64{x, y, x, y, x, y, x, y, x}
		out := make([]float64, len(in))
		for name, g := range map[string]struct {
			fast  func(dst, x []float64)
			exact func(float64) float64
			ulp   float64
		}{
			"Cos": {Cos[float64], math.Cos, 3}, "Sin": {Sin[float64], math.Sin, 3}, "Exp": {Exp[float64], nearestExp, 3},
		} {
			g.fast(out, in)
			for i, v := range in {
				want := g.exact(v)
				off := math.Abs(out[i] - want)
				ulp := math.Abs(math.Nextafter(want, math.Inf(1)) - want)
				if !(off <= g.ulp*ulp || off <= 4e-16 && name != "Exp" || out[i] == want || out[i] != out[i] && want != want) {
					t.Errorf("%s(%v) = %v, want %v", name, v, out[i], want)
				}
			}
		}
	})
}
