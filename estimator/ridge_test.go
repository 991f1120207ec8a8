package estimator_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// The leave-one-out prediction of a row equals that of a fit without the row, for tall and wide
// data, with weights and several targets, with and without intercept.
func TestLeaveOneOutIsFittingWithoutTheRow(t *testing.T) {
	for _, shape := range [][2]int{{14, 3}, {9, 15}} {
		for _, intercept := range []bool{true, false} {
			for _, weighted := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v/%v/%v", shape, intercept, weighted), func(t *testing.T) {
					x, codes, y, weights := noisy(21, shape[0], shape[1])
					targets := mat.NewDense(shape[0], 2, nil)
					targets.SetCol(0, y)
					targets.SetCol(1, codes)
					data := datasets.Set{X: x, Targets: targets, Weights: weights}
					if !weighted {
						data.Weights = nil
					}
					s := estimator.NewRidge()
					s.Intercept = intercept
					leaveOneOut(t, s, data)
				})
			}
		}
	}
}

func leaveOneOut(t *testing.T, s estimator.Ridge, data datasets.Set) {
	t.Helper()
	ctx := context.Background()
	alphas := []float64{0.03, 2}
	got, err := s.LeaveOneOut(ctx, data, alphas)
	if err != nil {
		t.Fatal(err)
	}
	n := data.Rows()
	for k, alpha := range alphas {
		s.Alpha = alpha
		sum, total := 0.0, 0.0
		for i := range n {
			var others []int
			for j := range n {
				if j != i {
					others = append(others, j)
				}
			}
			p := fit(t, s, data.Select(others)).(*estimator.FittedLinear)
			want, err := p.PredictFull(ctx, rowblock.Slice(data.X, i, i+1), estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("alpha %v, row %d", alpha, i), got.Predictions[k].RawRowView(i), want.Targets.RawRowView(0),
				1e-7)
			w := 1.0
			if data.Weights != nil {
				w = data.Weights[i]
			}
			total += w
			for j := range 2 {
				e := data.Targets.At(i, j) - want.Targets.At(0, j)
				sum += w * e * e / 2
			}
		}
		near(t, "error", []float64{got.Errors[k]}, []float64{sum / total}, 1e-7)
		if f := got.Freedom[k]; f <= 0 || f > float64(n) {
			t.Errorf("alpha %v: %v degrees of freedom", alpha, f)
		}
	}
	if got.Freedom[0] <= got.Freedom[1] {
		t.Errorf("degrees of freedom %v for alphas %v", got.Freedom, alphas)
	}
}

// With alpha 0 and dependent columns, every solver returns the solution of minimum norm, and the
// report states the rank deficiency.
func TestRidgeOfSingularDataTakesTheLeastNorm(t *testing.T) {
	x := mat.NewDense(6, 3, []float64{1, 2, 2, 2, 1, 1, 3, 5, 5, 4, 0, 0, 5, 3, 3, 6, 1, 1}) // columns 1 and 2 are equal
	y := []float64{1, 3, 2, 5, 4, 7}
	for _, intercept := range []bool{true, false} {
		for _, solver := range []string{"cholesky", "dual", "cg"} {
			s := estimator.NewRidge()
			s.Alpha, s.Solver, s.Intercept, s.Tol = 0, solver, intercept, 1e-12
			f := fit(t, s, datasets.Set{X: x, Y: y}).(*estimator.FittedLinear)
			w := f.Coef().RawRowView(0)
			if math.Abs(w[1]-w[2]) > 1e-9*math.Abs(w[1]) {
				t.Errorf("%s: coefficients %v, want the last two equal", solver, w)
			}
			if solver != "cg" && (len(f.Report().Warnings) != 1 || !strings.Contains(f.Report().Warnings[0],
				"singular (rank 2")) {
				t.Errorf("%s: warnings %q", solver, f.Report().Warnings)
			}
			s.Solver, s.Alpha = "cholesky", 1e-9
			near(t, solver, w, fit(t, s, datasets.Set{X: x, Y: y}).(*estimator.FittedLinear).Coef().RawRowView(0), 1e-5)
		}
	}
}

// A constant column is irrelevant; the intercept makes it redundant.
func TestRidgeIgnoresConstantColumns(t *testing.T) {
	x, _, y, _ := noisy(4, 30, 3)
	wide := mat.NewDense(30, 4, nil)
	wide.Slice(0, 30, 0, 3).(*mat.Dense).Copy(x)
	for i := range 30 {
		wide.Set(i, 3, 0.1)
	}
	for _, alpha := range []float64{0, 1} {
		s := estimator.NewRidge()
		s.Alpha = alpha
		w := fit(t, s, datasets.Set{X: wide, Y: y}).(*estimator.FittedLinear).Coef().RawRowView(0)
		near(t, "coefficients", w[:3], fit(t, s, datasets.Set{X: x, Y: y}).(*estimator.FittedLinear).Coef().RawRowView(0),
			1e-9)
		if math.Abs(w[3]) > 1e-9 {
			t.Errorf("alpha %v: the constant column has coefficient %g", alpha, w[3])
		}
	}
}

// TestRidgeOfWideSparseRows checks that wide sparse rows use conjugate gradients and are not
// converted to dense ones.
func TestRidgeOfWideSparseRows(t *testing.T) {
	const n, d = 300, 5000
	x := mat.NewDense(n, d, nil)
	y := make([]float64, n)
	for i := range n {
		for k := range 8 {
			x.Set(i, (i*(k+3)*37+k*k*11)%400*12, 1)
		}
		y[i] = math.Sin(float64(i))
	}
	s := estimator.NewRidge()
	s.Tol = 1e-12
	f := fit(t, s, datasets.Set{X: matrices.CSRFromDense(x), Y: y}).(*estimator.FittedLinear)
	if f.Report().Solver != "cg" {
		t.Fatalf("took %s", f.Report().Solver)
	}
	s.Solver = "dual"
	near(t, "coef", f.Coef().RawMatrix().Data, fit(t, s, datasets.Set{X: x,
		Y: y}).(*estimator.FittedLinear).Coef().RawMatrix().Data, 1e-8)
}

// bayesianRidge returns the Bayesian linear regression with the mean of ridge: noise is the variance of the noise,
// noise/alpha that of a weight.
func bayesianRidge(alpha, noise float64, intercept bool) estimator.GaussianProcess {
	s := estimator.NewGaussianProcess()
	s.Kernel, s.Optimize, s.Intercept = "linear", nil, intercept
	s.Noise, s.Amplitude = estimator.Variance(noise), estimator.Variance(noise/alpha)
	return s
}

// The evidence is the density of the targets for their n×n covariance matrix.
func TestEvidenceEqualsDensityOfTargets(t *testing.T) {
	const n, noise, alpha = 12, 0.4, 0.9
	x, _, y, _ := noisy(6, n, 3)
	covariance := func(extra float64) *mat.SymDense {
		c := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				v := extra + noise/alpha*mat.Dot(x.RowView(i), x.RowView(j))
				if i == j {
					v += noise
				}
				c.SetSym(i, j, v)
			}
		}
		return c
	}
	logDensity := func(c *mat.SymDense) float64 {
		var chol mat.Cholesky
		if !chol.Factorize(c) {
			t.Fatal("not positive definite")
		}
		var a mat.VecDense
		v := mat.NewVecDense(n, y)
		_ = chol.SolveVecTo(&a, v)
		return -(mat.Dot(v, &a) + chol.LogDet() + n*math.Log(2*math.Pi)) / 2
	}
	data := datasets.Set{X: x, Y: y}
	p := fit(t, bayesianRidge(alpha, noise, false), data).(*estimator.FittedGaussianProcess)
	near(t, "evidence", []float64{p.LogMarginalLikelihood()}, []float64{logDensity(covariance(0))}, 1e-10)

	// A flat prior is the limit of a wide one, N(0, v), less its log density at 0.
	const v = 1e8
	s := estimator.NewRidge()
	s.Alpha = alpha
	p = fit(t, bayesianRidge(alpha, noise, true), data).(*estimator.FittedGaussianProcess)
	near(t, "evidence with an intercept", []float64{p.LogMarginalLikelihood()},
		[]float64{logDensity(covariance(v)) + math.Log(2*math.Pi*v)/2}, 1e-6)
	mean, std, err := predictStd(context.Background(), p, x)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", mean, must(fit(t, s, data).Predict(context.Background(), x)), 1e-12)
	for _, v := range std {
		if v < math.Sqrt(noise) {
			t.Errorf("standard deviation %v below that of the noise", v)
		}
	}
}

func must(list []float64, err error) []float64 {
	if err != nil {
		panic(err)
	}
	return list
}

func TestClassWeight(t *testing.T) {
	var c estimator.ClassWeight
	for _, v := range []any{"none", "balanced", map[string]any{"yes": 2.0, "no": 0.5}} {
		if err := c.Set(v); err != nil {
			t.Fatalf("%v: %v", v, err)
		}
		if fmt.Sprint(c.Get()) != fmt.Sprint(v) {
			t.Errorf("set %v, got %v", v, c.Get())
		}
	}
	for _, v := range []any{"balance", 3, []any{}, map[string]any{"yes": "two"}, map[string]any{"yes": -1.0}} {
		s := estimator.NewLogistic()
		if out, err := param.With(s, param.Setting{Path: "class_weight", Value: v}); err == nil {
			t.Errorf("%v was accepted: %+v", v, out)
		}
	}
	x, y, _, _ := noisy(3, 60, 3)
	data := datasets.Set{X: x, Y: y, Schema: datasets.Schema{Targets: []datasets.Column{{Kind: datasets.Categorical,
		Categories: []string{"no", "yes"}}}}}
	s := estimator.NewLogistic()
	s.Tol = 1e-10
	s.ClassWeight.Weights = map[string]float64{"yes": 3}
	byClass := fit(t, s, data).(linearModel)
	s.ClassWeight = estimator.ClassWeight{}
	for _, v := range y {
		data.Weights = append(data.Weights, 1+2*v)
	}
	near(t, "coef", byClass.Coef().RawMatrix().Data, fit(t, s, data).(linearModel).Coef().RawMatrix().Data,
		1e-8)
	s.ClassWeight.Weights = map[string]float64{"yse": 3}
	if _, err := s.Fit(context.Background(), data); err == nil ||
		!strings.Contains(err.Error(), `no class "yse" (did you mean yes?)`) {
		t.Errorf("an unknown class: %v", err)
	}
}

// TestSpecsOutOfRangeAreRefused checks that specs are validated first.
func TestSpecsOutOfRangeAreRefused(t *testing.T) {
	x, y, _, _ := noisy(3, 20, 2)
	for _, c := range []struct {
		spec estimator.Estimator
		want string
	}{
		{estimator.Ridge{Alpha: -1}, "alpha: must be a number ≥ 0, got -1"},
		{estimator.Ridge{Alpha: 1}, "solver"},
		{estimator.Logistic{}, "C: must be a number > 0, got 0"},
		{estimator.SVM{C: 1, Loss: "hinged", Tol: 1, MaxIter: 1}, "did you mean hinge?"},
		{estimator.SVR{C: 1, Loss: "epsilon_insensitive", Epsilon: math.NaN(), Tol: 1, MaxIter: 1}, "epsilon"},
		{estimator.SVM{C: 1, Loss: "hinge", Solver: "newton", Tol: 1, MaxIter: 1}, "newton needs a squared loss"},
		{estimator.RidgeClassifier{Alpha: math.Inf(1)}, "alpha"},
	} {
		_, err := c.spec.Fit(context.Background(), datasets.Set{X: x, Y: y})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.spec, err)
		}
	}
}

// A fit that runs out of steps is a model with a warning, not an error.
func TestNotConvergingIsReported(t *testing.T) {
	x, y, targets, _ := noisy(3, 200, 4)
	hinge := estimator.NewSVM()
	hinge.Loss, hinge.MaxIter, hinge.Tol = "hinge", 1, 1e-9
	svr := estimator.NewSVR()
	svr.MaxIter, svr.Tol = 1, 1e-9
	logistic := estimator.NewLogistic()
	logistic.MaxIter, logistic.Tol = 1, 1e-12
	cg := estimator.NewRidge()
	cg.Solver, cg.MaxIter, cg.Tol = "cg", 1, 1e-12
	poisson, huber, quantile := estimator.NewPoisson(), estimator.NewHuber(), estimator.NewQuantileRegression()
	poisson.MaxIter, huber.MaxIter, quantile.MaxIter = 1, 1, 1
	poisson.Tol, huber.Tol = 1e-12, 1e-12
	for _, c := range []struct {
		spec estimator.Estimator
		y    []float64
	}{{hinge, y}, {logistic, y}, {svr, targets}, {cg, targets}, {poisson, y},
		{huber, targets}, {quantile, targets}} {
		p, err := c.spec.Fit(context.Background(), datasets.Set{X: x, Y: c.y})
		if err != nil {
			t.Fatal(err)
		}
		r := p.(estimator.Reporter).Report()
		if r.Converged || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "not converged after 1") {
			t.Errorf("%T: %+v", c.spec, r)
		}
	}
}

// counted is a source that counts the yielded rows.
type counted struct {
	datasets.Source
	rows *int
}

func (c counted) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	return c.Source.Blocks(ctx, func(block datasets.Set) error {
		*c.rows += block.Rows()
		return yield(block)
	})
}

// A pass over a stream may map its rows: ridge makes one pass, after reading the first block.
func TestRidgeReadsAStreamOnce(t *testing.T) {
	const n = 5 * rowblock.Size
	x, codes, y, weights := noisy(2, n, 3)
	schema := datasets.Schema{Targets: []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}
	for _, c := range []struct {
		spec estimator.BlockEstimator
		data datasets.Set
	}{
		{estimator.NewRidge(), datasets.Set{X: x, Y: y, Weights: weights}},
		{estimator.NewRidgeClassifier(), datasets.Set{X: x, Y: codes, Weights: weights, Schema: schema}},
	} {
		rows := 0
		if _, err := c.spec.FitSource(context.Background(), counted{c.data.Source(), &rows}); err != nil {
			t.Fatal(err)
		}
		if rows != n+rowblock.Size {
			t.Errorf("%T read %d rows of %d", c.spec, rows, n)
		}
		passes := func(rows int) int {
			return c.spec.(datasets.CostEstimator).Cost(datasets.Shape{Rows: rows, Cols: 3}).Passes
		}
		if passes(n) != 1 || passes(-1) != 1 || passes(2) == 1 {
			t.Errorf("%T: wrong number of passes", c.spec)
		}
	}
}

// A classifier that reads a stream once is the one that has all rows.
func TestRidgeClassifierOfStream(t *testing.T) {
	x, codes, _, weights := noisy(2, 300, 3)
	schema := datasets.Schema{Targets: []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}
	data := datasets.Set{X: x, Y: codes, Weights: weights, Schema: schema}
	for _, weight := range []estimator.ClassWeight{{}, {Balanced: true}, {Weights: map[string]float64{"yes": 3}}} {
		for _, solver := range []string{"cholesky", "dual", "cg"} {
			s := estimator.NewRidgeClassifier()
			s.ClassWeight, s.Solver, s.Tol = weight, solver, 1e-12
			p, err := s.FitSource(context.Background(), counted{data.Source(), new(int)})
			if err != nil {
				t.Fatal(err)
			}
			near(t, solver, p.(*estimator.FittedLinearClassifier).Coef().RawMatrix().Data,
				fit(t, s, data).(*estimator.FittedLinearClassifier).Coef().RawMatrix().Data, 1e-9)
		}
	}
}

// unsteady is a source that has more or fewer rows each time it is read to the end.
type unsteady struct {
	datasets.Set
	rows, change *int
}

func (u unsteady) Schema() datasets.Schema { return u.Set.Schema }
func (u unsteady) Dims() (rows, cols int)  { return -1, u.Cols() }

func (u unsteady) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	err := u.Slice(0, *u.rows).Source().Blocks(ctx, yield)
	if err == nil {
		*u.rows += *u.change
		*u.change = -*u.change
	}
	return err
}

// A file that grows or shrinks while it is read again and again is an error, not a panic and not a
// model of some mixture.
func TestAChangingSourceIsRefused(t *testing.T) {
	x, codes, _, _ := noisy(41, 100, 3)
	cg, balanced, hinge := estimator.NewRidge(), estimator.NewRidgeClassifier(), estimator.NewSVM()
	cg.Solver, balanced.ClassWeight.Balanced, hinge.Loss = "cg", true, "hinge"
	for _, s := range []estimator.BlockEstimator{cg, balanced, hinge, estimator.NewLogistic(), estimator.NewSVM(),
		estimator.NewSVR(), estimator.NewPoisson(), estimator.NewHuber(), estimator.NewQuantileRegression()} {
		data := datasets.Set{X: x, Y: codes}
		for _, change := range []int{-30, 30} {
			rows := 60
			_, err := s.FitSource(context.Background(), unsteady{data, &rows, &change})
			if err == nil || !strings.Contains(err.Error(), "60 rows in the first pass") {
				t.Errorf("%T, %d rows later: %v", s, change, err)
			}
		}
	}
}

// A Gaussian process can be saved, and damaged files are rejected or harmless.
func TestGaussianProcessState(t *testing.T) {
	x, _, y, weights := noisy(8, 30, 3)
	ctx := context.Background()
	p := fit(t, bayesianRidge(1, 0.3, true), datasets.Set{X: x, Y: y, Weights: weights}).(*estimator.FittedGaussianProcess)
	saved := func() *archive.Archive {
		a, err := model.Record(p)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	var q estimator.FittedGaussianProcess
	if err := model.Restore(saved(), &q); err != nil {
		t.Fatal(err)
	}
	_, want, err := predictStd(ctx, p, x)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := predictStd(ctx, &q, x)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "std", got, want, 0)
	near(t, "evidence", []float64{q.LogMarginalLikelihood()}, []float64{p.LogMarginalLikelihood()}, 0)
	refused := 0
	for name := range saved().Arrays {
		for _, harm := range []archive.Array{{Shape: []int{2, 2}, Floats: []float64{1, 2, 3, 4}},
			{Shape: []int{1}, Floats: []float64{math.NaN()}}, {Shape: []int{0}}} {
			a := saved()
			a.Arrays[name] = harm
			var q estimator.FittedGaussianProcess
			if model.Restore(a, &q) != nil {
				refused++
				continue
			}
			_, _, _ = predictStd(ctx, &q, x)
		}
	}
	if refused < 15 {
		t.Errorf("%d damaged files refused", refused)
	}
}

// TestRidgeClassifierOfTargetsInAMatrix checks that class codes may be the only column of Targets,
// and that folds with invalid rows are rejected.
func TestRidgeClassifierOfTargetsInAMatrix(t *testing.T) {
	x, codes, _, _ := noisy(2, 50, 3)
	schema := datasets.Schema{Targets: []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}
	column := datasets.Set{X: x, Targets: mat.NewDense(50, 1, codes), Schema: schema}
	want := fit(t, estimator.NewRidgeClassifier(), datasets.Set{X: x, Y: codes,
		Schema: schema}).(*estimator.FittedLinearClassifier)
	p, err := estimator.NewRidgeClassifier().FitSource(context.Background(), counted{column.Source(), new(int)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "coef", p.(*estimator.FittedLinearClassifier).Coef().RawMatrix().Data, want.Coef().RawMatrix().Data, 1e-12)
	got, _ := fitBatch(t, column, foldsOf(50, 5), []estimator.Estimator{estimator.NewRidgeClassifier()})
	equalsNaive(t, column, foldsOf(50, 5), []estimator.Estimator{estimator.NewRidgeClassifier()}, got)
	for _, fold := range []datasets.Fold{{Train: []int{1}}, {Train: []int{0, 50}, Test: []int{1}},
		{Train: []int{0}, Test: []int{-1}}} {
		_, err := estimator.NewRidge().FitBatch(context.Background(),
			jobOf(column, []datasets.Fold{fold}, ridges(1), func(int, int, batch.Outcome) error { return nil }))
		if err == nil || !strings.Contains(err.Error(), "fold 0") {
			t.Errorf("%v: %v", fold, err)
		}
	}
}
