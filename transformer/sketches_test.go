package transformer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
)

func TestGoldenAdditiveChi2(t *testing.T) {
	for steps := range 3 {
		var in struct {
			X     [][]float64
			Steps int
		}
		var want struct{ Features [][]float64 }
		golden.Load(t, fmt.Sprintf("additive_chi2_%d", steps+1), &in, &want)
		X := softmaxRows(in.X)
		f := mustFit(t, AdditiveChi2{Steps: in.Steps}, datasets.Set{X: X})
		equal(t, mustTransform(t, f, X), softmaxRows(want.Features), 1e-14)
	}
}

// More frequencies, closer together, approach the kernel.
func TestAdditiveChi2ApproachesItsKernel(t *testing.T) {
	x, y := []float64{0.3, 2, 0, 1e-3}, []float64{0.5, 1, 3, 0.2}
	want := 0.0
	for j := range x {
		want += 2 * x[j] * y[j] / (x[j] + y[j])
	}
	X := mat.NewDense(2, 4, append(append([]float64{}, x...), y...))
	for spec, tolerance := range map[AdditiveChi2]float64{{Steps: 3}: 0.05, {Steps: 100, Interval: 0.1}: 1e-12} {
		Z := mustTransform(t, mustFit(t, spec, datasets.Set{X: X}), X).(*mat.Dense)
		if got := mat.Dot(Z.RowView(0), Z.RowView(1)); math.Abs(got-want) > tolerance*want {
			t.Errorf("%+v: %v, the kernel is %v", spec, got, want)
		}
	}
}

// Inner products are the kernel in the mean, with the variance of a map with phases.
func TestSkewedChi2IsUnbiased(t *testing.T) {
	const c, D = 0.4, 50
	product := func(x, y []float64, times float64) float64 {
		k := 1.0
		for j := range x {
			k /= math.Cosh(times * math.Log((x[j]+c)/(y[j]+c)) / 2)
		}
		return k
	}
	for _, p := range [][2][]float64{{{0.3, 2, 0}, {0.5, 1, 3}}, {{5}, {0.1}}, {{1, 2}, {1, 2}}} {
		x, y := p[0], p[1]
		want := 1.0
		for j := range x {
			want *= 2 * math.Sqrt(x[j]+c) * math.Sqrt(y[j]+c) / (x[j] + y[j] + 2*c)
		}
		mean, variance, se := estimate(t, 3000, x, y, func(seed uint64, X *mat.Dense) Transformer {
			return mustFit(t, SkewedChi2{Features: D, Skewedness: c, Seed: seed}, datasets.Set{X: X})
		})
		theory := (1 + product(x, y, 2)/2 - want*want) / D
		if math.Abs(mean-want) > 4.5*se || math.Abs(variance-theory) > 0.15*theory {
			t.Errorf("%v, %v: mean %v ± %v, the kernel is %v; variance %v, in theory %v", x, y, mean, se, want, variance,
				theory)
		}
	}
}

// Inner products are the polynomial kernel in the mean; the variance is within its bound and falls as 1/D.
func TestPolynomialSketchIsUnbiased(t *testing.T) {
	x, y := []float64{0.8, -0.5, 0.3}, []float64{0.6, 0.2, 0.7}
	for _, spec := range []PolynomialSketch{{Degree: 1, Features: 40}, {Degree: 2, Features: 40},
		{Degree: 2, Coef0: 0.5, Features: 41}, {Degree: 3, Coef0: 0.2, Features: 160}} {
		spec.Gamma = kernel.FixedGamma(0.9)
		power := func(a, b []float64) float64 {
			product := spec.Coef0
			for j := range a {
				product += 0.9 * a[j] * b[j]
			}
			return math.Pow(product, float64(spec.Degree))
		}
		mean, variance, se := estimate(t, 4000, x, y, func(seed uint64, X *mat.Dense) Transformer {
			spec.Seed = seed
			return mustFit(t, spec, datasets.Set{X: X})
		})
		if want := power(x, y); math.Abs(mean-want) > 4.5*se {
			t.Errorf("%+v: mean %v ± %v, the kernel is %v", spec, mean, se, want)
		}
		bound := (2 + math.Pow(3, float64(spec.Degree))) * power(x, x) * power(y, y) / float64(spec.Features)
		if variance > bound {
			t.Errorf("%+v: variance %v, at most %v", spec, variance, bound)
		}
	}
}

// The features are the count sketch of all products of p inputs, whose columns and signs those of
// the factors give.
func TestPolynomialSketchIsACountSketch(t *testing.T) {
	X := mat.NewDense(2, 2, []float64{0.8, -0.5, 1.5, 0})
	spec := PolynomialSketch{Degree: 3, Gamma: kernel.FixedGamma(0.5, 2), Coef0: 0.7, Features: 7, Seed: 3}
	f := mustFit(t, spec, datasets.Set{X: X}).(*fittedPolynomialSketch)
	want := mat.NewDense(2, 7, nil)
	for i := range 2 {
		u := []float64{math.Sqrt(0.5) * X.At(i, 0), math.Sqrt(2) * X.At(i, 1), math.Sqrt(0.7)}
		for product := range 27 {
			column, v := 0, 1.0
			for k, j := range []int{product % 3, product / 3 % 3, product / 9} {
				h := f.columns[3*k+j]
				if v *= u[j]; h < 0 {
					h, v = ^h, -v
				}
				column += h
			}
			want.Set(i, column%7, want.At(i, column%7)+v)
		}
	}
	equal(t, mustTransform(t, f, X), want, 1e-14)
}

// Rows outside of the domain are errors with row and column; at the limit nothing overflows.
func TestSketchesRefuse(t *testing.T) {
	X := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	bad := mat.NewDense(2, 2, []float64{0, 2, 3, -0.5})
	for spec, want := range map[Fitter]string{
		NewAdditiveChi2(): "additive_chi2: row 1, column x1: must be ≥ 0, got -0.5",
		SkewedChi2{Features: 3, Skewedness: 0.5}: "skewed_chi2: row 1, column x1: must be > -0.5, which is -skewedness, " +
			"got -0.5",
		AdditiveChi2{Steps: 4}: "interval: must be a number > 0 for more than 3 steps",
	} {
		f, err := spec.Fit(t.Context(), datasets.Set{X: X})
		if err == nil {
			_, err = f.Transform(t.Context(), bad)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	sketch := NewPolynomialSketch()
	sketch.Features, sketch.Gamma, sketch.Degree = 8, kernel.FixedGamma(3), 5
	f := mustFit(t, sketch, datasets.Set{X: X}).(*fittedPolynomialSketch)
	large := mat.NewDense(1, 2, []float64{f.limit, -f.limit})
	if Z := mustTransform(t, f, large).(*mat.Dense); !allFinite(Z.RawMatrix().Data) {
		t.Errorf("features at the limit are %v", Z)
	}
	large.Set(0, 0, 2*f.limit)
	if _, err := f.Transform(t.Context(), large); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("beyond the limit: %v", err)
	}
}
