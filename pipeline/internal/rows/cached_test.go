package rows

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer"
)

// copied passes rows on.
type copied struct{ width int }

func (c copied) OutputWidth() int { return c.width }

func (c copied) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	return mat.DenseCopyOf(X), nil
}

func (c copied) TransformTo(_ context.Context, dst *mat.Dense, X mat.Matrix) error {
	dst.Copy(X)
	return nil
}

// TestFormOfCachedRows checks that mapped rows are cached sparse if they are mostly zero and all
// later steps support sparse rows.
func TestFormOfCachedRows(t *testing.T) {
	X := mat.NewDense(600, 20, nil)
	for i := range 600 {
		X.Set(i, i%20, 1+float64(i))
	}
	full := mat.NewDense(600, 20, nil)
	full.Apply(func(i, j int, _ float64) float64 { return float64(1 + i*j) }, full)
	rff, next := transformer.NewRFF(), transformer.NewStandardize()
	for _, c := range []struct {
		name  string
		X     *mat.Dense
		takes []transformer.Fitter
		want  bool
	}{
		{"thin", X, []transformer.Fitter{rff, transformer.NewBinning()}, true},
		{"full", full, []transformer.Fitter{rff}, false},
		{"for another step", X, []transformer.Fitter{rff, next}, false},
		{"for an estimator", X, []transformer.Fitter{nil}, false},
		{"few", X.Slice(0, 100, 0, 20).(*mat.Dense), []transformer.Fitter{rff}, false},
	} {
		s := &Step{Fitted: copied{20}}
		if _, err := s.Learn(context.Background(), c.X.Slice(0, 1, 0, 20)); err != nil {
			t.Fatal(err)
		}
		Z, err := s.MapCached(context.Background(), c.X, c.takes...)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := Z.(*matrices.CSR); got != c.want {
			t.Errorf("%s: sparse %v, want %v", c.name, got, c.want)
		}
		if !mat.Equal(Z, c.X) {
			t.Errorf("%s: other rows", c.name)
		}
	}
}
