package estimator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/sparse"
)

// On wide rows of one shared value, auto goes by the dual, and what it finds is newton's optimum; rows
// whose bins were all dropped are empty, and do not hold it up.
func TestSVMOnWideSparseRows(t *testing.T) {
	const rows, grids, bins = 400, 20, 50
	rng := rand.New(rand.NewPCG(5, 8))
	var columns []uint32
	indptr, y := make([]int, rows+1), make([]float64, rows)
	for i := range rows {
		for p := range grids {
			if i%40 > 0 { // the others stay empty
				columns = append(columns, uint32(p*bins+rng.IntN(bins)))
			}
		}
		indptr[i+1] = len(columns)
		if rng.Float64() < 0.5 {
			y[i] = 1
		}
	}
	X, err := sparse.NewShared(rows, grids*bins, indptr, columns, 1/math.Sqrt(grids))
	if err != nil {
		t.Fatal(err)
	}
	for _, intercept := range []bool{false, true} {
		s := estimator.NewSVM()
		s.Intercept, s.Tol = intercept, 1e-6
		fit := func(solver string) estimator.Report {
			s.Solver = solver
			model, err := s.Fit(context.Background(), datasets.Set{X: X, Y: y})
			if err != nil {
				t.Fatal(err)
			}
			return model.(estimator.Reporter).Report()
		}
		auto, newton := fit("auto"), fit("newton")
		if auto.Solver != "dual coordinate descent" || newton.Solver != "newton-cg" || !auto.Converged || auto.Gap > 1e-6 || auto.Iterations > 200 {
			t.Errorf("intercept %v: auto %+v, newton %+v", intercept, auto, newton)
		}
		if math.Abs(auto.Objective-newton.Objective) > 1e-5*newton.Objective {
			t.Errorf("intercept %v: objective %v by the dual, %v by newton", intercept, auto.Objective, newton.Objective)
		}
	}
}
