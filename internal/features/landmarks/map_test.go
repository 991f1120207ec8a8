package landmarks

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

func mapOf(t *testing.T, k *pairwise.Kernel, gamma float64, lm mat.Matrix) (*Map, []int) {
	_, d := lm.Dims()
	f, kept, err := NewMap(forever, k, k.Factors(slices.Repeat([]float64{gamma}, d)), lm)
	if err != nil {
		t.Fatal(err)
	}
	return f, kept
}

func features(t *testing.T, f *Map, X mat.Matrix) *mat.Dense {
	n, _ := X.Dims()
	Z := mat.NewDense(n, f.Width(), nil)
	if err := f.Float64(forever, design.View(Z), X); err != nil {
		t.Fatal(err)
	}
	return Z
}

func far(t *testing.T, what string, got, want mat.Matrix, tolerance float64) {
	t.Helper()
	n, d := want.Dims()
	if gn, gd := got.Dims(); gn != n || gd != d {
		t.Fatalf("%s: %d×%d, want %d×%d", what, gn, gd, n, d)
	}
	for i := range n {
		for j := range d {
			if !(math.Abs(got.At(i, j)-want.At(i, j)) <= tolerance) {
				t.Fatalf("%s: element %d, %d is %v, want %v", what, i, j, got.At(i, j), want.At(i, j))
			}
		}
	}
}

// Inner products of features are k(x, L)·k(L, L)⁻¹·k(L, y), by a dense inverse.
func TestMapIsTheKernelThroughLandmarks(t *testing.T) {
	X := clusters(200, 6, 4)
	for _, name := range []string{"gaussian", "laplacian", "cauchy", "matern"} {
		k := kernelOf(t, name)
		lm := X.Slice(0, 70, 0, 6).(*mat.Dense)
		f, kept := mapOf(t, k, 1, lm)
		if len(kept) != 70 {
			t.Fatalf("%s: %d of 70 landmarks are kept", name, len(kept))
		}
		x, l := pairwise.NewRows[float64](f.frame, X), pairwise.NewRows[float64](f.frame, lm)
		var inverse, want, got mat.Dense
		if err := inverse.Inverse(matrixOf(t, k, l, l)); err != nil {
			t.Fatal(err)
		}
		C := matrixOf(t, k, x, l)
		want.Product(C, &inverse, C.T())
		Z := features(t, f, X)
		got.Mul(Z, Z.T())
		far(t, name, &got, &want, 1e-8)

		short := matrices.NewDense32(200, 70, make([]float32, 200*70))
		if err := f.Float32(forever, design.ViewFloat32(short), X); err != nil {
			t.Fatal(err)
		}
		far(t, name+" in float32", short, Z, 2e-3)
		far(t, name+" of sparse rows", features(t, f, matrices.CSRFromDense(X)), Z, 1e-9)
		again, _ := mapOf(t, k, 1, matrices.CSRFromDense(lm))
		far(t, name+" of sparse landmarks", features(t, again, matrices.CSRFromDense(X)), Z, 1e-6)
	}
}

// The map of the first landmarks is the first columns.
func TestMapsAreNested(t *testing.T) {
	X := clusters(400, 3, 4)
	k := kernelOf(t, "gaussian")
	lm := X.Slice(0, 300, 0, 3).(*mat.Dense)
	wide, kept := mapOf(t, k, 1, lm)
	narrow, first := mapOf(t, k, 1, lm.Slice(0, 90, 0, 3).(*mat.Dense))
	m := len(first)
	if len(kept) == 300 || !slices.Equal(first, kept[:m]) {
		t.Fatalf("kept are %v and %v", first, kept)
	}
	Z := features(t, wide, X)
	far(t, "the narrow map", features(t, narrow, X), Z.Slice(0, 400, 0, m), 1e-7)
	far(t, "First", features(t, wide.First(m), X), Z.Slice(0, 400, 0, m), 1e-7)
}

// TestDependentLandmarksAreLeftOut checks that linearly dependent landmarks are removed without
// loss.
func TestDependentLandmarksAreLeftOut(t *testing.T) {
	X := clusters(50, 3, 4)
	lm := mat.NewDense(150, 3, nil)
	for i := range 150 {
		lm.SetRow(i, X.RawRowView(i%50))
	}
	for _, name := range []string{"gaussian", "laplacian"} {
		k := kernelOf(t, name)
		f, kept := mapOf(t, k, 3, lm)
		if len(kept) > 50 || slices.Max(kept) >= 50 {
			t.Errorf("%s: kept %v", name, kept)
		}
		x := rowsOf[float64](k, X, 3)
		Z := features(t, f, X)
		var got mat.Dense
		got.Mul(Z, Z.T())
		far(t, name, &got, matrixOf(t, k, x, x), 2*dependent)
	}
}

// TestFamilySharesDistances checks that the features of a family equal those of its maps.
func TestFamilySharesDistances(t *testing.T) {
	X, lm := clusters(150, 4, 4), clusters(90, 4, 5)
	for _, A := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
		var maps []*Map
		var kepts [][]int
		for _, name := range []string{"gaussian", "exponential", "laplacian", "cauchy", "gaussian", "rational_quadratic"} {
			f, kept := mapOf(t, kernelOf(t, name), 0.1*float64(1+len(maps)), lm)
			maps, kepts = append(maps, f), append(kepts, kept)
		}
		f, kept, err := NewMap(forever, kernelOf(t, "matern"), []float64{1, 2, 3, 0.5}, lm)
		if err != nil {
			t.Fatal(err)
		}
		family := NewFamily(append(maps, f), append(kepts, kept), lm)
		if want := []int{0, 0, -1, -1, 0, 0, -1}; !slices.Equal(family.of, want) {
			t.Errorf("groups are %v, want %v", family.of, want)
		}
		err = family.Each(forever, A, []int{6, 2, 0, 5, 3, 4, 1}, func(which int, Z mat.Matrix) error {
			far(t, "map", Z, features(t, family.maps[which], A), 1e-7)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Features do not depend on the number of cores, nor on how rows are cut.
func TestFeaturesAreTheSameForAnyCores(t *testing.T) {
	X := clusters(500, 4, 4)
	k := kernelOf(t, "matern")
	all := func() (out []float64) {
		f, _ := mapOf(t, k, 0.7, X.Slice(0, 200, 0, 4).(*mat.Dense))
		return features(t, f, X).RawMatrix().Data
	}
	want := all()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	if !slices.Equal(all(), want) {
		t.Error("features differ")
	}
}

// TestSample checks that a sample does not depend on the blocks, that samples are nested, and that
// all rows are equally likely.
func TestSample(t *testing.T) {
	X := mat.NewDense(1000, 1, nil)
	for i := range 1000 {
		X.Set(i, 0, float64(i))
	}
	draw := func(size, block int, seed uint64, rows mat.Matrix) mat.Matrix {
		s := NewSample(size, seed)
		for lo := 0; lo < 1000; lo += block {
			list := make([]int, 0, block)
			for i := lo; i < min(lo+block, 1000); i++ {
				list = append(list, i)
			}
			s.Add(Take(rows, list))
		}
		return s.Rows()
	}
	want := draw(60, 1000, 7, X)
	far(t, "blocks", draw(60, 37, 7, X), want, 0)
	far(t, "sparse", draw(60, 64, 7, matrices.CSRFromDense(X)), want, 0)
	far(t, "nested", draw(20, 10, 7, X), want.(*mat.Dense).Slice(0, 20, 0, 1), 0)
	if n, _ := draw(5000, 100, 7, X).Dims(); n != 1000 {
		t.Errorf("%d of 1000 rows", n)
	}
	count := make([]float64, 10) // by hundreds
	for seed := range uint64(400) {
		for _, v := range draw(25, 1000, seed, X).(*mat.Dense).RawMatrix().Data {
			count[int(v)/100]++
		}
	}
	for i, c := range count {
		if math.Abs(c-1000) > 5*math.Sqrt(900) {
			t.Errorf("hundred %d has %v of 1000 draws", i, c)
		}
	}
}

// TestPivotsBeatUniformLandmarks checks that pivots are much better than uniform landmarks if most
// rows are similar, and not worse otherwise.
func TestPivotsBeatUniformLandmarks(t *testing.T) {
	X := clusters(2000, 3, 8)
	k := kernelOf(t, "gaussian")
	x := rowsOf[float32](k, X, 1)
	previous := 1.0

	for _, m := range []int{60, 180} {
		s := NewSample(m, 1)
		s.Add(X)
		p, err := Pivoted(forever, x, k, m, 1)
		if err != nil {
			t.Fatal(err)
		}
		uniform, pivoted := lost(t, k, X, s.Rows()), lost(t, k, X, Take(X, p.Pivots))
		if math.Abs(pivoted-p.Rest/2000) > 1e-4 {
			t.Errorf("%d landmarks: %v of the trace is left, Rest reports %v", m, pivoted, p.Rest/2000)
		}
		if !(pivoted < uniform/3) || !(pivoted < previous/2) {
			t.Errorf("%d landmarks: left %v by pivots, %v by uniform ones, %v by fewer pivots", m, pivoted, uniform, previous)
		}
		previous = pivoted
	}
}

// lost returns the mean of k(x, x) − z(x)'z(x).
func lost(t *testing.T, k *pairwise.Kernel, X, lm mat.Matrix) float64 {
	f, _ := mapOf(t, k, 1, lm)
	Z := features(t, f, X)
	n, _ := Z.Dims()
	norm := mat.Norm(Z, 2)
	return 1 - norm*norm/float64(n)
}

// TestGoldenNystroem compares the kernel by landmarks, and ridge regression on the map, with
// scikit-learn and numpy.
func TestGoldenNystroem(t *testing.T) {
	for _, name := range []string{"gaussian", "laplacian"} {
		var input struct {
			Landmarks, X [][]float64
			Y            []float64
			Gamma        float64
			XTest        [][]float64 `json:"X_test"`
		}
		var expect struct {
			Kernel  [][]float64
			Predict []float64
		}
		golden.Load(t, "nystroem_"+name, &input, &expect)
		f, _ := mapOf(t, kernelOf(t, name), input.Gamma, denseOf(input.Landmarks))
		Z, test := features(t, f, denseOf(input.X)), features(t, f, denseOf(input.XTest))
		var kernel, gram, right, weights, predicted mat.Dense
		kernel.Mul(test, Z.Slice(0, len(expect.Kernel[0]), 0, f.Width()).T())
		far(t, name, &kernel, denseOf(expect.Kernel), 1e-9)

		gram.Mul(Z.T(), Z)
		for j := range f.Width() {
			gram.Set(j, j, gram.At(j, j)+0.1)
		}
		right.Mul(Z.T(), mat.NewVecDense(len(input.Y), input.Y))
		if err := weights.Solve(&gram, &right); err != nil {
			t.Fatal(err)
		}
		predicted.Mul(test, &weights)
		far(t, name+", ridge", &predicted, mat.NewVecDense(len(expect.Predict), expect.Predict), 1e-8)
	}
}

func denseOf(rows [][]float64) *mat.Dense {
	out := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		out.SetRow(i, r)
	}
	return out
}
