package meta_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
)

func TestTargetConformance(t *testing.T) {
	svr := estimator.NewSVR()
	svr.Tol, svr.MaxIter, svr.Epsilon = 1e-11, 20_000, 0.1
	for _, transform := range []string{"none", "log", "signed_log", "sqrt", "power", "quantile", "standardize"} {
		for _, smear := range []bool{false, true} {
			s := target(transform, estimator.NewRidge())
			s.Smear = smear
			t.Run(transform, func(t *testing.T) {
				estimatortest.Run(t, s, estimatortest.Options{Amounts: transform == "log", Origin: transform != "standardize" && transform != "none"})
			})
		}
	}
	for _, limits := range []string{"range", "auto"} {
		s := target("log", estimator.NewRidge())
		s.Limits = limits
		t.Run(limits, func(t *testing.T) {
			estimatortest.Run(t, s, estimatortest.Options{Amounts: true, Origin: true})
		})
	}
	t.Run("of svr", func(t *testing.T) {
		estimatortest.Run(t, target("log", svr), estimatortest.Options{Amounts: true, Origin: true, Tolerance: 1e-3})
	})
	t.Run("of ridge by cg", func(t *testing.T) { // which is fitted with its whole pipeline behind related maps
		cg := estimator.NewRidge()
		cg.Solver, cg.Tol = "cg", 1e-12
		estimatortest.Run(t, target("sqrt", cg), estimatortest.Options{Origin: true, Tolerance: 1e-5})
	})
	t.Run("of target", func(t *testing.T) {
		estimatortest.Run(t, target("sqrt", target("standardize", estimator.NewRidge())), estimatortest.Options{Origin: true})
	})
}

// TestTargetIsTheModelOnTransformedTargets checks that the inner model is fitted to transformed
// targets, and that predictions are transformed back.
func TestTargetIsTheModelOnTransformedTargets(t *testing.T) {
	data := amounts(80, 2)
	for name, by := range map[string][2]func(float64) float64{
		"log":        {math.Log, math.Exp},
		"signed_log": {math.Log1p, func(z float64) float64 { return math.Copysign(math.Expm1(math.Abs(z)), z) }},
		"none":       {func(y float64) float64 { return y }, func(z float64) float64 { return z }},
		"power":      {func(y float64) float64 { return math.Pow(y, 0.25) }, func(z float64) float64 { return z * z * z * z * math.Copysign(1, z) }},
		"sqrt":       {math.Sqrt, func(z float64) float64 { return z * math.Abs(z) }},
	} {
		mapped := data
		mapped.Targets = mat.DenseCopyOf(data.Targets)
		mapped.Targets.Apply(func(_, _ int, y float64) float64 { return by[0](y) }, mapped.Targets)
		want := predicted(t, estimator.NewRidge(), mapped, data.X).Targets
		want.Apply(func(_, _ int, z float64) float64 { return by[1](z) }, want)
		got := predicted(t, target(name, estimator.NewRidge()), data, data.X)
		alike(t, name, got.Targets.RawMatrix().Data, want.RawMatrix().Data, 1e-12)
		alike(t, name, got.Values, mat.Col(nil, 0, want), 1e-12)
	}
	// With an intercept, ridge of standardized targets is ridge.
	alike(t, "standardize", predicted(t, target("standardize", estimator.NewRidge()), data,
		data.X).Targets.RawMatrix().Data,
		predicted(t, estimator.NewRidge(), data, data.X).Targets.RawMatrix().Data, 1e-10)
}

// TestQuantileTargetsAreRanks checks that with quantile the model is fitted to the normal scores of
// the ranks, so that monotone transforms of the targets do not change the fit and predictions stay
// within the range of the targets.
func TestQuantileTargetsAreRanks(t *testing.T) {
	data := amounts(1500, 1)
	got := predicted(t, target("quantile", estimator.NewRidge()), data, data.X)
	bent := data
	bent.Y = make([]float64, len(data.Y))
	for i, y := range data.Y {
		bent.Y[i] = y * y * y
	}
	cubes := predicted(t, target("quantile", estimator.NewRidge()), bent, data.X)
	for i, v := range got.Values {
		if math.Abs(cubes.Values[i]-v*v*v) > 0.02*cubes.Values[i]+1e-4 || v < slices.Min(data.Y) || v > slices.Max(data.Y) {
			t.Fatalf("row %d: %v, of cubes %v", i, v, cubes.Values[i])
		}
	}
}

// TestSmearPredictsTheMean checks that log predicts the median of lognormal amounts, and their mean
// with Smear.
func TestSmearPredictsTheMean(t *testing.T) {
	data := amounts(20_000, 1)
	s := target("log", estimator.NewRidge())
	median, mean := predicted(t, s, data, data.X).Values, []float64(nil)
	s.Smear = true
	mean = predicted(t, s, data, data.X).Values
	ratio := mean[0] / median[0]
	if want := math.Exp(0.5 * 0.5 / 2); math.Abs(ratio-want) > 0.02 {
		t.Errorf("the mean is %v times the median, want about %v", ratio, want)
	}
	left, sum := 0.0, 0.0
	for i, y := range data.Y {
		left, sum = left+y-mean[i], sum+y
	}
	if math.Abs(left/sum) > 0.01 {
		t.Errorf("predictions miss %v of the sum", left/sum)
	}
}

// normal predicts a normal distribution around the first input.
type normal struct{ std float64 }

func (n normal) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return n, nil }

func (n normal) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	return mat.Col(nil, 0, X), nil
}

func (normal) Outputs() estimator.Outputs { return estimator.Outputs{Has: estimator.OutputStd} }

func (n normal) PredictFull(_ context.Context, X mat.Matrix, _ estimator.Request) (out estimator.Prediction,
	err error) {
	out.Values = mat.Col(nil, 0, X)
	for range out.Values {
		out.Std = append(out.Std, n.std)
	}
	return out, nil
}

// TestTargetTransformsDeviations compares standard deviations with those of simulated amounts whose
// transforms are normal.
func TestTargetTransformsDeviations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	data := amounts(400, 1)
	for transform, inverse := range map[string]func(float64) float64{
		"log": math.Exp, "sqrt": func(z float64) float64 { return z * math.Abs(z) },
		"signed_log": func(z float64) float64 { return math.Copysign(math.Expm1(math.Abs(z)), z) },
	} {
		got := predicted(t, target(transform, normal{0.3}), data, mat.NewDense(1, 3, []float64{0.7, 0, 0}))
		mean, square := 0.0, 0.0
		const draws = 400_000
		for range draws {
			y := inverse(0.7 + 0.3*rng.NormFloat64())
			mean, square = mean+y/draws, square+y*y/draws
		}
		if want := math.Sqrt(square - mean*mean); math.Abs(got.Std[0]-want) > 0.02*want {
			t.Errorf("%s: deviation %v, want %v", transform, got.Std[0], want)
		}
	}
	p, err := target("log", normal{0.3}).Fit(context.Background(), data)
	if err != nil || !estimator.OutputsOf(p).Has.Has(estimator.OutputStd) {
		t.Errorf("%v: the deviation of the model within is not found", err)
	}
}

// log names the first row that is not above 0, in memory, in a stream, and in a fold of a search.
func TestLogNamesTheRow(t *testing.T) {
	data := amounts(30, 1)
	data.Schema = datasets.Schema{Columns: make([]datasets.Column, 3), Targets: []datasets.Column{{Name: "price"}}}
	data.Y[17] = 0
	spec := target("log", estimator.NewRidge())
	const want = "row 17, column price: 0, and log takes numbers > 0"
	_, err := spec.Fit(context.Background(), data)
	_, streamed := spec.FitSource(context.Background(), data.Source())
	_, fold := spec.Fit(context.Background(), data.Select([]int{3, 17, 20}))
	for _, err := range []error{err, streamed, fold} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, out := together(t, data, 3, spec)
	for fold, one := range out[0] {
		tests := fold == 1 // of three parts of 30 rows, that with row 17
		if tests && one.Err != nil || !tests && (one.Err == nil || !strings.Contains(one.Err.Error(), want)) {
			t.Errorf("fold %d: %v", fold, one.Err)
		}
	}
}

// TestTargetSharesAsTheModelWithin checks that a batch shares work as that of the inner estimator
// does, and supports leave-one-out if the inner estimator does.
func TestTargetSharesAsTheModelWithin(t *testing.T) {
	data := amounts(60, 1)
	weak, strong := estimator.NewRidge(), estimator.NewRidge()
	strong.Alpha = 30
	got, _ := together(t, data, 4, target("log", weak), target("log", strong))
	if want, _ := together(t, data, 4, weak, strong); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("shared %v, by ridge %v", got, want)
	}
	loo := batch.Job{Shape: data.Shape(), LeaveOneOut: true}
	for transform, can := range map[string]bool{"log": true, "sqrt": true, "quantile": false, "standardize": false} {
		spec := target(transform, weak)
		loo.Candidates = batch.Candidates(spec)
		if _, err := spec.PlanBatch(loo); (err == nil) != can {
			t.Errorf("%s: leave-one-out: %v", transform, err)
		}
	}
	loo.Candidates = batch.Candidates(target("log", estimator.NewSVR()))
	if _, err := target("log", estimator.NewSVR()).PlanBatch(loo); err == nil {
		t.Error("svr supports leave-one-out")
	}
}

// counted is a ridge regression that counts the candidates of batches.
type counted struct {
	estimator.Ridge
	candidates *int
}

func (c counted) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	*c.candidates += len(b.Candidates)
	b.Candidates = slices.Clone(b.Candidates)
	for i := range b.Candidates {
		b.Candidates[i].Estimator = b.Candidates[i].Estimator.(counted).Ridge
	}
	return c.Ridge.FitBatch(ctx, b)
}

// TestTransformsShareFits checks that a search over transforms fits each distinct model once for all of them, with the
// predictions of separate fits; and that transforms that fail or need the residuals are fitted separately.
func TestTransformsShareFits(t *testing.T) {
	candidates := 0
	strong := estimator.NewRidge()
	strong.Alpha = 30
	kernel := estimator.NewKernelRidge()
	kernel.Alpha = 0.1
	transforms := []string{"none", "log", "sqrt", "power", "quantile", "standardize"}
	for _, targets := range []int{1, 2} {
		data := amounts(120, targets)
		folds, err := datasets.KFold{Folds: 4}.Split(data)
		if err != nil {
			t.Fatal(err)
		}
		for name, inner := range map[string][]estimator.Estimator{
			"ridge":        {counted{estimator.NewRidge(), &candidates}, counted{strong, &candidates}},
			"kernel_ridge": {kernel},
			"svr":          {estimator.NewSVR()}, // not linear
		} {
			if name == "svr" && targets > 1 {
				continue
			}
			var list []estimator.Estimator
			for _, transform := range transforms {
				for _, one := range inner {
					list = append(list, target(transform, one))
				}
			}
			ranged := target("log", inner[0])
			ranged.Limits = "range"
			list = append(list, ranged)
			candidates = 0
			shared, out := together(t, data, 4, list...)
			if name == "ridge" && candidates != len(inner) {
				t.Errorf("%d candidates were fitted, want the %d distinct ones", candidates, len(inner))
			}
			if slices.Contains(shared, "targets") != (name != "svr") {
				t.Errorf("%s shares %v", name, shared)
			}
			for i, spec := range list {
				for f, fold := range folds {
					want := predicted(t, spec, data.Select(fold.Train), data.Select(fold.Test).X)
					got := out[i][f]
					if got.Err != nil || (got.Targets == nil) != (want.Targets == nil) {
						t.Fatalf("%s, candidate %d, fold %d: %v, targets %v", name, i, f, got.Err, got.Targets)
					}
					alike(t, name, got.Values, want.Values, 1e-6)
					if want.Targets != nil {
						alike(t, name, got.Targets.RawMatrix().Data, want.Targets.RawMatrix().Data, 1e-6)
					}
				}
			}
		}
	}

	data := amounts(30, 1)
	data.Y[17] = -1
	_, out := together(t, data, 3, target("log", strong), target("none", strong), target("sqrt", strong))
	for i := range out {
		for f, one := range out[i] { // the log of row 17, which fold 1 tests on
			if (one.Err != nil) != (i == 0 && f != 1) {
				t.Errorf("candidate %d, fold %d: %v", i, f, one.Err)
			}
		}
	}
}

// prices returns rents of flats by area and age, whose logarithm is not linear in the area: a straight line
// is far too high for the largest. The second target is exactly exponential, and its range is no limit.
func prices(seed uint64, n int) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 31))
	X, Y := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
	for i := range n {
		area, age := math.Exp(0.8*rng.NormFloat64()), rng.Float64()
		X.SetRow(i, []float64{area, age})
		Y.SetRow(i, []float64{math.Pow(area, 0.9) * math.Exp(0.2*rng.NormFloat64()-age), math.Exp(0.3*area - age)})
	}
	return datasets.Set{X: X, Targets: Y}
}

// TestLimits checks that with range predictions are clipped to the range of the training targets of positive
// weight, and that with auto out-of-fold errors select the targets for which they are.
func TestLimits(t *testing.T) {
	train, test := prices(1, 400), prices(2, 4000)
	train.Weights = slices.Repeat([]float64{1}, 400)
	train.Weights[7] = 0 // whose target is no limit
	train.Targets.Set(7, 0, 1e6)
	low, high := [2]float64{}, [2]float64{}
	for j := range 2 {
		y := slices.Delete(mat.Col(nil, j, train.Targets), 7, 8)
		low[j], high[j] = slices.Min(y), slices.Max(y)
	}
	spec := target("log", estimator.NewRidge())
	free := predicted(t, spec, train, test.X).Targets
	spec.Limits = "range"
	ranged := predicted(t, spec, train, test.X).Targets
	spec.Limits = "auto"
	chosen := predicted(t, spec, train, test.X).Targets
	squares, clipped := [3][2]float64{}, [2]int{}
	for i := range 4000 {
		for j := range 2 {
			v := free.At(i, j)
			want := min(max(v, low[j]), high[j])
			if want != v {
				clipped[j]++
			}
			if got := ranged.At(i, j); got != want {
				t.Fatalf("row %d, target %d: %v within its range, want %v", i, j, got, want)
			}
			if want = []float64{want, v}[j]; chosen.At(i, j) != want {
				t.Fatalf("row %d, target %d: %v with auto, want %v", i, j, chosen.At(i, j), want)
			}
			for k, p := range []*mat.Dense{free, ranged, chosen} {
				squares[k][j] += math.Pow(p.At(i, j)-test.Targets.At(i, j), 2)
			}
		}
	}
	if clipped[0] == 0 || clipped[1] == 0 || squares[2][0] > 0.5*squares[0][0] || squares[1][1] < 2*squares[2][1] {
		t.Errorf("%v predictions are limited; squared errors without, in the range, auto: %v", clipped, squares)
	}

	spec.Limits = "none"
	if got := predicted(t, spec, train, test.X).Targets; !mat.Equal(got, free) {
		t.Error("none limits")
	}
	// A prediction that is too large to be a number is within the range.
	far := mat.NewDense(1, 2, []float64{1e6, 0})
	p := fitted(t, spec, train)
	if _, err := p.Predict(context.Background(), far); err == nil {
		t.Error("exp of a million is a number")
	}
	spec.Limits = "range"
	if got := predicted(t, spec, train, far).Targets; got.At(0, 0) != high[0] || got.At(0, 1) != high[1] {
		t.Errorf("a million square meters: %v, want %v", got, high)
	}
}

// TestLimitsOfFolds checks that candidates of a search are limited to the range of each training part.
func TestLimitsOfFolds(t *testing.T) {
	data := prices(3, 200)
	data.Y, data.Targets = mat.Col(nil, 0, data.Targets), nil
	folds, err := datasets.KFold{Folds: 4}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, limits := range []string{"range", "auto"} {
		spec := target("log", estimator.NewRidge())
		spec.Limits = limits
		_, out := together(t, data, 4, spec)
		for f, fold := range folds {
			rows := data.Select(fold.Train)
			got := out[0][f].Values
			alike(t, limits, got, predicted(t, spec, rows, data.Select(fold.Test).X).Values, 1e-10)
			if slices.Max(got) > slices.Max(rows.Y) {
				t.Errorf("%s: fold %d exceeds the range of its training rows", limits, f)
			}
		}
		loo := batch.Job{Shape: data.Shape(), LeaveOneOut: true, Candidates: batch.Candidates(spec)}
		if _, err := spec.PlanBatch(loo); err == nil {
			t.Errorf("leave-one-out with limits %s, which depend on the row", limits)
		}
	}
}
