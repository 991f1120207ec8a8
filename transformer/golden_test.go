package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/golden"
)

// denseOf makes a matrix of rows in which null is a missing value.
func denseOf(rows [][]*float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		for j, v := range row {
			if v == nil {
				m.Set(i, j, math.NaN())
			} else {
				m.Set(i, j, *v)
			}
		}
	}
	return m
}

func mustFit(t testing.TB, spec Fitter, data datasets.Set) Transformer {
	t.Helper()
	f, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustTransform(t testing.TB, f Transformer, X mat.Matrix) mat.Matrix {
	t.Helper()
	out, err := f.Transform(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// equal fails unless got and want agree to tolerance, NaN being equal to NaN.
func equal(t testing.TB, got, want mat.Matrix, tolerance float64) {
	t.Helper()
	n, d := want.Dims()
	if a, b := got.Dims(); a != n || b != d {
		t.Fatalf("got %d×%d, want %d×%d", a, b, n, d)
	}
	for i := range n {
		for j := range d {
			g, w := got.At(i, j), want.At(i, j)
			if math.IsNaN(g) != math.IsNaN(w) || math.Abs(g-w) > tolerance*max(1, math.Abs(w)) {
				t.Fatalf("entry (%d, %d) is %v, want %v", i, j, g, w)
			}
		}
	}
}

func TestScalersAgainstReference(t *testing.T) {
	for name, spec := range map[string]Fitter{"standard_scaler": NewStandardize(), "minmax_scaler": NewMinMax(),
		"robust_scaler": NewRobust()} {
		t.Run(name, func(t *testing.T) {
			var in struct {
				X     [][]*float64
				XTest [][]*float64 `json:"X_test"`
			}
			var want struct{ Transform [][]*float64 }
			golden.Load(t, name, &in, &want)
			f := mustFit(t, spec, datasets.Set{X: denseOf(in.X)})
			expected := denseOf(want.Transform)
			for j, scale := range f.(*fittedScaler).Scale() {
				// scikit-learn returns later values of a constant column
				for i := 0; math.IsInf(scale, 1) && i < len(in.XTest); i++ {
					if v := in.XTest[i][j]; v != nil && in.X[0][j] != nil {
						expected.Set(i, j, 0)
					}
				}
			}
			equal(t, mustTransform(t, f, denseOf(in.XTest)), expected, 1e-12)
		})
	}
}

func TestImputeAgainstReference(t *testing.T) {
	for _, strategy := range []string{"mean", "median"} {
		t.Run(strategy, func(t *testing.T) {
			var in struct{ X [][]*float64 }
			var want struct{ Transform [][]*float64 }
			golden.Load(t, "impute_"+strategy, &in, &want)
			X := denseOf(in.X)
			f := mustFit(t, Impute{Strategy: strategy}, datasets.Set{X: X})
			equal(t, mustTransform(t, f, X), denseOf(want.Transform), 1e-12)
		})
	}
}

func TestTargetEncodeAgainstReference(t *testing.T) {
	for _, name := range []string{"binary_8", "binary_auto", "continuous_8", "continuous_auto"} {
		t.Run(name, func(t *testing.T) {
			var in struct {
				X, New []string
				Y      []float64
				Smooth any
			}
			var want struct {
				Categories     []string
				Encodings, New []float64
				TargetMean     float64 `json:"target_mean"`
			}
			golden.Load(t, "target_encode_"+name, &in, &want)
			codes := func(list []string) *mat.Dense {
				X := mat.NewDense(len(list), 1, nil)
				for i, level := range list {
					X.Set(i, 0, float64(slices.Index(want.Categories, level)))
				}
				return X
			}
			spec := NewTargetEncode()
			if err := (targetSmooth{&spec.Smooth}).Set(in.Smooth); err != nil {
				t.Fatal(err)
			}
			schema := datasets.Schema{Columns: []datasets.Column{{Name: "c", Kind: datasets.Categorical,
				Categories: want.Categories}}}
			if name[0] == 'b' {
				schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"0", "1"}}}
			}
			f := mustFit(t, spec, datasets.Set{X: codes(in.X), Y: in.Y, Schema: schema})
			equal(t, mustTransform(t, f, codes(in.New)), mat.NewDense(len(in.New), 1, want.New), 1e-13)
			all := mat.NewDense(len(want.Encodings), 1, want.Encodings)
			equal(t, mustTransform(t, f, codes(want.Categories)), all, 1e-13)
			unknown := mat.NewDense(2, 1, []float64{datasets.Unknown, math.NaN()}) // no training row is missing
			means := mat.NewDense(2, 1, []float64{want.TargetMean, want.TargetMean})
			equal(t, mustTransform(t, f, unknown), means, 1e-13)
		})
	}
}

func TestOneHotAgainstReference(t *testing.T) {
	var in struct {
		Rows     [][]string
		RowsTest [][]string `json:"rows_test"`
	}
	var want struct {
		Categories [][]string
		Transform  [][]*float64
	}
	golden.Load(t, "onehot", &in, &want)
	schema := datasets.Schema{}
	for j, levels := range want.Categories {
		schema.Columns = append(schema.Columns, datasets.Column{Name: []string{"colour", "size"}[j],
			Kind: datasets.Categorical, Categories: levels})
	}
	code := func(rows [][]string) *mat.Dense {
		X := mat.NewDense(len(rows), 2, nil)
		for i, row := range rows {
			for j, name := range row {
				X.Set(i, j, datasets.Unknown)
				for c, level := range schema.Columns[j].Categories {
					if level == name {
						X.Set(i, j, float64(c))
					}
				}
			}
		}
		return X
	}
	f := mustFit(t, NewOneHot(), datasets.Set{X: code(in.Rows), Schema: schema})
	equal(t, mustTransform(t, f, code(in.RowsTest)), denseOf(want.Transform), 0)
	names := f.(*fittedOneHot).OutputSchema(schema)
	if got := names.Name(0); got != "colour=blue" {
		t.Errorf("first column is called %s", got)
	}
}

func TestRFFAgainstReference(t *testing.T) {
	var in struct {
		X, Normal [][]*float64
		Phase     []float64
		Gamma     float64
	}
	var want struct{ Paired, Phase [][]*float64 }
	golden.Load(t, "rff_maps", &in, &want)
	X := denseOf(in.X)
	for _, paired := range []bool{true, false} {
		f := givenRFF(t, denseOf(in.Normal), in.Phase, in.Gamma, paired)
		expect := want.Phase
		if paired {
			expect = want.Paired
		}
		equal(t, mustTransform(t, f, X), denseOf(expect), 1e-12)
	}
}

// givenRFF is the gaussian map of given standard normal draws, m×d.
func givenRFF(t testing.TB, draws *mat.Dense, phase []float64, gamma float64, paired bool) *FittedRFF {
	t.Helper()
	m, d := draws.Dims()
	f := &FittedRFF{kernelName: "gaussian", gamma: slices.Repeat([]float64{gamma}, d)}
	f.name(nil)
	given := fourier.Draws{Base: mat.NewDense(d, m, nil), Paired: paired}
	given.Base.Scale(math.Sqrt2, draws.T())
	if !paired {
		given.Phase = phase
	}
	if err := f.finish(given); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPCAAgainstReference(t *testing.T) {
	var in struct {
		X          [][]*float64
		Components int
	}
	var want struct {
		Variance  []float64    `json:"explained_variance"`
		XTest     [][]*float64 `json:"X_test"`
		Ratio     []float64    `json:"explained_variance_ratio"`
		Transform [][]*float64 `json:"transform_abs"`
	}
	golden.Load(t, "pca_whiten", &in, &want)
	f := mustFit(t, PCA{Components: float64(in.Components), Whiten: true},
		datasets.Set{X: denseOf(in.X)}).(*FittedPCA)
	got := mustTransform(t, f, denseOf(want.XTest)).(*mat.Dense)
	got.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, got)
	equal(t, got, denseOf(want.Transform), 1e-9)
	equal(t, mat.NewVecDense(3, f.ExplainedVariance()), mat.NewVecDense(3, want.Variance), 1e-10)
	equal(t, mat.NewVecDense(3, f.ExplainedVarianceRatio()), mat.NewVecDense(3, want.Ratio), 1e-10)
}

// TestPCAEqualsGonum checks that the directions equal gonum's eigenvectors where variances are
// separated.
func TestPCAEqualsGonum(t *testing.T) {
	const n, d = 200, 70
	rng := rand.New(rand.NewPCG(11, 1))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			X.Set(i, j, math.Pow(0.8, float64(j))*rng.NormFloat64()+float64(j))
		}
	}
	fitted, err := NewPCA().Fit(context.Background(), datasets.Set{X: X})
	if err != nil {
		t.Fatal(err)
	}
	got := fitted.(*FittedPCA)
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, X, nil)
	var eigen mat.EigenSym
	if !eigen.Factorize(&cov, true) {
		t.Fatal("gonum finds no eigenvectors")
	}
	values := eigen.Values(nil)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	components := got.Components()
	for k, v := range got.ExplainedVariance() {
		if want := values[d-1-k]; math.Abs(v-want) > 1e-10*values[d-1] {
			t.Errorf("variance %d is %v, want %v", k, v, want)
		}
		if k > 20 { // their variances differ by less than 1e-4 of the largest
			continue
		}
		column := mat.Col(nil, d-1-k, &vectors)
		fixSign(column)
		for j, want := range column {
			if math.Abs(components.At(j, k)-want) > 1e-10 {
				t.Errorf("component %d, entry %d is %v, want %v", k, j, components.At(j, k), want)
			}
		}
	}
}
