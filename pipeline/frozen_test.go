package pipeline_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// TestFrozen checks that a pipeline with frozen steps or a frozen model equals the complete fit,
// bit for bit: in its predictions, its spec and its file.
func TestFrozen(t *testing.T) {
	data := waves(200)
	whole := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
	fit := func(p pipeline.Pipeline) *pipeline.FittedPipeline {
		t.Helper()
		m, err := p.Fit(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		return m.(*pipeline.FittedPipeline)
	}
	want := fit(whole)
	steps, model := whole, whole
	steps.Steps = append([]pipeline.Step{}, whole.Steps...)
	for i := range steps.Steps {
		_, fitted := want.Chain().Step(i)
		steps.Steps[i] = steps.Steps[i].WithFitted(fitted)
	}
	_, last := want.Model()
	model = model.WithFitted(last)
	written := func(m *pipeline.FittedPipeline) string {
		var out bytes.Buffer
		file, err := modelfile.New(m)
		if err == nil {
			err = file.Write(&out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for name, p := range map[string]pipeline.Pipeline{"steps": steps, "model": model} {
		got := fit(p)
		if !reflect.DeepEqual(got.Spec(), want.Spec()) {
			t.Errorf("%s: spec %v, want %v", name, got.Spec(), want.Spec())
		}
		if written(got) != written(want) {
			t.Errorf("%s: another file", name)
		}
	}
}
