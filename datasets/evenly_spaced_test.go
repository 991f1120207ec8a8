package datasets

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// TestEvenlySpaced checks that evenly spaced rows are ascending and start with the first.
func TestEvenlySpaced(t *testing.T) {
	for _, c := range []struct {
		n, maxRows int
		want       []int
	}{{10, 3, []int{0, 3, 6}}, {3, 10, []int{0, 1, 2}}, {0, 5, []int{}}, {7, 1, []int{0}}} {
		if got := rowblock.EvenlySpaced(c.n, c.maxRows); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d rows: %v, want %v", c.maxRows, c.n, got, c.want)
		}
	}
	s := Set{X: mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4}), Y: []float64{0, 10, 20, 30, 40}}
	if some := s.EvenlySpaced(2); !slices.Equal(some.Y, []float64{0, 20}) || some.X.At(1, 0) != 2 {
		t.Errorf("%v", some.Y)
	}
	if all := s.EvenlySpaced(5); all.X != s.X {
		t.Error("all rows are copied")
	}
}
