package yaml_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/yaml"
	"github.com/bochner-ml/bochner/transformer"
)

// stirred is a composite with a seed.
type stirred struct {
	pipeline.Chain
	Seed uint64
}

func (s *stirred) Params(l *param.List) {
	l.Seed(&s.Seed, "seed", "seed of the stirring")
	s.Chain.Params(l)
}

func (s stirred) WithChildren(steps []pipeline.Step) transformer.Fitter {
	s.Steps = steps
	return s
}

func (stirred) Fit(context.Context, datasets.Set) (transformer.Transformer, error) {
	return nil, errors.New("not for fitting")
}

// A composite that gives no seed has that of its path, and so have the steps in it.
func TestSeedOfAComposite(t *testing.T) {
	if _, known := pipeline.Lookup("stirred"); !known {
		err := pipeline.Register(pipeline.Entry{Name: "stirred", Doc: "a step of tests", New: func() any { return stirred{} },
			Fitted: func() model.Stateful { return &pipeline.FittedChain{} }})
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := yaml.Unmarshal([]byte("[{columns: [{select: numeric, steps: [{stirred: {steps: [rff]}, name: soup}]}]}, "+
		"ridge]"), yaml.Origin{Seed: 5, Path: "pipeline"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"columns.numeric.soup", "columns.numeric.soup.rff"} {
		if got, err := param.Get(p, path+".seed"); err != nil || got != int(specs.DeriveSeed(5, path)) {
			t.Errorf("the seed of %s is %v (%v)", path, got, err)
		}
	}
}
