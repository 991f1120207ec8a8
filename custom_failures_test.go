package bochner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// faulty is a custom step and a custom model with one failure. Level is only an axis to search: level 0 has no failure.
type faulty struct {
	Level   float64
	Failure string
}

func (f *faulty) Params(l *param.List) {
	l.Float(&f.Level, "level", "0 for no failure", param.AtLeast(0))
	l.Choice(&f.Failure, "failure", "what goes wrong", "none", "fit panics", "no model", "transform panics", "no matrix",
		"fewer rows", "other width", "predict panics", "fewer values", "more values")
}

func (f faulty) has(failure string) bool { return f.Level > 0 && f.Failure == failure }

type faultyStep struct{ faulty }

func (s faultyStep) Fit(context.Context, datasets.Set) (transformer.Transformer, error) {
	switch {
	case s.has("fit panics"):
		panic("oops")
	case s.has("no model"):
		return nil, nil
	}
	return fittedFaultyStep(s), nil
}

type fittedFaultyStep struct{ faulty }

func (s fittedFaultyStep) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	n, d := X.Dims()
	switch {
	case s.has("transform panics"):
		panic("oops")
	case s.has("no matrix"):
		return nil, nil
	case s.has("fewer rows") && n > 1:
		n--
	case s.has("other width") && n > 1:
		d++
	}
	out := mat.NewDense(n, d, nil)
	out.Copy(X)
	return out, nil
}

type faultyModel struct{ faulty }

func (m faultyModel) Fit(context.Context, datasets.Set) (estimator.Predictor, error) {
	switch {
	case m.has("fit panics"):
		panic("oops")
	case m.has("no model"):
		return nil, nil
	}
	return fittedFaultyModel(m), nil
}

type fittedFaultyModel struct{ faulty }

func (m fittedFaultyModel) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	switch {
	case m.has("predict panics"):
		panic("oops")
	case m.has("fewer values"):
		n--
	case m.has("more values"):
		n++
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = X.At(min(i, 0), 0)
	}
	return out, nil
}

// numbers returns many rows, so that they are predicted by several workers.
func numbers() datasets.Set {
	const n = 9000
	data := datasets.Set{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
	for i := range n {
		data.X.(*mat.Dense).Set(i, i%2, float64(i%7))
		data.Y[i] = float64(1 + i%5)
	}
	return data
}

// failures returns the pipelines and models with each failure, by the parameter path of their level, and the text of the
// error.
func failures() map[string]struct {
	spec estimator.Estimator
	path string
	want string
} {
	out := map[string]struct {
		spec estimator.Estimator
		path string
		want string
	}{}
	add := func(name string, spec estimator.Estimator, path, want string) {
		out[name] = struct {
			spec estimator.Estimator
			path string
			want string
		}{spec, path, want}
	}
	for failure, want := range map[string]string{
		"fit panics": "panic in bochner_test.faultyStep.Fit: oops", "no model": "returned no fitted step",
		"transform panics": "panic in bochner_test.fittedFaultyStep.Transform: oops", "no matrix": "returned no matrix",
		"fewer rows": "must have a row for each of ", "other width": "3 columns come out, 2 at fit",
	} {
		step := faultyStep{faulty{1, failure}}
		add("step: "+failure, pipeline.Pipeline{Steps: []pipeline.Step{{Name: "own", Fitter: step}},
			Estimator: estimator.NewRidge(), Name: "ridge"}, "own.level", want)
	}
	for failure, want := range map[string]string{
		"fit panics": "panic in bochner_test.faultyModel.Fit: oops", "no model": "returned no model",
		"predict panics": "Predict: oops", "fewer values": "must", "more values": "must",
	} {
		model := faultyModel{faulty{1, failure}}
		add("model: "+failure, model, "level", want)
		// A panic in an inner model is that of the wrapper; the stack has the inner model.
		add("model of a pipeline: "+failure, pipeline.Pipeline{Steps: pipeline.Steps(transformer.NewMinMax()),
			Estimator: model, Name: "own"}, "own.level", want)
		add("model in a wrapper: "+failure, pipeline.Pipeline{Steps: pipeline.Steps(transformer.NewMinMax()),
			Estimator: meta.NewTarget(model), Name: "target"}, "target.estimator.level", want[strings.LastIndex(want, ": ")+1:])
	}
	return out
}

// A failure of a candidate is its error, with the stack of a panic; the search selects another.
func TestFailuresOfCandidates(t *testing.T) {
	data := numbers()
	for name, c := range failures() {
		search := gridsearch.NewSearch(c.spec, gridsearch.Axis{Path: c.path, Values: []any{0, 1}})
		search.Score = "mse"
		result, err := search.Run(t.Context(), data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		bad := result.Candidates[1]
		if result.BestIndex != 0 || bad.Err == nil || !strings.Contains(bad.Failed, c.want) {
			t.Errorf("%s: the error is %q, want %q in it", name, bad.Failed, c.want)
		}
		p := (*datasets.PanicError)(nil)
		if panics := strings.Contains(name, "panics"); errors.As(bad.Err, &p) != panics ||
			panics && !strings.Contains(string(p.Stack), "custom_failures_test.go") {
			t.Errorf("%s: the error of the candidate is %#v", name, bad.Err)
		}
		if _, ok := c.spec.(pipeline.Pipeline); ok {
			result, err := search.RunSource(t.Context(), data.Source())
			if err != nil || result.BestIndex != 0 || !strings.Contains(result.Candidates[1].Failed, c.want) {
				t.Errorf("%s: a search over a source returns %+v, %v", name, result, err)
			}
		}
		search.Grid[0].Values = []any{1}
		if _, err := search.Run(t.Context(), data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: a search over it alone returns %v", name, err)
		}
	}
}

// A failure outside of a search is an error of the fit or of the prediction, on whichever core it happens.
func TestFailuresOfFits(t *testing.T) {
	data := numbers()
	for name, c := range failures() {
		if !strings.Contains(name, "step") && !strings.Contains(name, "pipeline") {
			continue
		}
		fitted, err := c.spec.Fit(t.Context(), data)
		if err == nil {
			_, err = fitted.Predict(t.Context(), data.X)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q in it", name, err, c.want)
		}
	}
}
