package matrices

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Accessors return the values that were set.
func TestDenseViews(t *testing.T) {
	source := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	m := CopyDense32(source)
	if !mat.Equal(m, source) || !mat.Equal(m.T(), source.T()) || !mat.Equal(CopyDense32(source.T()), source.T()) {
		t.Error("a copy differs")
	}
	if !mat.Equal(m.Slice(1, 3), source.Slice(1, 3, 0, 2)) {
		t.Error("a slice differs")
	}
	if got := m.Leading(1); !mat.Equal(got, source.Slice(0, 3, 0, 1)) || len(got.Row(1)) != 1 ||
		!mat.Equal(got.Slice(1, 3), source.Slice(1, 3, 0, 1)) {
		t.Error("leading columns differ")
	}
	if got := m.Select([]int{2, 0}); got.At(0, 1) != 6 || got.At(1, 0) != 1 {
		t.Errorf("selected %v", mat.Formatted(got))
	}
	m.Row(1)[0] = 7
	if m.Slice(1, 2).At(0, 0) != 7 || m.Select([]int{1}).At(0, 0) != 7 {
		t.Error("a row is no view")
	}
	if got := CopyDense32(mat.NewDense(1, 1, []float64{0.1})).At(0, 0); got != float64(float32(0.1)) {
		t.Errorf("0.1 was rounded to %v", got)
	}
}

// Indices out of range and wrong lengths panic.
func TestPanics(t *testing.T) {
	m := NewDense32(2, 3, nil)
	for name, f := range map[string]func(){
		"row":     func() { m.At(2, 0) },
		"column":  func() { m.At(0, -1) },
		"leading": func() { m.Leading(4) },
		"length":  func() { NewDense32(2, 2, make([]float32, 3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
