package estimator

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// signed returns rows of two classes.
func signed(n, d int) datasets.Set {
	data := stopRows(n, d, false)
	for i, y := range data.Y {
		data.Y[i] = 0
		if y > 0 {
			data.Y[i] = 1
		}
	}
	return data
}

// fails checks that a fit returns an error with the given words.
func fails(t *testing.T, what string, e Estimator, data datasets.Set, words ...string) {
	t.Helper()
	p, err := e.Fit(context.Background(), data)
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) || p != nil {
			t.Errorf("%s: %v and the error %v, want one with %q", what, p, err, w)
		}
	}
}

// TestZeroClassWeights checks that class weights of 0 for all rows are an error that
// names them.
func TestZeroClassWeights(t *testing.T) {
	none := ClassWeight{Weights: map[string]float64{"0": 0, "1": 0}}
	logistic, svm, ridge := NewLogistic(), NewSVM(), NewRidgeClassifier()
	logistic.ClassWeight, svm.ClassWeight, ridge.ClassWeight = none, none, none
	for _, e := range []Estimator{logistic, svm, ridge} {
		fails(t, "no class has weight", e, signed(30, 2), "class_weight gives every row weight 0")
	}
}

// Newton's method names an entry that is not finite where no preconditioner adds it up: in sparse rows
// that are too wide for one.
func TestNewtonErrorNamesNonFinite(t *testing.T) {
	logistic, svm, svr := NewLogistic(), NewSVM(), NewSVR()
	logistic.Solver, svm.Solver, svr.Solver = "newton", "newton", "newton"
	svr.Loss = "squared_epsilon_insensitive"
	for what, v := range map[string]float64{"infinite value": math.Inf(1), "missing": math.NaN()} {
		data := signed(40, newton.MaxSparseFactorColumns+8)
		X := mat.DenseCopyOf(data.X)
		X.Set(17, 5, v)
		data.X = matrices.CSRFromDense(X)
		data.Schema.Columns = make([]datasets.Column, newton.MaxSparseFactorColumns+8)
		data.Schema.Columns[5].Name = "weight"
		for _, e := range []Estimator{logistic, svm, svr, NewPoisson(), NewHuber(), NewQuantileRegression()} {
			fails(t, what, e, data, "row 17", "weight", what)
		}
	}
}

// pieces is a source of given blocks.
type pieces struct {
	cols   int
	blocks []datasets.Set
}

func (p pieces) Schema() datasets.Schema { return datasets.Schema{} }
func (p pieces) Dims() (rows, cols int)  { return -1, p.cols }

func (p pieces) Blocks(_ context.Context, yield func(datasets.Set) error) error {
	for _, b := range p.blocks {
		if err := yield(b); err != nil {
			return err
		}
	}
	return nil
}

// Inconsistent blocks are an error of every model that names the mismatch; so is an empty stream.
func TestInvalidBlocks(t *testing.T) {
	rows := func(n, d int) *mat.Dense {
		X := mat.NewDense(n, d, nil)
		for i := range n {
			X.Set(i, 0, float64(i))
		}
		return X
	}
	good := datasets.Set{X: rows(4, 2), Y: []float64{0, 1, 0, 1}}
	one := []BlockEstimator{NewRidge(), Ridge{Alpha: 1, Solver: "cg", Tol: 1e-8, MaxIter: 10}, NewLogistic(), NewSVM(),
		NewSVR(), NewTweedie(), NewHuber(), NewQuantileRegression()}
	two := one[:2]
	for _, c := range []struct {
		what   string
		models []BlockEstimator
		blocks []datasets.Set
		want   string
	}{
		{"another width", one, []datasets.Set{good, {X: rows(4, 3), Y: good.Y}}, "row 4: must have 2 columns, got 3"},
		{"too few weights", one, []datasets.Set{good, {X: rows(4, 2), Y: good.Y, Weights: []float64{1}}},
			"rows from 4: 1 weights for 4 rows"},
		{"too few targets", one, []datasets.Set{good, {X: rows(4, 2), Y: []float64{1}}}, "rows from 4: 1 targets for 4 rows"},
		{"several targets", one[4:], []datasets.Set{{X: rows(4, 2), Targets: rows(4, 2)}}, "must have one target, got 2"},
		{"no labels", one[2:4], []datasets.Set{{X: rows(4, 2), Targets: rows(4, 2)}},
			"label 0: row 2: target must be a class code from 0 to 1, got 2"},
		{"another number of targets", two, []datasets.Set{good, {X: rows(4, 2), Targets: rows(4, 2)}},
			"rows from 4: must have 1 targets, got 2"},
		{"no rows", one, nil, "no rows"},
	} {
		for _, e := range c.models {
			p, err := e.FitSource(context.Background(), pieces{2, c.blocks})
			if err == nil || !strings.Contains(err.Error(), c.want) || p != nil {
				t.Errorf("%s, %T: %v and the error %v, want one with %q", c.what, e, p, err, c.want)
			}
		}
	}
	if p, err := NewRidge().FitSource(context.Background(), pieces{0, nil}); err == nil ||
		!strings.Contains(err.Error(), "columns") {
		t.Errorf("no columns: %v and the error %v", p, err)
	}
	short := datasets.Set{X: rows(4, 2), Targets: rows(3, 2)}
	fails(t, "too few rows of targets", NewRidge(), short, "4 rows in X, 3 in Targets")
	coded := good
	coded.Schema.Columns = []datasets.Column{{Name: "size"}, {Name: "colour", Kind: datasets.Categorical,
		Categories: []string{"red", "blue"}}}
	for _, e := range one {
		fails(t, "codes of levels", e.(Estimator), coded, "column colour must be numeric, got categorical")
	}
}

// Numbers at the end of the range give no model and no prediction, rather than one of infinities.
func TestResultsAreFinite(t *testing.T) {
	data := stopRows(20, 2, false)
	kern.Scale(10, data.Y)
	p, err := NewRidge().Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	values, err := p.Predict(context.Background(), mat.NewDense(2, 2, []float64{1, 2, math.MaxFloat64, math.MaxFloat64}))
	if p := p.(*FittedLinear); math.Abs(p.Coef().At(0, 0))+math.Abs(p.Coef().At(0, 1)) <= 1 {
		t.Fatal("the model is too small to overflow")
	}
	if err == nil || !strings.Contains(err.Error(), "too large to predict from") || values != nil {
		t.Errorf("%v and the error %v", values, err)
	}
	if m, err := solve.NewLinear([]float64{1, math.Inf(1)}, []float64{0}, solve.Report{}); err == nil ||
		!strings.Contains(err.Error(), "not finite") {
		t.Errorf("%v and the error %v", m, err)
	}
}

// Rows in float32 have predictions in the unit of the targets, also where coefficients in that unit have no place
// in float32.
func TestTargetsInAnyUnitInSinglePrecision(t *testing.T) {
	ctx := context.Background()
	for _, unit := range []float64{1e-200, 1e-42, 1e-30, 1, 1e30, 1e39, 1e150} {
		data := stopRows(200, 3, false)
		kern.Scale(unit, data.Y)
		want, err := NewRidge().Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		rounded := matrices.CopyDense32(data.X)
		y, err := want.Predict(ctx, data.X)
		got, err2 := want.Predict(ctx, rounded)
		if err != nil || err2 != nil {
			t.Fatalf("unit %v: %v, %v", unit, err, err2)
		}
		largest := 0.0
		for _, v := range y {
			largest = max(largest, math.Abs(v))
		}
		for i := range y {
			if !(math.Abs(got[i]-y[i]) <= 1e-5*largest) || largest == 0 {
				t.Fatalf("unit %v, row %d: %v of rows in single precision, %v in double", unit, i, got[i], y[i])
			}
		}
	}
}

// Variances must be positive and finite, or 0 for auto; leave-one-out needs a penalty to try.
func TestVarianceAndLeaveOneOutErrors(t *testing.T) {
	data := stopRows(20, 2, false)
	process := NewGaussianProcess()
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		process.Noise = Variance(v)
		if p, err := process.Fit(context.Background(), data); err == nil ||
			!strings.Contains(err.Error(), "noise: must be auto, or a number > 0") || p != nil {
			t.Errorf("noise %v: %v and the error %v", v, p, err)
		}
	}
	if out, err := NewRidge().LeaveOneOut(context.Background(), data, nil); err == nil ||
		!strings.Contains(err.Error(), "no alphas") {
		t.Errorf("%v and the error %v", out, err)
	}
	both := ClassWeight{Balanced: true, Weights: map[string]float64{"0": 1}}
	if err := both.Check(); err == nil {
		t.Error("balanced class weights may have weights too")
	}
}
