package estimator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
)

// TestSVMOnWideSparseRows checks that on wide rows with a shared value, auto uses the dual solver
// and finds newton's optimum, also with empty rows, whose bins were all dropped.
func TestSVMOnWideSparseRows(t *testing.T) {
	data := binsOfNoMeaning(t)
	for _, intercept := range []bool{false, true} {
		s := estimator.NewSVM()
		s.Intercept, s.Tol = intercept, 1e-6
		fit := func(solver string) estimator.Report {
			s.Solver = solver
			return report(t, s, data)
		}
		auto, newton := fit("auto"), fit("newton")
		if auto.Solver != "dual coordinate descent" || newton.Solver != "newton-cg" || !auto.Converged || auto.Gap > 1e-6 ||
			auto.Iterations > 200 {
			t.Errorf("intercept %v: auto %+v, newton %+v", intercept, auto, newton)
		}
		if math.Abs(auto.Objective-newton.Objective) > 1e-5*newton.Objective {
			t.Errorf("intercept %v: objective %v by the dual, %v by newton", intercept, auto.Objective, newton.Objective)
		}
	}
}

func report(t *testing.T, s estimator.Estimator, data datasets.Set) estimator.Report {
	t.Helper()
	model, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return model.(estimator.Reporter).Report()
}

// binsOfNoMeaning returns rows similar to those of random binning.
func binsOfNoMeaning(t *testing.T) datasets.Set {
	t.Helper()
	const rows, grids, bins = 400, 20, 50
	rng := rand.New(rand.NewPCG(5, 8))
	var columns []uint32
	indptr, y := make([]int, rows+1), make([]float64, rows)
	for i := range rows {
		for p := range grids {
			if i%40 > 0 { // the others are empty
				columns = append(columns, uint32(p*bins+rng.IntN(bins)))
			}
		}
		indptr[i+1] = len(columns)
		if rng.Float64() < 0.5 {
			y[i] = 1
		}
	}
	X, err := matrices.NewSharedCSR(rows, grids*bins, indptr, columns, 1/math.Sqrt(grids))
	if err != nil {
		t.Fatal(err)
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{Targets: []datasets.Column{{Kind: datasets.Categorical,
		Categories: []string{"no", "yes"}}}}}
}

// Logistic regression by the dual finds newton's optimum, with weights, on sparse rows of one value
// or of several and on dense ones, and auto takes it where rows are wide and sparse.
func TestLogisticByTheDualIsNewtons(t *testing.T) {
	shared := binsOfNoMeaning(t)
	rng := rand.New(rand.NewPCG(6, 9))
	weighted := shared
	weighted.Weights = make([]float64, shared.Rows())
	for i := range weighted.Weights {
		weighted.Weights[i] = float64(rng.IntN(4)) // some 0
	}
	several, dense := weighted, weighted
	several.X = matrices.CSRFromDense(mat.DenseCopyOf(shared.X))
	dense.X = mat.DenseCopyOf(shared.X.(*matrices.CSR).Slice(0, shared.Rows()))
	for name, data := range map[string]datasets.Set{"shared": shared, "weighted": weighted, "several": several,
		"dense": dense} {
		for _, C := range []float64{0.01, 1, 100} {
			s := estimator.NewLogistic()
			s.C, s.Tol, s.MaxIter, s.Solver = C, 1e-8, 20_000, "newton"
			newton := report(t, s, data)
			s.Solver = "dual"
			dual := report(t, s, data)
			if dual.Solver != "dual coordinate descent" || !dual.Converged || dual.Gap > 1e-8 ||
				math.Abs(dual.Objective-newton.Objective) > 1e-6*newton.Objective {
				t.Errorf("%s, C %v: %+v, newton %+v", name, C, dual, newton)
			}
			s.Solver = "auto"
			if auto := report(t, s, data); (auto.Solver == dual.Solver) != (name != "dense") {
				t.Errorf("%s: auto goes by %s", name, auto.Solver)
			}
		}
	}
	s := estimator.NewLogistic()
	s.Solver = "dual"
	if three := report(t, s, datasets.Set{X: mat.NewDense(3, 1, []float64{1, 2, 3}),
		Y: []float64{0, 1, 2}}); three.Solver != "newton-cg" {
		t.Errorf("three classes by %s", three.Solver)
	}
}

// A batch of dual solvers follows a path and predicts as separate fits; a part of it has the same
// bits.
func TestDualSweepIsTheNaiveSearch(t *testing.T) {
	data := binsOfNoMeaning(t)
	folds := append(foldsOf(data.Rows(), 3), datasets.Fold{Train: []int{0, 40}, Test: []int{1}}) // empty rows
	kinds := map[string]func(C float64) estimator.Estimator{
		"hinge": func(C float64) estimator.Estimator {
			s := estimator.NewSVM()
			s.C, s.Loss, s.Tol, s.MaxIter = C, "hinge", 1e-9, 50_000
			return s
		},
		"newton": func(C float64) estimator.Estimator {
			s := estimator.NewSVM()
			s.C, s.Solver = C, "newton"
			return s
		},
		"logistic": func(C float64) estimator.Estimator {
			s := estimator.NewLogistic()
			s.C, s.Tol, s.MaxIter = C, 1e-9, 50_000
			return s
		},
		"svr": func(C float64) estimator.Estimator {
			s := estimator.NewSVR()
			s.C, s.Epsilon, s.Loss, s.Tol, s.MaxIter = C, 0.1, "squared_epsilon_insensitive", 1e-10, 50_000
			return s
		},
	}
	for name, make := range kinds {
		data := data
		if name == "svr" {
			data.Schema.Targets = nil // codes as amounts
		}
		specs := []estimator.Estimator{make(3), make(0.1), make(1), make(-1)}
		got, shared := fitBatch(t, data, folds, specs)
		if path := slices.Contains(shared, "path"); path != (name != "newton") {
			t.Errorf("%s: shared %q", name, shared)
		}
		for at, one := range got {
			fitted, err := specs[at[0]].Fit(context.Background(), data.Select(folds[at[1]].Train))
			if err != nil || one.Err != nil {
				if err == nil || one.Err == nil || err.Error() != one.Err.Error() {
					t.Errorf("%s %v: %v, separately %v", name, at, one.Err, err)
				}
				continue
			}
			near(t, fmt.Sprint(name, at, " objective"), []float64{one.Report.Objective},
				[]float64{fitted.(estimator.Reporter).Report().Objective}, 2e-9)
			want, err := estimator.Predict(context.Background(), fitted, rowblock.Select(data.X, folds[at[1]].Test),
				estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if want.Scores != nil {
				near(t, fmt.Sprint(name, at), one.Scores.RawMatrix().Data, want.Scores.RawMatrix().Data, 1e-3)
			} else {
				near(t, fmt.Sprint(name, at), one.Values, want.Values, 1e-3)
			}
		}
		_, err := specs[0].(batch.Fitter).FitBatch(context.Background(),
			batch.Job{Data: data, Folds: folds, Candidates: batch.Candidates(specs...),
				Include: func(s, f int) bool { return s == 2 && f == 1 },
				Yield: func(s, f int, one batch.Outcome) error {
					if s != 2 || f != 1 || !reflect.DeepEqual(one.Prediction, got[[2]int{2, 1}].Prediction) {
						t.Errorf("%s: candidate %d on fold %d is not what it was with all", name, s, f)
					}
					return nil
				}})
		if err != nil {
			t.Error(err)
		}
	}
}
