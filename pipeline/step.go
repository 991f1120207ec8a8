package pipeline

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Step is a transformer's spec with the name it has in paths and messages.
type Step struct {
	Name   string             // "" means the registered name of the spec
	Fitter transformer.Fitter // a spec: [transformer.RFF], [Columns], [Union], [Chain] …
}

// inputSized is a fitted step or model that knows its number of input columns. One that is read
// from a file is checked against the actual input before it maps rows.
type inputSized interface {
	InputWidth() int
}

// Path is the step's name in parameter paths.
func (s Step) Path() string {
	if s.Name != "" {
		return s.Name
	}
	return specName(s.Fitter)
}

// specName is the name spec is registered under, or that of its type in small letters: with the
// package's before it where a step is registered under that name, for spec is another.
func specName(spec any) string {
	switch f := spec.(type) {
	case Frozen:
		return specName(f.Spec)
	case FrozenModel:
		return specName(f.Spec)
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

// named returns the steps with the names they have in paths.
func named(steps []Step) []rows.Spec {
	out := make([]rows.Spec, len(steps))
	for i, s := range steps {
		out[i] = rows.Spec{Name: s.Path(), Fitter: s.Fitter}
	}
	return out
}

// Sequence is a sequence of steps.
type Sequence []Step

// Steps names the specs after the names they are registered under. A pointer to a spec stands for a copy
// of the spec. With a model after them they are a pipeline:
//
//	p := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
func Steps(fitters ...transformer.Fitter) Sequence {
	steps := make(Sequence, len(fitters))
	for i, f := range fitters {
		steps[i] = Step{Fitter: specs.ByValue(f)}
	}
	return steps
}
