package estimator_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
)

// binnedRows are sparse rows of many more columns, as binning makes them, with three classes.
func binnedRows(n int) datasets.Set {
	const grids, bins = 60, 30
	rng := rand.New(rand.NewPCG(8, 2))
	var indices []uint32
	indptr, y := []int{0}, make([]float64, n)
	for i := range n {
		x := rng.Float64()
		y[i] = float64(int(3 * x))
		for p := range grids {
			indices = append(indices, uint32(p*bins+int(float64(bins)*(0.7*x+0.3*rng.Float64()))))
		}
		indptr = append(indptr, len(indices))
	}
	X, err := matrices.NewSharedCSR(n, grids*bins, indptr, indices, 0.125)
	if err != nil {
		panic(err)
	}
	return datasets.Set{X: X, Y: y}
}

// Candidates on sparse rows that differ in alpha only share one path of conjugate gradients, with
// the results of separate fits; candidates with another tolerance and with alpha 0 are separate.
func TestAlphasOfSparseRowsAreTheNaiveSearch(t *testing.T) {
	data := binnedRows(120)
	classes := data
	classes.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
		Categories: []string{"a", "b", "c"}}}
	weighted := data
	weighted.Weights = make([]float64, 120)
	several := data
	several.Y, several.Targets = nil, mat.NewDense(120, 2, nil)
	for i, v := range data.Y {
		weighted.Weights[i] = float64(1 + i%3)
		several.Targets.SetRow(i, []float64{v, float64(i % 5)})
	}
	for name, c := range map[string]struct {
		data  datasets.Set
		specs func(alphas ...float64) []estimator.Estimator
	}{
		"numbers":         {data, ridgesByRows},
		"weights":         {weighted, ridgesByRows},
		"several targets": {several, ridgesByRows},
		"classes":         {classes, classifiersByRows},
	} {
		t.Run(name, func(t *testing.T) {
			folds := foldsOf(120, 3)
			specs := c.specs(0.1, 1e-3, 1, 0)
			got, shared := fitBatch(t, c.data, folds, specs)
			if !slices.Contains(shared, "alpha") {
				t.Errorf("shared %v, want alpha among them", shared)
			}
			equalsNaive(t, c.data, folds, specs, got)
			b := jobOf(c.data, folds, specs, nil)
			b.Shape = c.data.Shape()
			if bytes, err := specs[0].(batch.Fitter).PlanBatch(b); err != nil || bytes <= 0 {
				t.Errorf("%d bytes, error %v", bytes, err)
			}
			some := b
			some.Include = func(candidate, fold int) bool { return (candidate+fold)%3 != 1 }
			some.Yield = func(candidate, fold int, out batch.Outcome) error {
				want := got[[2]int{candidate, fold}]
				if out.Scores != nil && !mat.Equal(out.Scores, want.Scores) || !slices.Equal(out.Values, want.Values) {
					t.Errorf("candidate %d on fold %d differs if not all are requested", candidate, fold)
				}
				return nil
			}
			if _, err := specs[0].(batch.Fitter).FitBatch(context.Background(), some); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Steps that end too early are a report of the candidate's own.
func TestUnreachedAlphas(t *testing.T) {
	data, folds := binnedRows(120), foldsOf(120, 2)
	var specs []estimator.Estimator
	for _, s := range ridgesByRows(1e-6, 1e-5) {
		one := s.(estimator.Ridge)
		one.MaxIter = 3
		specs = append(specs, one)
	}
	got, _ := fitBatch(t, data, folds, specs)
	for k, out := range got {
		if out.Err != nil || out.Report.Converged || len(out.Report.Warnings) != 1 {
			t.Errorf("candidate %v: error %v, report %+v", k, out.Err, out.Report)
		}
	}
}

func ridgesByRows(alphas ...float64) (out []estimator.Estimator) {
	for _, s := range ridges(alphas...) {
		one := s.(estimator.Ridge)
		one.Tol = 1e-13
		out = append(out, one)
	}
	return out
}

func classifiersByRows(alphas ...float64) (out []estimator.Estimator) {
	for _, a := range alphas {
		s := estimator.NewRidgeClassifier()
		s.Alpha, s.Tol = a, 1e-13
		out = append(out, s)
	}
	return out
}
