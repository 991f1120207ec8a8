package transformer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
)

// uniform returns n×d uniform numbers.
func uniform(n, d int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		row := X.RawRowView(i)
		for j := range row {
			row[j] = rng.Float64()
		}
	}
	return X
}

// BenchmarkRFF maps rows tile by tile into one reused tile, as a fit by blocks does.
func BenchmarkRFF(b *testing.B) {
	for _, c := range []struct{ n, d, D int }{{1, 54, 2048}, {2000, 10, 512}, {100_000, 54, 2048}} {
		b.Run(fmt.Sprintf("n=%d/d=%d/D=%d", c.n, c.d, c.D), func(b *testing.B) {
			ctx := context.Background()
			X := uniform(c.n, c.d)
			spec := NewRFF()
			spec.Gamma, spec.Features = kernel.FixedGamma(1), c.D
			f := mustFit(b, spec, datasets.Set{X: X}).(*FittedRFF)
			rows := min(c.n, rowblock.Size)
			tile := mat.NewDense(rows, c.D, nil)
			b.ReportAllocs()
			for b.Loop() {
				for lo := 0; lo < c.n; lo += rows {
					hi := min(lo+rows, c.n)
					if err := f.TransformTo(ctx, tile.Slice(0, hi-lo, 0, c.D).(*mat.Dense), rowblock.Slice(X, lo, hi)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkBinning fits the dictionary and maps the training rows.
func BenchmarkBinning(b *testing.B) {
	for _, c := range []struct{ n, d, P int }{{2000, 10, 50}, {80_000, 54, 50}, {80_000, 54, 400}} {
		X := uniform(c.n, c.d)
		spec := NewBinning()
		spec.Gamma, spec.Grids = kernel.FixedGamma(0.25), c.P
		ctx := context.Background()
		name := fmt.Sprintf("n=%d/d=%d/P=%d", c.n, c.d, c.P)
		b.Run("fit/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustFit(b, spec, datasets.Set{X: X})
			}
		})
		f := mustFit(b, spec, datasets.Set{X: X})
		b.Run("transform/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Transform(ctx, X); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(f.(Describer).OutputWidth()), "columns")
		})
	}
}

// BenchmarkFewInputs maps rows by grids of all inputs and of a few, into hashed columns.
func BenchmarkFewInputs(b *testing.B) {
	X := uniform(20_000, 54)
	for _, inputs := range []int{0, 16, 8, 4, 2} {
		spec := NewBinning()
		spec.Gamma, spec.Grids, spec.Inputs, spec.Columns = kernel.FixedGamma(0.25), 200, inputs, 200<<10
		f := mustFit(b, spec, datasets.Set{X: X})
		b.Run(fmt.Sprintf("inputs=%d", inputs), func(b *testing.B) {
			for b.Loop() {
				mustTransform(b, f, X)
			}
		})
	}
}

// BenchmarkScalers fits and maps dense rows.
func BenchmarkScalers(b *testing.B) {
	X := uniform(100_000, 54)
	for name, spec := range map[string]Fitter{"standardize": NewStandardize(), "minmax": NewMinMax(),
		"robust": NewRobust(), "quantile": NewQuantile(), "impute median": Impute{Strategy: "median"}, "pca": NewPCA()} {
		f := mustFit(b, spec, datasets.Set{X: X})
		b.Run("fit/"+name, func(b *testing.B) {
			for b.Loop() {
				mustFit(b, spec, datasets.Set{X: X})
			}
		})
		b.Run("transform/"+name, func(b *testing.B) {
			for b.Loop() {
				mustTransform(b, f, X)
			}
		})
	}
}

// BenchmarkKernels maps rows by four kernels of the same draws, with a shared projection and
// separately.
func BenchmarkKernels(b *testing.B) {
	ctx := context.Background()
	for _, d := range []int{54, 784} {
		data := datasets.Set{X: uniform(2048, d)}
		var specs []Fitter
		for _, name := range []string{"gaussian", "exponential", "matern", "rational_quadratic"} {
			s := NewRFF()
			s.Kernel, s.Gamma = kernel.Name(name), kernel.FixedGamma(0.1)
			specs = append(specs, s)
		}
		family, err := specs[0].(RFF).FitFamily(ctx, data, specs)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("shared/d=%d", d), func(b *testing.B) {
			for b.Loop() {
				if err := family.Each(ctx, data.X, []int{0, 1, 2, 3}, func(int, mat.Matrix) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("single rows/d=%d", d), func(b *testing.B) {
			tile := mat.NewDense(2048, 1000, nil)
			for b.Loop() {
				for _, s := range family.Maps.(*fourierFamily).maps {
					if err := s.TransformTo(ctx, tile, data.X); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
