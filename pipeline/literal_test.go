package pipeline_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// A struct literal with fields left out is refused, alone and in a pipeline, with every fault and
// the constructor that has the defaults.
func TestLiteralsAreSentToTheirConstructors(t *testing.T) {
	data := numbers(40, 43)
	for _, c := range []struct {
		fit  func() error
		want []string
	}{
		{func() error { _, err := transformer.RFF{}.Fit(ctx, data); return err }, []string{"features: got 0", "(start from NewRFF())", "map: got"}},
		{func() error { _, err := transformer.Binning{Grids: 3}.Fit(ctx, data); return err }, []string{"(start from NewBinning())"}},
		{func() error { _, err := transformer.Nystroem{}.Fit(ctx, data); return err }, []string{"landmarks: got 0", "(start from NewNystroem())"}},
		{func() error { _, err := transformer.PCA{}.Fit(ctx, data); return err }, []string{"(start from NewPCA())"}},
		{func() error { _, err := transformer.Impute{}.Fit(ctx, data); return err }, []string{"(start from NewImpute())"}},
		{func() error { _, err := estimator.Logistic{C: 1}.Fit(ctx, data); return err }, []string{"max_iter: got 0", "(start from NewLogistic())"}},
		{func() error { _, err := estimator.SVM{}.Fit(ctx, data); return err }, []string{"C: got 0", "(start from NewSVM())"}},
		{func() error { _, err := estimator.Ridge{Alpha: 1}.Fit(ctx, data); return err }, []string{"solver: got", "(start from NewRidge())"}},
		{func() error { _, err := estimator.RidgeClassifier{}.Fit(ctx, data); return err }, []string{"(start from NewRidgeClassifier())"}},
		{func() error { _, err := estimator.SVR{}.Fit(ctx, data); return err }, []string{"(start from NewSVR())"}},
		{func() error {
			_, err := pipeline.Steps(pipeline.NewUnion(transformer.RFF{})).Then(estimator.Logistic{C: 1}).Fit(ctx, data)
			return err
		}, []string{"union.rff.features: got 0", "(start from NewRFF())", "logistic.tol: got 0", "(start from NewLogistic())"}},
	} {
		err := c.fit()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, wanted %s", err, want)
			}
		}
		if err != nil && strings.Count(err.Error(), "NewRFF") > 1 {
			t.Errorf("said again and again: %v", err)
		}
	}
	// A value that was chosen, not left out, is no matter of the constructor.
	rff := transformer.NewRFF()
	rff.Features = -2
	if _, err := rff.Fit(ctx, data); err == nil || strings.Contains(err.Error(), "start from") {
		t.Errorf("features −2: %v", err)
	}
}

// A regression on the codes of classes is refused, in memory, as a stream and in a search.
func TestRegressionsRefuseClasses(t *testing.T) {
	data := numbers(40, 44)
	data.Schema.Targets = people(1, 1).Schema.Targets
	const ridge = "the target rich has classes, and ridge is for numbers; ridge_classifier (estimator.NewRidgeClassifier) is for classes"
	const svr = "the target rich has classes, and svr is for numbers; svm (estimator.NewSVM) is for classes"
	const kernel = "the target rich has classes, and kernel_ridge is for numbers; kernel_ridge_classifier (estimator.NewKernelRidgeClassifier) is for classes"
	search := func(e estimator.Estimator, path string) error {
		s := gridsearch.NewSearch(e, gridsearch.Axis{Path: path, Values: []any{1.0, 2.0}})
		s.Splitter = datasets.KFold{Folds: 2}
		_, err := s.Run(ctx, data)
		return err
	}
	for want, fits := range map[string][]func() error{
		ridge: {
			func() error { _, err := estimator.NewRidge().Fit(ctx, data); return err },
			func() error { _, err := estimator.NewRidge().FitSource(ctx, data.Source()); return err },
			func() error { _, err := estimator.NewRidge().FitPosterior(ctx, data, 1); return err },
			func() error { _, err := estimator.NewRidge().LeaveOneOut(ctx, data, []float64{1}); return err },
			func() error {
				_, err := pipeline.Steps(fourier(8)).Then(estimator.NewRidge()).Fit(ctx, data)
				return err
			},
			func() error { return search(estimator.NewRidge(), "alpha") },
			func() error { return search(pipeline.Steps(fourier(8)).Then(estimator.NewRidge()), "ridge.alpha") },
		},
		kernel: {
			func() error { _, err := estimator.NewKernelRidge().Fit(ctx, data); return err },
			func() error { return search(estimator.NewKernelRidge(), "alpha") },
		},
		svr: {
			func() error { _, err := estimator.NewSVR().Fit(ctx, data); return err },
			func() error { _, err := estimator.NewSVR().FitSource(ctx, data.Source()); return err },
			func() error { return search(estimator.NewSVR(), "C") },
		},
	} {
		for i, fit := range fits {
			if err := fit(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("way %d: %v, wanted %s", i, err, want)
			}
		}
	}
}

type grade int16

// Go's numbers of every size are values of an axis, and of param.With; what is no number is refused
// by type and value.
func TestNumbersOfEverySize(t *testing.T) {
	p := pipeline.Steps(transformer.NewRFF()).Then(estimator.NewRidge())
	for _, v := range []any{int8(8), int16(8), int32(8), int64(8), uint(8), uint8(8), uint16(8), uint32(8), uint64(8), float32(8), 8.0, grade(8)} {
		q, err := param.With(p, param.Setting{Path: "rff.features", Value: v}, param.Setting{Path: "ridge.alpha", Value: v},
			param.Setting{Path: "rff.gamma", Value: v}, param.Setting{Path: "rff.seed", Value: v})
		if err != nil {
			t.Errorf("%T: %v", v, err)
			continue
		}
		for path, want := range map[string]any{"rff.features": 8, "ridge.alpha": 8.0, "rff.gamma": 8.0, "rff.seed": 8} {
			if got, _ := param.Get(q, path); !reflect.DeepEqual(got, want) {
				t.Errorf("%T: %s is %v", v, path, got)
			}
		}
	}
	data := numbers(40, 45)
	s := gridsearch.NewSearch(p, gridsearch.Axis{Path: "rff.features", Values: []any{int64(4), uint8(8)}}, gridsearch.Axis{Path: "rff.gamma", Values: []any{[]float64{1, 2, 3, 4}, float32(0.5)}})
	s.Splitter = datasets.KFold{Folds: 2}
	if r, err := s.Run(ctx, data); err != nil || r.Candidates[3].Failed != "" || r.Candidates[3].String() != "rff.features=8 rff.gamma=0.5" {
		t.Errorf("%v", err)
	}
	for v, want := range map[any]string{
		struct{ A int }{3}: "got struct { A int } {3}, wanted a whole number",
		complex(1, 2):      "got complex128 (1+2i), wanted a whole number",
		int64(1) << 60:     "got 1152921504606846976, wanted a whole number",
		float32(2.5):       "got 2.5, wanted a whole number",
		"8":                `got "8", wanted a whole number`,
	} {
		if _, err := param.With(p, param.Setting{Path: "rff.features", Value: v}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, wanted %s", err, want)
		}
	}
}
