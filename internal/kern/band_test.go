package kern

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// definite returns a random positive definite matrix, its upper triangle not numbers.
func definite(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n*(n+3))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	a := make([]float64, n*n)
	Gram(context.Background(), Dense(n, n, n, a), Dense(n+3, n, n, x), nil)
	return a
}

// Systems solved by the band are those solved by Cholesky's factor, for orders that are and are not multiples of its
// width; its pivots multiply to the same determinant.
func TestBandSolvesLikeCholesky(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 21))
	for _, n := range []int{1, 2, 31, 32, 33, 64, 65, 97, 150, 300, 401, 620} {
		a := definite(rng, n)
		for i := range n {
			for j := i + 1; j < n; j++ {
				a[i*n+j] = math.NaN()
			}
		}
		band, err := NewBand(ctx, Dense(n, n, n, append([]float64(nil), a...)))
		if err != nil {
			t.Fatal(err)
		}
		factor := make([]float64, band.Len())
		for _, shift := range []float64{0.5, 20, 1e4} {
			for _, k := range []int{1, 3, 7} {
				x, want := make([]float64, n*k), make([]float64, n*k)
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				copy(want, x)
				l := append([]float64(nil), a...)
				for i := range n {
					l[i*n+i] += shift
				}
				if _, ok, err := Cholesky(ctx, Dense(n, n, n, l)); !ok || err != nil {
					t.Fatal(ok, err)
				}
				SolveCholesky(ctx, Dense(n, n, n, l), Dense(n, k, k, want))
				if _, _, ok := band.Factor(factor, shift); !ok {
					t.Fatalf("n = %d, shift %v: no factor", n, shift)
				}
				band.ApplyQ(Dense(n, k, k, x), false)
				band.Solve(factor, Dense(n, k, k, x))
				band.ApplyQ(Dense(n, k, k, x), true)
				for i, v := range want {
					if !(math.Abs(x[i]-v) <= 1e-11*(1+math.Abs(v))) {
						t.Fatalf("n = %d, shift %v, %d columns: %v at %d, want %v", n, shift, k, x[i], i, v)
					}
				}
			}
		}
	}
}

// A band has the same bits on any number of cores.
func TestBandIsTheSameOnAnyNumberOfCores(t *testing.T) {
	const n = 410
	a := definite(rand.New(rand.NewPCG(3, 23)), n)
	var first *Band
	withCores(func(cores int) {
		band, err := NewBand(context.Background(), Dense(n, n, n, append([]float64(nil), a...)))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = band
		}
		if !slices.Equal(band.blocks, first.blocks) || !slices.Equal(band.vectors.Data, first.vectors.Data) ||
			!slices.Equal(band.factors, first.factors) {
			t.Errorf("%d cores: other bits", cores)
		}
	})
}

// A matrix that is not positive definite has no factor, and a context that is done makes no band.
func TestBandErrors(t *testing.T) {
	const n = 120
	a := definite(rand.New(rand.NewPCG(3, 22)), n)
	band, err := NewBand(context.Background(), Dense(n, n, n, append([]float64(nil), a...)))
	if err != nil {
		t.Fatal(err)
	}
	factor := make([]float64, band.Len())
	for _, shift := range []float64{-1e6, math.NaN(), math.Inf(1)} {
		if _, _, ok := band.Factor(factor, shift); ok {
			t.Errorf("shift %v: a factor", shift)
		}
	}
	if least, share, ok := band.Factor(factor, 1); !ok || !(least > 0) || !(share > 0 && share <= 1) {
		t.Errorf("pivots of %v, %v of their entries, %v", least, share, ok)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := NewBand(stopped, Dense(n, n, n, a)); err != context.Canceled {
		t.Errorf("canceled, it returns %v", err)
	}
}

func BenchmarkBand(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		a := definite(rand.New(rand.NewPCG(1, 2)), n)
		c := make([]float64, n*n)
		var band *Band
		b.Run(fmt.Sprint("reduce/n=", n), func(b *testing.B) {
			for b.Loop() {
				copy(c, a)
				band, _ = NewBand(context.Background(), Dense(n, n, n, c))
			}
			b.ReportMetric(4/3.0*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
		b.Run(fmt.Sprint("factor/n=", n), func(b *testing.B) {
			factor := make([]float64, band.Len())
			for b.Loop() {
				band.Factor(factor, 1)
			}
		})
	}
}
