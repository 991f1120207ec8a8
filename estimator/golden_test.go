package estimator_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

// The cases of ../shared/reference were computed with scikit-learn and scipy by make_reference.py
// there.

func matrix(rows [][]float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		m.SetRow(i, r)
	}
	return m
}

// near fails where got and want differ by more than tol relative to the largest of want.
func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	size := 0.0
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tol*size) {
			t.Fatalf("%s[%d] = %.12g, want %.12g", what, i, v, want[i])
		}
	}
}

func flat(rows [][]float64) []float64 {
	var out []float64
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

func fit(t *testing.T, s estimator.Estimator, data datasets.Set) estimator.Predictor {
	t.Helper()
	p, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := p.(estimator.Reporter); ok && !r.Report().Converged {
		t.Fatalf("not converged: %+v", r.Report())
	}
	return p
}

func TestRidgeEqualsReference(t *testing.T) {
	for _, icpt := range []string{"icpt", "origin"} {
		for _, weights := range []string{"plain", "weighted"} {
			for _, alpha := range []string{"0.001", "1", "250"} {
				for _, solver := range []string{"auto", "cholesky", "dual", "cg"} {
					name := fmt.Sprintf("ridge_%s_%s_%s", icpt, weights, alpha)
					t.Run(name+"/"+solver, func(t *testing.T) { ridgeCase(t, name, solver) })
				}
			}
		}
	}
}

func ridgeCase(t *testing.T, name, solver string) {
	var in struct {
		X, Y         [][]float64
		Alpha        float64
		Intercept    bool
		SampleWeight []float64   `json:"sample_weight"`
		XTest        [][]float64 `json:"X_test"`
	}
	var want struct {
		Coef, Predict [][]float64
		Intercept     []float64
	}
	golden.Load(t, name, &in, &want)
	s := estimator.NewRidge()
	s.Alpha, s.Intercept, s.Solver, s.Tol = in.Alpha, in.Intercept, solver, 1e-12
	f := fit(t, s, datasets.Set{X: matrix(in.X), Targets: matrix(in.Y),
		Weights: in.SampleWeight}).(*estimator.FittedLinear)
	near(t, "coef", f.Coef().RawMatrix().Data, flat(want.Coef), 1e-8)
	near(t, "intercept", f.Intercept(), want.Intercept, 1e-8)
	got, err := f.PredictFull(context.Background(), matrix(in.XTest), estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "predict", got.Targets.RawMatrix().Data, flat(want.Predict), 1e-8)
}

func TestRidgeWideEqualsReference(t *testing.T) {
	var in struct {
		X     [][]float64
		Y     []float64
		Alpha float64
	}
	var want struct {
		Coef      []float64
		Intercept float64
	}
	golden.Load(t, "ridge_wide", &in, &want)
	for solver, took := range map[string]string{"auto": "dual", "cholesky": "cholesky", "dual": "dual", "cg": "cg"} {
		s := estimator.NewRidge()
		s.Alpha, s.Solver, s.Tol = in.Alpha, solver, 1e-13
		f := fit(t, s, datasets.Set{X: matrix(in.X), Y: in.Y}).(*estimator.FittedLinear)
		if f.Report().Solver != took {
			t.Errorf("solver %s took %s", solver, f.Report().Solver)
		}
		near(t, "coef by "+solver, f.Coef().RawMatrix().Data, want.Coef, 1e-8)
		near(t, "intercept by "+solver, f.Intercept(), []float64{want.Intercept}, 1e-8)
	}
}

func TestRidgeClassifierEqualsReference(t *testing.T) {
	var in struct {
		X     [][]float64
		Y     []float64
		Alpha float64
		XTest [][]float64 `json:"X_test"`
	}
	var want struct {
		Coef, Decision     [][]float64
		Intercept, Predict []float64
	}
	golden.Load(t, "ridge_classifier", &in, &want)
	s := estimator.NewRidgeClassifier()
	s.Alpha = in.Alpha
	f := fit(t, s, datasets.Set{X: matrix(in.X), Y: in.Y}).(*estimator.FittedLinearClassifier)
	near(t, "coef", f.Coef().RawMatrix().Data, flat(want.Coef), 1e-8)
	near(t, "intercept", f.Intercept(), want.Intercept, 1e-8)
	got, err := estimator.Predict(context.Background(), f, matrix(in.XTest), estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "predict", got.Values, want.Predict, 0)
	near(t, "decision", got.Scores.RawMatrix().Data, flat(want.Decision), 1e-8)
}

func TestLogisticEqualsReference(t *testing.T) {
	for _, kind := range []string{"binary", "multinomial"} {
		for _, weights := range []string{"plain", "weighted"} {
			for _, c := range []string{"0.05", "10"} {
				name := fmt.Sprintf("logistic_%s_%s_%s", kind, weights, c)
				t.Run(name, func(t *testing.T) { logisticCase(t, name) })
			}
		}
	}
}

func logisticCase(t *testing.T, name string) {
	var in struct {
		X            [][]float64
		Y            []float64
		C            float64
		SampleWeight []float64   `json:"sample_weight"`
		XTest        [][]float64 `json:"X_test"`
	}
	var want struct {
		Coef         [][]float64
		Intercept    []float64
		Objective    float64
		PredictProba [][]float64 `json:"predict_proba"`
	}
	golden.Load(t, name, &in, &want)
	s := estimator.NewLogistic()
	s.C, s.Tol = in.C, 1e-10
	for _, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X))} {
		f := fit(t, s, datasets.Set{X: X, Y: in.Y, Weights: in.SampleWeight}).(linearModel)
		near(t, "coef", f.Coef().RawMatrix().Data, flat(want.Coef), 1e-6)
		near(t, "intercept", f.Intercept(), want.Intercept, 1e-6)
		near(t, "objective", []float64{f.Report().Objective}, []float64{want.Objective}, 1e-9)
		p, err := f.PredictFull(context.Background(), matrix(in.XTest), estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "probabilities", p.Probabilities.RawMatrix().Data, flat(want.PredictProba), 1e-4)
	}
}

func TestGLMsEqualReference(t *testing.T) {
	poisson, gamma, tweedie := estimator.NewPoisson(), estimator.NewGammaRegression(), estimator.NewTweedie()
	poisson.Alpha, gamma.Alpha, tweedie.Alpha = 0.1, 0.1, 0.1
	poisson.Tol, gamma.Tol, tweedie.Tol = 1e-10, 1e-10, 1e-10
	for name, s := range map[string]estimator.Estimator{"poisson": poisson, "gamma": gamma, "tweedie_1.5": tweedie} {
		for _, weights := range []string{"plain", "weighted"} {
			t.Run(name+"_"+weights, func(t *testing.T) { glmCase(t, "glm_"+name+"_"+weights, s) })
		}
	}
}

func glmCase(t *testing.T, name string, s estimator.Estimator) {
	var in struct {
		X          [][]float64
		Y, Weights []float64
		XTest      [][]float64 `json:"X_test"`
	}
	var want struct {
		Coef, Predict []float64
		Intercept     float64
	}
	golden.Load(t, name, &in, &want)
	for _, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X))} {
		f := fit(t, s, datasets.Set{X: X, Y: in.Y, Weights: in.Weights}).(linearModel)
		near(t, "coef", f.Coef().RawMatrix().Data, want.Coef, 1e-6)
		near(t, "intercept", f.Intercept(), []float64{want.Intercept}, 1e-6)
		got, err := f.Predict(context.Background(), matrix(in.XTest))
		if err != nil {
			t.Fatal(err)
		}
		near(t, "predict", got, want.Predict, 1e-6)
	}
}

// The reference stops at a gradient of 7e-4, at which the coefficients are off by 2e-6.
func TestHuberEqualsReference(t *testing.T) {
	var in struct {
		X              [][]float64
		Y              []float64
		Epsilon, Alpha float64
	}
	var want struct {
		Coef             []float64
		Intercept, Scale float64
	}
	golden.Load(t, "huber_1.35", &in, &want)
	s := estimator.NewHuber()
	s.Epsilon, s.Alpha, s.Tol = in.Epsilon, in.Alpha, 1e-10
	for _, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X))} {
		f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(huberModel)
		near(t, "coef", f.Coef().RawMatrix().Data, want.Coef, 1e-5)
		near(t, "intercept and scale", []float64{f.Intercept()[0], f.Scale()}, []float64{want.Intercept, want.Scale}, 1e-5)
		data := datasets.Set{X: matrix(in.X), Y: in.Y}
		own, _ := huberObjective(data, s, f.Coef().RawRowView(0), f.Intercept()[0], f.Scale())
		reference, _ := huberObjective(data, s, want.Coef, want.Intercept, want.Scale)
		if !(own <= reference && own > reference-1e-8) {
			t.Errorf("objective %v, the reference has %v", own, reference)
		}
	}
}

func TestQuantileRegressionEqualsReference(t *testing.T) {
	for _, q := range []string{"0.1", "0.5", "0.9"} {
		t.Run(q, func(t *testing.T) {
			var in struct {
				X        [][]float64
				Y        []float64
				Quantile float64
			}
			var want struct{ Loss float64 }
			golden.Load(t, "quantile_regression_"+q, &in, &want)
			s := estimator.NewQuantileRegression()
			s.Quantile, s.Alpha, s.Tol = in.Quantile, 0, 1e-8
			for _, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X))} {
				f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(*estimator.FittedLinear)
				loss := pinballOf(t, f, datasets.Set{X: X, Y: in.Y}, in.Quantile)
				near(t, "loss", []float64{loss, f.Report().Objective}, []float64{want.Loss, want.Loss}, 1e-8)
			}
		})
	}
}

// pinballOf returns the mean pinball loss of a model.
func pinballOf(t *testing.T, f estimator.Predictor, data datasets.Set, q float64) float64 {
	t.Helper()
	predicted, err := f.Predict(context.Background(), data.X)
	if err != nil {
		t.Fatal(err)
	}
	sum, total := 0.0, 0.0
	for i, y := range data.Y {
		s := 1.0
		if data.Weights != nil {
			s = data.Weights[i]
		}
		sum += s * max(q*(y-predicted[i]), (q-1)*(y-predicted[i]))
		total += s
	}
	return sum / total
}

func TestSVMEqualsReference(t *testing.T) {
	for _, loss := range []string{"hinge", "squared_hinge"} {
		for _, c := range []string{"0.1", "5"} {
			name := fmt.Sprintf("svc_%s_%s", loss, c)
			t.Run(name, func(t *testing.T) { svmCase(t, name) })
		}
	}
}

func svmCase(t *testing.T, name string) {
	var in struct {
		X     [][]float64
		Y     []float64
		C     float64
		Loss  string
		XTest [][]float64 `json:"X_test"`
	}
	var want struct {
		Coef, Decision []float64
		Objective      float64
	}
	golden.Load(t, name, &in, &want)
	s := estimator.NewSVM()
	s.C, s.Loss, s.Intercept, s.Tol, s.MaxIter = in.C, in.Loss, false, 1e-12, 1_000_000
	coef, objective := 1e-6, 1e-9
	if in.Loss == "hinge" {
		s.Tol, coef, objective = 1e-8, 1e-4, 1e-8
	}
	for k, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X)), matrix(in.X),
		matrices.CSRFromDense(matrix(in.X))} {
		s.Solver = []string{"auto", "auto", "dual", "dual"}[k]
		f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(*estimator.FittedLinearClassifier)
		near(t, "coef", f.Coef().RawMatrix().Data, want.Coef, coef)
		near(t, "objective", []float64{f.Report().Objective}, []float64{want.Objective}, objective)
		got, err := f.PredictFull(context.Background(), matrix(in.XTest), estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "decision", got.Scores.RawMatrix().Data, want.Decision, coef)
	}
}

func TestSVREqualsReference(t *testing.T) {
	for _, loss := range []string{"epsilon_insensitive", "squared_epsilon_insensitive"} {
		t.Run(loss, func(t *testing.T) { svrCase(t, loss) })
	}
}

func svrCase(t *testing.T, loss string) {
	var in struct {
		X          [][]float64
		Y          []float64
		C, Epsilon float64
	}
	var want struct {
		Coef      []float64
		Objective float64
	}
	golden.Load(t, "svr_"+loss, &in, &want)
	s := estimator.NewSVR()
	s.C, s.Epsilon, s.Loss, s.Intercept, s.Tol, s.MaxIter = in.C, in.Epsilon, loss, false, 1e-11, 1_000_000
	coef, objective := 1e-6, 1e-9
	if loss == "epsilon_insensitive" {
		s.Tol, coef, objective = 1e-8, 1e-4, 1e-8
	}
	for k, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X)), matrix(in.X),
		matrices.CSRFromDense(matrix(in.X))} {
		s.Solver = []string{"auto", "auto", "dual", "dual"}[k]
		f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(*estimator.FittedLinear)
		near(t, "coef", f.Coef().RawMatrix().Data, want.Coef, coef)
		near(t, "objective", []float64{f.Report().Objective}, []float64{want.Objective}, objective)
	}
}

// The intercept is not penalized, and from the smallest C on, where every dual variable is at its bound.
func TestSVMWithAnInterceptEqualsReference(t *testing.T) {
	for _, c := range []string{"0.0001", "0.01", "1", "30"} {
		t.Run(c, func(t *testing.T) {
			in, want := interceptCase(t, "svc_intercept_"+c)
			s := estimator.NewSVM()
			s.C, s.Loss, s.Tol, s.MaxIter = in.C, in.Loss, 1e-8, 1_000_000
			for _, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X))} {
				f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(*estimator.FittedLinearClassifier)
				near(t, "objective", []float64{f.Report().Objective}, []float64{want.Objective}, 1e-6)
				near(t, "coef", f.Coef().RawMatrix().Data, want.Coef, 1e-3)
				at := objectiveAt(matrix(in.X), in.Y, ones(len(in.Y)), f.Coef().RawRowView(0), f.Intercept()[0], in.C, hinge)
				near(t, "objective of the model", []float64{at}, []float64{want.Objective}, 1e-6)
			}
		})
	}
}

func TestSVRWithAnInterceptEqualsReference(t *testing.T) {
	for _, c := range []string{"0.001", "0.1", "10"} {
		t.Run(c, func(t *testing.T) {
			in, want := interceptCase(t, "svr_intercept_"+c)
			s := estimator.NewSVR()
			s.C, s.Epsilon, s.Loss, s.Tol, s.MaxIter = in.C, in.Epsilon, in.Loss, 1e-8, 1_000_000
			for _, X := range []mat.Matrix{matrix(in.X), matrices.CSRFromDense(matrix(in.X))} {
				f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(*estimator.FittedLinear)
				near(t, "objective", []float64{f.Report().Objective}, []float64{want.Objective}, 1e-6)
				near(t, "coef", f.Coef().RawMatrix().Data, want.Coef, 1e-3)
				at := objectiveAt(matrix(in.X), in.Y, ones(len(in.Y)), f.Coef().RawRowView(0), f.Intercept()[0], in.C,
					tube(in.Epsilon))
				near(t, "objective of the model", []float64{at}, []float64{want.Objective}, 1e-6)
			}
		})
	}
}

// svmInput and svmOptimum are a reference case of a linear support vector machine.
type svmInput struct {
	X          [][]float64
	Y          []float64
	C, Epsilon float64
	Loss       string
}

type svmOptimum struct {
	Coef      []float64
	Objective float64
}

func interceptCase(t *testing.T, name string) (in svmInput, want svmOptimum) {
	t.Helper()
	golden.Load(t, name, &in, &want)
	return in, want
}

func ones(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

func TestLeaveOneOutEqualsReference(t *testing.T) {
	var in struct {
		X         [][]float64
		Y, Alphas []float64
	}
	var want struct {
		Loo  [][]float64 `json:"loo_squared_error"`
		Best float64     `json:"best_alpha"`
	}
	golden.Load(t, "ridge_loo", &in, &want)
	got, err := estimator.NewRidge().LeaveOneOut(context.Background(), datasets.Set{X: matrix(in.X), Y: in.Y}, in.Alphas)
	if err != nil {
		t.Fatal(err)
	}
	for k := range in.Alphas {
		squared, expect := make([]float64, len(in.Y)), make([]float64, len(in.Y))
		for i, y := range in.Y {
			e := y - got.Predictions[k].At(i, 0)
			squared[i], expect[i] = e*e, want.Loo[i][k]
		}
		near(t, "squared error", squared, expect, 1e-8)
	}
	if got.Alphas[got.Best] != want.Best {
		t.Errorf("best alpha %v, want %v", got.Alphas[got.Best], want.Best)
	}
}

// Fewer rows than columns, solved in 60 digits: one call, and the search's own for leave-one-out.
func TestWideLeaveOneOutEqualsReference(t *testing.T) {
	for name, off := range map[string]float64{"ridge_loo_wide_0.01": 1e-8, "ridge_loo_wide_1e-06": 1e-8,
		"ridge_loo_wide_1e-09": 1e-8} {
		t.Run(name, func(t *testing.T) {
			var in struct {
				X     [][]float64
				Y     []float64
				Alpha float64
			}
			var want struct{ Residuals []float64 }
			golden.Load(t, name, &in, &want)
			data := datasets.Set{X: matrix(in.X), Y: in.Y}
			residuals := func(prediction func(i int) float64) []float64 {
				out := make([]float64, len(in.Y))
				for i, y := range in.Y {
					out[i] = y - prediction(i)
				}
				return out
			}
			got, err := estimator.NewRidge().LeaveOneOut(context.Background(), data, []float64{in.Alpha})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "residual", residuals(func(i int) float64 { return got.Predictions[0].At(i, 0) }), want.Residuals, off)
			s := estimator.NewRidge()
			s.Alpha = in.Alpha
			_, err = s.FitBatch(context.Background(), loo(data, []estimator.Estimator{s}, false,
				func(_ int, one batch.Outcome) error {
					if one.Err == nil {
						near(t, "residual in a search", residuals(func(i int) float64 { return one.Values[i] }), want.Residuals, off)
					}
					return one.Err
				}))
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestGaussianProcessEqualsReference checks that the Gaussian process on precomputed features
// equals scikit-learn's.
func TestGaussianProcessEqualsReference(t *testing.T) {
	var in struct {
		Z     [][]float64
		Y     []float64
		ZTest [][]float64 `json:"Z_test"`
		Noise float64
	}
	var want struct {
		Mean, Std []float64
		Evidence  float64 `json:"log_marginal_likelihood"`
	}
	golden.Load(t, "gp_features", &in, &want)
	s := estimator.NewGaussianProcess()
	s.Kernel, s.Intercept, s.Optimize = "linear", false, nil
	s.Noise, s.Amplitude = estimator.Variance(in.Noise), 1
	p, err := s.Fit(context.Background(), datasets.Set{X: matrix(in.Z), Y: in.Y})
	if err != nil {
		t.Fatal(err)
	}
	all, err := estimator.Predict(context.Background(), p, matrix(in.ZTest), estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", all.Values, want.Mean, 1e-6)
	near(t, "std", all.Std, want.Std, 1e-6)
	near(t, "log marginal likelihood", []float64{p.(*estimator.FittedGaussianProcess).LogMarginalLikelihood()},
		[]float64{want.Evidence}, 1e-8)
}

func TestBayesianRidgeEqualsReference(t *testing.T) {
	var in struct {
		Z     [][]float64
		Y     []float64
		ZTest [][]float64 `json:"Z_test"`
		Noise float64
	}
	var want struct {
		Mean, Std []float64
		Evidence  float64 `json:"log_marginal_likelihood"`
	}
	golden.Load(t, "gp_features", &in, &want)
	p := fit(t, bayesianRidge(in.Noise, in.Noise, false),
		datasets.Set{X: matrix(in.Z), Y: in.Y}).(*estimator.FittedGaussianProcess)
	mean, std, err := predictStd(context.Background(), p, matrix(in.ZTest))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", mean, want.Mean, 1e-6)
	near(t, "std", std, want.Std, 1e-6)
	near(t, "log marginal likelihood", []float64{p.LogMarginalLikelihood()}, []float64{want.Evidence}, 1e-8)
}

// predictStd returns the values and the standard deviations that a model predicts.
func predictStd(ctx context.Context, p estimator.Predictor, X mat.Matrix) (mean, std []float64, err error) {
	out, err := estimator.Predict(ctx, p, X, estimator.Request{Outputs: estimator.OutputValues | estimator.OutputStd})
	return out.Values, out.Std, err
}
