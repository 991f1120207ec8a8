package kern

import "math"

// Cos computes dst[i] = cos(x[i]). dst may be x itself. The error is at most
// 2 ulp for every finite x, large ones included; cos of NaN and ±Inf is NaN.
//
// The functions of this file run in the calling goroutine; cut long slices
// with Parallel.
func Cos[T Float](dst, x []T) {
	checkPair(dst, x)
	for i, v := range x {
		dst[i] = T(math.Cos(float64(v)))
	}
}

// Sin computes dst[i] = sin(x[i]). dst may be x itself. The error is at most
// 2 ulp for every finite x, large ones included; sin of NaN and ±Inf is NaN.
func Sin[T Float](dst, x []T) {
	checkPair(dst, x)
	for i, v := range x {
		dst[i] = T(math.Sin(float64(v)))
	}
}

// SinCos computes sin[i], cos[i] of x[i], as Sin and Cos do. One of sin and
// cos may be x itself.
func SinCos[T Float](sin, cos, x []T) {
	checkPair(sin, x)
	checkPair(cos, x)
	for i, v := range x {
		s, c := math.Sincos(float64(v))
		sin[i], cos[i] = T(s), T(c)
	}
}

// Exp computes dst[i] = exp(x[i]). dst may be x itself. The error is at most
// 2 ulp; results beyond the range overflow to +Inf or underflow to 0 (through
// the denormals), exp(−Inf) = 0, exp(NaN) = NaN.
func Exp[T Float](dst, x []T) {
	checkPair(dst, x)
	for i, v := range x {
		dst[i] = T(math.Exp(float64(v)))
	}
}

// Log1pExp computes dst[i] = log(1 + exp(x[i])), the logistic loss of margin
// −x[i], without overflow: it is max(x,0) + log1p(exp(−|x|)). dst may be x
// itself. The error is at most 4 ulp.
func Log1pExp[T Float](dst, x []T) {
	checkPair(dst, x)
	for i, v := range x {
		f := float64(v)
		dst[i] = T(math.Max(f, 0) + math.Log1p(math.Exp(-math.Abs(f))))
	}
}

func checkPair[T Float](dst, x []T) {
	if len(dst) != len(x) {
		panic("kern: destination and argument differ in length")
	}
}
