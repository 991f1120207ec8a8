package kern

import "math"

// The functions of this file run in the calling goroutine; use Parallel for long slices. The result
// of an element does not depend on its position or its neighbors.

// Cos computes dst[i] = cos(x[i]). dst may be x itself. The error is at most
// 2.5 ulp for every finite x, large ones included; cos of NaN and ±Inf is NaN.
func Cos[T Float](dst, x []T) { apply(cosine, dst, x) }

// Sin computes dst[i] = sin(x[i]). dst may be x itself. The error is at most
// 2.5 ulp for every finite x, large ones included; sin of NaN and ±Inf is NaN,
// sin of −0 is 0 of either sign.
func Sin[T Float](dst, x []T) { apply(sine, dst, x) }

// Exp computes dst[i] = exp(x[i]). dst may be x itself. The error is at most
// 2 ulp; results beyond the range overflow to +Inf or underflow to 0 (through
// the denormals), exp(−Inf) = 0, exp(NaN) = NaN.
func Exp[T Float](dst, x []T) { apply(exponential, dst, x) }

// Log1pExp computes dst[i] = log(1 + exp(x[i])), the logistic loss of margin
// −x[i], without overflow: it is max(x,0) + log1p(exp(−|x|)). dst may be x
// itself. The error is at most 4 ulp.
func Log1pExp[T Float](dst, x []T) { apply(softplus, dst, x) }

// SinCos computes sin[i], cos[i] of x[i] within 2.5 ulp, large arguments
// included. One of sin and cos may be x itself.
func SinCos[T Float](sin, cos, x []T) {
	if len(sin) != len(x) || len(cos) != len(x) {
		panic("kern: destination and argument differ in length")
	}
	if isa == portable {
		sinCosPortable(sin, cos, x)
		return
	}
	lanes := lanesOf[T]()
	for len(x) >= lanes {
		n := min(len(x), maxAsmElements) / lanes * lanes
		done := sinCosAsm(&sin[0], &cos[0], &x[0], n)
		if done < n {
			sinCosPadded(sin[done:done+lanes], cos[done:done+lanes], x[done:done+lanes])
			done += lanes
		}
		sin, cos, x = sin[done:], cos[done:], x[done:]
	}
	sinCosPadded(sin, cos, x)
}

// sinCosPadded processes up to one vector of elements, some possibly outside the range of the
// assembly.
func sinCosPadded[T Float](sin, cos, x []T) {
	var in, keep, s, c [maxLanes]T
	copy(keep[:], x)
	for i, v := range x {
		if inRange(v) {
			in[i] = v
		}
	}
	sinCosAsm(&s[0], &c[0], &in[0], lanesOf[T]())
	copy(sin, s[:])
	copy(cos, c[:])
	for i := range x {
		if v := keep[i]; !inRange(v) {
			sinCosPortable(sin[i:i+1], cos[i:i+1], keep[i:i+1])
		}
	}
}

func sinCosPortable[T Float](sin, cos, x []T) {
	for i, v := range x {
		s, c := sinCos(float64(v))
		sin[i], cos[i] = T(s), T(c)
	}
}

// function names an elementary function of one argument.
type function int

const (
	cosine function = iota
	sine
	exponential
	softplus
)

// maxAsmElements bounds the elements per assembly call, which the scheduler cannot preempt.
const maxAsmElements = 1 << 14

// maxLanes is the number of elements of the longest vector register.
const maxLanes = 16

func lanesOf[T Float]() int {
	lanes := 4
	switch isa {
	case neon:
		lanes = 2
	case avx512:
		lanes = 8
	}
	if !is64[T]() {
		lanes *= 2
	}
	return lanes
}

// inRange reports whether the assembly handles sine and cosine of x.
func inRange[T Float](x T) bool {
	limit := T(1 << 20)
	if is64[T]() {
		limit = 1 << 30
	}
	return x >= -limit && x <= limit
}

// apply computes dst[i] = f(x[i]).
func apply[T Float](f function, dst, x []T) {
	if len(dst) != len(x) {
		panic("kern: destination and argument differ in length")
	}
	if isa == portable {
		applyPortable(f, dst, x)
		return
	}
	lanes := lanesOf[T]()
	for len(x) >= lanes {
		n := min(len(x), maxAsmElements) / lanes * lanes
		done := elementaryAsm(f, &dst[0], &x[0], n)
		if done < n {
			applyPadded(f, dst[done:done+lanes], x[done:done+lanes])
			done += lanes
		}
		dst, x = dst[done:], x[done:]
	}
	applyPadded(f, dst, x)
}

// applyPadded is apply for up to one vector of elements, some possibly outside the range of the
// assembly.
func applyPadded[T Float](f function, dst, x []T) {
	if len(x) == 0 {
		return
	}
	periodic := f == cosine || f == sine
	var in, out [maxLanes]T
	for i, v := range x {
		if !periodic || inRange(v) {
			in[i] = v
		}
	}
	elementaryAsm(f, &out[0], &in[0], lanesOf[T]())
	for i, v := range x {
		dst[i] = out[i]
		if periodic && !inRange(v) {
			applyPortable(f, dst[i:i+1], []T{v})
		}
	}
}

// applyPortable computes in float64 and rounds.
func applyPortable[T Float](f function, dst, x []T) {
	switch f {
	case cosine:
		for i, v := range x {
			_, c := sinCos(float64(v))
			dst[i] = T(c)
		}
	case sine:
		for i, v := range x {
			s, _ := sinCos(float64(v))
			dst[i] = T(s)
		}
	case exponential:
		for i, v := range x {
			dst[i] = T(exp(float64(v)))
		}
	case softplus:
		for i, v := range x {
			w := float64(v)
			dst[i] = T(max(w, 0) + math.Log1p(math.Exp(-math.Abs(w))))
		}
	}
}

// exp is math.Exp, except that math.Exp in Go 1.26 overflows from 709.44 on, below the true limit.
func exp(x float64) float64 {
	const bound = 709
	if x > bound && x < 710 {
		return math.Exp(x-bound) * 8.218407461554972e+307
	}
	return math.Exp(x)
}
