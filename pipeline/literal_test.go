package pipeline_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// A struct literal with missing fields is rejected, alone and in a pipeline, with all errors and
// the constructor that sets the defaults.
func TestLiteralsAreSentToTheirConstructors(t *testing.T) {
	data := numbers(40, 43)
	for _, c := range []struct {
		fit  func() error
		want []string
	}{
		{func() error { _, err := transformer.RFF{}.Fit(ctx, data); return err },
			[]string{"features: must be an integer from 1 to 67108864, got 0", "(start from NewRFF())",
				`map: must be paired or phase, got ""`}},
		{func() error { _, err := transformer.Binning{Grids: 3}.Fit(ctx, data); return err },
			[]string{"(start from NewBinning())"}},
		{func() error { _, err := transformer.Nystroem{}.Fit(ctx, data); return err },
			[]string{"landmarks: must be an integer from 1 to 1048576, got 0", "(start from NewNystroem())"}},
		{func() error { _, err := transformer.PCA{}.Fit(ctx, data); return err }, []string{"(start from NewPCA())"}},
		{func() error { _, err := transformer.Impute{}.Fit(ctx, data); return err }, []string{"(start from NewImpute())"}},
		{func() error { _, err := estimator.Logistic{C: 1}.Fit(ctx, data); return err },
			[]string{"max_iter: must be an integer ≥ 1, got 0", "(start from NewLogistic())"}},
		{func() error { _, err := estimator.SVM{}.Fit(ctx, data); return err },
			[]string{"C: must be a number > 0, got 0", "(start from NewSVM())"}},
		{func() error { _, err := estimator.Ridge{Alpha: 1}.Fit(ctx, data); return err },
			[]string{`solver: must be auto, cholesky, dual or cg, got ""`, "(start from NewRidge())"}},
		{func() error { _, err := estimator.RidgeClassifier{}.Fit(ctx, data); return err },
			[]string{"(start from NewRidgeClassifier())"}},
		{func() error { _, err := estimator.SVR{}.Fit(ctx, data); return err }, []string{"(start from NewSVR())"}},
		{func() error { _, err := transformer.Standardize{}.Fit(ctx, data); return err },
			[]string{"mean", "must be true, unless std is", "(start from NewStandardize())"}},
		{func() error { _, err := transformer.Robust{}.Fit(ctx, data); return err }, []string{"(start from NewRobust())"}},
		{func() error { _, err := transformer.MinMax{}.Fit(ctx, data); return err }, []string{"(start from NewMinMax())"}},
		{func() error {
			_, err := pipeline.Steps(pipeline.NewUnion(transformer.RFF{})).Then(estimator.Logistic{C: 1}).Fit(ctx, data)
			return err
		}, []string{"union.rff.features: must be an integer from 1 to 67108864, got 0", "(start from NewRFF())",
			"logistic.tol: must be a number > 0, got 0", "(start from NewLogistic())"}},
	} {
		err := c.fit()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if err != nil && strings.Count(err.Error(), "NewRFF") > 1 {
			t.Errorf("repeated: %v", err)
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
	const ridge = "the target rich has classes, and ridge is for numbers; ridge_classifier " +
		"(estimator.NewRidgeClassifier) is for classes"
	const svr = "the target rich has classes, and svr is for numbers; svm (estimator.NewSVM) is for classes"
	const kernel = "the target rich has classes, and kernel_ridge is for numbers; kernel_ridge_classifier " +
		"(estimator.NewKernelRidgeClassifier) is for classes"
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
				t.Errorf("way %d: %v, want %s", i, err, want)
			}
		}
	}
}

type grade int16

// TestNumbersOfEverySize checks that axes and param.With accept every Go numeric type and reject
// other values with an error that shows the type and the value.
func TestNumbersOfEverySize(t *testing.T) {
	p := pipeline.Steps(transformer.NewRFF()).Then(estimator.NewRidge())
	for _, v := range []any{int8(8), int16(8), int32(8), int64(8), uint(8), uint8(8), uint16(8), uint32(8), uint64(8),
		float32(8), 8.0, grade(8)} {
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
	s := gridsearch.NewSearch(p, gridsearch.Axis{Path: "rff.features", Values: []any{int64(4), uint8(8)}},
		gridsearch.Axis{Path: "rff.gamma", Values: []any{[]float64{1, 2, 3, 4}, float32(0.5)}})
	s.Splitter = datasets.KFold{Folds: 2}
	if r, err := s.Run(ctx, data); err != nil || r.Candidates[3].Failed != "" ||
		r.Candidates[3].String() != "rff.features=8 rff.gamma=0.5" {
		t.Errorf("%v", err)
	}
	for v, want := range map[any]string{
		struct{ A int }{3}: "must be an integer",
		complex(1, 2):      "must be an integer",
		int64(1) << 60:     "must be an integer",
		float32(2.5):       "must be an integer",
		"8":                `must be an integer`,
	} {
		if _, err := param.With(p, param.Setting{Path: "rff.features", Value: v}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPointersToSpecs checks that a pointer to a spec is copied, in steps, estimators and wrappers,
// and that a literal step or pipeline with a pointer is rejected.
func TestPointersToSpecs(t *testing.T) {
	data := numbers(60, 3)
	rff, binning, nystroem, ridge := fourier(20), transformer.NewBinning(), transformer.NewNystroem(), estimator.NewRidge()
	binning.Grids, nystroem.Landmarks = 10, 8
	for _, pair := range [][2]pipeline.Pipeline{
		{pipeline.Steps(&rff).Then(&ridge), pipeline.Steps(rff).Then(ridge)},
		{pipeline.Steps(&binning).Then(&ridge), pipeline.Steps(binning).Then(ridge)},
		{pipeline.Steps(pipeline.NewUnion(&nystroem, &rff)).Then(meta.NewTarget(&ridge)),
			pipeline.Steps(pipeline.NewUnion(nystroem, rff)).Then(meta.NewTarget(ridge))},
	} {
		if got, want := pair[0].String(), pair[1].String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got, want := parameters(&pair[0]), parameters(&pair[1]); got != want {
			t.Errorf("parameters %s, want %s", got, want)
		}
		data := data
		data.Y = slices.Clone(data.Y)
		for i := range data.Y {
			data.Y[i] = 1 + math.Abs(data.Y[i]) // which has a logarithm
		}
		fitted, err := pair[0].Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := modelfile.New(fitted); err != nil {
			t.Error(err)
		} else if err := m.Write(io.Discard); err != nil {
			t.Error(err)
		}
		alpha := "ridge.alpha"
		if pair[0].String() != "rff → ridge" && pair[0].String() != "binning → ridge" {
			alpha = "target.estimator.alpha"
		}
		s := gridsearch.NewSearch(pair[0], gridsearch.Axis{Path: alpha, Values: []any{0.1, 1.0}})
		s.Splitter = datasets.KFold{Folds: 2}
		if _, err := s.Run(ctx, data); err != nil {
			t.Error(err)
		}
		if _, err := gridsearch.NewSearch(&pair[0], s.Grid...).Run(ctx, data); err != nil {
			t.Error(err)
		}
	}
	for want, spec := range map[string]estimator.Estimator{
		"estimator: must be estimator.Ridge":                    &ridge,
		"estimator: must be a spec, got a nil *estimator.Ridge": (*estimator.Ridge)(nil),
	} {
		if _, err := (gridsearch.Search{Estimator: spec}).Run(ctx, data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for k, p := range []pipeline.Pipeline{
		{Steps: []pipeline.Step{{Fitter: &rff}}, Estimator: ridge},
		{Estimator: &ridge},
		{Steps: []pipeline.Step{{Fitter: (*transformer.RFF)(nil)}}, Estimator: ridge},
	} {
		want := "; pass what it points to"
		s := gridsearch.NewSearch(p, gridsearch.Axis{Path: "ridge.alpha", Values: []any{0.1, 1.0}})
		_, searched := s.Run(ctx, data) // a search copies specs behind pointers
		if k == 2 {
			want = "must be a spec, got a nil *transformer.RFF"
		}
		if k == 2 && (searched == nil || !strings.Contains(searched.Error(), want)) || k < 2 && searched != nil {
			t.Errorf("%v: searched: %v", p, searched)
		}
		if _, err := p.Fit(ctx, data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", p, err, want)
		}
	}
}

// byValue declares its parameters through a copy.
type byValue struct{ Alpha float64 }

func (s byValue) Params(l *param.List) { l.Float(&s.Alpha, "alpha", "a number", param.AtLeast(0)) }

func (s byValue) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return estimator.NewRidge().Fit(ctx, data)
}

// lost writes its state through a copy.
type lost struct{ estimator.Predictor }

func (lost) State(*model.State) {}

// TestReceiversAndMethods checks that methods with an unsupported receiver or signature are
// rejected, not ignored.
func TestReceiversAndMethods(t *testing.T) {
	data := numbers(60, 3)
	const want = "Params of pipeline_test.byValue must have a pointer receiver"
	_, with := param.With(byValue{}, param.Setting{Path: "alpha", Value: 2.0})
	_, fit := pipeline.Steps().Then(byValue{}).Fit(ctx, data)
	registered := pipeline.Register(pipeline.Entry{Name: "byvalue", New: func() any { return byValue{} },
		Fitted: func() model.Stateful { return &estimator.FittedLinear{} }})
	for what, err := range map[string]error{"With": with, "Check": param.Check(byValue{}), "Fit": fit,
		"Register": registered} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	err := pipeline.Register(pipeline.Entry{Name: "lost", New: func() any { return mean{} },
		Fitted: func() model.Stateful { return &lost{} }})
	if err == nil || !strings.Contains(err.Error(), "State of *pipeline_test.lost must have a pointer receiver") {
		t.Error(err)
	}
}

// Every integer of every registered spec has an upper bound.
func TestIntegersAreBounded(t *testing.T) {
	for _, e := range pipeline.Registered() {
		for _, p := range specs.Own(e.New()) {
			if p.Kind != paramkind.Int {
				continue
			}
			if _, err := param.With(e.New(), param.Setting{Path: p.Path, Value: 1 << 40}); err == nil {
				t.Errorf("%s.%s takes 2^40", e.Name, p.Path)
			}
		}
	}
}

// parameters returns the paths and values of all parameters of a spec.
func parameters(spec any) string {
	var out strings.Builder
	for _, p := range param.All(spec) {
		fmt.Fprintf(&out, "%s: %v\n", p.Path, p.Value)
	}
	return out.String()
}
