package fourier

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

// TestStructuredAgainstReference compares angles for given signs with explicit matrix products in
// numpy.
func TestStructuredAgainstReference(t *testing.T) {
	var in struct {
		X, Signs [][]float64
		Gamma    float64
	}
	var want struct{ Projection [][]float64 }
	golden.Load(t, "structured", &in, &want)
	w := len(in.Signs[0])
	signs := &Signs{Inputs: len(in.X[0]), Width: w, Bits: []uint64{0}}
	for at, list := range in.Signs {
		for i, s := range list {
			if s < 0 {
				signs.Bits[0] |= 1 << (at*w + i)
			}
		}
	}
	k, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	factor := slices.Repeat(k.Factors([]float64{in.Gamma}), len(in.X[0]))
	draws := Draws{Signs: signs, Spread: slices.Repeat([]float64{math.Sqrt2}, w), Paired: true}
	f, err := draws.Map(factor)
	if err != nil {
		t.Fatal(err)
	}
	omega := f.Frequencies()
	for i, row := range in.X {
		angles := make([]float64, w)
		f.Float64.fast.project(kern.Dense(1, w, w, angles), mat.NewDense(1, len(row), row), 0)
		for j, a := range angles {
			if got := math.Sqrt2 * a; math.Abs(got-want.Projection[i][j]) > 1e-12 {
				t.Errorf("row %d: angle %d is %v, want %v", i, j, got, want.Projection[i][j])
			}
			if got := mat.Dot(omega.ColView(j), mat.NewVecDense(len(row), row)); math.Abs(got-want.Projection[i][j]) > 1e-12 {
				t.Errorf("row %d: with frequency %d it is %v, want %v", i, j, got, want.Projection[i][j])
			}
		}
	}
}

// Structured features are cosines of the frequencies' products with rows of any kind, in either precision, and of more
// rows than a piece of work, with blocks that are cut.
func TestStructuredFeatures(t *testing.T) {
	const n, d, m = 3*fastRows + 5, 70, 150
	X := rowsOf(n, d)
	ones, filled := onesOf(t, X)
	k, _ := spectral.FourierKernel("matern", spectral.Shape{Nu: 1.5})
	factor := make([]float64, d)
	for j := range factor {
		factor[j] = 0.02 * float64(1+j%3)
	}
	for _, paired := range []bool{true, false} {
		draws, err := Law{"structured", 4}.Draw(context.Background(), k, d, m, paired)
		if err != nil {
			t.Fatal(err)
		}
		f, err := draws.Map(factor)
		if err != nil {
			t.Fatal(err)
		}
		dense := Draws{Base: f.Frequencies(), Phase: draws.Phase, Paired: paired}
		plain, err := dense.Map(slices.Repeat([]float64{1}, d))
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			rows mat.Matrix
			as   *mat.Dense
		}{"dense": {X, X}, "sparse": {matrices.CSRFromDense(X), X}, "shared": {ones, filled}} {
			double, single := mat.NewDense(n, f.Width(), nil), make([]float32, n*f.Width())
			if err := f.Float64.Transform(context.Background(), kern.Dense(n, f.Width(), f.Width(), double.RawMatrix().Data),
				c.rows); err != nil {
				t.Fatal(err)
			}
			if err := f.Float32().Transform(context.Background(), kern.Dense(n, f.Width(), f.Width(), single),
				c.rows); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for j, want := range slowly(plain, c.as.RawRowView(i)) {
					if got := double.At(i, j); math.Abs(got-want) > 1e-12 {
						t.Fatalf("paired %v, %s row %d: feature %d is %v, want %v", paired, name, i, j, got, want)
					}
					if got := float64(single[i*f.Width()+j]); math.Abs(got-want) > 1e-4 {
						t.Fatalf("paired %v, %s row %d: feature %d is %v in float32, want %v", paired, name, i, j, got, want)
					}
				}
			}
		}
	}
}

// TestStructuredBlocksAreOrthogonal checks that the frequencies of a full block are orthogonal and
// of equal length without padded inputs.
func TestStructuredBlocksAreOrthogonal(t *testing.T) {
	k, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	draws, err := Law{"structured", 4}.Draw(context.Background(), k, 128, 128, true)
	if err != nil {
		t.Fatal(err)
	}
	f, err := draws.Map(slices.Repeat([]float64{1}, 128))
	if err != nil {
		t.Fatal(err)
	}
	var products mat.Dense
	products.Mul(f.Frequencies().T(), f.Frequencies())
	for i := range 128 {
		for j := range 128 {
			want := 0.0
			if i == j {
				want = 2 * 128
			}
			if math.Abs(products.At(i, j)-want) > 1e-9 {
				t.Fatalf("the product of frequencies %d and %d is %v, want %v", i, j, products.At(i, j), want)
			}
		}
	}
}

// TestDrawsAreNested checks that a smaller draw equals the first frequencies of a larger one, bit
// for bit.
func TestDrawsAreNested(t *testing.T) {
	ctx := context.Background()
	gaussian, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	rough, _ := spectral.FourierKernel("laplacian", spectral.Shape{})
	matern, _ := spectral.FourierKernel("matern", spectral.Shape{Nu: 0.7})
	sum := spectral.Sum([]spectral.Part{{Kernel: gaussian, Factor: 1, Weight: 1}, {Kernel: matern, Factor: 2, Weight: 3}})
	for _, law := range Laws {
		for name, k := range map[string]spectral.Kernel{"gaussian": gaussian, "laplacian": rough, "matern": matern,
			"sum": sum} {
			if !Suits(law, k) {
				continue
			}
			const d, most = 5, 200
			factor := slices.Repeat([]float64{1}, d)
			of := func(m int) (Draws, Map) {
				draws, err := Law{law, 8}.Draw(ctx, k, d, m, false)
				if err != nil {
					t.Fatal(err)
				}
				f, err := draws.Map(factor)
				if err != nil {
					t.Fatal(err)
				}
				return draws, f
			}
			all, wide := of(most)
			for _, m := range []int{1, 5, 7, 64, 65} {
				few, narrow := of(m)
				cut := wide.First(m)
				if !mat.Equal(narrow.Frequencies(), wide.Frequencies().Slice(0, d, 0, m)) ||
					!mat.Equal(narrow.Frequencies(), cut.Frequencies()) || !slices.Equal(few.Phase, all.Phase[:m]) {
					t.Errorf("%s %s: the first %d of %d frequencies are others than those of %d", law, name, m, most, m)
				}
				if few.Signs != nil && (len(few.Signs.Bits) != len(cut.Signs.Bits) ||
					!slices.Equal(few.Signs.Bits, cut.Signs.Bits)) {
					t.Errorf("%s: signs of the first %d frequencies of %d are not cut", law, m, most)
				}
			}
		}
	}
}
