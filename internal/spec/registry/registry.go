// Package registry lists the steps and models that the packages of this module declare. Package pipeline registers
// them, so that their fitted types need not be exported.
package registry

import "github.com/bochner-ml/bochner/model"

// Step has the fields of pipeline.Entry, to which it can be converted. New is nil for a further fitted type of a
// step.
type Step struct {
	Name   string
	Doc    string
	New    func() any
	Fitted func() model.Stateful
}

var steps = map[string][]Step{}

// Add declares a step of a package, in an init function, by the constructor of its spec, or nil, and a value of its
// fitted type.
func Add[S, F any, P interface {
	*F
	model.Stateful
}](pkg, name, doc string, spec func() S, _ P) {
	s := Step{Name: name, Doc: doc, Fitted: func() model.Stateful { return P(new(F)) }}
	if spec != nil {
		s.New = func() any { return spec() }
	}
	steps[pkg] = append(steps[pkg], s)
}

// Steps returns the steps of a package, in order.
func Steps(pkg string) []Step { return steps[pkg] }
