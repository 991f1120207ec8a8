package transformer

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// TestSoftmaxFeaturesApproximateTheirKernel checks that the mean inner product of the features is
// exp(γ·x'y) for every draw, that iid draws have the theoretical variance, and that orthogonal
// draws have a smaller one.
func TestSoftmaxFeaturesApproximateTheirKernel(t *testing.T) {
	const seeds, m = 4000, 6
	rows := [][2][]float64{
		{{0.2, -0.3, 0.5}, {0.4, 0.1, 0.6}},
		{{0.6, 0, -0.2}, {0.6, 0, -0.2}},
		{{0.5, -0.2, 0.3}, {-0.4, 0.3, 0.1}},
		{{0, 0, 0}, {0.7, -0.5, 0.6}},
	}
	total := map[string]float64{}
	for _, p := range rows {
		x, y := p[0], p[1]
		for _, draw := range []string{"iid", "orthogonal"} {
			spec := SoftmaxFeatures{Gamma: kernel.FixedGamma(0.8), Features: m, Draw: draw}
			mean, variance, se := estimate(t, seeds, x, y, func(seed uint64, X *mat.Dense) Transformer {
				spec.Seed = seed
				return mustFit(t, spec, datasets.Set{X: X})
			})
			product, longer := 0.0, 0.0
			for j := range x {
				product += 0.8 * x[j] * y[j]
				longer += 0.8 * (x[j] + y[j]) * (x[j] + y[j])
			}
			if k := math.Exp(product); math.Abs(mean-k) > 4.5*se {
				t.Errorf("%s: %v, %v: mean %v ± %v, the kernel is %v", draw, x, y, mean, se, k)
			}
			theory := math.Exp(2*product) * math.Expm1(longer) / m
			if draw == "iid" && math.Abs(variance-theory) > 0.2*theory {
				t.Errorf("%v, %v: variance %v, in theory %v", x, y, variance, theory)
			}
			total[draw] += variance / theory
		}
	}
	if total["orthogonal"] > 0.95*total["iid"] {
		t.Errorf("the variance of orthogonal draws is %v, of iid ones %v", total["orthogonal"], total["iid"])
	}
}

// TestGoldenSoftmaxFeatures compares the features for given draws with the reference.
func TestGoldenSoftmaxFeatures(t *testing.T) {
	var in struct{ Q, Normal [][]float64 }
	var want struct {
		Features [][]float64 `json:"features_q"`
	}
	golden.Load(t, "attention", &in, &want)
	gamma := make([]float64, 8)
	for j := range gamma {
		gamma[j] = 1 / math.Sqrt(8)
	}
	f, err := newSoftmaxFeatures(mat.DenseCopyOf(softmaxRows(in.Normal).T()), gamma)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, mustTransform(t, f, softmaxRows(in.Q)), softmaxRows(want.Features), 1e-13)
}

func softmaxRows(rows [][]float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		m.SetRow(i, row)
	}
	return m
}

// TestSoftmaxFeaturesNeverOverflow checks that overflow is an error that names the row, in either
// precision, and that underflow gives 0.
func TestSoftmaxFeaturesNeverOverflow(t *testing.T) {
	ctx := context.Background()
	for d, as32 := range map[int]bool{1500: false, 200: true} {
		spec := SoftmaxFeatures{Gamma: kernel.FixedGamma(1), Features: 4, Draw: "iid"}
		X := mat.NewDense(3, d, nil)
		f := mustFit(t, spec, datasets.Set{X: X}).(*fittedSoftmaxFeatures)
		X.SetRow(1, mat.Col(nil, 2, f.Normal())) // where feature 2 is largest
		_, err := f.Transform(ctx, X)
		if as32 {
			if err != nil {
				t.Errorf("d = %d: %v", d, err)
			}
			err = f.TransformSingle(ctx, matrices.NewDense32(3, 4, nil), X)
		}
		if row := (*datasets.RowError)(nil); !errors.As(err, &row) || row.Row != 1 ||
			!strings.Contains(err.Error(), "softmax_features: ") {
			t.Errorf("d = %d: the error is %v", d, err)
		}
		X.Set(1, 0, f.features.Float64.Limit)
		for _, v := range mustTransform(t, f, X).(*mat.Dense).RawRowView(1) {
			if v != 0 {
				t.Errorf("a feature of a row at the limit is %v", v)
			}
		}
		X.Set(1, 0, -2*f.features.Float64.Limit)
		if _, err := f.Transform(ctx, X); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("beyond the limit: %v", err)
		}
	}
}

// The first features are the narrow map, up to scale.
func TestSoftmaxFeaturesAreNested(t *testing.T) {
	X := mat.NewDense(2, 3, []float64{0.1, 0.4, -0.2, 1, 0, 0.3})
	spec := SoftmaxFeatures{Gamma: kernel.FixedGamma(0.5), Features: 20, Draw: "orthogonal", Seed: 4}
	wide := mustFit(t, spec, datasets.Set{X: X}).(*fittedSoftmaxFeatures)
	spec.Features = 7
	want := mustTransform(t, mustFit(t, spec, datasets.Set{X: X}), X)
	first, err := wide.WithFeatures(7)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, mustTransform(t, first, X), want, 1e-14)
	for _, m := range []int{0, 21} {
		if _, err := wide.WithFeatures(m); err == nil {
			t.Errorf("%d of 20 features are there", m)
		}
	}
	k, err := wide.Kernel([]float64{1, 2, 0}, []float64{0.5, 1, 9})
	if want := math.Exp(1.25); err != nil || math.Abs(k-want) > 1e-14 {
		t.Errorf("the kernel is %v (%v), want %v", k, err, want)
	}
	for _, bad := range [][]float64{{1}, {math.NaN(), 0, 0}, {1e300, 1e300, 0}} {
		if k, err := wide.Kernel(bad, bad); err == nil {
			t.Errorf("the kernel of %v is %v", bad, k)
		}
	}
}
