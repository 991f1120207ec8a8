package rows

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// TestLeading checks that leading columns keep their format, times the factor, and that other
// columns are removed.
func TestLeading(t *testing.T) {
	dense := mat.NewDense(3, 4, []float64{1, 0, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0})
	ones, err := matrices.NewSharedCSR(3, 4, []int{0, 2, 3, 5}, []uint32{0, 3, 1, 2, 3}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, Z := range map[string]mat.Matrix{"dense": dense, "sparse": matrices.CSRFromDense(dense), "shared": ones} {
		for width := 1; width <= 4; width++ {
			got, err := Leading(Z, width, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			var want mat.Dense
			want.Scale(0.5, mat.DenseCopyOf(Z).Slice(0, 3, 0, width))
			if !mat.Equal(got, &want) {
				t.Errorf("%s, %d columns: %v, want %v", name, width, mat.Formatted(got), mat.Formatted(&want))
			}
			m, isSparse := got.(*matrices.CSR)
			if isSparse != (name != "dense") {
				t.Fatalf("%s: a %T came out", name, got)
			}
			if isSparse {
				if _, shared := m.Shared(); shared != (name == "shared") {
					t.Errorf("%s: one value for all is %v", name, shared)
				}
			}
		}
		for _, width := range []int{0, 5} {
			if _, err := Leading(Z, width, 1); err == nil {
				t.Errorf("%s: %d columns of 4 are taken", name, width)
			}
		}
	}
	if same, _ := Leading(dense, 4, 1); same != mat.Matrix(dense) {
		t.Error("all columns times 1 are copied")
	}
}
