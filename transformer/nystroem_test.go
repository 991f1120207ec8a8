package transformer

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
)

// With all rows as landmarks, inner products are the kernel.
func TestAllRowsAsLandmarksMakeTheKernel(t *testing.T) {
	X := uniform(60, 4)
	for _, choose := range []string{"uniform", "rpcholesky"} {
		for _, name := range []string{"gaussian", "laplacian", "matern"} {
			s := nystroemWith(func(s *Nystroem) { s.Kernel, s.Choose, s.Gamma = kernel.Name(name), choose, kernel.FixedGamma(2) })
			f := mustFit(t, s, datasets.Set{X: X}).(*FittedNystroem)
			Z := mustTransform(t, f, X)
			var G mat.Dense
			G.Mul(Z, Z.T())
			K, err := f.KernelMatrix(context.Background(), X, X)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, &G, K, 1e-5)
		}
	}
}

// Few landmarks are the first of many, and their map is the first columns; so is that of WithLandmarks.
func TestLandmarksAreNested(t *testing.T) {
	X := uniform(500, 6)
	for _, choose := range []string{"uniform", "rpcholesky"} {
		s := nystroemWith(func(s *Nystroem) { s.Kernel, s.Choose, s.Landmarks, s.Seed = "exponential", choose, 200, 3 })
		wide := mustFit(t, s, datasets.Set{X: X}).(*FittedNystroem)
		s.Landmarks = 70
		narrow := mustFit(t, s, datasets.Set{X: X}).(*FittedNystroem)
		equal(t, narrow.Landmarks(), wide.Landmarks().(*mat.Dense).Slice(0, 70, 0, 6), 0)
		first := mustTransform(t, wide, X).(*mat.Dense).Slice(0, 500, 0, 70)
		equal(t, mustTransform(t, narrow, X), first, 1e-8)
		part, err := wide.WithLandmarks(70)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, mustTransform(t, part, X), first, 1e-8)
		for _, m := range []int{0, 201} {
			if f, err := wide.WithLandmarks(m); err == nil || f != nil {
				t.Errorf("%d of 200 landmarks are %v", m, f)
			}
		}
	}
}

// Kernels and γ of one seed are maps by the same uniform landmarks; pivots are of one kernel and γ.
func TestRelatedLandmarks(t *testing.T) {
	base := NewNystroem()
	for _, c := range []struct {
		change           func(*Nystroem)
		uniform, pivoted bool
	}{
		{func(s *Nystroem) { s.Landmarks = 9 }, true, true},
		{func(s *Nystroem) { s.Nu = 7 }, true, true}, // of another kernel
		{func(s *Nystroem) { s.Kernel = "laplacian" }, true, false},
		{func(s *Nystroem) { s.Gamma = kernel.FixedGamma(1) }, true, false},
		{func(s *Nystroem) { s.Seed = 1 }, false, false},
	} {
		for choose, want := range map[string]bool{"uniform": c.uniform, "rpcholesky": c.pivoted} {
			a := base
			a.Choose = choose
			b := a
			c.change(&b)
			if a.SameFamily(b) != want || b.SameFamily(a) != want {
				t.Errorf("%+v and %+v: related %v", a, b, a.SameFamily(b))
			}
		}
	}
	if base.SameFamily(nystroemWith(func(s *Nystroem) { s.Choose = "rpcholesky" })) || base.SameFamily(NewRFF()) {
		t.Error("other landmarks are related")
	}
}

// The shared distances and nested sizes are named, and what is planned is what there is.
func TestLandmarkFamilyTellsWhatItShares(t *testing.T) {
	data := datasets.Set{X: uniform(100, 3)}
	for _, c := range []struct {
		specs []Fitter
		want  []string
	}{
		{[]Fitter{NewNystroem()}, nil},
		{[]Fitter{NewNystroem(), nystroemWith(func(s *Nystroem) { s.Landmarks = 9 })}, []string{"landmarks"}},
		{[]Fitter{NewNystroem(), nystroemWith(func(s *Nystroem) { s.Gamma = kernel.FixedGamma(3) })}, []string{"distances"}},
	} {
		family, err := NewNystroem().FitFamily(context.Background(), data, c.specs)
		if err != nil {
			t.Fatal(err)
		}
		members := NewNystroem().FamilyMembers(datasets.Shape{Rows: 100, Cols: 3}, c.specs)
		if !slices.Equal(family.Shared(), c.want) {
			t.Errorf("shared %v, want %v", family.Shared(), c.want)
		}
		for i, m := range family.Members() {
			if m.Map != members[i].Map || m.Width > members[i].Width {
				t.Errorf("member %d is %+v, planned %+v", i, m, members[i])
			}
		}
	}
}

// The error of the kernel falls with the number of landmarks, and pivots serve better than uniform
// ones where few directions hold most of it.
func TestErrorOfLandmarks(t *testing.T) {
	data, sizes := cluttered(1500), []int{20, 80, 320}
	of := func(choose string, m int) float64 {
		sum := 0.0
		for seed := range uint64(3) {
			s := nystroemWith(func(s *Nystroem) {
				s.Choose, s.Landmarks, s.Gamma, s.Seed = choose, m, kernel.FixedGamma(0.5),
					seed
			})
			f := mustFit(t, s, datasets.Set{X: data}).(*FittedNystroem)
			norm := mat.Norm(mustTransform(t, f, data), 2)
			sum += 1 - norm*norm/1500 // mean of k(x, x) − z(x)'z(x)
		}
		return sum / 3
	}
	before := 1.0
	for _, m := range sizes {
		uniform, pivoted := of("uniform", m), of("rpcholesky", m)
		if !(pivoted < before/2) || m > 20 && !(pivoted < uniform/2) {
			t.Errorf("%d landmarks leave %.2g, uniform ones %.2g, fewer %.2g", m, pivoted, uniform, before)
		}
		before = pivoted
	}
}

// cluttered returns rows of which a tenth lies around a few places far from the others.
func cluttered(n int) *mat.Dense {
	X := uniform(n, 3)
	for i := range n {
		if i%10 == 0 {
			for j := range 3 {
				X.Set(i, j, 2*X.At(i, j)+4*float64(1+i/10%3))
			}
		} else {
			for j := range 3 {
				X.Set(i, j, 0.3*X.At(i, j))
			}
		}
	}
	return X
}

// A map of the landmarks of the reference, kept in no order of ours, has its kernel.
func TestGoldenLandmarks(t *testing.T) {
	for _, name := range []string{"gaussian", "laplacian"} {
		var input struct {
			Landmarks, X [][]*float64
			Gamma        float64
			XTest        [][]*float64 `json:"X_test"`
		}
		var expect struct{ Kernel [][]*float64 }
		golden.Load(t, "nystroem_"+name, &input, &expect)
		s := nystroemWith(func(s *Nystroem) { s.Kernel, s.Gamma = kernel.Name(name), kernel.FixedGamma(input.Gamma) })
		f := mustFit(t, s, datasets.Set{X: denseOf(input.Landmarks)})
		var got mat.Dense
		got.Mul(mustTransform(t, f, denseOf(input.XTest)), mustTransform(t, f, denseOf(input.X[:len(expect.Kernel[0])])).T())
		equal(t, &got, denseOf(expect.Kernel), 1e-9)
	}
}

// More landmarks than memory holds are refused before any row is read.
func TestLandmarksThatDoNotFit(t *testing.T) {
	s := nystroemWith(func(s *Nystroem) { s.Landmarks = 1 << 20 })
	if _, err := s.FitSource(context.Background(), claim{-1, 5}); err == nil {
		t.Error("2⁴⁰ numbers fit")
	}
	if c := s.Cost(datasets.Shape{Rows: 1 << 30, Cols: 5}); c.Bytes < 8<<40 || c.OutputWidth != 1<<20 ||
		math.IsInf(c.Flops, 0) {
		t.Errorf("they cost %+v", c)
	}
}

// Landmarks of one's own are the rows of a file, in the order of its columns or by the names in its header.
func TestNystroemLandmarksFromFile(t *testing.T) {
	X := mat.NewDense(3, 2, []float64{0, 1, 2, 3, 5, 4})
	data := datasets.Set{X: X, Schema: datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"}}}}
	spec := NewNystroem()
	spec.Gamma, spec.LandmarksFrom = kernel.FixedGamma(0.1), filepath.Join(t.TempDir(), "own.csv")
	for text, want := range map[string]string{
		"b,note,a\n1,x,2\n-4,y,0.5\n": "",
		"2,1\n0.5, -4\n":              "",
		"a,c\n1,2\n":                  "line 1: no column b",
		"1\n2\n":                      "line 1: must have 2 columns, got 1",
		"1,2,3\n":                     "line 1: must have 2 columns, got 3",
		"1,2\n3,x\n":                  `line 2: must be numbers, got "x"`,
		"a,b\n":                       "nothing to learn from",
		"1,NaN\n":                     "missing",
	} {
		if err := os.WriteFile(spec.LandmarksFrom, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := spec.Fit(t.Context(), data)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want == "":
			equal(t, f.(*FittedNystroem).Landmarks(), mat.NewDense(2, 2, []float64{2, 1, 0.5, -4}), 0)
		}
	}
	spec.LandmarksFrom += ".missing"
	if _, err := spec.Fit(t.Context(), data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
