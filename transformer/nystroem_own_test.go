package transformer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// gaussRows is the gaussian kernel with γ 0.3.
func gaussRows(x, y []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += (v - y[j]) * (v - y[j])
	}
	return math.Exp(-0.3 * sum)
}

// The landmarks of a Gram matrix, by their numbers, give the features of kernel: gaussian, as those of a registered
// kernel do: on all rows, on rows of positive weight, on a selection of the rows, and after they were saved.
func TestNystroemOfGramMatrices(t *testing.T) {
	if err := kernel.Register("nystroem_gauss", gaussRows); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) *mat.Dense {
		X := mat.NewDense(n, 3, nil)
		for i := range n {
			X.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()})
		}
		return X
	}
	X, test := draw(60), draw(9)
	gram := func(A, B *mat.Dense) *mat.Dense {
		n, _ := A.Dims()
		m, _ := B.Dims()
		K := mat.NewDense(n, m, nil)
		for i := range n {
			for j := range m {
				K.Set(i, j, gaussRows(A.RawRowView(i), B.RawRowView(j)))
			}
		}
		return K
	}
	K, Kt := gram(X, X), gram(test, X)
	weights := slices.Repeat([]float64{1}, 60)
	var some []int
	for i := range 30 {
		weights[2*i], some = 0, append(some, (i*7+3)%60)
	}
	for form, of := range map[string]func(datasets.Set) datasets.Set{
		"all rows":  func(s datasets.Set) datasets.Set { return s },
		"weights":   func(s datasets.Set) datasets.Set { s.Weights = weights; return s },
		"selection": func(s datasets.Set) datasets.Set { return s.Select(some) },
	} {
		for _, choose := range []string{"uniform", "rpcholesky"} {
			features := func(name kernel.Name, data, rows mat.Matrix) mat.Matrix {
				t.Helper()
				s := transformer.NewNystroem()
				s.Kernel, s.Gamma, s.Landmarks, s.Choose, s.Seed = name, kernel.FixedGamma(0.3), 12, choose, 5
				fitted, err := s.Fit(t.Context(), of(datasets.Set{X: data}))
				if err != nil {
					t.Fatal(err)
				}
				archive, err := model.Record(fitted.(model.Stateful))
				if err != nil {
					t.Fatal(err)
				}
				loaded := new(transformer.FittedNystroem)
				if err := model.Restore(archive, loaded); err != nil {
					t.Fatal(err)
				}
				Z, err := loaded.Transform(t.Context(), rows)
				if err != nil {
					t.Fatal(err)
				}
				return Z
			}
			want := features("gaussian", X, test)
			for what, got := range map[string]mat.Matrix{
				"registered":          features("nystroem_gauss", X, test),
				"precomputed":         features("precomputed", K, Kt),
				"precomputed, sparse": features("precomputed", matrices.CSRFromDense(K), matrices.CSRFromDense(Kt)),
			} {
				if !mat.EqualApprox(got, want, 1e-9) {
					t.Errorf("%s, %s, %s: other features than those of the gaussian kernel", form, choose, what)
				}
			}
		}
	}
}

// Gram matrices that do not fit are errors of the fit; a precomputed kernel has no values of two new rows.
func TestNystroemErrorsOfGramMatrices(t *testing.T) {
	K := mat.NewDense(5, 5, nil)
	for i := range 5 {
		K.Set(i, i, 1)
	}
	s := transformer.NewNystroem()
	s.Kernel = kernel.Precomputed
	fitted, err := s.Fit(t.Context(), datasets.Set{X: K})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fitted.(*transformer.FittedNystroem).Kernel(K.RawRowView(0), K.RawRowView(1)); err == nil ||
		!strings.Contains(err.Error(), "must be one that can be computed, got precomputed") {
		t.Errorf("the kernel of two rows: error %v", err)
	}
	asymmetric, negative := mat.DenseCopyOf(K), mat.DenseCopyOf(K)
	asymmetric.Set(1, 2, 0.5)
	negative.Set(4, 4, -1)
	for want, X := range map[string]mat.Matrix{
		": precomputed: the Gram matrix of the training rows must be square, got 5×4": K.Slice(0, 5, 0, 4),
		": precomputed: the Gram matrix must be symmetric, got 0 in row 2, column 1":  asymmetric,
		" precomputed must be positive definite":                                      negative,
	} {
		want = "transformer: nystroem: kernel" + want
		if _, err := s.Fit(t.Context(), datasets.Set{X: X}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	s.LandmarksFrom = "rows.csv"
	if _, err := s.Fit(t.Context(), datasets.Set{X: K}); err == nil ||
		!strings.Contains(err.Error(), "landmarks_from: must be empty") {
		t.Errorf("landmarks_from: error %v", err)
	}
}
