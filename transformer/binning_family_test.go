package transformer

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// TestFirstGridsAreTheNarrowMap checks that a member of a family is bit-identical to the map from
// its own fit, also on new rows.
func TestFirstGridsAreTheNarrowMap(t *testing.T) {
	ctx := context.Background()
	train, other := datasets.Set{X: uniform(300, 4)}, mat.NewDense(90, 4, nil)
	for i := range 90 {
		for j := range 4 {
			other.Set(i, j, float64((7*i+3*j)%17)/12-0.2)
		}
	}
	for _, name := range []string{"laplacian", "triangular", "smooth"} {
		for least, inputs := range map[int]int{1: 0, 4: 0, 2: 2} {
			spec := NewBinning()
			spec.Kernel, spec.Gamma, spec.MinCount, spec.Inputs, spec.InputWeights = kernel.Name(name), kernel.FixedGamma(3), least, inputs,
				"scales"
			var specs []Fitter
			for _, spec.Grids = range []int{1, 23, 5} {
				specs = append(specs, spec)
			}
			family, err := spec.FitFamily(ctx, train, specs)
			if err != nil {
				t.Fatal(err)
			}
			for _, X := range []mat.Matrix{train.X, other} {
				err := family.Each(ctx, X, []int{0}, func(_ int, Z mat.Matrix) error {
					if X == train.X {
						same(t, family.Fitted[0], Z, false)
					}
					for k, m := range family.Members {
						same(t, first(Z, m), mustTransform(t, mustFit(t, specs[k], train), X), name == "smooth")
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// first returns the features of a member, given those of its wide map.
func first(Z mat.Matrix, m FamilyMember) *matrices.CSR {
	n, _ := Z.Dims()
	out := mat.DenseCopyOf(Z).Slice(0, n, 0, m.Width).(*mat.Dense)
	out.Scale(m.Scale, out)
	return matrices.CSRFromDense(out)
}

// same compares sparse rows to the bit, or their values to rounding.
func same(t *testing.T, got, want mat.Matrix, rounded bool) {
	t.Helper()
	a, b := got.(*matrices.CSR), want.(*matrices.CSR)
	n, width := a.Dims()
	if m, w := b.Dims(); n != m || width != w || a.NNZ() != b.NNZ() {
		t.Fatalf("%d×%d with %d entries, want %d×%d with %d", n, width, a.NNZ(), m, w, b.NNZ())
	}
	for i := range n {
		columns, _ := a.Row(i)
		expected, _ := b.Row(i)
		for k, j := range columns {
			v, w := a.At(i, int(j)), b.At(i, int(j))
			if j != expected[k] || v != w && (!rounded || math.Abs(v-w) > 1e-15*math.Abs(w)) {
				t.Fatalf("row %d, entry %d: column %d is %v, want column %d, %v", i, k, j, v, expected[k], w)
			}
		}
	}
}

func TestRelatedGrids(t *testing.T) {
	spec := NewBinning()
	for name, change := range map[string]func(s *Binning){
		"another seed":   func(s *Binning) { s.Seed = 3 },
		"another gamma":  func(s *Binning) { s.Gamma = kernel.FixedGamma(2) },
		"another kernel": func(s *Binning) { s.Kernel = "hyperbolic" },
		"another count":  func(s *Binning) { s.MinCount = 2 },
		"fewer inputs":   func(s *Binning) { s.Inputs = 2 },
		"hashed columns": func(s *Binning) { s.Columns = 1000 },
	} {
		s := spec
		if change(&s); s.SameFamily(spec) || spec.SameFamily(s) {
			t.Errorf("%s: related", name)
		}
	}
	more, hashed := spec, spec
	more.Grids++
	if !more.SameFamily(spec) || !spec.SameFamily(more) || spec.SameFamily(NewRFF()) {
		t.Error("more grids are not related, or a map of another kind is")
	}
	hashed.Columns = 1000
	if hashed.SameFamily(hashed) {
		t.Error("hashed columns are part of others")
	}
}
