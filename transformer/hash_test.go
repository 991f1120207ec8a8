package transformer

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// TestHashAgainstScikitLearn compares with scikit-learn 1.9.1:
//
//	rows = [{"colour": c, "size": s} for c in ["red", "green", "blue"] for s in ["S", "XL"]]
//	FeatureHasher(n_features=7, alternate_sign=signed).transform(rows)
func TestHashAgainstScikitLearn(t *testing.T) {
	X := mat.NewDense(6, 2, []float64{0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1})
	schema := datasets.Schema{Columns: []datasets.Column{
		{Name: "colour", Kind: datasets.Categorical, Categories: []string{"red", "green", "blue"}},
		{Name: "size", Kind: datasets.Categorical, Categories: []string{"S", "XL"}}}}
	for signed, want := range map[bool][]float64{
		true: {0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, -1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0, 0,
			0, 0, -1, 0, 0, 1, 0},
		false: {0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0,
			0, 1, 0, 0, 1, 0},
	} {
		f := mustFit(t, Hash{Features: 7, Signed: signed}, datasets.Set{X: X, Schema: schema})
		equal(t, mustTransform(t, f, X), mat.NewDense(6, 7, want), 0)
		nothing := mat.NewDense(1, 2, []float64{datasets.Unknown, math.NaN()})
		equal(t, mustTransform(t, f, nothing), mat.NewDense(1, 7, nil), 0)
	}
}

// Fit reads no rows, so an invalid code is an error of Transform that names its row.
func TestHashRefusesCodes(t *testing.T) {
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "c", Kind: datasets.Categorical,
		Categories: []string{"a"}}}}
	f := mustFit(t, NewHash(), datasets.Set{X: mat.NewDense(1, 1, nil), Schema: schema})
	if _, err := f.Transform(context.Background(), mat.NewDense(2, 1, []float64{0, 3})); err == nil {
		t.Error("3 is taken for a code of 1 category")
	}
}
