package meta_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func intervals(method string, of estimator.Estimator) meta.Intervals {
	s := meta.NewIntervals(of)
	s.Method = method
	return s
}

func TestIntervalsConformance(t *testing.T) {
	kernelRidge := estimator.NewKernelRidge()
	kernelRidge.Gamma, kernelRidge.Tol = kernel.FixedGamma(0.1), 1e-11
	svr := estimator.NewSVR()
	svr.Tol, svr.MaxIter = 1e-11, 20_000
	for _, s := range []meta.Intervals{
		intervals("auto", estimator.NewRidge()), intervals("jackknife", estimator.NewRidge()),
		intervals("jackknife_plus", kernelRidge),
		intervals("split", estimator.NewRidge()), intervals("split", svr),
		intervals("cqr", estimator.NewQuantileRegression()),
	} {
		t.Run(s.Method, func(t *testing.T) { estimatortest.Run(t, s, estimatortest.Options{Folds: true, Tolerance: 1e-4}) })
	}
	for _, classes := range []int{2, 3} {
		t.Run("sets", func(t *testing.T) {
			estimatortest.Run(t, intervals("auto", estimator.NewRidgeClassifier()),
				estimatortest.Options{Folds: true, Classes: classes})
		})
		logistic := estimator.NewLogistic()
		logistic.Tol = 1e-11
		t.Run("sets of probabilities", func(t *testing.T) {
			estimatortest.Run(t, intervals("split", logistic), estimatortest.Options{Folds: true, Classes: classes})
		})
	}
}

// matrixOf is the matrix of rows.
func matrixOf(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}

func fitted(t *testing.T, s estimator.Estimator, data datasets.Set) estimator.Predictor {
	t.Helper()
	p, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGoldenJackknife(t *testing.T) {
	var in struct {
		X            [][]float64
		Y            []float64
		Test         [][]float64 `json:"X_test"`
		Alpha, Level float64
	}
	var want struct {
		Residuals []float64
		Jackknife [2][]float64
		Plus      [2][]float64 `json:"jackknife_plus"`
	}
	golden.Load(t, "jackknife", &in, &want)
	ridge := estimator.NewRidge()
	ridge.Alpha = in.Alpha
	data := datasets.Set{X: matrixOf(in.X), Y: in.Y}
	smoother, err := ridge.SmootherWeights(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	residuals := smoother.Residuals().RawMatrix().Data
	for i, r := range residuals {
		residuals[i] = math.Abs(r)
	}
	alike(t, "residuals", residuals, want.Residuals, 1e-10)
	for method, ends := range map[string][2][]float64{"jackknife": want.Jackknife, "jackknife_plus": want.Plus} {
		s := intervals(method, ridge)
		s.Level = 1 - in.Level
		all, err := estimator.Predict(context.Background(), fitted(t, s, data), matrixOf(in.Test), estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		alike(t, method, all.Lower, ends[0], 1e-10)
		alike(t, method, all.Upper, ends[1], 1e-10)
	}
}

// wave returns n rows of a smooth function with t targets and noise that grows along the first
// input.
func wave(seed uint64, n, d, t int) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 99))
	X, Y := mat.NewDense(n, d, nil), mat.NewDense(n, t, nil)
	for i := range n {
		for j := range d {
			X.Set(i, j, 3+rng.NormFloat64())
		}
		for j := range t {
			Y.Set(i, j, float64(10*j)+math.Sin(X.At(i, 0)+float64(j))+X.At(i,
				d-1)+(0.2+0.3*math.Abs(X.At(i, 0)-3))*rng.NormFloat64())
		}
	}
	if t == 1 {
		return datasets.Set{X: X, Y: mat.Col(nil, 0, Y)}
	}
	return datasets.Set{X: X, Targets: Y}
}

// TestJackknifePlusMatchesRefits checks that the jackknife+ equals one with a refit per row, for
// all shapes, with several targets, and with weights, where a row of weight 0 is in no model.
func TestJackknifePlusMatchesRefits(t *testing.T) {
	ridge := func(alpha float64, intercept bool) estimator.Estimator {
		s := estimator.NewRidge()
		s.Alpha, s.Intercept = alpha, intercept
		return s
	}
	exact := func(intercept bool) estimator.Estimator {
		s := estimator.NewKernelRidge()
		s.Gamma, s.Alpha, s.Intercept = kernel.FixedGamma(0.2), 0.1, intercept
		return s
	}
	for name, c := range map[string]struct {
		of       estimator.Estimator
		n, d, t  int
		weighted bool
	}{
		"ridge":                                   {ridge(0.5, true), 30, 4, 1, false},
		"ridge without an intercept":              {ridge(0.5, false), 30, 4, 1, false},
		"ridge with weights":                      {ridge(2, true), 30, 4, 1, true},
		"ridge with weights, without intercept":   {ridge(2, false), 30, 4, 2, true},
		"ridge of no penalty":                     {ridge(0, true), 30, 4, 1, false},
		"wide ridge":                              {ridge(0.01, true), 25, 60, 1, false},
		"wide ridge with weights":                 {ridge(0.3, true), 25, 60, 2, true},
		"wide ridge without an intercept":         {ridge(0.3, false), 25, 60, 1, true},
		"as many columns as rows":                 {ridge(0.1, true), 25, 25, 1, false},
		"kernel_ridge":                            {exact(true), 30, 3, 2, false},
		"kernel_ridge without an intercept":       {exact(false), 30, 3, 1, false},
		"kernel_ridge with weights":               {exact(true), 30, 3, 1, true},
		"kernel_ridge with weights, no intercept": {exact(false), 30, 3, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			data, test := wave(3, c.n, c.d, c.t), wave(4, 7, c.d, c.t)
			if c.weighted {
				data.Weights = make([]float64, c.n)
				for i := range data.Weights {
					data.Weights[i] = float64(i%4) / 2
				}
			}
			all, err := estimator.Predict(context.Background(), fitted(t, intervals("jackknife_plus", c.of), data), test.X,
				estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			lower, upper := byRefits(t, c.of, data, test.X)
			if c.t > 1 {
				alike(t, "lower ends of all targets", all.LowerTargets.RawMatrix().Data, lower.RawMatrix().Data, 1e-8)
				alike(t, "upper ends of all targets", all.UpperTargets.RawMatrix().Data, upper.RawMatrix().Data, 1e-8)
			}
			alike(t, "lower ends", all.Lower, mat.Col(nil, 0, lower), 1e-8)
			alike(t, "upper ends", all.Upper, mat.Col(nil, 0, upper), 1e-8)
			plain := fitted(t, c.of, data)
			want, err := estimator.Predict(context.Background(), plain, test.X, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(all.Values, want.Values) {
				t.Error("the predictions are not those of the model within")
			}
		})
	}
}

// byRefits is the jackknife+ of level 0.9 by fitting again without each row.
func byRefits(t *testing.T, of estimator.Estimator, data datasets.Set, X mat.Matrix) (lower, upper *mat.Dense) {
	y := data.Targets
	if y == nil {
		y = mat.NewDense(data.Rows(), 1, data.Y)
	}
	_, targets := y.Dims()
	m, _ := X.Dims()
	lows, highs := make([][]float64, m*targets), make([][]float64, m*targets)
	for i := range data.Rows() {
		if data.Weights != nil && data.Weights[i] == 0 {
			continue
		}
		var rest []int
		for k := range data.Rows() {
			if k != i {
				rest = append(rest, k)
			}
		}
		p := fitted(t, of, data.Select(rest))
		at := func(X mat.Matrix) *mat.Dense {
			all, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			return all.Targets
		}
		own, others := at(rowblock.Select(data.X, []int{i})), at(X)
		for j := range targets {
			r := math.Abs(y.At(i, j) - own.At(0, j))
			for k := range m {
				f := others.At(k, j)
				lows[k*targets+j], highs[k*targets+j] = append(lows[k*targets+j], f-r), append(highs[k*targets+j], f+r)
			}
		}
	}
	lower, upper = mat.NewDense(m, targets, nil), mat.NewDense(m, targets, nil)
	for at := range lows {
		n := len(lows[at])
		k := int(math.Ceil(0.9*float64(n+1) - 1e-9))
		slices.Sort(lows[at])
		slices.Sort(highs[at])
		lower.Set(at/targets, at%targets, lows[at][n-k])
		upper.Set(at/targets, at%targets, highs[at][k-1])
	}
	return lower, upper
}

// drawn is the number of problems that measure coverage, asked the number of new rows in each.
const drawn, asked = 200, 25

// coverage returns how many of all new rows have their target in the interval, or their class in the set, and the
// standard error of that, by the spread between the problems.
func coverage(t *testing.T, s func(seed uint64) estimator.Estimator, rows func(seed uint64, n int) datasets.Set,
	n int) (share, se float64) {
	t.Helper()
	var each []float64
	for draw := range uint64(drawn) {
		p := fitted(t, s(draw), rows(2*draw, n))
		test := rows(2*draw+1, asked)
		all, err := estimator.Predict(context.Background(), p, test.X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		hits := 0.0
		for i, y := range test.Y {
			if all.Sets != nil && all.Sets.At(i, int(y)) == 1 || all.Sets == nil && all.Lower[i] <= y && y <= all.Upper[i] {
				hits++
			}
		}
		each = append(each, hits/asked)
		share += hits / asked / drawn
	}
	for _, v := range each {
		se += (v - share) * (v - share)
	}
	return share, math.Sqrt(se) / drawn
}

// TestCoverageGuarantee checks that the coverage guarantees hold over 200 problems: the
// jackknife+ covers at least 1 − 2α, and about 1 − α; split and the sets cover between 1 − α and 1
// − α + 1/(m+1), within sampling error.
func TestCoverageGuarantee(t *testing.T) {
	numbers := func(seed uint64, n int) datasets.Set { return wave(seed, n, 3, 1) }
	classes := func(seed uint64, n int) datasets.Set { return overlapping(seed, n) }
	features := func(of estimator.Estimator) estimator.Estimator {
		rff := transformer.NewRFF()
		rff.Features, rff.Gamma = 40, kernel.FixedGamma(0.3)
		return pipeline.Steps(rff).Then(of)
	}
	kernelRidge := estimator.NewKernelRidge()
	kernelRidge.Alpha = 0.3
	for name, c := range map[string]struct {
		of        func(seed uint64) estimator.Estimator
		rows      func(seed uint64, n int) datasets.Set
		n         int
		low, high float64
	}{
		"jackknife+": {func(uint64) estimator.Estimator {
			return intervals("jackknife_plus", estimator.NewRidge())
		}, numbers, 39, 0.87, 0.94},
		"jackknife+ on features": {func(uint64) estimator.Estimator {
			return features(intervals("jackknife_plus", estimator.NewRidge()))
		}, numbers, 39, 0.87, 0.94},
		"jackknife+ of a kernel": {func(uint64) estimator.Estimator { return intervals("jackknife_plus", kernelRidge) },
			numbers, 39, 0.87, 0.95},
		"split": {func(seed uint64) estimator.Estimator {
			s := intervals("split", features(estimator.NewRidge()))
			s.Seed, s.Calibration = seed, 0.5
			return s
		}, numbers, 78, 0.9, 0.925},
		"sets": {func(seed uint64) estimator.Estimator {
			s := intervals("split", estimator.NewRidgeClassifier())
			s.Seed, s.Calibration = seed, 0.5
			return s
		}, classes, 78, 0.9, 0.925},
		"sets of probabilities": {func(seed uint64) estimator.Estimator {
			s := intervals("auto", estimator.NewLogistic())
			s.Seed, s.Calibration = seed, 0.5
			return s
		}, classes, 78, 0.9, 0.925},
	} {
		t.Run(name, func(t *testing.T) {
			share, se := coverage(t, c.of, c.rows, c.n)
			t.Logf("coverage %.4f ± %.4f", share, se)
			if share < c.low-4*se || share > c.high+4*se {
				t.Errorf("coverage %.4f ± %.4f, want %v to %v", share, se, c.low, c.high)
			}
		})
	}
}

// TestIntervalsAreNotThoseOfTrainingResiduals checks that intervals cover new rows even if the
// model fits its training rows exactly, so that its training residuals are zero.
func TestIntervalsAreNotThoseOfTrainingResiduals(t *testing.T) {
	share, _ := coverage(t, func(seed uint64) estimator.Estimator {
		ridge := estimator.NewRidge()
		ridge.Alpha = 1e-6
		rff := transformer.NewRFF()
		rff.Features, rff.Gamma, rff.Seed = 200, kernel.FixedGamma(1), seed
		return pipeline.Steps(rff).Then(intervals("jackknife_plus", ridge))
	}, func(seed uint64, n int) datasets.Set { return wave(seed, n, 2, 1) }, 39)
	if share < 0.85 {
		t.Errorf("coverage %v of a model that knows its rows by heart", share)
	}
}

// TestIntervalsOfAnyLevel checks that any level can be requested, through preceding steps and
// target transforms.
func TestIntervalsOfAnyLevel(t *testing.T) {
	ctx := context.Background()
	data := wave(5, 60, 3, 1)
	for i := range data.Y {
		data.Y[i] = math.Exp(data.Y[i])
	}
	target := meta.NewTarget(intervals("jackknife_plus", estimator.NewRidge()))
	p := fitted(t, pipeline.Steps(transformer.NewStandardize()).Then(target), data)
	at := func(p estimator.Predictor, X mat.Matrix, level float64) (estimator.Prediction, error) {
		return estimator.Predict(ctx, p, X, estimator.Request{Outputs: estimator.OutputIntervals | estimator.OutputSets, Level: level})
	}
	all, err := estimator.Predict(ctx, p, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	before := 0.0
	for _, level := range []float64{0.5, 0.8, 0.9, 0.95} {
		one, err := at(p, data.X, level)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper := one.Lower, one.Upper
		width, inside := 0.0, 0
		for i := range lower {
			width += upper[i] - lower[i]
			if lower[i] <= data.Y[i] && data.Y[i] <= upper[i] {
				inside++
			}
		}
		if width <= before || math.Abs(float64(inside)/60-level) > 0.15 {
			t.Errorf("level %v: width %v after %v, %d of 60 inside", level, width, before, inside)
		}
		before = width
		if level == 0.9 {
			alike(t, "lower", all.Lower, lower, 1e-12)
			alike(t, "upper", all.Upper, upper, 1e-12)
		}
	}
	for _, level := range []float64{0.99, -1, 1, math.NaN()} {
		if _, err := at(p, data.X, level); err == nil {
			t.Errorf("level %v of 60 rows is taken", level)
		}
	}
	sets := fitted(t, pipeline.Steps(transformer.NewStandardize()).Then(intervals("auto", estimator.NewLogistic())),
		overlapping(1, 200))
	if has := estimator.OutputsOf(sets).Has; !has.Has(estimator.OutputSets) || has.Has(estimator.OutputIntervals) ||
		estimator.OutputsOf(p).Has.Has(estimator.OutputSets) {
		t.Error("a model has both intervals and sets")
	}
	size := 0.0
	for _, level := range []float64{0.6, 0.9, 0.97} {
		got, err := at(sets, overlapping(2, 100).X, level)
		if err != nil {
			t.Fatal(err)
		}
		if now := mat.Sum(got.Sets); now < size || now < 100 {
			t.Errorf("level %v: sets of %v classes after %v", level, now, size)
		} else {
			size = now
		}
	}
	if size <= 100 {
		t.Error("no set has two classes")
	}
}

// known predicts the mean of the last input and knows that it is off by the size of the first.
type known struct{ estimator.Ridge }

func (k known) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	p, err := k.Ridge.Fit(ctx, data)
	return knows{p}, err
}

type knows struct{ estimator.Predictor }

func (knows) Outputs() estimator.Outputs { return estimator.Outputs{Has: estimator.OutputStd} }

func (k knows) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (out estimator.Prediction,
	err error) {
	out.Values, err = k.Predict(ctx, X)
	for i := range out.Values {
		out.Std = append(out.Std, 0.2+0.3*math.Abs(X.At(i, 0)-3))
	}
	return out, err
}

// TestIntervalsOfStandardDeviations checks that method normal uses the predicted standard
// deviations, and that normalized residuals give intervals of proportional width with equal
// coverage.
func TestIntervalsOfStandardDeviations(t *testing.T) {
	data, test := wave(6, 400, 3, 1), wave(7, 50, 3, 1)
	plain, err := estimator.Predict(context.Background(), fitted(t, known{estimator.NewRidge()}, data), test.X,
		estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	normalized := intervals("split", known{estimator.NewRidge()})
	normalized.Normalize = true
	for _, s := range []meta.Intervals{intervals("normal", known{estimator.NewRidge()}), normalized} {
		all, err := estimator.Predict(context.Background(), fitted(t, s, data), test.X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		ratio := (all.Upper[0] - all.Lower[0]) / all.Std[0]
		for i := range all.Lower {
			if got := (all.Upper[i] - all.Lower[i]) / all.Std[i]; math.Abs(got-ratio) > 1e-9 ||
				math.Abs((all.Lower[i]+all.Upper[i])/2-all.Values[i]) > 1e-9 {
				t.Fatalf("%s: row %d has an interval of %v deviations, another one of %v", s.Method, i, got, ratio)
			}
			if s.Method == "normal" && (all.Lower[i] != plain.Lower[i] || all.Upper[i] != plain.Upper[i]) {
				t.Fatalf("normal: row %d: [%v, %v], and a model with deviations has [%v, %v] separately", i, all.Lower[i],
					all.Upper[i], plain.Lower[i], plain.Upper[i])
			}
		}
		if want := 2 * 1.6448536269514722; s.Method == "normal" && math.Abs(ratio-want) > 1e-9 || s.Method == "split" &&
			(ratio < 2.2 || ratio > 4.5) {
			t.Errorf("%s: intervals of %v deviations", s.Method, ratio)
		}
	}
}

// both predicts two targets with standard deviations.
type both struct{}

func (both) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return both{}, nil }

func (both) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	return make([]float64, n), nil
}

func (both) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputTargets | estimator.OutputStd}
}

func (both) PredictFull(_ context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction, error) {
	n, _ := X.Dims()
	out := estimator.Prediction{Values: make([]float64, n), Std: slices.Repeat([]float64{1}, n),
		Targets: mat.NewDense(n, 2, nil), StdTargets: mat.NewDense(n, 2, nil)}
	for i := range n {
		out.Targets.Set(i, 1, 5)
		out.StdTargets.SetRow(i, []float64{1, 2})
	}
	return out, nil
}

// TestIntervalsOfDeviationsOfSeveralTargets checks that standard deviations of several targets pass
// through steps and transforms, and give separate intervals.
func TestIntervalsOfDeviationsOfSeveralTargets(t *testing.T) {
	target := meta.NewTarget(intervals("normal", both{}))
	target.Transform = "standardize"
	p := fitted(t, pipeline.Steps(transformer.NewStandardize()).Then(target), wave(9, 40, 2, 2))
	X := wave(10, 5, 2, 2).X
	all, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	scale := all.StdTargets.At(0, 0)
	reach := 1.6448536269514722 * scale
	if scale <= 0 || scale == 1 || math.Abs(all.Std[0]-scale) > 1e-9 ||
		math.Abs(all.Lower[0]-(all.Values[0]-reach)) > 1e-9 {
		t.Errorf("%+v", all)
	}
	n, _ := X.Dims()
	for i := range n {
		for j := range 2 {
			f, std := all.Targets.At(i, j), all.StdTargets.At(i, j)
			if math.Abs(all.LowerTargets.At(i, j)-(f-1.6448536269514722*std)) > 1e-9 ||
				math.Abs(all.UpperTargets.At(i, j)-(f+1.6448536269514722*std)) > 1e-9 {
				t.Errorf("row %d, target %d: [%v, %v] around %v ± %v", i, j, all.LowerTargets.At(i, j), all.UpperTargets.At(i, j),
					f, std)
			}
		}
	}
	if all.StdTargets.At(0, 1) == all.StdTargets.At(0, 0) {
		t.Error("both targets have one deviation")
	}
}

// Unsupported combinations are errors with the alternative.
func TestIntervalsRefuse(t *testing.T) {
	few, many, classes := wave(1, 8, 3, 1), wave(1, 60, 3, 1), overlapping(1, 60)
	grouped := many
	grouped.Groups = make([]int, 60)
	for i := range grouped.Groups {
		grouped.Groups[i] = i / 3
	}
	normalized := intervals("jackknife", estimator.NewRidge())
	normalized.Normalize = true
	std := intervals("split", estimator.NewRidge())
	std.Normalize = true
	wrong := intervals("split", estimator.NewRidge())
	wrong.Level, wrong.Calibration = 1, 0
	for _, c := range []struct {
		spec meta.Intervals
		data datasets.Set
		want string
	}{
		{intervals("jackknife_plus", estimator.NewRidge()), few,
			"level 0.9 takes 9 rows with residuals or more, and there are 8"},
		{intervals("split", estimator.NewRidge()), wave(1, 30, 3, 1), "raise calibration, or lower level"},
		{intervals("jackknife_plus", estimator.NewSVR()), many, "use split"},
		{intervals("jackknife", estimator.NewRidgeClassifier()), classes, "use split"},
		{intervals("jackknife", estimator.NewRidge()), grouped, "the rows have groups; use split"},
		{normalized, many, "normalize goes with split"},
		{std, many, "does not know its standard deviation"},
		{intervals("normal", estimator.NewRidge()), many, "does not know its standard deviation"},
		{intervals("none", estimator.NewRidge()), many, "method"},
		{wrong, many, "calibration"},
		{meta.NewIntervals(nil), many, "estimator is missing"},
		{intervals("cqr", estimator.NewRidge()), many, "needs a model of a quantile"},
		{intervals("cqr", estimator.NewQuantileRegression()), wave(1, 60, 3, 2), "must have one target"},
		{byGroup("jackknife", estimator.NewRidge(), 0), many, "group goes with split and cqr"},
		{byGroup("split", estimator.NewRidge(), 0), many, `group: no input column is named "group"`},
	} {
		_, err := c.spec.Fit(context.Background(), c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "estimator: intervals: ") {
			t.Errorf("%s: error %v, want %q", c.spec.Method, err, c.want)
		}
	}
	p := fitted(t, intervals("auto", estimator.NewRidge()), grouped) // by groups
	if tags := datasets.TagsOf(p); tags.IntervalMethod != "split" || tags.Level != 0.9 {
		t.Errorf("%s of level %v for groups", tags.IntervalMethod, tags.Level)
	}
}

// TestIntervalsAreSaved checks that intervals and sets of a restored pipeline are equal bit for
// bit.
func TestIntervalsAreSaved(t *testing.T) {
	for _, c := range []struct {
		spec estimator.Estimator
		data datasets.Set
	}{
		{intervals("jackknife_plus", estimator.NewRidge()), wave(8, 40, 3, 2)},
		{intervals("jackknife_plus", estimator.NewKernelRidge()), wave(8, 40, 3, 1)},
		{intervals("jackknife", estimator.NewRidge()), wave(8, 40, 3, 1)},
		{intervals("split", estimator.NewRidge()), wave(8, 60, 3, 1)},
		{intervals("split", estimator.NewLogistic()), overlapping(8, 60)},
		{byGroup("cqr", estimator.NewQuantileRegression(), 0), noisyGroups(8, 200)},
		{byGroup("split", estimator.NewRidge(), 0), noisyGroups(8, 200)},
	} {
		p := fitted(t, pipeline.Steps(transformer.NewStandardize()).Then(c.spec), c.data)
		text := fmt.Sprint(everything(t, p, c.data.X))
		if got := fmt.Sprint(everything(t, reloaded(t, p), c.data.X)); got != text {
			t.Errorf("%T: other predictions after loading", c.spec)
		}
	}
}

// everything returns all outputs of a model.
func everything(t *testing.T, p estimator.Predictor, X mat.Matrix) []any {
	t.Helper()
	all, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	out := []any{all.Values, all.Lower, all.Upper}
	for _, m := range []*mat.Dense{all.Targets, all.LowerTargets, all.UpperTargets, all.Sets} {
		if m != nil {
			out = append(out, m.RawMatrix().Data)
		}
	}
	if len(all.Lower) == 0 && all.Sets == nil {
		t.Fatal("neither intervals nor sets")
	}
	return out
}

// reloaded is a model after it has been in a file.
func reloaded(t *testing.T, p estimator.Predictor) estimator.Predictor {
	t.Helper()
	kept, err := model.Record(p.(model.Stateful))
	if err != nil {
		t.Fatal(err)
	}
	out := &pipeline.FittedPipeline{}
	if err := model.Restore(kept, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A state whose model within has other outputs than the intervals or sets need is refused when it is read,
// not when rows are predicted.
func TestForgedIntervals(t *testing.T) {
	numbers, classes := wave(8, 60, 3, 1), overlapping(8, 60)
	for _, c := range []struct {
		spec  estimator.Estimator
		data  datasets.Set
		forge func(a *archive.Archive)
		want  string
	}{
		{intervals("split", estimator.NewRidge()), numbers, func(a *archive.Archive) { a.Scalars["method"] = "normal" },
			"no standard deviations"},
		{intervals("split", estimator.NewRidge()), numbers, func(a *archive.Archive) { a.Scalars["normalized"] = true },
			"no standard deviations"},
		{intervals("split", estimator.NewRidge()), numbers, func(a *archive.Archive) {
			r := a.Arrays["residuals"]
			r.Shape, r.Floats = []int{r.Shape[0], 2}, append(slices.Clip(r.Floats), r.Floats...)
			a.Arrays["residuals"] = r
		}, "of other targets"},
		{byGroup("cqr", estimator.NewQuantileRegression(), 0), noisyGroups(8, 200), func(a *archive.Archive) {
			a.Scalars["group"] = 7.0
		}, "no column of the groups"},
		{intervals("split", estimator.NewSVM()), classes, func(a *archive.Archive) { a.Scalars["probabilities"] = true },
			"other outputs"},
	} {
		fitted, err := c.spec.Fit(context.Background(), c.data)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := model.Record(fitted.(model.Stateful))
		if err != nil {
			t.Fatal(err)
		}
		empty := func() model.Stateful {
			return reflect.New(reflect.TypeOf(fitted).Elem()).Interface().(model.Stateful)
		}
		if err := model.Restore(kept, empty()); err != nil {
			t.Fatal(err)
		}
		c.forge(kept)
		if err := model.Restore(kept, empty()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
