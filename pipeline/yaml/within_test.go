package yaml_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/yaml"
	"github.com/bochner-ml/bochner/transformer"
)

// echo is a step with another one in a field.
type echo struct {
	Step  transformer.Fitter
	Times int
}

func (e *echo) Params(l *param.List) {
	l.Int(&e.Times, "times", "how often", param.AtLeast(0))
	l.Child("step", &e.Step)
}

func (e echo) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return e.Step.Fit(ctx, data)
}

// hollow is an echo without a default child.
type hollow echo

func (h *hollow) Params(l *param.List) { (*echo)(h).Params(l) }

func (h hollow) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return echo(h).Fit(ctx, data)
}

type fittedEcho struct{ transformer.FittedRFF }
type fittedHollow struct{ transformer.FittedRFF }

// TestWithin checks that children in a field are below the field's name, as a step or a list of
// steps, and that omitted ones have their defaults with derived seeds.
func TestWithin(t *testing.T) {
	for _, e := range []pipeline.Entry{
		{Name: "echo", New: func() any { return echo{Step: transformer.NewRFF(), Times: 1} },
			Fitted: func() model.Stateful { return &fittedEcho{} }},
		{Name: "hollow", New: func() any { return hollow{} }, Fitted: func() model.Stateful { return &fittedHollow{} }},
	} {
		if err := pipeline.Register(e); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]map[string]any{
		"[echo, ridge]": {"echo.step.seed": int(specs.DeriveSeed(7, "echo.step")), "echo.times": 1},
		"[{echo: {times: 3}, name: again}, ridge]": {"again.step.seed": int(specs.DeriveSeed(7,
			"again.step")), "again.times": 3},
		"[{echo: {step: {rff: {features: 4, seed: 2}}}}, ridge]": {"echo.step.features": 4, "echo.step.seed": 2},
		"[{echo: {step: [minmax, {rff: {features: 4}}]}}, ridge]": {"echo.step.rff.features": 4,
			"echo.step.rff.seed": int(specs.DeriveSeed(7, "echo.step.rff"))},
		"[{hollow: {step: {union: [minmax, standardize]}}}, ridge]":   {"hollow.step.minmax.low": 0.0},
		"[{union: [{echo: {step: {echo: {step: minmax}}}}]}, ridge]":  {"union.echo.step.step.low": 0.0},
		"[{steps: [{hollow: {step: [minmax]}}], name: chain}, ridge]": {"chain.hollow.step.minmax.low": 0.0},
	} {
		from := yaml.Origin{File: "a.yaml", Path: "pipeline", Seed: 7}
		p, err := yaml.Unmarshal([]byte(text), from)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for path, v := range want {
			if got, err := param.Get(p, path); err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %s is %v, want %v (%v)", text, path, got, v, err)
			}
		}
		out, err := yaml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := yaml.Unmarshal(out, yaml.Origin{}); err != nil || !reflect.DeepEqual(param.All(back), param.All(p)) {
			t.Errorf("%s: written\n%s, read %+v, %v", text, out, back, err)
		}
	}
	for text, want := range map[string]string{
		"[hollow, ridge]": "a.yaml:1:2: pipeline.hollow.step: missing (must be a step, or a " +
			"list of steps)",
		"[{echo: {step: ridge}}, ridge]": `a.yaml:1:16: pipeline.echo.step: must be a step, or a list of steps`,
		"[{echo: {step: []}}, ridge]":    "a.yaml:1:16: pipeline.echo.step: must be a step",
		"[{echo: {step: [ridge]}}, ridge]": "a.yaml:1:17: pipeline.echo.step.ridge: an estimator can only be " +
			"the last step",
		"[{echo: {step: {rff: {gamma: -1}}}}, ridge]": "a.yaml:1:30: pipeline.echo.step.gamma: must be a number > 0, a " +
			"list of them (one for each column), scale or median, got -1",
	} {
		_, err := yaml.Unmarshal([]byte(text), yaml.Origin{File: "a.yaml", Path: "pipeline"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n  %v\nwant\n  %s", text, err, want)
		}
	}
}
