package transformer

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/sparse"
)

// The part of a wide map is the narrow map, to the bit, also on rows that were not fitted to.
func TestPartIsTheNarrowMap(t *testing.T) {
	ctx := context.Background()
	train, other := datasets.Set{X: uniform(300, 4)}, mat.NewDense(90, 4, nil)
	for i := range 90 {
		for j := range 4 {
			other.Set(i, j, float64((7*i+3*j)%17)/12-0.2)
		}
	}
	for _, kernel := range []string{"laplacian", "triangular", "smooth"} {
		for _, least := range []int{1, 4} {
			spec := NewBinning()
			spec.Kernel, spec.Gamma, spec.MinCount, spec.Grids = kernel, FixedGamma(3), least, 23
			wide := mustFit(t, spec, train)
			for _, grids := range []int{1, 5, 23} {
				narrow := spec
				narrow.Grids = grids
				if !narrow.Within(spec) {
					t.Fatal("fewer grids are not within more")
				}
				own := mustFit(t, narrow, train)
				for _, X := range []mat.Matrix{train.X, other} {
					f, Z, err := narrow.Part(ctx, wide, mustTransform(t, wide, X))
					if err != nil {
						t.Fatal(err)
					}
					want := mustTransform(t, own, X)
					same(t, Z, want, kernel == "smooth")
					same(t, mustTransform(t, f, X), want, false)
				}
			}
		}
	}
}

// same compares sparse rows to the bit, or their values to rounding.
func same(t *testing.T, got, want mat.Matrix, rounded bool) {
	t.Helper()
	a, b := got.(*sparse.CSR), want.(*sparse.CSR)
	n, width := a.Dims()
	if m, w := b.Dims(); n != m || width != w || a.NNZ() != b.NNZ() {
		t.Fatalf("%d×%d with %d entries, wanted %d×%d with %d", n, width, a.NNZ(), m, w, b.NNZ())
	}
	for i := range n {
		columns, _ := a.Row(i)
		wanted, _ := b.Row(i)
		for k, j := range columns {
			v, w := a.At(i, int(j)), b.At(i, int(j))
			if j != wanted[k] || v != w && (!rounded || math.Abs(v-w) > 1e-15*math.Abs(w)) {
				t.Fatalf("row %d, entry %d: column %d is %v, wanted column %d, %v", i, k, j, v, wanted[k], w)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	wide := NewBinning()
	for name, change := range map[string]func(s *Binning){
		"more grids":     func(s *Binning) { s.Grids++ },
		"another seed":   func(s *Binning) { s.Seed = 3 },
		"another gamma":  func(s *Binning) { s.Gamma = FixedGamma(2) },
		"another kernel": func(s *Binning) { s.Kernel = "hyperbolic" },
		"another count":  func(s *Binning) { s.MinCount = 2 },
		"hashed columns": func(s *Binning) { s.Columns = HashedColumns(1000) },
	} {
		s := wide
		if change(&s); s.Within(wide) {
			t.Errorf("%s: within", name)
		}
	}
	if wide.Within(NewRFF()) {
		t.Error("within a map of another kind")
	}
	hashed := wide
	hashed.Columns = HashedColumns(1000)
	if hashed.Within(hashed) {
		t.Error("hashed columns are within others")
	}
}
