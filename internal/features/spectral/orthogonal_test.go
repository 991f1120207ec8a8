package spectral

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/testing/canceltest"
)

// Columns of one block are orthogonal and as long as the normal numbers of their stream; the first of a block points
// where those do.
func TestOrthogonalBlocks(t *testing.T) {
	for _, d := range []int{1, 2, 7, 33, 100} {
		m := 2*d + d/2
		got, err := Orthogonal(context.Background(), 5, d, m)
		if err != nil {
			t.Fatal(err)
		}
		rng, normal := NewStream(), make([]float64, d)
		for j := range m {
			rng.At(5, Frequencies, j)
			Normal(rng.Rand, 1, normal)
			column := mat.Col(nil, j, got)
			if want := length(normal); math.Abs(length(column)-want) > 1e-13*want {
				t.Errorf("d = %d: column %d is %v long, its normal numbers %v", d, j, length(column), want)
			}
			for k := j / d * d; k < j; k++ {
				other := mat.Col(nil, k, got)
				if c := mat.Dot(mat.NewVecDense(d, column), mat.NewVecDense(d,
					other)); math.Abs(c) > 1e-14*length(column)*length(other)*float64(d) {
					t.Errorf("d = %d: columns %d and %d have the product %v", d, k, j, c)
				}
			}
			for i, v := range column {
				if j%d == 0 && math.Abs(v-normal[i]) > 1e-13 {
					t.Errorf("d = %d: element %d of column %d is %v, its normal number %v", d, i, j, v, normal[i])
				}
			}
		}
	}
}

// TestOrthogonalColumnsAreNested checks that a column does not depend on the number of columns, bit
// for bit.
func TestOrthogonalColumnsAreNested(t *testing.T) {
	const d = 70
	wide, err := Orthogonal(context.Background(), 9, d, 3*d)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []int{1, 31, 33, 69, 70, 71, 150} {
		narrow, err := Orthogonal(context.Background(), 9, d, m)
		if err != nil {
			t.Fatal(err)
		}
		for j := range m {
			if !slices.Equal(mat.Col(nil, j, narrow), mat.Col(nil, j, wide)) {
				t.Fatalf("column %d of %d differs", j, m)
			}
		}
	}
}

// Numbers are standard normal: their moments over seeds, for each place of a small block.
func TestOrthogonalNumbersAreNormal(t *testing.T) {
	const d, seeds = 3, 20_000
	var second, fourth [d * d]float64
	mean := [d * d]float64{}
	for seed := range uint64(seeds) {
		got, err := Orthogonal(context.Background(), seed, d, d)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got.RawMatrix().Data {
			mean[i] += v / seeds
			second[i] += v * v / seeds
			fourth[i] += v * v * v * v / seeds
		}
	}
	within := func(what string, got, want, variance float64) {
		if z := (got - want) / math.Sqrt(variance/seeds); math.Abs(z) > 4.5 {
			t.Errorf("%s is %v, %v standard errors from %v", what, got, z, want)
		}
	}
	for i := range mean {
		within("a mean", mean[i], 0, 1)
		within("a second moment", second[i], 1, 2)
		within("a fourth moment", fourth[i], 3, 96)
	}
}

// Canceled at any check of its context, it returns the error of the context.
func TestOrthogonalStops(t *testing.T) {
	err := canceltest.Check(func(ctx context.Context) (bool, error) {
		got, err := Orthogonal(ctx, 1, 100, 150)
		return got != nil, err
	})
	if err != nil {
		t.Error(err)
	}
}
