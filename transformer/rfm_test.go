package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// bent returns rows whose target depends on x₁ − x₃ only.
func bent(n, d int) datasets.Set {
	rng := rand.New(rand.NewPCG(11, 12))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range y {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = math.Cos(1.5 * (X.At(i, 1) - X.At(i, 3)))
	}
	return datasets.Set{X: X, Y: y}
}

// TestRFMOfAllKindsOfTargets checks that the map keeps the relevant direction, and reports its
// inputs as relevant, for all kinds of targets.
func TestRFMOfAllKindsOfTargets(t *testing.T) {
	numbers := bent(500, 5)
	two, three, several := numbers, numbers, numbers
	two.Y, three.Y, several.Targets = make([]float64, 500), make([]float64, 500), mat.NewDense(500, 2, nil)
	for i, v := range numbers.Y {
		if v > 0 {
			two.Y[i] = 1
		}
		three.Y[i] = float64(min(int(1.5*(v+1)), 2))
		several.Targets.SetRow(i, []float64{1e5 * v, math.Abs(v)})
	}
	several.Y = nil
	two.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}
	three.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"a", "b", "c"}}}
	for name, data := range map[string]datasets.Set{"numbers": numbers, "two classes": two, "three classes": three,
		"two targets": several} {
		for _, diagonal := range []bool{false, true} {
			f := mustFit(t, rfmWith(func(s *RFM) { s.Diagonal = diagonal }), data).(*FittedRFM)
			r, A := f.Relevance(), f.Matrix()
			if min(r[1], r[3]) < 0.5 || max(r[0], r[2], r[4]) > 0.4 || f.Round() == 0 {
				t.Errorf("%s, diagonal %v: relevance %.2f, round %d", name, diagonal, r, f.Round())
			}
			if stretched := mat.Norm(A.ColView(1), 2) / mat.Norm(A.ColView(0), 2); stretched < 1.5 {
				t.Errorf("%s, diagonal %v: input 1 is stretched %.2f times as much as input 0", name, diagonal, stretched)
			}
			if trace := mat.Trace(f.Outer()); math.Abs(trace-1) > 1e-6 {
				t.Errorf("%s, diagonal %v: M has trace %v", name, diagonal, trace)
			}
		}
	}
}

// TestRFMBeforeFeatures checks that kernel features with γ = 1 after the map predict new rows
// better than those of the original inputs.
func TestRFMBeforeFeatures(t *testing.T) {
	all := bent(900, 8)
	train, test := all.Slice(0, 600), all.Slice(600, 900)
	spec := rfmWith(func(s *RFM) { s.Kernel = "gaussian" })
	f := mustFit(t, spec, train)
	features := rffWith(func(s *RFF) { s.Gamma, s.Features = kernel.FixedGamma(1), 400 })
	mapped := train
	mapped.X = mustTransform(t, f, train.X)
	behind := mustFit(t, features, mapped)
	features.Gamma = kernel.GammaMedian()
	plain := mustFit(t, features, train)
	with := ridgeError(t, mustTransform(t, behind, mapped.X), train.Y,
		mustTransform(t, behind, mustTransform(t, f, test.X)), test.Y)
	without := ridgeError(t, mustTransform(t, plain, train.X), train.Y, mustTransform(t, plain, test.X), test.Y)
	if !(with < 0.2*without) {
		t.Errorf("mean squared error %.4f behind the map, %.4f of the inputs themselves", with, without)
	}
}

// ridgeError returns the mean squared error on test rows of ridge regression with a small penalty.
func ridgeError(t *testing.T, Z mat.Matrix, y []float64, testZ mat.Matrix, want []float64) float64 {
	t.Helper()
	_, d := Z.Dims()
	var gram, right, w, predicted mat.Dense
	gram.Mul(Z.T(), Z)
	for j := range d {
		gram.Set(j, j, gram.At(j, j)+1e-2)
	}
	right.Mul(Z.T(), mat.NewDense(len(y), 1, y))
	if err := w.Solve(&gram, &right); err != nil {
		t.Fatal(err)
	}
	predicted.Mul(testZ, &w)
	sum := 0.0
	for i, v := range want {
		sum += (predicted.At(i, 0) - v) * (predicted.At(i, 0) - v) / float64(len(want))
	}
	return sum
}

// A diagonal map is a factor for each input: sparse rows stay sparse, and columns keep their names. A full
// one mixes them.
func TestRFMOfSparseRows(t *testing.T) {
	data := bent(200, 5)
	data.Schema.Columns = []datasets.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}
	data.X = matrices.CSRFromDense(data.X)
	for _, diagonal := range []bool{false, true} {
		f := mustFit(t, rfmWith(func(s *RFM) { s.Diagonal = diagonal }), data).(*FittedRFM)
		if _, isSparse := mustTransform(t, f, data.X).(*matrices.CSR); isSparse != diagonal {
			t.Errorf("diagonal %v: sparse %v", diagonal, isSparse)
		}
		if name := f.OutputSchema(data.Schema).Columns[2].Name; name != map[bool]string{true: "c", false: "rfm2"}[diagonal] {
			t.Errorf("diagonal %v: column 2 is called %s", diagonal, name)
		}
		var want mat.Dense
		want.Mul(data.X, f.Matrix())
		equal(t, mustTransform(t, f, data.X), &want, 1e-12)
	}
}

// TestRFMOfASample checks that the map is fitted to a sample: more rows do not increase the cost,
// and the map approximates that of all.
func TestRFMOfASample(t *testing.T) {
	data := bent(3000, 5)
	f, err := rfmWith(func(s *RFM) { s.Rows = 400 }).FitSource(context.Background(), data.Source())
	if err != nil {
		t.Fatal(err)
	}
	if r := f.(*FittedRFM).Relevance(); min(r[1], r[3]) < 0.7 || max(r[0], r[2], r[4]) > 0.3 {
		t.Errorf("relevance %.2f", r)
	}
	small := NewRFM().Cost(datasets.Shape{Rows: 100000, Cols: 5})
	if large := NewRFM().Cost(datasets.Shape{Rows: 200000, Cols: 5}); large.Flops > 1.01*small.Flops {
		t.Errorf("%g flops for 100,000 rows, %g for 200,000", small.Flops, large.Flops)
	}
}

// TestRFMOfManyRows checks that many rows are fitted in parts, with the cost and memory of a part.
func TestRFMOfManyRows(t *testing.T) {
	data := bent(30000, 4)
	spec := rfmWith(func(s *RFM) { s.Rows, s.Part, s.Rounds = 30000, 300, 1 })
	f, err := spec.FitSource(context.Background(), data.Source())
	if err != nil {
		t.Fatal(err)
	}
	if r := f.(*FittedRFM).Relevance(); min(r[1], r[3]) < 0.9 || max(r[0], r[2]) > 0.2 {
		t.Errorf("relevance %.2f", r)
	}
	all := spec
	all.Part = 30000
	shape := datasets.Shape{Rows: 30000, Cols: 4}
	if a, b := spec.Cost(shape), all.Cost(shape); !(a.Flops < b.Flops/10) || !(a.Bytes < b.Bytes/10) {
		t.Errorf("%g flops and %d bytes, in one part %g and %d", a.Flops, a.Bytes, b.Flops, b.Bytes)
	}
}

// Distances that overflow are an error of the fit, and no panic.
func TestRFMOfExtremeDistances(t *testing.T) {
	for _, diagonal := range []bool{false, true} {
		X, y := mat.NewDense(60, 2, nil), make([]float64, 60)
		for i := range y {
			a, b := float64(i%9)-4, float64(i*i%11)-5
			X.SetRow(i, []float64{a, b})
			y[i] = a * b
		}
		large := NewRFM()
		large.Diagonal = diagonal
		huge := mat.DenseCopyOf(X)
		huge.Scale(1e156, huge)
		if _, err := large.Fit(context.Background(), datasets.Set{X: huge, Y: y}); err == nil ||
			!strings.Contains(err.Error(), "not finite") {
			t.Error(err)
		}
	}
}
