package transformer

import (
	"context"
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
)

// withOutliers returns rows of which every third has weight 0 and large values, and the others alone.
func withOutliers(n int) (all, others datasets.Set) {
	X := uniform(n, 3)
	all = datasets.Set{X: X, Weights: make([]float64, n)}
	var rows []int
	for i := range n {
		if i%3 == 0 {
			X.Set(i, i%2, 1000)
			continue
		}
		all.Weights[i] = float64(i%3) / 2
		rows = append(rows, i)
	}
	return all, all.Select(rows)
}

// TestRulesExcludeRowsOfWeightZero checks that rows of weight 0 change neither γ nor landmarks, in
// separate fits and in families.
func TestRulesExcludeRowsOfWeightZero(t *testing.T) {
	ctx := context.Background()
	all, others := withOutliers(60)
	probe := uniform(9, 3)
	same := func(name string, a, b Transformer) {
		t.Helper()
		Z, err := a.Transform(ctx, probe)
		if err != nil {
			t.Fatal(err)
		}
		want, err := b.Transform(ctx, probe)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(Z, want) {
			t.Errorf("%s: rows of weight 0 change the features", name)
		}
	}
	for _, gamma := range []kernel.Gamma{kernel.GammaScale(), kernel.GammaMedian()} {
		rff, nystroem, binning, sketch, softmax := NewRFF(), NewNystroem(), NewBinning(), NewPolynomialSketch(),
			NewSoftmaxFeatures()
		rff.Features, rff.Gamma = 20, gamma
		nystroem.Landmarks, nystroem.Gamma = 8, gamma
		binning.Grids, binning.Columns, binning.Gamma = 10, 64, gamma
		binning.Inputs, binning.InputWeights = 2, "scales"
		sketch.Features, sketch.Gamma = 20, gamma
		softmax.Features, softmax.Gamma = 20, gamma
		columns, pivoted, few := rff, nystroem, rff
		term, rest := kernel.NewTerm(kernel.Gaussian, "x0"), kernel.NewTerm(kernel.Laplacian, "rest")
		term.Gamma, rest.Gamma = gamma, gamma
		columns.Kernel = kernel.Product(term, rest)
		pivoted.Choose, few.Features = "rpcholesky", 12
		for i, spec := range []Fitter{rff, nystroem, binning, sketch, softmax, columns, pivoted, few} {
			a, err := spec.Fit(ctx, all)
			if err != nil {
				t.Fatal(err)
			}
			b, err := spec.Fit(ctx, others)
			if err != nil {
				t.Fatal(err)
			}
			same(fmt.Sprint(i, " ", gamma.Rule()), a, b)
		}
		for _, family := range [][]Fitter{{rff, few}, {nystroem, nystroem}} {
			a, err := family[0].(FamilyFitter).FitFamily(ctx, all, family)
			if err != nil {
				t.Fatal(err)
			}
			b, err := family[0].Fit(ctx, others)
			if err != nil {
				t.Fatal(err)
			}
			want, err := b.Transform(ctx, probe)
			if err != nil {
				t.Fatal(err)
			}
			err = a.Each(ctx, probe, []int{0}, func(_ int, Z mat.Matrix) error {
				if !mat.EqualApprox(Z, want, 1e-12) {
					t.Errorf("%s: rows of weight 0 change the features of a family of %T", gamma.Rule(), family[0])
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWeightedNumbersRows checks that a pass without rows of weight 0 names rows by their numbers in the source.
func TestWeightedNumbersRows(t *testing.T) {
	X := uniform(5000, 2)
	data := datasets.Set{X: X, Weights: make([]float64, 5000)}
	for i := range data.Weights {
		data.Weights[i] = 1
	}
	data.Weights[7] = 0
	seen := 0
	err := weighted{data.Source()}.Blocks(context.Background(), func(block datasets.Set) error {
		for i := range block.Rows() {
			at := seen + i
			if at >= 7 {
				at++
			}
			got := block.Locate(&datasets.RowError{Row: seen + i, Err: datasets.ErrEmpty}, seen).Error()
			if want := fmt.Sprintf("row %d: %v", at, datasets.ErrEmpty); got != want || block.X.At(i, 0) != X.At(at, 0) {
				t.Fatalf("%q, want %q", got, want)
			}
		}
		seen += block.Rows()
		return nil
	})
	if err != nil || seen != 4999 {
		t.Errorf("%d rows, %v", seen, err)
	}
}
