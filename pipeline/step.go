package pipeline

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Step is the spec of a transformer with its name in paths and messages.
type Step struct {
	Name   string             // "" for the registered name of the spec
	Fitter transformer.Fitter // a spec: [transformer.RFF], [Columns], [Union], [Chain] …
}

// Path returns the step's name in parameter paths.
func (s Step) Path() string {
	if s.Name != "" {
		return s.Name
	}
	return specName(s.Fitter)
}

// specName returns the registered name of spec, or its type name in lower case. If that name
// belongs to a registered step, it is qualified by the package name.
func specName(spec any) string {
	switch f := spec.(type) {
	case frozen:
		return specName(f.spec)
	case frozenModel:
		return specName(f.spec)
	}
	if name, ok := registeredName(spec); ok {
		return name
	}
	name := fmt.Sprintf("%T", spec)
	name = strings.ToLower(strings.TrimLeft(name, "*"))
	own := name[strings.LastIndexByte(name, '.')+1:]
	if _, taken := Lookup(own); taken {
		return strings.ReplaceAll(name, ".", "_")
	}
	return own
}

// named returns the steps with their names in paths.
func named(steps []Step) []rows.Spec {
	out := make([]rows.Spec, len(steps))
	for i, s := range steps {
		out[i] = rows.Spec{Name: s.Path(), Fitter: s.Fitter}
	}
	return out
}

// Sequence is a sequence of steps.
type Sequence []Step

// Steps returns the specs with their registered names. A pointer to a spec is replaced by a copy of
// the spec. Then appends a model, which makes a pipeline:
//
//	p := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
func Steps(fitters ...transformer.Fitter) Sequence {
	steps := make(Sequence, len(fitters))
	for i, f := range fitters {
		steps[i] = Step{Fitter: specs.ByValue(f)}
	}
	return steps
}
