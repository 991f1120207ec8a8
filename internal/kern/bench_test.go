package kern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/runtime/cputime"
)

// peakGFLOPS measures the peak throughput of one core by a loop of multiply-adds, as the maximum of
// several runs.
func peakGFLOPS[T Float]() float64 {
	if !isa.complete() {
		return 0
	}
	best := 0.0
	for range 20 {
		start := cputime.Time()
		flops := peakFlops[T](1 << 20)
		best = max(best, flops/float64((cputime.Time()-start).Nanoseconds()))
	}
	return best
}

// flopRate runs f b.N times and reports GFLOP/s by the clock and, by
// processor time, the share of the peak of a core.
func flopRate[T Float](b *testing.B, flops float64, f func()) {
	f() // warm up
	peak := peakGFLOPS[T]()
	b.ResetTimer()
	start := cputime.Time()
	for range b.N {
		f()
	}
	reportRate(b, flops*float64(b.N), peak, b.Elapsed(), cputime.Time()-start)
}

// flopRateAfter is flopRate of f after prepare, which does not count.
func flopRateAfter[T Float](b *testing.B, flops float64, prepare, f func()) {
	prepare()
	f() // warm up
	peak := peakGFLOPS[T]()
	b.ResetTimer()
	var elapsed, busy time.Duration
	for range b.N {
		prepare()
		began, start := time.Now(), cputime.Time()
		f()
		busy += cputime.Time() - start
		elapsed += time.Since(began)
	}
	reportRate(b, flops*float64(b.N), peak, elapsed, busy)
}

func reportRate(b *testing.B, flops, peak float64, elapsed, busy time.Duration) {
	b.ReportMetric(flops/float64(elapsed.Nanoseconds()), "GFLOP/s")
	b.ReportMetric(float64(busy)/float64(elapsed), "cores")
	if peak > 0 {
		b.ReportMetric(100*flops/float64(busy.Nanoseconds())/peak, "%peak/core")
	}
}

func BenchmarkPeak(b *testing.B) {
	b.Run("f64", func(b *testing.B) { b.ReportMetric(peakGFLOPS[float64](), "GFLOP/s") })
	b.Run("f32", func(b *testing.B) { b.ReportMetric(peakGFLOPS[float32](), "GFLOP/s") })
}

func benchmarkMul[T Float](b *testing.B) {
	for _, s := range [][3]int{{4096, 54, 1024}, {8192, 123, 2048}, {2048, 2048, 2048}, {64, 64, 64}, {16, 16, 16}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), func(b *testing.B) {
			r := newRand(1)
			x, w, c := benchView[T](r, s[0], s[1]), benchView[T](r, s[1], s[2]), benchView[T](r, s[0], s[2])
			flopRate[T](b, 2*float64(s[0])*float64(s[1])*float64(s[2]), func() { Mul(c, x, w, false) })
		})
	}
}

func BenchmarkMul(b *testing.B) {
	b.Run("f64", benchmarkMul[float64])
	b.Run("f32", benchmarkMul[float32])
}

func BenchmarkGram(b *testing.B) {
	const n, d = 8192, 2048
	z64, z32 := benchView[float64](newRand(1), n, d), benchView[float32](newRand(1), n, d)
	c64, c32 := benchView[float64](newRand(1), d, d), benchView[float32](newRand(1), d, d)
	b.Run("f64", func(b *testing.B) {
		flopRate[float64](b, n*d*d, func() { Gram(forever, c64, z64, nil) })
	})
	b.Run("f32", func(b *testing.B) {
		flopRate[float32](b, n*d*d, func() { Gram(forever, c32, z32, nil) })
	})
	b.Run("mixed", func(b *testing.B) {
		flopRate[float32](b, n*d*d, func() { GramMixed(forever, c64, z32, nil) })
	})
}

// benchView returns a dense matrix of normal numbers at an aligned address.
func benchView[T Float](r *rand.Rand, rows, cols int) View[T] {
	v := Dense(rows, cols, cols, make([]T, rows*cols))
	for i := range v.Data {
		v.Data[i] = T(r.NormFloat64())
	}
	return v
}

func benchmarkElementary[T Float](b *testing.B) {
	x, dst, other := make([]T, 1<<16), make([]T, 1<<16), make([]T, 1<<16)
	r := newRand(1)
	for i := range x {
		x[i] = T(10 * r.NormFloat64())
	}
	for name, f := range map[string]func(lo, hi int){
		"cos":      func(lo, hi int) { Cos(dst[lo:hi], x[lo:hi]) },
		"sin":      func(lo, hi int) { Sin(dst[lo:hi], x[lo:hi]) },
		"sincos":   func(lo, hi int) { SinCos(dst[lo:hi], other[lo:hi], x[lo:hi]) },
		"exp":      func(lo, hi int) { Exp(dst[lo:hi], x[lo:hi]) },
		"log1pexp": func(lo, hi int) { Log1pExp(dst[lo:hi], x[lo:hi]) },
	} {
		b.Run(name, func(b *testing.B) {
			start := cputime.Time()
			for range b.N {
				Parallel(len(x), 1<<13, f)
			}
			n := float64(len(x)) * float64(b.N)
			b.ReportMetric(n/float64(b.Elapsed().Nanoseconds()), "G/s")
			b.ReportMetric(float64((cputime.Time()-start).Nanoseconds())/n, "cpu-ns/elem")
		})
	}
}

func BenchmarkElementary(b *testing.B) {
	b.Run("f64", benchmarkElementary[float64])
	b.Run("f32", benchmarkElementary[float32])
}

func benchmarkMap[T Float](b *testing.B) {
	for _, n := range []int{1, 16, 1024} {
		const d, m = 54, 1024
		r := newRand(1)
		x, w, paired, phase := benchView[T](r, n, d), benchView[T](r, d, m), benchView[T](r, n, 2*m), benchView[T](r, n, m)
		phases := make([]T, m)
		b.Run(fmt.Sprintf("paired/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			flopRate[T](b, 2*float64(n)*d*m, func() { SinCosMap(paired, x, w, 0.1) })
		})
		b.Run(fmt.Sprintf("phase/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			flopRate[T](b, 2*float64(n)*d*m, func() { CosMap(phase, x, w, phases, 0.1) })
		})
	}
}

func BenchmarkFourierMap(b *testing.B) {
	b.Run("f64", benchmarkMap[float64])
	b.Run("f32", benchmarkMap[float32])
}

func benchmarkCholesky[T Float](b *testing.B) {
	for _, n := range []int{64, 256, 1000, 2048} {
		z, a, l := benchView[T](newRand(1), n+10, n), benchView[T](newRand(1), n, n), benchView[T](newRand(1), n, n)
		zero(a)
		Gram(forever, a, z, nil)
		for i := range n {
			a.Set(i, i, a.At(i, i)+1)
		}
		b.Run(fmt.Sprintf("factor/n=%d", n), func(b *testing.B) {
			flopRateAfter[T](b, float64(n)*float64(n)*float64(n)/3, func() { copy(l.Data, a.Data) }, func() {
				if _, ok, _ := Cholesky(forever, l); !ok {
					b.Fatal("not positive definite")
				}
			})
		})
		for _, k := range []int{1, 4, 10, 100} {
			x := benchView[T](newRand(2), n, k)
			b.Run(fmt.Sprintf("solve/n=%d/k=%d", n, k), func(b *testing.B) {
				flopRate[T](b, 2*float64(n)*float64(n)*float64(k), func() { SolveCholesky(forever, l, x); Scale(T(n), x.Data) })
			})
		}
	}
}

func BenchmarkCholesky(b *testing.B) {
	b.Run("f64", benchmarkCholesky[float64])
	b.Run("f32", benchmarkCholesky[float32])
}

func benchmarkVectors[T Float](b *testing.B) {
	const n, d = 8192, 2048
	a, x, y := benchView[T](newRand(1), n, d), benchView[T](newRand(2), 1, d).Data, benchView[T](newRand(3), 1, n).Data
	b.Run("MulVec", func(b *testing.B) { flopRate[T](b, 2*n*d, func() { MulVec(y, a, x, false) }) })
	b.Run("MulVecT", func(b *testing.B) { flopRate[T](b, 2*n*d, func() { MulVecT(x, a, y, false) }) })
	b.Run("Dot2048", func(b *testing.B) { flopRate[T](b, 2*d, func() { y[0] += Dot(x, a.Row(0)) }) })
	b.Run("Axpy2048", func(b *testing.B) { flopRate[T](b, 2*d, func() { Axpy(1e-3, a.Row(0), x) }) })
}

func BenchmarkVectors(b *testing.B) {
	b.Run("f64", benchmarkVectors[float64])
	b.Run("f32", benchmarkVectors[float32])
}

// perElement runs f and reports nanoseconds of processor time per element.
func perElement(b *testing.B, n int, f func()) {
	f()
	b.ResetTimer()
	start := cputime.Time()
	for range b.N {
		f()
	}
	b.ReportMetric(float64((cputime.Time()-start).Nanoseconds())/float64(n)/float64(b.N), "cpu-ns/elem")
}

func benchmarkFWHT[T Float](b *testing.B) {
	for _, n := range []int{64, 1024, 8192} {
		x := benchView[T](newRand(1), 16, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			perElement(b, 16*n, func() { FWHT(x); Scale(1/T(math.Sqrt(float64(n))), x.Data) })
		})
	}
}

func BenchmarkFWHT(b *testing.B) {
	b.Run("f64", benchmarkFWHT[float64])
	b.Run("f32", benchmarkFWHT[float32])
}

// BenchmarkSparse multiplies index-only rows, as random binning makes them:
// 20,000 rows of 100 entries over 50,000 columns.
func BenchmarkSparse(b *testing.B) {
	const rows, each, cols = 20000, 100, 50000
	r := newRand(1)
	a := Sparse[float64]{Rows: rows, Cols: cols, Indptr: make([]int, rows+1), Indices: make([]uint32, rows*each),
		Scale: 0.1}
	for i := range rows {
		a.Indptr[i+1] = (i + 1) * each
		for p := range each { // each grid has its own columns, some of them crowded
			u := r.Float64()
			a.Indices[i*each+p] = uint32(p*cols/each + int(u*u*cols/each))
		}
	}
	x, y := benchView[float64](r, cols, 1).Data, make([]float64, rows)
	b.Run("MulVec", func(b *testing.B) { perElement(b, rows*each, func() { SparseMulVec(y, a, x, false) }) })
	b.Run("MulVecT", func(b *testing.B) { perElement(b, rows*each, func() { SparseMulVecT(x, a, y, false) }) })
	for _, k := range []int{2, 4, 8} {
		few, out := benchView[float64](r, cols, k), benchView[float64](r, rows, k)
		b.Run(fmt.Sprintf("Mul%d", k), func(b *testing.B) {
			perElement(b, rows*each, func() { SparseMul(out, a, few, false) })
		})
		b.Run(fmt.Sprintf("MulT%d", k), func(b *testing.B) {
			perElement(b, rows*each, func() { SparseMulT(few, a, out, false) })
		})
	}
}

// BenchmarkEigen is the decomposition of a matrix with all of its vectors.
func BenchmarkEigen(b *testing.B) {
	for _, n := range []int{500, 2000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			a := gramOf(newRand(3), n, n, 1)
			for b.Loop() {
				e, err := NewEigen(forever, clone(a), true)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := e.Vectors(forever, 0, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMulRows computes a product that is not stored, as for the slope of the evidence.
func BenchmarkMulRows(b *testing.B) {
	const n, d = 3000, 601
	r := newRand(1)
	z, w := benchView[float32](r, n, d), benchView[float32](r, d, d)
	flopRate[float32](b, 2*n*d*d, func() {
		if err := MulRows(forever, z, w, func(int, View[float32]) {}); err != nil {
			b.Fatal(err)
		}
	})
}
